"""Sections of the report of a panel: each finding with the figures and tables that show it."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.numbers import count, number
from psychollm.estimates.comparisons import Comparisons
from psychollm.estimates.findings import Findings, sentence, sentence_list
from psychollm.plots.calibration_panel import (
    MAIN,
    panel_size,
    plot_calibration_panel,
    rank_order,
)
from psychollm.plots.forest import plot_comparisons
from psychollm.plots.reliability import (
    plot_reliability,
    plot_reliability_grid,
    reliability_grid_size,
)
from psychollm.plots.risk_coverage import (
    answered,
    plot_risk_coverage,
    plot_risk_coverage_grid,
    risk_coverage_grid_size,
)
from psychollm.plots.type2_roc import plot_type2_roc
from psychollm.reports import calibration_marks as marks
from psychollm.reports.figure import Figure, draw_figure, on_axes
from psychollm.reports.marks import cells, row_of
from psychollm.reports.page import Section, finding_section
from psychollm.reports.table import (
    Table,
    estimate_column,
    interval_column,
    name_column,
    number_column,
    p_column,
    text_column,
)

if TYPE_CHECKING:
    from psychollm.calibration.panels.findings import Evidence
    from psychollm.calibration.panels.panel import CalibrationPanel
    from psychollm.calibration.selection.risk_coverage import RiskCoverage

# No wider than the text: the errors of calibration have a table of their own.
_TABLE = ("accuracy", "overconfidence", "auroc", "brier", "aurc_normalised")
_COVERAGES = (0.5, 0.8, 1.0)
_MOST_PANELS = 24
_LARGEST = 7.4  # inches


def overview(panel: "CalibrationPanel", evidence: "Evidence", findings: Findings) -> Section:
    """Return the main numbers of every model."""
    keys = _held(evidence, MAIN) or list(panel)[: len(MAIN)]
    shown = _held(evidence, _TABLE) or list(panel)[: len(_TABLE)]
    figure = draw_figure(
        lambda empty: plot_calibration_panel(panel, metrics=keys, figure=empty),
        size=panel_size(panel.models, len(keys)),
        caption=f"The main metrics with their intervals, models ordered by "
        f"{escape(evidence.outputs[keys[-1]].heading)}, the best on top. The dashed "
        "line marks the value of confidence that carries no information, or that is perfectly "
        "calibrated; a hollow "
        'mark is a value <a href="#flags">with a reservation</a>.',
        title="Main metrics of all models with intervals",
        key="overview-forest",
        marks=lambda drawn: marks.overview(evidence, drawn.axes, keys),
    )
    return finding_section(
        findings["overview"],
        figures=(figure,),
        tables=(_metrics(evidence, shown, "Main metrics"),),
        folded=_folded(evidence, evidence.listed("scores"), "More on the scores"),
    )


def _held(evidence: "Evidence", keys: Sequence[str]) -> list[str]:
    return [key for key in keys if key in evidence.estimates]


def _metrics(evidence: "Evidence", keys: Sequence[str], caption: str) -> Table:
    columns = [name_column("model", evidence.labels), number_column("n", evidence.n, digits=0)]
    for key in keys:
        output = evidence.outputs[key]
        columns.append(
            estimate_column(output.heading, evidence.estimates[key], digits=output.digits)
        )
    return Table.of(columns, caption=caption)


def _folded(evidence: "Evidence", keys: Sequence[str], caption: str) -> tuple[Table, ...]:
    held = _held(evidence, keys)
    return (_metrics(evidence, held, caption),) if held else ()


def reliability(evidence: "Evidence", findings: Findings) -> Section:
    """Return whether what is stated comes true."""
    return finding_section(
        findings["calibration"],
        figures=(_diagrams(evidence),),
        tables=(_errors(evidence),),
        folded=(_bins(evidence),),
    )


def _diagrams(evidence: "Evidence") -> Figure:
    curves, k = evidence.curves, len(evidence.labels)
    reliability, error = curves.reliability, curves.error
    one = on_axes(lambda ax: plot_reliability(reliability, error=error, ax=ax))
    return draw_figure(
        one if k == 1 else lambda fig: plot_reliability_grid(reliability, error=error, figure=fig),
        size=(3.9, 5.0) if k == 1 else reliability_grid_size(k),
        caption=(
            "Share correct over stated confidence. On the diagonal a model is calibrated; below "
            "it claims more than comes true. The line is the recalibrated curve; the grey band "
            "is where it would run, by chance, if the model were calibrated; rings are shares as "
            "observed, as large as the number of answers. Below: how often each confidence was "
            "stated."
        ),
        title="Reliability diagrams of all models",
        key="reliability",
        marks=lambda drawn: marks.diagrams(evidence, drawn.axes),
    )


def _errors(evidence: "Evidence") -> Table:
    error, parts = evidence.curves.error, evidence.curves.reliability
    flags = error.value.flags
    columns = [
        name_column("model", evidence.labels),
        number_column(error.value.name, error.value.value, digits=3),
        number_column("if calibrated", error.expected.value, digits=3),
        p_column("p, adjusted", evidence.calibration_p, reasons=flags),
        interval_column(
            "corrected",
            error.corrected.value,
            error.corrected.interval,
            digits=3,
            reasons=flags,
        ),
        estimate_column("MCB", parts.miscalibration, digits=3),
        p_column("p of MCB", parts.p_value.value, reasons=parts.p_value.flags),
        estimate_column("DSC", parts.discrimination, digits=3),
    ]
    return Table.of(columns, caption="Calibration errors beside what chance alone would show")


def _bins(evidence: "Evidence") -> Table:
    frame = evidence.curves.error.bins.to_frame()
    bounds = frame[["accuracy_lower", "accuracy_upper"]].to_numpy()
    return Table.of(
        [
            name_column("model", frame["model"]),
            number_column("from", frame["lower"], digits=3),
            number_column("to", frame["upper"], digits=3),
            number_column("answers", frame["n"], digits=0),
            number_column("mean confidence", frame["confidence"], digits=3),
            interval_column("share correct", frame["accuracy"], bounds, digits=3),
        ],
        caption="Every bin",
    )


def ranking(evidence: "Evidence", findings: Findings) -> Section:
    """Return whether confidence tells correct from wrong answers."""
    roc = evidence.curves.roc
    figures: tuple[Figure, ...] = ()
    if roc is not None:
        figures = (
            draw_figure(
                on_axes(lambda ax: plot_type2_roc(roc, ax=ax)),
                size=(8.6, 4.7),
                caption="Share of correct over share of wrong answers above a falling criterion; "
                "dashed: confidence that knows nothing. The area below a curve is the chance that "
                "a correct answer has more confidence than a wrong one.",
                title="Type-2 ROC curves of all models",
                key="roc",
                marks=lambda drawn: marks.roc(roc, drawn.axes[0], row_of(evidence.labels)),
            ),
        )
    held = evidence.listed("ranking")
    return finding_section(
        findings["ranking"],
        figures=figures,
        tables=(_metrics(evidence, held, "How well confidence ranks answers"),) if held else (),
        folded=_folded(
            evidence, evidence.listed("decisions"), "As a yes or no: confidence above one half"
        ),
    )


def selection(evidence: "Evidence", findings: Findings) -> Section:
    """Return what is gained by answering only where confident."""
    curve = evidence.curves.risk_coverage
    folded = _folded(evidence, evidence.listed("selection"), "Areas under the curves")
    if curve is None:
        return finding_section(findings["selection"], folded=folded)
    k = len(evidence.labels)
    figures = [
        draw_figure(
            on_axes(lambda ax: plot_risk_coverage(curve, ax=ax)),
            size=(7.6, 4.7),
            caption="Error rate among the most confident answers over their share. A curve that "
            "stays level gains nothing by leaving questions out.",
            title="Risk-coverage curves of all models",
            key="risk-coverage",
            marks=lambda drawn: marks.risk(curve, drawn.axes, row_of(evidence.labels)),
        )
    ]
    if 3 < k <= _MOST_PANELS:
        figures.append(
            draw_figure(
                lambda empty: plot_risk_coverage_grid(curve, figure=empty),
                size=risk_coverage_grid_size(k),
                caption="The same with its band, model by model. Dashed: a random order; dotted: "
                "all errors last, as no confidence can better.",
                title="Risk-coverage curve of each model with its baselines",
                key="risk-coverage-grid",
                marks=lambda drawn: marks.risk(
                    curve, drawn.axes, row_of(evidence.labels), grid=True
                ),
            )
        )
    return finding_section(
        findings["selection"],
        figures=tuple(figures),
        tables=(_risks(curve),),
        folded=folded,
    )


def _at(curve: "RiskCoverage", coverage: float) -> int:
    return int(np.abs(curve.coverages - coverage).argmin())


def _risks(curve: "RiskCoverage") -> Table:
    reasons = [str(flag) for flag in curve.flags]
    columns = [name_column("model", curve.labels), number_column("n", curve.n, digits=0)]
    for coverage in _COVERAGES:
        at = _at(curve, coverage)
        columns.append(
            interval_column(
                f"risk at {number(curve.coverages[at])}",
                answered(curve)[:, at],
                curve.interval[:, at],
                reasons=reasons,
            )
        )
    columns.append(estimate_column("AURC", curve.aurc, digits=3))
    return Table.of(columns, caption="Error rates at some shares of questions answered")


def comparisons(evidence: "Evidence", findings: Findings) -> Section:
    """Return which models differ."""
    compared = evidence.comparisons
    return finding_section(
        findings["comparisons"],
        figures=tuple(_matrix(evidence, key) for key in compared),
        folded=tuple(_pairs(evidence, key) for key in compared),
    )


def _matrix(evidence: "Evidence", key: str) -> Figure:
    k, estimate = len(evidence.labels), evidence.estimates[key]
    heading = evidence.outputs[key].heading
    best_first = rank_order(evidence.outputs[key], estimate).argsort().astype(np.float64)
    side = min(2.6 + 0.24 * k, _LARGEST)
    return draw_figure(
        on_axes(lambda ax: plot_comparisons(evidence.comparisons[key], order=best_first, ax=ax)),
        size=(side + 1.0, side),
        caption=f"Paired differences in {escape(heading)}, row less column; a dot "
        "where the two differ after adjustment for all pairs.",
        title=f"Differences in {heading} between all pairs of models",
        key=f"compare-{key.replace('_', '-')}",
        marks=lambda drawn: cells(drawn.axes[0], "difference", row_of(evidence.labels), digits=3),
    )


def _pairs(evidence: "Evidence", key: str) -> Table:
    result: Comparisons = evidence.comparisons[key]
    order = np.argsort(np.nan_to_num(result.adjusted, nan=2.0), kind="stable").tolist()
    flags = [str(result.flags[pair]) for pair in order]
    return Table.of(
        [
            name_column("first", [result.first[pair] for pair in order]),
            name_column("second", [result.second[pair] for pair in order]),
            interval_column(
                "difference",
                result.value[order],
                result.interval[order],
                digits=3,
                reasons=flags,
            ),
            p_column("p", result.p_value[order], reasons=flags),
            p_column("p, adjusted", result.adjusted[order], reasons=flags),
        ],
        caption=f"All pairs on {escape(evidence.outputs[key].heading)}",
    )


def flags(evidence: "Evidence", findings: Findings) -> Section:
    """Return what is undefined, and what must be read with a reservation."""
    table = _flagged(evidence)
    return finding_section(findings["flags"], tables=(table,) if table.rows else ())


def _flagged(evidence: "Evidence") -> Table:
    """One row per reason and kind: whose values on which metrics it concerns."""
    rows: dict[tuple[str, bool], tuple[dict[Any, None], dict[str, None]]] = {}
    for key, estimate in evidence.estimates.items():
        heading = evidence.outputs[key].heading
        for label, flag, defined in zip(
            estimate.labels, estimate.flags, estimate.defined, strict=True
        ):
            if flag or not defined:
                reason = str(flag) or "undefined"
                who, what = rows.setdefault((reason, bool(defined)), ({}, {}))
                who[label], what[heading] = None, None
    ordered = sorted(rows.items(), key=lambda row: (row[0][1], row[0][0]))
    return Table.of(
        [
            text_column("why", [reason for (reason, _), _ in ordered]),
            text_column("value", ["given" if known else "none" for (_, known), _ in ordered]),
            text_column("models", [sentence_list(list(who)) for _, (who, _) in ordered]),
            text_column("metrics", [sentence_list(list(what)) for _, (_, what) in ordered]),
        ],
        caption="Reasons, whose values they concern, and on which metrics",
    )


def definitions_of(table: Table) -> Section:
    """Return the section of definitions."""
    return Section(
        title="What do the metrics mean?",
        key="definitions",
        paragraphs=(sentence(f"{count(len(table.rows))} metrics on the same resamples"),),
        folded=(table,),
    )
