"""Figures and tables of the difficulty study and of the gate that selects questions to answer."""

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
    """Return the figures and tables that support the verdict."""
    both = {"R²": study.r_squared, "correlation": study.correlation}
    shown = (
        Drawing(
            plot="plot_difficulty",
            of=study,
            key="difficulty",
            title="Scores and predictions of questions",
            caption="Factor score of each question against its out-of-fold prediction. On the "
            "dashed line both are equal.",
        ),
        forest(
            {"R²": study.r_squared},
            key="explained",
            title="R squared of each predictor",
            caption="Out-of-fold R² of the text, of its length alone, and of the mean.",
            x="out-of-fold R²",
            reference=0.0,
        ),
        listing(both, "Predictors", of="predictor", digits=3),
        Listing(table=partial(_weights, study), folded=True),
    )
    return {VERDICT: shown}


def of_gate(fit: "GateFit", smallest: SmallestEffects) -> Mapping[str, Sequence[Exhibit | None]]:
    """Return the figure of risks at equal coverage, and the table of each rule at its coverage."""
    own = {"coverage": fit.coverage, "risk": fit.risk, "F-beta": fit.f_beta}
    table = listing(own, "Each rule at its own coverage", of="rule", digits=3, instead=True)
    if fit.at_own_share is None:
        return {VERDICT: (table,)}
    risks = {"risk": fit.at_own_share}
    figure = forest(
        risks,
        key="risks",
        title="Risk of each rule at equal coverage",
        caption="Proportion of wrong answers among answered questions. The gate and the factor "
        "score answer as many questions as the model says yes to. The baseline always answers.",
        x="risk at equal coverage",
    )
    shown = listing(risks, "Risk at equal coverage", of="rule", digits=3, instead=True)
    return {VERDICT: (figure, shown), "always": (table,)}


def _weights(study: "Difficulty") -> Table | None:
    frame = study.weights_frame()
    first, last = frame.head(_WORDS), frame.tail(_WORDS).iloc[::-1]
    rows = min(len(first), len(last))
    return Table.of(
        [
            text_column("predicts yes", first["feature"][:rows]),
            number_column("weight", first["weight"][:rows], digits=3),
            text_column("predicts no", last["feature"][:rows]),
            number_column("weight", last["weight"][:rows], digits=3),
        ],
        caption="Features with the largest weights, fitted to all questions",
    )
