"""Expected mean of the ratings that each rater would give to all objects."""

from dataclasses import dataclass, replace

import numpy as np

from psychollm._base.types import FloatArray, IntArray
from psychollm.irt.likelihood import Grid
from psychollm.studies.rater_severity.likelihood import Curves, Facets, Layout, curves


@dataclass(frozen=True, slots=True, eq=False)
class Everyone:
    """Design in which each rater rates objects of all groups in the middle of the period."""

    facets: Facets
    share: FloatArray  # (U,) proportion of the rated objects that belong to the group

    @classmethod
    def of(cls, facets: Facets, shares: FloatArray) -> "Everyone":
        """Return the design for groups with given proportions (groups,), or [1] without groups."""
        n, groups = facets.n_raters, shares.size
        member = np.tile(np.arange(groups), n)
        covariates = np.zeros((n * groups, facets.covariates.shape[1]))
        if facets.group is not None:
            covariates[:, : groups - 1] = group_covariates(member, shares)
        cells = replace(
            facets,
            rater=np.repeat(np.arange(n), groups),
            time=None if facets.time is None else np.zeros(n * groups),
            group=None if facets.group is None else member,
            covariates=covariates,
        )
        return cls(cells, shares[member])


def group_covariates(member: IntArray, shares: FloatArray) -> FloatArray:
    """Return contrast columns for groups, with mean 0 over objects (n, groups - 1)."""
    return np.asarray((member[:, None] == np.arange(1, shares.size)) - shares[1:], dtype=float)


def expected_ratings(
    everyone: Everyone, layout: Layout, at: FloatArray, grid: Grid, values: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the mean of values (K,) over objects for each rater (R,), and derivatives (R, P)."""
    facets = everyone.facets
    made = curves(facets, layout, at, grid.nodes)
    weights = everyone.share[:, None] * np.exp(grid.log_weights)
    level = _level(made, values)
    mean = np.bincount(facets.rater, (weights * level).sum(axis=1), facets.n_raters)
    turn = np.zeros((facets.n_raters, layout.size))
    for f in range(made.features.shape[1]):
        moved = weights * (_level(made, values * made.features[:, f]) - level * made.expected[f])
        rows = (made.constant if f == 0 else made.places[f - 1]).multiply(
            moved.sum(axis=1)[:, None]
        )
        if f == 0:
            rows = rows + made.linear.multiply((moved @ grid.nodes)[:, None])
        rows = rows.tocoo()
        np.add.at(turn, (facets.rater[rows.row], rows.col), rows.data)
    return np.asarray(mean, dtype=np.float64), turn


def panel_curves(
    everyone: Everyone, layout: Layout, at: FloatArray, abilities: FloatArray, values: FloatArray
) -> FloatArray:
    """Return each rater's mean rating at given abilities, by group of objects (R, groups, Q)."""
    level = _level(curves(everyone.facets, layout, at, abilities), values)
    return level.reshape(layout.n_raters, -1, abilities.size)


def _level(made: Curves, values: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("k,ukq->uq", values, np.exp(made.log_p)))
