"""What each figure of the report of a panel answers where one points at it."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import count, number, percent, with_interval
from psychollm.plots.risk_coverage import answered
from psychollm.reports.marks import Mark, line, point, row_names, row_of
from psychollm.reports.study_marks import forest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psychollm.calibration.discrimination.type2_roc import Type2ROC
    from psychollm.calibration.panels.findings import Evidence
    from psychollm.calibration.selection.risk_coverage import RiskCoverage

_COVERAGES = (0.2, 0.5, 1.0)
_MOST_RINGS = 40  # of a diagram; where there are more, only the curve is drawn


def overview(evidence: "Evidence", axes: "Sequence[Axes]", keys: Sequence[str]) -> Iterator[Mark]:
    """Yield a mark for every model and metric."""
    # Only the first of the axes names the rows, which are the same in all.
    names = row_names(axes[0])
    for ax, key in zip(axes, keys, strict=True):
        output = evidence.outputs[key]
        series = [(output.heading, evidence.estimates[key])]
        yield from forest(ax, series, row_of(evidence.labels), names=names, digits=output.digits)


def diagrams(evidence: "Evidence", axes: "Sequence[Axes]") -> Iterator[Mark]:
    """Yield a mark for every stated confidence of every reliability diagram."""
    result, where = evidence.curves.reliability, row_of(evidence.labels)
    for ax, curve in zip(axes, result.curves, strict=False):
        name = str(curve.label)
        for x, seen, line_at, n in zip(
            curve.confidence, curve.observed, curve.recalibrated, curve.n, strict=True
        ):
            text = (
                f"{name}: states {number(x)}; {percent(seen, 1)} of {count(n)} correct, "
                f"recalibrated {number(line_at)}"
            )
            rings = curve.confidence.size <= _MOST_RINGS
            yield point(ax, x, seen if rings else line_at, text, where[name])


def roc(result: "Type2ROC", ax: "Axes", where: dict[str, int]) -> Iterator[Mark]:
    """Yield a mark for every curve."""
    for row, label in enumerate(result.labels):
        alarms = np.concatenate([[0.0], result.criterion_false_alarms[row]])
        hits = np.concatenate([[0.0], result.criterion_hits[row]])
        area = with_interval(float(result.auroc.value[row]), result.auroc.interval[row])
        yield line(ax, alarms, hits, f"{label}: AUROC {area}", where[str(label)])


def risk(
    result: "RiskCoverage", axes: "Sequence[Axes]", where: dict[str, int], *, grid: bool = False
) -> Iterator[Mark]:
    """Yield a mark for every curve: all in one axes, or one in each."""
    at = [int(np.abs(result.coverages - share).argmin()) for share in _COVERAGES]
    for row, (label, values) in enumerate(zip(result.labels, answered(result), strict=True)):
        risks = ", ".join(f"{number(values[i])} at {percent(result.coverages[i])}" for i in at)
        area = with_interval(float(result.aurc.value[row]), result.aurc.interval[row], 3)
        text = f"{label}: risk {risks} answered; AURC {area}"
        ax = axes[row] if grid else axes[0]
        yield line(ax, result.coverages, values, text, where[str(label)])
