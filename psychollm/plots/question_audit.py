"""Plot of suspicious questions by their position in the table."""

from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.numbers import number
from psychollm.plots.canvas import (
    BLUE,
    DEEP_ORANGE,
    MUTED,
    STRIPE,
    name_axes,
    open_axes,
    plain_text,
    points,
    write,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psychollm.studies.question_audit.study import QuestionAudit

_LEAST = 0.05  # questions with a lower probability of a fault are not drawn
_PARTED = 100  # number of groups above which no backgrounds are drawn


@plain_text()
def plot_question_audit(result: "QuestionAudit", *, ax: "Axes | None" = None) -> "Axes":
    """Draw each suspicious question's probability of a fault, in the order of the table.

    Filled marks are questions whose most likely fault is a wrong key. Grey backgrounds separate
    groups of questions. Coloured backgrounds mark runs of miskeyed items; each run is labelled
    with its first item.

    Parameters
    ----------
    result : QuestionAudit
        Result of `psychollm.question_audit`.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from psychollm.studies.question_audit.study import question_audit
    >>> chosen = np.array([list("AAAA"), list("BBBB"), list("CCCC"), list("AABA")])
    >>> audit = question_audit(chosen, list("ABDA"), rng=1)
    >>> ax = plot_question_audit(audit, ax=Figure().subplots())
    >>> ax.get_ylabel()
    'probability of any fault'
    """
    ax = open_axes(ax, size=(7.6, 3.6))
    _groups(ax, result)
    chance = np.nan_to_num(result.p_flawed)
    drawn = chance >= _LEAST
    keys = drawn & (np.nan_to_num(result.p_wrong_key) > 0.5 * chance)
    for which, colour, hollow, label in (
        (keys, DEEP_ORANGE, False, "wrong key most likely"),
        (drawn & ~keys, BLUE, True, "another fault"),
    ):
        places = np.flatnonzero(which)
        told = [
            f"{result.labels[q]}: any fault {number(chance[q])}, "
            f"wrong key {number(result.p_wrong_key[q])}"
            for q in places
        ]
        look: dict[str, Any] = {"hollow": hollow, "size": 4.0, "label": label}
        points(ax, places, chance[places], colour, texts=told, **look)
    for first, last in result.stretches():
        ax.axvspan(first - 0.5, last + 0.5, color=DEEP_ORANGE, alpha=0.2, lw=0, zorder=1)
        place = last + 0.01 * len(chance)
        write(ax, place, 1.0, str(result.labels[first]), colour=MUTED, transform=ax.transData)
    ax.set_ylim(0.0, 1.08)
    ax.set_xlim(-0.5, len(result.labels) - 0.5)
    if drawn.any():
        ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, frameon=False, fontsize=8)
    name_axes(ax, x="position of the question in the table", y="probability of any fault")
    return ax


def _groups(ax: "Axes", result: "QuestionAudit") -> None:
    """Draw backgrounds that separate groups of adjacent questions."""
    codes = np.unique(np.array(list(map(str, result.group))), return_inverse=True)[1]
    edges = np.flatnonzero(np.diff(codes)) + 1
    starts, ends = np.r_[0, edges], np.r_[edges, len(codes)]
    if len(starts) <= _PARTED:
        for a, b in zip(starts[1::2], ends[1::2], strict=True):
            ax.axvspan(a - 0.5, b - 0.5, color=STRIPE, lw=0, zorder=0)
