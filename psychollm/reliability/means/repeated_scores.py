"""Scores of models on questions, once or in several runs: numbers with three labelled axes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.arrays import plain_array
from psychollm._base.axes import Axes
from psychollm._base.errors import LabelError, ShapeError
from psychollm._base.result import Result
from psychollm._base.types import AnyArray, BoolArray, FloatArray, IntArray
from psychollm.data.encode import numbers
from psychollm.data.labels import Labels, as_labels
from psychollm.data.table import Table, one_model, values_like

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RepeatedScores(Result):
    """Scores of models on questions in runs (or in sampled answers): any numbers, NaN if missing.

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
        """Where there is a score (models, questions, runs)."""
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
        """Make scores from an array.

        Parameters
        ----------
        values : array_like (models, questions, runs)
            Numbers; None and NaN are missing.
        models, questions, runs : iterable, optional
            Labels; positions by default.

        Raises
        ------
        ShapeError
            If there are not three axes, or one of them is empty.
        CodeError
            If a value is no finite number.
        LabelError
            If labels repeat or do not fit.

        Examples
        --------
        >>> RepeatedScores.from_array([[[1, 0], [None, 1]]]).present.tolist()
        [[[True, True], [False, True]]]
        """
        array = _three_axes(values)
        names = [
            as_labels(kind, labels, n)
            for kind, labels, n in zip(
                ("model", "question", "run"), (models, questions, runs), array.shape, strict=True
            )
        ]
        return cls._made(array, (names[0], names[1], names[2]))

    @classmethod
    def from_runs(
        cls, tables: Sequence[Any], *, labels: Iterable[Any] | None = None
    ) -> "RepeatedScores":
        """Make scores from one table of models x questions per run.

        Parameters
        ----------
        tables : sequence of Responses, DataFrame, DataArray or array_like (models, questions)
            Labelled tables are put in the order of the first; a vector is one model.
        labels : iterable, optional
            Names of the runs; by default 1, 2, 3, ...

        Raises
        ------
        ShapeError, LabelError
            If the runs do not hold the same models and questions.
        CodeError
            If a value is no finite number.

        Examples
        --------
        >>> RepeatedScores.from_runs([[1, 0], [1, 1]]).runs
        (1, 2)
        """
        runs = [one_model(table, argument="scores") for table in tables]
        if not runs:
            msg = "scores holds no run: pass a table models x questions for each run"
            raise ShapeError(msg)
        found = [values_like(table, runs[0], argument="scores") for table in runs]
        names = range(1, len(runs) + 1) if labels is None else labels
        axes = (runs[0].models, runs[0].questions, as_labels("run", names, len(runs)))
        return cls._made(np.stack(found, axis=2), axes)

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
        """Make scores from a long table with one row per score.

        Parameters
        ----------
        frame : DataFrame
            Combinations that do not occur are missing; labels keep the order in which they first
            occur.
        model, question, run, value : str
            Columns of the three labels and of the score.

        Raises
        ------
        LabelError
            If a column does not exist, a label is missing, or a score occurs twice.
        ShapeError
            If the table has no rows.
        CodeError
            If a score is no finite number.

        Examples
        --------
        >>> import pandas as pd
        >>> long = pd.DataFrame({"model": "a", "question": [1, 1], "run": [1, 2], "score": [0, 1]})
        >>> RepeatedScores.from_long(long).values.tolist()
        [[[0.0, 1.0]]]
        """
        codes, labels = _places(frame, [model, question, run], value)
        shape = tuple(map(len, labels))
        flat = np.ravel_multi_index(tuple(codes), shape)
        again = np.flatnonzero(np.bincount(flat)[flat] > 1)
        if again.size:
            cell = ", ".join(
                f"{name} {of[code[again[0]]]!r}"
                for name, of, code in zip((model, question, run), labels, codes, strict=True)
            )
            msg = f"{cell} has more than one {value}: aggregate, or number the runs apart"
            raise LabelError(msg)
        cells = np.full(int(np.prod(shape)), None, dtype=object)
        cells[flat] = frame[value].to_numpy(dtype=object)
        return cls._made(cells.reshape(shape), (labels[0], labels[1], labels[2]))

    @classmethod
    def _made(cls, array: AnyArray, axes: tuple[Labels, Labels, Labels]) -> "RepeatedScores":
        models, questions, runs = axes
        single = len(runs) == 1
        columns = questions if single else tuple((q, f"run {r}") for q in questions for r in runs)
        flat = Table(array.reshape(len(models), -1), models, columns)
        values = numbers(flat, argument="scores").reshape(array.shape)
        return cls(values=values, models=models, questions=questions, runs=runs)


def repeated_scores(scores: Any) -> RepeatedScores:
    """Return any accepted input as `RepeatedScores`; a table is a single run."""
    if isinstance(scores, RepeatedScores):
        return scores
    if hasattr(scores, "scores") and hasattr(scores, "runs"):  # Ratings
        axes = (scores.models, scores.questions, scores.runs)
        return RepeatedScores.from_array(
            scores.scores, models=axes[0], questions=axes[1], runs=axes[2]
        )
    if _n_axes(scores) == 3:
        labels = [None] * 3
        if hasattr(scores, "dims"):
            labels = [
                scores[dim].to_numpy() if dim in scores.coords else None for dim in scores.dims
            ]
        models, questions, runs = labels
        return RepeatedScores.from_array(scores, models=models, questions=questions, runs=runs)
    return RepeatedScores.from_runs([scores], labels=[0])


def _n_axes(scores: Any) -> int:
    if hasattr(scores, "ndim"):
        return int(scores.ndim)
    axes, inner = 0, scores
    while isinstance(inner, list | tuple | np.ndarray) and len(inner):
        axes, inner = axes + 1, inner[0]
    return axes


def _three_axes(values: Any) -> AnyArray:
    array = plain_array(values, "scores")
    if array.ndim != 3 or 0 in array.shape:
        msg = (
            f"scores has shape {array.shape}, but three axes are needed, none of them empty: "
            "models, questions, runs"
        )
        raise ShapeError(msg)
    return array


def _places(
    frame: "pd.DataFrame", names: Sequence[str], value: str
) -> tuple[list[IntArray], list[Labels]]:
    import pandas as pd

    for name in (*names, value):
        if name not in frame.columns:
            listed = ", ".join(repr(column) for column in list(frame.columns)[:12])
            msg = f"the long table has no column {name!r}: its columns are {listed}"
            raise LabelError(msg)
    if not len(frame):
        msg = "the long table is empty: it needs a row for each score"
        raise ShapeError(msg)
    found = [pd.factorize(frame[name]) for name in names]
    for name, (code, _) in zip(names, found, strict=True):
        if (code < 0).any():
            row = int(np.flatnonzero(code < 0)[0])
            msg = f"row {row + 1} has no {name}: every score needs one"
            raise LabelError(msg)
    return [code.astype(np.int64) for code, _ in found], [tuple(of.tolist()) for _, of in found]
