"""Figures and tables of the findings on recent questions."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from psychollm.data.dates import dates_of
from psychollm.estimates.exhibits import Drawing, Exhibit, Listing
from psychollm.estimates.listing import (
    Table,
    estimate_column,
    name_column,
    number_column,
    p_column,
)
from psychollm.estimates.verdict import SmallestEffects

if TYPE_CHECKING:
    from psychollm.studies.recency_break.result import RecencyBreak


def exhibits(
    result: "RecencyBreak", smallest: SmallestEffects
) -> Mapping[str, Sequence[Exhibit | None]]:
    """Return the figures and tables that support each finding."""
    drawing = Drawing(
        plot="studies.recency_break.figures.plot_recency_break",
        of=result,
        key="changes",
        title="Change of each model at its date, beyond difficulty",
        caption=(
            "Points show the change in score after the date, adjusted for question difficulty, "
            "with intervals. Crosses show the raw change. Models of lineages with a significant "
            "drop are red."
        ),
    )
    return {
        "models": (
            drawing,
            Listing(table=partial(_models, result), folded=True, instead=True),
            Listing(table=partial(_lineages, result), folded=True),
        ),
    }


def _lineages(result: "RecencyBreak") -> Table:
    found = result.by_lineage
    return Table.of(
        [
            name_column("lineage", result.lineages),
            name_column("date", dates_of(found.cutoff).dt.strftime("%Y-%m-%d").fillna("–")),
            estimate_column("change", found.change, digits=3),
            number_column("z", found.z, digits=2),
            p_column("p", found.p_value),
            p_column("p, adjusted", result.adjusted),
        ],
        caption="Change of each lineage",
    )


def _models(result: "RecencyBreak") -> Table:
    found = result.by_model
    return Table.of(
        [
            name_column("model", result.labels),
            name_column("lineage", [result.lineages[one] for one in result.lineage]),
            estimate_column("change", found.change, digits=3),
            number_column("raw change", found.raw, digits=3),
            number_column("questions before", found.before, digits=0),
            number_column("after", found.after, digits=0),
        ],
        caption="Change of each model",
    )
