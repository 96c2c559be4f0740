"""Plot of error rate against coverage, with confidence gates (answering thresholds)."""

from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import percent
from psychollm.plots.canvas import (
    DASHED,
    INK,
    RULE,
    colour_of,
    legend,
    name_axes,
    note,
    open_axes,
    plain_text,
    points,
)
from psychollm.plots.marks import keep_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psychollm.calibration.gates.confidence_gate import ConfidenceGate

_COLOURED = 8  # largest number of coloured gates
_FEW = 10  # error rates of fewer answers are not drawn


@plain_text()
def plot_confidence_gate(result: "ConfidenceGate", *, ax: "Axes | None" = None) -> "Axes":
    """Plot the error rate against coverage; the gates with the highest coverage are coloured.

    Parameters
    ----------
    result : ConfidenceGate
        Result of `confidence_gate`.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from psychollm.calibration.gates.confidence_gate import confidence_gate
    >>> gate = confidence_gate(np.tile([0.9, 0.5], 60), np.tile([1, 0], 60))
    >>> plot_confidence_gate(gate, ax=Figure().subplots()).get_ylabel()
    'proportion of wrong answers among these'
    """
    ax = open_axes(ax, size=(7.2, 4.4))
    coverage, promised = result.coverage.ravel(), result.promised.ravel()
    order = np.lexsort((-coverage, ~promised)).tolist()
    top = result.at_most
    for rank, gate in enumerate(order):
        here = np.flatnonzero(result.step_gate == gate)
        here = here[result.step_coverage[here] * result.n.flat[gate] >= _FEW]
        if not here.size:
            continue
        own = rank < _COLOURED
        colour = colour_of(rank) if own else RULE
        x, y = result.step_coverage[here], result.step_error[here]
        top = max(top, float(y.max()))
        name = result.name(gate)
        style = "-" if here.size > 1 else ""
        ax.plot(
            x,
            y,
            color=colour,
            lw=1.5 if own else 0.8,
            ls=style,
            marker="." if here.size < 30 else None,
            ms=4,
            label=name if own else None,
            gid=f"curve {name}",
            zorder=3 if own else 2,
        )
        label = result.labels[gate // len(result.groups)]
        keep_line(ax, x, y, f"{name}: {percent(y[-1])} wrong if all are answered", label)
        if promised[gate]:
            _mark(ax, result, gate, colour)
    if not result.step_gate.size:
        note(ax, "no answers")
    ax.axhline(result.at_most, color=INK, lw=1.0, ls=DASHED, zorder=2)
    ax.set_xlim(0.0, 1.02)
    ax.set_ylim(0.0, min(1.02, 1.15 * top))
    name_axes(
        ax,
        x="coverage: proportion of questions answered, most confident first",
        y="proportion of wrong answers among these",
    )
    legend(ax, columns=2)
    return ax


def _mark(ax: "Axes", result: "ConfidenceGate", gate: int, colour: str) -> None:
    """Mark a gate, with a line from its error rate up to the guaranteed bound."""
    x, y, upper = (float(one.flat[gate]) for one in (result.coverage, result.error, result.upper))
    ax.vlines(x, y, upper, color=colour, lw=1.2, zorder=4)
    told = (
        f"{result.name(gate)}: answers {percent(x)} without review, at a confidence of "
        f"{result.threshold.flat[gate]:.4g} or more; {percent(y, 1)} wrong, bound "
        f"{percent(upper, 1)}"
    )
    label = result.labels[gate // len(result.groups)]
    points(ax, [x], [y], colour, size=7.0, texts=[told], models=[label], zorder=5)
