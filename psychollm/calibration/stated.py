"""Aligned confidence and correctness, for stated and for binary confidence."""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from psychollm._base.checks import check_weights
from psychollm._base.entry import warn
from psychollm._base.errors import CodeError, InputError
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm._base.wording import parameter
from psychollm.data.labels import Labels, Table, in_order, unit_codes
from psychollm.data.responses import Responses, ResponsesLike, as_responses
from psychollm.data.table import known_values, numbers, one_model, values_like
from psychollm.estimates.clustered import Units, units_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StatedAnswers(Result):
    """Stated confidence and correctness of the same models on the same questions."""

    confidence: FloatArray  # (models, questions) inside [0, 1], NaN if missing
    correct: FloatArray  # (models, questions) 1 or 0, or the probability of being correct
    present: BoolArray  # (models, questions) whether both are known
    weights: FloatArray  # (questions,) with mean one
    clusters: IntArray | None  # (questions,) numbered from zero
    models: Labels
    questions: Labels

    @property
    def n(self) -> FloatArray:
        """Number of questions with confidence and correctness (models,)."""
        return np.asarray(self.present.sum(axis=1), dtype=np.float64)

    @property
    def units(self) -> Units | None:
        """Degrees of freedom of each model's clusters of questions; None without clusters."""
        return units_of(self.present * self.weights, self.clusters)

    @property
    def weighted(self) -> bool:
        """Whether the questions' weights differ."""
        return bool((self.weights != 1.0).any())

    @property
    def counted(self) -> bool:
        """Whether all answers have equal weight and binary correctness."""
        whole = bool(((self.correct == 0.0) | (self.correct == 1.0)).all())
        return whole and not self.weighted

    @property
    def plain(self) -> bool:
        """Whether answers have equal weight and binary correctness and are not clustered."""
        return self.counted and self.clusters is None


def stated_answers(
    confidence: ResponsesLike,
    correctness: ResponsesLike,
    *,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> StatedAnswers:
    """Return aligned and checked confidence and correctness (models, questions)."""
    # Confidence is inside [0, 1], with 1 and 0 for yes and no; a vector holds the values of one
    # model. Fractional correctness is the probability of being correct, estimated from several
    # samples. Both may be missing (NaN). Correctness is reordered to match `confidence`, as are
    # clusters and weights that are Series.
    table = one_model(confidence, argument="confidence")
    stated = numbers(table, argument="confidence")
    _check_probabilities(stated, table, "confidence", "a stated confidence is a probability")
    correct = _correctness(correctness, table)
    return StatedAnswers(
        confidence=stated,
        correct=np.nan_to_num(correct, nan=0.0),
        present=np.isfinite(stated) & np.isfinite(correct),
        weights=question_weights(weights, table.questions),
        clusters=None if clusters is None else cluster_codes(clusters, table.questions),
        models=table.models,
        questions=table.questions,
    )


def cluster_codes(
    clusters: ArrayLike, questions: Labels, *, argument: str = "clusters"
) -> IntArray:
    """Return the cluster of each question, numbered from zero in order of first appearance."""
    return unit_codes(clusters, questions, argument=argument)


def question_weights(weights: ArrayLike | None, questions: Labels) -> FloatArray:
    """Return the weight of each question, scaled to mean one; ones by default."""
    if weights is None:
        return np.ones(len(questions))
    return check_weights(in_order(weights, questions, argument="weights"), len(questions))


def _correctness(correctness: ResponsesLike, like: Table) -> FloatArray:
    """Return correctness (models, questions) in the order of the table of confidences."""
    known = one_model(correctness, argument="correctness")
    correct = numbers(known, argument="correctness")
    _check_probabilities(correct, known, "correctness", "an answer is correct (1) or wrong (0)")
    return values_like(replace(known, values=correct), like, argument="correctness")


ORDER = parameter(
    "",
    python="pass the confidence first and the correctness second",
    command="name CONFIDENCE before CORRECTNESS (or exchange --confidence-column and "
    "--correctness-column)",
)


def seem_swapped(confidence: FloatArray, correctness: FloatArray) -> bool:
    """Return whether confidence is always 0 or 1, but correctness is not."""
    # Confidence in words (yes or no) and the proportion of correct answers in several samples look
    # the same. So this is an error only where correctness must be 0 or 1.
    whole = np.unique(confidence[np.isfinite(confidence)]).tolist() == [0.0, 1.0]
    return whole and bool(((correctness > 0.0) & (correctness < 1.0)).any())


def note_order(confidence: Any, correctness: Any) -> None:
    """Warn if confidence and graded correctness seem to be swapped."""
    first, second = (
        known_values(one_model(data, argument="confidence").values)
        for data in (confidence, correctness)
    )
    if seem_swapped(first, second):
        warn(
            "confidence holds only 0 and 1, and correctness values between them: if the two are "
            f"swapped, {ORDER}"
        )


def check_order(confidence: Any, correctness: Any, names: tuple[str, str]) -> None:
    """Raise `CodeError` if confidence and binary correctness seem to be swapped."""
    first = second = np.zeros(0)
    with suppress(InputError):
        first, second = (
            known_values(one_model(data, argument=name).values)
            for data, name in zip((confidence, correctness), names, strict=True)
        )
    if seem_swapped(first, second):
        value = second[(second > 0.0) & (second < 1.0)][0]
        msg = (
            f"{names[1]} holds {value:g}, but must hold 1 (correct) or 0 (wrong), and {names[0]} "
            f"holds only 0 and 1: the two seem to be swapped; {ORDER}"
        )
        raise CodeError(msg)


def _check_probabilities(values: FloatArray, table: Table, argument: str, rule: str) -> None:
    with np.errstate(invalid="ignore"):
        bad = (values < 0.0) | (values > 1.0)
    if not bad.any():
        return
    row, column = (int(i) for i in np.argwhere(bad)[0])
    top = float(np.nanmax(values))
    scale = next((unit for unit in (10, 100) if top <= unit), None)
    advice = "rescale it"
    if scale and np.nanmin(values) >= 0:
        advice = parameter("scale", python=f"divide by {scale}", command=f"pass {{}} {scale}")
    msg = (
        f"{argument}: model {table.models[row]!r}, question {table.questions[column]!r} holds "
        f"{values[row, column]:g}, but {rule} inside [0, 1]: {advice}"
    )
    raise CodeError(msg)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairedAnswers(Result):
    """Binary confidence and correctness of the same models on the same questions."""

    # `yes` and `correct` are 0 if `present` is False, so that sums and products skip missing
    # values. `said` also includes answers of unknown correctness, because they count as votes;
    # `right` also includes known correctness if the yes or no is missing.

    yes: FloatArray  # (models, questions) 1 if both are known and the answer is yes
    correct: FloatArray  # (models, questions) 1 if both are known and the answer is correct
    present: BoolArray  # (models, questions) whether both are known
    said: FloatArray  # (models, questions) 1 for yes, with or without correctness
    answered: BoolArray  # (models, questions) whether confidence is known
    right: FloatArray  # (models, questions) 1 if correct, with or without yes or no
    graded: BoolArray  # (models, questions) whether correctness is known
    models: tuple[Any, ...]
    questions: tuple[Any, ...]

    @classmethod
    def of_binary(cls, said: Responses, known: Responses) -> "PairedAnswers":
        """Pair tables that are known to be binary and in the same order."""
        present = ~(said.missing | known.missing)
        return cls(
            said=np.asarray(said.codes == 1, dtype=np.float64),
            answered=~said.missing,
            right=np.asarray(known.codes == 1, dtype=np.float64),
            graded=~known.missing,
            yes=np.asarray((said.codes == 1) & present, dtype=np.float64),
            correct=np.asarray((known.codes == 1) & present, dtype=np.float64),
            present=present,
            models=said.models,
            questions=said.questions,
        )

    @property
    def n(self) -> FloatArray:
        """Number of questions with confidence and correctness (models,)."""
        return np.asarray(self.present.sum(axis=1), dtype=np.float64)

    @property
    def no(self) -> FloatArray:
        """Indicator that confidence is "no" and correctness is known (models, questions)."""
        return self.present - self.yes

    @property
    def wrong(self) -> FloatArray:
        """Indicator of wrong answers, where confidence is known (models, questions)."""
        return self.present - self.correct


def paired_answers(confidence: ResponsesLike, correctness: ResponsesLike) -> PairedAnswers:
    """Align confidence and correctness; an aligned pair is returned unchanged."""
    for given in (confidence, correctness):
        if isinstance(given, PairedAnswers):
            return given
    return PairedAnswers.of_binary(*binary_tables(confidence, correctness))


def binary_tables(
    confidence: ResponsesLike, correctness: ResponsesLike
) -> tuple[Responses, Responses]:
    """Return both tables as binary `Responses`; correctness is in the order of confidence."""
    said = as_responses(confidence, argument="confidence", binary=True)
    try:
        return said, as_responses(correctness, argument="correctness", like=said, binary=True)
    except CodeError:
        check_order(confidence, correctness, ("confidence", "correctness"))
        raise
