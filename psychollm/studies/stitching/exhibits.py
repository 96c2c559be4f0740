"""Figures and tables of the findings on benchmarks on one scale."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from psychollm._base.numbers import count
from psychollm.estimates.exhibits import Drawing, Exhibit, Listing
from psychollm.estimates.listing import Table, estimate_column, name_column, number_column
from psychollm.estimates.verdict import SmallestEffects

if TYPE_CHECKING:
    from psychollm.studies.stitching.result import StitchedBenchmarks


def exhibits(
    result: "StitchedBenchmarks", smallest: SmallestEffects
) -> Mapping[str, Sequence[Exhibit | None]]:
    """Return the figures and tables that support each finding."""
    folder = "studies.stitching.figures"
    scale = Drawing(
        plot=f"{folder}.plot_scale",
        of=result,
        key="scale",
        title="Models and benchmarks on one scale",
        caption="Circles: abilities of the most able models. Squares: difficulties of benchmarks, "
        "the abilities at which the expected score is one half.",
    )
    held = None
    if result.held_cells[0].score.size:
        held = Drawing(
            plot=f"{folder}.plot_left_out",
            of=result,
            key="left-out",
            title="Held-out scores and their predictions",
            caption=(
                f"Each of {count(result.held_cells[0].score.size)} scores is predicted by a fit "
                "that did not use it."
            ),
        )
    return {
        "models": (scale, Listing(table=partial(_models, result), folded=True)),
        "benchmarks": (Listing(table=partial(_benchmarks, result), instead=True),),
        "predictions": (held,),
    }


def _models(result: "StitchedBenchmarks") -> Table:
    from psychollm.estimates.listing import interval_column

    ability, order = result.ability, result.order
    return Table.of(
        [
            name_column("model", [result.labels[row] for row in order]),
            interval_column("ability", ability.value[order], ability.interval[order]),
            number_column("scores", ability.n[order], digits=0),
        ],
        caption="Abilities of all models",
    )


def _benchmarks(result: "StitchedBenchmarks") -> Table:
    return Table.of(
        [
            name_column("benchmark", result.data.benchmarks),
            estimate_column("difficulty", result.difficulty),
            estimate_column("slope", result.slope),
            number_column("scatter", result.scatter, digits=3),
            number_column("models", result.difficulty.n, digits=0),
        ],
        caption="Benchmarks",
    )
