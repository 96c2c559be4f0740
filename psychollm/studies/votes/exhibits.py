"""Figures and tables of the findings on votes."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from psychollm.estimates.exhibits import Drawing, Exhibit, Listing
from psychollm.estimates.listing import (
    Table,
    interval_column,
    name_column,
    number_column,
    p_column,
)
from psychollm.estimates.verdict import SmallestEffects

if TYPE_CHECKING:
    from psychollm.studies.votes.result import BradleyTerry

_VOTERS = 200  # number of voters on a page; those with the most votes are shown


def exhibits(
    result: "BradleyTerry", smallest: SmallestEffects
) -> Mapping[str, Sequence[Exhibit | None]]:
    """Return the figures and tables that support each finding."""
    drawing = Drawing(
        plot="plot_comparison",
        of=result,
        key="strengths",
        title="Strengths and ranks of all models",
        caption="Strengths with intervals; the strongest model is at the top. Models of one tier "
        "have the same colour. Bounds of ranks are shown on the right.",
    )
    voters = Listing(table=partial(_voters, result), folded=True)
    return {
        "ranks": (drawing, Listing(table=partial(_models, result), instead=True)),
        "differences": (Listing(table=partial(_pairs, result), folded=True),),
        "votes": (voters if result.voters.labels else None,),
    }


def _models(result: "BradleyTerry") -> Table:
    one, rate = result.strengths, result.win_rates
    return Table.of(
        [
            name_column("model", one.labels),
            interval_column("strength", one.value, one.interval, digits=2, reasons=one.flags),
            interval_column("wins", rate.value, rate.interval, digits=3, reasons=rate.flags),
            number_column("votes", result.n_votes, digits=0),
            number_column("rank", result.rank, digits=0),
            number_column("at best", result.rank_interval[:, 0], digits=0),
            number_column("at worst", result.rank_interval[:, 1], digits=0),
            number_column("tier", result.tier, digits=0),
        ],
        caption="Strengths in logits, expected win rates, ranks and tiers",
    )


def _pairs(result: "BradleyTerry") -> Table:
    pairs = result.differences
    return Table.of(
        [
            name_column("model", pairs.first),
            name_column("and", pairs.second),
            interval_column(
                "difference", pairs.value, pairs.interval, digits=2, reasons=pairs.flags
            ),
            p_column("p, adjusted", pairs.adjusted, reasons=pairs.flags),
        ],
        caption="Differences between models, in logits",
    )


def _voters(result: "BradleyTerry") -> Table:
    frame = result.voters.to_frame().sort_values("n_votes", ascending=False, kind="stable")
    frame = frame.head(_VOTERS)
    return Table.of(
        [
            name_column("voter", frame["voter"]),
            number_column("votes", frame["n_votes"], digits=0),
            number_column("left side", frame["side"]),
            number_column("ties", frame["ties"]),
            number_column("discrimination", frame["discrimination"]),
        ],
        caption="Effects of voters, in logits and shrunk towards 0, and their discrimination, "
        "shrunk towards 1",
    )
