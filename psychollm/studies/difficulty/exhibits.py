"""What shows the finding of difficulty: scores over predictions, and what predicts."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from psychollm.estimates.exhibits import Drawing, Exhibit, Listing, forest, listing
from psychollm.estimates.findings import VERDICT
from psychollm.estimates.listing import Table, number_column, text_column
from psychollm.estimates.verdict import SmallestEffects

if TYPE_CHECKING:
    from psychollm.studies.difficulty.gate import GateFit
    from psychollm.studies.difficulty.study import Difficulty

_WORDS = 15


def exhibits(
    study: "Difficulty", smallest: SmallestEffects
) -> Mapping[str, Sequence[Exhibit | None]]:
    """Return the exhibits of the one finding."""
    both = {"R²": study.r_squared, "correlation": study.correlation}
    shown = (
        Drawing(
            plot="plot_difficulty",
            of=study,
            key="difficulty",
            title="Scores of questions over their predictions",
            caption="Score of each question on the shared factor, over its prediction by "
            "a model that had not seen it. On the dashed line both are equal.",
        ),
        forest(
            {"R²": study.r_squared},
            key="explained",
            title="R squared of each predictor",
            caption="R² on questions that were left out: of the text, of its length alone, and "
            "of the mean.",
            x="R² on questions left out",
            reference=0.0,
        ),
        listing(both, "Predictors", of="predictor", digits=3),
        Listing(table=partial(_weights, study), folded=True),
    )
    return {VERDICT: shown}


def of_gate(fit: "GateFit", smallest: SmallestEffects) -> Mapping[str, Sequence[Exhibit | None]]:
    """Return the exhibits of a gate: risks at one share of answers, and each rule alone."""
    own = {"coverage": fit.coverage, "risk": fit.risk, "F-beta": fit.f_beta}
    table = listing(own, "Each rule at its own share", of="rule", digits=3, instead=True)
    if fit.at_own_share is None:
        return {VERDICT: (table,)}
    risks = {"risk": fit.at_own_share}
    figure = forest(
        risks,
        key="risks",
        title="Risk of each rule where all answer as many questions",
        caption="Share of wrong answers among those given, where the gate and the shared score "
        "answer as many questions as the model says yes to; beside them that of always answering.",
        x="risk at one share of answers",
    )
    shown = listing(risks, "Risk at one share of answers", of="rule", digits=3, instead=True)
    return {VERDICT: (figure, shown), "always": (table,)}


def _weights(study: "Difficulty") -> Table | None:
    frame = study.weights_frame()
    first, last = frame.head(_WORDS), frame.tail(_WORDS).iloc[::-1]
    rows = min(len(first), len(last))
    return Table.of(
        [
            text_column("goes with yes", first["feature"][:rows]),
            number_column("weight", first["weight"][:rows], digits=3),
            text_column("goes with no", last["feature"][:rows]),
            number_column("weight", last["weight"][:rows], digits=3),
        ],
        caption="The features with the largest weights, fitted to all questions",
    )
