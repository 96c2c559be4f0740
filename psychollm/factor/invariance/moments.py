r"""Thresholds and correlations that a group's parameters imply, with derivatives.

The latent answer of item i in group g is :math:`y_i = \nu_i + \lambda_i^\top f + e_i` with factors
of mean :math:`\kappa` and covariance matrix :math:`\Phi`; it is cut at :math:`\tau_{ic}`. Only its
standardised form is seen: with the scale :math:`s_i = 1 / \operatorname{sd}(y_i)` (the delta
parameterisation of Muthen),

.. math:: t_{ic} = s_i (\tau_{ic} - \nu_i - \lambda_i^\top \kappa), \qquad
          \rho_{ij} = s_i s_j\, \lambda_i^\top \Phi \lambda_j .                           \quad (1)

Equal residual variances make scales follow from the reference group (its scales are one):

.. math:: s_{ig}^{-2} = 1 - \lambda_{i1}^\top \Phi_1 \lambda_{i1}
                          + \lambda_{ig}^\top \Phi_g \lambda_{ig} .                       \quad (2)

References
----------
Muthen, B., & Asparouhov, T. (2002). Latent variable analysis with categorical outcomes:
Multiple-group and growth modeling in Mplus. Mplus Web Notes 4.
"""

from typing import NamedTuple

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.factor.invariance.layout import Layout, Shape

LEAST = 1e-6  # smallest variance of a latent answer


class Parts(NamedTuple):
    """Parameters of one group, unpacked."""

    thresholds: FloatArray  # (t,)
    intercepts: FloatArray  # (k,)
    scales: FloatArray  # (k,)
    loadings: FloatArray  # (k, m)
    means: FloatArray  # (m,)
    covariance: FloatArray  # (m, m)

    @property
    def shared(self) -> FloatArray:
        """Variances that the factors bring to the latent answers (k,)."""
        return np.asarray(np.sum((self.loadings @ self.covariance) * self.loadings, axis=1))


def unpack(shape: Shape, row: FloatArray) -> Parts:
    """Return the parts of one group's parameters (size,)."""
    k, m = shape.free.shape
    loadings, covariance = np.zeros((k, m)), np.zeros((m, m))
    loadings[shape.loading_item, shape.loading_factor] = row[shape.loadings]
    i, j = np.tril_indices(m)
    covariance[i, j] = covariance[j, i] = row[shape.covariances]
    return Parts(
        row[shape.thresholds],
        row[shape.intercepts],
        row[shape.scales],
        loadings,
        row[shape.means],
        covariance,
    )


def with_scales(layout: Layout, full: FloatArray) -> FloatArray:
    """Return all parameters (G, size) with derived scales by (2)."""
    if not layout.derived.any():
        return full
    full = full.copy()
    which = layout.shape.scales[layout.derived]
    first = unpack(layout.shape, full[0]).shared
    for group in range(1, len(full)):
        own = unpack(layout.shape, full[group]).shared
        full[group, which] = np.maximum(1.0 - first + own, LEAST)[layout.derived] ** -0.5
    return full


def moments(shape: Shape, row: FloatArray) -> FloatArray:
    """Return standardised thresholds and correlations (1) of one group (t + k (k - 1) / 2,).

    Examples
    --------
    >>> shape = Shape.of(np.ones((2, 1), dtype=bool), np.array([1, 1]))
    >>> moments(shape, np.array([0.5, 0.0, 0.0, 0.0, 1.0, 1.0, 0.8, 0.5, 0.0, 1.0]))
    array([0.5, 0. , 0.4])
    """
    part, item = unpack(shape, row), shape.item_of_threshold
    mean = part.intercepts + part.loadings @ part.means
    between = part.loadings @ part.covariance @ part.loadings.T
    i, j = np.tril_indices(len(mean), -1)
    scale = part.scales
    cuts = scale[item] * (part.thresholds - mean[item])
    return np.concatenate([cuts, scale[i] * scale[j] * between[i, j]])


def derivatives(shape: Shape, row: FloatArray) -> FloatArray:
    """Return derivatives of (1) by the group's parameters (p, size), scales held apart."""
    part, item = unpack(shape, row), shape.item_of_threshold
    k, m = shape.free.shape
    t, scale = item.size, part.scales
    i, j = np.tril_indices(k, -1)
    out = np.zeros((t + i.size, shape.size))
    cut, pair = np.arange(t), t + np.arange(i.size)
    mean = part.intercepts + part.loadings @ part.means
    out[cut, shape.thresholds] = scale[item]
    out[cut, shape.intercepts[item]] = -scale[item]
    out[cut, shape.scales[item]] = part.thresholds - mean[item]
    structure = part.loadings @ part.covariance
    between = structure @ part.loadings.T
    out[pair, shape.scales[i]] = scale[j] * between[i, j]
    out[pair, shape.scales[j]] = scale[i] * between[i, j]
    both = scale[i] * scale[j]
    for place, own, f in zip(
        shape.loadings, shape.loading_item, shape.loading_factor, strict=True
    ):
        out[cut, place] = (item == own) * (-part.means[f] * scale[item])
        out[pair, place] = both * ((i == own) * structure[j, f] + (j == own) * structure[i, f])
    out[cut[:, None], shape.means] = -scale[item, None] * part.loadings[item]
    for place, f, g in zip(shape.covariances, *np.tril_indices(m), strict=True):
        product = part.loadings[i, f] * part.loadings[j, g]
        if f != g:
            product = product + part.loadings[i, g] * part.loadings[j, f]
        out[pair, place] = both * product
    return out


def stacked_moments(layout: Layout, x: FloatArray) -> FloatArray:
    """Return the moments of all groups, one after the other."""
    full = with_scales(layout, layout.full(x))
    return np.concatenate([moments(layout.shape, row) for row in full])


def stacked_derivatives(layout: Layout, x: FloatArray) -> FloatArray:
    """Return their derivatives by the free parameters (G p, q)."""
    full = with_scales(layout, layout.full(x))
    return np.concatenate(
        [layout.gathered(own_columns(layout, full, g)) for g in range(len(full))]
    )


def own_columns(layout: Layout, full: FloatArray, group: int) -> FloatArray:
    """Return derivatives of one group's moments by the parameters of all groups (p, G, size)."""
    shape = layout.shape
    direct = derivatives(shape, full[group])
    columns = np.zeros((len(direct), *full.shape))
    columns[:, group] = direct
    if group and layout.derived.any():
        turn = direct[:, shape.scales] * (-0.5 * full[group, shape.scales] ** 3 * layout.derived)
        columns[:, group] += turn @ _shared_derivatives(shape, full[group])
        columns[:, 0] -= turn @ _shared_derivatives(shape, full[0])
    return columns


def _shared_derivatives(shape: Shape, row: FloatArray) -> FloatArray:
    """Return derivatives of the variances that factors bring (k, size)."""
    part = unpack(shape, row)
    out = np.zeros((len(shape.free), shape.size))
    structure = part.loadings @ part.covariance
    item, factor = shape.loading_item, shape.loading_factor
    out[item, shape.loadings] = 2.0 * structure[item, factor]
    f, g = np.tril_indices(len(part.means))
    twice = np.where(f == g, 1.0, 2.0)
    out[:, shape.covariances] = twice * part.loadings[:, f] * part.loadings[:, g]
    return out
