"""Result of fitting a logistic factor model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.axes import Axes, Interleaved
from psychollm._base.convergence import Convergence
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray
from psychollm.data.labels import Labels, positions
from psychollm.estimates.reasons import Reason

LOGISTIC = np.pi**2 / 3.0  # variance of the logistic distribution


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FactorChoice(Result):
    """Held-out prediction error for each number of factors."""

    tried: IntArray  # (tries,) numbers of factors: 0, 1, ...
    log_loss: FloatArray  # (tries,) mean log loss of held-out answers
    gain: FloatArray  # (tries,) reduction of log loss by the last factor; NaN without factors
    se: FloatArray  # (tries,) standard error of the gain over questions
    n_held_out: int

    _AXES = Axes({"factors": "tried"}, "log_loss", "gain", "se")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GapModel(Result):
    """Model of filled cells, with logit P = level of the model + intercept + loadings . scores."""

    intercepts: FloatArray  # (questions,)
    loadings: FloatArray  # (questions, k)
    levels: FloatArray  # (models,) levels with mean 0
    drawn: float  # proportion of empty cells in the sample
    questions: Labels

    _AXES = Axes({"question": "questions"}, "intercept=intercepts", "loading_{}=loadings")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LogisticFactorFit(Result):
    r"""Logistic factor model of a table of models and questions.

    P(yes) = logit^-1(intercept + loadings . scores). Scores have mean 0, variances 1 and no
    correlations in the population of models. The mean and covariance of intercepts and loadings in
    the population of questions are estimated.

    Attributes
    ----------
    loadings, loading_se : ndarray of shape (questions, k)
        Posterior means and SDs of the loadings; NaN for questions without answers. Factors are in
        principal axes; any joint rotation of loadings and scores fits equally well.
    intercepts, intercept_se : ndarray of shape (questions,)
        Posterior means and SDs of the intercepts; NaN for questions without answers.
    scores, score_se : ndarray of shape (models, k)
        Posterior means and SDs of the models' scores; NaN for models without answers.
    shares : ndarray of shape (k,)
        Proportion of the variance of latent answers that each factor explains, averaged over
        questions.
    log_likelihood : float
        Log-likelihood of the answers, with probabilities averaged over the posteriors.
    n_answers : int
        Number of answers.
    gaps : GapModel or None
        Model of the filled cells, if it was estimated.
    choice : FactorChoice or None
        Comparison of numbers of factors, if the number was chosen automatically.
    model_reasons, question_reasons : tuple of Reason
        Reason for each model or question without estimates.
    models, questions : tuple
        Labels.
    convergence : Convergence
        Convergence status; `objective` is the root mean square change of all logits in the last
        iteration.
    """

    loadings: FloatArray  # (m, k)
    loading_se: FloatArray  # (m, k)
    intercepts: FloatArray  # (m,)
    intercept_se: FloatArray  # (m,)
    scores: FloatArray  # (n, k)
    score_se: FloatArray  # (n, k)
    shares: FloatArray  # (k,)
    log_likelihood: float
    n_answers: int
    gaps: GapModel | None
    choice: FactorChoice | None
    model_reasons: tuple[Reason, ...]  # n
    question_reasons: tuple[Reason, ...]  # m
    models: Labels  # n
    questions: Labels  # m
    convergence: Convergence
    _question_covariance: FloatArray  # (m, 1 + k, 1 + k)
    _score_covariance: FloatArray  # (n, k, k)

    _AXES = Axes(
        {"question": "questions"},
        "intercept=intercepts",
        "se_intercept=intercept_se",
        Interleaved("loading_{factor}=loadings", "se_loading_{factor}=loading_se"),
        "reason=question_reasons",
        labels={"factor": "factors", "model": "models"},
        arrays={
            "question factor": "loadings loading_se",
            "question": "intercepts intercept_se",
            "model factor": "scores score_se",
            "factor": "shares",
        },
    )

    @property
    def factors(self) -> tuple[int, ...]:
        """Numbers of the factors, from 1."""
        return tuple(range(1, self.shares.size + 1))

    def __repr__(self) -> str:
        shares = ", ".join(f"{share:.0%}" for share in self.shares)
        return (
            f"{self.shares.size} logistic factors of {len(self.models):,} models and "
            f"{len(self.questions):,} questions ({self.n_answers:,} answers)\n"
            f"Proportions of latent variance: {shares}; log-likelihood {self.log_likelihood:,.1f}"
        )

    def predict(
        self,
        *,
        models: Iterable[Any] | None = None,
        questions: Iterable[Any] | None = None,
    ) -> FloatArray:
        """Return probabilities of a yes (models, questions), averaged over the posteriors.

        For graded answers, the prediction is the expected answer divided by the highest code.
        Predictions for models and questions without answers are NaN.

        Parameters
        ----------
        models, questions : sequence or mask, optional
            Models and questions for which answers are predicted. By default all cells are
            predicted, which takes eight bytes per cell.

        Raises
        ------
        LabelError
            If a model or a question is unknown.
        """
        rows = positions("model", self.models, models)
        columns = positions("question", self.questions, questions)
        k = self.shares.size
        u = np.hstack([np.ones((rows.size, 1)), self.scores[rows]])
        w = np.hstack([self.intercepts[columns, None], self.loadings[columns]])
        spread = np.zeros((rows.size, 1 + k, 1 + k))
        spread[:, 1:, 1:] = self._score_covariance[rows]
        around = self._question_covariance[columns].reshape(columns.size, -1)
        second = (u[:, :, None] * u[:, None] + spread).reshape(rows.size, -1)
        squares = (w[:, :, None] * w[:, None]).reshape(columns.size, -1)
        variance = second @ around.T + spread.reshape(rows.size, -1) @ squares.T
        return chances(u @ w.T, variance)


def chances(mean: FloatArray, variance: FloatArray) -> FloatArray:
    """Return expected inverse logits of normally distributed logits, by MacKay's approximation."""
    moved = mean / np.sqrt(1.0 + np.pi / 8.0 * variance)
    small = np.exp(-np.abs(moved))
    return np.asarray(np.where(moved < 0.0, small, 1.0) / (1.0 + small))
