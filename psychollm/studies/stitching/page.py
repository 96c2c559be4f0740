"""Report page of benchmarks on one scale."""

from typing import TYPE_CHECKING

from psychollm._base.numbers import count, number
from psychollm.estimates.layout import Fact, Layout
from psychollm.estimates.references import cite
from psychollm.estimates.verdict import SmallestEffects

if TYPE_CHECKING:
    from psychollm.studies.stitching.result import StitchedBenchmarks


def _methods(result: "StitchedBenchmarks") -> tuple[str, ...]:
    return (
        "The expected score in a benchmark is a logistic function of the model's ability "
        f"{cite('ho', 'papke')}. Difficulties and slopes are partially pooled over benchmarks. "
        "Abilities are shrunk towards a linear trend in the release date, if dates are known. "
        "The residual standard deviation differs between benchmarks.",
        "One or two abilities are fitted, whichever predicts held-out single scores better in "
        "five-fold cross-validation. Prediction intervals account for the uncertainty of all "
        "parameters and for residual variance; they are rescaled to reach their nominal coverage "
        "of held-out scores.",
        "Intervals of abilities use the normal approximation to the posterior.",
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
                detail="RMSE of held-out single scores",
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
