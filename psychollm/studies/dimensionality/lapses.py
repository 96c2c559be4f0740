r"""Fit one factor to models that lapse or guess.

A model may answer some questions independently of their content: it guesses, its reply is cut off,
or its reply is parsed wrongly. With asymptotes :math:`c_i` and :math:`d_i`, model i says yes to a
question with factor score f with the probability

.. math:: P_i(f) = c_i + (d_i - c_i)\,\Phi(a_i f + b_i).                                \quad (1)

The lapse rate of model i is :math:`c_i + 1 - d_i`. Pair counts alone cannot distinguish lapses
from a second factor, but whole answer patterns can. The model in equation (1) is therefore fitted
to answer patterns (`fit_irt`, 4PL with the probit link). Because a single model has few lapses,
slopes and logits of asymptotes have hierarchical priors whose parameters are estimated from all
models.

References
----------
Barton, M. A., & Lord, F. M. (1981). An upper asymptote for the three-parameter logistic
item-response model. ETS Research Report 81-20. https://doi.org/10.1002/j.2333-8504.1981.tb01255.x
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri, expit

from psychollm._base.axes import Axes
from psychollm._base.convergence import Convergence
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.data.responses import Responses
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import normal_multiplier
from psychollm.estimates.reasons import Reason
from psychollm.irt.fit import fit_irt
from psychollm.irt.priors import Normal, Priors
from psychollm.irt.result import IRTFit

# Initial priors: the median asymptotes are .7 % and 99.3 %. Without a prior on slopes, models with
# nearly constant answers would have no finite estimate.
PRIORS = Priors(slope=(2.0, 1.5), guessing=(-5.0, 1.5), upper=(5.0, 1.5))
ROUNDS = 4  # number of updates of these priors
# Hyperpriors: normal with this mean and SD for the mean, half-normal with this scale for the SD.
SLOPES, LOGITS = (1.5, 1.5, 0.5), (-5.0, 2.5, 1.0)
# For intervals, the SD has a gamma prior of shape 2 and this scale. With few models, the data do
# not exclude an SD of 0, which would make all rates equal and their intervals too narrow.
SPREAD = 0.6
DEVIATIONS = np.linspace(0.1, 2.9, 15)
# Corrections for the prior are limited, because normal approximations are poor far from the mode.
LEAST_KNOWN, FURTHEST = 1e-3, 2.0
PLACES = np.linspace(-12.0, 0.0, 121)  # logits of asymptotes that are at most .5 away from 0 or 1
LEAST_CHANCE = 1e-300
# correlations of a model's two logits; guessing moves both asymptotes inwards
CORRELATIONS = (0.5, 0.9)
DISTRIBUTIONS = 32  # number of pairs of mean and SD over which intervals are averaged
EVIDENT = 9.21  # 99 % quantile of chi-squared with two degrees of freedom


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class OneFactorWithLapses(Result):
    """Fit of one common factor to models that answer some questions independently of the factor.

    Attributes
    ----------
    loadings, thresholds : ndarray of shape (k,)
        Loadings and thresholds of the factor, corrected for lapses.
    se_loadings, se_thresholds : ndarray of shape (k,)
        Standard errors from the observed information.
    lower, upper : ndarray of shape (k,)
        Asymptotes, the probabilities of yes at the lowest and highest factor scores.
    rate : Estimate
        Lapse rates, `lower` + 1 - `upper`. An interval starts at 0 if the model's own answers are
        compatible with a lapse rate of zero.
    log_likelihood : float
        Marginal log-likelihood, without priors.
    n_parameters : int
        Number of parameters, four per model.
    labels : tuple
        Names of the models.
    convergence : Convergence
        Convergence status of the fit.
    """

    loadings: FloatArray  # (k,)
    thresholds: FloatArray  # (k,)
    se_loadings: FloatArray  # (k,)
    se_thresholds: FloatArray  # (k,)
    lower: FloatArray  # (k,)
    upper: FloatArray  # (k,)
    rate: Estimate
    log_likelihood: float
    n_parameters: int
    labels: tuple[Hashable, ...]  # k
    convergence: Convergence
    _parameters: FloatArray  # (k, 4) slope, intercept, logits of asymptotes
    _priors: Priors

    _AXES = Axes(
        {"model": "labels"},
        "loading=loadings",
        "se_loading=se_loadings",
        "threshold=thresholds",
        "se_threshold=se_thresholds",
        "lower",
        "upper",
        ("lapse_rate", lambda fit: fit.rate.value),
        ("lapse_rate_lower", lambda fit: fit.rate.interval[:, 0]),
        ("lapse_rate_upper", lambda fit: fit.rate.interval[:, 1]),
    )

    @property
    def curves(self) -> FloatArray:
        """Loadings, thresholds, lower and upper asymptotes, shape (4, k)."""
        return np.stack([self.loadings, self.thresholds, self.lower, self.upper])

    @property
    def evident(self) -> bool:
        """Whether lapses are significant in all answers jointly and in at least one model."""
        return bool((self.rate.interval[:, 0] > 0.0).any())


def one_factor_with_lapses(
    table: Responses, *, without: float = -np.inf, level: float = 0.95
) -> OneFactorWithLapses:
    """Fit one factor with a lower and an upper asymptote per model to binary answers."""
    # `without` is the log-likelihood of one factor without lapses.
    priors = PRIORS
    for turn in range(ROUNDS + 1):
        fit = fit_irt(table, model="4pl", link="probit", respondents="questions", priors=priors)
        slope = _slopes(fit, priors.slope)
        yes = _asymptotes(fit, 2, priors.guessing, 1.0)
        no = _asymptotes(fit, 3, priors.upper, -1.0)
        if turn < ROUNDS:
            priors = Priors(slope=slope, guessing=yes.normal(1.0), upper=no.normal(-1.0))
    evident = 2.0 * (fit.log_likelihood - without) > EVIDENT
    a, b, low, high = fit.parameters.T
    scale = np.sqrt(1.0 + a * a)
    # Delta method: loading a / s and threshold -b / s with s = sqrt(1 + a^2).
    by_loading = np.stack([scale**-3, np.zeros_like(a)], axis=1)
    by_threshold = np.stack([a * b / scale**3, -1.0 / scale], axis=1)

    def error(slopes: FloatArray) -> FloatArray:
        block = fit.covariance[:, :2, :2]
        variance = np.einsum("kp,kpq,kq->k", slopes, block, slopes)
        return np.sqrt(np.where(variance > 0.0, variance, np.nan))

    return OneFactorWithLapses(
        loadings=a / scale,
        thresholds=-b / scale,
        se_loadings=error(by_loading),
        se_thresholds=error(by_threshold),
        lower=expit(low),
        upper=expit(high),
        rate=_rates(_sums(yes, no, level), yes.none + no.none, table, level, evident=evident),
        log_likelihood=fit.log_likelihood,
        n_parameters=fit.n_parameters,
        labels=table.models,
        convergence=fit.convergence,
        _parameters=fit.parameters,
        _priors=priors,
    )


def _slopes(fit: IRTFit, prior: Normal | None) -> Normal:
    """Estimate the mean and SD of the models' slopes by empirical Bayes."""
    mean, deviation = prior or (0.0, np.inf)
    at, precision = fit.parameters[:, 0], deviation**-2
    own = np.maximum(np.nan_to_num(1.0 / fit.covariance[:, 0, 0] - precision), LEAST_KNOWN)
    # Subtract the prior's information from the posterior, which is approximated by a normal
    # distribution.
    centre = at + np.minimum(precision / own, FURTHEST) * (at - mean)
    spread = DEVIATIONS[:, None] ** 2 + 1.0 / own
    weight = SLOPES[1] ** -2 + (1.0 / spread).sum(axis=1)
    means = (SLOPES[0] * SLOPES[1] ** -2 + (centre / spread).sum(axis=1)) / weight
    misfit = (np.log(spread) + (centre - means[:, None]) ** 2 / spread).sum(axis=1)
    misfit += ((means - SLOPES[0]) / SLOPES[1]) ** 2 + (DEVIATIONS / SLOPES[2]) ** 2
    best = int(np.argmin(misfit + np.log(weight)))
    return float(means[best]), float(DEVIATIONS[best])


@dataclass(frozen=True, slots=True)
class _Asymptotes:
    """Logits of all models' lower (or upper) asymptotes, and candidate normal distributions."""

    answers: FloatArray  # (k, places) likelihood on the grid `PLACES`
    centres: FloatArray  # (distributions,)
    deviations: FloatArray  # (distributions,)
    logs: FloatArray  # (distributions,) log-likelihood plus log prior of the centre

    def chance(self, log_prior: FloatArray) -> FloatArray:
        """Return probabilities of the candidate distributions, given the log prior of SDs."""
        logs = self.logs + log_prior
        chance = np.exp(logs - logs.max())
        return np.asarray(chance / chance.sum())

    @property
    def none(self) -> FloatArray:
        """Twice the log-likelihood that each model loses if its asymptote is fixed at 0 or 1."""
        return np.asarray(-2.0 * np.log(np.maximum(self.answers[:, 0], LEAST_CHANCE)))

    def normal(self, sign: float) -> Normal:
        """Return mean and SD of the logits, averaged over the candidate distributions."""
        chance = self.chance(-0.5 * (self.deviations / LOGITS[2]) ** 2)
        return sign * float(chance @ self.centres), float(np.sqrt(chance @ self.deviations**2))


def _asymptotes(fit: IRTFit, column: int, prior: Normal | None, sign: float) -> _Asymptotes:
    """Estimate the distribution of the logits of one asymptote."""
    # The likelihood of a rate exp(x) is approximated by the likelihood of a Poisson count with
    # mean own * exp(x - at). It has curvature `own` at the mode, and its slope at the mode
    # balances the slope of the prior.
    mean, deviation = prior or (0.0, np.inf)
    at, precision = sign * fit.parameters[:, column], deviation**-2
    own = np.nan_to_num(1.0 / fit.covariance[:, column, column] - precision)
    own = np.maximum(own, LEAST_KNOWN)[:, None]
    events = np.maximum(own + precision * (at - sign * mean)[:, None], 0.0)
    gap = PLACES - at[:, None]
    answers = events * gap - own * np.exp(np.minimum(gap, 10.0))
    answers = np.exp(answers - answers.max(axis=1, keepdims=True))
    centres, deviations = (
        grid.ravel() for grid in np.meshgrid(PLACES[::2], DEVIATIONS, indexing="ij")
    )
    shapes = np.exp(-0.5 * ((PLACES - centres[:, None]) / deviations[:, None]) ** 2)
    marginal = np.maximum((shapes / deviations[:, None]) @ answers.T, LEAST_CHANCE)
    logs = np.log(marginal).sum(axis=1) - 0.5 * ((centres - LOGITS[0]) / LOGITS[1]) ** 2
    return _Asymptotes(answers, centres, deviations, logs)


def _sums(yes: _Asymptotes, no: _Asymptotes, level: float) -> FloatArray:
    """Return lower bound, median and upper bound (3, k) of the models' lapse rates."""
    # The distributions of the two logits are paired by a low-discrepancy sequence. Each pair is
    # combined with each correlation, and weighted by the likelihood of the answers.
    from scipy.stats.qmc import Sobol

    places = Sobol(2, scramble=False).random(DISTRIBUTIONS) + 0.5 / DISTRIBUTIONS
    z, alone = [], np.zeros(DISTRIBUTIONS)
    for part, place in zip((yes, no), places.T, strict=True):
        chance = part.chance(np.log(part.deviations) - part.deviations / SPREAD)
        pick = np.searchsorted(np.cumsum(chance), place).clip(max=chance.size - 1)
        z.append((PLACES - part.centres[pick, None]) / part.deviations[pick, None])
        shapes = np.exp(-0.5 * z[-1] ** 2)
        shapes /= shapes.sum(axis=1, keepdims=True)
        alone += np.log(np.maximum(shapes @ part.answers.T, LEAST_CHANCE)).sum(axis=1)
    x, y = z[0][:, :, None], z[1][:, None]
    shapes = np.concatenate(
        [np.exp((r * x * y - 0.5 * (x * x + y * y)) / (1.0 - r * r)) for r in CORRELATIONS]
    ).reshape(len(CORRELATIONS) * DISTRIBUTIONS, -1)
    shapes /= np.maximum(shapes.sum(axis=1, keepdims=True), LEAST_CHANCE)
    answers = np.einsum("kx,ky->kxy", yes.answers, no.answers).reshape(len(yes.answers), -1)
    marginal = np.maximum(shapes @ answers.T, LEAST_CHANCE)  # (distributions, k)
    logs = np.log(marginal).sum(axis=1) - np.tile(alone, len(CORRELATIONS))
    density = answers * ((np.exp(logs - logs.max())[:, None] / marginal).T @ shapes)
    sums = np.add.outer(expit(PLACES), expit(PLACES)).ravel()
    order = np.argsort(sums, kind="stable")
    cumulated = np.cumsum(density[:, order], axis=1)
    tail = 0.5 * (1.0 - level)
    at = np.array([tail, 0.5, 1.0 - tail])
    return np.array([np.interp(at, row / row[-1], sums[order]) for row in cumulated]).T


def _rates(
    rates: FloatArray, none: FloatArray, table: Responses, level: float, *, evident: bool
) -> Estimate:
    """Return lapse rates; intervals start at 0 for models without significant lapses."""
    # `none` (k,) is twice the decrease of the log-likelihood if a model never lapses.
    low, middle, high = rates
    tells = evident & (none > chdtri(1, 1.0 - level))
    return Estimate(
        name="lapse rate",
        value=middle,
        se=(high - low) / (2.0 * normal_multiplier(level)),
        interval=np.column_stack([low * tells, high]),
        n=np.sum(~table.missing, axis=1, dtype=np.float64),
        flags=(Reason.NONE,) * middle.size,
        method="empirical Bayes",
        level=level,
        labels=table.models,
    )
