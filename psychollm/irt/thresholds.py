r"""Thresholds of item steps on the ability scale, for Wright maps.

The Thurstone threshold of step c is the ability at which an answer of c or more has probability
1/2,

.. math:: P(y \ge c \mid \theta) = \tfrac12.                                             \quad (1)

For binary items without asymptotes, the threshold is the difficulty. For the graded model, the
threshold is :math:`-d_c / a`. For partial credit models, thresholds are computed by bisection.
Unlike the intersections of neighbouring curves, thresholds are always ordered. An item has no
threshold if its lower asymptote is above one half, its upper asymptote is below one half, or its
slope is zero. The nominal model has no thresholds, because its answers are not ordered. Standard
errors follow from the covariance of the parameters x by the delta method, with
:math:`\partial\theta / \partial x = -(\partial P / \partial x) / (\partial P / \partial\theta)`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.data.labels import Labels
from psychollm.estimates.reasons import Reason
from psychollm.irt.answers import spread
from psychollm.irt.result import IRTFit


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Thresholds(Result):
    """Thurstone thresholds: abilities at which a given code or a higher code has probability 1/2.

    Attributes
    ----------
    threshold : ndarray of shape (items, answers - 1)
        Threshold of each step, on the scale of the fit; NaN where undefined.
    se : ndarray of shape (items, answers - 1)
        Standard errors.
    reasons : tuple of Reason
        Reason for each item without a threshold.
    labels : tuple
        Names of the items.
    """

    threshold: FloatArray  # (J, C - 1)
    se: FloatArray  # (J, C - 1)
    reasons: tuple[Reason, ...]  # J
    labels: Labels  # J

    _AXES = Axes({"item": "labels", "step": None}, "threshold", "se")


def thresholds(fit: IRTFit) -> Thresholds:
    """Compute the thresholds of all items.

    Parameters
    ----------
    fit : IRTFit
        Fitted items.

    Returns
    -------
    Thresholds
        Thresholds with standard errors; NaN with a reason where undefined.

    Examples
    --------
    >>> from psychollm.irt.fit import fit_irt
    >>> answers = np.random.default_rng(3).random((600, 5)) < [0.2, 0.4, 0.5, 0.6, 0.8]
    >>> fit = fit_irt(answers, model="rasch")
    >>> bool(np.allclose(thresholds(fit).threshold[:, 0], fit.difficulty))
    True
    """
    keep = fit.estimated
    found = fit.family_of(keep).even_odds(fit.parameters[keep])
    se = _standard_errors(fit, found)
    found = np.asarray(found * fit.ability_sd)
    none = spread(np.asarray(np.isnan(found).all(axis=1), dtype=np.float64), keep) == 1.0
    return Thresholds(
        threshold=spread(found, keep),
        se=spread(se, keep),
        reasons=tuple(
            Reason.NO_EVEN_ODDS if missing else reason
            for reason, missing in zip(fit.reasons, none, strict=True)
        ),
        labels=fit.labels,
    )


def _standard_errors(fit: IRTFit, at: FloatArray) -> FloatArray:
    """Return standard errors of thresholds in units of the abilities' SD."""
    keep, unit_slope = fit.estimated, fit.family.unit_slope
    family, parameters, covariance = (
        fit.family_of(keep),
        fit.parameters[keep],
        fit.covariance[keep],
    )
    se = np.full(at.shape, np.nan)
    code = np.arange(fit.n_categories)
    for j in range(len(parameters)):
        steps = np.flatnonzero(np.isfinite(at[j]))
        item, own = parameters[j : j + 1], family.select(np.array([j]))
        p, first, _ = own.by_ability(item, at[j, steps])
        scores = own.scores(item, at[j, steps])[0]  # (C, p, steps)
        for k, step in enumerate(steps):
            above = code > step
            slope = first[0, above, k].sum()
            by_item = (p[0, :, None] * scores)[above, :, k].sum(axis=0)
            direction = -by_item / slope * fit.ability_sd
            if unit_slope:  # the common slope is the SD of abilities
                direction[0] += at[j, step]
            variance = direction @ covariance[j, : by_item.size, : by_item.size] @ direction
            se[j, step] = np.sqrt(variance) if variance > 0.0 else np.nan
    return se
