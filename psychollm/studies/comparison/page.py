"""Report page of a comparison of models."""

from typing import TYPE_CHECKING

from psychollm._base.numbers import count, extent, percent
from psychollm.estimates.layout import Fact, Layout
from psychollm.estimates.references import cite
from psychollm.estimates.verdict import SmallestEffects

if TYPE_CHECKING:
    from psychollm.studies.comparison.study import Comparison


def _methods(result: "Comparison") -> tuple[str, ...]:
    return (
        "Each pair of models is compared on the questions that both answered. The standard error "
        "of a difference is computed over paired questions, or over clusters with the "
        f"small-sample correction CR2 {cite('miller', 'bell')}.",
        "The intervals of all differences are simultaneous. The critical value of simultaneous "
        "intervals is the quantile of the largest standardised error of all pairs. Errors of all "
        f"pairs are drawn jointly, because pairs share models {cite('chernozhukov')}.",
        "The number of questions needed for a conclusion about a pair is computed from the "
        "standard error of the difference, and allows for the uncertainty of that error "
        f"{cite('julious')}. Equivalence is tested by two one-sided tests {cite('schuirmann')}; "
        "the number of questions needed for it assumes equal models.",
        "A model's best rank is one more than the number of significantly better models. A "
        "model's worst rank is the number of models that are not significantly worse "
        f"{cite('mogstad')}. A tier ends before the first model that is significantly worse than "
        "the best model of the tier.",
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
            name="Smallest detectable difference",
            value=extent(result.detectable, 3),
            detail=(
                f"with a power of {percent(result.power)}; between equal models, a difference of "
                f"{extent(result.excludable, 3)} is excluded"
            ),
        ),
    )


LAYOUT = Layout(
    title="Which model is better?",
    facts=_facts,
    methods=_methods,
    call=lambda result, source, options: source or "result = psy.compare(scores, rng=1)",
)

PAGES = {"Comparison": LAYOUT}
