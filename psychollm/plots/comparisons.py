"""Differences of all pairs of models on one metric."""

from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.plots.canvas import plain_text
from psychollm.plots.matrix import plot_matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psychollm.estimates.comparisons import Comparisons


@plain_text()
def plot_comparisons(
    result: "Comparisons", *, order: FloatArray | None = None, ax: "Axes | None" = None
) -> "Axes":
    """Draw the difference of every two models, row less column, with a dot where they differ.

    A dot stands where the p-value, adjusted for the number of pairs, is below one less the level.
    Models are sorted by their mean difference from the others. The numbers are those of
    ``result.to_frame()``.

    Parameters
    ----------
    result : Comparisons
        What `psychollm.estimates.comparisons.compare_all` returns.
    order : array (models,), optional
        Values to sort the models by, in the order in which the pairs name them.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from psychollm.calibration import brier
    >>> from psychollm.estimates.comparisons import compare_all
    >>> score = brier([[0.9, 0.2, 0.7], [0.5, 0.5, 0.5]], [[1, 0, 1]] * 2, rng=0)
    >>> ax = plot_comparisons(compare_all(score), ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['0', '1']
    """
    labels = list(dict.fromkeys([*result.first, *result.second]))
    place = {label: row for row, label in enumerate(labels)}
    gap = np.full((len(labels), len(labels)), np.nan)
    differ = np.zeros_like(gap, dtype=np.bool_)
    for pair, (first, second) in enumerate(zip(result.first, result.second, strict=True)):
        i, j = place[first], place[second]
        gap[i, j], gap[j, i] = result.value[pair], -result.value[pair]
        differ[i, j] = differ[j, i] = result.differ[pair]
    rows = np.argsort(_means(gap) if order is None else order, kind="stable")
    known = np.abs(gap[np.isfinite(gap)])
    limit = float(known.max()) if known.size and known.max() > 0 else 1.0
    return plot_matrix(
        gap[np.ix_(rows, rows)],
        [labels[row] for row in rows],
        name=f"{result.name}, row less column",
        limits=(-limit, limit),
        marked=differ[np.ix_(rows, rows)],
        ax=ax,
    )


def _means(gap: FloatArray) -> FloatArray:
    """Return the mean difference of each model from the others, undefined ones last."""
    known = np.isfinite(gap)
    n = known.sum(axis=1)
    total = np.where(known, gap, 0.0).sum(axis=1)
    return np.where(n > 0, total / np.maximum(n, 1), np.inf)
