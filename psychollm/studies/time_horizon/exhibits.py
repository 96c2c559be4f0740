"""Figures and tables of the findings on time horizons."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from psychollm.estimates.exhibits import Drawing, Exhibit, Listing
from psychollm.estimates.listing import Table, name_column
from psychollm.estimates.verdict import SmallestEffects

if TYPE_CHECKING:
    from psychollm.studies.time_horizon.result import TimeHorizon


def exhibits(
    result: "TimeHorizon", smallest: SmallestEffects
) -> Mapping[str, Sequence[Exhibit | None]]:
    """Return the figures and tables that support each finding."""
    horizons = Drawing(
        plot="studies.time_horizon.figures.plot_time_horizon",
        of=result,
        key="horizons",
        title="Time horizon of each model",
        caption=(
            "Horizons over all tasks and for a task of median difficulty given its length. Lines "
            "that reach the edge of the plot show unbounded intervals."
        ),
    )
    trend = Drawing(
        plot="studies.time_horizon.figures.plot_horizon_trend",
        of=result,
        key="trend",
        title="Horizons by release date",
        caption="Horizons over all tasks by release date, with intervals and a regression line on "
        "the log scale.",
    )
    return {
        "horizons": (horizons, Listing(table=partial(_models, result), instead=True)),
        **({} if result.trends is None else {"trend": (trend,)}),
    }


def _models(result: "TimeHorizon") -> Table:
    from psychollm._base.numbers import percent

    return Table.of(
        [
            name_column("model", result.labels),
            *(
                name_column(
                    f"{percent(share)}, {name}",
                    [result.text(row, place, kind) for row in range(len(result.labels))],
                )
                for place, share in enumerate(result.shares)
                for kind, name in enumerate(result.definitions)
            ),
        ],
        caption="Time horizons in minutes",
    )
