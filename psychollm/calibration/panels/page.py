"""The page of a calibration panel: what stands on top, and how it was made."""

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
        f"questions; a model counts on those that have both a confidence and a correctness "
        f"({count(missing)} of {count(size)} answers do not). Confidence is taken "
        "as the probability of being correct; metrics that need a yes or no say yes above one "
        f"half.{clusters}{weights}"
    )


def _uncertainty(panel: "CalibrationPanel") -> str:
    return (
        f"<b>Uncertainty.</b> Intervals cover {percent(panel.level)}. Questions were resampled "
        f"{count(panel.n_bootstrap)} times, the same for all models and metrics, so that "
        "differences between models are paired. Which interval each metric has stands beside its "
        f"definition: BCa {cite('efron')}, DeLong’s {cite('delong')}, Wilson’s {cite('wilson')} "
        "and others, chosen for their coverage. Comparisons of all pairs are adjusted by the "
        f"step-down maximum of their t statistics over the resamples {cite('maxt')}, which knows "
        "that pairs share models; their intervals hold all together. Nothing that is undefined "
        "was replaced by a number."
    )


def _noise(evidence: "Evidence") -> str:
    draws = evidence.curves.error.expected
    return (
        f"<b>Calibration.</b> A binned error {cite('ece')} is above zero by chance alone. Beside "
        "each stands what it would be if the model were calibrated, from data sets simulated with "
        "its own confidences, and the share of them with an error at least as large: the p-value, "
        f"adjusted for the number of models {cite('holm')}. Bins are the stated confidences "
        "themselves where there are at most 20. The corrected error is the one under which "
        "this sample is the median one; intervals are about the error in the population. "
        f"Without bins, the score is split by isotonic regression {cite('corp')} into what "
        "recalibration would take off (MCB), what confidence tells (DSC) and what is left; the "
        f"{percent(draws.level)} band around the diagonal is where the curve of a calibrated "
        "model runs, point by point. Bands take answers as independent; p-values do not where "
        "questions come in clusters, and are not given where these are few."
    )


def _curves(panel: "CalibrationPanel") -> str:
    return (
        "<b>Ranking and selection.</b> Tied confidences are told apart at random, in expectation: "
        "no result depends on the order of questions. The risk-coverage curve "
        f"{cite('selective')} is the error rate among the most confident answers; bands of curves "
        f"are Wilson’s with the variance of the resamples, point by point, at "
        f"{percent(panel.level)}."
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
            ("accuracy", "Share of correct answers", ""),
            (
                "overconfidence",
                "Mean confidence less share correct",
                "0: neither over nor under",
            ),
            ("auroc", "Confidence ranks correct above wrong (AUROC)", "one half: knows nothing"),
            ("aurc_normalised", "Normalised AURC", "1: random order, 0: all errors last"),
        )
        if key in estimates
    ]
    facts.append(
        Fact(
            name="Calibration error",
            value=extent(error.value.value, digits=3),
            detail=f"{extent(error.expected.value, digits=3)} if calibrated"
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
    """Name the models of which little can be said."""
    defined = np.mean([estimate.defined for estimate in evidence.estimates.values()], axis=0)
    little = defined < 0.5
    if not little.any():
        return ()
    verb = "has" if int(little.sum()) == 1 else "have"
    return (
        f"<b>{names(evidence.labels, little)}</b> {verb} no value on most metrics: see "
        '<a href="#flags">why</a>.',
    )


LAYOUT = Layout(
    title="Calibration: can what the models say of their answers be believed?",
    of=_evidence,
    subtitle=_subtitle,
    facts=_facts,
    notices=_notices,
    methods=_methods,
    call=_call,
    models=lambda evidence: evidence.labels,
)

PAGES = {"CalibrationPanel": LAYOUT}
