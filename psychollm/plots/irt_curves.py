"""Plots of item characteristics, information and standard error over ability."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from psychollm._base.checks import check_choice
from psychollm._base.errors import ShapeError
from psychollm._base.names import shortened
from psychollm._base.types import FloatArray, IntArray
from psychollm.data.labels import positions
from psychollm.irt.information import Information, information
from psychollm.irt.result import IRTFit
from psychollm.plots.canvas import (
    BLUE,
    DEEP_ORANGE,
    GREY,
    INK,
    RULE,
    TICK_SIZE,
    colour_of,
    legend,
    name_axes,
    open_axes,
    plain_text,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Curve: TypeAlias = Literal["probability", "information"]
MOST_COLOURS = 8
_REACH = 4.0
_LONGEST = 18  # largest number of characters of a label


@plain_text()
def plot_item_curves(
    fit: IRTFit,
    *,
    what: Curve = "probability",
    items: Sequence[Any] | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw characteristic or information curves of items over ability.

    Selected items are coloured, and the others are grey. By default, up to eight items are
    coloured, chosen to span the range of slopes. `information` returns the plotted
    numbers.

    Parameters
    ----------
    fit : IRTFit
        Result of `fit_irt`.
    what : {"probability", "information"}
        Result that contains item characteristic curves or item information curves.
    items : sequence of labels, optional
        Items to colour and label.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Raises
    ------
    LabelError
        If an item is not in the fit.
    ShapeError
        If no item could be fitted.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from psychollm.irt.fit import fit_irt
    >>> answers = np.random.default_rng(3).random((600, 5)) < [0.2, 0.4, 0.5, 0.6, 0.8]
    >>> ax = plot_item_curves(fit_irt(answers, model="rasch"), ax=Figure().subplots())
    >>> ax.get_ylabel()
    'probability of yes'
    """
    check_choice("what", what, Curve)
    at = _curves(fit)
    table = at.probability if what == "probability" else at.item
    chosen = _coloured(fit, items)
    ax = open_axes(ax, size=(6.6, 4.4))
    colours = {int(row): colour_of(k) for k, row in enumerate(chosen)}
    _draw(ax, at.abilities, table, colours)
    ax.set_xlim(at.abilities[0], at.abilities[-1])
    ax.set_ylim(0.0, 1.0 if what == "probability" else 1.06 * float(np.nanmax(table)))
    if what == "probability":
        ax.axhline(0.5, color=RULE, lw=0.8, zorder=0)
    words = {"probability": "probability of yes", "information": "information"}
    if fit.n_categories > 2 and what == "probability":
        words["probability"] = "expected answer, proportion of the maximum"
    name_axes(ax, x="ability", y=words[what])
    for row, colour in colours.items():
        ax.plot([], [], color=colour, lw=1.9, label=shortened(fit.labels[row], _LONGEST))
    legend(ax, columns=4)
    return ax


@plain_text()
def plot_test_information(
    fit: IRTFit, *, abilities: FloatArray | None = None, ax: "Axes | None" = None
) -> "Axes":
    """Draw the test information and the standard error of ability.

    Parameters
    ----------
    fit : IRTFit
        Result of `fit_irt`.
    abilities : ndarray of shape (respondents,), optional
        Estimated abilities of respondents, drawn as ticks along the axis.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Raises
    ------
    ShapeError
        If no item could be fitted.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from psychollm.irt.fit import fit_irt
    >>> answers = np.random.default_rng(3).random((600, 5)) < [0.2, 0.4, 0.5, 0.6, 0.8]
    >>> ax = plot_test_information(fit_irt(answers, model="rasch"), ax=Figure().subplots())
    >>> ax.get_xlabel()
    'ability'
    """
    at = _curves(fit)
    ax = open_axes(ax, size=(6.4, 4.0))
    ax.fill_between(at.abilities, at.test, color=BLUE, alpha=0.15, lw=0)
    ax.plot(at.abilities, at.test, color=BLUE, lw=2.0, label="information (left)")
    ax.set_ylim(0.0, 1.12 * float(at.test.max()))
    ax.set_xlim(at.abilities[0], at.abilities[-1])
    right = ax.twinx()
    right.spines["top"].set_visible(False)
    for side in ("left", "right", "bottom"):
        right.spines[side].set_color(RULE)
    right.tick_params(labelsize=TICK_SIZE, labelcolor=DEEP_ORANGE, color=RULE)
    top = float(np.quantile(at.se[np.isfinite(at.se)], 0.9)) * 1.15
    right.plot(
        at.abilities, np.where(at.se <= top, at.se, np.nan), color=DEEP_ORANGE, lw=1.6, ls="--"
    )
    right.set_ylim(0.0, top)
    right.set_ylabel("standard error of ability", color=DEEP_ORANGE, fontsize=TICK_SIZE + 1.0)
    ax.plot([], [], color=DEEP_ORANGE, lw=1.6, ls="--", label="standard error (right)")
    if abilities is not None:
        known = np.asarray(abilities)[np.isfinite(abilities)]
        ax.vlines(known, 0.0, 0.035 * ax.get_ylim()[1], color=INK, lw=0.8, label="respondents")
    name_axes(ax, x="ability", y="information of the test")
    legend(ax, columns=3)
    return ax


def _curves(fit: IRTFit) -> Information:
    """Return the curves over a range of abilities that contains most item difficulties."""
    if not fit.fitted.any():
        msg = "fit: no item could be fitted, so there are no curves: see its `reasons`"
        raise ShapeError(msg)
    return information(fit, abilities=fit.ability_sd * np.linspace(-_REACH, _REACH, 241))


def _coloured(fit: IRTFit, items: Sequence[Any] | None) -> IntArray:
    """Return the rows of the items to colour."""
    fitted = np.flatnonzero(fit.fitted)
    if items is None:
        if fitted.size <= MOST_COLOURS:
            return fitted
        order = fitted[np.argsort(fit.slope[fitted], kind="stable")]
        return order[np.linspace(0, order.size - 1, MOST_COLOURS).round().astype(np.int64)]
    return positions("item", fit.labels, items)


def _draw(
    ax: "Axes", abilities: FloatArray, table: FloatArray, colours: Mapping[int, str]
) -> None:
    """Draw grey curves below coloured curves."""
    quiet = [j for j in np.flatnonzero(np.isfinite(table).all(axis=1)) if int(j) not in colours]
    if quiet:
        ax.plot(
            abilities,
            table[quiet].T,
            color=GREY,
            lw=0.8,
            alpha=max(0.08, min(0.6, 30.0 / len(quiet))),
            zorder=1,
            rasterized=len(quiet) > 200,
        )
    for row, colour in colours.items():
        ax.plot(abilities, table[row], color=colour, lw=1.9, zorder=3, gid=f"item {row}")
