"""Plots of second loadings and of single statistics with their null distributions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.checks import float_array
from psychollm._base.errors import ShapeError
from psychollm._base.numbers import number, p_equals
from psychollm._base.types import FloatArray
from psychollm.plots.canvas import (
    BLUE,
    DASHED,
    GREY,
    INK,
    legend,
    name_axes,
    open_axes,
    plain_text,
    points,
)
from psychollm.plots.labels import label_points
from psychollm.plots.scree import NULL_COLOURS, NULL_NAMES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psychollm.estimates.null import Null


@plain_text()
def plot_second_factor(
    nulls: "Null | Sequence[Null]",
    *,
    thresholds: FloatArray,
    names: Sequence[object] | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw second-factor loadings against thresholds, with 90 % ranges under null hypotheses.

    The sign of a component is arbitrary. Each replicate gets the sign that agrees best with the
    data. This choice of the sign slightly shifts null loadings towards the observed loadings.

    Parameters
    ----------
    nulls : Null or sequence of Null
        Null distributions of the statistic ``"second_loadings"`` of the same data.
    thresholds : array (models,)
        Thresholds of the models, for example ``Correlation.thresholds``.
    names : sequence (models,), optional
        Names of the models, used as labels of the points.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Raises
    ------
    ShapeError
        If the number of loadings of a null distribution differs from the number of thresholds.

    Examples
    --------
    >>> import psychollm as psy
    >>> from matplotlib.figure import Figure
    >>> answers = np.random.default_rng(0).integers(0, 2, (5, 200))
    >>> null = psy.permutation_null(answers, statistic="second_loadings", n_null=20, rng=0)
    >>> tau = psy.tetrachoric(answers).thresholds
    >>> plot_second_factor(null, thresholds=tau, ax=Figure().subplots()).get_ylabel()
    'loading on the second component'
    """
    shown = list(nulls) if isinstance(nulls, Sequence) else [nulls]
    tau = float_array(thresholds, "thresholds")
    if not shown or any(null.observed.shape != tau.shape for null in shown):
        msg = (
            f"each null must hold one second loading per model ({tau.size}): use "
            "statistic='second_loadings'"
        )
        raise ShapeError(msg)
    ax = open_axes(ax, size=(6.4, 4.0))
    order = np.argsort(tau, kind="stable")
    observed = shown[0].observed
    path = np.linspace(np.nanmin(tau), np.nanmax(tau), 60)
    lines = [np.column_stack([path, 0.0 * path])]  # labels must avoid the line at zero
    for null in shown:
        low, middle, high = np.quantile(aligned(null.draws, observed), [0.05, 0.5, 0.95], axis=0)
        colour = NULL_COLOURS.get(null.scheme, GREY)
        name = NULL_NAMES.get(null.scheme, null.scheme)
        at = tau[order]
        ax.fill_between(at, low[order], high[order], color=colour, alpha=0.25, lw=0, zorder=1)
        ax.plot(at, middle[order], color=colour, lw=1.4, ls=DASHED, label=name, zorder=2)
        lines.append(np.column_stack([path, np.interp(path, at, middle[order])]))
    told = None
    if names is not None:
        told = [
            f"{name}: threshold {number(across)}, second component {number(up)}"
            for name, across, up in zip(names, tau, observed, strict=True)
        ]
    points(ax, tau, observed, BLUE, size=5.5, label="observed", texts=told, models=names or ())
    ax.axhline(0.0, color=INK, lw=0.7)
    name_axes(
        ax,
        x="threshold of the model   (often yes → rarely yes)",
        y="loading on the second component",
    )
    legend(ax, columns=3)
    if names is not None:
        label_points(ax, tau, observed, names, obstacles=np.vstack(lines))
    return ax


def aligned(draws: FloatArray, observed: FloatArray) -> FloatArray:
    """Reverse the sign of replicates that correlate negatively with the observed loadings."""
    away = draws @ observed < 0
    return np.asarray(np.where(away[:, None], -draws, draws))


@plain_text()
def plot_null(
    null: "Null", *, entry: int = 0, name: str | None = None, ax: "Axes | None" = None
) -> "Axes":
    """Draw a histogram of the replicates of a statistic, with the observed value.

    Parameters
    ----------
    null : Null
        Result of `permutation_null` or `one_factor_null`.
    entry : int
        Index of the statistic's entry, counted from 0.
    name : str, optional
        Name of the plotted value, by default the name of the statistic.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Raises
    ------
    ShapeError
        If the statistic has no entry with the given index.

    Examples
    --------
    >>> import psychollm as psy
    >>> from matplotlib.figure import Figure
    >>> answers = np.random.default_rng(0).integers(0, 2, (4, 100))
    >>> null = psy.permutation_null(answers, statistic="mean_correlation", n_null=50, rng=0)
    >>> plot_null(null, ax=Figure().subplots()).get_xlabel()
    'mean correlation'
    """
    draws = null.draws.reshape(len(null.draws), -1)
    if not 0 <= entry < draws.shape[1]:
        msg = f"entry={entry}: the statistic has {draws.shape[1]} entries, counted from 0"
        raise ShapeError(msg)
    ax = open_axes(ax, size=(5.4, 3.2))
    draw_replicates(ax, null, entry)
    name_axes(ax, x=name or null.statistic.replace("_", " "), y="replicates")
    legend(ax, columns=2)
    return ax


def draw_replicates(ax: "Axes", null: "Null", entry: int = 0) -> None:
    """Draw a histogram of one entry's replicates and a line at the observed value."""
    values = null.draws.reshape(len(null.draws), -1)[:, entry]
    known = values[np.isfinite(values)]
    colour = NULL_COLOURS.get(null.scheme, GREY)
    scheme = NULL_NAMES.get(null.scheme, null.scheme)
    if known.size:
        ax.hist(known, bins="auto", color=colour, alpha=0.55, lw=0, label=scheme)
    observed, p = np.ravel(null.observed)[entry], np.ravel(null.p_value)[entry]
    if np.isfinite(observed):
        ax.axvline(observed, color=INK, lw=1.6, label=f"observed {observed:.3g}, {p_equals(p)}")
