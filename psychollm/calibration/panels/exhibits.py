"""Figures and tables of a panel's findings."""

from collections.abc import Mapping, Sequence
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.numbers import count, number
from psychollm.calibration.metric import Section
from psychollm.calibration.panels.catalogue import MAIN, rank_order
from psychollm.calibration.selection.risk_coverage import answered
from psychollm.estimates.comparisons import Comparisons
from psychollm.estimates.exhibits import Drawing, Exhibit, Listing
from psychollm.estimates.findings import Finding, sentence, sentence_list
from psychollm.estimates.listing import (
    Table,
    estimate_column,
    interval_column,
    name_column,
    number_column,
    p_column,
    text_column,
)
from psychollm.estimates.verdict import SmallestEffects

if TYPE_CHECKING:
    from psychollm.calibration.panels.findings import Evidence
    from psychollm.calibration.panels.panel import CalibrationPanel
    from psychollm.calibration.selection.risk_coverage import RiskCoverage

# Only these columns fit into the text width; calibration errors are listed in a separate table.
_TABLE = ("accuracy", "overconfidence", "auroc", "brier", "aurc_normalised")
_COVERAGES = (0.5, 0.8, 1.0)
_MOST_PANELS = 24


def exhibits(
    evidence: "Evidence", smallest: SmallestEffects
) -> Mapping[str, Sequence[Exhibit | None]]:
    """Return the figures and tables that support each finding."""
    return {
        "overview": _overview(evidence),
        "calibration": (
            _diagrams(evidence),
            Listing(table=partial(_errors, evidence)),
            Listing(table=partial(_bins, evidence), folded=True),
        ),
        "ranking": _ranking(evidence),
        "selection": _selection(evidence),
        "comparisons": (
            *(_matrix(evidence, key) for key in evidence.comparisons),
            *(
                Listing(table=partial(_pairs, evidence, key), folded=True)
                for key in evidence.comparisons
            ),
        ),
        "flags": (Listing(table=partial(_flagged, evidence)),),
    }


def _overview(evidence: "Evidence") -> tuple[Exhibit | None, ...]:
    every = list(evidence.estimates)
    keys = _held(evidence, MAIN) or every[: len(MAIN)]
    drawn = Drawing(
        plot="plot_calibration_panel",
        of=evidence.panel,
        options={"metrics": keys},
        key="overview-forest",
        title="Main metrics of all models with intervals",
        caption=(
            "Main metrics with intervals. Models are ordered by "
            f"{escape(evidence.outputs[keys[-1]].heading)}, with the best first. The dashed line "
            "marks the value of uninformative, or of perfectly calibrated, confidence. Hollow "
            'marks show <a href="#flags">flagged</a> values.'
        ),
    )
    shown = _held(evidence, _TABLE) or every[: len(_TABLE)]
    return (
        drawn,
        Listing(table=partial(_metrics, evidence, shown, "Main metrics")),
        _of_section(evidence, "scores", "More on the scores", folded=True),
    )


def _of_section(
    evidence: "Evidence", section: Section, caption: str, *, folded: bool = False
) -> Listing | None:
    """Return the table of a section's metrics; None if the panel has no metrics of the section."""
    held = evidence.listed(section)
    table = partial(_metrics, evidence, held, caption)
    return Listing(table=table, folded=folded) if held else None


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


def _diagrams(evidence: "Evidence") -> Drawing:
    curves, one = evidence.curves, len(evidence.labels) == 1
    return Drawing(
        plot="plot_reliability" if one else "plot_reliability_grid",
        of=curves.reliability,
        options={"error": curves.error},
        key="reliability",
        title="Reliability diagrams of all models",
        caption=(
            "Accuracy by stated confidence. A model is calibrated on the diagonal and "
            "overconfident below it. The line is the recalibration curve, and the grey band "
            "shows its range for a calibrated model. Rings mark observed accuracies; their area "
            "shows the number of answers. The lower panel shows the frequency of each confidence "
            "value."
        ),
    )


def _errors(evidence: "Evidence") -> Table:
    error, parts = evidence.curves.error, evidence.curves.reliability
    flags = error.value.flags
    columns = [
        name_column("model", evidence.labels),
        number_column(error.value.name, error.value.value, digits=3),
        number_column("under calibration", error.expected.value, digits=3),
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
    return Table.of(columns, caption="Calibration errors and their expectation")


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
            interval_column("proportion correct", frame["accuracy"], bounds, digits=3),
        ],
        caption="All bins",
    )


def _ranking(evidence: "Evidence") -> tuple[Exhibit | None, ...]:
    roc = Drawing(
        plot="plot_type2_roc",
        of=evidence.curves.roc,
        key="roc",
        title="Type-2 ROC curves of all models",
        caption="Proportions of correct and of wrong answers above each threshold. The dashed "
        "line shows uninformative confidence. The area under a curve is the probability "
        "that a correct answer has higher confidence than a wrong one.",
    )
    yes_or_no = "Binary confidence: above one half"
    return (
        None if evidence.curves.roc is None else roc,
        _of_section(evidence, "ranking", "Ranking metrics"),
        _of_section(evidence, "decisions", yes_or_no, folded=True),
    )


def _selection(evidence: "Evidence") -> tuple[Exhibit | None, ...]:
    curve = evidence.curves.risk_coverage
    folded = _of_section(evidence, "selection", "Areas under the curves", folded=True)
    if curve is None:
        return (folded,)
    every = Drawing(
        plot="plot_risk_coverage",
        of=curve,
        key="risk-coverage",
        title="Risk-coverage curves of all models",
        caption=(
            "Error rate among the most confident answers, by coverage. If a curve is flat, "
            "abstention does not reduce errors."
        ),
    )
    each = Drawing(
        plot="plot_risk_coverage_grid",
        of=curve,
        key="risk-coverage-grid",
        title="Risk-coverage curve of each model with its baselines",
        caption=(
            "Risk-coverage curve of each model, with its band. The dashed line shows a "
            "random order, the dotted line the optimal order, with all errors last."
        ),
    )
    few = 3 < len(evidence.labels) <= _MOST_PANELS
    return every, each if few else None, Listing(table=partial(_risks, curve)), folded


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
    return Table.of(columns, caption="Error rates at several coverages")


def _matrix(evidence: "Evidence", key: str) -> Drawing:
    output = evidence.outputs[key]
    best_first = rank_order(output, evidence.estimates[key]).argsort().astype(np.float64)
    return Drawing(
        plot="plot_comparisons",
        of=evidence.comparisons[key],
        options={"order": best_first},
        key=f"compare-{key.replace('_', '-')}",
        title=f"Differences in {output.heading} between all pairs of models",
        caption=(
            f"Paired differences in {escape(output.heading)}, row minus column. A dot marks a "
            "pair of models that differs significantly after adjustment for multiple comparisons."
        ),
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
        caption=f"All pairs of models, {escape(evidence.outputs[key].heading)}",
    )


def _flagged(evidence: "Evidence") -> Table | None:
    """Return one row per reason for flagged values, with the affected models and metrics."""
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
    if not rows:
        return None
    ordered = sorted(rows.items(), key=lambda row: (row[0][1], row[0][0]))
    return Table.of(
        [
            text_column("why", [reason for (reason, _), _ in ordered]),
            text_column("value", ["given" if known else "none" for (_, known), _ in ordered]),
            text_column("models", [sentence_list(list(who)) for _, (who, _) in ordered]),
            text_column("metrics", [sentence_list(list(what)) for _, (_, what) in ordered]),
        ],
        caption="Reasons for undefined and flagged values, by model and metric",
    )


def definitions(panel: "CalibrationPanel") -> Finding:
    """Return the meaning of each metric and the method of its interval, one line per metric."""
    return Finding(
        key="definitions",
        question="What do the metrics mean?",
        statement=sentence(
            f"{count(len(panel.estimates))} metrics are computed on the same resamples"
        ),
        exhibits=(Listing(table=partial(_definitions, panel), folded=True),),
    )


def _definitions(panel: "CalibrationPanel") -> Table:
    words = {key: panel.outputs[key] for key in panel.estimates}
    return Table.of(
        [
            text_column("metric", [output.heading for output in words.values()]),
            text_column("meaning", [output.meaning or "–" for output in words.values()]),
            text_column("better", [output.better or "–" for output in words.values()]),
            text_column(
                "neutral",
                ["–" if w.neutral is None else f"{w.neutral:g}" for w in words.values()],
            ),
            text_column("interval", [output.method for output in panel.estimates.values()]),
            text_column("key", list(words)),
        ],
        caption=(
            "Metrics; the neutral value is the value for uninformative or perfectly calibrated "
            "confidence"
        ),
    )
