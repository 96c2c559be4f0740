"""The report of a steering match: one strength per target, and what the numbers are worth."""

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
            detail=f"questions exchanged {number(exchanged[name])}, {p_equals(p[name])}",
        )
        for name in ("r_squared", "held_out_agreement", "held_out_kappa")
    ]
    constant = float(np.nanmean(study.constant.agreement.value))
    facts.append(Fact(name="Agreement of the constant answer", value=number(constant)))
    return tuple(facts)


def _methods(study: "SteeringMatch") -> tuple[str, ...]:
    return (
        f"<b>Match.</b> After {cite('moran')[1:-1]}: one model is steered along one direction, "
        "and for each target the strength is sought at which it answers most like the target "
        f"(by {study.criterion}). Strengths at which the model answers nearly everything alike "
        "are left out. Held out: the strength is chosen on one half of the questions and judged "
        "on the other. From the threshold: by the line through the other targets.",
        "<b>Controls.</b> A strength that only moves the rate of yes already agrees with any "
        "target, and strengths then lie on a line with thresholds. So beside each number stands "
        "what it is with the questions of each target exchanged, for a cut-off moved on the "
        "unsteered log odds, for other directions where given, and for the constant answer. "
        "Verdicts rest on held-out kappa, which gives nothing for rates. "
        f"P-values are (b + 1)/(n + 1) {cite('phipson')}.",
        f"<b>Uncertainty.</b> Intervals over questions cover {percent(study.level)}.",
    )


def _wanted(study: "SteeringMatch", smallest: SmallestEffects) -> "Iterator[Criterion]":
    kappa = study.held_out_for_kappa.kappa
    yield Criterion(what="kappa on questions held out", estimate=kappa, smallest=smallest.kappa)


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
        "answers": "What was compared",
        "strengths": "Does one strength per target follow its threshold?",
        "agreement": "How many answers agree?",
        "kappa": "The same questions, or the same number of them?",
        "controls": "",
    },
    methods=_methods,
    call=_call,
    wanted=_wanted,
)

PAGES = {"SteeringMatch": LAYOUT}
