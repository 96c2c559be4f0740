"""Several sampled answers to each question, grouped into classes of equal meaning."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import float_array, plain_array
from psychollm._base.errors import CodeError, LabelError, ShapeError
from psychollm._base.frames import long_table
from psychollm._base.result import Result
from psychollm._base.types import AnyArray, FloatArray, IntArray
from psychollm.data.labels import Labels, as_labels
from psychollm.data.table import models_first
from psychollm.kernels.semantic import number_by_appearance

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SampledAnswers(Result):
    """Sampled answers of models to the same questions, each with its semantic class.

    Examples
    --------
    >>> answers = SampledAnswers.from_array([["Paris", "Paris", "Lyon"]], gold=["Paris"])
    >>> answers.codes, answers.right
    (array([[[0, 0, 1]]], dtype=int32), array([[[1., 1., 0.]]]))
    """

    codes: "np.ndarray[Any, np.dtype[np.int32]]"  # (models, questions, samples), -1 if missing
    right: FloatArray  # (models, questions, samples) probability correct, NaN if unknown
    loglik: FloatArray  # (models, questions, samples) log-likelihoods in nats, NaN if unknown
    n_tokens: FloatArray  # (models, questions, samples) lengths, NaN if unknown
    models: Labels
    questions: Labels

    _AXES = Axes(
        labels={"model": "models", "question": "questions"},
        arrays={"model question sample": "codes right loglik n_tokens"},
    )

    @property
    def n_samples(self) -> IntArray:
        """Number of samples of each model for each question (models, questions)."""
        return np.asarray((self.codes >= 0).sum(axis=2), dtype=np.int64)

    @classmethod
    def from_array(
        cls,
        classes: Any,
        *,
        gold: Any = None,
        correct: Any = None,
        loglik: Any = None,
        n_tokens: Any = None,
        models: Iterable[Any] | None = None,
        questions: Iterable[Any] | None = None,
    ) -> Self:
        """Build the object from classes: (models, questions, samples) or (questions, samples).

        Parameters
        ----------
        classes : array_like
            Semantic class of each sample. Any labels are allowed; they are compared only within a
            question. None and NaN are missing.
        gold : array_like (questions,) or (models, questions), optional
            Class of the correct answer; samples in the correct class are correct.
        correct : array_like (models, questions, samples), optional
            Correctness of each sample, instead of `gold`.
        loglik, n_tokens : array_like (models, questions, samples), optional
            Log-likelihood of each sample in nats, and its length in tokens.
        models, questions : iterable, optional
            Labels.

        Raises
        ------
        ShapeError
            If the arrays do not have the same shape.
        CodeError
            If a correctness value is outside [0, 1].
        LabelError
            If both `gold` and `correct` are given.
        """
        import pandas as pd

        cells = _three_dimensional(classes)
        shape = cells.shape
        if gold is not None and correct is not None:
            msg = "gold and correct both define which samples are correct: pass one of them"
            raise LabelError(msg)
        numbers, _ = pd.factorize(cells.ravel(), use_na_sentinel=True)
        ids = numbers.astype(np.int64).reshape(cells.shape)  # -1 where missing
        codes = np.empty((shape[0] * shape[1], shape[2]), dtype=np.int32)
        number_by_appearance(ids.reshape(-1, shape[2]), codes)
        right = _numbers(correct, shape, "correct")
        if gold is not None:
            right = _matches(cells, gold)
        with np.errstate(invalid="ignore"):
            if ((right < 0) | (right > 1)).any():
                worst = right[(right < 0) | (right > 1)][0]
                msg = f"correct holds {worst:g}: values must be between 0 (wrong) and 1 (correct)"
                raise CodeError(msg)
        return cls(
            codes=codes.reshape(shape),
            right=np.where(ids >= 0, right, np.nan),
            loglik=_numbers(loglik, shape, "loglik"),
            n_tokens=_numbers(n_tokens, shape, "n_tokens"),
            models=as_labels("model", models, shape[0]),
            questions=as_labels("question", questions, shape[1]),
        )

    @classmethod
    def from_long(
        cls,
        frame: "pd.DataFrame",
        *,
        question: str,
        answer: str,
        model: str | None = None,
        gold: str | None = None,
        correct: str | None = None,
        loglik: str | None = None,
        n_tokens: str | None = None,
    ) -> Self:
        """Build the object from a table with one row per sample.

        Parameters
        ----------
        frame : DataFrame
            Table with one row per sample, in order of sampling.
        question, answer, model, gold, correct, loglik, n_tokens : str
            Columns of the question, of the sample's class and, optionally, of the model, the
            correct class, the sample's correctness, its log-likelihood and its length in tokens.

        Raises
        ------
        LabelError
            If a column does not exist or a label is missing.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"q": [7, 7, 8], "a": ["x", "y", "x"]})
        >>> SampledAnswers.from_long(table, question="q", answer="a").n_samples
        array([[2, 1]])
        """
        asked = {"question": question, "answer": answer, "model": model, "gold": gold}
        asked |= {"correct": correct, "loglik": loglik, "n_tokens": n_tokens}
        columns = [name for name in asked.values() if name is not None]
        frame = long_table(frame, columns, argument="the long table", row="sample")
        row, models = _numbered(frame, model)
        column, questions = _numbered(frame, question)
        shape = (len(models), len(questions))
        order = frame.groupby(row * shape[1] + column).cumcount().to_numpy()
        cell = (row, column, order)
        depth = int(cell[2].max()) + 1

        def spread(name: str | None) -> AnyArray | None:
            if name is None:
                return None
            cells = np.full((*shape, depth), None, dtype=object)
            cells[cell] = frame[name].to_numpy(dtype=object)
            return cells

        answers = spread(gold)
        return cls.from_array(
            spread(answer),
            gold=None if answers is None else answers[:, :, 0],
            correct=spread(correct),
            loglik=spread(loglik),
            n_tokens=spread(n_tokens),
            models=models,
            questions=questions,
        )


def _three_dimensional(classes: Any) -> AnyArray:
    cells = plain_array(models_first(classes), "classes").astype(object)
    if cells.ndim == 2:
        cells = cells[None]
    if cells.ndim != 3 or not cells.size:
        msg = (
            f"classes has shape {cells.shape}: pass (models, questions, samples), or (questions, "
            "samples) for one model, padded with None for missing samples"
        )
        raise ShapeError(msg)
    return cells


def _matches(cells: AnyArray, gold: Any) -> FloatArray:
    """Return 1 if a sample is in the correct class, otherwise 0; NaN if unknown."""
    import pandas as pd

    answer = plain_array(gold, "gold").astype(object)
    if answer.shape not in {cells.shape[:2], cells.shape[1:2]}:
        msg = (
            f"gold has shape {answer.shape}: pass one class per question, {cells.shape[1:2]}, or "
            f"per model and question, {cells.shape[:2]}"
        )
        raise ShapeError(msg)
    answer = np.broadcast_to(answer, cells.shape[:2])[:, :, None]
    same = np.asarray(cells == answer, dtype=np.float64)
    return np.where(np.asarray(pd.isna(answer)), np.nan, same)


def _numbers(values: Any, shape: tuple[int, ...], argument: str) -> FloatArray:
    if values is None:
        return np.full(shape, np.nan)
    array = float_array(values, argument)
    if array.ndim == 2:
        array = array[None]
    if array.shape != shape:
        msg = f"{argument} has shape {array.shape}, but classes has {shape}: pass one per sample"
        raise ShapeError(msg)
    return array


def _numbered(frame: "pd.DataFrame", column: str | None) -> tuple[IntArray, list[Any]]:
    import pandas as pd

    if column is None:
        return np.zeros(len(frame), dtype=np.int64), [0]
    codes, labels = pd.factorize(frame[column], use_na_sentinel=True)
    if not len(codes) or (codes < 0).any():
        row = int(np.argmin(codes)) + 1 if len(codes) else 0
        msg = f"column {column!r} has no label in row {row}" if row else "the table has no rows"
        raise LabelError(msg)
    return np.asarray(codes, dtype=np.int64), list(labels)
