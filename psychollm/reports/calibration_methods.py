"""How a panel was made: methods in words with references, definitions, and the call."""

from typing import TYPE_CHECKING

from psychollm._base.numbers import count, percent
from psychollm.calibration.panels.catalogue import panel_outputs
from psychollm.reports.references import cite
from psychollm.reports.table import Table, text_column

if TYPE_CHECKING:
    from psychollm.calibration.panels.findings import Evidence
    from psychollm.calibration.panels.panel import CalibrationPanel


def methods(panel: "CalibrationPanel", evidence: "Evidence") -> tuple[str, ...]:
    """Return the methods of a panel as paragraphs."""
    return (_data(panel), _uncertainty(panel), _noise(evidence), _curves(panel))


def _data(panel: "CalibrationPanel") -> str:
    answers = panel.answers
    missing = int((~answers.present).sum())
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
        f"({count(missing)} of {count(answers.present.size)} answers do not). Confidence is taken "
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


def definitions(panel: "CalibrationPanel") -> Table:
    """Return every metric of a panel in a line: what it means, and how its interval is made."""
    words = {key: panel_outputs()[key] for key in panel.estimates}
    return Table.of(
        [
            text_column("metric", [output.heading for output in words.values()]),
            text_column("what it is", [output.meaning for output in words.values()]),
            text_column("better", [output.better or "–" for output in words.values()]),
            text_column(
                "neutral",
                ["–" if w.neutral is None else f"{w.neutral:g}" for w in words.values()],
            ),
            text_column("interval", [output.method for output in panel.estimates.values()]),
            text_column("key", list(words)),
        ],
        caption="Metrics: neutral is what confidence shows that knows nothing, or is calibrated",
    )


def code(panel: "CalibrationPanel", source: str) -> str:
    """Return the lines of Python that repeat the panel; `source` is what makes it."""
    given = source or (
        "# confidence and correctness: the two tables, models x questions\n"
        "panel = psy.calibration_panel("
        f"confidence, correctness, bootstrap={panel.n_bootstrap}, level={panel.level:g})"
    )
    return f'import psychollm as psy\n\n{given}\npanel.report("report.html")'
