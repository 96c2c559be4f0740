"""Plots of eigenvalues compared with their null distributions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.errors import ShapeError
from psychollm._base.numbers import number, with_interval
from psychollm.estimates.null import Null
from psychollm.factor.number_of_factors.retention import Retention
from psychollm.plots.canvas import (
    BLUE,
    DASHED,
    DEEP_ORANGE,
    GREY,
    INK,
    PAPER,
    PURPLE,
    RULE,
    TICK_SIZE,
    dress,
    legend,
    name_axes,
    name_rows,
    open_axes,
    plain_text,
    points,
)
from psychollm.plots.marks import keep_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psychollm.factor.number_of_factors.parallel import ParallelAnalysis

# If more components are drawn, an inset shows the eigenvalues except the first.
_CLOSE_UP_FROM = 4

NULL_NAMES = {
    "within_model": "shuffled within models",
    "within_question": "shuffled within questions",
    "both_margins": "shuffled, both margins kept",
    "one_factor": "one factor",
}
_SHORT = {"within_model": "shuffled", "one_factor": "one factor"}
NULL_COLOURS = {
    "within_model": GREY,
    "within_question": PURPLE,
    "both_margins": PURPLE,
    "one_factor": DEEP_ORANGE,
}


@plain_text()
def plot_scree(
    nulls: "Null | ParallelAnalysis | Sequence[Null | ParallelAnalysis]",
    *,
    first: int = 12,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw observed eigenvalues, with the 90 % range of each null distribution's replicates.

    The method ``to_frame`` of each null distribution returns the plotted numbers.

    Parameters
    ----------
    nulls : Null or ParallelAnalysis, or sequence of them
        Null distributions of the statistic ``"eigenvalues"`` or ``"shares"`` of the same data, or
        the attribute ``parallel`` of a `Retention`.
    first : int
        Number of eigenvalues to draw.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Raises
    ------
    ShapeError
        If no null is given, or if a null's statistic is not a list of eigenvalues.

    Examples
    --------
    >>> import psychollm as psy
    >>> from matplotlib.figure import Figure
    >>> answers = psy.simulate_factor(
    ...     loadings=[0.8] * 6, thresholds=[0.0] * 6, n_questions=300, rng=0
    ... ).responses
    >>> null = psy.permutation_null(answers, n_null=50, rng=0)
    >>> plot_scree(null, ax=Figure().subplots()).get_xlabel()
    'component'
    """
    given = list(nulls) if isinstance(nulls, Sequence) else [nulls]
    shown = [_null_of(one) for one in given]
    if not shown or any(null.observed.ndim != 1 for null in shown):
        msg = "nulls must hold at least one Null of statistic='eigenvalues' or 'shares'"
        raise ShapeError(msg)
    ax = open_axes(ax, size=(6.0, 4.0))
    count = min(first, shown[0].observed.size)
    draw_components(ax, shown, 0, count)
    keep_points(ax, range(1, count + 1), shown[0].observed[:count], _told(shown, count))
    of_shares = shown[0].statistic == "shares"
    name_axes(ax, x="component", y="eigenvalue / models" if of_shares else "eigenvalue")
    if count > _CLOSE_UP_FROM:
        inner = inset(ax.inset_axes((0.36, 0.36, 0.62, 0.6)), "without the first")
        draw_components(inner, shown, 1, count)
        legend(ax, columns=3)
    else:
        legend(ax, inside="upper right")
    return ax


def _told(shown: Sequence[Null], stop: int) -> list[str]:
    """Return text with each eigenvalue, and the median and range of each null distribution."""
    bands = [null.quantile([0.05, 0.5, 0.95]) for null in shown]
    what = "share" if shown[0].statistic == "shares" else "eigenvalue"
    return [
        f"component {k + 1}: {what} {number(shown[0].observed[k])}; "
        + "; ".join(
            f"{_SHORT.get(null.scheme, null.scheme)} {with_interval(band[1, k], band[[0, 2], k])}"
            for null, band in zip(shown, bands, strict=True)
        )
        for k in range(stop)
    ]


def _null_of(one: "Null | ParallelAnalysis") -> Null:
    """Convert a parallel analysis to a null distribution; return a null distribution as is."""
    if isinstance(one, Null):
        return one
    return Null.compare(
        one.observed,
        one.draws,
        scheme=one.scheme,
        statistic="eigenvalues",
        alternative="greater",
    )


def draw_components(
    ax: "Axes", shown: Sequence[Null], start: int, stop: int, *, scale: float = 1.0
) -> None:
    """Draw components `start` to `stop`, counted from 0, with values multiplied by `scale`."""
    at = np.arange(start + 1, stop + 1)
    for null in shown:
        low, middle, high = scale * null.quantile([0.05, 0.5, 0.95])[:, start:stop]
        colour = NULL_COLOURS.get(null.scheme, GREY)
        name = NULL_NAMES.get(null.scheme, null.scheme)
        ax.fill_between(at, low, high, color=colour, alpha=0.28, lw=0, zorder=1)
        ax.plot(at, middle, color=colour, lw=1.4, ls=DASHED, label=name, zorder=2)
    observed = scale * shown[0].observed[start:stop]
    ax.plot(at, observed, "-o", color=INK, ms=4.5, lw=1.2, mec="white", label="observed", zorder=3)
    ax.axhline(0.0, color=INK, lw=0.6)
    ax.set_xticks(at)


def inset(inner: "Axes", title: str) -> "Axes":
    """Return inset axes with the library's style and a title."""
    dress(inner)
    inner.set_facecolor(PAPER)
    inner.tick_params(labelsize=TICK_SIZE - 1.5)
    inner.set_title(title, fontsize=TICK_SIZE - 0.5, color=INK, loc="left", pad=4)
    return inner


@plain_text()
def plot_retention(result: Retention, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the number of factors suggested by each retention rule; shade the most frequent number.

    ``plot_scree(result.parallel)`` draws the eigenvalues. ``result.to_frame()`` returns the
    plotted numbers.

    Parameters
    ----------
    result : Retention
        Result of `retention`.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Examples
    --------
    >>> import psychollm as psy
    >>> from matplotlib.figure import Figure
    >>> answers = psy.load_example("shared_confidence").confidence
    >>> found = psy.retention(answers.codes[:8, :400], n_null=20, rng=1)
    >>> plot_retention(found, ax=Figure().subplots()).get_xlabel()
    'factors'
    """
    rules, counts = list(result.counts), np.array(list(result.counts.values()))
    ax = open_axes(ax, size=(6.0, 1.0 + 0.3 * len(rules)))
    values, votes = np.unique(counts, return_counts=True)
    for usual in values[votes == votes.max()]:
        ax.axvspan(usual - 0.4, usual + 0.4, color=BLUE, alpha=0.12, lw=0, zorder=0)
    rows = np.arange(len(rules))
    look: dict[str, Any] = {"va": "center", "fontsize": TICK_SIZE, "color": INK}
    ax.hlines(rows, 0, counts, color=RULE, lw=1.4, zorder=1)
    points(ax, counts, rows, BLUE, size=7.0)
    for row, count in zip(rows, counts, strict=True):
        ax.annotate(f"{count}", (count, row), (8, 0), textcoords="offset points", **look)
    name_rows(ax, rules)
    ax.set_xlim(0, counts.max() + 0.8)
    ax.set_xticks(np.arange(0, counts.max() + 1, max(1, counts.max() // 10)))
    name_axes(ax, x="factors")
    return ax
