"""Sections of the report of a panel: the numbers, calibration, ranking, selection."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.numbers import count, extent, number
from psychollm.calibration.panels.catalogue import listed, panel_outputs
from psychollm.calibration.panels.panel_text import TOLD, told_apart
from psychollm.estimates.findings import sentence
from psychollm.estimates.verdict import Outcome, SmallestEffects, counted
from psychollm.plots.calibration_panel import MAIN, panel_size, plot_calibration_panel
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
from psychollm.reports.figure import Figure, draw_figure, draw_on_figure
from psychollm.reports.marks import places
from psychollm.reports.page import Section
from psychollm.reports.table import (
    Table,
    estimate_column,
    interval_column,
    number_column,
    p_column,
    text_column,
)

if TYPE_CHECKING:
    from psychollm.calibration.discrimination.type2_roc import Type2ROC
    from psychollm.calibration.selection.risk_coverage import RiskCoverage
    from psychollm.reports.calibration_evidence import Evidence

_COVERAGES = (0.5, 0.8, 1.0)
_MOST_PANELS = 24


def overview(evidence: "Evidence") -> Section:
    """Return the main numbers of every model."""
    panel = evidence.panel
    keys = [key for key in MAIN if key in panel.estimates] or list(panel)[: len(MAIN)]
    shown = evidence.held(*TOLD) or list(panel)[: len(TOLD)]
    figure = draw_on_figure(
        lambda empty: plot_calibration_panel(panel, metrics=keys, figure=empty),
        size=panel_size(len(panel.models), len(keys)),
        caption=f"The main metrics with their intervals, models ordered by "
        f"{escape(panel_outputs()[keys[-1]].heading)}, the best on top. The dashed "
        "line is what confidence would show that knows nothing, or that is calibrated; a hollow "
        'mark is a value <a href="#flags">with a reservation</a>.',
        title="Main metrics of all models with intervals",
        key="overview-forest",
        marks=lambda drawn: marks.overview(evidence, drawn.axes, keys),
    )
    return Section(
        title="What do the numbers say?",
        key="overview",
        figures=(figure,),
        tables=(_metrics(evidence, shown, "Main metrics"),),
        folded=_folded(evidence, listed("scores"), "More on the scores"),
    )


def _metrics(evidence: "Evidence", keys: Sequence[str], caption: str) -> Table:
    panel = evidence.panel
    columns = [text_column("model", panel.models), number_column("n", panel.n, digits=0)]
    columns += [
        estimate_column(
            panel_outputs()[key].heading, panel[key], digits=panel_outputs()[key].digits
        )
        for key in keys
    ]
    return Table.of(columns, caption=caption)


def _folded(evidence: "Evidence", keys: Sequence[str], caption: str) -> tuple[Table, ...]:
    held = evidence.held(*keys)
    return (_metrics(evidence, held, caption),) if held else ()


def reliability(evidence: "Evidence") -> Section:
    """Return whether what is stated comes true."""
    return Section(
        title="Does what is stated come true?",
        key="calibration",
        paragraphs=(_rejected(evidence),),
        figures=(_diagrams(evidence),),
        tables=(_errors(evidence),),
        folded=(_bins(evidence),),
    )


def _diagrams(evidence: "Evidence") -> Figure:
    curves, k = evidence.curves, len(evidence.labels)
    words: dict[str, Any] = {
        "caption": "Share correct over stated confidence. On the diagonal a model is calibrated; "
        "below it claims more than comes true. The line is the recalibrated curve; the grey band "
        "is where it would run, by chance, if the model were calibrated; rings are shares as "
        "observed, as large as the number of answers. Below: how often each confidence was "
        "stated.",
        "title": "Reliability diagrams of all models",
        "key": "reliability",
        "marks": lambda drawn: marks.diagrams(evidence, drawn.axes),
    }
    if k == 1:
        return draw_figure(
            lambda ax: plot_reliability(curves.reliability, error=curves.error, ax=ax),
            size=(3.9, 5.0),
            **words,
        )
    return draw_on_figure(
        lambda empty: plot_reliability_grid(curves.reliability, error=curves.error, figure=empty),
        size=reliability_grid_size(k),
        **words,
    )


def _rejected(evidence: "Evidence") -> str:
    error, found = evidence.curves.error, evidence.calibrated
    least = number(evidence.smallest.calibration_error)
    if len(found.labels) == 1:
        told = {
            Outcome.ABOVE: "Calibration is rejected",
            Outcome.SMALL: f"The model is calibrated to within {least}",
        }.get(
            found.outcomes[0], "There are too few answers to say whether the model is calibrated"
        )
    else:
        words = {
            Outcome.ABOVE: ("is not calibrated", "are not calibrated"),
            Outcome.SMALL: (f"is, to within {least}", f"are, to within {least}"),
        }
        told = sentence(counted(found, words, whether="whether they are calibrated"))[:-1]
    return (
        f"{told}. The calibration error is {extent(error.value.value, digits=3)}; calibrated "
        "models "
        f"with the same confidences would show {extent(error.expected.value, digits=3)}."
    )


def _errors(evidence: "Evidence") -> Table:
    error, parts = evidence.curves.error, evidence.curves.reliability
    flags = error.value.flags
    columns = [
        text_column("model", evidence.labels),
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
            text_column("model", frame["model"]),
            number_column("from", frame["lower"], digits=3),
            number_column("to", frame["upper"], digits=3),
            number_column("answers", frame["n"], digits=0),
            number_column("mean confidence", frame["confidence"], digits=3),
            interval_column("share correct", frame["accuracy"], bounds, digits=3),
        ],
        caption="Every bin",
    )


def ranking(evidence: "Evidence") -> Section:
    """Return whether confidence tells correct from wrong answers."""
    roc = evidence.curves.roc
    figures: tuple[Figure, ...] = ()
    paragraphs = [_undrawn()] if roc is None else []
    if roc is not None:
        paragraphs.append(_told_apart(roc, evidence.smallest))
        figures = (
            draw_figure(
                lambda ax: plot_type2_roc(roc, ax=ax),
                size=(8.6, 4.7),
                caption="Share of correct over share of wrong answers above a falling criterion; "
                "dashed: confidence that knows nothing. The area below a curve is the chance that "
                "a correct answer has more confidence than a wrong one.",
                title="Type-2 ROC curves of all models",
                key="roc",
                marks=lambda drawn: marks.roc(roc, drawn.axes[0], places(evidence.labels)),
            ),
        )
    held = evidence.held(*listed("ranking"))
    return Section(
        title="Does confidence tell correct from wrong answers?",
        key="ranking",
        paragraphs=tuple(paragraphs),
        figures=figures,
        tables=(_metrics(evidence, held, "How well confidence ranks answers"),) if held else (),
        folded=_folded(evidence, listed("decisions"), "As a yes or no: confidence above one half"),
    )


def _told_apart(roc: "Type2ROC", smallest: SmallestEffects) -> str:
    told = sentence(told_apart(roc.auroc, smallest))[:-1]
    return f"{escape(told)} (AUROC {extent(roc.auroc.value)})."


def selection(evidence: "Evidence") -> Section:
    """Return what is gained by answering only where confident."""
    curve = evidence.curves.risk_coverage
    title, key = "What is gained by answering only where confident?", "selection"
    folded = _folded(evidence, listed("selection"), "Areas under the curves")
    if curve is None:
        return Section(title=title, key=key, paragraphs=(_undrawn(),), folded=folded)
    k = len(evidence.labels)
    figures = [
        draw_figure(
            lambda ax: plot_risk_coverage(curve, ax=ax),
            size=(7.6, 4.7),
            caption="Error rate among the most confident answers over their share. A curve that "
            "stays level gains nothing by leaving questions out.",
            title="Risk-coverage curves of all models",
            key="risk-coverage",
            marks=lambda drawn: marks.risk(curve, drawn.axes, places(evidence.labels)),
        )
    ]
    if 3 < k <= _MOST_PANELS:
        figures.append(
            draw_on_figure(
                lambda empty: plot_risk_coverage_grid(curve, figure=empty),
                size=risk_coverage_grid_size(k),
                caption="The same with its band, model by model. Dashed: a random order; dotted: "
                "all errors last, as no confidence can better.",
                title="Risk-coverage curve of each model with its baselines",
                key="risk-coverage-grid",
                marks=lambda drawn: marks.risk(
                    curve, drawn.axes, places(evidence.labels), grid=True
                ),
            )
        )
    return Section(
        title=title,
        key=key,
        paragraphs=(_gain(curve),),
        figures=tuple(figures),
        tables=(_risks(curve),),
        folded=folded,
    )


def _gain(curve: "RiskCoverage") -> str:
    half = _at(curve, 0.5)
    return (
        f"Answering everything, the error rate is {extent(curve.error_rate)}; answering the more "
        f"confident half, {extent(answered(curve)[:, half])}."
    )


def _at(curve: "RiskCoverage", coverage: float) -> int:
    return int(np.abs(curve.coverages - coverage).argmin())


def _risks(curve: "RiskCoverage") -> Table:
    reasons = [str(flag) for flag in curve.flags]
    columns = [text_column("model", curve.labels), number_column("n", curve.n, digits=0)]
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


def _undrawn() -> str:
    return (
        "Correctness is a chance here, not 1 or 0, for at least one answer: curves that count "
        "correct and wrong answers are not drawn."
    )


def definitions_of(table: Table) -> Section:
    """Return the section of definitions."""
    return Section(
        title="What do the metrics mean?",
        key="definitions",
        paragraphs=(sentence(f"{count(len(table.rows))} metrics on the same resamples"),),
        folded=(table,),
    )
