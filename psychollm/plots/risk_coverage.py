"""Risk-coverage curves, which show the error rate of a model that answers only when confident."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.numbers import number, percent, with_interval
from psychollm._base.types import FloatArray, IntArray
from psychollm.calibration.selection.risk_coverage import answered
from psychollm.data.labels import positions
from psychollm.plots.canvas import (
    BLUE,
    DASHED,
    INK,
    MUTED,
    legend,
    name_axes,
    open_axes,
    plain_text,
)
from psychollm.plots.labels import draw_curve, emphasised, name_ends
from psychollm.plots.marks import keep_line
from psychollm.plots.small_multiples import draw_panels, panel_title, say

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from psychollm.calibration.selection.risk_coverage import RiskCoverage

# If more curves are drawn, bands and baselines overlap too much.
_MOST_BANDS = 3
_SETTLED = 0.1  # smallest coverage at which curves determine the limits of the axes
_BEST = (0, (1, 1.6))
_TOLD = (0.2, 0.5, 1.0)
_PANEL = (2.15, 2.0)  # size in inches


@plain_text()
def plot_risk_coverage(
    result: "RiskCoverage",
    *,
    models: Sequence[Any] | None = None,
    highlight: Sequence[Any] | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw risk-coverage curves, which show the error rate of the most confident answers.

    At coverage 1, every question is answered. The dashed line is the expected curve for
    uninformative confidence; the dotted line is the curve for the best possible order of answers.
    With up to three models, every model has both baselines and a band. With more than three
    models, only the model with the lowest AURC has baselines and a band. `plot_risk_coverage_grid`
    draws baselines and bands for every model. ``result.to_frame()`` returns the plotted numbers.

    Parameters
    ----------
    result : RiskCoverage
        Result of `risk_coverage`.
    models : sequence, optional
        Models to draw; by default all.
    highlight : sequence, optional
        Models to colour; by default, all of up to ten models, or the five with the lowest AURC.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Raises
    ------
    LabelError
        If a model is not in the result.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from psychollm.calibration.selection.risk_coverage import risk_coverage
    >>> found = risk_coverage([0.9, 0.8, 0.3, 0.1], [1, 0, 1, 0], bootstrap=50, rng=0)
    >>> plot_risk_coverage(found, ax=Figure().subplots()).get_xlabel()
    'coverage: proportion of questions answered, most confident first'
    """
    ax = open_axes(ax, size=(7.6, 4.7))
    drawn = positions("model", result.labels, models)
    names = [result.labels[model] for model in drawn]
    colours = emphasised(names, result.aurc.value[drawn], highlight)
    few, risk = drawn.size <= _MOST_BANDS, answered(result)
    with_baselines = list(colours) if few else list(colours)[:1]
    for rank, model in enumerate(drawn.tolist()):
        colour = colours.get(rank)
        if rank in with_baselines:
            _baselines(ax, result, model, colours[rank])
        if few and colour is not None:
            _band(ax, result, model, colour)
        name = f"curve {result.labels[model]}"
        draw_curve(ax, result.coverages, risk[model], colour, gid=name)
        _keep(ax, result, model)
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(0.0, _top(result, drawn))
    name_axes(
        ax,
        x="coverage: proportion of questions answered, most confident first",
        y="risk: proportion of wrong answers among these",
    )
    name_ends(ax, result.error_rate[drawn], names, colours)
    whose = "" if few or not with_baselines else f", {names[with_baselines[0]]}"
    for style, name in ((DASHED, "random order"), (_BEST, "optimal order")):
        ax.plot([], [], color=MUTED, lw=1.0, ls=style, label=f"{name}{whose}")
    legend(ax, columns=2)
    return ax


@plain_text()
def plot_risk_coverage_grid(
    result: "RiskCoverage",
    *,
    models: Sequence[Any] | None = None,
    columns: int = 4,
    figure: "Figure | None" = None,
) -> "Figure":
    """Draw the risk-coverage curve of every model with its band and both baselines.

    Parameters
    ----------
    result : RiskCoverage
        Result of `risk_coverage`.
    models : sequence, optional
        Models to draw, in this order; by default all.
    columns : int
        Number of panels per row.
    figure : Figure, optional
        Empty figure to draw on; by default, a new figure is created.

    Raises
    ------
    LabelError, OptionError
        If the model is not in the result, or `columns` is not a positive whole number.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from psychollm.calibration.selection.risk_coverage import risk_coverage
    >>> found = risk_coverage([[0.9, 0.1], [0.5, 0.6]], [[1, 0], [1, 0]], bootstrap=50, rng=0)
    >>> len(plot_risk_coverage_grid(found, figure=Figure()).axes)
    2
    """
    drawn, risk = positions("model", result.labels, models), answered(result)
    top = _top(result, drawn)

    def draw(ax: "Axes", row: int) -> None:
        model = int(drawn[row])
        if np.isfinite(result.error_rate[model]):
            _baselines(ax, result, model, INK)
            _band(ax, result, model, BLUE)
        name = f"curve {result.labels[model]}"
        ax.plot(result.coverages, risk[model], color=BLUE, lw=1.6, gid=name, zorder=4)
        _keep(ax, result, model)
        ax.set_xlim(0.0, 1.0)
        ax.set_ylim(0.0, top)
        ax.set_xticks([0.0, 0.5, 1.0], ["0", ".5", "1"])
        area = with_interval(float(result.aurc.value[model]), result.aurc.interval[model], 3)
        panel_title(ax, result.labels[model], [f"AURC {area}"])
        if result.flags[model]:
            # Place the text away from the curve, which may be high or low.
            high = result.error_rate[model] > 0.5 * top
            say(ax, str(result.flags[model]), (0.5, (0.25 if high else 0.75) * top))

    return draw_panels(
        draw,
        drawn.size,
        columns=columns,
        panel=_PANEL,
        names=("coverage", "risk"),
        figure=figure,
    )


def _keep(ax: "Axes", result: "RiskCoverage", row: int) -> None:
    """Store the tooltip of a curve."""
    at = [int(np.abs(result.coverages - share).argmin()) for share in _TOLD]
    values, label = answered(result)[row], result.labels[row]
    risks = ", ".join(f"{number(values[i])} at {percent(result.coverages[i])}" for i in at)
    area = with_interval(float(result.aurc.value[row]), result.aurc.interval[row], 3)
    text = f"{label}: risk {risks} answered; AURC {area}"
    keep_line(ax, result.coverages, values, text, label)


def _top(result: "RiskCoverage", drawn: IntArray) -> float:
    """Return an upper axis limit that ignores noisy error rates based on very few answers."""
    settled = answered(result)[
        np.ix_(drawn, result.coverages >= min(_SETTLED, result.coverages[-1]))
    ]
    known: FloatArray = settled[np.isfinite(settled)]
    return min(1.02, max(0.05, 1.12 * float(known.max()))) if known.size else 1.02


def _baselines(ax: "Axes", result: "RiskCoverage", row: int, colour: str) -> None:
    rate = result.error_rate[row]
    if not np.isfinite(rate):
        return
    ax.plot([0.0, 1.0], [rate, rate], color=colour, lw=0.9, ls=DASHED, alpha=0.7, zorder=2)
    best = result.best[row]
    name = f"best {result.labels[row]}"
    ax.plot(result.coverages, best, color=colour, lw=1.0, ls=_BEST, gid=name, zorder=2)


def _band(ax: "Axes", result: "RiskCoverage", row: int, colour: str) -> None:
    low, high = result.interval[row].T
    ax.fill_between(result.coverages, low, high, color=colour, alpha=0.18, lw=0, zorder=1)
