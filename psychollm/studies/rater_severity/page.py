"""Report page of the severity of raters."""

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
        "own tendency to choose middle ratings."
        if result.middle is not None
        else ""
    )
    return (
        "In a many-facet model, the log odds of a rating against the next lower one equal the "
        "rater's discrimination times the quality of the thing, minus the rater's severity "
        f"{cite('linacre', 'uto')}.{several} The qualities of things are normally distributed and "
        "integrated out. The parameters of raters have a normal prior that is estimated from the "
        "data.",
        "Each standard error is the larger of two: one from the information matrix, one from a "
        "sandwich estimator clustered by thing. Intervals use Student's t. Tests of raters "
        "against the average rater are simultaneous.",
        "Reliability is the proportion of true variance in the posterior means of things.",
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
