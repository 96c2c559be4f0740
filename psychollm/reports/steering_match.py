"""The report of a steering match: one strength per target, and what the numbers are worth."""

from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import count, number, p_equals, percent
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.verdict import SmallestEffects
from psychollm.plots.steering_match import plot_steering_match
from psychollm.reports.layout import (
    Beside,
    Layout,
    Picture,
    Wanted,
    estimates_table,
    forest_picture,
)
from psychollm.reports.page import Fact, cite
from psychollm.reports.table import Table, interval_column, name_column, number_column, p_column
from psychollm.studies.steering_match.evidence import HEADLINES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psychollm.studies.steering_match.result import SteeringMatch

_NAMES = {
    "r_squared": "R² of strengths on thresholds",
    "agreement": "agreement at the best strength",
    "kappa": "kappa at the best strength",
    "held_out_agreement": "agreement held out",
    "held_out_kappa": "kappa held out",
}


def _exchanged(study: "SteeringMatch", smallest: SmallestEffects) -> Table:
    """Return the headline numbers beside those with questions exchanged."""
    null = study.null
    low, middle, high = null.quantile([0.05, 0.5, 0.95])
    return Table.of(
        [
            name_column("number", [_NAMES[name] for name in HEADLINES]),
            number_column("found", null.observed),
            interval_column("questions exchanged", middle, np.stack([low, high], axis=-1)),
            p_column("p", null.p_value),
        ],
        caption=f"Headline numbers beside {count(null.n)} tables with questions exchanged: "
        "median and range of 90 %",
        emphasised=[name == "held_out_kappa" for name in HEADLINES],
    )


def _controls(study: "SteeringMatch", smallest: SmallestEffects) -> Table:
    frame = study.controls_frame()
    columns = [name_column("direction", frame["name"])]
    columns += [number_column(_NAMES[name], frame[name]) for name in HEADLINES]
    if "ahead" in frame.columns:
        bounds = frame[["ahead_lower", "ahead_upper"]].to_numpy(dtype=np.float64)
        columns.append(interval_column("direction ahead by (kappa)", frame["ahead"], bounds))
        columns.append(p_column("p", frame["ahead_p"]))
    return Table.of(columns, caption="The direction beside controls and exchanged questions")


def _targets(study: "SteeringMatch") -> dict[str, Estimate]:
    return {
        "best strength": study.best.strength,
        "agreement held out": study.held_out.agreement,
        "kappa held out": study.held_out_for_kappa.kappa,
        "kappa from the threshold": study.from_threshold.kappa,
        "lift over the constant answer": study.lift,
    }


def _agreements(study: "SteeringMatch") -> dict[str, Estimate]:
    return {
        "held out": study.held_out.agreement,
        "from the threshold alone": study.from_threshold.agreement,
        "constant answer": study.constant.agreement,
    }


def _kappas(study: "SteeringMatch") -> dict[str, Estimate]:
    return {
        "held out": study.held_out_for_kappa.kappa,
        "from the threshold alone": study.from_threshold.kappa,
    }


def _facts(study: "SteeringMatch", smallest: SmallestEffects) -> tuple[Fact, ...]:
    heads, p = study.headlines, study.p_values
    exchanged = dict(zip(HEADLINES, map(float, study.null.mean), strict=True))
    facts = [
        Fact(
            name=_NAMES[name][0].upper() + _NAMES[name][1:],
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


def _wanted(study: "SteeringMatch", smallest: SmallestEffects) -> "Iterator[Wanted]":
    kappa = study.held_out_for_kappa.kappa
    yield Wanted(what="kappa on questions held out", estimate=kappa, smallest=smallest.kappa)


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
    beside={
        "answers": Beside(title="What was compared"),
        "strengths": Beside(
            title="Does one strength per target follow its threshold?",
            pictures=(
                Picture(
                    key="match",
                    title="Best strengths over thresholds, and what the numbers are worth",
                    caption="Above left: best strength over the threshold of each target, with "
                    "intervals over questions. Above right: agreement on questions held out, from "
                    "the constant answer on. Below: R² and held-out kappa with questions "
                    "exchanged, and where the direction and the controls lie.",
                    draw=lambda study, canvas: plot_steering_match(study, figure=canvas),
                    size=lambda study: (9.2, 7.4),
                ),
            ),
            tables=(_exchanged,),
            folded=(estimates_table("Targets", _targets, of="target"),),
        ),
        "agreement": Beside(
            title="How many answers agree?",
            pictures=(
                forest_picture(
                    "agreement",
                    "Agreement with each target",
                    "Share of questions answered like the target.",
                    _agreements,
                    x="agreement",
                ),
            ),
        ),
        "kappa": Beside(
            title="The same questions, or the same number of them?",
            pictures=(
                forest_picture(
                    "kappa",
                    "Kappa with each target",
                    "Agreement beyond that of answers with the same rates.",
                    _kappas,
                    x="kappa",
                    reference=0.0,
                ),
            ),
        ),
        "controls": Beside(tables=(_controls,)),
    },
    methods=_methods,
    call=_call,
    wanted=_wanted,
)
