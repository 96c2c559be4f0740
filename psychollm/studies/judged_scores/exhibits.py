"""Figures and tables of the findings on judged scores."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

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
    from psychollm.studies.judged_scores.result import JudgedScores


def exhibits(
    result: "JudgedScores", smallest: SmallestEffects
) -> Mapping[str, Sequence[Exhibit | None]]:
    """Return the figures and tables that support each finding."""
    drawing = Drawing(
        plot="studies.judged_scores.figures.plot_judged_scores",
        of=result,
        key="judged",
        title="Scores by the judge and by people",
        caption=(
            "Dots show estimated human scores, with intervals; diamonds show the judge's scores. "
            "The distance between a dot and its diamond is the judge's bias for the model."
        ),
    )
    shown: dict[str, Sequence[Exhibit | None]] = {
        "scores": (drawing, Listing(table=partial(_models, result), instead=True)),
    }
    if len(result.judges) > 1:
        shown["judge"] = (Listing(table=partial(_judges, result), folded=True),)
    if len(result.labels) > 1:
        shown["differences"] = (Listing(table=partial(_pairs, result), folded=True),)
    if result.family_bias is not None:
        shown["families"] = (Listing(table=partial(_families, result)),)
    return shown


def _models(result: "JudgedScores") -> Table:
    return Table.of(
        [
            name_column("model", result.labels),
            estimate_column("human score", result.score, digits=3),
            number_column("judge's score", result.raw.value, digits=3),
            estimate_column("bias of the judge", result.bias, digits=3),
            number_column("labels", result.score.n, digits=0),
            number_column("answers", result.n_answers, digits=0),
            number_column("rank", result.rank, digits=0),
            number_column("tier", result.tier, digits=0),
        ],
        caption="Scores by the judge and by people",
    )


def _judges(result: "JudgedScores") -> Table:
    return Table.of(
        [
            name_column("judge", result.judges),
            number_column("weight", result.judge_weights, digits=2),
        ],
        caption="Weights of the judges",
    )


def _pairs(result: "JudgedScores") -> Table:
    pairs, gaps = result.differences, result.bias_gaps
    return Table.of(
        [
            name_column("model", pairs.first),
            name_column("and", pairs.second),
            interval_column(
                "difference", pairs.value, pairs.interval, digits=3, reasons=pairs.flags
            ),
            p_column("p, adjusted", pairs.adjusted, reasons=pairs.flags),
            interval_column(
                "difference in bias", gaps[:, 0], gaps[:, 1:], digits=3, reasons=pairs.flags
            ),
            number_column("labels", pairs.n, digits=0),
        ],
        caption="Every pair of models",
    )


def _families(result: "JudgedScores") -> Table:
    found = result.family_bias
    assert found is not None  # noqa: S101 -- for the type checker
    return Table.of(
        [
            name_column("family", found.labels),
            estimate_column("bias of the judge", found, digits=3),
            number_column("labels", found.n, digits=0),
        ],
        caption="Bias of the judge by family",
    )
