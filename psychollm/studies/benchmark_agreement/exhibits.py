"""Figure and tables on the agreement of two benchmarks."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from psychollm.estimates.exhibits import Drawing, Exhibit, Listing
from psychollm.estimates.listing import (
    Table,
    estimate_column,
    interval_column,
    name_column,
    number_column,
    p_column,
)
from psychollm.estimates.verdict import SmallestEffects

if TYPE_CHECKING:
    from psychollm.studies.benchmark_agreement.study import BenchmarkAgreement


def exhibits(
    result: "BenchmarkAgreement", smallest: SmallestEffects
) -> Mapping[str, Sequence[Exhibit | None]]:
    """Return the figures and tables that support each finding."""
    scores = Drawing(
        plot="studies.benchmark_agreement.figures.plot_benchmark_agreement",
        of=result,
        key="scores",
        title="Scores of all models in both benchmarks",
        caption=(
            "Scores of each model in both benchmarks, with intervals. A red line joins two "
            "models whose order in the two benchmarks is significantly reversed."
        ),
    )
    models = Listing(table=partial(_models, result), folded=True)
    return {
        "agreement": (scores, models),
        "reversed": (Listing(table=partial(_pairs, result), instead=True),),
    }


def _models(result: "BenchmarkAgreement") -> Table:
    one, other = result.names
    return Table.of(
        [
            name_column("model", result.labels),
            estimate_column(one, result.first, digits=3),
            estimate_column(other, result.second, digits=3),
            number_column(f"questions, {one}", result.first.n, digits=0),
            number_column(f"questions, {other}", result.second.n, digits=0),
        ],
        caption="Scores of all models",
    )


def _pairs(result: "BenchmarkAgreement") -> Table | None:
    rows = np.flatnonzero(result.reversed)
    if not rows.size:
        return None
    one, other = result.first_differences, result.second_differences
    return Table.of(
        [
            name_column("model", [one.first[row] for row in rows]),
            name_column("and", [one.second[row] for row in rows]),
            *(
                interval_column(name, each.value[rows], each.interval[rows], digits=3)
                for name, each in zip(result.names, (one, other), strict=True)
            ),
            p_column("p, adjusted", result.reversal_p[rows]),
        ],
        caption="Pairs that the benchmarks rank in opposite orders",
    )
