"""Plot of self-efficacy totals by model and condition, compared with human norms."""

from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.numbers import with_interval
from psychollm.plots.canvas import (
    DASHED,
    GRID,
    MARKS,
    MUTED,
    colour_of,
    legend,
    name_axes,
    name_rows,
    names_width,
    open_axes,
    plain_text,
    points,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from psychollm.studies.people.score import PeopleScore
    from psychollm.studies.self_efficacy.study import SelfEfficacyStudy

_REACH = 0.27  # vertical extent of the markers in one row


@plain_text()
def plot_self_efficacy(study: "SelfEfficacyStudy", *, ax: "Axes | None" = None) -> "Axes":
    """Draw the mean total of each model under each condition, with people's totals if available.

    Bars are Student's t intervals over a model's repeated administrations. A mark has no bar if
    the model has one administration or identical repeats. The axis covers the full range of the
    scale. The band extends one SD to either side of people's mean score. ``study.totals`` contains
    the plotted numbers.

    Parameters
    ----------
    study : SelfEfficacyStudy
        Result of `self_efficacy`.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Examples
    --------
    >>> import pandas as pd
    >>> from matplotlib.figure import Figure
    >>> from psychollm.studies.self_efficacy.study import self_efficacy
    >>> rows = pd.DataFrame({"model": list("ab"), "condition": "none", "i1": [1, 4]})
    >>> study = self_efficacy(rows, bootstrap=20, rng=0)
    >>> ax = plot_self_efficacy(study, ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['b', 'a']
    """
    rows = _order(study.totals)
    ax = open_axes(ax, size=_size(rows))
    if study.people is not None:
        _people(ax, list(study.people.parts.values()))
    for series in range(len(study.conditions)):
        _series(ax, study, rows, series)
    low, high = study.n_items * study.low, study.n_items * study.high
    margin = 0.02 * (high - low)
    ax.set_xlim(low - margin, high + margin)
    name_rows(ax, rows, striped=True)
    name_axes(ax, x=f"total, {low} to {high}")
    # With one column per condition, all conditions fit into one line.
    legend(ax, columns=min(len(ax.get_legend_handles_labels()[0]), 5))
    return ax


def _size(rows: list[Any]) -> tuple[float, float]:
    return round(6.8 + names_width(rows), 2), min(1.5 + 0.34 * len(rows), 24.0)


def _order(totals: "pd.DataFrame") -> list[Any]:
    """Return the models in descending order of their total; models without a total are last."""
    means = totals.groupby("model", sort=False)["mean"].mean()
    return list(means.sort_values(ascending=False, kind="stable", na_position="last").index)


def _series(ax: "Axes", study: "SelfEfficacyStudy", rows: list[Any], series: int) -> None:
    """Draw the totals of all models under one condition."""
    k, condition = len(study.conditions), study.conditions[series]
    own = study.totals[study.totals["condition"] == condition].set_index("model").reindex(rows)
    y = np.arange(len(rows)) + (np.linspace(-_REACH, _REACH, k)[series] if k > 1 else 0.0)
    colour = colour_of(series)
    least, most = study.n_items * study.low, study.n_items * study.high
    lower, upper = (own[name].to_numpy(dtype=np.float64) for name in ("lower", "upper"))
    lower, upper = np.clip([lower, upper], least, most)
    ax.hlines(y, lower, upper, color=colour, lw=1.4, alpha=0.75, zorder=2)
    marker, mean = MARKS[series % len(MARKS)], own["mean"].to_numpy(dtype=np.float64)
    told = [
        f"{label}, {condition}: {with_interval(value, (low, high), 1)}"
        for label, value, low, high in zip(rows, mean, lower, upper, strict=True)
    ]
    look: dict[str, Any] = {"marker": marker, "size": 4.8, "label": str(condition)}
    points(ax, mean, y, colour, texts=told, models=rows, **look)


def _people(ax: "Axes", parts: "list[PeopleScore]") -> None:
    """Draw the band of people's scores if the scores are the same for all conditions."""
    means = {float(one.baseline.value[0]) for one in parts}
    if len(means) == 1:
        mean, sd = means.pop(), parts[0].sd
        name = f"people, {mean:.3g} ± {sd:.2g}"
        ax.axvspan(mean - sd, mean + sd, color=GRID, lw=0, zorder=0.5)
        ax.axvline(mean, color=MUTED, lw=1.1, ls=DASHED, zorder=1, label=name)
