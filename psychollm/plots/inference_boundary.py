"""Plots of pass rates by type of question, and of kinds of failures."""

from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.errors import LabelError
from psychollm._base.numbers import percent
from psychollm.plots.canvas import (
    MUTED,
    TICK_SIZE,
    by_value,
    colour_of,
    legend,
    name_axes,
    name_rows,
    names_width,
    open_axes,
    plain_text,
    write,
)
from psychollm.plots.forest import plot_forest
from psychollm.plots.marks import keep_box

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psychollm.studies.inference_boundary.study import InferenceBoundary


@plain_text()
def plot_boundary_rates(study: "InferenceBoundary", *, ax: "Axes | None" = None) -> "Axes":
    """Draw each model's pass rate by type of question, with intervals.

    Models are sorted by certainty inversion (the difference between the pass rates of two types of
    questions), with the largest inversion on top. Names of models with a significant inversion are
    bold. ``study.to_frame()`` returns the plotted numbers.

    Parameters
    ----------
    study : InferenceBoundary
        Result of `inference_boundary`.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Examples
    --------
    >>> import pandas as pd
    >>> from matplotlib.figure import Figure
    >>> from psychollm.studies.inference_boundary.study import inference_boundary
    >>> table = pd.DataFrame({"model": "m", "type": ["A", "C"] * 10, "item": range(20),
    ...                       "run": 1, "response": "", "score": [1, 1, 0, 1] * 5})
    >>> study = inference_boundary(table, bootstrap=200, rng=0)
    >>> plot_boundary_rates(study, ax=Figure().subplots()).get_xlabel()
    'proportion of answers that pass'
    """
    rates = [profile.retest.rate for profile in study.profiles.values()]
    inversion = study.certainty_inversion.value
    if ax is None:
        height = min(1.4 + 0.42 * len(study.labels), 24.0)
        ax = open_axes(None, size=(_width(study), height))
    ax = plot_forest(
        rates,
        names=[_name(study, kind) for kind in study.profiles],
        order=by_value(-inversion),
        strong=[label in study.inverted for label in study.labels],
        x="proportion of answers that pass",
        ax=ax,
    )
    ax.set_xlim(-0.02, 1.02)
    return ax


@plain_text()
def plot_failures(
    study: "InferenceBoundary", *, kind: Hashable | None = None, ax: "Axes | None" = None
) -> "Axes":
    """Draw the proportion of each kind of failed response for every model.

    The number of failed answers is printed next to each bar. Each kind of response has the same
    colour for all types of questions.

    Parameters
    ----------
    study : InferenceBoundary
        Result of `inference_boundary`.
    kind : hashable, optional
        Type of question, by default questions about an event that no rule covers.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Raises
    ------
    LabelError
        If the type of question does not exist, or if none of its answers failed.

    Examples
    --------
    >>> import pandas as pd
    >>> from matplotlib.figure import Figure
    >>> from psychollm.studies.inference_boundary.study import inference_boundary
    >>> table = pd.DataFrame({"model": "m", "type": ["A", "C"] * 10, "item": range(20), "run": 1,
    ...                       "response": ["x", "gap", "x", "misread"] * 5,
    ...                       "score": [1, 1, 0, 0] * 5})
    >>> study = inference_boundary(table, bootstrap=200, rng=0)
    >>> len(plot_failures(study, ax=Figure().subplots()).patches)
    1
    """
    kind = study.interaction if kind is None else kind
    if kind not in study.profiles:
        msg = f"kind={kind!r} is not a type of the study: use one of {list(study.profiles)}"
        raise LabelError(msg)
    shares = study.profiles[kind].failures
    if shares is None:
        msg = f"no answer to questions of type {kind!r} failed: nothing to draw"
        raise LabelError(msg)
    every = [profile.failures for profile in study.profiles.values()]
    known = dict.fromkeys(one for failed in every if failed for one in failed.categories)
    colours = {response: colour_of(k) for k, response in enumerate(known)}
    ax = open_axes(ax, size=(_width(study), 1.3 + 0.26 * len(study.labels)))
    y, left = np.arange(len(shares.labels)), np.zeros(len(shares.labels))
    for k, response in enumerate(shares.categories):
        width = np.nan_to_num(shares.value[:, k])
        ax.barh(y, width, left=left, color=colours[response], label=str(response), height=0.7)
        for row in np.flatnonzero(width):
            ends, label = (float(left[row]), float(left[row] + width[row])), shares.labels[row]
            part = f"{shares.count[row, k]:.0f} of {shares.n[row]:.0f}"
            text = f"{label}: {response} {percent(width[row], 1)} ({part} failed answers)"
            keep_box(ax, ends, (row - 0.35, row + 0.35), text, label)
        left += width
    for row in np.flatnonzero(left == 0.0):
        write(
            ax,
            0.01,
            float(row),
            "none failed",
            "left center",
            colour=MUTED,
            transform=ax.transData,
        )
    for row in np.flatnonzero(left > 0.0):
        n = f"{shares.n[row]:.0f}"
        write(ax, 1.01, float(row), n, "left center", colour=MUTED, transform=ax.transData)
    name_rows(ax, shares.labels, size=TICK_SIZE - 0.5)
    ax.set_xlim(0, 1)
    name_axes(ax, x=f"proportion of failed answers, {_name(study, kind)}")
    legend(ax, columns=min(len(shares.categories), 3))
    return ax


def _width(study: "InferenceBoundary") -> float:
    return round(6.8 + names_width(study.labels), 2)


def _name(study: "InferenceBoundary", kind: Hashable) -> str:
    """Return the description of a type of question."""
    words = {
        study.answerable: "with an answer",
        study.lexical: "undefined word",
        study.interaction: "no covering rule",
        study.control: "words exchanged",
    }
    return f"{kind}: {words[kind]}" if kind in words else str(kind)
