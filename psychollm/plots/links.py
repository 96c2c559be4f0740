"""Plots of questionnaire scale totals against performance, with one panel per condition."""

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.numbers import number, p_equals, typeset, with_interval
from psychollm._base.types import FloatArray
from psychollm.plots.canvas import BLUE, plain_text, points
from psychollm.plots.labels import label_points
from psychollm.plots.small_multiples import draw_panels, panel_title, say

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from psychollm.studies.self_efficacy.links import EfficacyLink

LINK_PANEL = (2.7, 2.7)  # size in inches
_NAMED = 12  # largest number of labelled models


@plain_text()
def plot_links(
    links: "Mapping[Hashable, EfficacyLink]",
    *,
    columns: int = 4,
    figure: "Figure | None" = None,
) -> "Figure":
    """Draw scale totals against another variable, with one panel per condition.

    Each point is a model.

    Parameters
    ----------
    links : mapping of condition to EfficacyLink
        Attribute ``performance`` or an entry of the attribute ``links`` of a `self_efficacy`
        result.
    columns : int
        Number of panels per row.
    figure : Figure, optional
        Empty figure to draw on; by default, a new figure is created.

    Raises
    ------
    OptionError
        If `columns` is not a positive whole number.

    Examples
    --------
    >>> import pandas as pd
    >>> from matplotlib.figure import Figure
    >>> from psychollm.studies.self_efficacy.study import self_efficacy
    >>> rows = pd.DataFrame({"model": list("abcd"), "condition": "none", "i1": [1, 2, 3, 4]})
    >>> nll = {"perplexity": {"a": 2.0, "b": 2.5, "c": 1.5, "d": 1.0}}
    >>> study = self_efficacy(rows, measures=nll, bootstrap=20, rng=0)
    >>> len(plot_links(study.links["perplexity"], figure=Figure()).axes)
    1
    """
    shown = list(links.items())

    def draw(ax: "Axes", panel: int) -> None:
        condition, one = shown[panel]
        panel_title(ax, condition, (_line(one),))
        if not len(one.labels):
            say(ax, "no model has both", (0.5, 0.5))
            return
        told = [
            f"{label}: {one.measure} {number(across)}, total {number(up, 1)}"
            for label, across, up in zip(one.labels, one.other, one.totals, strict=True)
        ]
        look: dict[str, Any] = {"texts": told, "models": one.labels}
        points(ax, one.other, one.totals, BLUE, gid=f"models {condition}", **look)

    measure = shown[0][1].measure if shown else "other"
    figure = draw_panels(
        draw,
        len(shown),
        columns=columns,
        panel=LINK_PANEL,
        names=(measure, "total on the scale"),
        figure=figure,
    )
    of_all = [one for _, one in shown if len(one.labels)]
    if of_all:  # all panels share scales, so only outer panels have tick labels
        across, up = (
            _limits(np.concatenate(values))
            for values in ([one.other for one in of_all], [one.totals for one in of_all])
        )
        for ax in figure.axes:
            ax.set(xlim=across, ylim=up)
        if len(alike := np.unique(np.concatenate([one.other for one in of_all]))) == 1:
            for ax in figure.axes:  # inner panels keep ticks without labels
                ax.set_xticks(alike)
    for ax, (_, one) in zip(figure.axes, shown, strict=True):
        if len(one.labels) <= _NAMED:
            label_points(ax, one.other, one.totals, one.labels, size=6.5)
    return figure


def _limits(values: FloatArray) -> tuple[float, float]:
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    room = 0.18 * (high - low) or 0.5
    return low - room, high + room


def _line(one: "EfficacyLink") -> str:
    if not np.isfinite(one.value):
        return str(one.flag)
    text = with_interval(one.value, one.interval, signed=True)
    return typeset(f"rank correlation {text}, {p_equals(one.p_value)}")
