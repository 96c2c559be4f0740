"""Scores of models on questions in one or several runs, with labels for each axis."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_held, plain_array
from psychollm._base.errors import LabelError, ShapeError
from psychollm._base.frames import in_pandas, long_table
from psychollm._base.result import Result
from psychollm._base.types import AnyArray, BoolArray, FloatArray, IntArray
from psychollm.data.labels import Labels, Table, as_labels
from psychollm.data.logs_result import ScoreLog
from psychollm.data.long import Columns, is_long_frame, long_columns
from psychollm.data.missing_codes import Missing, check_codes
from psychollm.data.table import models_first, numbers, one_model, values_like

if TYPE_CHECKING:
    import pandas as pd


_RUNS = ("repeat", "run", "attempt", "epoch", "trial")
_COUNT = "number of the run"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RepeatedScores(Result):
    """Numeric scores of models on questions in several runs or sampled answers.

    Examples
    --------
    >>> RepeatedScores.from_runs([[[1, 0, 1]], [[1, 1, 1]]]).values.shape
    (1, 3, 2)
    """

    values: FloatArray  # (models, questions, runs) NaN where missing
    models: Labels
    questions: Labels
    runs: Labels

    _AXES = Axes(
        labels={"model": "models", "question": "questions", "run": "runs"},
        arrays={"model question run": "values"},
    )

    @property
    def present(self) -> BoolArray:
        """Mask of the scores that are not missing (models, questions, runs)."""
        return np.isfinite(self.values)

    @classmethod
    def from_array(
        cls,
        values: Any,
        *,
        models: Iterable[Any] | None = None,
        questions: Iterable[Any] | None = None,
        runs: Iterable[Any] | None = None,
    ) -> "RepeatedScores":
        """Create scores from an array.

        Parameters
        ----------
        values : array_like (models, questions, runs)
            Scores as numbers; None and NaN mark missing scores.
        models, questions, runs : iterable, optional
            Labels of the axes; by default 0, 1, 2, ...

        Raises
        ------
        ShapeError
            If the array does not have three axes, or an axis is empty.
        CodeError
            If a value is not a finite number.
        LabelError
            If labels are repeated or do not match the axes.

        Examples
        --------
        >>> RepeatedScores.from_array([[[1, 0], [None, 1]]]).present.tolist()
        [[[True, True], [False, True]]]
        """
        array = plain_array(values, "scores")
        if array.ndim != 3 or 0 in array.shape:
            msg = (
                f"scores has shape {array.shape}, but three axes are needed, none of them empty: "
                "models, questions, runs"
            )
            raise ShapeError(msg)
        axes = (("model", models), ("question", questions), ("run", runs))
        named = zip(axes, array.shape, strict=True)
        return cls._made(array, *(as_labels(kind, labels, n) for (kind, labels), n in named))

    @classmethod
    def from_runs(
        cls, tables: Sequence[Any], *, labels: Iterable[Any] | None = None
    ) -> "RepeatedScores":
        """Create scores from one table (models, questions) per run.

        Parameters
        ----------
        tables : sequence of Responses, DataFrame, DataArray or array_like (models, questions)
            One table per run. Labelled tables are reordered to match the first table; a vector
            contains the scores of one model.
        labels : iterable, optional
            Names of the runs; by default 1, 2, 3, ...

        Raises
        ------
        ShapeError, LabelError
            If the runs differ in their models or questions.
        CodeError
            If a value is not a finite number.

        Examples
        --------
        >>> RepeatedScores.from_runs([[1, 0], [1, 1]]).runs
        (1, 2)
        """
        cells, axes = stacked_runs(tables, labels, argument="scores")
        return cls._made(cells, *axes)

    @classmethod
    def from_long(
        cls,
        frame: "pd.DataFrame",
        *,
        model: str = "model",
        question: str = "question",
        run: str = "run",
        value: str = "score",
    ) -> "RepeatedScores":
        """Create scores from a long table with one row per score.

        Parameters
        ----------
        frame : DataFrame
            Table with one row per score. Combinations of model, question and run without a row are
            missing scores. Labels keep the order of their first occurrence.
        model, question, run, value : str
            Columns of the model, the question, the run and the score.

        Raises
        ------
        LabelError
            If a column does not exist, a label is missing, or a score occurs twice.
        ShapeError
            If the table has no rows.
        CodeError
            If a score is not a finite number.

        Examples
        --------
        >>> import pandas as pd
        >>> long = pd.DataFrame({"model": "a", "question": [1, 1], "run": [1, 2], "score": [0, 1]})
        >>> RepeatedScores.from_long(long).values.tolist()
        [[[0.0, 1.0]]]
        """
        names = [model, question, run]
        frame = long_table(frame, [*names, value], argument="the long table", row="score")
        codes, labels = long_places(frame, names, value)
        cells = np.full(tuple(map(len, labels)), None, dtype=object)
        cells[codes] = frame[value].to_numpy(dtype=object)
        return cls._made(cells, *labels)

    @classmethod
    def _made(
        cls, array: AnyArray, models: Labels, questions: Labels, runs: Labels
    ) -> "RepeatedScores":
        single = len(runs) == 1
        columns = questions if single else tuple((q, f"run {r}") for q in questions for r in runs)
        flat = Table(array.reshape(len(models), -1), models, columns)
        values = numbers(flat, argument="scores").reshape(array.shape)
        return cls(values=values, models=models, questions=questions, runs=runs)


def repeated_scores(scores: Any) -> RepeatedScores:
    """Return any accepted input as `RepeatedScores`; a table is a single run."""
    if isinstance(scores, ScoreLog):
        return RepeatedScores.from_long(scores.frame, run="repeat")
    if isinstance(scores, RepeatedScores):
        return scores
    if hasattr(scores, "scores") and hasattr(scores, "runs"):  # Ratings
        names = {"models": scores.models, "questions": scores.questions, "runs": scores.runs}
        return RepeatedScores.from_array(scores.scores, **names)
    frame = in_pandas(scores)
    if is_long_frame(frame):
        return _of_long(frame)
    if _n_axes(scores) == 3:
        models = questions = runs = None
        scores = models_first(scores)
        if hasattr(scores, "dims"):
            models, questions, runs = (
                scores[dim].to_numpy() if dim in scores.coords else None for dim in scores.dims
            )
        return RepeatedScores.from_array(scores, models=models, questions=questions, runs=runs)
    return RepeatedScores.from_runs([scores], labels=[0])


def _of_long(frame: "pd.DataFrame") -> RepeatedScores:
    """Return scores from a long table whose columns are identified by name."""
    found = long_columns("scores", [*frame.columns], Columns())
    names = [found.model, found.question[0]]
    runs = next((name for name in _RUNS if name in frame), None)
    repeat = frame.groupby(names, sort=False).cumcount() + 1 if runs is None else frame[runs]
    return RepeatedScores.from_long(
        frame.assign(**{_COUNT: repeat}), model=names[0], question=names[1], run=_COUNT,
        value=found.value,
    )  # fmt: skip


def _n_axes(scores: Any) -> int:
    if hasattr(scores, "ndim"):
        return int(scores.ndim)
    axes, inner = 0, scores
    while isinstance(inner, list | tuple | np.ndarray) and len(inner):
        axes, inner = axes + 1, inner[0]
    return axes


def long_places(
    frame: "pd.DataFrame", names: Sequence[str], value: str
) -> tuple[tuple[IntArray, ...], tuple[Labels, ...]]:
    """Return each column as label codes, with its labels in order of first occurrence."""
    import pandas as pd

    for name in names:
        absent = np.flatnonzero(frame[name].isna())
        if absent.size:
            msg = f"row {absent[0] + 1} has no {name}: every {value} needs one"
            raise LabelError(msg)
    factors = [pd.factorize(frame[name]) for name in names]
    columns = tuple(codes.astype(np.int64) for codes, _ in factors)
    labels = tuple(tuple(of.tolist()) for _, of in factors)
    repeated = np.flatnonzero(frame.duplicated(list(names)))
    if repeated.size:
        row = [of[codes[repeated[0]]] for of, codes in zip(labels, columns, strict=True)]
        cell = ", ".join(f"{name} {label!r}" for name, label in zip(names, row, strict=True))
        msg = f"{cell} has more than one {value}: aggregate, or number the runs"
        raise LabelError(msg)
    return columns, labels


def stacked_runs(
    runs: Any, labels: Iterable[Any] | None, *, argument: str
) -> tuple[AnyArray, tuple[Labels, Labels, Labels]]:
    """Combine one table per run into cells (models, questions, runs), and return the labels."""
    tables = [one_model(run, argument=argument) for run in runs]
    if not tables:
        msg = f"{argument} holds no run: pass a table models x questions for each run"
        raise ShapeError(msg)
    cells = [values_like(table, tables[0], argument=argument) for table in tables]
    names = range(1, len(tables) + 1) if labels is None else labels
    axes = (tables[0].models, tables[0].questions, as_labels("run", names, len(tables)))
    return np.stack(cells, axis=2), axes


def answers_of(scores: Any, argument: str = "scores") -> RepeatedScores:
    """Convert scores of any type to an array (models, questions, repeats)."""
    check_held(scores, argument)
    found = repeated_scores(scores)
    if found is not scores and not isinstance(scores, ScoreLog):
        check_codes(
            found.values.reshape(len(found.models), -1),
            tuple(question for question in found.questions for _ in found.runs),
            Missing(),
            argument,
            remedy="replace {} by NaN; if all are scores, pass RepeatedScores.from_runs([scores])",
        )
    return found


def means_of(answers: RepeatedScores, argument: str = "scores") -> FloatArray:
    """Return the mean over repeats for each model and question; NaN if there are no scores."""
    with np.errstate(invalid="ignore"):
        values = np.nansum(answers.values, axis=2) / answers.present.sum(axis=2)
    if not np.isfinite(values).any():
        msg = f"{argument} holds no answer with a score: every value is missing"
        raise ShapeError(msg)
    return np.asarray(values, dtype=np.float64)


def are_shares(scores: FloatArray) -> bool:
    """Return whether all scores are between 0 and 1."""
    return bool(((scores >= 0.0) & (scores <= 1.0)).all())


def span_of(scores: FloatArray) -> float:
    """Return the range of scores, or 1 if all of them are between 0 and 1."""
    return 1.0 if are_shares(scores) else float(scores.max() - scores.min()) or 1.0
