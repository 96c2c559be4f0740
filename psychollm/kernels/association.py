r"""Sums over resampled counts, for rank measures of how well confidence separates two classes.

Let C_g be the number of correct and W_g the number of wrong answers at the g-th smallest
confidence, and let the subscript < g denote sums over smaller confidences. The numbers of pairs of
one correct and one wrong answer are

.. math:: P = \sum_g C_g W_{<g}, \qquad Q = \sum_g W_g C_{<g}, \qquad T = \sum_g C_g W_g, \quad (1)

where P counts the concordant pairs, Q the discordant pairs and T the ties. The average precision
of the correct answers, ranked from the most confident, and of the wrong answers, ranked from the
least confident, is

.. math:: \frac1C \sum_g C_g \frac{C_{\ge g}}{n_{\ge g}}, \qquad
          \frac1W \sum_g W_g \frac{W_{\le g}}{n_{\le g}}.                                 \quad (2)

One pass from both ends computes all sums of equations (1) and (2) in time linear in the number of
groups.

References
----------
Bamber, D. (1975). The area above the ordinal dominance graph and the area below the receiver
operating characteristic graph. Journal of Mathematical Psychology, 12(4), 387-415.
https://doi.org/10.1016/0022-2496(75)90001-2
"""

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.kernels._jit import njit

_ROUNDING = 1e-9  # tolerance, because 0.29 * 100 is less than 29 in floating point
_TINY = 1e-300  # replaces a denominator of 0 if the numerator is also 0


@njit
def order_sums(
    values: FloatArray, correct: FloatArray, wrong: FloatArray, out: FloatArray
) -> None:
    """Fill `out` (resamples, 11) with sums over the groups of tallies (resamples, groups)."""
    # The columns are C and W; P, Q and T of (1); the sum of squared group sizes; the two sums of
    # (2) without their factors (correct, then wrong); the sums of u and of u squared over all
    # answers; and the sum of u over the correct answers. Here u are the `values` (groups,), in
    # increasing order.
    last = values.size - 1
    for row in range(correct.shape[0]):
        below_c, below_w, above_c, above = 0.0, 0.0, 0.0, 0.0
        in_order, against, tied, squares = 0.0, 0.0, 0.0, 0.0
        precise_c, precise_w = 0.0, 0.0
        first, second, of_correct = 0.0, 0.0, 0.0
        # The loop has no branches, because a third of the groups are empty in a resample and the
        # processor cannot predict which.
        for g in range(values.size):
            c, w, u = correct[row, g], wrong[row, g], values[g]
            m = c + w
            in_order += c * below_w
            against += w * below_c
            tied += c * w
            squares += m * m
            first += m * u
            second += m * u * u
            of_correct += c * u
            below_c += c
            below_w += w
            precise_w += w * below_w / max(below_c + below_w, _TINY)
            c, w = correct[row, last - g], wrong[row, last - g]
            above_c += c
            above += c + w
            precise_c += c * above_c / max(above, _TINY)
        out[row, 0], out[row, 1] = below_c, below_w
        out[row, 2], out[row, 3], out[row, 4] = in_order, against, tied
        out[row, 5], out[row, 6], out[row, 7] = squares, precise_c, precise_w
        out[row, 8], out[row, 9], out[row, 10] = first, second, of_correct


@njit
def hit_rates(
    correct: FloatArray, wrong: FloatArray, false_alarms: FloatArray, out: FloatArray
) -> None:
    """Fill `out` (resamples, points) with hit rates at the given false alarm rates."""
    # `false_alarms` (points,) gives the proportion of wrong answers above each criterion; it
    # increases within [0, 1]. Among tied answers, the proportions of correct and of wrong answers
    # increase together. Where the curve is vertical, its upper end is returned. The rates are NaN
    # where a resample has no correct or no wrong answers.
    for row in range(correct.shape[0]):
        all_c, all_w = 0.0, 0.0
        for g in range(correct.shape[1]):
            all_c += correct[row, g]
            all_w += wrong[row, g]
        point = 0
        if all_c <= 0.0 or all_w <= 0.0:
            for node in range(false_alarms.size):
                out[row, node] = np.nan
            continue
        above_c, above_w = 0.0, 0.0
        for g in range(correct.shape[1] - 1, -1, -1):
            c, w = correct[row, g], wrong[row, g]
            while point < false_alarms.size and (
                above_w + w > false_alarms[point] * all_w + _ROUNDING
            ):
                inside = max(false_alarms[point] * all_w - above_w, 0.0) / w
                out[row, point] = (above_c + c * inside) / all_c
                point += 1
            above_c += c
            above_w += w
        for node in range(point, false_alarms.size):
            out[row, node] = 1.0
