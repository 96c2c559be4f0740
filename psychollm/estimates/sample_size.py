r"""Numbers of units needed to detect an effect, or to show that it is negligible.

Consider a study that estimates an effect :math:`\theta` by :math:`\hat\theta` with standard error
:math:`\sigma`. The interval of the study is :math:`\hat\theta \pm c s`, where c is the quantile of
Student's t with :math:`\nu` degrees of freedom, and :math:`s = \sigma v` with :math:`v^2 \sim
\chi^2_\nu / \nu`. The interval excludes zero with probability

.. math:: P = E\bigl[\Phi(\theta / \sigma - c v) + \Phi(-\theta / \sigma - c v)\bigr],    \quad (1)

and, without an effect, is within :math:`\pm\delta` (two one-sided tests) with probability

.. math:: P_0 = E\bigl[\max\{0,\; 2 \Phi(\delta / \sigma - c v) - 1\}\bigr].              \quad (2)

Equation (2) assumes a true effect of zero. If the estimate of a pilot study were used instead, the
number of units would depend on the pilot's error, and would be undefined for estimates beyond
:math:`\delta`.

A pilot study estimates :math:`\sigma` with error. If the pilot's standard error :math:`s_0` has
:math:`\nu_0` degrees of freedom, then :math:`\sigma = s_0 / u` with :math:`u^2 \sim \chi^2_{\nu_0}
/ \nu_0`. Treating :math:`s_0` as exact overstates power, because power loses more if
:math:`\sigma` is underestimated than it gains if :math:`\sigma` is overestimated. Therefore,
equations (1) and (2) are also averaged over u (Julious and Owen, 2006). The power is sufficient if
:math:`\delta` is at least K standard errors. Standard errors are inversely proportional to the
square root of the number of units. With n units in the pilot, the number of units needed is

.. math:: m = n \, (K s_0 / \delta)^2.                                                   \quad (3)

With many units, at a level of 95 % and a power of 80 %, K is 2.80 to detect an effect and 3.24 to
show its absence. Therefore, 1.34 times as many units are needed to show the absence of an effect
as to detect it.

References
----------
Julious, S. A., & Owen, R. J. (2006). Sample size calculations for clinical studies allowing for
uncertainty about the variance. Pharmaceutical Statistics, 5, 29-37. https://doi.org/10.1002/pst.197

Schuirmann, D. J. (1987). A comparison of the two one-sided tests procedure and the power approach
for assessing the equivalence of average bioavailability. Journal of Pharmacokinetics and
Biopharmaceutics, 15, 657-680. https://doi.org/10.1007/BF01068419
"""

from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import gammainccinv, gammaincinv, ndtr, ndtri, stdtrit

from psychollm._base.numbers import count
from psychollm._base.types import FloatArray

POWER = 0.8
_EXACT = 1e6  # more degrees of freedom are treated as infinite
_MANY = 1e4  # with more degrees of freedom, K is treated as constant
_ROUNDS = 100
_PRECISION = 1e-11

# Averages over v use the trapezoidal rule, because SciPy's nctdtr returns NaN for some arguments.
_NODES = np.linspace(-9.0, 9.0, 61), np.linspace(-7.2, 7.2, 25)
# With more degrees of freedom, 25 nodes have errors below 1e-10 (detection) and 1e-6 (absence).
_SMOOTH = {False: 20.0, True: 200.0}


def chance(
    ratio: float,
    df: float = np.inf,
    *,
    alpha: float = 0.05,
    absence: bool = False,
    pilot: float = np.inf,
) -> float:
    """Return the power for an effect of `ratio` standard errors, by equation (1) or (2).

    Parameters
    ----------
    ratio : float
        Effect, or smallest effect of interest, divided by the standard error.
    df, pilot : float
        Degrees of freedom of the standard error, and of its estimate from the pilot study.
    alpha : float
        One minus the level of the interval.
    absence : bool
        Whether the study is to show the absence of the effect.

    Examples
    --------
    >>> round(chance(2.8016), 3), round(chance(3.2415, absence=True), 3)
    (0.8, 0.8)
    """
    return _power(abs(ratio), df, alpha, absence=absence, pilot=pilot)[0]


def _power(
    ratio: float, df: float, alpha: float, *, absence: bool, pilot: float
) -> tuple[float, float]:
    """Return the power, and its derivative with respect to `ratio`."""
    few = min(df, pilot) >= _SMOOTH[absence]
    (u, outer), (v, inner) = _chi(pilot, few=few), _chi(df, few=few)
    bound = _bound(df, alpha)
    centre, reach = ratio * u[:, None], bound * v
    above = centre - reach
    density = np.exp(-0.5 * above**2) / np.sqrt(2.0 * np.pi)
    inside = ndtr(above)
    if absence:
        inside = np.maximum(0.0, 2.0 * inside - 1.0)
        density = np.where(inside > 0.0, 2.0 * density, 0.0)
    else:
        inside = inside + ndtr(-centre - reach)
        density -= np.exp(-0.5 * (centre + reach) ** 2) / np.sqrt(2.0 * np.pi)
    slope = float((outer * u) @ density @ inner)
    return min(1.0, float(outer @ inside @ inner)), slope


@lru_cache(maxsize=1024)
def _bound(df: float, alpha: float) -> float:
    """Return the critical value of a two-sided t test."""
    tail = 1.0 - 0.5 * alpha
    return float(stdtrit(df, tail) if df < _EXACT else ndtri(tail))


@lru_cache(maxsize=4096)
def multiple(
    power: float,
    df: float = np.inf,
    *,
    alpha: float = 0.05,
    absence: bool = False,
    pilot: float = np.inf,
) -> float:
    """Return K of equation (3), the detectable effect in standard errors; see `chance`.

    Examples
    --------
    >>> round(multiple(0.8), 2), round(multiple(0.8, absence=True), 2)
    (2.8, 3.24)
    >>> round(multiple(0.8, pilot=9.0), 2), round(multiple(0.8, pilot=9.0, absence=True), 2)
    (3.08, 3.74)
    """
    # Newton's method, with bisection where a step leaves the bracket. Importing SciPy's solvers
    # would take longer than comparing twenty models.
    low, high = 0.0, np.inf
    ratio = _bound(df, alpha) + float(ndtri(0.5 + 0.5 * power if absence else power))
    for _ in range(_ROUNDS):
        found, slope = _power(ratio, df, alpha, absence=absence, pilot=pilot)
        low, high = (ratio, high) if found < power else (low, ratio)
        following = ratio + (power - found) / slope if slope > 0.0 else np.inf
        if not low < following < min(high, 2.0 * ratio):
            following = min(0.5 * (low + high), 2.0 * ratio)
        if abs(following - ratio) <= _PRECISION * ratio:
            return following
        ratio = following
    return ratio


def detectable(
    se: FloatArray, df: FloatArray, *, alpha: Any, power: float = POWER, absence: bool = False
) -> FloatArray:
    """Return the smallest effects (k,) that can be detected or, for `absence`, excluded."""
    nu, tail = (np.asarray(one, np.float64) for one in np.broadcast_arrays(df, alpha))
    k, known = np.full(nu.shape, np.nan), (nu > 0.0) & (tail > 0.0)
    k[known] = _multiples(power, nu[known], nu[known], tail[known], absence=absence)
    return np.asarray(k * se, dtype=np.float64)


def units_needed(
    n: Any,
    se: Any,
    effect: Any,
    *,
    df: Any = np.inf,
    alpha: Any = 0.05,
    power: float = POWER,
    absence: bool = False,
) -> FloatArray:
    """Return the number of units needed, by equation (3), given standard errors from `n` units.

    Parameters
    ----------
    n, se, df : array_like (k,)
        Numbers of units of the pilot study, standard errors, and their degrees of freedom, which
        increase with the number of units.
    effect : array_like (k,)
        Effect to detect or, for `absence`, to exclude if the true effect is zero.
    alpha : array_like (k,)
        One minus the level of each interval.
    power : float
        Probability of detecting or excluding the effect.
    absence : bool
        Whether the effect is to be excluded instead of detected.

    Returns
    -------
    ndarray (k,)
        Numbers of units, rounded up; NaN if the standard error is undefined, and infinite if the
        effect is zero.

    Examples
    --------
    >>> units_needed(100, 0.1, 0.2), units_needed(100, 0.1, 0.2, absence=True)
    (array(197.), array(263.))
    """
    known = np.broadcast_arrays(
        *(np.asarray(one, np.float64) for one in (n, se, effect, df, alpha))
    )
    found = _needed(*(one.ravel() for one in known), power=power, absence=absence)
    return found.reshape(known[0].shape)


def about(n: float) -> str:
    """Return a number of units rounded to two digits, for a sentence.

    Examples
    --------
    >>> about(1551.0)
    'about 1,600'
    """
    return f"about {count(float(f'{n:.2g}'))}"


def _needed(
    n: FloatArray,
    se: FloatArray,
    effect: FloatArray,
    df: FloatArray,
    alpha: FloatArray,
    *,
    power: float,
    absence: bool,
) -> FloatArray:
    with np.errstate(invalid="ignore"):
        defined = (se > 0.0) & (n > 0.0) & (df > 0.0) & (alpha > 0.0) & ~np.isnan(effect)
    units = np.where(defined, np.inf, np.nan)
    open_ = np.flatnonzero(defined & (effect != 0.0))
    later = np.full(n.size, np.inf)
    # Iteration is required, because K depends on the degrees of freedom, which increase with the
    # number of units.
    for _ in range(_ROUNDS):
        k = _multiples(power, later[open_], df[open_], alpha[open_], absence=absence)
        before = units[open_]
        units[open_] = n[open_] * (k * se[open_] / effect[open_]) ** 2
        open_ = open_[~(np.abs(units[open_] - before) < 0.5)]
        if not open_.size:
            break
        later[open_] = np.maximum(1.0, (df[open_] + 1.0) * units[open_] / n[open_] - 1.0)
    return np.asarray(np.ceil(units * (1.0 - 1e-9)))


def _multiples(
    power: float, df: FloatArray, pilot: FloatArray, alpha: FloatArray, *, absence: bool
) -> FloatArray:
    """Return `multiple` for rounded arguments, so that equal cases are computed only once."""
    few = np.stack([_rounded(df), _rounded(pilot), _digits(alpha, 3)], axis=1)
    rows, row = np.unique(few, axis=0, return_inverse=True)
    found = [
        multiple(power, nu, pilot=known, alpha=tail, absence=absence)
        for nu, known, tail in rows.tolist()
    ]
    return np.array(found, dtype=np.float64)[row.ravel()]


def _rounded(df: FloatArray) -> FloatArray:
    """Round degrees of freedom: three digits below 100, else two; very large values become inf."""
    rounded = np.where(df < 100.0, _digits(df, 3), _digits(df, 2))
    return np.where(df < _MANY, rounded, np.inf)


def _digits(values: FloatArray, digits: int) -> FloatArray:
    """Return positive numbers rounded to significant digits."""
    known = np.where(np.isfinite(values), values, 1.0)
    places = digits - 1.0 - np.floor(np.log10(known))
    # Integer powers of ten are exact, so 0.05 stays 0.05.
    unit = 10.0 ** np.abs(places)
    rounded = np.where(places < 0.0, np.round(known / unit) * unit, np.round(known * unit) / unit)
    return np.asarray(np.where(np.isfinite(values), rounded, values))


@lru_cache(maxsize=256)
def _chi(df: float, *, few: bool) -> tuple[FloatArray, FloatArray]:
    """Return quantiles and weights of a chi variable divided by the root of its df."""
    if df >= _EXACT:
        return np.ones(1), np.ones(1)
    node = _NODES[few]
    below, above = gammaincinv(0.5 * df, ndtr(node)), gammainccinv(0.5 * df, ndtr(-node))
    weight = np.exp(-0.5 * node**2) / np.sqrt(2.0 * np.pi) * (node[1] - node[0])
    return np.sqrt(np.where(node < 0.0, below, above) / (0.5 * df)), weight
