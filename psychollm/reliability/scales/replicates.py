r"""Values in the sample, with respondents left out, and in resamples of respondents.

The default interval of coefficients without an exact one is a jackknife on a scale where their
distribution is near normal. With :math:`\theta_{(g)}` the coefficient without group g of G
respondents and f the scale, say :math:`f(\alpha) = \log(1 - \alpha)`,

.. math:: s^2 = \frac{G - 1}{G} \sum_g \big(f(\theta_{(g)}) - \bar f\big)^2, \qquad
          f^{-1}\big(G f(\hat\theta) - (G - 1) \bar f \pm t_{G-1}\, s\big).              \quad (1)

The centre is corrected for bias, which matters where regressions are fitted (lambda 6). The
interval needs no distribution of the scores, respects the respondents' repetitions because these
are left out together, and with ten respondents covers better than bootstrap percentiles do.

References
----------
Bonett, D. G. (2002). Sample size requirements for testing and estimating coefficient alpha.
Journal of Educational and Behavioral Statistics, 27, 335-340.
https://doi.org/10.3102/10769986027004335

Kott, P. S. (2001). The delete-a-group jackknife. Journal of Official Statistics, 17, 521-526.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import stdtrit

from psychollm._base.checks import check_choice, check_count, check_fraction
from psychollm._base.errors import OptionError
from psychollm._base.types import FloatArray, RandomState
from psychollm.estimates.bootstrap_interval import bca_interval
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Statistic, bootstrap_questions, left_out_counts

AlphaInterval: TypeAlias = Literal["feldt", "duhachek", "jackknife", "bootstrap"]
ResamplingInterval: TypeAlias = Literal["jackknife", "bootstrap"]


class Scale(NamedTuple):
    """Where a coefficient is near normal: there, back, and what it is called."""

    forward: Callable[[FloatArray], FloatArray]
    back: Callable[[FloatArray], FloatArray]
    name: str


def _log_complement(value: FloatArray) -> FloatArray:
    return np.asarray(np.log(np.where(value < 1.0, 1.0 - value, np.nan)))


def _complement_exp(value: FloatArray) -> FloatArray:
    return np.asarray(1.0 - np.exp(value))


def _log(value: FloatArray) -> FloatArray:
    return np.asarray(np.log(np.where(value > 0.0, value, np.nan)))


def _arctanh(value: FloatArray) -> FloatArray:
    return np.asarray(np.arctanh(np.where(np.abs(value) < 1.0, value, np.nan)))


RELIABILITY = Scale(_log_complement, _complement_exp, "log(1 - x)")
POSITIVE = Scale(_log, np.exp, "log x")
CORRELATION = Scale(_arctanh, np.tanh, "Fisher's z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference:
    """How uncertainty is found: the options that the coefficients of this room share.

    Raises
    ------
    OptionError
        If an option does not exist or has no such value.

    Examples
    --------
    >>> Inference(interval="jackknife", n_bootstrap=0).level
    0.95
    """

    interval: AlphaInterval | None = None
    n_bootstrap: int = 2000
    level: float = 0.95
    rng: RandomState = None
    n_jobs: int | None = None
    progress: bool = False

    def __post_init__(self) -> None:
        if self.interval is not None:
            check_choice("interval", self.interval, AlphaInterval)
        check_fraction("level", self.level)
        if self.n_bootstrap != 0:
            check_count("n_bootstrap", self.n_bootstrap, low=2)
        if self.interval == "bootstrap" and self.n_bootstrap == 0:
            msg = "n_bootstrap=0 draws no resamples, but interval='bootstrap' needs at least 2"
            raise OptionError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replicates:
    """A statistic in the sample, without each group of respondents, and in resamples of them.

    Examples
    --------
    >>> mean = lambda counts: (counts @ np.arange(4.0) / counts.sum(axis=1))[:, None]
    >>> found = replicates(mean, 4, Inference(n_bootstrap=0))
    >>> found.value, found.left_out[:, 0], found.draws
    (array([1.5]), array([2. , 1.66666667, 1.33333333, 1. ]), None)
    """

    value: FloatArray  # (...)
    left_out: FloatArray  # (groups, ...)
    draws: FloatArray | None  # (resamples, ...) None where none were asked for
    level: float

    def each(self, *place: Any) -> "Replicates":
        """Return the replicates of a part of the statistic, such as ``each(slice(None), 0)``."""
        draws = None if self.draws is None else self.draws[(slice(None), *place)]
        left_out = self.left_out[(slice(None), *place)]
        return replace(self, value=self.value[place], left_out=left_out, draws=draws)


def replicates(statistic: Statistic, n_respondents: int, inference: Inference) -> Replicates:
    """Evaluate a statistic in the sample, the jackknife and the bootstrap of respondents.

    Parameters
    ----------
    statistic : callable
        Takes counts (resamples, respondents), returns an array (resamples, ...).
    n_respondents : int
        How many there are.
    inference : Inference
        How many resamples, and the options of replicated work.
    """
    draws = None
    if inference.n_bootstrap:
        draws = bootstrap_questions(
            statistic,
            n_respondents,
            n=inference.n_bootstrap,
            rng=inference.rng,
            n_jobs=inference.n_jobs,
            progress=inference.progress,
        )
    return Replicates(
        value=statistic(np.ones((1, n_respondents)))[0],
        left_out=statistic(left_out_counts(n_respondents)),
        draws=draws,
        level=inference.level,
    )


def jackknife_se(left_out: FloatArray) -> FloatArray:
    """Return the standard error s of (1) over the first axis; NaN if a value is undefined.

    Examples
    --------
    >>> jackknife_se(np.array([[2.0], [1.0], [0.0]])).round(4)
    array([1.1547])
    """
    groups = len(left_out)
    if groups < 2:
        return np.full(left_out.shape[1:], np.nan)
    spread = ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0)
    return np.asarray(np.sqrt((groups - 1.0) / groups * spread))


def jackknife_interval(
    value: FloatArray, left_out: FloatArray, scale: Scale, level: float
) -> FloatArray:
    """Return the interval (1) of coefficients (k,) from their values without each group.

    Parameters
    ----------
    value : ndarray (k,)
        In the sample.
    left_out : ndarray (groups, k)
        With one group of respondents left out at a time.
    scale : Scale
        Where the coefficient is near normal.
    level : float
        Coverage.

    Returns
    -------
    ndarray (k, 2)
        NaN where a value is undefined; both bounds are the value where it never changes.

    Examples
    --------
    >>> left_out = np.array([[0.70], [0.75], [0.80], [0.85], [0.90]])
    >>> jackknife_interval(np.array([0.82]), left_out, RELIABILITY, 0.95).round(2)
    array([[-0.35,  0.98]])
    """
    groups = len(left_out)
    quantile = stdtrit(groups - 1.0, 0.5 + 0.5 * level) if groups > 1 else np.nan
    with np.errstate(over="ignore"):
        scaled = scale.forward(left_out)
        step = quantile * jackknife_se(scaled)
        centre = groups * scale.forward(value) - (groups - 1.0) * scaled.mean(axis=0)
        ends = scale.back(np.stack([centre - step, centre + step], axis=-1))
    steady = (left_out == value).all(axis=0) & np.isfinite(value)
    return np.where(steady[:, None], value[:, None], np.sort(ends, axis=-1))


def replicated_estimate(
    name: str,
    found: Replicates,
    scale: Scale,
    *,
    interval: ResamplingInterval,
    n: FloatArray,
    flags: tuple[Reason, ...],
    labels: tuple[Any, ...],
    axis: str,
) -> Estimate:
    """Return coefficients (k,) with the interval (1), or BCa intervals over respondents.

    Examples
    --------
    >>> mean = lambda counts: (counts @ np.arange(4.0) / counts.sum(axis=1))[:, None]
    >>> found = replicates(mean, 4, Inference(n_bootstrap=0))
    >>> replicated_estimate("mean", found, POSITIVE, interval="jackknife", n=np.array([4.0]),
    ...                     flags=(Reason.NONE,), labels=("all",), axis="condition").se.round(3)
    array([0.645])
    """
    if interval == "bootstrap" and found.draws is not None:
        bounds = bca_interval(found.value, found.draws, found.left_out, found.level)
        se = np.array([_sd(column) for column in found.draws.T])
        method = "BCa bootstrap over respondents"
    else:
        bounds = jackknife_interval(found.value, found.left_out, scale, found.level)
        se, method = jackknife_se(found.left_out), f"jackknife over respondents, {scale.name}"
    return Estimate(
        name=name,
        value=found.value,
        se=np.where(np.isfinite(found.value), se, np.nan),
        interval=bounds,
        n=n,
        flags=flags,
        method=method,
        level=found.level,
        labels=labels,
        axis=axis,
        _draws=found.draws,
    ).qualified()


def _sd(draws: FloatArray) -> float:
    """Return the standard deviation of the draws that are defined."""
    defined = draws[np.isfinite(draws)]
    return float(defined.std(ddof=1)) if defined.size > 1 else float("nan")
