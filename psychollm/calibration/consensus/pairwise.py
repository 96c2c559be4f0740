r"""Pairwise calibration: correctness of two models when one answers yes and the other no.

Equation (1) defines, for each ordered pair of models (i, j), the expected difference in
correctness on the questions to which i answers yes and j answers no.

.. math:: D_{ij} = E[A_i - A_j \mid Y_i = 1, Y_j = 0].                                   \quad (1)

Part of the difference in correctness arises without self-knowledge. The more accurate model is
correct more often on any set of questions (base rate). Questions to which i answers yes and j
answers no may also differ in difficulty from other questions. `excess` is the difference in
correctness minus its expectation without self-knowledge. With factor scores, the expectation is
the difference of the two models' probabilities of being correct given the score. Without factor
scores, the expectation is the base rate :math:`E[A_i - A_j]` over all common questions.

Pooled values are means over all disagreements. A pair of models therefore counts once for each
question on which the two models disagree. Standard errors are clustered by question. Unanimous
questions are excluded, and their number is reported.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_fraction
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.calibration.consensus.signals import SharedExpectation, shared_expectation
from psychollm.calibration.stated import PairedAnswers, paired_answers
from psychollm.data.labels import unit_numbers
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.intervals import (
    normal_multiplier,
    paired_difference,
    paired_difference_se,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairwiseCalibration(Result):
    """Differences in correctness of models that disagree in confidence, for all ordered pairs.

    Rows are the models that answered yes, and columns are the models that answered no.

    Examples
    --------
    >>> found = pairwise_calibration([[1, 1, 0], [0, 0, 0]], [[1, 1, 0], [1, 0, 0]])
    >>> found.n, found.difference
    (array([[0., 2.],
           [0., 0.]]), array([[nan, 0.5],
           [nan, nan]]))
    """

    difference: FloatArray  # (models, models) value of (1), NaN if no question qualifies
    se: FloatArray  # (models, models)
    interval: FloatArray  # (models, models, 2) Bonett-Price intervals
    n: FloatArray  # (models, models) questions with a yes of the row and a no of the column model
    base_rate: FloatArray  # (models, models) difference over all common questions
    expected: FloatArray  # (models, models) difference expected without self-knowledge
    excess: FloatArray  # (models, models) difference - expected
    pooled_difference: float
    pooled_difference_interval: FloatArray  # (2,)
    pooled_expected: float
    pooled_excess: float
    pooled_excess_se: float
    pooled_excess_interval: FloatArray  # (2,)
    control: str  # basis of `expected`: factor scores or base rates
    n_disagreements: int  # number of disagreements over all pairs and questions
    n_questions_split: int  # number of questions on which two or more models disagree
    n_questions_unanimous: int  # number of questions excluded because all models agree
    level: float
    labels: tuple[Any, ...]  # (models,)

    _AXES = Axes(
        {"says_yes": "labels", "says_no": "labels"},
        "n",
        "difference",
        "se",
        "{bound}=interval",
        "base_rate",
        "expected",
        "excess",
        pairs="both",
        arrays={
            "says_yes says_no": "difference se n base_rate expected excess",
            "says_yes says_no bound": "interval",
        },
    )


def pairwise_calibration(
    confidence: ResponsesLike,
    correctness: ResponsesLike,
    scores: ResponsesLike | None = None,
    *,
    level: float = 0.95,
) -> PairwiseCalibration:
    """Compare the correctness of models that disagree in their yes/no confidence.

    Parameters
    ----------
    confidence, correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        Confidence (1 = yes, 0 = no) and correctness (1 = correct, 0 = wrong). A pair is compared
        on questions for which both models have confidence and correctness.
    scores : array_like (questions,), optional
        Factor score of each question, estimated from the answers of all models; questions with NaN
        are skipped. A logistic regression on a cubic polynomial of the score then estimates each
        model's probability of being correct. Without factor scores, each model's accuracy replaces
        its estimated probability.
    level : float
        Coverage of the intervals, between 0 and 1.

    Returns
    -------
    PairwiseCalibration
        Pooled standard errors include the uncertainty of the expected difference.

    Raises
    ------
    LabelError, CodeError, ShapeError
        If the tables or the scores do not match, or if the answers are not binary.

    References
    ----------
    Moran, M., & Whiting, M. (2026). arXiv:2605.24299. It introduces pairwise calibration;
    equation (1) is this library's definition.

    Examples
    --------
    >>> found = pairwise_calibration([[1, 1, 0], [0, 0, 0]], [[1, 1, 0], [1, 0, 0]])
    >>> found.pooled_difference, round(found.pooled_expected, 3), found.n_questions_unanimous
    (0.5, 0.333, 1)
    """
    paired = paired_answers(confidence, correctness)
    check_fraction("level", level)
    shared = None if scores is None else _expectation(scores, paired)
    present = np.asarray(paired.present, dtype=np.float64)
    if shared is not None:
        present = present * np.isfinite(shared.chance)
    yes, correct = paired.yes * present, paired.correct * present
    no, wrong = present - yes, present - correct
    n = yes @ no.T
    up, down = (yes * correct) @ (no * wrong).T, (yes * wrong) @ (no * correct).T
    both = present @ present.T
    base_rate = _ratio(correct @ present.T - present @ correct.T, both)
    if shared is None:
        mean_expected = np.where(n > 0, base_rate, np.nan)
    else:
        hope = np.where(present > 0, shared.chance, 0.0)
        mean_expected = _ratio((yes * hope) @ no.T - yes @ (no * hope).T, n)
    difference = _ratio(up - down, n)
    pooled = _Pooled.of(_Table(yes, no, correct, present), base_rate, both, shared)
    z = normal_multiplier(level)
    return PairwiseCalibration(
        difference=difference,
        se=paired_difference_se(up, down, n),
        interval=paired_difference(up, down, n, level=level),
        n=n,
        base_rate=base_rate,
        expected=mean_expected,
        excess=difference - mean_expected,
        pooled_difference=pooled.difference,
        pooled_difference_interval=_around(pooled.difference, z * pooled.difference_se),
        pooled_expected=pooled.difference - pooled.excess,
        pooled_excess=pooled.excess,
        pooled_excess_se=pooled.excess_se,
        pooled_excess_interval=_around(pooled.excess, z * pooled.excess_se),
        control="accuracy of the pair" if shared is None else "shared score",
        n_disagreements=int(n.sum()),
        n_questions_split=pooled.split,
        n_questions_unanimous=len(paired.questions) - pooled.split,
        level=level,
        labels=paired.models,
    )


@dataclass(frozen=True, slots=True)
class _Table:
    """Answers to the common questions, as arrays (models, questions)."""

    yes: FloatArray
    no: FloatArray
    correct: FloatArray
    present: FloatArray

    def disagreements(self) -> FloatArray:
        """Return the number of pairs that disagree on each question (questions,)."""
        return np.asarray(self.yes.sum(axis=0) * self.no.sum(axis=0), dtype=np.float64)

    def weight(self) -> FloatArray:
        """Weight of each model's correctness in the sum of differences over disagreeing pairs."""
        says_yes, says_no = self.yes.sum(axis=0), self.no.sum(axis=0)
        return np.asarray(self.yes * says_no - self.no * says_yes, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class _Pooled:
    """Averages over all disagreements, with standard errors clustered by question."""

    difference: float
    difference_se: float
    excess: float
    excess_se: float
    split: int

    @classmethod
    def of(
        cls,
        table: _Table,
        base_rate: FloatArray,
        both: FloatArray,
        shared: SharedExpectation | None,
    ) -> "_Pooled":
        count, weight = table.disagreements(), table.weight()
        total = float(count.sum())
        split = int((count > 0).sum())
        if not total:
            return cls(np.nan, np.nan, np.nan, np.nan, split)
        observed = (weight * table.correct).sum(axis=0)
        difference = float(observed.sum() / total)
        if shared is None:
            foreseen, drift = _by_base_rate(table, base_rate, both)
        else:
            foreseen = (weight * np.nan_to_num(shared.chance)).sum(axis=0)
            drift = shared.drift(weight)
        excess = float((observed - foreseen).sum() / total)
        return cls(
            difference,
            _clustered((observed - difference * count) / total),
            excess,
            _clustered((observed - foreseen - excess * count - drift) / total),
            split,
        )


def _by_base_rate(
    table: _Table, base_rate: FloatArray, both: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return each question's summed expectation, and its influence through the base rates."""
    # The error of a question is its influence on the sum through the base rates.
    rate = np.nan_to_num(base_rate)
    foreseen = (table.yes * (rate @ table.no)).sum(axis=0)
    share = _ratio(table.yes @ table.no.T, both)
    share = np.nan_to_num(share)
    right, present = table.correct, table.present
    drift = (right * (share @ present)).sum(axis=0) - (present * (share @ right)).sum(axis=0)
    drift -= (present * ((share * rate) @ present)).sum(axis=0)
    return foreseen, drift


def _clustered(influence: FloatArray) -> float:
    """Return the standard error from the influences of G questions, with factor G / (G - 1)."""
    groups = int((influence != 0).sum())
    if groups < 2:
        return np.nan
    return float(np.sqrt((influence**2).sum() * groups / (groups - 1)))


def _ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    out = np.full(numerator.shape, np.nan)
    np.divide(numerator, denominator, out=out, where=denominator > 0)
    return out


def _around(centre: float, half: float) -> FloatArray:
    return np.asarray(np.clip([centre - half, centre + half], -1.0, 1.0), dtype=np.float64)


def _expectation(scores: ResponsesLike, paired: PairedAnswers) -> SharedExpectation:
    values = unit_numbers(scores, paired.questions, argument="scores")
    return shared_expectation(values, paired.right, paired.graded)
