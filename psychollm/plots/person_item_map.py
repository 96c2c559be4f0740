"""Wright map of respondents and items on a common ability scale."""

from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.errors import OptionError, ShapeError
from psychollm._base.names import shortened
from psychollm._base.types import FloatArray
from psychollm.irt.ability import Abilities
from psychollm.irt.bayes.result import BayesianIRT
from psychollm.irt.result import IRTFit
from psychollm.irt.thresholds import thresholds
from psychollm.plots.canvas import (
    BLUE,
    DEEP_ORANGE,
    INK,
    MUTED,
    QUIET,
    RULE,
    TEXT_SIZE,
    name_axes,
    note,
    open_axes,
    plain_text,
    points,
    write,
)
from psychollm.plots.labels import spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NAMES = 40  # labels per side; more units are drawn as a histogram
_LONGEST = 22  # largest number of characters of a label
_BINS = 32
_GAP = 0.032  # minimum distance between labels, as a proportion of the height


@plain_text()
def plot_wright_map(
    fit: IRTFit | BayesianIRT,
    abilities: Abilities | None = None,
    *,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw a Wright map, with respondents on the left and items on the right of an ability axis.

    An item is drawn at the ability at which a correct answer has a probability of one half. Graded
    items have one position per step. Up to forty respondents or items are labelled, with standard
    errors as bars; larger numbers are drawn as a histogram. Arrows mark items outside the axis.

    Parameters
    ----------
    fit : IRTFit or BayesianIRT
        Fitted items.
    abilities : Abilities, optional
        Result of `ability`; not needed for a Bayesian fit.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Raises
    ------
    OptionError
        If abilities are missing and the fit does not contain them.
    ShapeError
        If no respondent has an estimated ability.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from psychollm.irt.fit import fit_irt
    >>> from psychollm.irt.ability import ability
    >>> answers = np.random.default_rng(3).random((600, 5)) < [0.2, 0.4, 0.5, 0.6, 0.8]
    >>> fit = fit_irt(answers, model="rasch")
    >>> plot_wright_map(fit, ability(fit, answers), ax=Figure().subplots()).get_ylabel()
    'ability, difficulty'
    """
    left = _people(fit, abilities)
    right = _items(fit)
    ax = open_axes(ax, size=(7.0, 6.2))
    low, high = _range(left[0], right[0])
    ax.set_ylim(low, high)
    ax.set_xlim(-1.0, 1.0)
    ax.axvline(0.0, color=INK, lw=1.0)
    for sign, colour, side in ((-1.0, BLUE, left), (1.0, DEEP_ORANGE, right)):
        draw = _named if np.isfinite(side[0]).sum() <= MOST_NAMES else _counted
        draw(ax, side, sign, colour)
    ax.set_xticks([])
    ax.grid(visible=False, axis="x")
    ax.spines["bottom"].set_visible(False)
    name_axes(ax, y="ability, difficulty")
    items = "questions" if fit.respondents == "models" else "models"
    for x, words, align in ((-0.02, fit.respondents, "right"), (0.02, items, "left")):
        write(ax, 0.5 + x, 1.02, words, f"{align} baseline", size=TEXT_SIZE + 1.0, bold=True)
    return ax


Side = tuple[FloatArray, FloatArray, tuple[Any, ...]]


def _people(fit: IRTFit | BayesianIRT, abilities: Abilities | None) -> Side:
    """Return abilities, standard errors and names of respondents."""
    if abilities is not None:
        people: Side = (abilities.ability, abilities.se, abilities.labels)
    elif isinstance(fit, BayesianIRT):
        people = (fit.ability.value, fit.ability.se, fit.ability.labels)
    else:
        msg = "abilities is missing: pass ability(fit, responses), because an IRTFit has none"
        raise OptionError(msg)
    if not np.isfinite(people[0]).any():
        msg = "abilities: no respondent has one: see the `reasons`"
        raise ShapeError(msg)
    return people


def _items(fit: IRTFit | BayesianIRT) -> Side:
    """Return difficulties, standard errors and names of items."""
    if isinstance(fit, BayesianIRT):
        return fit.difficulty.value, fit.difficulty.se, fit.labels
    steps = thresholds(fit)
    value, se, names = list[float](), list[float](), list[Any]()
    for j, label in enumerate(fit.labels):
        codes = np.flatnonzero(np.isfinite(steps.threshold[j])) + 1
        if fit.has_answer[j].sum() > 2 and codes.size:
            value += steps.threshold[j, codes - 1].tolist()
            se += steps.se[j, codes - 1].tolist()
            names += [f"{label} >= {code}" for code in codes]
        else:
            value.append(fit.difficulty[j])
            se.append(fit.se_difficulty[j])
            names.append(label)
    return np.array(value), np.array(se), tuple(names)


def _range(people: FloatArray, items: FloatArray) -> tuple[float, float]:
    """Return axis limits that contain all respondents and the items near the respondents."""
    known = people[np.isfinite(people)]
    span = max(float(np.ptp(known)), 1.0)
    low, high = float(known.min()) - 1.5 * span, float(known.max()) + 1.5 * span
    near = items[np.isfinite(items) & (items >= low) & (items <= high)]
    both = np.concatenate([known, near])
    pad = 0.06 * max(float(np.ptp(both)), 1.0)
    return float(both.min()) - pad, float(both.max()) + pad


def _named(ax: "Axes", side: Side, sign: float, colour: str) -> None:
    """Draw each respondent or item as a point with its error bar and name."""
    value, se, labels = side
    low, high = ax.get_ylim()
    shown = np.flatnonzero(np.isfinite(value))
    if not shown.size:
        note(ax, "")
        return
    at = np.clip(value[shown], low, high)
    beyond = value[shown] != at
    reach = np.where(beyond | ~np.isfinite(se[shown]), 0.0, se[shown])
    x = np.full(at.size, 0.08 * sign)
    ends = np.clip([at - reach, at + reach], low, high)
    ax.vlines(x, *ends, color=colour, lw=1.0, alpha=0.35)
    points(ax, x[~beyond], at[~beyond], colour)
    for y in at[beyond]:
        ax.plot(x[0], y, "^" if y == high else "v", ms=6, color=colour, clip_on=False)
    height = spread(at, _GAP * (high - low), low=low, high=high)
    small = TEXT_SIZE - 0.5
    for row, y, text in zip(shown, at, height, strict=True):
        ax.plot([0.1 * sign, 0.16 * sign, 0.2 * sign], [y, y, text], color=RULE, lw=0.6, zorder=0)
        where = "left center" if sign > 0 else "right center"
        name = shortened(labels[row], _LONGEST)
        data = ax.transData
        write(ax, 0.215 * sign, text, name, where, size=small, colour=QUIET, transform=data)


def _counted(ax: "Axes", side: Side, sign: float, colour: str) -> None:
    """Draw a histogram that grows outwards, and label the number of values beyond the axis."""
    value = side[0]
    low, high = ax.get_ylim()
    known = value[np.isfinite(value)]
    counts, edges = np.histogram(known, bins=_BINS, range=(low, high))
    width = sign * 0.85 * counts / max(counts.max(), 1)
    ax.barh(edges[:-1], width, height=np.diff(edges), align="edge", color=colour, alpha=0.6, lw=0)
    for y, count, align in (
        (high, int((known > high).sum()), "top"),
        (low, int((known < low).sum()), "bottom"),
    ):
        if count:
            where = f"{'right' if sign > 0 else 'left'} {align}"
            data, small = ax.transData, TEXT_SIZE - 0.5
            text = f"{count} beyond"
            write(ax, 0.95 * sign, y, text, where, size=small, colour=MUTED, transform=data)
