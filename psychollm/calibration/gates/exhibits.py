"""Figures and tables of confidence gates."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from psychollm.estimates.exhibits import Drawing, Exhibit, Listing
from psychollm.estimates.listing import Table, name_column, number_column, text_column
from psychollm.estimates.verdict import SmallestEffects

if TYPE_CHECKING:
    from psychollm.calibration.gates.confidence_gate import ConfidenceGate


def exhibits(
    result: "ConfidenceGate", smallest: SmallestEffects
) -> Mapping[str, Sequence[Exhibit | None]]:
    """Return the figures and tables that support each finding."""
    curves = Drawing(
        plot="plot_confidence_gate",
        of=result,
        key="gates",
        title="Proportion of wrong answers by proportion answered",
        caption=(
            "Proportion of wrong answers among the questions answered without review, against "
            "the proportion of questions answered, which increases as the threshold falls. "
            "Circles mark gates, with a line up to the guaranteed bound; the dashed line marks "
            "the tolerated proportion."
        ),
    )
    return {"gates": (curves, Listing(table=partial(_gates, result), instead=True))}


def _gates(result: "ConfidenceGate") -> Table:
    size = result.promised.size
    row, column = np.divmod(np.arange(size), len(result.groups))
    group = [name_column("group", [result.groups[k] for k in column])] if result.grouped else []
    return Table.of(
        [
            name_column("model", [result.labels[k] for k in row]),
            *group,
            number_column("answers", result.n.ravel(), digits=0),
            text_column("threshold", map(_threshold, result.threshold.ravel().tolist())),
            number_column("answered, %", 100.0 * result.coverage.ravel(), digits=1),
            number_column("wrong, %", 100.0 * result.error.ravel(), digits=1),
            number_column("upper bound, %", 100.0 * result.upper.ravel(), digits=1),
            text_column("reason", [str(flag) for flags in result.flags for flag in flags]),
        ],
        caption="Gates",
    )


def _threshold(value: float) -> str:
    return f"{value:.4g}" if np.isfinite(value) else "–"
