r"""Numbers of units needed to detect an effect, or to show that it is negligible.

A study with standard error :math:`\sigma` on :math:`\nu` degrees of freedom estimates an effect
:math:`\theta` by :math:`\hat\theta`, and its interval is :math:`\hat\theta \pm c s`, with c the
quantile of Student's t and :math:`s = \sigma v`, :math:`v^2 \sim \chi^2_\nu / \nu`. It excludes
zero with probability

.. math:: P = E\bigl[\Phi(\theta / \sigma - c v) + \Phi(-\theta / \sigma - c v)\bigr],    \quad (1)

and, without an effect, is within :math:`\pm\delta` (two one-sided tests) with probability

.. math:: P_0 = E\bigl[\max\{0,\; 2 \Phi(\delta / \sigma - c v) - 1\}\bigr].              \quad (2)

(2) assumes a zero effect: with a pilot's estimate, the number of units would depend on the pilot's
noise, and would be undefined for estimates beyond :math:`\delta`.

:math:`\sigma` is known from a pilot, up to its own error: with :math:`\nu_0` degrees of freedom it
is :math:`s_0 / u`, :math:`u^2 \sim \chi^2_{\nu_0} / \nu_0`. Treating it as exact overstates power,
because power loses more from an underestimated :math:`\sigma` than it gains from an overestimated
one. Therefore (1) and (2) are also averaged over u (Julious and Owen, 2006). An effect of
:math:`\delta` must be K standard errors large, which shrink with the square root of the number of
units. With n units in the pilot, the number needed is

.. math:: m = n \, (K s_0 / \delta)^2.                                                   \quad (3)

With many units, at a level of 95 % and a power of 80 %, K is 2.80 for the effect and 3.24 for its
absence, which takes 1.34 times as many units.

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
_EXACT = 1e6  # degrees of freedom treated as infinite
_MANY = 1e4  # with more degrees of freedom K is constant
_ROUNDS = 60

# Averages over v use the trapezoidal rule, because SciPy's nctdtr is NaN for some arguments.
_NODE = np.linspace(-9.0, 9.0, 61)
_WEIGHT = np.exp(-0.5 * _NODE**2) / np.sqrt(2.0 * np.pi) * (_NODE[1] - _NODE[0])


def chance(
    ratio: float,
    df: float = np.inf,
    *,
    alpha: float = 0.05,
    absence: bool = False,
    pilot: float = np.inf,
) -> float:
    """Return the power (1), or (2) for `absence`, for an effect of `ratio` standard errors.

    Parameters
    ----------
    ratio : float
        Effect, or smallest effect of interest, over the standard error.
    df, pilot : float
        Degrees of freedom of the standard error, and of the pilot's estimate of it.
    alpha : float
        One minus the level of the interval.
    absence : bool
        Whether to show absence of the effect.

    Examples
    --------
    >>> round(chance(2.8016), 3), round(chance(3.2415, absence=True), 3)
    (0.8, 0.8)
    """
    (u, outer), (v, inner) = _chi(pilot), _chi(df)
    tail = 1.0 - 0.5 * alpha
    bound = stdtrit(df, tail) if df < _EXACT else ndtri(tail)
    centre, reach = abs(ratio) * u[:, None], bound * v
    if absence:
        inside = np.maximum(0.0, 2.0 * ndtr(centre - reach) - 1.0)
    else:
        inside = ndtr(centre - reach) + ndtr(-centre - reach)
    return min(1.0, float(outer @ inside @ inner))


@lru_cache(maxsize=4096)
def multiple(
    power: float,
    df: float = np.inf,
    *,
    alpha: float = 0.05,
    absence: bool = False,
    pilot: float = np.inf,
) -> float:
    """Return K of (3), the effect needed in standard errors; arguments as in `chance`.

    Examples
    --------
    >>> round(multiple(0.8), 2), round(multiple(0.8, absence=True), 2)
    (2.8, 3.24)
    >>> round(multiple(0.8, pilot=9.0), 2), round(multiple(0.8, pilot=9.0, absence=True), 2)
    (3.08, 3.74)
    """
    from scipy.optimize import brentq

    def short(ratio: float) -> float:
        return chance(ratio, df, alpha=alpha, absence=absence, pilot=pilot) - power

    high = 4.0
    while short(high) < 0.0:
        high *= 2.0
    return float(brentq(short, 0.0, high, xtol=1e-12))


def detectable(
    se: FloatArray, df: FloatArray, *, alpha: Any, power: float = POWER, absence: bool = False
) -> FloatArray:
    """Return the smallest effects (k,) that n units detect, or exclude for `absence`."""
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
    """Return the number of units needed (3), given standard errors from `n` units.

    Parameters
    ----------
    n, se, df : array_like (k,)
        Units of the pilot, standard errors, and their degrees of freedom, which grow with units.
    effect : array_like (k,)
        Effect to detect or, for `absence`, to exclude if the true effect is zero.
    alpha : array_like (k,)
        One minus the level of each interval.
    power : float
        Probability to detect or exclude the effect.
    absence : bool
        Whether to exclude the effect.

    Returns
    -------
    ndarray (k,)
        Whole numbers; NaN without a standard error, infinite without an effect.

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
    # K depends on the degrees of freedom, which grow with the number of units: iterate.
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
    """Return `multiple` of numbers rounded to two or three digits, each computed once."""
    few = np.stack([_rounded(df), _rounded(pilot), _digits(alpha, 3)], axis=1)
    rows, row = np.unique(few, axis=0, return_inverse=True)
    found = [
        multiple(power, nu, pilot=known, alpha=tail, absence=absence)
        for nu, known, tail in rows.tolist()
    ]
    return np.array(found, dtype=np.float64)[row.ravel()]


def _rounded(df: FloatArray) -> FloatArray:
    """Return degrees of freedom to three digits below 100, to two above, or infinite if many."""
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
def _chi(df: float) -> tuple[FloatArray, FloatArray]:
    """Return quantiles of chi divided by the root of its degrees of freedom, and weights."""
    if df >= _EXACT:
        return np.ones(1), np.ones(1)
    below, above = ndtr(_NODE), ndtr(-_NODE)
    gamma = np.where(_NODE < 0, gammaincinv(0.5 * df, below), gammainccinv(0.5 * df, above))
    return np.sqrt(gamma / (0.5 * df)), _WEIGHT
