"""Figures and tables of the findings on raters."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from psychollm._base.numbers import percent
from psychollm.estimates.exhibits import Exhibit, Listing, forest, listing
from psychollm.estimates.listing import Table, name_column, number_column
from psychollm.estimates.verdict import Outcome, SmallestEffects

if TYPE_CHECKING:
    from psychollm.estimates.estimate import Estimate
    from psychollm.studies.rater_severity.result import RaterSeverity


def exhibits(
    result: "RaterSeverity", smallest: SmallestEffects
) -> Mapping[str, Sequence[Exhibit | None]]:
    """Return the figures and tables that support each finding."""
    judged = result.outcomes(smallest=smallest).outcomes
    level = percent(result.level)
    drawing = forest(
        {"difference": result.difference},
        key="difference",
        title="Difference of each rater from the average rater",
        caption="Points show the expected mean rating of all things minus that of the average "
        f"rater, with {level} intervals. Bold names: significantly different from the average "
        "(simultaneous intervals).",
        x="mean rating minus that of the average rater",
        reference=0.0,
        strong=[one in {Outcome.ABOVE, Outcome.BELOW} for one in judged],
    )
    severity = listing(
        {
            "difference": result.difference,
            "severity": result.severity,
            "mean rating": result.rate,
        },
        "Each rater",
        of="rater",
        instead=True,
    )
    return {
        "severity": (drawing, severity),
        "discrimination": ()
        if result.tied
        else (_table("discrimination", result.discrimination),),
        "middle": _listed("proportion of ratings between the extremes", result.middle),
        "drift": _listed("change of severity", result.drift),
        "interaction": _listed("severity for the group", result.interaction, of="rater, group"),
        "without": (Listing(table=partial(_without, result), folded=True, instead=True),),
    }


def _table(heading: str, estimate: "Estimate", of: str = "rater") -> Listing:
    return listing({heading: estimate}, f"{heading.capitalize()} of each {of}", of=of, folded=True)


def _listed(heading: str, estimate: "Estimate | None", of: str = "rater") -> tuple[Listing, ...]:
    return () if estimate is None else (_table(heading, estimate, of),)


def _without(result: "RaterSeverity") -> Table | None:
    return Table.of(
        [
            name_column("without", result.labels),
            number_column("reliability", result.reliability_without, digits=3),
            number_column("changed verdicts", result.turned, digits=0),
            number_column("corrected", result.turned_corrected, digits=0),
        ],
        caption="Effects of omitting each rater",
    )
