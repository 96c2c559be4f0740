r"""Conversion between slopes and intercepts, and loadings and thresholds.

An item with slopes a and intercept d on abilities with correlations :math:`\Phi` is a dichotomised
variable of a factor model with

.. math:: \lambda = \frac{a}{\sqrt{D^2 + a^\top \Phi a}}, \qquad
          \tau = \frac{-d}{\sqrt{D^2 + a^\top \Phi a}}, \qquad
          a = \frac{D\,\lambda}{\sqrt{1 - \lambda^\top \Phi \lambda}}, \qquad
          d = \frac{-D\,\tau}{\sqrt{1 - \lambda^\top \Phi \lambda}},                     \quad (1)

where D = 1 for the probit link and D = 1.7 for the logit link. Equation (1) is exact for the
probit link. The logistic curve differs from a normal ogive by at most 0.01.

References
----------
Takane, Y., & de Leeuw, J. (1987). On the relationship between item response theory and factor
analysis of discretized variables. Psychometrika, 52(3), 393-408.
https://doi.org/10.1007/BF02294363
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.checks import check_choice, float_array
from psychollm._base.errors import OptionError, ShapeError
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.irt.families import Link
from psychollm.irt.priors import PROBIT_SCALE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def constant_of(link: Link) -> float:
    """Return the constant D of equation (1) for a link function."""
    return PROBIT_SCALE if link == "logit" else 1.0


def standardised(
    table: FloatArray, correlation: FloatArray, link: Link
) -> tuple[FloatArray, FloatArray]:
    """Convert slopes and intercepts (J, m + 1) to loadings (J, m) and thresholds (J,)."""
    slopes = table[:, :-1]
    explained = np.einsum("jk,kl,jl->j", slopes, correlation, slopes)
    size = np.sqrt(constant_of(link) ** 2 + explained)
    return slopes / size[:, None], -table[:, -1] / size


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ItemSlopes(Result):
    """Item parameters of a factor solution."""

    slopes: FloatArray  # (J, m)
    intercepts: FloatArray  # (J,)
    link: Link


def item_slopes(
    loadings: ArrayLike,
    thresholds: ArrayLike,
    *,
    factor_correlation: ArrayLike | None = None,
    link: Link = "probit",
) -> ItemSlopes:
    """Convert loadings and thresholds of a factor analysis into slopes and intercepts.

    Parameters
    ----------
    loadings : array of shape (items,) or (items, m)
        Pattern loadings on standardised factors.
    thresholds : array of shape (items,)
        Thresholds of the latent responses.
    factor_correlation : array of shape (m, m), optional
        Factor correlations; by default, factors are uncorrelated.
    link : {"logit", "probit"}
        Scale of the slopes: logistic or normal-ogive.

    Returns
    -------
    ItemSlopes
        Slopes and intercepts of the items.

    Raises
    ------
    ShapeError
        If the shapes do not match.
    OptionError
        If the factors explain all or more of an item's variance, or the link does not exist.

    Examples
    --------
    >>> found = item_slopes([0.6], [-0.4])
    >>> found.slopes, found.intercepts
    (array([[0.75]]), array([0.5]))
    """
    check_choice("link", link, Link)
    L = float_array(loadings, "loadings")
    L = L[:, None] if L.ndim == 1 else L
    if L.ndim != 2:
        msg = f"loadings have shape {L.shape}: pass (items,) or (items, abilities)"
        raise ShapeError(msg)
    tau = float_array(thresholds, "thresholds")
    m = L.shape[-1]
    phi = (
        np.eye(m)
        if factor_correlation is None
        else float_array(factor_correlation, "factor_correlation")
    )
    if L.ndim != 2 or tau.shape != L.shape[:1] or phi.shape != (m, m):
        msg = (
            f"loadings {L.shape}, thresholds {tau.shape} and factor_correlation {phi.shape} must "
            "have the shapes (items, m), (items,) and (m, m)"
        )
        raise ShapeError(msg)
    rest = 1.0 - np.einsum("jk,kl,jl->j", L, phi, L)
    over = np.flatnonzero(~(rest > 0.0))
    if over.size:
        msg = f"loadings[{over[0]}]: the factors explain {1 - rest[over[0]]:.3g} of its variance "
        raise OptionError(msg + "of 1, and its slope would be infinite: leave the item out")
    scale = constant_of(link) / np.sqrt(rest)
    return ItemSlopes(slopes=L * scale[:, None], intercepts=-tau * scale, link=link)
