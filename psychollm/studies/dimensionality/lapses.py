r"""One factor whose models lapse or guess.

A model answers part of the questions without regard to them: it guesses, is cut off, or is
misread. With asymptotes :math:`c_i` and :math:`d_i` it says yes to a question of score f with
probability

.. math:: P_i(f) = c_i + (d_i - c_i)\,\Phi(a_i f + b_i),                                \quad (1)

and its lapse rate is :math:`c_i + 1 - d_i`. Pair counts alone take such answers for a second
factor, or a second factor for lapses; whole answer patterns tell the two apart. So (1) is fitted
to patterns (`fit_irt`, 4PL with the probit link). The distributions of the models' slopes and of
the logits of their asymptotes are estimated with them, for a single model shows few lapses.

References
----------
Barton, M. A., & Lord, F. M. (1981). An upper asymptote for the three-parameter logistic
item-response model. ETS Research Report 81-20. https://doi.org/10.1002/j.2333-8504.1981.tb01255.x
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

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

# Where the estimate of the models' distribution of asymptotes begins: median .7 % from 0 and 1.
# Without a prior on slopes, models that nearly always give the same answer have no estimate.
PRIORS = Priors(slope=(2.0, 1.5), guessing=(-5.0, 1.5), upper=(5.0, 1.5))
ROUNDS = 4  # of that estimate
# Hyperpriors of the models' distribution: normal on its mean, half-normal on its deviation.
SLOPES, LOGITS = (1.5, 1.5, 0.5), (-5.0, 2.5, 1.0)
DEVIATIONS = np.linspace(0.1, 2.9, 15)
LEAST_KNOWN, FURTHEST = 1e-3, 2.0  # a normal curve about a mode says little far from it
PLACES = np.linspace(-12.0, 0.0, 241)  # logits: no asymptote is further than .5 from its end
LEAST_CHANCE = 1e-300
QUANTILES = 200  # of a rate, where two are added
EVIDENT = 9.21  # twice the gain in log-likelihood that two parameters reach by chance in 1 of 100


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class OneFactorWithLapses(Result):
    """One shared factor, and models that answer part of the questions without regard to them.

    Attributes
    ----------
    loadings, thresholds : ndarray of shape (k,)
        Of the factor alone, lapses set aside.
    se_loadings, se_thresholds : ndarray of shape (k,)
        Standard errors from the observed information.
    lower, upper : ndarray of shape (k,)
        Asymptotes: probability of a yes where the factor says no, and where it says yes.
    rate : Estimate
        Lapse rates, `lower` + 1 - `upper`; an interval begins at 0 where answers do not tell a
        rate from none.
    log_likelihood : float
        Marginal log-likelihood, without priors.
    n_parameters : int
        Four for each model.
    labels : tuple
        Names of the models.
    convergence : Convergence
        How the fit ended.
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
        """Whether answers are more probable with lapses than chance allows."""
        return bool((self.rate.interval[:, 0] > 0.0).any())


def one_factor_with_lapses(
    table: Responses, *, without: float = -np.inf, level: float = 0.95
) -> OneFactorWithLapses:
    """Fit one factor with a lower and an upper asymptote for each model to binary answers."""
    # without: the log-likelihood of one factor without lapses.
    priors = PRIORS
    for turn in range(ROUNDS + 1):
        fit = fit_irt(table, model="4pl", link="probit", respondents="questions", priors=priors)
        slope = _slopes(fit, priors.slope)
        guessing, yes = _asymptotes(fit, 2, priors.guessing, 1.0)
        upper, no = _asymptotes(fit, 3, priors.upper, -1.0)
        if turn < ROUNDS:
            priors = Priors(slope=slope, guessing=guessing, upper=upper)
    a, b, low, high = fit.parameters.T
    scale = np.sqrt(1.0 + a * a)
    # Delta method: loading a / s and threshold -b / s of s = sqrt(1 + a^2).
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
        rate=_rates(
            _sums(yes, no, level),
            table,
            level,
            evident=2.0 * (fit.log_likelihood - without) > EVIDENT,
        ),
        log_likelihood=fit.log_likelihood,
        n_parameters=fit.n_parameters,
        labels=table.models,
        convergence=fit.convergence,
        _parameters=fit.parameters,
        _priors=priors,
    )


def _slopes(fit: IRTFit, prior: Normal | None) -> Normal:
    """Estimate mean and deviation of the models' slopes (empirical Bayes)."""
    mean, deviation = prior or (0.0, np.inf)
    at, precision = fit.parameters[:, 0], deviation**-2
    own = np.maximum(np.nan_to_num(1.0 / fit.covariance[:, 0, 0] - precision), LEAST_KNOWN)
    # Of the posterior, normal about its mode, the prior is taken off.
    centre = at + np.minimum(precision / own, FURTHEST) * (at - mean)
    spread = DEVIATIONS[:, None] ** 2 + 1.0 / own
    weight = SLOPES[1] ** -2 + (1.0 / spread).sum(axis=1)
    means = (SLOPES[0] * SLOPES[1] ** -2 + (centre / spread).sum(axis=1)) / weight
    misfit = (np.log(spread) + (centre - means[:, None]) ** 2 / spread).sum(axis=1)
    misfit += ((means - SLOPES[0]) / SLOPES[1]) ** 2 + (DEVIATIONS / SLOPES[2]) ** 2
    best = int(np.argmin(misfit + np.log(weight)))
    return float(means[best]), float(DEVIATIONS[best])


def _asymptotes(
    fit: IRTFit, column: int, prior: Normal | None, sign: float
) -> tuple[Normal, FloatArray]:
    """Estimate the distribution of logits of one asymptote; return it and the models' own."""
    # Densities (k, places). What answers say of a rate exp(x) is what events of an expected number
    # own exp(x - at) say: curvature `own` at the mode, and a slope there that balances the
    # prior's. Mean and deviation of the models' distribution are averaged over what all say.
    mean, deviation = prior or (0.0, np.inf)
    at, precision = sign * fit.parameters[:, column], deviation**-2
    own = np.nan_to_num(1.0 / fit.covariance[:, column, column] - precision)
    own = np.maximum(own, LEAST_KNOWN)[:, None]
    events = np.maximum(own + precision * (at - sign * mean)[:, None], 0.0)
    gap = PLACES - at[:, None]
    answers = events * gap - own * np.exp(np.minimum(gap, 10.0))
    answers = np.exp(answers - answers.max(axis=1, keepdims=True))
    centres, deviations = np.meshgrid(PLACES[::4], DEVIATIONS, indexing="ij")
    distance = (PLACES - centres.ravel()[:, None]) / deviations.ravel()[:, None]
    shapes = np.exp(-0.5 * distance**2) / deviations.ravel()[:, None]  # (hyper, places)
    marginal = np.maximum(shapes @ answers.T, LEAST_CHANCE)  # (hyper, k)
    chance = np.log(marginal).sum(axis=1)
    chance -= 0.5 * ((centres - LOGITS[0]) / LOGITS[1]).ravel() ** 2
    chance -= 0.5 * (deviations / LOGITS[2]).ravel() ** 2
    chance = np.exp(chance - chance.max())
    chance /= chance.sum()
    density = answers * ((chance[:, None] / marginal).T @ shapes)
    middle = float(chance @ centres.ravel())
    own_prior = sign * middle, float(np.sqrt(chance @ deviations.ravel() ** 2))
    return own_prior, density / density.sum(axis=1, keepdims=True)


def _sums(yes: FloatArray, no: FloatArray, level: float) -> FloatArray:
    """Return lower bound, median and upper bound (3, k) of sums of rates."""
    # yes, no (k, places): densities of the logits of their parts.
    at = (np.arange(QUANTILES) + 0.5) / QUANTILES
    rates = [
        [expit(np.interp(at, np.cumsum(row), PLACES)) for row in density] for density in (yes, no)
    ]
    sums = [np.add.outer(one, other).ravel() for one, other in zip(*rates, strict=True)]
    tail = 0.5 * (1.0 - level)
    return np.asarray(np.quantile(sums, [tail, 0.5, 1.0 - tail], axis=1))


def _rates(rates: FloatArray, table: Responses, level: float, *, evident: bool) -> Estimate:
    """Return lapse rates, intervals from 0 where there may be none."""
    low, middle, high = rates
    return Estimate(
        name="lapse rate",
        value=middle,
        se=(high - low) / (2.0 * normal_multiplier(level)),
        interval=np.column_stack([low * evident, high]),
        n=np.sum(~table.missing, axis=1, dtype=np.float64),
        flags=(Reason.NONE,) * middle.size,
        method="empirical Bayes",
        level=level,
        labels=table.models,
    )
