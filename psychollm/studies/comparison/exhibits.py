"""Figures and tables of a comparison of models."""

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
    from psychollm.studies.comparison.study import Comparison


def exhibits(
    result: "Comparison", smallest: SmallestEffects
) -> Mapping[str, Sequence[Exhibit | None]]:
    """Return the figures and tables that support each finding."""
    scores = Drawing(
        plot="plot_comparison",
        of=result,
        key="scores",
        title="Scores and ranks of all models",
        caption=(
            "Scores with intervals; the best model is at the top. Models of one tier share a "
            "colour; the bounds of each rank are on the right."
        ),
    )
    return {
        "ranks": (scores, Listing(table=partial(_scores, result), instead=True)),
        "differences": (Listing(table=partial(_pairs, result, smallest), folded=True),),
    }


def _scores(result: "Comparison") -> Table:
    score = result.score
    return Table.of(
        [
            name_column("model", score.labels),
            interval_column("score", score.value, score.interval, digits=3, reasons=score.flags),
            number_column("questions", score.n, digits=0),
            number_column("rank", result.rank, digits=0),
            number_column("best rank", result.rank_interval[:, 0], digits=0),
            number_column("worst rank", result.rank_interval[:, 1], digits=0),
            number_column("tier", result.tier, digits=0),
        ],
        caption="Scores, ranks and tiers",
    )


def _pairs(result: "Comparison", smallest: SmallestEffects) -> Table:
    pairs, least = result.differences, result.least(smallest)
    return Table.of(
        [
            name_column("model", pairs.first),
            name_column("and", pairs.second),
            interval_column(
                "difference", pairs.value, pairs.interval, digits=3, reasons=pairs.flags
            ),
            p_column("p, adjusted", pairs.adjusted, reasons=pairs.flags),
            number_column("questions", pairs.n, digits=0),
            number_column("questions to detect the difference", result.needed, digits=0),
            number_column(
                f"questions to exclude {least:g}",
                result.to_exclude(least),
                digits=0,
            ),
        ],
        caption="Pairs of models, with the numbers of questions needed",
    )
