r"""Simultaneous intervals of differences, computed from the intervals of the two scores.

Intervals of proportions should be asymmetric near 0 and 1, whereas Student's t intervals are
symmetric. The method of variance estimates recovery (MOVER) transfers the asymmetry to
differences. Let a and b be the margins below and above a score :math:`\hat\theta`, and r the
correlation of two errors. The interval of a difference is

.. math:: \hat\theta_i - \hat\theta_j - \sqrt{a_i^2 + b_j^2 - 2 r a_i b_j}, \qquad
          \hat\theta_i - \hat\theta_j + \sqrt{b_i^2 + a_j^2 - 2 r b_i a_j}.               \quad (1)

The level of the score intervals is chosen such that all differences are covered simultaneously.
The chosen level is the pointwise coverage of simultaneous Student's t intervals.

References
----------
Zou, G. Y., & Donner, A. (2008). Construction of confidence intervals about effect measures: A
general approach. Statistics in Medicine, 27, 1693-1702. https://doi.org/10.1002/sim.3095
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from scipy.special import stdtr

from psychollm._base.types import FloatArray
from psychollm.reliability.means.score_differences import ScoreDifferences

# Lower and upper margins (2, pairs) of the first and of the second score of each pair, at a level.
Margins: TypeAlias = Callable[[float], tuple[FloatArray, FloatArray]]


def combined_intervals(
    differences: ScoreDifferences, margins: Margins, correlation: FloatArray
) -> ScoreDifferences:
    """Return differences of proportions with simultaneous intervals by equation (1).

    Parameters
    ----------
    differences : ScoreDifferences
        Differences with simultaneous intervals ("max_t").
    margins : callable
        Function that takes a level, and returns the lower and upper margins (2, pairs) of the
        first and of the second score of each pair.
    correlation : ndarray (pairs,)
        Correlation of the errors of the two scores in each pair.

    Returns
    -------
    ScoreDifferences
        Pairs without variance have no interval.

    Examples
    --------
    >>> from psychollm.reliability.means.score_differences import score_differences
    >>> scores = [[1, 1, 0, 1, 0, 1], [1, 0, 0, 1, 0, 0]]
    >>> found = score_differences(scores, adjustment="max_t", rng=1)
    >>> margins = np.array([[0.4], [0.2]]), np.array([[0.2], [0.4]])
    >>> combined_intervals(found, lambda level: margins, np.array([0.5])).interval.round(3)
    array([[-0.067,  0.533]])
    """
    known = np.isfinite(differences.se) & np.isfinite(differences.margin)  # not without spread
    if not known.any():
        return differences
    # The critical value is common to all pairs, whereas degrees of freedom differ between pairs.
    multiple = differences.margin[known] / differences.se[known]
    outside = 2.0 * float(np.median(stdtr(differences.df[known], -multiple)))
    first, second = margins(1.0 - outside)
    below, above = (
        np.sqrt(np.maximum(one**2 + other**2 - 2.0 * correlation * one * other, 0.0))
        for one, other in zip(first, second[::-1], strict=True)
    )
    value = differences.value
    interval = np.clip(np.stack([value - below, value + above], axis=1), -1.0, 1.0)
    return replace(differences, interval=np.where(known[:, None], interval, np.nan))
