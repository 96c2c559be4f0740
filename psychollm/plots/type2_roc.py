"""Type-2 ROC curves: rates of confidence when correct against rates of confidence when wrong."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.names import shortened
from psychollm._base.numbers import with_interval
from psychollm._base.types import FloatArray
from psychollm.data.labels import positions
from psychollm.plots.canvas import DASHED, INK, QUIET, TEXT_SIZE, name_axes, open_axes, plain_text
from psychollm.plots.labels import MOST_NAMES, draw_curve, emphasised
from psychollm.plots.marks import keep_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psychollm.calibration.discrimination.type2_roc import Type2ROC

_MOST_BANDS = 3
_LONGEST = 36  # largest number of characters of a name in the legend


@plain_text()
def plot_type2_roc(
    result: "Type2ROC",
    *,
    models: Sequence[Any] | None = None,
    highlight: Sequence[Any] | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw each model's type-2 ROC curve (hit rate against false-alarm rate).

    The dashed line is the expected curve for uninformative confidence. Starting with the best
    model, the legend lists the AUROC of each curve with its interval, or the reason why a curve is
    missing. With up to three models, all curves have bands. ``result.criteria_frame()`` and
    ``result.to_frame()`` return the plotted numbers.

    Parameters
    ----------
    result : Type2ROC
        Result of `type2_roc`.
    models : sequence, optional
        Models to draw; by default all.
    highlight : sequence, optional
        Models to colour; by default, all of up to ten models, or the five with the largest area.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Raises
    ------
    LabelError
        If a model is not in the result.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from psychollm.calibration.discrimination.type2_roc import type2_roc
    >>> found = type2_roc([0.9, 0.8, 0.3, 0.1], [1, 0, 1, 0], bootstrap=50, rng=0)
    >>> plot_type2_roc(found, ax=Figure().subplots()).get_xlabel()
    'proportion of wrong answers above the criterion'
    """
    ax = open_axes(ax, size=(8.6, 4.7))
    drawn = positions("model", result.labels, models)
    names = [result.labels[model] for model in drawn]
    colours = emphasised(names, -result.auroc.value[drawn], highlight)
    ax.plot([0, 1], [0, 1], color=INK, lw=0.9, ls=DASHED, zorder=3, gid="chance")
    for rank, model in enumerate(drawn.tolist()):
        colour = colours.get(rank)
        if drawn.size <= _MOST_BANDS and colour is not None:
            low, high = result.interval[model].T
            ax.fill_between(
                result.false_alarms, low, high, color=colour, alpha=0.18, lw=0, zorder=1
            )
        name = f"curve {result.labels[model]}"
        draw_curve(ax, *_curve(result, model), colour, gid=name)
        area = with_interval(float(result.auroc.value[model]), result.auroc.interval[model])
        label = result.labels[model]
        keep_line(ax, *_curve(result, model), f"{label}: AUROC {area}", label)
    ax.set_xlim(-0.01, 1.01)
    ax.set_ylim(-0.01, 1.01)
    ax.set_box_aspect(1.0)
    ax.set_anchor("W")
    name_axes(
        ax,
        x="proportion of wrong answers above the criterion",
        y="proportion of correct answers above it",
    )
    _legend(ax, result, drawn.tolist(), colours)
    return ax


def _curve(result: "Type2ROC", row: int) -> tuple[FloatArray, FloatArray]:
    """Return the false-alarm and hit rates of a curve, from the highest criterion down."""
    alarms = np.concatenate([[0.0], result.criterion_false_alarms[row]])
    hits = np.concatenate([[0.0], result.criterion_hits[row]])
    known = alarms.size > 1 and np.isfinite(alarms + hits).all()
    return (alarms, hits) if known else (alarms[:0], hits[:0])


def _legend(ax: "Axes", result: "Type2ROC", drawn: Sequence[int], colours: dict[int, str]) -> None:
    """Label the curves on the right in descending order of area, with undefined curves last."""
    from matplotlib.lines import Line2D

    value = result.auroc.value
    rows = sorted(range(len(drawn)), key=lambda row: -np.nan_to_num(value[drawn[row]], nan=-1.0))
    shown = rows if len(rows) <= MOST_NAMES else [row for row in rows if row in colours]
    handles = [
        Line2D([], [], color=colours.get(row, QUIET), lw=1.7 if row in colours else 0.8)
        for row in shown
    ]
    ax.legend(
        handles,
        [_entry(result, drawn[row]) for row in shown],
        loc="center left",
        bbox_to_anchor=(1.02, 0.5),
        borderaxespad=0.0,
        frameon=False,
        labelcolor=INK,
        fontsize=TEXT_SIZE - 1.0,
        handlelength=1.4,
        title="area under the curve",
        title_fontsize=TEXT_SIZE - 0.5,
        alignment="left",
    )


def _entry(result: "Type2ROC", row: int) -> str:
    label = shortened(result.labels[row], _LONGEST)
    if not result.auroc.defined[row]:
        return f"{label}: {result.flags[row]}"
    return f"{result.auroc.text(row)} {label}"
