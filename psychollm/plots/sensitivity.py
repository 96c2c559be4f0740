"""What the empty-cell rule does to the spectrum."""

from typing import TYPE_CHECKING

import numpy as np

from psychollm.plots.canvas import TEXT_SIZE, legend, name_axes, open_axes, plain_text
from psychollm.plots.palette import BLUE, DEEP_ORANGE, GREY, INK, MUTED, PURPLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psychollm.correlation.sensitivity import Sensitivity

_WHICH = ((0, "first", BLUE), (1, "second", DEEP_ORANGE), (2, "third", PURPLE), (-1, "last", GREY))


@plain_text()
def plot_sensitivity(result: "Sensitivity", *, ax: "Axes | None" = None) -> "Axes":
    """Draw shares of the eigenvalues under each empty-cell rule.

    A share that moves from row to row is a property of the rule, not of the models. Points left
    of zero are eigenvalues that no correlation matrix has. The numbers are ``result.shares``.

    Parameters
    ----------
    result : Sensitivity
        What ``Correlation.sensitivity()`` returns.
    ax : Axes, optional
        Where to draw; a new figure by default.

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
        ax.plot(share, rows, "o", ms=6, color=colour, mec="white", label=name, zorder=3)
    for row, shares in zip(rows, result.shares, strict=True):
        for which in range(min(2, k)):
            ax.annotate(
                f"{100 * shares[which]:.0f} %",
                (shares[which], row),
                xytext=(0, 6),
                textcoords="offset points",
                ha="center",
                fontsize=TEXT_SIZE - 1.5,
                color=MUTED,
            )
    ax.axvline(0.0, color=INK, lw=0.9)
    used = [f"{rule} (used)" if rule == result.chosen else rule for rule in result.rules]
    ax.set_yticks(rows, used, color=INK)
    ax.set_ylim(rows.size - 0.6, -0.6)
    ax.grid(visible=False, axis="y")
    pairs = len(result.labels) * (len(result.labels) - 1) // 2
    name_axes(ax, x=f"eigenvalue / models   ({result.n_empty} of {pairs} pairs: empty cell)")
    legend(ax, columns=4)
    return ax
