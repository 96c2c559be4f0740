"""Plot of estimates with their intervals, with one row per model."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.errors import LabelError, ShapeError
from psychollm._base.types import FloatArray, IntArray
from psychollm.plots.canvas import (
    DASHED,
    INK,
    MARKS,
    MUTED,
    RULE,
    TEXT_SIZE,
    TICK_SIZE,
    by_value,
    colour_of,
    legend,
    name_axes,
    name_rows,
    names_width,
    open_axes,
    plain_text,
    points,
    write,
)
from psychollm.plots.correlation import plot_matrix
from psychollm.plots.marks import keep_cells, keep_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psychollm.estimates.comparisons import Comparisons
    from psychollm.estimates.estimate import Estimate


_LARGEST = 7.4  # largest height of the figure in inches


@plain_text()
def plot_forest(
    estimates: "Estimate | Sequence[Estimate]",
    *,
    names: Sequence[str] | None = None,
    reference: float | None = None,
    order: IntArray | None = None,
    strong: Sequence[bool] | None = None,
    x: str = "",
    digits: int = 2,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw a forest plot of one or several estimates of the same models.

    Hollow marks denote flagged values; ``to_frame()`` returns the flags. A row without a value
    shows why the value is missing. Estimates without any value are omitted; the colours of the
    other estimates do not change.

    Parameters
    ----------
    estimates : Estimate or sequence of Estimate
        Values, intervals and reasons for missing values; all estimates list the same models in the
        same order.
    names : sequence of str, optional
        Names in the legend, by default the names of the estimates.
    reference : float, optional
        Reference value, drawn as a line (for example, 0 for a difference or 1/2 for an AUROC).
    order : int array (models,), optional
        Indices of the models from top to bottom. By default, models are in descending order of the
        first estimate.
    strong : sequence of bool (models,), optional
        For each model, whether its name is bold.
    x : str
        Label of the horizontal axis.
    digits : int
        Number of decimals in the tooltips of a report.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Raises
    ------
    ShapeError, LabelError
        If no estimate is given, or if the estimates are for different models.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from psychollm.calibration.decisions.confusion import confusion
    >>> table = confusion([[1, 1, 0, 0], [0, 0, 1, 1]], [[1, 0, 0, 0], [1, 1, 1, 1]])
    >>> ax = plot_forest([table.precision, table.recall], ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['1', '0']
    """
    shown = list(estimates) if isinstance(estimates, Sequence) else [estimates]
    _check_same_models(shown)
    drawn = [k for k, estimate in enumerate(shown) if estimate.defined.any()] or [0]
    first = shown[drawn[0]]
    ax = open_axes(ax, size=forest_size(first.labels, len(drawn)))
    rows = by_value(-first.value) if order is None else np.asarray(order)
    if reference is not None:
        ax.axvline(reference, color=INK, lw=0.9, ls=DASHED, zorder=1)
    called = [one.name for one in shown] if names is None else list(names)
    keep_rows(ax, [shown[k] for k in drawn], [called[k] for k in drawn], rows, digits=digits)
    offsets = np.linspace(-0.24, 0.24, len(drawn)) if len(drawn) > 1 else np.zeros(1)
    for series, offset in zip(drawn, offsets, strict=True):
        _rows(ax, shown[series], rows, offset, series, called[series])
    _undefined_rows(ax, first, rows)
    names_shown = [first.labels[i] for i in rows]
    name_rows(ax, names_shown, size=TICK_SIZE - 0.5, striped=True)
    for text, i in zip(ax.get_yticklabels(), rows, strict=True):
        bold = strong is not None and bool(strong[i])
        text.set_fontweight("bold" if bold else "normal")
    name_axes(ax, x=x or first.name)
    if len(drawn) > 1:
        legend(ax, columns=min(len(drawn), 3))
    return ax


def forest_size(
    labels: Sequence[Any], series: int, *, tallest: float = 24.0
) -> tuple[float, float]:
    """Return the width and height in inches that the rows and the legend need."""
    lines = 0.22 * -(-series // 3) if series > 1 else 0.0
    height = 1.0 + lines + max(0.24, 0.11 * series) * len(labels)
    return round(6.4 + names_width(labels), 2), min(height, tallest)


def _check_same_models(shown: "Sequence[Estimate]") -> None:
    if not shown:
        msg = "estimates is empty: pass at least one Estimate"
        raise ShapeError(msg)
    for estimate in shown[1:]:
        if estimate.labels != shown[0].labels:
            msg = f"{estimate.name!r} and {shown[0].name!r} are not estimates of the same models"
            raise LabelError(msg)


def _rows(
    ax: "Axes", estimate: "Estimate", rows: IntArray, offset: float, series: int, name: str
) -> None:
    y = np.arange(rows.size) + offset
    colour = colour_of(series)
    lower, upper = estimate.interval[rows].T
    ax.hlines(y, lower, upper, color=colour, lw=1.5, alpha=0.75, zorder=2)
    mark, value = MARKS[series % len(MARKS)], estimate.value[rows]
    points(ax, value, y, colour, marker=mark, size=4.8, label=name)
    qualified = [bool(estimate.flags[i]) for i in rows]
    points(ax, value[qualified], y[qualified], "white", marker=mark, size=2.4, zorder=4)


def _undefined_rows(ax: "Axes", estimate: "Estimate", rows: IntArray) -> None:
    """Write the reason in the rows of models without a value."""
    for y, i in enumerate(rows):
        if not np.isfinite(estimate.value[i]):
            ax.axhline(y, color=RULE, lw=0.6, ls=":", zorder=0)
            reason = write(
                ax,
                0.01,
                y - 0.08,
                str(estimate.flags[i]) or "undefined",
                "left bottom",
                transform=ax.get_yaxis_transform(),
                size=TEXT_SIZE - 1.5,
                colour=MUTED,
            )
            reason.set_in_layout(False)  # otherwise a long reason would shrink the axes


@plain_text()
def plot_comparisons(
    result: "Comparisons", *, order: FloatArray | None = None, ax: "Axes | None" = None
) -> "Axes":
    """Draw differences of all pairs of models, row minus column; dots mark significant pairs.

    A dot means that the adjusted p-value is below one minus the level. Models are sorted by their
    mean difference from the other models. ``result.to_frame()`` returns the plotted numbers.

    Parameters
    ----------
    result : Comparisons
        Result of `psychollm.estimates.comparisons.compare_all`.
    order : array (models,), optional
        Values by which the models are sorted, one value per model, in the order in which the
        models first occur in the pairs.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

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
    row_of = {label: row for row, label in enumerate(labels)}
    gap = np.full((len(labels), len(labels)), np.nan)
    differ = np.zeros_like(gap, dtype=np.bool_)
    for pair, (first, second) in enumerate(zip(result.first, result.second, strict=True)):
        i, j = row_of[first], row_of[second]
        gap[i, j], gap[j, i] = result.value[pair], -result.value[pair]
        differ[i, j] = differ[j, i] = result.differ[pair]
    rows = np.argsort(_means(gap) if order is None else order, kind="stable")
    known = np.abs(gap[np.isfinite(gap)])
    limit = float(known.max()) if known.size and known.max() > 0 else 1.0
    gap, named = gap[np.ix_(rows, rows)], [labels[row] for row in rows]
    side = min(2.6 + 0.24 * len(rows), _LARGEST)
    ax = plot_matrix(
        gap,
        named,
        name=f"{result.name}, row minus column",
        limits=(-limit, limit),
        marked=differ[np.ix_(rows, rows)],
        ax=open_axes(ax, size=(side + 1.0, side)),
    )
    keep_cells(ax, gap, named, "difference", digits=3)
    return ax


def _means(gap: FloatArray) -> FloatArray:
    """Return the mean difference of each model from the other models; undefined means are last."""
    known = np.isfinite(gap)
    n = known.sum(axis=1)
    total = np.where(known, gap, 0.0).sum(axis=1)
    return np.where(n > 0, total / np.maximum(n, 1), np.inf)
