r"""Benchmark and generalised accuracy, each with its own sampling error.

Let :math:`\pi_{mq}` be the probability that model m answers question q correctly. Benchmark
accuracy :math:`B_m` is the mean of :math:`\pi_{mq}` over the questions of the benchmark, and
generalised accuracy :math:`G_m` is the mean over the question population:

.. math:: B_m = \frac1Q \sum_q \pi_{mq}, \qquad G_m = \operatorname{E}_q[\pi_{mq}].       \quad (1)

In answered cells, the observed scores estimate the probabilities. The crossed mixed model predicts
the probabilities of unanswered cells, assuming that cells are missing at random given the effects
in the model. Let :math:`v_{mq}` be the variance of one answer, :math:`n_{mq}` the number of
answers, and :math:`P_m` the sum of the predictions for missing cells. Equation (2) gives the
sampling variances of both accuracies:

.. math:: \operatorname{Var}(\hat B_m) = \frac{1}{Q^2} \Bigl((1 + 2 \rho_m)
          \sum_{q \text{ answered}} \frac{v_{mq}}{n_{mq}} + \operatorname{Var}(P_m)\Bigr),
          \qquad
          \operatorname{Var}(\hat G_m) = \operatorname{Var}(\hat B_m) + \frac{V_m}{Q}.    \quad (2)

Here V is the variance of the probabilities between questions of one domain. The ratio :math:`\rho`
is the sum of v over missing cells divided by the sum of v over answered cells. The ratio accounts
for the effect of errors in answered cells on the predictions. Repeated answers give an estimate of
v, the variance of one answer. Without repeats, the mixed model estimates v, which then includes
the interaction of model and question, so the interval of :math:`B_m` is conservative. The interval
of :math:`B_m` is not meaningful for a model that always gives the same answer to a question,
because its :math:`B_m` is known exactly. The interval of :math:`G_m` needs no repeats: one answer
to a randomly drawn question is correct with probability :math:`G_m`.

Domains are strata: the question population has the same domains in the same proportions. With
clusters, the robust variance of `mean_score` replaces :math:`V_m / Q` and the variance of the
answered cells.

References
----------
National Institute of Standards and Technology (2026). Expanding the AI evaluation toolbox with
statistical models. NIST AI 800-3.

Miller, E. (2024). Adding error bars to evals. arXiv:2411.00640.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, stdtrit

from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.estimates.clustered import few
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import wilson
from psychollm.estimates.reasons import Reason, first_reason
from psychollm.reliability.components.crossed_logistic import CrossedFit
from psychollm.reliability.components.logistic_effects import normal_draws
from psychollm.reliability.means.answer_variance import QuestionAnswers
from psychollm.reliability.means.clustered import clustered_mean
from psychollm.reliability.means.repeated_scores import RepeatedScores

_DRAWS = 200  # number of draws of the probabilities in the cells
_AT_ONCE = 2_000_000


@dataclass(frozen=True, slots=True)
class Chances:
    """Moments of the cells' probabilities under the mixed model, at the mode of the variances."""

    missing_sum: FloatArray  # (models,) expected sum of probabilities in cells without an answer
    missing_variance: FloatArray  # (models,) variance of this sum
    spread: FloatArray  # (models, questions) variance of one answer

    @classmethod
    def of(cls, fit: CrossedFit, rng: np.random.Generator) -> "Chances":
        """Draw levels of models and ease of questions jointly, and return the moments."""
        mode = fit.centre
        m, n_questions = len(fit.answers.models), len(fit.answers.questions)
        absent = np.asarray(~fit.answers.present.any(axis=2))
        ease, own = fit.question_moments()
        levels = _level_draws(fit, rng)
        off = levels - mode.levels
        total = np.zeros((_DRAWS, m))
        spread = np.zeros((m, n_questions))
        size = max(1, _AT_ONCE // (m * _DRAWS))
        for start in range(0, n_questions, size):
            here = np.arange(start, min(start + size, n_questions))
            domain = fit.domain_of[here]
            # Given the answers, higher levels of models imply harder questions.
            slope = fit.question_slopes(here)
            drawn = ease[here] + own[here] * rng.standard_normal((_DRAWS, here.size))
            drawn -= np.einsum("nqm,qm->nq", off[:, domain], slope)
            eta = levels[:, domain].transpose(0, 2, 1) + drawn[:, None]
            if mode.sd.interaction:
                eta = eta + mode.sd.interaction * rng.standard_normal(eta.shape)
            chance = expit(eta)
            spread[:, here] = (chance * (1.0 - chance)).mean(axis=0)
            total += (chance * absent[:, here]).sum(axis=2)
        return cls(total.mean(axis=0), total.var(axis=0, ddof=1), spread)


def _level_draws(fit: CrossedFit, rng: np.random.Generator) -> FloatArray:
    """Draw levels (draws, domains, models) from their normal posterior at the mode."""
    x, z = normal_draws(fit.centre, _DRAWS, rng)
    shift = x @ fit.centre.G.T
    return np.asarray(fit.centre.levels + shift[:, None, :] + z @ fit.centre.R.T)


def accuracies(
    answers: RepeatedScores,
    chances: Chances | None,
    *,
    clusters: IntArray | None,
    domains: IntArray | None,
    level: float,
) -> tuple[Estimate, Estimate]:
    """Return benchmark and generalised accuracy (models,)."""
    cells = QuestionAnswers.of(answers)
    known = np.asarray(cells.answered > 0)
    n_questions = known.shape[1]
    n = known.sum(axis=1).astype(np.float64)
    answered = np.where(known, cells.mean, 0.0).sum(axis=1)
    within = _within(cells, answers.present.sum(axis=2), chances)
    own = np.where(known, within, 0.0).sum(axis=1)
    if chances is None:
        value = np.where(n > 0, answered / np.maximum(n, 1.0), np.nan)
        own = own / np.maximum(n, 1.0) ** 2
        gap = np.zeros(len(n))
    else:
        value = (answered + chances.missing_sum) / n_questions
        gap = chances.missing_variance / n_questions**2
        # An answer that is correct by chance raises the model's level, and thus its predictions.
        here, there = (np.where(side, chances.spread, 0.0).sum(axis=1) for side in (known, ~known))
        gap = gap + 2.0 * there / np.maximum(here, 1e-9) * own / n_questions**2
        own = own / n_questions**2 + gap
    between, df = _between(cells, within, clusters, domains)
    size = n if chances is None else np.full(len(n), float(n_questions))
    if clusters is None:
        total = np.nan_to_num(own) + between / np.maximum(size, 1.0)
    else:
        total = gap + between
    empty = np.asarray(n == 0)
    single = np.asarray(~(cells.repeated > 0).any(axis=1))
    return (
        _estimate(
            "benchmark accuracy", value, own, np.full(len(n), np.inf), n, answers.models, level,
            (empty, Reason.NO_ANSWERS), (~np.isfinite(own), Reason.ONE_SAMPLE),
            (single, Reason.ONE_ANSWER),
        ),
        _estimate(
            "generalised accuracy", value, total, df, n, answers.models, level,
            (empty, Reason.NO_ANSWERS), (n == 1, Reason.ONE_QUESTION),
            (few(df) & (clusters is not None), Reason.FEW_CLUSTERS),
        ),
    )  # fmt: skip


def _within(cells: QuestionAnswers, n: IntArray, chances: Chances | None) -> FloatArray:
    """Return v / n of equation (2) for each cell; repeated answers, if any, estimate v."""
    repeated = cells.repeated > 0
    # If a model's repeated answers never differ, its estimated variance of 0 is not credible.
    own = repeated & (cells.variance.sum(axis=1, keepdims=True) > 0.0)
    model = np.full(n.shape, np.nan) if chances is None else chances.spread
    return np.where(own, cells.variance, model) / np.maximum(n, 1)


def _between(
    cells: QuestionAnswers,
    within: FloatArray,
    clusters: IntArray | None,
    domains: IntArray | None,
) -> tuple[FloatArray, FloatArray]:
    """Return variance V of equation (2), within domains or cluster-robust, and its df."""
    known = cells.answered
    if clusters is not None:
        mean = clustered_mean(np.where(known > 0, cells.mean, np.nan), known, clusters)
        return mean.se**2, np.fmin(mean.df, mean.tails)
    codes = np.zeros(known.shape[1], np.int64) if domains is None else domains
    square, df, noise = (np.zeros(len(known)) for _ in range(3))
    for one in range(int(codes.max()) + 1):
        here = known[:, codes == one]
        n = here.sum(axis=1)
        scores = cells.mean[:, codes == one] * here
        centre = scores.sum(axis=1) / np.maximum(n, 1.0)
        off = here * (scores - centre[:, None])
        square += (off**2).sum(axis=1)
        df += np.maximum(n - 1.0, 0.0)
    noise = (known * np.nan_to_num(within)).sum(axis=1) / np.maximum(known.sum(axis=1), 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.maximum(square / df - noise, 0.0), df


def _estimate(
    name: str,
    value: FloatArray,
    variance: FloatArray,
    df: FloatArray,
    n: FloatArray,
    labels: tuple[Any, ...],
    level: float,
    *reasons: tuple[BoolArray, Reason],
) -> Estimate:
    """Return proportions with Wilson intervals at the effective number of answers."""
    spread = value * (1.0 - value)
    known = (variance > 0.0) & (spread > 0.0)
    # The estimated variance of a proportion of 0 or 1 is 0: use the number of questions.
    size = np.where(known, spread / np.where(known, variance, 1.0), n)
    df = np.where(df > 0.0, df, np.nan)
    if np.nanmin(value) < 0.0 or np.nanmax(value) > 1.0:  # graded scores
        margin = stdtrit(df, 0.5 + 0.5 * level) * np.sqrt(variance)
        bounds = np.stack([value - margin, value + margin], axis=1)
    else:
        bounds = wilson(value * size, size, level=level, df=df)
    open_ = ~np.isfinite(variance)
    return Estimate(
        name=name,
        value=value,
        se=np.where(open_, np.nan, np.sqrt(np.maximum(variance, 0.0))),
        interval=np.where(open_[:, None], np.nan, bounds),
        n=n,
        flags=first_reason(*reasons),
        method="Wilson at the effective sample size",
        level=level,
        labels=labels,
        df=df,
    )
