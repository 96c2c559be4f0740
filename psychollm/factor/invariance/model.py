r"""Parameters of several groups, which are fixed, group-specific or equal in all groups.

The first group is the reference. In the reference group, scales are one and factors have mean zero
and variance one, so that thresholds and loadings are standardised. The level determines the
equalities (Wu & Estabrook, 2016):

============  ======================================  ==========================================
level         the same in all groups                  free in the others
============  ======================================  ==========================================
configural    nothing                                 (scales 1, intercepts 0, factors N(0, 1))
thresholds    thresholds                              scales, intercepts
metric        thresholds, loadings                    scales, intercepts, factor variances
scalar        thresholds, loadings, intercepts        scales, factor variances, factor means
strict        all of these and residual variances     factor variances, factor means
============  ======================================  ==========================================

The single threshold of a binary item identifies either its intercept or its scale. The scale of a
binary item is therefore fixed at one at the thresholds level. At the metric level, the variance of
a factor that has only binary items is also fixed at one. At the scalar level, thresholds and
loadings of binary items are tested jointly: threshold-to-loading ratios must be linearly related
between groups. Factor variances in other groups are identified only if thresholds differ between
items. Free items have their own thresholds and loadings in every group.

The latent answer of item i in group g is :math:`y_i = \nu_i + \lambda_i^\top f + e_i` with factors
of mean :math:`\kappa` and covariance matrix :math:`\Phi`; its thresholds are :math:`\tau_{ic}`.
Only the standardised form of the latent answer is observed. With the scale :math:`s_i = 1 /
\operatorname{sd}(y_i)` (the delta parameterisation of Muthen),

.. math:: t_{ic} = s_i (\tau_{ic} - \nu_i - \lambda_i^\top \kappa), \qquad
          \rho_{ij} = s_i s_j\, \lambda_i^\top \Phi \lambda_j .                           \quad (1)

With equal residual variances, scales follow from the reference group, whose scales are one:

.. math:: s_{ig}^{-2} = 1 - \lambda_{i1}^\top \Phi_1 \lambda_{i1}
                          + \lambda_{ig}^\top \Phi_g \lambda_{ig} .                       \quad (2)

References
----------
Wu, H., & Estabrook, R. (2016). Identification of confirmatory factor analysis models of different
levels of invariance for ordered categorical outcomes. Psychometrika, 81(4), 1014-1045.
https://doi.org/10.1007/s11336-016-9506-0

Muthen, B., & Asparouhov, T. (2002). Latent variable analysis with categorical outcomes:
Multiple-group and growth modeling in Mplus. Mplus Web Notes 4.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from psychollm._base.types import BoolArray, FloatArray, IntArray

Invariance: TypeAlias = Literal["configural", "thresholds", "metric", "scalar", "strict"]
LEVELS: tuple[Invariance, ...] = ("configural", "thresholds", "metric", "scalar", "strict")
HELD = -1
LEAST = 1e-6  # smallest variance of a latent answer


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shape:
    """Positions of one group's parameters: thresholds, intercepts, scales, loadings, factors."""

    free: BoolArray  # (k, m) pattern of loadings
    item_of_threshold: IntArray  # (t,)
    loading_item: IntArray  # (l,)
    loading_factor: IntArray  # (l,)
    thresholds: IntArray  # (t,) positions
    intercepts: IntArray  # (k,)
    scales: IntArray  # (k,)
    loadings: IntArray  # (l,)
    means: IntArray  # (m,)
    covariances: IntArray  # (m (m + 1) / 2,) lower triangle, row by row
    size: int

    @classmethod
    def of(cls, free: BoolArray, cuts: IntArray) -> "Shape":
        """Return the positions for k items with `cuts` (k,) thresholds each."""
        k, m = free.shape
        item, factor = np.nonzero(free)
        sizes = (int(cuts.sum()), k, k, item.size, m, m * (m + 1) // 2)
        ends = np.cumsum((0, *sizes))
        parts = [np.arange(a, b) for a, b in pairwise(ends)]
        return cls(
            free=free,
            item_of_threshold=np.repeat(np.arange(k), cuts),
            loading_item=item,
            loading_factor=factor,
            thresholds=parts[0],
            intercepts=parts[1],
            scales=parts[2],
            loadings=parts[3],
            means=parts[4],
            covariances=parts[5],
            size=int(ends[-1]),
        )

    @property
    def variances(self) -> IntArray:
        """Positions of the factor variances (m,)."""
        i, j = np.tril_indices(self.free.shape[1])
        return np.asarray(self.covariances[i == j], dtype=np.int64)

    def of_item(self, item: int) -> IntArray:
        """Return the positions of all parameters of one item."""
        return np.concatenate(
            [
                self.thresholds[self.item_of_threshold == item],
                self.loadings[self.loading_item == item],
                [self.intercepts[item], self.scales[item]],
            ]
        ).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """Positions of each group's parameters among the free parameters."""

    # `place` is the position among the q free parameters, or `HELD` for fixed parameters with
    # `value`; `derived` marks scales that follow from the reference group's residual variance.

    shape: Shape
    place: IntArray  # (G, size)
    value: FloatArray  # (G, size)
    derived: BoolArray  # (k,)
    n_free: int

    def full(self, x: FloatArray) -> FloatArray:
        """Return the parameters of all groups (G, size), with derived scales not yet computed."""
        return np.where(self.place == HELD, self.value, x[np.maximum(self.place, 0)])

    def gathered(self, columns: FloatArray) -> FloatArray:
        """Return derivatives for free parameters (p, q), summed from (p, G, size)."""
        flat = self.place.ravel()
        free = np.flatnonzero(flat != HELD)
        total = np.zeros((self.n_free, len(columns)))
        np.add.at(total, flat[free], columns.reshape(len(columns), -1)[:, free].T)
        return total.T

    def start(self, values: FloatArray) -> FloatArray:
        """Return free parameters (q,) from values (G, size), with shared values from group 1."""
        x = np.empty(self.n_free)
        for group in range(len(self.place) - 1, -1, -1):
            used = self.place[group] != HELD
            x[self.place[group, used]] = values[group, used]
        return x


def layout_of(shape: Shape, groups: int, level: Invariance, free: BoolArray) -> Layout:
    """Return the layout of parameters at a level, with group-specific items in `free` (k,)."""
    rank = LEVELS.index(level)
    binary = np.bincount(shape.item_of_threshold, minlength=len(free)) < 2
    equal = ~free if rank else np.zeros(len(free), dtype=np.bool_)
    value = np.zeros((groups, shape.size))
    value[:, shape.scales] = 1.0
    value[:, shape.variances] = 1.0
    estimated = np.zeros((groups, shape.size), dtype=np.bool_)
    estimated[:, shape.thresholds] = estimated[:, shape.loadings] = True
    estimated[:, np.setdiff1d(shape.covariances, shape.variances)] = True
    estimated[1:, shape.intercepts] = equal & (rank in (1, 2))
    estimated[1:, shape.scales] = equal & (rank < 4) & ~(binary & (rank == 1))
    if rank >= 2:
        estimated[1:, shape.variances] = (rank > 2) | (
            shape.free & (equal & ~binary)[:, None]
        ).any(axis=0)
    estimated[1:, shape.means] = rank >= 3
    shared = np.zeros(shape.size, dtype=np.bool_)
    shared[shape.thresholds] = equal[shape.item_of_threshold]
    shared[shape.loadings] = equal[shape.loading_item] & (rank >= 2)
    position = np.full((groups, shape.size), HELD)
    own = estimated & (~shared | (np.arange(groups) == 0)[:, None])
    position[own] = np.arange(own.sum())
    position[1:, shared] = position[0, shared]
    return Layout(
        shape=shape,
        place=position,
        value=value,
        derived=equal & (rank == 4),
        n_free=int(own.sum()),
    )


def parameter_names(
    shape: Shape, labels: Sequence[Hashable], factors: Sequence[str]
) -> list[tuple[str, Hashable, Hashable]]:
    """Name each parameter of a group by kind, by item or factor, and by a factor or index."""
    item = shape.item_of_threshold
    first = np.searchsorted(item, item)
    names: list[tuple[str, Hashable, Hashable]] = [
        ("threshold", labels[i], int(t - first[t]) + 1) for t, i in enumerate(item)
    ]
    names += [(kind, label, "") for kind in ("intercept", "scale") for label in labels]
    loads = zip(shape.loading_item, shape.loading_factor, strict=True)
    names += [("loading", labels[i], factors[f]) for i, f in loads]
    names += [("mean", name, "") for name in factors]
    for f, one in enumerate(factors):
        names += [("covariance", one, other) for other in factors[:f]]
        names.append(("variance", one, one))
    return names


class Parts(NamedTuple):
    """Parameters of one group, by kind."""

    thresholds: FloatArray  # (t,)
    intercepts: FloatArray  # (k,)
    scales: FloatArray  # (k,)
    loadings: FloatArray  # (k, m)
    means: FloatArray  # (m,)
    covariance: FloatArray  # (m, m)

    @property
    def shared(self) -> FloatArray:
        """Variances of the latent answers due to factors (k,)."""
        return np.asarray(np.sum((self.loadings @ self.covariance) * self.loadings, axis=1))


def unpack(shape: Shape, row: FloatArray) -> Parts:
    """Split one group's parameters (size,) by kind of parameter."""
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
    """Return all parameters (G, size), with scales derived by equation (2)."""
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
    """Return a group's standardised thresholds, and its correlations by equation (1)."""
    part, item = unpack(shape, row), shape.item_of_threshold
    mean = part.intercepts + part.loadings @ part.means
    between = part.loadings @ part.covariance @ part.loadings.T
    i, j = np.tril_indices(len(mean), -1)
    scale = part.scales
    cuts = scale[item] * (part.thresholds - mean[item])
    return np.concatenate([cuts, scale[i] * scale[j] * between[i, j]])


def derivatives(shape: Shape, row: FloatArray) -> FloatArray:
    """Return derivatives (p, size) of equation (1), treating scales as free parameters."""
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
    for column, own, f in zip(
        shape.loadings, shape.loading_item, shape.loading_factor, strict=True
    ):
        out[cut, column] = (item == own) * (-part.means[f] * scale[item])
        out[pair, column] = both * ((i == own) * structure[j, f] + (j == own) * structure[i, f])
    out[cut[:, None], shape.means] = -scale[item, None] * part.loadings[item]
    for column, f, g in zip(shape.covariances, *np.tril_indices(m), strict=True):
        product = part.loadings[i, f] * part.loadings[j, g]
        if f != g:
            product = product + part.loadings[i, g] * part.loadings[j, f]
        out[pair, column] = both * product
    return out


def stacked_moments(layout: Layout, x: FloatArray) -> FloatArray:
    """Return the moments of all groups, one after the other."""
    full = with_scales(layout, layout.full(x))
    return np.concatenate([moments(layout.shape, row) for row in full])


def stacked_derivatives(layout: Layout, x: FloatArray) -> FloatArray:
    """Return derivatives (G p, q) of all groups' moments with respect to free parameters."""
    full = with_scales(layout, layout.full(x))
    return np.concatenate(
        [layout.gathered(own_columns(layout, full, g)) for g in range(len(full))]
    )


def own_columns(layout: Layout, full: FloatArray, group: int) -> FloatArray:
    """Return derivatives (p, G, size) of a group's moments with respect to all parameters."""
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
    """Return derivatives of the variances due to factors (k, size)."""
    part = unpack(shape, row)
    out = np.zeros((len(shape.free), shape.size))
    structure = part.loadings @ part.covariance
    item, factor = shape.loading_item, shape.loading_factor
    out[item, shape.loadings] = 2.0 * structure[item, factor]
    f, g = np.tril_indices(len(part.means))
    twice = np.where(f == g, 1.0, 2.0)
    out[:, shape.covariances] = twice * part.loadings[:, f] * part.loadings[:, g]
    return out
