"""Page of a calibration panel: summary and methods."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import count, extent, interval, number, percent, with_interval
from psychollm.calibration.panels.exhibits import definitions
from psychollm.estimates.layout import Fact, Layout, models, names
from psychollm.estimates.references import cite
from psychollm.estimates.verdict import SmallestEffects

if TYPE_CHECKING:
    from psychollm.calibration.panels.findings import Evidence
    from psychollm.calibration.panels.panel import CalibrationPanel
    from psychollm.calibration.panels.panel_curves import PanelCurves
    from psychollm.estimates.findings import Findings


def _evidence(
    panel: "CalibrationPanel", smallest: SmallestEffects, *, curves: "PanelCurves | None" = None
) -> "tuple[Evidence, Findings]":
    evidence = panel.evidence(smallest=smallest, curves=curves)
    found = evidence.findings()
    return evidence, replace(found, items=(*found.items, definitions(panel)))


def _subtitle(evidence: "Evidence") -> str:
    panel = evidence.panel
    clusters = "" if panel.answers.clusters is None else " of clusters"
    return (
        f"{models(len(panel.models)).capitalize()}, {count(len(panel.answers.questions))} "
        "questions, "
        f"{percent(panel.level)} intervals from {count(panel.n_bootstrap)} resamples{clusters}"
    )


def _methods(evidence: "Evidence") -> tuple[str, ...]:
    panel = evidence.panel
    return (_data(panel), _uncertainty(panel), _noise(evidence), _curves(panel))


def _data(panel: "CalibrationPanel") -> str:
    answers = panel.answers
    size = len(panel.models) * len(answers.questions)
    missing = size - int(panel.n.sum())
    weights = " Questions were weighted." if answers.weighted else ""
    clusters = (
        ""
        if answers.clusters is None
        else f" Questions come in {count(float(answers.clusters.max()) + 1)} clusters, which were "
        "resampled whole."
    )
    return (
        f"<b>Data.</b> {count(len(panel.models))} models and {count(len(answers.questions))} "
        f"questions. Metrics use questions with both confidence and correctness "
        f"({count(missing)} of {count(size)} answers are missing). Confidence is interpreted as "
        "the probability of being correct. Metrics that require yes/no answers treat confidence "
        f"above one half as yes.{clusters}{weights}"
    )


def _uncertainty(panel: "CalibrationPanel") -> str:
    return (
        f"<b>Uncertainty.</b> Intervals have {percent(panel.level)} nominal coverage. Questions "
        f"were resampled {count(panel.n_bootstrap)} times, identically for all models and "
        "metrics, so that differences between models are paired. The table of metrics names the "
        f"interval of each: BCa {cite('efron')}, DeLong {cite('delong')}, Wilson "
        f"{cite('wilson')} and others, chosen for their coverage. Comparisons of all pairs of "
        f"models are adjusted by a step-down max-t procedure over the resamples {cite('maxt')}; "
        "their intervals are simultaneous. Undefined values were not replaced by numbers."
    )


def _noise(evidence: "Evidence") -> str:
    draws = evidence.curves.error.expected
    return (
        f"<b>Calibration.</b> The binned calibration error {cite('ece')} of a calibrated model "
        "is above zero by chance. The expected error is computed from data sets simulated under "
        "calibration, with the model's own confidences. The p-value is the proportion of "
        "simulated data sets with an error at least as large, adjusted for the number of models "
        f"{cite('holm')}. With at most 20 distinct confidence values, each value is a bin. The "
        "corrected error is median-unbiased; intervals are for the error in the population. "
        f"Isotonic regression {cite('corp')} decomposes the score, without bins, into "
        f"miscalibration (MCB), discrimination (DSC) and uncertainty. The {percent(draws.level)} "
        "pointwise band around the diagonal shows where the curve of a calibrated model is "
        "expected. Bands assume independent answers. P-values account for clusters of questions, "
        "and are omitted if clusters are few."
    )


def _curves(panel: "CalibrationPanel") -> str:
    return (
        "<b>Ranking and selection.</b> Results are averaged over all orders of tied confidences, "
        "so they do not depend on the order of questions. The risk-coverage curve "
        f"{cite('selective')} shows the error rate among the most confident answers as a "
        "function of the proportion of answers retained (coverage). The "
        f"{percent(panel.level)} bands of curves are pointwise Wilson intervals whose effective "
        "number of answers is computed from the variance over the resamples."
    )


def _call(evidence: "Evidence", source: str, options: str) -> str:
    panel, n_draws = evidence.panel, evidence.curves.n_draws
    given = source or (
        "# confidence and correctness: the two tables, models x questions\n"
        "panel = psy.calibration_panel("
        f"confidence, correctness, bootstrap={panel.n_bootstrap}, level={panel.level:g})"
    )
    if "\ncurves = " not in given:
        given += f"\ncurves = panel.curves(n_draws={n_draws})"
    return f'{given}\npanel.report("report.html", curves=curves)'


def _facts(evidence: "Evidence", smallest: SmallestEffects) -> tuple[Fact, ...]:
    estimates, error = evidence.estimates, evidence.curves.error
    rejected, k = int(evidence.miscalibrated.sum()), len(evidence.labels)
    facts = [
        Fact(name=name, value=extent(estimates[key].value), detail=detail)
        for key, name, detail in (
            ("accuracy", "Proportion correct", ""),
            (
                "overconfidence",
                "Mean confidence minus proportion correct",
                "0: no bias",
            ),
            ("auroc", "AUROC of confidence for correctness", "one half: uninformative"),
            ("aurc_normalised", "Normalised AURC", "1: random order, 0: all errors last"),
        )
        if key in estimates
    ]
    facts.append(
        Fact(
            name="Calibration error",
            value=extent(error.value.value, digits=3),
            detail=f"{extent(error.expected.value, digits=3)} under calibration"
            + (f"; rejected for {rejected} of {k}" if k > 1 else ""),
        )
    )
    if "brier" in estimates and estimates["brier"].defined.any():
        facts.append(_best(evidence))
    return tuple(facts)


def _best(evidence: "Evidence") -> Fact:
    score = evidence.estimates["brier"]
    best = int(np.nanargmin(score.value))
    value = with_interval(float(score.value[best]), score.interval[best], 3)
    if len(score.labels) == 1:
        bounds = interval(score.interval[0], 3)
        return Fact(name="Brier score", value=number(float(score.value[0]), 3), detail=bounds)
    return Fact(name="Lowest Brier score", value=str(score.labels[best]), detail=value)


def _notices(evidence: "Evidence") -> tuple[str, ...]:
    """Return notices about models without values for most metrics."""
    defined = np.mean([estimate.defined for estimate in evidence.estimates.values()], axis=0)
    little = defined < 0.5
    if not little.any():
        return ()
    verb = "has" if int(little.sum()) == 1 else "have"
    return (
        f"<b>{names(evidence.labels, little)}</b> {verb} no value for most metrics: see "
        '<a href="#flags">why</a>.',
    )


LAYOUT = Layout(
    title="Calibration of stated confidence",
    of=_evidence,
    subtitle=_subtitle,
    facts=_facts,
    notices=_notices,
    methods=_methods,
    call=_call,
    models=lambda evidence: evidence.labels,
)

PAGES = {"CalibrationPanel": LAYOUT}
