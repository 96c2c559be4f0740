"""Report page of votes on pairs of models."""

from typing import TYPE_CHECKING

from psychollm._base.numbers import count, number
from psychollm.estimates.layout import Fact, Layout
from psychollm.estimates.references import cite
from psychollm.estimates.verdict import SmallestEffects

if TYPE_CHECKING:
    from psychollm.studies.votes.result import BradleyTerry


def _methods(result: "BradleyTerry") -> tuple[str, ...]:
    return (
        f"Votes follow Davidson's model of ties {cite('davidson')}, with an advantage of the left "
        "side. Voters have normally distributed effects on side, ties and discrimination, which "
        "are integrated out.",
        f"Strengths have a normal prior with an SD of {number(result.fit.prior, 2)} logits. "
        f"Standard errors are clustered by {result.fit.over}, with the CR2 correction for few "
        f"clusters {cite('bell')}.",
        "The intervals of all differences are simultaneous. Each extends from the estimate by "
        "the same multiple of its standard error, a quantile of the largest standardised error "
        f"over all pairs, simulated from the joint distribution of errors {cite('chernozhukov')}.",
        "The best rank of a model is computed from the number of significantly stronger models, "
        f"the worst rank from the number of significantly weaker ones {cite('mogstad')}.",
    )


def _facts(result: "BradleyTerry", smallest: SmallestEffects) -> tuple[Fact, ...]:
    fit = result.fit
    n = len(result.tiers)
    within = f"in {n} tier{'s' * (n > 1)}"
    return (
        Fact(name="Models", value=count(fit.n_models), detail=within),
        Fact(name="Votes", value=count(fit.n_votes)),
        Fact(name="Voters", value=count(fit.n_voters) if fit.n_voters else "unknown"),
        Fact(name="Left side", value=result.side.text(0, 2, signed=True), detail="logits"),
    )


LAYOUT = Layout(
    title="Which model do votes prefer?",
    facts=_facts,
    methods=_methods,
    call=lambda result, source, options: source or "result = psy.bradley_terry(votes, rng=1)",
)

PAGES = {"BradleyTerry": LAYOUT}
