r"""Standard errors and profile-likelihood bounds of logistic recalibration.

A bound of a coefficient is the value at which the likelihood, maximised over the other one, has
fallen so far that

.. math:: \sqrt{2 \left(\ell(\hat a, \hat b) - \max \ell(\cdot, v)\right)} = z,           \quad (1)

with z the normal quantile. The root of the deviance is nearly linear in v, so that the secant
method needs few evaluations; a bracket keeps it from straying. Where the penalised likelihood was
maximised, the same is done with it (Heinze & Schemper 2002).

References
----------
Heinze, G., & Schemper, M. (2002). A solution to the problem of separation in logistic regression.
Statistics in Medicine, 21, 2409-2419. https://doi.org/10.1002/sim.1047
"""

import math

import numpy as np
from numpy.typing import NDArray

from psychollm.kernels._jit import njit
from psychollm.kernels.cox import (
    EMPTY,
    FIXED,
    INTERCEPT,
    NO_PENALTY,
    ONE_CLASS,
    ORDINARY,
    PENALTY_INTERCEPT,
    PENALTY_LINE,
    SEPARATED,
    SLOPE,
    classify,
    evaluate,
    fit_level,
    fit_line,
    maximise,
)

_MAX_STEPS = 60
_TOLERANCE = 1e-9


@njit
def _bound(data, best, top, which, others, penalty, reach):
    """Return the bound (1) of coefficient `which` while the `others` are free."""
    # `reach` are the distance at which it lies if the profile is a parabola, with the sign of its
    # side, and z.
    step, z = reach
    theta = best.copy()
    near, near_root = 0.0, 0.0  # where the root of the deviance is below z
    far = math.inf  # where it is above
    move = step
    for _ in range(_MAX_STEPS):
        theta[which] = best[which] + move
        fall = top - maximise(data, theta, others, penalty)
        root = math.sqrt(max(2.0 * fall, 0.0))
        if abs(root - z) < _TOLERANCE:
            break
        slope = (root - near_root) / (move - near)
        if root > z:
            far = move
        else:
            near, near_root = move, root
        guess = move + (z - root) / slope
        if not abs(near) < abs(guess) < abs(far):
            guess = 2.0 * near + step if math.isinf(far) else 0.5 * (near + far)
        move = guess
    return best[which] + move


@njit
def _bounds(data, best, top, which, others, penalty, row):
    """Put both bounds into `row`: value, standard error, lower and upper bound; z stands in 2."""
    z = row[2]
    row[2] = _bound(data, best, top, which, others, penalty, (-z * row[1], z))
    row[3] = _bound(data, best, top, which, others, penalty, (z * row[1], z))


@njit
def _level(data, kind, row):
    """Fill the row of the intercept given a slope of one."""
    theta, found = np.empty(2), np.empty(6)
    top = fit_level(data, kind, theta)
    evaluate(data, theta, NO_PENALTY, found, np.empty(3))
    row[0], row[1] = theta[0], 1.0 / math.sqrt(found[3])
    penalty = PENALTY_INTERCEPT if kind == ONE_CLASS else NO_PENALTY
    _bounds(data, theta, top, 0, FIXED, penalty, row)


@njit
def _line(data, kind, slope, intercept):
    """Fill the rows of slope and intercept; return twice the rise of (1) from (0, 1)."""
    theta, found, at = np.empty(2), np.empty(6), np.empty(3)
    penalty = PENALTY_LINE if kind == SEPARATED else NO_PENALTY
    top = fit_line(data, kind, theta)
    evaluate(data, theta, NO_PENALTY, found, at)
    det = found[3] * found[5] - found[4] * found[4]
    intercept[0], intercept[1] = theta[0], math.sqrt(found[5] / det)
    slope[0], slope[1] = theta[1], math.sqrt(found[3] / det)
    _bounds(data, theta, top, 0, SLOPE, penalty, intercept)
    _bounds(data, theta, top, 1, INTERCEPT, penalty, slope)
    evaluate(data, np.array([0.0, 1.0]), penalty, found, at)
    return 2.0 * (top - at[0])


@njit
def recalibration_inference(
    x: NDArray[np.float64],
    correct: NDArray[np.float64],
    wrong: NDArray[np.float64],
    z: float,
    out: NDArray[np.float64],
    deviance: NDArray[np.float64],
) -> None:
    """Fill `out` (3, 4): value, standard error, lower and upper bound at the normal quantile z."""
    # The rows are slope, intercept, and intercept given a slope of one; `deviance` (1,) is twice
    # the rise of the log likelihood from (0, 1) to the fitted line. NaN where not defined.
    out[:] = np.nan
    deviance[0] = np.nan
    kind = classify(correct, wrong)
    if kind == EMPTY:
        return
    out[:, 2] = z
    data = (x, correct + wrong, np.array([correct.sum(), (correct * x).sum()]))
    _level(data, kind, out[2])
    if kind in (SEPARATED, ORDINARY):
        deviance[0] = _line(data, kind, out[0], out[1])
    else:
        out[:2] = np.nan
