"""The page of raters."""

from typing import TYPE_CHECKING

from psychollm._base.numbers import count, extent, number
from psychollm.estimates.layout import Fact, Layout
from psychollm.estimates.references import cite
from psychollm.estimates.verdict import SmallestEffects

if TYPE_CHECKING:
    from psychollm.studies.rater_severity.result import RaterSeverity


def _methods(result: "RaterSeverity") -> tuple[str, ...]:
    several = (
        " Steps between ratings follow the generalised partial credit model; each rater has its "
        "own tendency to the middle."
        if result.middle is not None
        else ""
    )
    return (
        "A many-facet model: the log odds of a rating against the next lower one are the rater's "
        "discrimination times the quality of the thing, less the rater's severity "
        f"{cite('linacre', 'uto')}.{several} Things are drawn from a normal population and "
        "integrated out; raters are drawn from one that is estimated.",
        "Standard errors are the larger of those of the information matrix and of the sandwich "
        "over things; intervals take Student's t. Tests of raters against the average rater hold "
        "for all raters at once.",
        "Reliability is the share of the variance of the posterior means of things in the whole.",
    )


def _facts(result: "RaterSeverity", smallest: SmallestEffects) -> tuple[Fact, ...]:
    return (
        Fact(name="Raters", value=count(len(result.labels))),
        Fact(name="Things", value=count(len(result.things.labels))),
        Fact(name="Mean rating", value=extent(result.rate.value, 2)),
        Fact(name="Reliability", value=number(result.reliability)),
    )


LAYOUT = Layout(
    title="Which raters are harsh?",
    facts=_facts,
    methods=_methods,
    call=lambda result, source, options: source or "result = psy.rater_severity(ratings, rng=1)",
)

PAGES = {"RaterSeverity": LAYOUT}
