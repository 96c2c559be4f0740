"""Plots of accuracy in disagreements, and of self-reports compared with factor scores."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.checks import check_count
from psychollm._base.numbers import count, number, typeset, with_interval
from psychollm.estimates.verdict import SMALLEST, Outcome, verdicts
from psychollm.plots.canvas import (
    BLUE,
    INK,
    PURPLE,
    RED,
    by_value,
    legend,
    name_axes,
    note,
    open_axes,
    plain_text,
    points,
)
from psychollm.plots.forest import plot_forest
from psychollm.plots.marks import keep_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psychollm.calibration.consensus.individuation import Individuation
    from psychollm.calibration.consensus.pairwise import PairwiseCalibration

_RASTER_FROM = 1_000


@plain_text()
def plot_pairwise_calibration(
    result: "PairwiseCalibration", *, least: int = 10, ax: "Axes | None" = None
) -> "Axes":
    """Draw observed against expected differences in correctness of pairs of models.

    Each point is an ordered pair of models, for the questions that the first model answered with
    yes and the second with no. The size of a point represents its number of questions. The
    expected difference assumes no self-knowledge; on the line y = x, confidence adds no
    information. The cross is the pooled value with its interval. ``result.to_frame()`` returns the
    plotted numbers.

    Parameters
    ----------
    result : PairwiseCalibration
        Result of `psychollm.calibration.pairwise_calibration`.
    least : int
        Minimum number of disagreements of a pair of models.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from psychollm.calibration.consensus.pairwise import pairwise_calibration
    >>> found = pairwise_calibration([[1, 1, 0], [0, 0, 0]], [[1, 1, 0], [1, 0, 0]])
    >>> plot_pairwise_calibration(found, least=1, ax=Figure().subplots()).get_ylabel()
    'observed difference'
    """
    least = check_count("least", least)
    ax = open_axes(ax, size=(6.0, 5.0))
    shown = (result.n >= least) & np.isfinite(result.difference) & np.isfinite(result.expected)
    if not shown.any():
        note(ax, f"no pair of models disagrees on {least} questions")
        return ax
    x, y, n = result.expected[shown], result.difference[shown], result.n[shown]
    ax.scatter(
        x,
        y,
        s=4.0 + 40.0 * n / n.max(),
        color=BLUE,
        alpha=0.4,
        lw=0,
        zorder=2,
        rasterized=x.size > _RASTER_FROM,
        label=f"pair of models, at least {least} questions",
        gid="pairs",
    )
    first, second = np.nonzero(shown)
    whose = [(result.labels[i], result.labels[j]) for i, j in zip(first, second, strict=True)]
    told = [
        f"{who[0]} yes, {who[1]} no: observed {number(up, 3)}, expected {number(across, 3)}, "
        f"{count(questions)} questions"
        for who, across, up, questions in zip(whose, x, y, n, strict=True)
    ]
    keep_points(ax, x, y, told, whose)
    ends = np.array([min(x.min(), y.min()), max(x.max(), y.max())])
    ends = ends + np.array([-0.05, 0.05]) * max(float(np.ptp(ends)), 0.1)
    ax.plot(ends, ends, color=PURPLE, lw=1.3, ls=(0, (5, 2)), label="no self-knowledge, y = x")
    ax.axhline(0.0, color=INK, lw=0.6)
    ax.axvline(0.0, color=INK, lw=0.6)
    _pooled(ax, result)
    ax.set_xlim(*ends)
    ax.set_ylim(*ends)
    name_axes(ax, x="expected difference in correctness, yes − no", y="observed difference")
    legend(ax, columns=1)
    return ax


def _pooled(ax: "Axes", result: "PairwiseCalibration") -> None:
    """Draw the pooled value, with the interval of its difference from the expected value."""
    x, low, high = result.pooled_expected, *result.pooled_excess_interval
    if not np.isfinite(x):
        return
    ax.vlines(x, x + low, x + high, color=RED, lw=2.4, zorder=4)
    excess = with_interval(result.pooled_excess, (low, high), 3)
    look: dict[str, Any] = {"size": 9.0, "zorder": 5, "texts": [f"pooled excess {excess}"]}
    points(ax, [x], [result.pooled_difference], RED, marker="P", **look)
    points(ax, [], [], RED, marker="P", size=7.0, label=typeset(f"pooled excess {excess}"))


@plain_text()
def plot_individuation(
    result: "Individuation",
    *,
    strong: Sequence[bool] | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the AUROC of each model's self-report and of its factor score.

    The plot shows three values with bootstrap intervals: the self-report, the factor score
    dichotomised at the model's own yes rate, and the continuous factor score. The self-report and
    the dichotomised score have equal yes rates; models are sorted by the difference between their
    two AUROCs.

    Parameters
    ----------
    result : Individuation
        Result of `psychollm.calibration.individuation`.
    strong : sequence of bool (models,), optional
        For each model, whether its name is bold. By default, names are bold if the self-report is
        significantly better than the factor score at equal yes rates.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from psychollm.calibration.consensus.individuation import individuation
    >>> said, right = np.random.default_rng(0).integers(0, 2, (2, 5, 200))
    >>> result = individuation(said, right, bootstrap=20, rng=1)
    >>> plot_individuation(result, ax=Figure().subplots()).get_xlabel()
    'area under the ROC curve for correctness'
    """
    gain = result.own_minus_cut
    if strong is None:
        judged = verdicts(gain, smallest=SMALLEST.auroc)
        strong = [one is Outcome.ABOVE for one in judged.outcomes]
    return plot_forest(
        [result.own, result.shared_cut, result.shared],
        names=["self-report", "factor score at the same yes rate", "factor score"],
        reference=0.5,
        order=by_value(-gain.value),
        strong=strong,
        x="area under the ROC curve for correctness",
        ax=ax,
    )
