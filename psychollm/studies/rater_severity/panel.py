"""Ratings by the whole panel, and effects of omitting one rater."""

from dataclasses import dataclass

import numpy as np

from psychollm._base.types import FloatArray, IntArray
from psychollm.studies.rater_severity.expected import Everyone, panel_curves
from psychollm.studies.rater_severity.fit import Fitted
from psychollm.studies.rater_severity.likelihood import curves

_ABILITIES = np.linspace(-9.0, 9.0, 361)


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """Panel ratings of objects, and the contribution of each rater."""

    value: FloatArray  # (J,) expected mean rating by all raters
    sd: FloatArray  # (J,)
    interval: FloatArray  # (J, 2)
    reliability: float
    reliability_without: FloatArray  # (R,)
    # (R,) number of rated objects whose mean rating crosses the midpoint if the rater is left out
    turned: IntArray
    turned_corrected: IntArray  # (R,) the same number for corrected ratings


def panel_of(
    fitted: Fitted, everyone: Everyone, table: FloatArray, values: FloatArray, level: float
) -> Panel:
    """Return the panel with and without each rater; `table` has the values, objects x raters."""
    facets, layout, grid = fitted.facets, fitted.layout, fitted.grid
    made = curves(facets, layout, fitted.at, grid.nodes)
    each = panel_curves(everyone, layout, fitted.at, _ABILITIES, values)
    first = np.zeros(facets.n_things, dtype=np.int64)
    first[facets.thing] = facets.cell
    centre = made.centre[first]
    group = np.zeros(facets.n_things, np.int64) if facets.group is None else facets.group[first]
    mean = each.mean(axis=0)
    posterior = fitted.state.posterior
    value, sd = _moments(posterior, _at_things(mean, group, centre, grid.nodes))
    tails = np.array([(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    ability = _quantiles(posterior, grid.nodes, tails) + centre[:, None]
    interval = np.empty((facets.n_things, 2))
    for g in range(len(mean)):
        own = group == g
        interval[own] = np.interp(ability[own], _ABILITIES, mean[g])
    interval.sort(axis=1)
    whole = _reliability(posterior, grid.nodes)
    middle = (values[0] + values[-1]) / 2.0
    raw = np.nanmean(table, axis=1)
    held = np.isfinite(table).sum(axis=1)
    n = facets.n_raters
    without, turned, turned_corrected = np.full(n, np.nan), np.zeros(n, int), np.zeros(n, int)
    log_posterior = np.log(np.maximum(posterior, 1e-300))
    by_rater = np.argsort(facets.rater[facets.cell], kind="stable")
    ends = np.cumsum(np.bincount(facets.rater[facets.cell], minlength=n))
    for i, rows in enumerate(np.split(by_rater, ends[:-1])):
        thing = facets.thing[rows]
        joint = log_posterior.copy()
        own = made.log_p[facets.cell[rows], facets.rating[rows]]
        np.subtract.at(joint, thing, own)
        joint -= joint.max(axis=1, keepdims=True)
        np.exp(joint, out=joint)
        joint /= joint.sum(axis=1, keepdims=True)
        without[i] = _reliability(joint, grid.nodes)
        rated = np.isfinite(table[:, i]) & (held > 1)
        rest = (raw * held - np.nan_to_num(table[:, i])) / np.maximum(held - 1, 1)
        turned[i] = int(((raw > middle) != (rest > middle))[rated].sum())
        others = (each.sum(axis=0) - each[i]) / (n - 1)
        left = _moments(joint, _at_things(others, group, centre, grid.nodes))[0]
        turned_corrected[i] = int(((value > middle) != (left > middle)).sum())
    return Panel(value, sd, interval, whole, without, turned, turned_corrected)


def _at_things(
    curve: FloatArray, group: IntArray, centre: FloatArray, nodes: FloatArray
) -> FloatArray:
    """Return a curve (groups, abilities) at the nodes of each object (J, Q)."""
    kinds, place = np.unique(np.column_stack([group, centre]), axis=0, return_inverse=True)
    rows = [np.interp(nodes + shift, _ABILITIES, curve[int(g)]) for g, shift in kinds]
    return np.asarray(np.array(rows)[place.ravel()])


def _moments(posterior: FloatArray, level: FloatArray) -> tuple[FloatArray, FloatArray]:
    mean = np.einsum("jq,jq->j", posterior, level)
    square = np.einsum("jq,jq->j", posterior, level**2)
    return mean, np.sqrt(np.maximum(square - mean**2, 0.0))


def _quantiles(posterior: FloatArray, nodes: FloatArray, tails: FloatArray) -> FloatArray:
    below = np.cumsum(posterior, axis=1) - posterior / 2.0
    return np.array([np.interp(tails, row, nodes) for row in below])


def _reliability(posterior: FloatArray, nodes: FloatArray) -> float:
    """Return the proportion of true variance in posterior means."""
    mean, sd = _moments(posterior, np.broadcast_to(nodes, posterior.shape))
    between = float(mean.var())
    return between / (between + float(np.mean(sd**2)))
