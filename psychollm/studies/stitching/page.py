"""The page of one scale."""

from typing import TYPE_CHECKING

from psychollm._base.numbers import count, number
from psychollm.estimates.layout import Fact, Layout
from psychollm.estimates.references import cite
from psychollm.estimates.verdict import SmallestEffects

if TYPE_CHECKING:
    from psychollm.studies.stitching.result import StitchedBenchmarks


def _methods(result: "StitchedBenchmarks") -> tuple[str, ...]:
    return (
        "The expected score in a benchmark rises with the ability of the model along a logistic "
        f"curve {cite('ho', 'papke')}. Difficulties and slopes are partially pooled over "
        "benchmarks, abilities are drawn towards a line in the date of release where dates are "
        "known. Each benchmark has a scatter of its own.",
        "The number of abilities is the one with which left-out single scores are predicted "
        "better, in five folds. Intervals of predictions hold the uncertainty of all parameters "
        "and the scatter, and are widened or narrowed until they cover left-out scores.",
        "Intervals of abilities are those of the normal approximation to the posterior.",
    )


def _facts(result: "StitchedBenchmarks", smallest: SmallestEffects) -> tuple[Fact, ...]:
    facts: tuple[Fact, ...] = (
        Fact(name="Models", value=count(len(result.labels))),
        Fact(name="Benchmarks", value=count(len(result.data.benchmarks))),
        Fact(name="Abilities", value=count(result.n_abilities)),
    )
    if result.held_cells[0].score.size:
        facts += (
            Fact(
                name="Prediction error",
                value=number(result.rmse[0], 3),
                detail="of single scores that were left out",
            ),
        )
    return facts


LAYOUT = Layout(
    title="How able are models across benchmarks?",
    facts=_facts,
    methods=_methods,
    call=lambda result, source, options: source or "result = psy.stitch_benchmarks(scores, rng=1)",
)

PAGES = {"StitchedBenchmarks": LAYOUT}
