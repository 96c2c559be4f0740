"""Plot of the abilities of respondents with their intervals."""

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from psychollm._base.checks import check_fraction
from psychollm._base.errors import ShapeError
from psychollm._base.numbers import percent
from psychollm.irt.ability import Abilities
from psychollm.plots.canvas import (
    BLUE,
    by_value,
    name_axes,
    name_rows,
    names_width,
    open_axes,
    plain_text,
    points,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NAMES = 60


@plain_text()
def plot_abilities(result: Abilities, *, level: float = 0.95, ax: "Axes | None" = None) -> "Axes":
    """Draw abilities of respondents with intervals, from high to low.

    With at most sixty respondents, each respondent is labelled. ``result.to_frame()`` returns the
    plotted numbers. Respondents without an estimated ability are omitted; their number is printed
    below the axis.

    Parameters
    ----------
    result : Abilities
        Result of `ability`.
    level : float
        Coverage of the normal intervals, between 0 and 1.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Raises
    ------
    OptionError
        If the level is not between 0 and 1.
    ShapeError
        If no respondent has an estimated ability.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from psychollm.irt import ability, fit_irt
    >>> answers = np.random.default_rng(3).random((600, 5)) < [0.2, 0.4, 0.5, 0.6, 0.8]
    >>> found = ability(fit_irt(answers, model="rasch"), answers)
    >>> plot_abilities(found, ax=Figure().subplots()).get_xlabel()
    'ability, 95 % interval'
    """
    reach = float(ndtri(0.5 + 0.5 * check_fraction("level", level))) * result.se
    rows = by_value(-result.ability)[: int(np.isfinite(result.ability).sum())]
    if not rows.size:
        msg = "result: no respondent has an ability: see its `reasons`"
        raise ShapeError(msg)
    named = rows.size <= MOST_NAMES
    labels = [result.labels[row] for row in rows] if named else []
    height = 1.3 + 0.22 * rows.size if named else 5.2
    ax = open_axes(ax, size=(6.0 + names_width(labels), height))
    y, value = np.arange(rows.size), result.ability[rows]
    wide, faint = (1.5, 0.75) if named else (max(0.3, min(1.5, 200.0 / rows.size)), 0.45)
    ends = (value - reach[rows], value + reach[rows])
    ax.hlines(y, *ends, color=BLUE, lw=wide, alpha=faint, rasterized=rows.size > 1000)
    points(ax, value, y, BLUE, size=4.8 if named else 2.2)
    if named:
        name_rows(ax, labels, striped=True)
    else:
        ax.set_ylim(rows.size - 0.5, -0.5)
        ax.set_yticks([])
        name_axes(ax, y=f"{rows.size:,} respondents, high to low")
    left = len(result.labels) - rows.size
    without = f" ({left} without one)" if left else ""
    name_axes(ax, x=f"ability, {percent(level)} interval{without}")
    return ax
