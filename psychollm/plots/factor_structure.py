"""Plot of loadings against thresholds, with insets of eigenvalues and R squared."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.numbers import number, p_equals, with_interval
from psychollm._base.types import FloatArray
from psychollm.plots.canvas import (
    BLUE,
    MUTED,
    PURPLE,
    RED,
    TICK_SIZE,
    legend,
    name_axes,
    open_axes,
    plain_text,
    points,
)
from psychollm.plots.labels import label_points
from psychollm.plots.scree import draw_components, inset
from psychollm.plots.second_factor import draw_replicates

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psychollm.studies.dimensionality.result import Dimensionality

_COMPONENTS = 6
# The lower part of the axes contains both insets but no points.
_LOWER_PART = 0.44


@plain_text()
def plot_factor_structure(result: "Dimensionality", *, ax: "Axes | None" = None) -> "Axes":
    """Draw each model's loading on the common factor against its threshold.

    Dots are loadings on the first component of the tetrachoric matrix, with a quadratic fit. At
    extreme thresholds, the continuity correction biases loadings on the first component. Diamonds
    are full-information loadings, which need no continuity correction, with intervals. If the
    fitted model includes lapses (answers at random), filled diamonds account for lapses, and
    hollow diamonds do not. The left inset shows the first eigenvalues with the null distributions
    under independence and under one factor. The right inset shows the R squared of the quadratic
    fit and its distribution under one factor. ``result.spectrum`` and ``result.one_factor``
    contain the plotted numbers.

    Parameters
    ----------
    result : Dimensionality
        Result of `dimensionality`.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Examples
    --------
    >>> import psychollm as psy
    >>> from matplotlib.figure import Figure
    >>> answers = psy.simulate_factor(
    ...     loadings=[0.8] * 5, thresholds=[-1, -0.5, 0, 0.5, 1], n_questions=300, rng=0
    ... ).responses
    >>> result = psy.dimensionality(answers, n_null=20, rng=0)
    >>> plot_factor_structure(result, ax=Figure().subplots()).get_ylabel()
    'loading on the common factor'
    """
    ax = open_axes(ax, size=(7.4, 6.4))
    plain, full = result.spectrum, result.one_factor
    without = result.full_information.loadings
    tau, first = plain.correlation.thresholds, plain.first_loadings
    reach = 1.96 * np.nan_to_num(full.se_loadings)
    _fit(ax, tau, plain.quadratic, float(plain.quadratic_r2.observed))
    low = min(float(np.nanmin([first, full.loadings, without])) - 0.06, 0.8)
    ends = np.clip([full.loadings - reach, full.loadings + reach], low, 1.0)
    ax.vlines(tau, *ends, color=PURPLE, lw=1.0, alpha=0.5)
    diamonds: dict[str, Any] = {"marker": "D", "size": 4.6, "models": result.labels}
    if result.one_factor_model == "with lapses":
        name = "full information, not corrected for lapses"
        told = _told(result, "full information, not corrected for lapses", map(number, without))
        points(ax, tau, without, PURPLE, label=name, hollow=True, texts=told, **diamonds)
    name = "full information, no rule" + ", corrected for lapses" * (
        result.one_factor_model == "with lapses"
    )
    bounds = full.loadings[:, None] + np.outer(full.se_loadings, [-1.96, 1.96])
    told = _told(
        result, "full information", map(with_interval, full.loadings, np.clip(bounds, -1.0, 1.0))
    )
    points(ax, tau, full.loadings, PURPLE, label=name, texts=told, **diamonds)
    name = f"first component, {plain.correlation.empty_cells}"
    told = _told(result, "first component", map(number, first))
    dots: dict[str, Any] = {"size": 6.0, "zorder": 4, "gid": "first", "models": result.labels}
    points(ax, tau, first, BLUE, label=name, texts=told, **dots)
    _raise(ax, low)
    name_axes(
        ax, x="threshold of the model   (often yes → rarely yes)", y="loading on the common factor"
    )
    legend(ax, columns=2)
    _inset_scree(ax, result)
    _inset_fit(ax, result)
    obstacles = _obstacles(plain.quadratic, tau, full.loadings, reach)
    label_points(ax, tau, first, result.labels, obstacles=obstacles)
    return ax


def _told(result: "Dimensionality", what: str, values: Iterable[str]) -> list[str]:
    """Return the tooltip text for each model's point."""
    both = zip(result.labels, result.spectrum.correlation.thresholds, values, strict=True)
    return [f"{label}: threshold {number(tau)}, {what} {value}" for label, tau, value in both]


def _fit(ax: "Axes", tau: FloatArray, coefficients: FloatArray, r2: float) -> None:
    if np.isfinite(coefficients).all():
        at = np.linspace(np.nanmin(tau), np.nanmax(tau), 100)
        fit = np.polynomial.polynomial.polyval(at, coefficients)
        name = f"quadratic fit to the dots, R² = {r2:.2f}"
        ax.plot(at, fit, color=RED, lw=1.5, ls=(0, (5, 2)), label=name, gid="fit")


def _raise(ax: "Axes", low: float) -> None:
    """Set the limits so that all points from `low` upwards are in the upper part of the axes."""
    top = 1.06
    ax.set_ylim(top - (top - low + 0.04) / (1.0 - _LOWER_PART), top)
    ticks = [tick for tick in ax.get_yticks() if low - 0.1 <= tick <= 1.0 + 1e-9]
    ax.set_yticks(ticks)


def _inset_scree(ax: "Axes", result: "Dimensionality") -> None:
    plain = result.spectrum
    inner = inset(ax.inset_axes((0.06, 0.07, 0.4, 0.29)), "proportion of variance, %")
    count = min(_COMPONENTS, plain.eigenvalues.size)
    nulls = [plain.permutation, plain.one_factor]
    draw_components(inner, nulls, 0, count, scale=100.0 / plain.eigenvalues.size)
    legend(inner, inside="upper right", size=TICK_SIZE - 1.5)


def _inset_fit(ax: "Axes", result: "Dimensionality") -> None:
    null = result.spectrum.quadratic_r2
    inner = inset(ax.inset_axes((0.56, 0.07, 0.4, 0.29)), "R² of the fit under one factor")
    draw_replicates(inner, null)
    inner.set_xlim(0.0, 1.0)
    inner.set_yticks([])
    inner.spines["left"].set_visible(False)
    note = f"observed {float(null.observed):.2f}, {p_equals(float(null.p_value))}"
    inner.set_xlabel(note, fontsize=TICK_SIZE - 1.0, color=MUTED, labelpad=2)


def _obstacles(
    coefficients: FloatArray, tau: FloatArray, loadings: FloatArray, reach: FloatArray
) -> FloatArray:
    """Return points along the curve and the bars, which labels must avoid."""
    at = np.linspace(np.nanmin(tau), np.nanmax(tau), 120)
    curve = np.polynomial.polynomial.polyval(at, np.nan_to_num(coefficients))
    paths = [np.column_stack([at, curve])]
    paths += [
        np.column_stack([tau, loadings + part * reach]) for part in (-1.0, -0.5, 0.0, 0.5, 1.0)
    ]
    points: FloatArray = np.vstack(paths)
    return points[np.isfinite(points).all(axis=1)]
