"""Report page of an evaluation card."""

from typing import TYPE_CHECKING

from psychollm._base.numbers import count, percent
from psychollm.estimates.layout import Fact, Layout
from psychollm.estimates.references import cite
from psychollm.estimates.verdict import SmallestEffects
from psychollm.studies.evaluation_card.study import detectable_texts

if TYPE_CHECKING:
    from psychollm.studies.evaluation_card.study import EvaluationCard


def _call(result: "EvaluationCard", source: str, options: str) -> str:
    """Return the call that reproduces the card."""
    if source:
        return source
    mixed, groups = result.mixed, ""
    if mixed is not None:
        known = ("domains", mixed.domains), ("families", mixed.families)
        groups = "".join(f"{name}={name}, " for name, one in known if one is not None)
    return f"card = psy.evaluation_card(scores, {groups}rng=1)"


def _facts(result: "EvaluationCard", smallest: SmallestEffects) -> tuple[Fact, ...]:
    tiers = result.comparison.tiers()
    middle, every = detectable_texts(result)
    spread = f"; {every} over all pairs" if every != middle else ""
    facts = [
        Fact(
            name="Models",
            value=count(len(result.labels)),
            detail=f"in {len(tiers)} tier{'s' * (len(tiers) != 1)}",
        ),
        Fact(
            name="Questions",
            value=count(result.n_questions),
            detail=f"{result.n_answers:.3g} answers per question"
            if result.n_answers > 1.0
            else "",
        ),
        Fact(
            name="Smallest detectable difference",
            value=middle,
            detail=f"power {percent(result.comparison.power)}{spread}",
        ),
    ]
    if result.mixed is not None:
        reliability = result.mixed.reliability
        facts.append(Fact(name="Reliability of the ranking", value=reliability.text(0, 2)))
    return tuple(facts)


def _methods(result: "EvaluationCard") -> tuple[str, ...]:
    return (
        "Benchmark accuracy is the mean probability of a correct answer over these questions; "
        f"generalised accuracy is the mean over the question population {cite('nist')}. The "
        "interval of benchmark accuracy reflects only the sampling of answers. The interval of "
        "generalised accuracy also reflects the sampling of questions, within domains if domains "
        f"are given {cite('miller')}. Wilson intervals use the effective number of answers.",
        "Variance components come from a logistic mixed model with crossed effects of models, "
        "questions and, if given, families, domains and repeats. Adaptive quadrature integrates "
        "over questions and interactions, Laplace's approximation over models. Intervals account "
        f"for the uncertainty of the variances {cite('inla')}. The mixed model also predicts "
        "cells without an answer.",
        "Ranks and tiers are derived from paired differences with simultaneous intervals "
        f"{cite('mogstad')}.",
    )


LAYOUT = Layout(
    title="Evaluation card",
    facts=_facts,
    methods=_methods,
    call=_call,
)

PAGES = {"EvaluationCard": LAYOUT}
