"""Plot of several calibration metrics with one row per model."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.calibration.panels.catalogue import MAIN, rank_order
from psychollm.plots.canvas import names_width, open_figure, plain_text
from psychollm.plots.forest import plot_forest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from psychollm.calibration.panels.panel import CalibrationPanel

_WIDTH, _NAMES = 1.75, 1.6  # inches
_LONGEST = 32  # number of characters of a reason that are shown in a row


@plain_text()
def plot_calibration_panel(
    panel: "CalibrationPanel",
    *,
    metrics: Sequence[str] | None = None,
    order: FloatArray | None = None,
    figure: "Figure | None" = None,
) -> "Figure":
    """Draw estimates with intervals, with one panel per metric and one row per model.

    In each panel, a dashed line marks the value for uninformative or for perfectly calibrated
    confidence, depending on the metric. ``panel.to_frame()`` returns the plotted numbers.

    Parameters
    ----------
    panel : CalibrationPanel
        Result of `calibration_panel`.
    metrics : sequence of str, optional
        Keys of the metrics, by default the main metrics.
    order : array (models,), optional
        Values by which models are sorted, with the lowest on top. By default, models are sorted by
        the last metric, with the best on top.
    figure : Figure, optional
        Empty figure to draw on; by default, a new figure is created.

    Raises
    ------
    OptionError
        If a metric is not in the panel.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from psychollm.calibration.panels.panel import calibration_panel
    >>> panel = calibration_panel([[0.9, 0.2, 0.7]], [[1, 0, 1]], metrics=["brier", "auroc"],
    ...                           bootstrap=20, rng=0)
    >>> [ax.get_xlabel() for ax in plot_calibration_panel(panel, figure=Figure()).axes]
    ['AUROC', 'Brier score']
    """
    keys = _shown(panel) if metrics is None else list(metrics)
    estimates = [panel[key] for key in keys]
    rows = (
        rank_order(panel.outputs[keys[-1]], estimates[-1])
        if order is None
        else np.argsort(order, kind="stable")
    )
    figure = open_figure(figure, size=panel_size(panel.models, len(keys)))
    axes = figure.subplots(1, len(keys), squeeze=False)[0]
    for column, (ax, key, estimate) in enumerate(zip(axes, keys, estimates, strict=True)):
        output = panel.outputs[key]
        plot_forest(
            estimate,
            names=[output.heading],
            reference=output.neutral,
            order=rows,
            x=output.heading,
            digits=output.digits,
            ax=ax,
        )
        for text in ax.texts:
            text.set_text(textwrap.shorten(text.get_text(), _LONGEST, placeholder="…"))
        if column:
            ax.set_yticklabels([])
    return figure


def panel_size(models: Sequence[Any], metrics: int) -> tuple[float, float]:
    """Return width and height in inches."""
    return (
        round(_NAMES + names_width(models) + _WIDTH * metrics, 2),
        round(0.9 + 0.22 * len(models), 2),
    )


def _shown(panel: "CalibrationPanel") -> list[str]:
    return [key for key in MAIN if key in panel.estimates] or list(panel)[: len(MAIN)]
