"""Plot of models' scores, with a band for human scores."""

from typing import TYPE_CHECKING

import numpy as np

from psychollm.plots.canvas import DASHED, GRID, MUTED, RULE, legend, plain_text
from psychollm.plots.forest import plot_forest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psychollm.studies.people.score import PeopleScore


@plain_text()
def plot_people(part: "PeopleScore", *, name: str = "score", ax: "Axes | None" = None) -> "Axes":
    """Draw the score of each model and the distribution of people's scores.

    The line and the dark band show people's mean score and its interval. The light band extends
    from one SD of people's scores below the mean to one SD above. Each tick at the bottom is one
    person's score.

    Parameters
    ----------
    part : PeopleScore
        Comparison of one score, from the result of `beside_people`.
    name : str
        Name of the score.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from psychollm.studies.people.table import beside_people
    >>> people = np.random.default_rng(1).random((12, 40)) < 0.6
    >>> found = beside_people(np.ones((1, 40)), people.astype(int))
    >>> ax = plot_people(found.parts["score"], ax=Figure().subplots())
    >>> ax.get_legend_handles_labels()[1][-1]
    '12 people, 0.61'
    """
    ax = plot_forest(part.score, x=name, digits=part.digits, ax=ax)
    mean, (low, high) = float(part.baseline.value[0]), part.baseline.interval[0]
    if np.isfinite(part.sd):
        ends = np.array([mean - part.sd, mean + part.sd])
        ax.axvspan(
            *(np.clip(ends, 0.0, 1.0) if part.shares else ends), color=GRID, lw=0, zorder=0.4
        )
    if np.isfinite(low + high):
        ax.axvspan(low, high, color=RULE, lw=0, zorder=0.5)
    label = f"{part.people.size} people, {mean:.{part.digits}f}"
    ax.axvline(mean, color=MUTED, lw=1.1, ls=DASHED, zorder=1, label=label)
    ticks = ax.get_xaxis_transform()
    ax.vlines(part.people, 0.0, 0.025, color=MUTED, lw=0.8, alpha=0.7, transform=ticks, zorder=3)
    legend(ax)
    return ax
