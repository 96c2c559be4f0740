r"""Variance components of a mean score: between questions and within questions.

For each of n questions, K answers are sampled. Scores of answers to question q have expectation
:math:`\mu_q` and variance :math:`\sigma_q^2`. The variance of the mean score is

.. math:: \operatorname{Var}(\bar s) = \frac{V}{n} + \frac{E}{n K}, \qquad
          V = \operatorname{Var}(\mu_q), \quad E = \operatorname{E}[\sigma_q^2].          \quad (1)

More answers reduce only the second term of equation (1); more questions reduce both terms. Let
:math:`\bar s_q` and :math:`s_q^2` be the mean and variance of the :math:`K_q` answers to q.
Unbiased estimates are

.. math:: \hat E = \operatorname{mean}_q\, s_q^2, \qquad
          \hat V = \operatorname{var}_q\, \bar s_q
                   - \hat E \operatorname{mean}_q \frac{1}{K_q}.                        \quad (2)

The estimate of V may be negative.

References
----------
Miller, E. (2024). Adding error bars to evals. arXiv:2411.00640.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.checks import check_count
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, RandomState
from psychollm.calibration.stated import cluster_codes
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.clustered import units_of
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason, first_reason
from psychollm.estimates.resampling import (
    Bootstrap,
    Resampling,
    resample,
)
from psychollm.reliability.means.clustered import mean_estimate, row_products
from psychollm.reliability.means.repeated_scores import RepeatedScores, repeated_scores

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnswerVariance(Result):
    """Variance of scores between questions and between answers to the same question.

    Examples
    --------
    >>> found = answer_variance([[[1, 1], [1, 0], [0, 0], [1, 1]]], rng=0)
    >>> found.between.value.round(4), found.within.value
    (array([0.1667]), array([0.125]))
    >>> found.standard_error(n_questions=100, n_answers=5).round(4)
    array([0.0438])
    """

    mean: Estimate  # mean over questions of the mean over answers
    between: Estimate  # V: variance between questions; may be negative
    within: Estimate  # E: mean variance of answers to one question
    n_questions: FloatArray  # (models,)
    n_answers: FloatArray  # (models,) harmonic mean over questions
    labels: tuple[Any, ...]  # (models,)

    def standard_error(self, *, n_questions: int, n_answers: int) -> FloatArray:
        """Return the standard error of equation (1) for other numbers of questions and answers.

        A negative variance between questions is set to zero.

        Parameters
        ----------
        n_questions, n_answers : int
            Number of questions, and of answers to each question.

        Returns
        -------
        ndarray (models,)
            Standard error of each model's mean score.
        """
        n, k = check_count("n_questions", n_questions), check_count("n_answers", n_answers)
        between = np.maximum(self.between.value, 0.0)
        return np.asarray(np.sqrt((between + self.within.value / k) / n))

    def to_frame(self) -> "pd.DataFrame":
        """Return a table with one row per model."""
        import pandas as pd

        table = self.mean.to_frame().rename(columns={"value": "mean"})
        for part in (self.between, self.within):
            table[part.name] = part.value
            table[f"{part.name} lower"], table[f"{part.name} upper"] = part.interval.T
        return pd.DataFrame(table)


def answer_variance(
    scores: ResponsesLike,
    *,
    clusters: Any = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> AnswerVariance:
    """Split each model's score variance into components between and within questions.

    Parameters
    ----------
    scores : RepeatedScores, Ratings, DataArray or array_like (models, questions, answers)
        Numeric scores, such as 1 = correct; NaN marks a missing score.
    clusters : array_like (questions,), optional
        Cluster of each question, used for the standard error of the mean and for the resamples.
    bootstrap : int or Bootstrap
        Number of resamples of questions, for the intervals of the two variances.
    level : float
        Coverage of the intervals, between 0 and 1. Intervals use Student's t for the mean and the
        BCa bootstrap for the variances.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    AnswerVariance
        Mean score and variance components. The components are NaN if no question has two answers,
        or fewer than two questions have answers.

    Raises
    ------
    ShapeError, CodeError, LabelError
        If the scores are not a numeric table of an accepted shape, or clusters do not match the
        questions.

    Examples
    --------
    >>> answers = np.random.default_rng(0).integers(0, 2, (2, 30, 4))
    >>> answer_variance(answers, rng=0).within.value.round(2)
    array([0.24, 0.25])
    """
    options = Resampling.of(bootstrap, level, rng)
    table = repeated_scores(scores)
    codes = None if clusters is None else cluster_codes(clusters, table.questions)
    parts = QuestionAnswers.of(table)
    replicates = resample(
        parts.variances, len(table.questions), options.required(), clusters=codes
    )
    estimates = [
        replicates.each(output).estimate(
            name,
            n=parts.n,
            flags=parts.flags(replicates.value[output]),
            labels=table.models,
            units=units_of(parts.answered, codes),
        )
        for output, name in enumerate(("between questions", "within questions"))
    ]
    return AnswerVariance(
        mean=mean_estimate(
            np.where(parts.answered > 0, parts.mean, np.nan),
            parts.answered,
            codes,
            options,
            "cr2",
            table.models,
        ),
        between=estimates[0],
        within=estimates[1],
        n_questions=parts.n,
        n_answers=parts.n_answers,
        labels=table.models,
    )


@dataclass(frozen=True, slots=True)
class QuestionAnswers:
    """Mean, variance and number of each model's answers to each question."""

    mean: FloatArray  # (models, questions) 0 without an answer
    variance: FloatArray  # (models, questions) 0 with fewer than two answers
    answered: FloatArray  # (models, questions) 1 if answered
    repeated: FloatArray  # (models, questions) 1 if there are two or more answers
    inverse: FloatArray  # (models, questions) 1 / number of answers; 0 without an answer

    @classmethod
    def of(cls, table: RepeatedScores) -> "QuestionAnswers":
        """Return the means and variances of answers to each question."""
        present = table.present
        k = present.sum(axis=2)
        known = np.maximum(k, 1)
        scores = np.where(present, table.values, 0.0)
        mean = scores.sum(axis=2) / known
        square = np.where(present, table.values - mean[..., None], 0.0) ** 2
        return cls(
            mean=mean,
            variance=np.where(k > 1, square.sum(axis=2) / np.maximum(k - 1, 1), 0.0),
            answered=(k > 0).astype(np.float64),
            repeated=(k > 1).astype(np.float64),
            inverse=np.where(k > 0, 1.0 / known, 0.0),
        )

    @property
    def n(self) -> FloatArray:
        """Number of answered questions (models,)."""
        return np.asarray(self.answered.sum(axis=1))

    @property
    def n_answers(self) -> FloatArray:
        """Harmonic mean of the number of answers per question (models,)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.n / self.inverse.sum(axis=1))

    def variances(self, counts: FloatArray) -> FloatArray:
        """Return the estimates (resamples, 2, models) of equation (2) in resampled questions."""
        with np.errstate(invalid="ignore", divide="ignore"):
            centre = self.mean.sum(axis=1, keepdims=True) / self.n[:, None]
        off = self.answered * (self.mean - centre)
        parts = (self.answered, off, off**2, self.variance, self.repeated, self.inverse)
        sums = row_products(counts, np.nan_to_num(np.concatenate(parts)))
        n, first, second, variance, repeated, inverse = np.split(sums, len(parts), axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            within = variance / repeated
            between = (second - first**2 / n) / (n - 1.0) - within * inverse / n
        both = np.stack([np.where(n > 1, between, np.nan), within], axis=1)
        return np.where(np.isfinite(both), both, np.nan)

    def flags(self, value: FloatArray) -> tuple[Reason, ...]:
        """Return the reason why each variance is undefined or flagged (models,)."""
        return first_reason(
            (self.n == 0, Reason.NO_SCORES),
            (self.repeated.sum(axis=1) == 0, Reason.ONE_SAMPLE),
            (self.n == 1, Reason.ONE_QUESTION),
            (value < 0, Reason.NEGATIVE_COMPONENT),
        )
