"""Plot of the loadings of all variables on all factors, with optional intervals."""

from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.errors import LabelError
from psychollm._base.names import shortened
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.factor.exploratory.loading_errors import LoadingErrors
from psychollm.factor.exploratory.solution import FactorSolution
from psychollm.plots.canvas import (
    INK,
    MARKS,
    RULE,
    TICK_SIZE,
    colour_of,
    legend,
    name_axes,
    name_rows,
    open_axes,
    plain_text,
    points,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LONGEST = 28  # largest number of characters of a name
_MOST_NAMES = 60
_FARTHEST = 1.3  # absolute value at which intervals are clipped


@plain_text()
def plot_loadings(
    solution: FactorSolution,
    *,
    errors: LoadingErrors | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the loadings of all variables, grouped by the factor with the largest loading.

    The mark of a variable's largest loading is filled, and the others are hollow. A star marks a
    Heywood case, that is, a variable without unique variance. ``solution.to_frame()`` and
    ``errors.to_frame()`` return the plotted numbers.

    Parameters
    ----------
    solution : FactorSolution
        Result of `factor_analysis`.
    errors : LoadingErrors, optional
        Result of `loading_errors` for the same solution, from which intervals are drawn.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Raises
    ------
    LabelError
        If the standard errors belong to other variables or factors.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from psychollm.factor.exploratory.factor_analysis import factor_analysis
    >>> L = np.array([[0.9, 0], [0.8, 0], [0.7, 0], [0, 0.85], [0, 0.75], [0, 0.65]])
    >>> R = L @ [[1, 0.3], [0.3, 1]] @ L.T
    >>> np.fill_diagonal(R, 1.0)
    >>> ax = plot_loadings(factor_analysis(R, 2, n=500), ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['0', '1', '2', '3', '4', '5']
    """
    if errors is not None and (errors.labels, errors.factors) != (
        solution.labels,
        solution.factors,
    ):
        msg = "errors are not of the variables and factors of this solution, in their order"
        raise LabelError(msg)
    k, m = solution.loadings.shape
    rows = _grouped(solution.loadings)
    ax = open_axes(ax, size=(6.4, 1.4 + 0.24 * min(k, _MOST_NAMES)))
    ax.axvline(0.0, color=INK, lw=0.8, zorder=1)
    _part_groups(ax, solution.loadings[rows])
    largest = np.argmax(np.abs(solution.loadings), axis=1)
    offsets = np.linspace(-0.2, 0.2, m) if m > 1 else np.zeros(1)
    for j in range(m):
        interval = None if errors is None else errors.interval[rows, j]
        y = np.arange(k) + offsets[j]
        _series(ax, y, solution.loadings[rows, j], interval, largest[rows] == j, j)
    _name_rows(ax, solution, rows)
    reach = solution.loadings if errors is None else errors.interval
    low, high = float(np.nanmin(reach)), float(np.nanmax(reach))
    ax.set_xlim(max(min(-0.05, low - 0.03), -_FARTHEST), min(max(1.0, high + 0.03), _FARTHEST))
    name_axes(ax, x="loading")
    _legend(ax, solution.factors)
    return ax


def _grouped(loadings: FloatArray) -> IntArray:
    """Return the variables sorted by their main factor, and then by the loading on that factor."""
    size = np.abs(loadings)
    return np.lexsort((-size.max(axis=1), size.argmax(axis=1)))


def _part_groups(ax: "Axes", loadings: FloatArray) -> None:
    first = np.abs(loadings).argmax(axis=1)
    for at in np.flatnonzero(np.diff(first)):
        ax.axhline(at + 0.5, color=RULE, lw=1.0, zorder=1)


def _series(
    ax: "Axes",
    y: FloatArray,
    value: FloatArray,
    interval: FloatArray | None,
    filled: BoolArray,
    factor: int,
) -> None:
    """Draw one factor's loadings."""
    colour, mark = colour_of(factor), MARKS[factor % len(MARKS)]
    if interval is not None:
        ax.hlines(y, *interval.T, color=colour, lw=1.4, alpha=0.75, zorder=2)
    for chosen, hollow in ((filled, False), (~filled, True)):
        points(ax, value[chosen], y[chosen], colour, marker=mark, hollow=hollow)


def _name_rows(ax: "Axes", solution: FactorSolution, rows: IntArray) -> None:
    names = [
        shortened(solution.labels[i], _LONGEST) + (" *" if solution.heywood[i] else "")
        for i in rows
    ]
    name_rows(ax, names, size=TICK_SIZE - 0.5, striped=True)
    step = -(-rows.size // _MOST_NAMES)
    ax.set_yticks(np.arange(0, rows.size, step), names[::step])


def _legend(ax: "Axes", factors: tuple[str, ...]) -> None:
    """Draw the legend of the factors with filled marks."""
    if len(factors) == 1:
        return
    for j, name in enumerate(factors):
        mark = MARKS[j % len(MARKS)]
        points(ax, [], [], colour_of(j), marker=mark, label=str(name))
    legend(ax, columns=min(len(factors), 4))
