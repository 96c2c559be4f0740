"""Plot of benchmark and generalised accuracy of each model, with rank intervals."""

from typing import TYPE_CHECKING

from psychollm._base.numbers import percent, with_interval
from psychollm.plots.canvas import (
    MUTED,
    STRIPE,
    TICK_SIZE,
    colour_of,
    ink_on,
    name_axes,
    name_rows,
    open_axes,
    plain_text,
    points,
    ranked_size,
    write,
)
from psychollm.plots.marks import keep_box, keep_row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psychollm.estimates.estimate import Estimate
    from psychollm.studies.evaluation_card.study import EvaluationCard

_ROOM = 0.06  # smallest proportion that is printed in its bar


@plain_text()
def plot_evaluation_card(result: "EvaluationCard", *, ax: "Axes | None" = None) -> "Axes":
    """Draw each model's accuracies and the interval of its rank, with the best model on top.

    The thick line is the interval of benchmark accuracy, that is, accuracy on the questions in the
    data. The thin line is the interval of generalised accuracy, that is, accuracy in the question
    population. Models of the same tier have the same colour.

    Parameters
    ----------
    result : EvaluationCard
        Result of `psychollm.evaluation_card`.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from psychollm.studies.evaluation_card.study import evaluation_card
    >>> right = np.random.default_rng(1).random((3, 400)) < [[0.8], [0.6], [0.58]]
    >>> card = evaluation_card(right.astype(int), rng=1)
    >>> ax = plot_evaluation_card(card, ax=Figure().subplots())
    >>> [text.get_text() for text in ax.texts]
    ['rank', '1', '2–3', '2–3']
    """
    ax = open_axes(ax, size=ranked_size(result.labels))
    name_rows(ax, result.labels, size=TICK_SIZE - 0.5)
    tiers = result.comparison.tier.tolist()
    for row, tier in enumerate(tiers):
        if tier % 2:
            ax.axhspan(row - 0.5, row + 0.5, color=STRIPE, lw=0, zorder=0)
    for estimate, width, shade in ((result.generalised, 1.3, 0.8), (result.benchmark, 4.5, 0.45)):
        lower, upper = estimate.interval.T
        for row, tier in enumerate(tiers):
            colour = colour_of((tier - 1) % 8) if tier else MUTED
            ax.hlines(row, lower[row], upper[row], color=colour, lw=width, alpha=shade, zorder=2)
    for row, tier in enumerate(tiers):
        colour = colour_of((tier - 1) % 8) if tier else MUTED
        points(ax, [result.generalised.value[row]], [row], colour)
        keep_row(ax, row, _told(result, row), result.labels[row])
    at = ax.get_yaxis_transform()
    write(ax, 1.02, -0.85, "rank", transform=at, colour=MUTED)
    for row in range(len(tiers)):
        write(ax, 1.02, row, result.rank_text(row).replace(" to ", "–"), transform=at)
    name_axes(ax, x=f"accuracy, {percent(result.level)} intervals: thick these questions, thin "
              "the question population")  # fmt: skip
    return ax


def _told(result: "EvaluationCard", row: int) -> str:
    these, like = (one.text(row, 3) for one in (result.benchmark, result.generalised))
    return f"{result.labels[row]}: these questions {these}; question population {like}"


@plain_text()
def draw_shares(share: "Estimate", *, words: dict[str, str], ax: "Axes | None" = None) -> "Axes":
    """Plot proportions of variance as one bar with a legend below."""
    ax = open_axes(ax, size=(7.4, 0.75 + 0.22 * -(-len(share.labels) // 3)))
    left = 0.0
    for row, label in enumerate(share.labels):
        width, colour = float(share.value[row]), colour_of(row % 8)
        ax.barh(0, width, left=left, height=0.9, color=colour, alpha=0.85, label=words[label])
        told = with_interval(100.0 * width, 100.0 * share.interval[row], 1)
        keep_box(ax, (left, left + width), (-0.45, 0.45), f"{words[label]}: {told} %")
        if width >= _ROOM:
            text, ink = percent(width), ink_on(colour)
            write(ax, left + 0.5 * width, 0.5, text, "center center", size=TICK_SIZE, colour=ink)
        left += width
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(0.5, -0.5)
    ax.set_axis_off()
    ax.legend(
        loc="upper left", bbox_to_anchor=(-0.01, -0.05), ncols=3, frameon=False,
        fontsize=TICK_SIZE, handlelength=0.8, handleheight=0.8, borderaxespad=0.2,
    )  # fmt: skip
    return ax
