"""Report page of time horizons."""

from typing import TYPE_CHECKING

from psychollm._base.numbers import count, number
from psychollm.estimates.layout import Fact, Layout
from psychollm.estimates.references import cite
from psychollm.estimates.verdict import SmallestEffects
from psychollm.studies.time_horizon.result import minutes

if TYPE_CHECKING:
    from psychollm.studies.time_horizon.result import TimeHorizon


def _methods(result: "TimeHorizon") -> tuple[str, ...]:
    units = "tasks" if result.n_families is None else "families of tasks"
    return (
        "The horizon over all tasks comes from a logistic regression of success on log minutes, "
        f"for each model {cite('kwa')}. The interval of the horizon over all tasks is the "
        f"penalised profile likelihood interval {cite('heinze')}; for families of tasks, the "
        f"likelihood is adjusted for their correlation {cite('chandler')}.",
        "The horizon for a typical task comes from an item response model with task length as "
        f"predictor and a residual per task {cite('deboeck')}. The interval of the horizon for a "
        "typical task is Fieller's; degrees of freedom of Student's t are based on the number of "
        "tasks.",
        f"All intervals treat {units} as the sampling units. An interval is unbounded if a "
        "success curve that does not decrease with task length fits equally well.",
    )


def _facts(result: "TimeHorizon", smallest: SmallestEffects) -> tuple[Fact, ...]:
    units = () if result.n_families is None else (
        Fact(name="Families of tasks", value=count(result.n_families)),
    )  # fmt: skip
    return (
        Fact(name="Models", value=count(len(result.labels))),
        Fact(name="Tasks", value=count(len(result.tasks))),
        *units,
        Fact(
            name="Minutes",
            value=f"{minutes(result.task_minutes.min())} to {minutes(result.task_minutes.max())}",
        ),
        Fact(
            name="SD of difficulty at equal length",
            value=f"{number(result.doublings, 1)} doublings",
            detail="of task length",
        ),
    )


LAYOUT = Layout(
    title="How long are the tasks that models can solve?",
    facts=_facts,
    methods=_methods,
    call=lambda result, source, options: (
        source or "result = psy.time_horizon(solved, minutes, rng=1)"
    ),
)

PAGES = {"TimeHorizon": LAYOUT}
