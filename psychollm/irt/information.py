r"""Information of items and tests about ability.

.. math:: I_j(\theta) = \frac{P_j'(\theta)^2}{P_j(\theta)\,(1 - P_j(\theta))},
          \qquad I(\theta) = \sum_j I_j(\theta), \qquad
          \mathrm{se}(\theta) = I(\theta)^{-1/2}.                                     \quad (1)

The marginal reliability of a test for N(0, 1) abilities is :math:`1 - E[1 / (1 + I(\theta))]`, one
minus the mean posterior variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import float_array
from psychollm._base.errors import OptionError
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.data.labels import Labels
from psychollm.irt.result import IRTFit

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

DEFAULT_ABILITIES = (-4.0, 4.0, 81)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Information(Result):
    """Characteristic and information curves of items.

    Attributes
    ----------
    abilities : ndarray of shape (points,)
        Abilities, on the scale of the fit.
    probability, item : ndarray of shape (items, points)
        Probability of yes and information of each item; NaN for items without estimates. For
        graded items, the probability is replaced by the expected code, scaled from 0 to 1.
    test, se : ndarray of shape (points,)
        Test information, and the resulting standard error of ability.
    marginal_reliability : float
        One minus the mean posterior variance of ability in the population.
    labels : tuple
        Names of the items.
    """

    abilities: FloatArray  # (T,)
    probability: FloatArray  # (J, T)
    item: FloatArray  # (J, T)
    test: FloatArray  # (T,)
    se: FloatArray  # (T,)
    marginal_reliability: float
    labels: Labels  # J

    _AXES = Axes({"ability": "abilities"}, "information=test", "se")


def information(fit: IRTFit, *, abilities: ArrayLike | None = None) -> Information:
    """Return item characteristic and information curves.

    Parameters
    ----------
    fit : IRTFit
        Fitted items.
    abilities : array-like (points,), optional
        Abilities at which to evaluate; by default 81 points from -4 to 4 SDs.

    Returns
    -------
    Information
        Characteristic and information curves, and reliability.

    Raises
    ------
    OptionError
        If the abilities are not finite.

    Examples
    --------
    >>> from psychollm.irt.fit import fit_irt
    >>> answers = np.random.default_rng(3).random((600, 5)) < [0.2, 0.4, 0.5, 0.6, 0.8]
    >>> information(fit_irt(answers, model="rasch"), abilities=[0.0]).test.shape
    (1,)
    """
    sd = fit.ability_sd
    points = sd * np.linspace(*DEFAULT_ABILITIES) if abilities is None else abilities
    at = np.atleast_1d(float_array(points, "abilities"))
    if at.ndim != 1 or not np.isfinite(at).all():
        msg = f"abilities={at.tolist()!r:.80} must be finite numbers, one per point"
        raise OptionError(msg)
    keep, family = fit.fitted, fit.family
    parameters = fit.parameters[keep]
    items = np.full((keep.size, at.size), np.nan)
    curve = np.full((keep.size, at.size), np.nan)
    items[keep] = family.information(parameters, at / sd) / sd**2
    p = np.exp(family.log_probabilities(parameters, at / sd))
    curve[keep] = np.einsum("jcq,jc->jq", p, fit.shares[keep])
    total = items[keep].sum(axis=0)
    with np.errstate(divide="ignore"):
        se = np.where(total > 0.0, 1.0 / np.sqrt(total), np.inf)
    return Information(
        abilities=at,
        probability=curve,
        item=items,
        test=total,
        se=se,
        marginal_reliability=_marginal_reliability(fit),
        labels=fit.labels,
    )


def _marginal_reliability(fit: IRTFit) -> float:
    """Return one minus the mean posterior variance, with abilities N(0, 1)."""
    nodes = np.linspace(-6.0, 6.0, 121)
    weights = np.exp(-0.5 * nodes**2)
    total = fit.family.information(fit.parameters[fit.fitted], nodes).sum(axis=0)
    return float(1.0 - weights @ (1.0 / (1.0 + total)) / weights.sum())
