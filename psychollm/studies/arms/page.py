"""Report page of the comparison of arms."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from psychollm._base.numbers import count, percent
from psychollm.estimates.contrasts import THESE
from psychollm.estimates.layout import Criterion, Fact, Layout, arguments
from psychollm.estimates.references import cite
from psychollm.estimates.verdict import SmallestEffects

if TYPE_CHECKING:
    from psychollm.studies.arms.study import ArmStudy


def _facts(study: "ArmStudy", smallest: SmallestEffects) -> tuple[Fact, ...]:
    return (
        *(
            Fact(
                name=f"{name.capitalize()}, {one.first} - {one.second}",
                value=one.pooled.text(0, 2, signed=True),
                detail=THESE,
            )
            for name in study.measures[:2]
            for one in study.contrasts[name][:2]
        ),
        Fact(
            name="Questions in all arms",
            value=count(study.shared),
            detail=", ".join(f"{arm} {count(n)}" for arm, n in study.questions.items()),
        ),
    )


def _methods(study: "ArmStudy") -> tuple[str, ...]:
    return (
        "<b>Arms.</b> Arms are variants of one instrument. All models in all arms are measured "
        "jointly: a resample of questions includes all replies to them. Differences are paired by "
        "question, and by model if two arms share models.",
        "<b>Over models.</b> The interval for these models reflects the sampling of questions "
        "only. The interval for models like these also treats models as a sample: Student's t of "
        "the models' differences plus the common effect of questions, with Satterthwaite degrees "
        "of freedom. With two or three models this interval is wide.",
        f"<b>Intervals.</b> {percent(study.level)} intervals come from resampling questions. For "
        "differences of rates, two questions are added, one at each extreme (Bonett and Price, "
        "2012); the interval then has positive length even if all pairs agree. P-values are "
        f"adjusted for the number of arms {cite('holm')}. An effect is equivalent to zero if its "
        f"interval is within the smallest effect of interest {cite('schuirmann')}.",
    )


def _wanted(study: "ArmStudy", smallest: SmallestEffects) -> Iterator[Criterion]:
    name = study.measures[0]
    for one in study.contrasts[name]:
        yield Criterion(
            what=f"{name}, {one.first} - {one.second}",
            estimate=one.each,
            smallest=getattr(smallest, study.matters[name]),
        )


def _call(study: "ArmStudy", source: str, options: str) -> str:
    made = source or "# scores: by arm, then by model"
    given = arguments(study, ("baseline",)) if study.baseline != study.arms[0] else ""
    return (
        f"{made}\nstudy = psy.studies.compare_arms(scores, {study.instrument!r}{given}, {options})"
    )


LAYOUT = Layout(
    title="Arms: what does the form of the prompts change?",
    facts=_facts,
    sections={"design": ""},
    methods=_methods,
    call=_call,
    models=lambda study: study.models,
    wanted=_wanted,
)

PAGES = {"ArmStudy": LAYOUT}
