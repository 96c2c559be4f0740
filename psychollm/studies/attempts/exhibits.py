"""Figures and tables of the findings on several attempts."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from psychollm.estimates.exhibits import Drawing, Exhibit, Listing, listing
from psychollm.estimates.listing import (
    Table,
    estimate_column,
    interval_column,
    name_column,
    number_column,
    p_column,
    text_column,
)
from psychollm.estimates.verdict import SmallestEffects, every
from psychollm.studies.attempts.closed_forms import AT_LEAST_ONE, EVERY

if TYPE_CHECKING:
    from psychollm.studies.attempts.frontier import Frontier
    from psychollm.studies.attempts.result import Attempts


def exhibits(
    result: "Attempts", smallest: SmallestEffects
) -> Mapping[str, Sequence[Exhibit | None]]:
    """Return the figures and tables that support each finding."""
    top = max(result.k)
    drawing = Drawing(
        plot="plot_attempts",
        of=result,
        key="attempts",
        title="Probability of success in one attempt, at least once, and every time",
        caption=(
            "Points show the probability that one attempt succeeds, with its interval. Bars "
            f"extend from the probability that {every(top, 'attempt')} succeed to the probability "
            "that at least one succeeds."
        ),
    )
    named = {
        quantity.called(k): estimate
        for quantity, k, estimate in result.estimates()
        if not (k == 1 and quantity is EVERY)
    }
    return {
        "models": (drawing, listing(named, "Success of each model", digits=3, instead=True)),
        "differences": (Listing(table=partial(_pairs, result, top), folded=True),),
        "shares": (
            listing({"share": result.shares}, "Variance of one attempt", of="component", n=False),
        ),
        **{f"frontier_{of}": _frontier(result.frontier(of)) for of in result.spent},
    }


def _frontier(found: "Frontier") -> Sequence[Exhibit]:
    what = {"cost": "cost", "seconds": "time"}[found.of]
    drawing = Drawing(
        plot="studies.attempts.figures.plot_frontier",
        of=found,
        key=f"frontier_{found.of}",
        title=f"Success and {what} of one attempt",
        caption=(
            f"Success and {what} of each model, with intervals. The line connects the models on "
            f"the frontier, to which no other model with lower {what} is equal or superior in "
            "success. Hollow marks are models that are significantly worse than another in both."
        ),
    )
    return (drawing, Listing(table=partial(_of_frontier, found, what), folded=True, instead=True))


def _of_frontier(found: "Frontier", what: str) -> Table:
    return Table.of(
        [
            name_column("model", found.labels),
            estimate_column(what, found.spent, digits=3),
            estimate_column(found.score.name, found.score, digits=3),
            text_column("on the frontier", ("yes" if one else "no" for one in found.on_frontier)),
            number_column("resamples on the frontier, %", 100.0 * found.share, digits=0),
            text_column("beaten by", found.beaten_by),
        ],
        caption=f"Success and {what}",
    )


def _pairs(result: "Attempts", k: int) -> Table | None:
    name = EVERY.called(k) if k > 1 else AT_LEAST_ONE.called(1)
    if name not in result.differences:
        return None
    pairs = result.differences[name]
    return Table.of(
        [
            name_column("model", pairs.first),
            name_column("and", pairs.second),
            interval_column(
                f"difference in {name}", pairs.value, pairs.interval, digits=3, reasons=pairs.flags
            ),
            p_column("p, adjusted", pairs.adjusted, reasons=pairs.flags),
            number_column("questions", pairs.n, digits=0),
        ],
        caption="Every pair of models",
    )
