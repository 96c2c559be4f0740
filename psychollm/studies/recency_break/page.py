"""Report page of the study of recent questions."""

from typing import TYPE_CHECKING

from psychollm._base.numbers import count, number
from psychollm.estimates.layout import Fact, Layout
from psychollm.estimates.references import cite
from psychollm.estimates.verdict import SmallestEffects

if TYPE_CHECKING:
    from psychollm.studies.recency_break.result import RecencyBreak


def _methods(result: "RecencyBreak") -> tuple[str, ...]:
    searched = (
        " The date was searched: the smallest statistic over all dates is compared with its "
        "distribution under permuted dates."
        if result.searched
        else ""
    )
    return (
        "Scores are regressed on a cubic polynomial in question difficulty, estimated as the "
        "mean of other lineages, and on an indicator of publication after the date. The change "
        "is the coefficient of the indicator, corrected for the unreliability of the difficulty "
        "estimates.",
        "Dates are permuted among questions of similar difficulty, jointly for all models. "
        "P-values are adjusted for the number of lineages by the permutation distribution of the "
        f"smallest statistic {cite('maxt')}. Each lineage counts as one unit.{searched}",
    )


def _facts(result: "RecencyBreak", smallest: SmallestEffects) -> tuple[Fact, ...]:
    return (
        Fact(name="Models", value=count(len(result.labels))),
        Fact(name="Lineages", value=count(len(result.lineages))),
        Fact(name="Questions", value=count(result.n_questions)),
        Fact(
            name="Alarms",
            value=count(float(result.alarm.sum())),
            detail=f"of {len(result.lineages)} lineages",
        ),
        Fact(name="Reliability of difficulty", value=number(result.reliability)),
    )


LAYOUT = Layout(
    title="Have models seen the questions?",
    facts=_facts,
    methods=_methods,
    call=lambda result, source, options: (
        source or "result = psy.recency_break(scores, published=dates, rng=1)"
    ),
)

PAGES = {"RecencyBreak": LAYOUT}
