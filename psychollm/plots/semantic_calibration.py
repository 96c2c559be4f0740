"""Plot of semantic calibration with one panel per arm."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.numbers import count, number, p_equals, percent, typeset
from psychollm.data.labels import positions
from psychollm.plots.canvas import BLUE, GREY, plain_text
from psychollm.plots.marks import keep_points
from psychollm.plots.reliability import diagonal, histogram, rings, unit_square
from psychollm.plots.small_multiples import draw_panels, panel_title
from psychollm.studies.semantic_calibration.null import SampleCurve
from psychollm.studies.semantic_calibration.study import SemanticCalibration

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL = (2.5, 3.5)  # inches; the height is large, so the width determines the size of the axes
_FEWEST = 3  # smallest number of questions of a drawn proportion
_LARGEST = 90.0  # area of a ring with all questions


@plain_text()
def plot_semantic_calibration(
    study: SemanticCalibration,
    *,
    arms: Sequence[Any] | None = None,
    columns: int = 4,
    figure: "Figure | None" = None,
) -> "Figure":
    """Draw accuracy against the proportion of samples in the largest class, one panel per arm.

    A ring represents all questions with the same proportion; its area increases with the number of
    questions. The grey line and band show the expectation for a calibrated model with the same
    number of samples. The line is below the diagonal, because the largest of several proportions
    overestimates its probability. ``study.curves()`` returns the plotted numbers.

    Parameters
    ----------
    study : SemanticCalibration
        Result of `semantic_calibration`.
    arms : sequence, optional
        Arms to draw, in this order; by default all.
    columns : int
        Number of panels per row.
    figure : Figure, optional
        Empty figure to draw on; by default, a new figure is created.

    Raises
    ------
    LabelError
        If an arm is not in the study.
    OptionError
        If `columns` is not a positive whole number.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from psychollm.data import SampledAnswers
    >>> from psychollm.studies.semantic_calibration.study import semantic_calibration
    >>> samples = SampledAnswers.from_array([["a", "b", "a"]] * 9, gold=["a", "b", "b"] * 3)
    >>> study = semantic_calibration(samples, n_null=99, bootstrap=50, rng=0)
    >>> len(plot_semantic_calibration(study, figure=Figure()).axes)
    1
    """
    rows = positions("arm", study.labels, arms)

    def draw(ax: "Axes", panel: int) -> None:
        _draw(ax, study.diagrams[rows[panel]])
        panel_title(ax, study.labels[rows[panel]], _lines(study, rows[panel]))

    return draw_panels(
        draw,
        len(rows),
        columns=columns,
        panel=PANEL,
        names=("proportion of the most frequent answer", "proportion correct"),
        key=_key(),
        figure=figure,
    )


def _key() -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    ring: dict[str, Any] = {"marker": "o", "ms": 4.5, "mfc": "white", "mec": BLUE}
    return [
        Line2D([], [], color=BLUE, lw=1.2, **ring, label="observed"),
        Patch(fc=GREY, alpha=0.38, label="under calibration, equal sample size"),
    ]


def _lines(study: SemanticCalibration, row: int) -> tuple[str, ...]:
    return (
        f"smECE {number(study.smooth.value.value[row], 3)}, "
        f"{number(study.expected.value[row], 3)} if calibrated "
        f"({p_equals(study.p_value.value[row])})",
        typeset(f"overconfident by {study.excess_overconfidence.text(row, signed=True)}"),
    )


def _draw(ax: "Axes", curve: SampleCurve) -> None:
    unit_square(ax)
    diagonal(ax, curve.label)
    known = np.isfinite(curve.interval).all(axis=1)
    at, name = curve.confidence[known], f"range {curve.label}"
    ax.fill_between(at, *curve.interval[known].T, color=GREY, alpha=0.38, lw=0, zorder=1, gid=name)
    name = f"expected {curve.label}"
    ax.plot(at, curve.expected[known], color=GREY, lw=1.4, zorder=2, gid=name)
    here = curve.n > 0
    x, y, n = curve.confidence[here], curve.accuracy[here], curve.n[here]
    often = n >= max(_FEWEST, 0.01 * n.sum())  # the line omits proportions with few questions
    ax.plot(x[often], y[often], color=BLUE, lw=1.2, zorder=3, gid=f"observed {curve.label}")
    told = [
        f"{curve.label}: proportion {number(across)}; {percent(up, 1)} of {count(questions)} right"
        for across, up, questions in zip(x, y, n, strict=True)
    ]
    keep_points(ax, x, y, told, [curve.label] * len(told))
    rings(ax, x, y, 4.0 + _LARGEST * n / n.sum(), f"rings {curve.label}")
    width = 0.02 if x.size < 2 else min(0.05, 0.6 * float(np.diff(x).min()))
    histogram(ax, x, n, width, float(n.sum()))
