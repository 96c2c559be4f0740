"""Signals that may discriminate correct from wrong answers, and their AUROCs.

A signal is one number per question: a factor score, the mean vote of the other models, or the
model's own answer. AUROCs are computed for many resamples of the questions together.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from psychollm._base.types import AnyArray, BoolArray, FloatArray, IntArray
from psychollm.calibration.consensus.logistic import logistic
from psychollm.kernels.weighted_ranking import coded_sums, weighted_areas


@dataclass(frozen=True, slots=True)
class RankedSignal:
    """Questions sorted by one signal, for computing its AUROC in many resamples."""

    order: IntArray  # (used,) questions in order of increasing signal
    opens: BoolArray  # (used,) whether the question is the first of a group of ties
    correct: BoolArray  # (used,) whether the model was correct, in the same order

    def areas(self, counts: AnyArray) -> FloatArray:
        """Return the AUROC in each resample (replicates,); NaN if one class is absent."""
        return np.asarray(weighted_areas(counts.T, self.order, self.opens, self.correct))


def ranked_signal(signal: FloatArray, correct: FloatArray, used: BoolArray) -> RankedSignal:
    """Return the order of the used questions by signal, and the starts of groups of ties."""
    # Shapes: signal, correct (questions,); used (questions,).
    where = np.flatnonzero(used)
    order = where[np.argsort(signal[where], kind="stable")]
    sorted_signal = signal[order]
    opens = np.ones(order.size, dtype=np.bool_)
    opens[1:] = sorted_signal[1:] != sorted_signal[:-1]
    return RankedSignal(order=order, opens=opens, correct=correct[order] > 0)


@dataclass(frozen=True, slots=True)
class CutSignal:
    """A binary signal, prepared for any number of resamples."""

    # All questions tied at the threshold have the same probability of a yes, `share`.

    codes: NDArray[np.uint8]  # (questions,) class of each question, 0 if not used
    share: float

    def areas(self, counts: AnyArray) -> FloatArray:
        """Return balanced accuracy, (1 + hit rate - false alarm rate) / 2, in each resample."""
        # The value is NaN if all answers are correct or all are wrong.
        sums = coded_sums(counts.T, self.codes, _N_CODES)
        with np.errstate(invalid="ignore", divide="ignore"):
            alarms, hits = (
                (part[2] + self.share * part[1]) / part.sum(axis=0)
                for part in (sums[1:4], sums[4:])
            )
        return np.asarray(0.5 * (1.0 + hits - alarms), dtype=np.float64)


_N_CODES = 7  # not used; wrong with no, tied or yes; correct with no, tied or yes


def cut_signal(cut: FloatArray, correct: FloatArray, used: BoolArray) -> CutSignal:
    """Prepare a binary signal for resampling."""
    # Shapes: cut (questions,); correct (questions,); used (questions,).
    tied = used & (cut > 0.0) & (cut < 1.0)
    level = np.where(cut >= 1.0, 2, tied.astype(np.int64))
    codes = np.where(used, 1 + level + 3 * (correct > 0), 0)
    return CutSignal(
        codes=codes.astype(np.uint8), share=float(cut[tied][0]) if tied.any() else 0.0
    )


def cut_at_rate(signal: FloatArray, used: BoolArray, rate: float) -> FloatArray:
    """Return yes for the questions with the highest signals, so that the yes rate is `rate`."""
    # The value of questions tied at the threshold is a fraction: the probability of a yes if ties
    # are broken at random. Shapes: signal (questions,); used (questions,); returns (questions,).
    cut = np.zeros(signal.size)
    # Signals that differ only by rounding errors count as tied, so that results do not depend on
    # the machine.
    values = signal[used]
    values = np.round(values / max(np.abs(values).max(initial=0.0), 1e-300), 10)
    wanted = rate * values.size
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    above = values.size - np.cumsum(count)  # number of questions above each level
    cut[used] = np.clip((wanted - above) / count, 0.0, 1.0)[place]
    return cut


def consensus_scores(yes: FloatArray, present: BoolArray) -> FloatArray:
    """Return the mean vote of the other models for each model and question."""
    # The value is NaN if no other model answered the question. Shapes: yes (models, questions);
    # present (models, questions); returns (models, questions).
    voters = present.sum(axis=0) - present
    votes = yes.sum(axis=0) - yes
    scores = np.full(yes.shape, np.nan)
    np.divide(votes, voters, out=scores, where=voters > 0)
    return scores


def cross_fitted(design: FloatArray, outcome: FloatArray, folds: IntArray) -> FloatArray:
    """Return the log odds of each question, predicted by a fit to the other folds."""
    # The penalty makes the estimates finite under separation. Shapes: design (questions,
    # predictors); outcome (questions,); folds (questions,); returns (questions,).
    predicted = np.empty(outcome.size)
    start = logistic(design, outcome, penalised=True).coefficients
    for fold in np.unique(folds):
        inside = folds == fold
        fit = logistic(design[~inside], outcome[~inside], penalised=True, start=start)
        predicted[inside] = design[inside] @ fit.coefficients
    return predicted


@dataclass(frozen=True, slots=True)
class SharedExpectation:
    """Probability that each model is correct, given the factor score alone."""

    chance: FloatArray  # (models, questions) NaN if the score is missing
    residual: FloatArray  # (models, questions) correctness - probability, 0 if unknown
    design: FloatArray  # (questions, predictors) 0 if the score is missing
    covariance: FloatArray  # (models, predictors, predictors) covariances of the coefficients

    def drift(self, weight: FloatArray) -> FloatArray:
        """Return the influence of each question on a weighted sum of the probabilities."""
        # Shapes: weight (models, questions); returns (questions,).
        chance = np.nan_to_num(self.chance)
        slope = (weight * chance * (1.0 - chance)) @ self.design
        direction = np.einsum("mpr,mr->mp", self.covariance, slope)
        return np.asarray((self.residual * (direction @ self.design.T)).sum(axis=0))


def shared_expectation(
    scores: FloatArray, right: FloatArray, graded: BoolArray
) -> SharedExpectation:
    """Predict each model's correctness from the factor score alone."""
    # A logistic regression predicts each model's correctness from a cubic polynomial of the score.
    # The penalty makes the estimates finite for a model that is always correct. Shapes: scores
    # (questions,); right (models, questions); graded (models, questions).
    scored = np.isfinite(scores)
    design = _cubic(scores, scored)
    chance = np.full(right.shape, np.nan)
    covariance = np.zeros((len(right), design.shape[1], design.shape[1]))
    for m, known in enumerate(graded & scored):
        if known.any():
            fit = logistic(design[known], right[m, known], penalised=True)
            chance[m, scored] = expit(design[scored] @ fit.coefficients)
            covariance[m] = fit.covariance
    residual = np.where(graded & scored, right - chance, 0.0)
    return SharedExpectation(chance, residual, design, covariance)


def _cubic(scores: FloatArray, scored: BoolArray) -> FloatArray:
    """Return powers of the standardised score, as many as its distinct values allow."""
    values = scores[scored]
    spread = float(values.std()) if values.size else 0.0
    standard = (values - values.mean()) / spread if spread > 0 else np.zeros(values.size)
    degree = min(3, max(np.unique(standard).size - 1, 0))
    design = np.zeros((scores.size, degree + 1))
    design[scored] = standard[:, None] ** np.arange(degree + 1)
    return design
