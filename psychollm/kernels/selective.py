r"""Selective prediction in resamples of counts, exact for tied answers in random order.

Answers are given in decreasing order of confidence. Suppose that N answers with E errors are
followed by a group of m answers with equal confidence, and that w answers of the group are wrong.
After j answers of the group in random order, the expected number of errors is :math:`E + j w / m`,
so that

.. math:: \sum_{j=1}^{m} \frac{E + j w/m}{N + j}
          = \left(E - N \frac{w}{m}\right) \left(H_{N+m} - H_N\right) + w,              \quad (1)

.. math:: \sum_{j=1}^{m} \left(E + j \frac{w}{m}\right) = m E + w \frac{m + 1}{2},      \quad (2)

with harmonic numbers :math:`H_k = \psi(k + 1) + \gamma`. Each group of tied answers takes one
look-up, regardless of its size. If answers are weighted, the digamma function :math:`\psi`
interpolates H between integers, so that an answer of weight v counts as v answers.

References
----------
Geifman, Y., Uziel, G., & El-Yaniv, R. (2019). Bias-reduced uncertainty estimation for deep neural
classifiers. International Conference on Learning Representations.
https://doi.org/10.48550/arXiv.1805.08206
"""

import math

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.kernels._jit import njit

_EULER = 0.57721566490153286061
# Sums of fractions differ from integers, and from one another, by rounding errors.
_ROUNDING = 1e-9
_TINY = 1e-300  # replaces a denominator of 0 if the numerator is also 0


@njit
def harmonic(x: float, table: FloatArray) -> float:
    """Return the harmonic number of x >= 0, from `table` if x is an integer within its range."""
    if x < table.size:
        whole = int(x)
        if whole == x:
            return table[whole]
    return _continued(x)


@njit
def _continued(x: float) -> float:
    """Return psi(x + 1) + gamma."""
    shift, y = 0.0, x + 1.0
    while y < 10.0:
        shift -= 1.0 / y
        y += 1.0
    z = 1.0 / (y * y)
    # In this asymptotic series of digamma, the first omitted term is below 2e-14 at y >= 10.
    series = z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z * (1 / 240 - z / 132))))
    return math.log(y) - 0.5 / y - series + shift + _EULER


@njit
def selective_sums(
    correct: FloatArray, wrong: FloatArray, table: FloatArray, out: FloatArray
) -> None:
    """Fill `out` (resamples, 4): the sums of both equations, and numbers of answers and errors."""
    # Groups are in order of increasing confidence; `table` holds harmonic numbers.
    for row in range(correct.shape[0]):
        given, errors, risks, joint = 0.0, 0.0, 0.0, 0.0
        before = 0.0  # harmonic number at `given`
        # The loop has no branches, because a third of the groups are empty in a resample and the
        # processor cannot predict which.
        for g in range(correct.shape[1] - 1, -1, -1):
            w = wrong[row, g]
            m = correct[row, g] + w
            after = harmonic(given + m, table)
            risks += (errors - given * (w / max(m, _TINY))) * (after - before) + w
            joint += errors * m + 0.5 * w * (m + 1.0)
            errors += w
            given += m
            before = after
        out[row, 0], out[row, 1] = risks, joint
        out[row, 2], out[row, 3] = given, errors


@njit
def risks_at_coverages(
    correct: FloatArray,
    wrong: FloatArray,
    coverages: FloatArray,
    whole_groups: bool,
    out: FloatArray,
) -> None:
    """Fill `out` (resamples, points) with error rates among the most confident answers."""
    # `coverages` (points,) increase within (0, 1]. Rates are expectations over random orders of
    # tied answers. With `whole_groups`, tied answers are taken together, so the coverage may be
    # larger than requested. Rates are NaN where a resample has no answers.
    for row in range(correct.shape[0]):
        out[row, :] = np.nan
        total = 0.0
        for g in range(correct.shape[1]):
            total += correct[row, g] + wrong[row, g]
        if total <= 0.0:
            continue
        point, given, errors = 0, 0.0, 0.0
        for g in range(correct.shape[1] - 1, -1, -1):
            w = wrong[row, g]
            m = correct[row, g] + w
            while point < coverages.size and given + m >= coverages[point] * total - _ROUNDING:
                wanted = coverages[point] * total
                if whole_groups:
                    out[row, point] = (errors + w) / (given + m)
                else:
                    # If only a rounding error admits a group, no answers are taken from it.
                    taken = max(wanted - given, 0.0) * w / max(m, _TINY)
                    out[row, point] = (errors + taken) / wanted
                point += 1
            given += m
            errors += w


@njit
def coverages_at_risks(
    correct: FloatArray, wrong: FloatArray, risks: FloatArray, whole_groups: bool, out: FloatArray
) -> None:
    """Fill `out` (resamples, points) with the largest coverage at which a risk is not exceeded."""
    # `risks` (points,) are within [0, 1). Candidates are whole numbers of answers, with expected
    # errors over random orders of tied answers, or only whole groups of ties with `whole_groups`.
    # The coverage is zero where even the most confident answer exceeds the risk, and NaN where a
    # resample has no answers.
    for row in range(correct.shape[0]):
        for point in range(risks.size):
            risk = risks[point]
            most, given, errors = 0.0, 0.0, 0.0
            met = True
            for g in range(correct.shape[1] - 1, -1, -1):
                w = wrong[row, g]
                m = correct[row, g] + w
                now = errors + w <= risk * (given + m) + _ROUNDING
                if met and not now and m > 1.0 and not whole_groups:
                    # (E + j w/m) - r (N + j) increases and crosses zero inside the group.
                    zero = given + (risk * given - errors) / (w / m - risk)
                    most = max(most, math.floor(zero + _ROUNDING))
                most = given + m if now else most
                met = now
                given += m
                errors += w
            out[row, point] = most / given if given > 0.0 else np.nan
