"""The page of an evaluation card."""

from typing import TYPE_CHECKING

from psychollm._base.numbers import count, percent
from psychollm.estimates.layout import Fact, Layout
from psychollm.estimates.references import cite
from psychollm.estimates.verdict import SmallestEffects
from psychollm.studies.evaluation_card.study import detectable_texts

if TYPE_CHECKING:
    from psychollm.studies.evaluation_card.study import EvaluationCard


def _call(result: "EvaluationCard", source: str, options: str) -> str:
    """Return how to repeat the card."""
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
    spread = f"; {every} over the pairs" if every != middle else ""
    facts = [
        Fact(
            name="Models",
            value=count(len(result.labels)),
            detail=f"in {len(tiers)} tier{'s' * (len(tiers) != 1)}",
        ),
        Fact(
            name="Questions",
            value=count(result.n_questions),
            detail=f"{result.n_answers:.3g} answers to each" if result.n_answers > 1.0 else "",
        ),
        Fact(
            name="Smallest difference that can be shown",
            value=middle,
            detail=f"with a chance of {percent(result.comparison.power)}{spread}",
        ),
    ]
    if result.mixed is not None:
        reliability = result.mixed.reliability
        facts.append(Fact(name="Reliability of the ranking", value=reliability.text(0, 2)))
    return tuple(facts)


def _methods(result: "EvaluationCard") -> tuple[str, ...]:
    return (
        "Benchmark accuracy is the mean chance of a right answer over these questions; "
        "generalised accuracy the mean over the questions that they stand for "
        f"{cite('nist')}. The first varies with answers only, the second with questions, too, "
        f"within domains where there are any {cite('miller')}. Intervals are Wilson's, of as many "
        "answers as would vary like the mean.",
        "Right and wrong answers are taken apart by a logistic mixed model with crossed effects "
        "of models, questions and, where there are any, families, domains and repeats. Questions "
        "and interactions are integrated out by adaptive quadrature, models by Laplace's "
        f"approximation; what is not known of the variances is kept {cite('inla')}. It predicts "
        "cells without an answer, too.",
        "Ranks and tiers follow from paired differences whose intervals hold all at once "
        f"{cite('mogstad')}.",
    )


LAYOUT = Layout(
    title="Evaluation card",
    facts=_facts,
    methods=_methods,
    call=_call,
)

PAGES = {"EvaluationCard": LAYOUT}
