"""A number beside its distribution under a null hypothesis."""

from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.errors import ShapeError
from psychollm._base.numbers import p_equals
from psychollm.plots.canvas import legend, name_axes, open_axes, plain_text
from psychollm.plots.palette import GREY, INK
from psychollm.plots.scree import NULL_COLOURS, NULL_NAMES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psychollm.estimates.null import Null


@plain_text()
def plot_null(
    null: "Null", *, entry: int = 0, name: str | None = None, ax: "Axes | None" = None
) -> "Axes":
    """Draw the replicates of one number as a histogram with the observed value.

    Parameters
    ----------
    null : Null
        What `permutation_null` or `one_factor_null` returns.
    entry : int
        Which entry of the statistic, counted from 0.
    name : str, optional
        What the number is called; the name of the statistic by default.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Raises
    ------
    ShapeError
        If the statistic has no such entry.

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
