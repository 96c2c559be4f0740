"""The page of a comparison of models."""

from typing import TYPE_CHECKING

from psychollm._base.numbers import count, extent, percent
from psychollm.estimates.layout import Fact, Layout
from psychollm.estimates.references import cite
from psychollm.estimates.verdict import SmallestEffects

if TYPE_CHECKING:
    from psychollm.studies.comparison.study import Comparison


def _methods(result: "Comparison") -> tuple[str, ...]:
    return (
        "Every two models are compared on the questions that both answered: the standard error "
        "of the difference is that of paired questions, or of clusters of them, with the "
        f"correction CR2 for few clusters {cite('miller', 'bell')}.",
        "The intervals of all differences hold at once. Their common multiple of the standard "
        "errors is the quantile of the largest error of all pairs; errors are drawn for all pairs "
        f"together, since pairs share models {cite('chernozhukov')}.",
        "How many questions would decide follows from the standard errors, with their own error "
        f"allowed for {cite('julious')}; that two models differ by less than what matters is "
        f"shown by two one-sided tests {cite('schuirmann')}, planned for two that are equal.",
        "How many models these intervals show to be better bounds the rank of a model from above, "
        f"how many to be worse from below {cite('mogstad')}. A tier ends before the first "
        "model that is shown to be worse than its best.",
    )


def _facts(result: "Comparison", smallest: SmallestEffects) -> tuple[Fact, ...]:
    tiers = result.tiers()
    n = len(tiers)
    within = f"in {n} tier{'s' * (n > 1)}"
    return (
        Fact(name="Models", value=count(len(result.labels)), detail=within),
        Fact(name="Questions", value=count(result.n_questions)),
        Fact(name="Scores", value=extent(result.score.value, 3)),
        Fact(
            name="Smallest difference that is detected",
            value=extent(result.detectable, 3),
            detail=f"with a chance of {percent(result.power)}; of equal models "
            f"{extent(result.excludable, 3)} is excluded",
        ),
    )


LAYOUT = Layout(
    title="Which model is better?",
    facts=_facts,
    methods=_methods,
    call=lambda result, source, options: source or "result = psy.compare(scores, rng=1)",
)

PAGES = {"Comparison": LAYOUT}
