"""The page of votes."""

from typing import TYPE_CHECKING

from psychollm._base.numbers import count, number
from psychollm.estimates.layout import Fact, Layout
from psychollm.estimates.references import cite
from psychollm.estimates.verdict import SmallestEffects

if TYPE_CHECKING:
    from psychollm.studies.votes.result import BradleyTerry


def _methods(result: "BradleyTerry") -> tuple[str, ...]:
    return (
        f"Votes follow Davidson's model of ties {cite('davidson')} with the advantage of the left "
        "side. Voters differ in their side, ties and discrimination: these have normal "
        "distributions and are integrated out.",
        f"Strengths have a normal prior with an SD of {number(result.fit.prior, 2)} logits. "
        f"Standard errors are over {result.fit.over}, with the correction CR2 for few clusters "
        f"{cite('bell')}.",
        "The intervals of all differences hold at once. Their common multiple of the standard "
        "errors is the quantile of the largest error of all pairs; errors are drawn for all pairs "
        f"together {cite('chernozhukov')}.",
        "How many models these intervals show to be stronger bounds the rank of a model from "
        f"above, how many to be weaker from below {cite('mogstad')}.",
    )


def _facts(result: "BradleyTerry", smallest: SmallestEffects) -> tuple[Fact, ...]:
    fit = result.fit
    n = len(result.tiers)
    within = f"in {n} tier{'s' * (n > 1)}"
    return (
        Fact(name="Models", value=count(fit.n_models), detail=within),
        Fact(name="Votes", value=count(fit.n_votes)),
        Fact(name="Voters", value=count(fit.n_voters) if fit.n_voters else "not known"),
        Fact(name="Left side", value=result.side.text(0, 2, signed=True), detail="logits"),
    )


LAYOUT = Layout(
    title="Which model do votes prefer?",
    facts=_facts,
    methods=_methods,
    call=lambda result, source, options: source or "result = psy.bradley_terry(votes, rng=1)",
)

PAGES = {"BradleyTerry": LAYOUT}
