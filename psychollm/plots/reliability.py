"""Reliability diagrams, which show accuracy by stated confidence for each model."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from psychollm._base.checks import check_choice
from psychollm._base.errors import OptionError
from psychollm._base.numbers import count, number, p_equals, percent, typeset
from psychollm._base.types import FloatArray
from psychollm.calibration.errors.binned import BinnedCalibrationError
from psychollm.calibration.errors.calibration_error import CalibrationError
from psychollm.calibration.errors.smooth import SmoothCalibrationError
from psychollm.calibration.scores.corp import Corp
from psychollm.plots.canvas import (
    BLUE,
    DASHED,
    GREY,
    INK,
    MUTED,
    RULE,
    TEXT_SIZE,
    TICK_SIZE,
    name_axes,
    open_axes,
    plain_text,
    write,
)
from psychollm.plots.marks import keep_points
from psychollm.plots.small_multiples import draw_panels, panel_title, say

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Reliability: TypeAlias = Corp | BinnedCalibrationError | SmoothCalibrationError
Band: TypeAlias = Literal["consistency", "confidence", "both", "none"]

# Additional points per curve would be invisible and would enlarge files.
_MOST_POINTS = 200
_MOST_SPIKES = 40
# The histogram is a strip below the diagram with the same scale of confidence.
_STRIP = (-0.24, -0.05)
_FLOOR, _CEILING = -0.27, 1.03
_PANEL = (2.15, 2.75)  # size in inches


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagram:
    """Curve, bands, points and stated confidences of one model."""

    label: Any
    curve: FloatArray  # (points, 2) stated confidence and accuracy
    observed: FloatArray | None = None  # (groups, 3) confidence, accuracy, number of answers
    bars: FloatArray | None = None  # (groups, 2) bounds of `observed`
    consistency: FloatArray | None = None  # (points, 3) confidence and bounds around the diagonal
    confidence: FloatArray | None = None  # (points, 3) confidence and bounds around the curve
    counts: FloatArray  # (bars, 3) left and right edge and height of the histogram
    lines: tuple[str, ...]  # lines of the subtitle
    n: float
    reason: str  # reason why nothing is drawn, or ""
    at: FloatArray = field(default_factory=lambda: np.empty((0, 2)))  # positions of the tooltips
    told: tuple[str, ...] = ()


def diagram_of(result: Reliability, label: Any, error: CalibrationError | None) -> Diagram:
    """Return the diagram of one model."""
    if isinstance(result, Corp):
        return _of_corp(result, label, error)
    if isinstance(result, BinnedCalibrationError):
        return _of_bins(result, label)
    if isinstance(result, SmoothCalibrationError):
        return _of_smooth(result, label)
    msg = (
        f"a {type(result).__name__} has no reliability diagram: pass a result of corp, "
        "calibration_error or smooth_calibration_error"
    )
    raise OptionError(msg)


def _of_corp(result: Corp, label: Any, error: CalibrationError | None) -> Diagram:
    row = result.miscalibration.place(label)
    curve = result.curves[row]
    kept = _thinned(curve.confidence.size)
    x = curve.confidence[kept, None]
    few = curve.confidence.size <= _MOST_SPIKES
    observed = np.column_stack([curve.confidence, curve.observed, curve.n])
    lines = [_parts_line(result, row)]
    if error is not None:
        lines.append(_error_line(error, error.value.place(label)))
    return Diagram(
        label=label,
        curve=np.column_stack([x, curve.recalibrated[kept]]),
        observed=observed if few else None,
        consistency=np.column_stack([x, curve.consistency_band[kept]]),
        confidence=np.column_stack([x, curve.confidence_band[kept]]),
        counts=_histogram(curve.confidence, curve.n),
        lines=tuple(lines),
        n=float(curve.n.sum()),
        reason="" if curve.confidence.size else str(result.mean_score.flags[row]),
        at=np.column_stack([curve.confidence, curve.observed if few else curve.recalibrated]),
        told=tuple(
            f"{_stated(label, x, seen, n)}, recalibrated {number(line)}"
            for x, seen, n, line in zip(
                curve.confidence, curve.observed, curve.n, curve.recalibrated, strict=True
            )
        ),
    )


def _of_bins(result: BinnedCalibrationError, label: Any) -> Diagram:
    row = result.value.place(label)
    bins = result.bins
    here = bins.model == row
    n, x, accuracy = bins.n[here], bins.confidence[here], bins.accuracy[here]
    return Diagram(
        label=label,
        curve=np.column_stack([x, accuracy]),
        observed=np.column_stack([x, accuracy, n]),
        bars=bins.interval[here],
        counts=_wide(bins.lower[here], bins.upper[here], n),
        lines=(_error_line(result, row),),
        n=float(n.sum()),
        reason="" if here.any() else str(result.value.flags[row]),
        at=np.column_stack([x, accuracy]),
        told=tuple(_stated(label, *one) for one in zip(x, accuracy, n, strict=True)),
    )


def _of_smooth(result: SmoothCalibrationError, label: Any) -> Diagram:
    row = result.value.place(label)
    curve = result.curve
    x, accuracy = curve.confidence, curve.accuracy[row]
    known = bool(np.isfinite(accuracy).any())
    step = 0.5 * float(x[1] - x[0])
    return Diagram(
        label=label,
        curve=np.column_stack([x, accuracy]),
        confidence=np.column_stack([x, curve.interval[row]]),
        counts=np.column_stack([x - step, x + step, curve.density[row]]),
        lines=(_error_line(result, row),),
        n=float(result.value.n[row]),
        reason="" if known else str(result.value.flags[row]),
    )


def _stated(label: Any, stated: float, seen: float, n: float) -> str:
    return f"{label}: states {number(stated)}; {percent(seen, 1)} of {count(n)} correct"


def _thinned(size: int) -> Any:
    """Return evenly spaced indices of at most `_MOST_POINTS` points, including both ends."""
    return np.unique(np.linspace(0, max(size - 1, 0), min(size, _MOST_POINTS)).round().astype(int))


def _histogram(values: FloatArray, n: FloatArray) -> FloatArray:
    """Return one bar per distinct confidence if there are few values; otherwise, one per bin."""
    if values.size <= _MOST_SPIKES:
        return _wide(values, values, n)
    height, edges = np.histogram(values, bins=_MOST_SPIKES, range=(0.0, 1.0), weights=n)
    return np.column_stack([edges[:-1], edges[1:], height])


def _wide(lower: FloatArray, upper: FloatArray, n: FloatArray) -> FloatArray:
    """Return edges and heights of bars; bars of zero width are widened to be visible."""
    half = np.where(upper > lower, 0.0, 0.008)
    return np.column_stack([lower - half, upper + half, n])


def _parts_line(result: Corp, row: int) -> str:
    if not result.miscalibration.defined[row]:
        return "MCB and DSC undefined"
    return (
        f"MCB {number(result.miscalibration.value[row], 3)} "
        f"({p_equals(result.p_value.value[row])}) · "
        f"DSC {number(result.discrimination.value[row], 3)}"
    )


def _error_line(error: CalibrationError, row: int) -> str:
    if not error.value.defined[row]:
        return f"{error.value.name} undefined"
    return (
        f"{error.value.name} {number(error.value.value[row], 3)}, "
        f"{number(error.expected.value[row], 3)} if calibrated "
        f"({p_equals(error.p_value.value[row])})"
    )


@plain_text()
def plot_reliability(
    result: Reliability,
    *,
    model: Any = None,
    error: CalibrationError | None = None,
    band: Band = "consistency",
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw a reliability diagram, which shows accuracy against stated confidence.

    The model is calibrated on the diagonal and overconfident below it. For a `Corp` result, the
    line is the isotonic curve, and rings are observed accuracies, sized by the number of answers.
    For binned errors, the line connects the bins, and each bin has a Wilson interval. For smooth
    calibration errors, the line is the smooth curve. ``result.curve(model)``, ``result.bins`` or
    ``result.curve`` contains the plotted numbers.

    Parameters
    ----------
    result : Corp, BinnedCalibrationError or SmoothCalibrationError
        Result of `corp`, `calibration_error` or `smooth_calibration_error`.
    model : hashable, optional
        Label of the model to draw, by default the first model.
    error : BinnedCalibrationError or SmoothCalibrationError, optional
        Calibration error to print in the diagram, with its expectation under calibration.
    band : {"consistency", "confidence", "both", "none"}
        "consistency" is the band around the diagonal in which most curves of calibrated models lie
        (`Corp` only). "confidence" is the confidence band around the curve; it is not available
        for binned errors.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Raises
    ------
    LabelError
        If the model is not in the result.
    OptionError
        If `band` is not a valid option, or if the result has no reliability diagram.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from psychollm.calibration.scores.corp import corp
    >>> found = corp([0.9, 0.9, 0.6, 0.3], [1, 1, 0, 1], n_bands=50, rng=0)
    >>> plot_reliability(found, ax=Figure().subplots()).get_xlabel()
    'stated confidence'
    """
    check_choice("band", band, Band)
    label = _labels(result)[0] if model is None else model
    diagram = diagram_of(result, label, error)
    ax = open_axes(ax, size=(3.9, 5.0))
    _draw(ax, diagram, band)
    name_axes(ax, x="stated confidence", y="proportion correct")
    ax.legend(
        handles=_key(result, band),
        loc="upper left",
        bbox_to_anchor=(-0.02, -0.14),
        borderaxespad=0.0,
        frameon=False,
        fontsize=TEXT_SIZE - 0.5,
        labelcolor=INK,
    )
    panel_title(ax, diagram.label, diagram.lines)
    return ax


@plain_text()
def plot_reliability_grid(
    result: Reliability,
    *,
    models: Sequence[Any] | None = None,
    error: CalibrationError | None = None,
    band: Band = "consistency",
    columns: int = 4,
    figure: "Figure | None" = None,
) -> "Figure":
    """Draw the reliability diagrams of all models side by side.

    Parameters
    ----------
    result : Corp, BinnedCalibrationError or SmoothCalibrationError
        Result of `corp`, `calibration_error` or `smooth_calibration_error`.
    models : sequence, optional
        Models to draw, in this order; by default all.
    error : BinnedCalibrationError or SmoothCalibrationError, optional
        Calibration error to print in the diagram, with its expectation under calibration.
    band : {"consistency", "confidence", "both", "none"}
        "consistency" is the band around the diagonal in which most curves of calibrated models lie
        (`Corp` only). "confidence" is the confidence band around the curve; it is not available
        for binned errors.
    columns : int
        Number of diagrams per row.
    figure : Figure, optional
        Empty figure to draw on; by default, a new figure is created.

    Returns
    -------
    Figure
        Figure whose ``axes`` contain one diagram per model.

    Raises
    ------
    LabelError
        If one of the models does not exist.
    OptionError
        If `band` is not a valid option, or if the result has no reliability diagram.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from psychollm.calibration.scores.corp import corp
    >>> found = corp([[0.9, 0.2], [0.5, 0.6]], [[1, 0], [1, 0]], n_bands=50, rng=0)
    >>> len(plot_reliability_grid(found, figure=Figure()).axes)
    2
    """
    check_choice("band", band, Band)
    labels = _labels(result) if models is None else models
    diagrams = [diagram_of(result, label, error) for label in labels]

    def draw(ax: "Axes", panel: int) -> None:
        _draw(ax, diagrams[panel], band)
        panel_title(ax, diagrams[panel].label, diagrams[panel].lines)

    return draw_panels(
        draw,
        len(diagrams),
        columns=columns,
        panel=_PANEL,
        names=("stated confidence", "proportion correct"),
        key=_key(result, band),
        figure=figure,
    )


def _labels(result: Reliability) -> tuple[Any, ...]:
    """Return the models of a result, or () for types of results that `diagram_of` rejects."""
    if isinstance(result, Corp):
        return result.labels
    return result.value.labels if isinstance(result, CalibrationError) else ("",)


def _key(result: Reliability, band: Band) -> list[Any]:
    """Return the legend entries for the curve, the points and the bands."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    binned = isinstance(result, BinnedCalibrationError)
    recalibrated = isinstance(result, Corp)
    name = "recalibrated" if recalibrated else "in bins" if binned else "smoothed"
    ring: dict[str, Any] = {"marker": "o", "ms": 4.5, "mfc": "white", "mec": BLUE}
    key: list[Any] = [Line2D([], [], color=BLUE, lw=1.8, label=name, **(ring if binned else {}))]
    if recalibrated:
        key.append(Line2D([], [], ls="", **ring, label="observed"))
        if band in {"consistency", "both"}:
            key.append(Patch(fc=GREY, alpha=0.38, label="under calibration"))
    if band in {"confidence", "both"} and not binned:
        key.append(Patch(fc=BLUE, alpha=0.25, label="interval of the curve"))
    return key


def unit_square(ax: "Axes") -> None:
    """Set the limits of axes to 0 and 1, with space for a histogram below."""
    ax.set_xlim(-0.03, 1.03)
    ax.set_ylim(_FLOOR, _CEILING)
    ax.set_box_aspect((_CEILING - _FLOOR) / 1.06)
    ticks = np.linspace(0.0, 1.0, 5)
    ax.set_xticks(ticks, ["0", "", ".5", "", "1"])
    ax.set_yticks(ticks, ["0", "", ".5", "", "1"])
    ax.axhline(0.0, color=RULE, lw=0.8, zorder=1)


def diagonal(ax: "Axes", label: Any) -> None:
    """Draw the diagonal, on which confidence is calibrated."""
    ax.plot([0, 1], [0, 1], color=INK, lw=0.9, ls=DASHED, zorder=2, gid=f"diagonal {label}")


def histogram(ax: "Axes", at: FloatArray, n: FloatArray, width: Any, total: float) -> None:
    """Draw the histogram of stated confidences in a strip below a diagram."""
    low, high = _STRIP
    height = (high - low) * n / max(float(n.max()), 1e-300)
    ax.bar(at, height, width=width, bottom=low, color=GREY, lw=0, zorder=2)
    ax.plot([0, 1], [low, low], color=RULE, lw=0.8, zorder=1)
    words, small = typeset(f"n = {count(total)}"), TICK_SIZE - 2.0
    text = write(
        ax, 0.04, high, words, "left top", size=small, colour=MUTED, transform=ax.transData
    )
    text.set_bbox({"facecolor": "white", "alpha": 0.75, "lw": 0, "pad": 0.8})


def _draw(ax: "Axes", diagram: Diagram, band: Band) -> None:
    unit_square(ax)
    if diagram.reason:
        say(ax, diagram.reason, (0.5, 0.5))
        return
    diagonal(ax, diagram.label)
    if band in {"consistency", "both"}:
        _band(ax, diagram.consistency, GREY, 0.38, f"consistency {diagram.label}")
    if band in {"confidence", "both"}:
        _band(ax, diagram.confidence, BLUE, 0.25, f"confidence {diagram.label}")
    _curve(ax, diagram)
    across, up = diagram.at.T
    keep_points(ax, across, up, diagram.told, [diagram.label] * len(diagram.told))
    left, right, n = diagram.counts.T
    histogram(ax, 0.5 * (left + right), n, right - left, diagram.n)


def _band(ax: "Axes", band: FloatArray | None, colour: str, alpha: float, name: str) -> None:
    if band is None:
        return
    x, low, high = band.T
    if len(band) == 1:  # a band of zero width, because only one confidence was reported
        ax.vlines(x, low, high, color=colour, alpha=alpha, lw=6.0, zorder=1, gid=name)
        return
    ax.fill_between(x, low, high, color=colour, alpha=alpha, lw=0, zorder=1, gid=name)


def _curve(ax: "Axes", diagram: Diagram) -> None:
    x, y = diagram.curve.T
    marked: dict[str, Any] = (
        {"marker": "o", "ms": 3.6, "mec": "white", "mew": 0.5} if x.size == 1 else {}
    )
    look = {"lw": 1.8, "zorder": 4, "gid": f"curve {diagram.label}", **marked}
    ax.plot(x, y, color=BLUE, solid_capstyle="round", **look)
    if diagram.observed is None:
        return
    where, share, n = diagram.observed.T
    if diagram.bars is not None:
        ax.vlines(where, *diagram.bars.T, color=BLUE, lw=1.1, alpha=0.6, zorder=3)
    size = 2.5 + 70.0 * n / max(float(n.sum()), 1e-300)
    rings(ax, where, share, size, f"observed {diagram.label}")


def rings(ax: "Axes", x: FloatArray, y: FloatArray, size: FloatArray, name: str) -> None:
    """Draw observed proportions as rings, sized by the number of answers."""
    look: dict[str, Any] = {"facecolor": "white", "edgecolor": BLUE, "lw": 0.9, "zorder": 5}
    ax.scatter(x, y, s=size, gid=name, **look)
