r"""Which parameters of several groups are fixed, free in each, or the same in all.

Every group has the parameters of `moments`. The first group is the reference: its scales are one
and its factors have mean zero and variance one, so that its thresholds and loadings are the
standardised ones. What the other groups share with it depends on the level (Wu & Estabrook, 2016):

============  ======================================  ==========================================
level         the same in all groups                  free in the others
============  ======================================  ==========================================
configural    nothing                                 (scales 1, intercepts 0, factors N(0, 1))
thresholds    thresholds                              scales, intercepts
metric        thresholds, loadings                    scales, intercepts, factor variances
scalar        thresholds, loadings, intercepts        scales, factor variances, factor means
strict        all of these and residual variances     factor variances, factor means
============  ======================================  ==========================================

An item of two answers has one threshold, which fixes either its intercept or its scale, never
both: its scale stays one at the level of thresholds, and so does the variance of a factor without
other items at the metric level. Such items are tested at the scalar level, thresholds and loadings
together, by how far their thresholds over loadings lie on one line: the variance of the factor in
the other groups shows only where thresholds differ between items. Items that are named as free
have thresholds and loadings of their own in every group.

References
----------
Wu, H., & Estabrook, R. (2016). Identification of confirmatory factor analysis models of different
levels of invariance for ordered categorical outcomes. Psychometrika, 81(4), 1014-1045.
https://doi.org/10.1007/s11336-016-9506-0
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np

from psychollm._base.types import BoolArray, FloatArray, IntArray

Invariance: TypeAlias = Literal["configural", "thresholds", "metric", "scalar", "strict"]
LEVELS: tuple[Invariance, ...] = ("configural", "thresholds", "metric", "scalar", "strict")

HELD = -1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shape:
    """Places of the parameters of one group: thresholds, intercepts, scales, loadings, factors.

    Examples
    --------
    >>> shape = Shape.of(np.ones((3, 1), dtype=bool), np.array([2, 2, 1]))
    >>> shape.size, shape.scales.tolist(), shape.item_of_threshold.tolist()
    (16, [8, 9, 10], [0, 0, 1, 1, 2])
    """

    free: BoolArray  # (k, m) which items load on which factors
    item_of_threshold: IntArray  # (t,)
    loading_item: IntArray  # (l,)
    loading_factor: IntArray  # (l,)
    thresholds: IntArray  # (t,) places
    intercepts: IntArray  # (k,)
    scales: IntArray  # (k,)
    loadings: IntArray  # (l,)
    means: IntArray  # (m,)
    covariances: IntArray  # (m (m + 1) / 2,) lower triangle, row by row
    size: int

    @classmethod
    def of(cls, free: BoolArray, cuts: IntArray) -> "Shape":
        """Lay out k items with `cuts` (k,) thresholds each."""
        k, m = free.shape
        item, factor = np.nonzero(free)
        sizes = (int(cuts.sum()), k, k, item.size, m, m * (m + 1) // 2)
        ends = np.cumsum((0, *sizes))
        places = [np.arange(a, b) for a, b in pairwise(ends)]
        return cls(
            free=free,
            item_of_threshold=np.repeat(np.arange(k), cuts),
            loading_item=item,
            loading_factor=factor,
            thresholds=places[0],
            intercepts=places[1],
            scales=places[2],
            loadings=places[3],
            means=places[4],
            covariances=places[5],
            size=int(ends[-1]),
        )

    @property
    def variances(self) -> IntArray:
        """Places of the factor variances (m,)."""
        i, j = np.tril_indices(self.free.shape[1])
        return np.asarray(self.covariances[i == j], dtype=np.int64)

    def of_item(self, item: int) -> IntArray:
        """Return the places of all parameters of one item."""
        return np.concatenate(
            [
                self.thresholds[self.item_of_threshold == item],
                self.loadings[self.loading_item == item],
                [self.intercepts[item], self.scales[item]],
            ]
        ).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """Where each parameter of each group stands among the free ones.

    `place` is the position among the q free parameters, or `HELD` where `value` holds; `derived`
    says whose scale follows from the residual variance of the reference group.
    """

    shape: Shape
    place: IntArray  # (G, size)
    value: FloatArray  # (G, size)
    derived: BoolArray  # (k,)
    n_free: int

    def full(self, x: FloatArray) -> FloatArray:
        """Return the parameters of all groups (G, size), derived scales as they are held."""
        return np.where(self.place == HELD, self.value, x[np.maximum(self.place, 0)])

    def gathered(self, columns: FloatArray) -> FloatArray:
        """Sum derivatives (p, G, size) by the parameters into those by the free ones (p, q)."""
        flat = self.place.ravel()
        free = np.flatnonzero(flat != HELD)
        total = np.zeros((self.n_free, len(columns)))
        np.add.at(total, flat[free], columns.reshape(len(columns), -1)[:, free].T)
        return total.T

    def start(self, values: FloatArray) -> FloatArray:
        """Return free parameters (q,) from values (G, size), the first group's where shared."""
        x = np.empty(self.n_free)
        for group in range(len(self.place) - 1, -1, -1):
            used = self.place[group] != HELD
            x[self.place[group, used]] = values[group, used]
        return x


def layout_of(shape: Shape, groups: int, level: Invariance, free: BoolArray) -> Layout:
    """Lay out `groups` groups at a level, items in `free` (k,) with parameters of their own.

    Examples
    --------
    >>> shape = Shape.of(np.ones((4, 1), dtype=bool), np.full(4, 1))
    >>> none = np.zeros(4, dtype=bool)
    >>> [layout_of(shape, 2, level, none).n_free for level in ("configural", "scalar", "strict")]
    [16, 14, 10]
    """
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
    place = np.full((groups, shape.size), HELD)
    own = estimated & (~shared | (np.arange(groups) == 0)[:, None])
    place[own] = np.arange(own.sum())
    place[1:, shared] = place[0, shared]
    return Layout(
        shape=shape,
        place=place,
        value=value,
        derived=equal & (rank == 4),
        n_free=int(own.sum()),
    )


def parameter_names(
    shape: Shape, labels: Sequence[Hashable], factors: Sequence[str]
) -> list[tuple[str, Hashable, Hashable]]:
    """Return kind, item or factor, and factor or number of each parameter of a group.

    Examples
    --------
    >>> shape = Shape.of(np.ones((1, 1), dtype=bool), np.array([2]))
    >>> parameter_names(shape, ["a"], ["F"])[:3]
    [('threshold', 'a', 1), ('threshold', 'a', 2), ('intercept', 'a', '')]
    """
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
