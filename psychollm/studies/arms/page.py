"""The page of several arms."""

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
            name="Questions that all arms asked",
            value=count(study.shared),
            detail=", ".join(f"{arm} {count(n)}" for arm, n in study.questions.items()),
        ),
    )


def _methods(study: "ArmStudy") -> tuple[str, ...]:
    return (
        "<b>Arms.</b> One instrument was put in several ways. All models in all arms are measured "
        "at once: a resample of questions holds all replies to them, so that differences are "
        "paired by question, and by model where two arms have models in common.",
        "<b>Over models.</b> The interval for these models rests on questions alone. That for "
        "models like these takes models as a sample: Student's t of the differences of models, "
        "with what questions add to all of them alike, degrees of freedom after Satterthwaite. "
        "With two or three models it is wide.",
        "<b>Intervals.</b> Questions were resampled, for intervals that cover "
        f"{percent(study.level)}. Differences of rates have two more questions, one at each end "
        "(Bonett and Price, 2012), so that they have a length where all pairs agree. P-values are "
        f"adjusted for the number of arms {cite('holm')}; an effect is called small where its "
        f"interval lies within the smallest that matters {cite('schuirmann')}.",
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
    title="Arms: what does the way of asking change?",
    facts=_facts,
    sections={"design": ""},
    methods=_methods,
    call=_call,
    models=lambda study: study.models,
    wanted=_wanted,
)

PAGES = {"ArmStudy": LAYOUT}
