r"""Standard errors: of parameters from the information, of loadings by the delta method.

With :math:`s^2 = D^2 + a^\top \Phi a`, a loading :math:`\lambda_k = a_k / s` has the derivatives

.. math:: \frac{\partial \lambda_k}{\partial a_l} = \frac{[k = l]}{s}
          - \frac{a_k (\Phi a)_l}{s^3}, \qquad
          \frac{\partial \lambda_k}{\partial \rho_{pq}} = -\frac{a_k a_p a_q}{s^3}.      \quad (1)
"""

from dataclasses import dataclass

import numpy as np

from psychollm._base.types import BoolArray, FloatArray
from psychollm.irt.families import Link
from psychollm.irt.multidimensional.curvature import DenseInformation, LowRankInformation
from psychollm.irt.multidimensional.problem import Place, pairs
from psychollm.irt.multidimensional.scale import constant_of


@dataclass(frozen=True, slots=True)
class Errors:
    """Standard errors of one fit's items, and the whole covariance matrix where it was formed."""

    table: FloatArray  # (J, m + 1)
    correlation: FloatArray  # (m, m)
    loadings: FloatArray  # (J, m)
    covariance: FloatArray  # (P, P) or (0, 0)


def errors_of(
    place: Place, matrix: DenseInformation | LowRankInformation | None, link: Link
) -> Errors:
    """Return the standard errors at a place; NaN for what is held or undetermined."""
    items, p = place.table.shape
    m = p - 1
    nothing = Errors(
        np.full((items, p), np.nan), np.full((m, m), np.nan), np.full((items, m), np.nan), _none()
    )
    if matrix is None:
        return nothing
    full, cross = _none(), np.zeros((items, p, 0))
    if isinstance(matrix, DenseInformation):
        full = matrix.inverse()
        index = np.arange(items * p).reshape(items, p)
        blocks = full[index[:, :, None], index[:, None]]
        end = full[items * p :, items * p :]
        cross = full[: items * p, items * p :].reshape(items, p, -1)
    else:
        blocks, end = matrix.blocks()
        if len(end):
            cross = np.full((items, p, len(end)), np.nan)
    correlation = np.full((m, m), np.nan)
    if len(end):
        k, i = pairs(m)
        correlation[k, i] = correlation[i, k] = _root(np.diagonal(end))
    return Errors(
        _root(np.einsum("jpp->jp", blocks)),
        correlation,
        _of_loadings(place, link, blocks, cross, end),
        full,
    )


def _none() -> FloatArray:
    return np.zeros((0, 0))


def _root(variance: FloatArray) -> FloatArray:
    """Return roots of variances, NaN where there is none."""
    return np.sqrt(np.where(variance > 0.0, variance, np.nan))


def _of_loadings(
    place: Place, link: Link, blocks: FloatArray, cross: FloatArray, end: FloatArray
) -> FloatArray:
    """Return standard errors of loadings (J, m) by (1)."""
    slopes, m = place.slopes, place.slopes.shape[1]
    turned = slopes @ place.correlation
    size = np.sqrt(constant_of(link) ** 2 + (turned * slopes).sum(axis=1))
    by_slopes = np.eye(m) / size[:, None, None]
    by_slopes = by_slopes - slopes[:, :, None] * turned[:, None] / size[:, None, None] ** 3
    held = np.isnan(np.einsum("jpp->jp", blocks)[:, :m])
    inner = np.where(np.isnan(blocks[:, :m, :m]), 0.0, blocks[:, :m, :m])
    variance = np.einsum("jka,jab,jkb->jk", by_slopes, inner, by_slopes)
    if len(end):
        k, i = pairs(m)
        both = slopes[:, k] * slopes[:, i]
        by_correlations = -slopes[:, :, None] * both[:, None] / size[:, None, None] ** 3
        outer = np.where(held[:, :, None], 0.0, cross[:, :m])
        variance += np.einsum("jkc,cd,jkd->jk", by_correlations, end, by_correlations)
        variance += 2.0 * np.einsum("jka,jac,jkc->jk", by_slopes, outer, by_correlations)
    return np.where(held, np.nan, _root(variance))


def errors_of_functions(
    jacobian: FloatArray, covariance: FloatArray, free: BoolArray
) -> FloatArray:
    """Return standard errors of functions of the free parameters, NaN where there is none.

    Examples
    --------
    >>> errors_of_functions(np.ones((1, 2)), np.eye(2), np.array([True, True]))
    array([1.41421356])
    """
    inner = covariance[np.ix_(free, free)]
    return _root(np.einsum("oa,ab,ob->o", jacobian, inner, jacobian))
