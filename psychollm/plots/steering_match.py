"""Plot of the best steering strengths against thresholds, with controls."""

from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.names import shortened
from psychollm._base.numbers import number, p_equals, typeset, with_interval
from psychollm.plots.canvas import (
    BLUE,
    DEEP_ORANGE,
    GREY,
    INK,
    MUTED,
    PURPLE,
    RULE,
    TICK_SIZE,
    by_value,
    dress,
    legend,
    name_axes,
    note,
    open_figure,
    plain_text,
    write,
)
from psychollm.plots.marks import keep_points
from psychollm.studies.steering_match.evidence import HEADLINES
from psychollm.studies.steering_match.result import SteeringMatch

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NAMES = {"r_squared": "R² of strengths on thresholds", "held_out_kappa": "held-out kappa"}
_TABLE, _CUT = PURPLE, DEEP_ORANGE
_LONGEST = 18
_ROOM = 0.24


@plain_text()
def plot_steering_match(study: SteeringMatch, *, figure: "Figure | None" = None) -> "Figure":
    """Draw the best steering strengths against thresholds, with controls.

    The upper left panel shows the fitted line. The points of the upper left panel have intervals
    over questions; hollow points are at the limits of the usable strengths. The upper right panel
    shows the agreement with each target on held-out questions; bars start at the agreement of a
    constant answer. The lower panels show :math:`R^2` and held-out kappa for the direction and the
    controls, with their null distributions under permuted questions. ``study.to_frame()``,
    ``study.controls_frame()`` and ``study.null`` contain the plotted numbers.

    Parameters
    ----------
    study : SteeringMatch
        Result of `steering_match`.
    figure : Figure, optional
        Empty figure to draw on; by default, a new figure is created.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from psychollm.studies import SteeredAnswers, steering_match
    >>> rng = np.random.default_rng(0)
    >>> steered = SteeredAnswers.from_array(rng.normal(np.linspace(-2, 2, 5)[:, None], 1, (5, 60)),
    ...     strengths=range(5), scale="log_odds")
    >>> targets = (rng.random((4, 60)) < [[.2], [.4], [.6], [.8]]).astype(int)
    >>> study = steering_match(steered, targets, n_null=39, bootstrap=20, rng=0)
    >>> len(plot_steering_match(study, figure=Figure()).axes)
    4
    """
    figure = open_figure(figure, size=(9.2, 7.4))
    grid = figure.subplots(2, 2, height_ratios=[1.5, 1.0])
    for ax in grid.flat:
        dress(ax)
    draw_line(grid[0, 0], study)
    draw_agreement(grid[0, 1], study)
    draw_worth(grid[1, 0], study, "r_squared")
    draw_worth(grid[1, 1], study, "held_out_kappa")
    return figure


def draw_line(ax: "Axes", study: SteeringMatch) -> None:
    """Draw the best strengths against thresholds, with the fitted line and its band."""
    best = study.best
    x, y = best.thresholds, best.strength.value
    known = np.isfinite(x) & np.isfinite(y)
    name_axes(ax, x="threshold of the target", y="best strength", title="One strength per target")
    if known.sum() < 3:
        note(ax, "fewer than three targets\nhave a threshold and a strength")
        return
    margin = 0.06 * np.ptp(x[known])
    at = np.linspace(x[known].min() - margin, x[known].max() + margin, 60)
    band = best.line.band(at)
    ax.fill_between(at, band["lower"], band["upper"], color=GREY, alpha=0.3, lw=0)
    ax.plot(at, band["fit"], color=INK, lw=1.2, gid="line")
    low, high = best.strength.interval[known].T
    ax.vlines(x[known], low, high, color=BLUE, lw=1.1, alpha=0.7)
    for rows, face, words in (
        (known & ~best.at_edge, BLUE, "target, with its interval"),
        (known & best.at_edge, "white", "at the edge of the usable strengths"),
    ):
        if rows.any():
            ring: dict[str, Any] = {
                "facecolor": face,
                "edgecolor": BLUE,
                "lw": 1.1,
                "zorder": 3,
                "gid": words,
            }
            ax.scatter(x[rows], y[rows], s=30, label=words, **ring)
    told = [
        f"{label}: threshold {number(tau)}, best strength {best.strength.text(row)}"
        for row, (label, tau) in enumerate(zip(best.strength.labels, x, strict=True))
    ]
    keep_points(ax, x, y, told, best.strength.labels)
    explained = with_interval(best.line.r_squared, best.r_squared_interval)
    _corner(ax, f"R² {typeset(explained)}", study)
    legend(ax, inside="best")


def _corner(ax: "Axes", text: str, study: SteeringMatch) -> None:
    """Write a number into a corner of the axes that the line does not cross."""
    if study.best.line.slope > 0:
        write(ax, 0.98, 0.03, text, "right bottom")
    else:
        write(ax, 0.98, 0.97, text, "right top")


def draw_agreement(ax: "Axes", study: SteeringMatch) -> None:
    """Draw the held-out agreement with each target and the agreement of a constant answer."""
    order = by_value(study.best.thresholds)
    rows = np.arange(order.size)
    constant = study.constant.agreement.value[order]
    held = study.held_out.agreement.value[order]
    scalar = study.from_threshold.agreement.value[order]
    ax.hlines(rows, constant, held, color=RULE, lw=1.6, zorder=1)
    series: tuple[tuple[Any, dict[str, Any], str], ...] = (
        (constant, {"marker": "|", "color": INK, "s": 60}, "constant answer"),
        (scalar, {"facecolor": "white", "edgecolor": BLUE, "s": 26}, "from the threshold"),
        (held, {"color": BLUE, "s": 26}, "steered (held out)"),
    )
    for values, look, words in series:
        ax.scatter(values, rows, zorder=3, label=words, gid=words, **look)
        models = [study.targets.models[row] for row in order]
        told = [
            f"{model}: {words} {number(value)}"
            for model, value in zip(models, values, strict=True)
        ]
        keep_points(ax, values, rows, told, models)
    names = [shortened(study.targets.models[row], _LONGEST) for row in order]
    size = TICK_SIZE - 0.5 if order.size <= 22 else max(4.5, 11.0 - 0.2 * order.size)
    ax.set_yticks(rows, names, fontsize=size)
    ax.set_ylim(-0.7, order.size - 0.3 + _ROOM * order.size)  # space for the legend
    ax.grid(visible=False, axis="y")
    name_axes(ax, x="agreement", title="Agreement by target")
    legend(ax, inside="upper left")


def draw_worth(ax: "Axes", study: SteeringMatch, which: str) -> None:
    """Draw a main statistic for the direction and its controls, with the null distribution."""
    column = HEADLINES.index(which)
    draws = study.null.draws[:, column]
    known = draws[np.isfinite(draws)]
    if known.size and np.ptp(known) > 0:
        ax.hist(known, bins="auto", color=GREY, alpha=0.55, lw=0, label="permuted questions")
    top = ax.get_ylim()[1]
    value = study.headlines[which]
    p = study.p_values[which]
    ax.axvline(value, color=BLUE, lw=2.0, label="direction", gid="direction")
    for kind, colour, words in (
        ("cut-off", _CUT, "threshold on unsteered log odds"),
        ("table", _TABLE, "control directions"),
    ):
        controls = [one for one in study.controls if one.kind == kind]
        values = [getattr(one, which) for one in controls]
        if values:
            height = np.full(len(values), (0.12 if kind == "table" else 0.2) * top)
            look: dict[str, Any] = {"marker": "v", "edgecolor": "white", "lw": 0.6, "zorder": 4}
            ax.scatter(values, height, s=34, color=colour, label=words, gid=kind, **look)
            names = [f"{one.name}: {number(getattr(one, which))}" for one in controls]
            keep_points(ax, values, height, names)
    told = typeset(f"{_NAMES[which]}: {number(value)}, {p_equals(p)}")
    title = "Not evidence by itself" if which == "r_squared" else "Same questions answered yes?"
    name_axes(ax, x=told, y="permutations", title=title)
    ax.xaxis.label.set_color(MUTED)
    if which != "r_squared":
        legend(ax, inside="best")
