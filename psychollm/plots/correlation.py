"""Heat maps of correlations, differences and residuals."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.checks import check_choice
from psychollm._base.names import short_names
from psychollm._base.numbers import percent
from psychollm._base.types import BoolArray, FloatArray, IntArray, MatrixOrder
from psychollm.plots.canvas import (
    BLUE,
    DEEP_ORANGE,
    DIVERGING,
    GREY,
    INK,
    MUTED,
    PURPLE,
    SEQUENTIAL,
    TEXT_SIZE,
    TICK_SIZE,
    colour_map,
    legend,
    name_axes,
    open_axes,
    plain_text,
    points,
    read_rows,
)
from psychollm.plots.marks import keep_cells

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psychollm.correlation.polychoric import PolychoricCorrelation
    from psychollm.correlation.tetrachoric import Correlation, Sensitivity
    from psychollm.factor.one_factor.residuals import PairResiduals


@plain_text()
def plot_correlation(
    result: "Correlation | PolychoricCorrelation",
    *,
    order: MatrixOrder = "loading",
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw a correlation matrix as a heat map, blue below zero and orange above.

    Dots mark pairs whose 2 x 2 table has an empty cell, so that the correlation depends on the
    continuity correction or is at the bound. Undefined pairs are grey. ``result.to_frame()``
    returns the plotted numbers.

    Parameters
    ----------
    result : Correlation or PolychoricCorrelation
        Result of `tetrachoric` or `polychoric`.
    order : {"loading", "clusters", "threshold", "given"}
        Criterion by which rows are sorted: loading on the first component, average-linkage
        clusters, or threshold. With "given", the rows keep their original order.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Raises
    ------
    OptionError
        If `order` is not a valid option.

    Examples
    --------
    >>> import psychollm as psy
    >>> from matplotlib.figure import Figure
    >>> result = psy.tetrachoric([[1, 1, 0, 0, 1], [1, 0, 0, 0, 1], [0, 1, 0, 1, 1]])
    >>> len(plot_correlation(result, ax=Figure().subplots()).get_yticks())
    3
    """
    check_choice("order", order, MatrixOrder)
    rows = _ORDERS[order](result)
    square = np.ix_(rows, rows)
    counts = getattr(result, "counts", None)
    empty = np.isin(result.status, (1, 2)) if counts is None else counts.empty_cells() > 0
    empty = empty[square]
    np.fill_diagonal(empty, val=False)
    matrix = np.array(result.matrix[square])
    np.fill_diagonal(matrix, np.nan)
    kind = "polychoric" if counts is None else "tetrachoric"
    labels = [result.labels[i] for i in rows]
    ax = plot_matrix(
        matrix,
        labels,
        name=f"{kind} correlation{' (dot: empty cell)' if empty.any() else ''}",
        limits=(-1.0, 1.0),
        marked=empty,
        ax=ax,
    )
    keep_cells(ax, matrix, labels, "correlation")
    return ax


def _by_loading(result: Any) -> IntArray:
    """Return rows in descending order of their weight in the first component."""
    matrix = np.where(np.isfinite(result.matrix), result.matrix, 0.0)
    first = np.linalg.eigh(matrix)[1][:, -1]
    return np.argsort(-first * np.sign(first.sum() or 1.0), kind="stable")


def _by_clusters(result: Any) -> IntArray:
    """Return rows in the leaf order of average-linkage clustering."""
    hierarchy: Any = import_module("scipy.cluster.hierarchy")
    apart = 1.0 - np.where(np.isfinite(result.matrix), result.matrix, 0.0)
    if len(apart) < 3:
        return np.arange(len(apart))
    pairs = apart[np.triu_indices(len(apart), 1)]
    tree = hierarchy.linkage(pairs, "average", optimal_ordering=True)
    return np.asarray(hierarchy.leaves_list(tree), dtype=np.int64)


def _by_threshold(result: Any) -> IntArray:
    """Return rows in ascending order of their mean threshold."""
    cuts = np.reshape(result.thresholds, (len(result.labels), -1))
    return np.argsort(np.ma.masked_invalid(cuts).mean(axis=1).filled(np.inf), kind="stable")


_ORDERS: Mapping[str, Callable[[Any], IntArray]] = {
    "loading": _by_loading,
    "clusters": _by_clusters,
    "threshold": _by_threshold,
    "given": lambda result: np.arange(len(result.labels)),
}


_WHICH = ((0, "first", BLUE), (1, "second", DEEP_ORANGE), (2, "third", PURPLE), (-1, "last", GREY))


@plain_text()
def plot_sensitivity(result: "Sensitivity", *, ax: "Axes | None" = None) -> "Axes":
    """Draw the eigenvalues under each continuity correction, as proportions.

    If an eigenvalue differs between rows, the difference is due to the correction, not to the
    models. Points to the left of zero are negative eigenvalues. ``result.shares`` contains the
    plotted numbers.

    Parameters
    ----------
    result : Sensitivity
        Result of ``Correlation.sensitivity()``.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Examples
    --------
    >>> import psychollm as psy
    >>> from matplotlib.figure import Figure
    >>> answers = psy.load_example("shared_confidence").confidence
    >>> result = psy.tetrachoric(answers).sensitivity()
    >>> ax = plot_sensitivity(result, ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_yticklabels()][0]
    'keep_margins (used)'
    """
    ax = open_axes(ax, size=(6.4, 2.9))
    rows = np.arange(len(result.rules))
    k = result.shares.shape[1]
    for which, name, colour in _WHICH:
        if which >= k:
            continue
        share = result.shares[:, which]
        ax.plot(share, rows, color=colour, lw=1.0, alpha=0.5, zorder=2)
        both = zip(result.rules, share, strict=True)
        told = [f"{rule}: {name} {percent(one, 1)}" for rule, one in both]
        points(ax, share, rows, colour, size=6.0, label=name, texts=told)
    for row, shares in zip(rows, result.shares, strict=True):
        for which in range(min(2, k)):
            look: dict[str, Any] = {"va": "center", "fontsize": TEXT_SIZE - 1.5, "color": MUTED}
            text, at = percent(shares[which]), (shares[which], row)
            ax.annotate(text, at, (6, 0), textcoords="offset points", **look)
    ax.axvline(0.0, color=INK, lw=0.9)
    used = [f"{rule} (used)" if rule == result.chosen else rule for rule in result.rules]
    ax.set_yticks(rows, used, color=INK)
    ax.set_ylim(rows.size - 0.6, -0.6)
    ax.grid(visible=False, axis="y")
    pairs = len(result.labels) * (len(result.labels) - 1) // 2
    name_axes(ax, x=f"eigenvalue / models   ({result.n_empty} of {pairs} pairs: empty cell)")
    legend(ax, columns=4)
    return ax


_LEAST_LIMIT = 3.0


@plain_text()
def plot_residuals(
    result: "PairResiduals", *, order: FloatArray | None = None, ax: "Axes | None" = None
) -> "Axes":
    """Draw standardised residuals; orange pairs agree more than expected under one factor.

    Under one factor, about one pair in twenty exceeds two standard errors. Dots mark pairs whose
    residual exceeds three standard errors. ``result.to_frame()`` returns the plotted numbers.

    Parameters
    ----------
    result : PairResiduals
        Result of `psychollm.factor.one_factor.residuals.pair_residuals`.
    order : array (k,), optional
        Values by which the models are sorted, such as thresholds.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from psychollm.factor.one_factor.residuals import pair_residuals
    >>> answers = np.random.default_rng(0).integers(0, 2, (5, 200))
    >>> ax = plot_residuals(pair_residuals(answers), ax=Figure().subplots())
    >>> len(ax.get_yticks())
    5
    """
    k = len(result.labels)
    rows = np.arange(k) if order is None else np.argsort(order, kind="stable")
    z = np.array(result.standardised[np.ix_(rows, rows)])
    np.fill_diagonal(z, np.nan)
    known = np.abs(z[np.isfinite(z)])
    limit = max(_LEAST_LIMIT, float(np.ceil(known.max()))) if known.size else _LEAST_LIMIT
    with np.errstate(invalid="ignore"):
        marked = np.abs(z) > 3.0
    labels = [result.labels[i] for i in rows]
    ax = plot_matrix(
        z,
        labels,
        name="observed − expected joint yes, standard errors",
        limits=(-limit, limit),
        marked=marked,
        ax=ax,
    )
    keep_cells(ax, z, labels, "residual in standard errors", digits=1)
    return ax


_MOST_NAMES = 60
_RASTER_FROM = 1_000


@plain_text()
def plot_matrix(
    matrix: FloatArray,
    labels: Sequence[Any],
    *,
    name: str,
    limits: tuple[float, float],
    diverging: bool = True,
    marked: BoolArray | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw a square matrix as a heat map with a colour bar.

    Parameters
    ----------
    matrix : ndarray (k, k)
        Values of the matrix; NaN cells are empty.
    labels : sequence (k,)
        Names of rows and columns; with more than 60 rows, only some names are shown.
    name : str
        Name of the values, used as the label of the colour bar.
    limits : tuple of float
        Values at the ends of the colour bar.
    diverging : bool
        Whether to use a diverging colour map, with a neutral colour midway between the limits.
    marked : bool array (k, k), optional
        Cells to mark with a dot.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = plot_matrix(np.eye(2), "ab", name="r", limits=(-1, 1), ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_xticklabels()]
    ['a', 'b']
    """
    k = len(labels)
    side = 0.23 * min(k, 24) + 0.1 * min(max(k - 24, 0), 40)  # height and width in inches
    ax = open_axes(ax, size=(2.0 + side, 1.5 + side))
    colours = colour_map(DIVERGING if diverging else SEQUENTIAL, name)
    edges = np.arange(k + 1) - 0.5
    mesh = ax.pcolormesh(
        edges,
        edges,
        np.ma.masked_invalid(matrix),
        cmap=colours,
        vmin=limits[0],
        vmax=limits[1],
        rasterized=k * k > _RASTER_FROM,
        linewidth=0,
    )
    if marked is not None:
        row, column = np.nonzero(marked)
        size = max(0.6, 30.0 / max(k, 1))
        ax.plot(column, row, ls="", marker=".", ms=size, color=INK, alpha=0.75)
    _name_cells(ax, labels)
    _colour_bar(ax, mesh, name)
    return ax


def _name_cells(ax: "Axes", labels: Sequence[Any]) -> None:
    k = len(labels)
    step = -(-k // _MOST_NAMES)
    at, names = np.arange(0, k, step), short_names(labels)[::step]
    figure: Any = ax.figure
    # distance between rows in points
    pitch = 72.0 * figure.get_figheight() * ax.get_position().height / k
    size = float(np.clip(0.72 * pitch * step, 4.0, TICK_SIZE - 1.0))
    ax.set_xticks(at, names, rotation=90, fontsize=size)
    ax.set_yticks(at, names, fontsize=size)
    read_rows(ax, labels)
    ax.set_aspect("equal")
    ax.set_xlim(-0.5, k - 0.5)
    ax.set_ylim(k - 0.5, -0.5)
    ax.grid(visible=False)
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)


def _colour_bar(ax: "Axes", mesh: Any, name: str) -> None:
    figure: Any = ax.figure
    bar = figure.colorbar(mesh, ax=ax, shrink=0.72, aspect=26, pad=0.02, extend="neither")
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=TICK_SIZE - 0.5, labelcolor=MUTED, length=0)
    bar.set_label(name, fontsize=TEXT_SIZE, color=INK)
