r"""Where each step of an item stands on the scale of ability: the items' side of a Wright map.

The threshold of step c (Thurstone's) is the ability at which an answer of c or more has even odds,

.. math:: P(y \ge c \mid \theta) = \tfrac12.                                             \quad (1)

For yes-or-no items without asymptotes it is the difficulty, for the graded model
:math:`-d_c / a`; for partial credit it is found by bisection and, unlike the intersections of
neighbouring curves, always in order. Items with a lower asymptote above one half, or an upper one
below, never pass through even odds, and neither does a slope of zero; the answers of a nominal
model have no order. These have none. Standard errors follow from those of the parameters x by
:math:`\partial\theta / \partial x = -(\partial P / \partial x) / (\partial P / \partial\theta)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.data.labels import Labels
from psychollm.estimates.reasons import Reason
from psychollm.irt.answers import spread
from psychollm.irt.families import Family
from psychollm.irt.result import IRTFit
from psychollm.irt.scoring import answer_curves
from psychollm.kernels.response_models import asymptotes

if TYPE_CHECKING:
    import pandas as pd

FURTHEST = 1e3  # of slope times ability
HALVINGS = 80


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Thresholds(Result):
    """Abilities at which answers of at least a code have even odds.

    Attributes
    ----------
    threshold : ndarray of shape (items, answers - 1)
        One for each step, on the scale of the fit; NaN where there is none.
    se : ndarray of shape (items, answers - 1)
        Standard errors.
    reasons : tuple of Reason
        Why an item has none.
    labels : tuple
        Names of the items.
    """

    threshold: FloatArray  # (J, C - 1)
    se: FloatArray  # (J, C - 1)
    reasons: tuple[Reason, ...]  # J
    labels: Labels  # J

    def to_frame(self) -> pd.DataFrame:
        """Return one row per item and step."""
        import pandas as pd

        items, steps = self.threshold.shape
        return pd.DataFrame(
            {
                "item": [label for label in self.labels for _ in range(steps)],
                "step": np.tile(np.arange(1, steps + 1), items),
                "threshold": self.threshold.ravel(),
                "se": self.se.ravel(),
            }
        )


def thresholds(fit: IRTFit) -> Thresholds:
    """Return the thresholds of all items.

    Parameters
    ----------
    fit : IRTFit
        Fitted items.

    Examples
    --------
    >>> from psychollm.irt.fit import fit_irt
    >>> answers = np.random.default_rng(3).random((600, 5)) < [0.2, 0.4, 0.5, 0.6, 0.8]
    >>> fit = fit_irt(answers, model="rasch")
    >>> bool(np.allclose(thresholds(fit).threshold[:, 0], fit.difficulty))
    True
    """
    keep, steps = fit.fitted, fit.n_categories - 1
    found = np.full((int(keep.sum()), steps), np.nan)
    if fit.model != "nominal":
        found = _even_odds(fit.family, fit.parameters[keep])
    se = _standard_errors(fit, found)
    found = np.asarray(found * fit.ability_sd)
    none = spread(np.isnan(found).all(axis=1).astype(np.float64), keep) == 1.0
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
    """Return standard errors of thresholds, given in standard deviations of abilities."""
    parameters, covariance = fit.parameters[fit.fitted], fit.covariance[fit.fitted]
    se = np.full(at.shape, np.nan)
    code = np.arange(fit.n_categories)
    for j in np.flatnonzero(np.isfinite(at).all(axis=1)):
        item = parameters[j : j + 1]
        curves = answer_curves(fit.family, item, at[j])
        scores = fit.family.scores(item, at[j])[0]  # (C, p, steps)
        for step in range(at.shape[1]):
            above = code > step
            slope = curves.first[0, above, step].sum()
            by_item = (curves.p[0, :, None] * scores)[above, :, step].sum(axis=0)
            direction = -by_item / slope * fit.ability_sd
            if fit.model == "rasch":  # whose slope is the standard deviation itself
                direction[0] += at[j, step]
            variance = direction @ covariance[j] @ direction
            se[j, step] = np.sqrt(variance) if variance > 0.0 else np.nan
    return se


def _even_odds(family: Family, parameters: FloatArray) -> FloatArray:
    """Return the abilities of (1), NaN where there is none (J, C - 1)."""
    if family.model == "gpcm":
        return _by_bisection(parameters)
    intercepts, height = parameters[:, 1 : family.n_categories], np.zeros((1, 1))
    if parameters.shape[1] > 2 and family.n_categories == 2:
        intercepts, height = parameters[:, 1:2], _heights(parameters, family.link)
    slope = np.where(parameters[:, :1] == 0.0, np.nan, parameters[:, :1])
    return np.asarray((height - intercepts) / slope)


def _heights(parameters: FloatArray, link: str) -> FloatArray:
    """Return z at which a curve with asymptotes is one half (J, 1)."""
    from scipy.special import logit, ndtri

    low, _, high, _ = asymptotes(parameters)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = (0.5 - low) / (high - low)
    share = np.where((share > 0.0) & (share < 1.0), share, np.nan)
    return np.asarray(logit(share) if link == "logit" else ndtri(share))


def _by_bisection(parameters: FloatArray) -> FloatArray:
    """Return the thresholds of partial credit items: P(y >= c) rises with slope * ability."""
    items, answers = parameters.shape
    steps = answers - 1
    intercepts = np.column_stack([np.zeros(items), parameters[:, 1:]])[:, :, None]
    code = np.arange(answers)[:, None]
    low, high = np.full((items, steps), -FURTHEST), np.full((items, steps), FURTHEST)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)  # of slope * ability
        eta = code * middle[:, None] + intercepts  # (J, C, steps)
        p = np.exp(eta - eta.max(axis=1, keepdims=True))
        above = np.stack([p[:, c:, c - 1].sum(axis=1) for c in range(1, answers)], axis=1)
        beyond = above / p.sum(axis=1) > 0.5
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    slope = np.where(parameters[:, :1] == 0.0, np.nan, parameters[:, :1])
    return np.asarray(0.5 * (low + high) / slope)
