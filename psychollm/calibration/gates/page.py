"""Page of a confidence gate: summary and methods."""

from typing import TYPE_CHECKING

from psychollm._base.numbers import count, percent
from psychollm.estimates.layout import Fact, Layout
from psychollm.estimates.references import cite
from psychollm.estimates.verdict import SmallestEffects

if TYPE_CHECKING:
    from psychollm.calibration.gates.confidence_gate import ConfidenceGate


def _methods(result: "ConfidenceGate") -> tuple[str, ...]:
    clusters = (
        "Clustered answers are dependent. The effective number of answers lies between two "
        "values: the number in the worst case, in which the answers of a cluster are all right or "
        "all wrong, and the number implied by the variance between clusters.",
    ) * result.clustered
    return (
        "Thresholds are tested from the highest confidence down. A threshold passes if the upper "
        f"{100.0 * result.certainty:g} % Clopper-Pearson bound of the error rate at or above it "
        f"is at most {100.0 * result.at_most:g} %. The gate is the last threshold that passes "
        f"before the first failure {cite('ltt')}.",
        "The guarantee applies to each gate separately and to questions from the same population.",
        *clusters,
    )


def _facts(result: "ConfidenceGate", smallest: SmallestEffects) -> tuple[Fact, ...]:
    good, size = int(result.promised.sum()), result.promised.size
    return (
        Fact(
            name="Tolerated",
            value=f"{100.0 * result.at_most:g} % wrong",
            detail=f"with a probability of {100.0 * result.certainty:g} %",
        ),
        Fact(name="Guaranteed gates", value=count(good), detail=f"of {count(size)}"),
        Fact(
            name="Largest proportion answered without review",
            value=percent(float(result.coverage.max())),
        ),
    )


LAYOUT = Layout(
    title="May the model answer without review?",
    facts=_facts,
    methods=_methods,
    call=lambda result, source, options: (
        source
        or "gate = psy.calibration.confidence_gate(confidence, correct, "
        f"at_most={result.at_most:g}, certainty={result.certainty:g})"
    ),
)

PAGES = {"ConfidenceGate": LAYOUT}
