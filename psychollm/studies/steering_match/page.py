"""Report page of a steering match: one strength per target, with controls."""

from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import count, number, p_equals, percent
from psychollm.estimates.layout import Criterion, Fact, Layout
from psychollm.estimates.references import cite
from psychollm.estimates.verdict import SmallestEffects
from psychollm.studies.steering_match.evidence import HEADLINES
from psychollm.studies.steering_match.exhibits import NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psychollm.studies.steering_match.result import SteeringMatch


def _facts(study: "SteeringMatch", smallest: SmallestEffects) -> tuple[Fact, ...]:
    heads, p = study.headlines, study.p_values
    exchanged = dict(zip(HEADLINES, map(float, study.null.mean), strict=True))
    facts = [
        Fact(
            name=NAMES[name][0].upper() + NAMES[name][1:],
            value=number(heads[name]),
            detail=f"with permuted questions {number(exchanged[name])}, {p_equals(p[name])}",
        )
        for name in ("r_squared", "held_out_agreement", "held_out_kappa")
    ]
    constant = float(np.nanmean(study.constant.agreement.value))
    facts.append(Fact(name="Agreement of the constant answer", value=number(constant)))
    return tuple(facts)


def _methods(study: "SteeringMatch") -> tuple[str, ...]:
    return (
        f"<b>Match.</b> As in {cite('moran')[1:-1]}, one model is steered along one direction. "
        f"For each target, the strength with the most similar answers (by {study.criterion}) is "
        "chosen. Strengths at which nearly all answers are equal are omitted. Held-out "
        "statistics choose the strength on one half of the questions and score the other half. "
        "Predictions from the threshold use a line fitted to the other targets.",
        "<b>Controls.</b> Steering that merely changes the yes rate already increases agreement "
        "with any target, and its best strengths are a linear function of thresholds. Each "
        "statistic is therefore compared with its value for permuted questions, for a moving "
        "threshold on the unsteered log odds, for other directions if given, and for the constant "
        "answer. Verdicts use held-out kappa, which corrects for yes rates. "
        f"P-values are (b + 1)/(n + 1) {cite('phipson')}.",
        f"<b>Uncertainty.</b> Intervals account for the sampling of questions; their nominal "
        f"coverage is {percent(study.level)}.",
    )


def _wanted(study: "SteeringMatch", smallest: SmallestEffects) -> "Iterator[Criterion]":
    kappa = study.held_out_for_kappa.kappa
    yield Criterion(what="held-out kappa", estimate=kappa, smallest=smallest.kappa)


def _call(study: "SteeringMatch", source: str, options: str) -> str:
    made = source or "# steered: SteeredAnswers; targets: models x questions"
    return f"{made}\nstudy = psy.steering_match(steered, targets, {options})"


LAYOUT = Layout(
    title="Steering match: does one model, steered, answer like the others?",
    subtitle=lambda study: (
        f"{study.targets.n_models} targets, {count(study.targets.n_questions)} questions, "
        f"{int(study.steered.usable.sum())} strengths, {percent(study.level)} intervals"
    ),
    models=lambda study: study.targets.models,
    facts=_facts,
    sections={
        "answers": "Data",
        "strengths": "Does the best strength for a target depend on its threshold?",
        "agreement": "How well do answers agree?",
        "kappa": "Does the steered model say yes to the same questions?",
        "controls": "",
    },
    methods=_methods,
    call=_call,
    wanted=_wanted,
)

PAGES = {"SteeringMatch": LAYOUT}
