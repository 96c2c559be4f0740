r"""Intervals of calibration errors: the bootstrap turned round.

A calibration error is a norm of gaps between accuracy and confidence. Noise adds to every norm, so
that the error of a sample lies above that of the population, and the error of a resample, which
has the noise of the sample and its own, above that of the sample. Percentiles of resamples
therefore miss the population, by the more the better the model is calibrated: they never reach
zero.

What resamples do show is the noise. Let the gaps of the population be in proportion to those of
the sample, :math:`\theta c` with :math:`\|c\| = 1`, and let :math:`e^*` be what the gaps of a
resample differ from those of the sample. Then

.. math:: T^*(\theta) = \|\theta c + e^*\|                                                \quad (1)

is distributed as the error of a sample from a population whose error is :math:`\theta`: with
:math:`\theta = 0` that of a calibrated model, with :math:`\theta` equal to the error of the
sample the ordinary bootstrap. The interval holds every :math:`\theta` under which the error T of
the sample is neither among the largest nor among the smallest :math:`\alpha/2` of (1). Its lower
bound is zero where T is no larger than noise. The :math:`\theta` under which T is the median of
(1) is the *corrected* error: half of all samples give a smaller one, whatever the error is.

A sample that happens to lie closer to the diagonal than calibration allows would exclude even
zero, and a sample without any gap would prove calibration. The upper bound is therefore never
below that of a sample with the mean error of calibrated ones (1): no sample shows more than its
noise lets it (compare the power-constrained limits of Cowan et al.).

The direction c is estimated, and with it how noise spreads over bins with and without a gap; that
is why coverage is close to the nominal one and not exact.

References
----------
Cowan, G., Cranmer, K., Gross, E., & Vitells, O. (2011). Power-constrained limits. arXiv:1105.3166.
"""

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.calibration.tally import Tally

METHOD = "inverted bootstrap"

N_SCALES = 16


def scales(value: float, noise: float) -> FloatArray:
    """Return the grid of theta of (1), denser near zero, where the norm bends most.

    Parameters
    ----------
    value : float
        Error of the sample.
    noise : float
        How far the error of a sample strays: the grid ends four times as far beyond `value`.

    Examples
    --------
    >>> scales(0.1, 0.05).round(3)[[0, 1, -1]]
    array([0.   , 0.005, 0.3  ])
    """
    top = value + 4.0 * noise
    return np.asarray(np.linspace(0.0, 1.0, N_SCALES) ** 1.5 * top)


def short(tally: Tally) -> float:
    r"""Return by how much the noise of resamples falls short: :math:`\sqrt{G / (G - 1)}`.

    G is the number of answers, or of clusters, that were resampled.

    Examples
    --------
    >>> from psychollm.calibration.stated import stated_answers
    >>> from psychollm.calibration.tally import tallies
    >>> round(short(tallies(stated_answers([0.5, 0.5, 0.9], [0, 1, 1]))[0]) ** 2, 3)
    1.5
    """
    units = tally.n if tally.cluster is None else np.unique(tally.cluster).size
    return float(np.sqrt(units / (units - 1.0))) if units > 1 else 1.0


def inverted(value: float, scale: FloatArray, draws: FloatArray, level: float) -> FloatArray:
    """Return lower bound, corrected error and upper bound of a calibration error.

    Parameters
    ----------
    value : float
        Error of the sample.
    scale : ndarray (scales,)
        Values of theta, increasing from zero.
    draws : ndarray (resamples, scales)
        Errors (1); rows of NaN are left out.
    level : float
        Coverage.

    Examples
    --------
    >>> noise = np.random.default_rng(0).normal(0.0, 0.01, (4000, 1))
    >>> scale = scales(0.1, 0.01)
    >>> inverted(0.1, scale, np.abs(scale + noise), 0.95).round(2)
    array([0.08, 0.1 , 0.12])
    """
    known = draws[np.isfinite(draws).all(axis=1)]
    if not np.isfinite(value) or len(known) < 2:
        return np.full(3, np.nan)
    if not scale[-1] > 0.0:  # no gap and no noise, in any resample: zero is certain
        return np.zeros(3)
    tail = 0.5 * (1.0 - level)
    low, middle, high = np.quantile(known, [tail, 0.5, 1.0 - tail], axis=0)
    at_least = max(value, float(known[:, 0].mean()))
    lower = _first_reaching(scale, high, value)
    upper = _last_below(scale, low, at_least)
    corrected = min(max(_last_below(scale, middle, value), lower), upper)
    return np.minimum([lower, corrected, upper], 1.0)  # no gap is larger


def family_bounds(outputs: int, value: FloatArray, draws: FloatArray, level: float) -> FloatArray:
    """Return the bounds of a metric's outputs (outputs, 2) from the columns it carries.

    All outputs estimate the error whose value stands first; the carried columns of the sample,
    which has no noise around itself, are the grid of theta.

    Examples
    --------
    >>> family_bounds(1, np.array([0.0, 0.0, 0.1]), np.array([[0.1, 0.1, 0.2]] * 9), 0.95)
    array([[0., 0.]])
    """
    lower, _, upper = inverted(float(value[0]), value[outputs:], draws[:, outputs:], level)
    return np.tile([lower, upper], (outputs, 1))


def _first_reaching(x: FloatArray, y: FloatArray, level: float) -> float:
    """Return the smallest x at which y reaches a level; beyond the grid y rises as x does."""
    reached = np.flatnonzero(y >= level)
    if not reached.size:
        return float(x[-1] + level - y[-1])
    i = int(reached[0])
    return _between(x, y, i - 1, level) if i else float(x[0])


def _last_below(x: FloatArray, y: FloatArray, level: float) -> float:
    """Return the largest x at which y does not exceed a level."""
    below = np.flatnonzero(y <= level)
    if not below.size:
        return float(x[0])
    i = int(below[-1])
    return _between(x, y, i, level) if i + 1 < x.size else float(x[-1] + level - y[-1])


def _between(x: FloatArray, y: FloatArray, i: int, level: float) -> float:
    return float(x[i] + (x[i + 1] - x[i]) * (level - y[i]) / (y[i + 1] - y[i]))
