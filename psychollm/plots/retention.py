"""Numbers of factors, by every rule."""

from typing import TYPE_CHECKING

import numpy as np

from psychollm.factor.number_of_factors.retention import Retention
from psychollm.plots.canvas import TICK_SIZE, name_axes, open_axes, plain_text
from psychollm.plots.palette import BLUE, INK, RULE

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@plain_text()
def plot_retention(found: Retention, *, ax: "Axes | None" = None) -> "Axes":
    """Draw how many factors each rule counts; what most rules agree on is shaded.

    The eigenvalues behind the rules are drawn by ``plot_scree(found.parallel)``. The numbers are
    those of ``found.to_frame()``.

    Parameters
    ----------
    found : Retention
        What `retention` returns.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Examples
    --------
    >>> import psychollm as psy
    >>> from matplotlib.figure import Figure
    >>> answers = psy.load_example("shared_confidence").confidence
    >>> found = psy.retention(answers.codes[:8, :400], n_null=20, rng=1)
    >>> plot_retention(found, ax=Figure().subplots()).get_xlabel()
    'factors'
    """
    rules, counts = list(found.counts), np.array(list(found.counts.values()))
    ax = open_axes(ax, size=(6.0, 1.0 + 0.3 * len(rules)))
    values, votes = np.unique(counts, return_counts=True)
    for usual in values[votes == votes.max()]:
        ax.axvspan(usual - 0.4, usual + 0.4, color=BLUE, alpha=0.12, lw=0, zorder=0)
    rows = np.arange(len(rules))
    ax.hlines(rows, 0, counts, color=RULE, lw=1.4, zorder=1)
    ax.plot(counts, rows, ls="", marker="o", ms=7.0, color=BLUE, mec="white", zorder=2)
    for row, count in zip(rows, counts, strict=True):
        ax.annotate(
            f"{count}",
            (float(count), float(row)),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            fontsize=TICK_SIZE,
            color=INK,
        )
    ax.set_yticks(rows, rules, fontsize=TICK_SIZE, color=INK)
    ax.set_ylim(len(rules) - 0.5, -0.5)
    ax.set_xlim(0, counts.max() + 0.8)
    ax.set_xticks(np.arange(0, counts.max() + 1, max(1, counts.max() // 10)))
    ax.grid(visible=False, axis="y")
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    name_axes(ax, x="factors")
    return ax
