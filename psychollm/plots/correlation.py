"""The tetrachoric matrix as a heat map."""

from typing import TYPE_CHECKING

import numpy as np

from psychollm.plots.canvas import plain_text
from psychollm.plots.matrix import plot_matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psychollm.correlation.tetrachoric import Correlation


@plain_text()
def plot_correlation(result: "Correlation", *, ax: "Axes | None" = None) -> "Axes":
    """Draw tetrachoric correlations, rows from bold to cautious.

    Dots mark pairs whose table has an empty cell: their value is owed to the empty-cell rule.
    The numbers are those of ``result.to_frame()``.

    Parameters
    ----------
    result : Correlation
        What `tetrachoric` returns.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Examples
    --------
    >>> import psychollm as psy
    >>> from matplotlib.figure import Figure
    >>> result = psy.tetrachoric([[1, 1, 0, 0, 1], [1, 0, 0, 0, 1], [0, 1, 0, 1, 1]])
    >>> len(plot_correlation(result, ax=Figure().subplots()).get_yticks())
    3
    """
    order = np.argsort(result.thresholds, kind="stable")
    square = np.ix_(order, order)
    empty = result.counts.empty_cells()[square] > 0
    np.fill_diagonal(empty, val=False)
    matrix = np.array(result.matrix[square])
    np.fill_diagonal(matrix, np.nan)
    negative = bool((matrix < 0).any())
    return plot_matrix(
        matrix,
        [result.labels[i] for i in order],
        name="tetrachoric correlation (dot: empty cell)",
        limits=(-1.0 if negative else 0.0, 1.0),
        diverging=negative,
        marked=empty,
        ax=ax,
    )
