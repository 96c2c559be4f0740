"""The report of semantic calibration: diagrams, errors beside both nulls, contrasts of arms."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import count, p_equals, percent
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.verdict import SmallestEffects
from psychollm.plots.semantic_calibration import PANEL, plot_semantic_calibration
from psychollm.plots.small_multiples import grid_size
from psychollm.reports.layout import (
    Beside,
    Layout,
    Picture,
    Wanted,
    arguments,
    estimates_table,
    forest_picture,
    span,
)
from psychollm.reports.page import Fact, cite
from psychollm.reports.table import (
    Column,
    Table,
    estimate_column,
    interval_column,
    name_column,
    number_column,
    p_column,
)

if TYPE_CHECKING:
    from psychollm.studies.semantic_calibration.study import SemanticCalibration

_DIAGRAMS = Picture(
    key="diagrams",
    title="Accuracy over the share of the largest class, arm by arm",
    caption="How often the most frequent answer is right, over how frequent it is. Rings: the "
    "questions with that share, as large as their number. Grey: what a model that is calibrated "
    "in meaning shows with as many samples; it lies below the diagonal, since the largest of "
    "several shares is larger than the chance that it stands for.",
    draw=lambda study, canvas: plot_semantic_calibration(study, figure=canvas),
    size=lambda study: grid_size(len(study.labels), 4, PANEL, above=0.5),
)


def _excess(study: "SemanticCalibration") -> dict[str, Estimate]:
    return {"smECE beyond that of a calibrated model": study.excess}


def _over(study: "SemanticCalibration") -> dict[str, Estimate]:
    return {
        "beyond a calibrated model": study.excess_overconfidence,
        "as it stands": study.overconfidence,
    }


def _nulls(study: "SemanticCalibration", smallest: SmallestEffects) -> Table:
    """Return the error of each arm beside what both nulls make of it."""
    smooth, binned = study.smooth, study.binned
    return Table.of(
        [
            name_column("arm", study.labels),
            estimate_column("smECE", smooth.value, digits=3),
            estimate_column("if calibrated, as many samples", study.expected, digits=3),
            p_column("p", study.p_value.value),
            p_column("p, by Holm", study.p_adjusted),
            estimate_column("if confidences were as stated", smooth.expected, digits=3),
            p_column("p", smooth.p_value.value),
            number_column("ECE", binned.value.value, digits=3),
            number_column("ECE if as stated", binned.expected.value, digits=3),
        ],
        caption="Calibration error beside both nulls: calibrated with as many samples, and "
        "calibrated with the confidences as they stand. The first decides",
    )


def _contrasts(study: "SemanticCalibration", smallest: SmallestEffects) -> Table | None:
    pairs = study.contrasts

    def column(heading: str, name: str) -> Column:
        found = [getattr(one, name) for one in pairs]
        return interval_column(
            heading, [one.value for one in found], [one.interval for one in found], digits=3
        )

    return Table.of(
        [
            name_column("arm", [one.arm for one in pairs]),
            column("excess smECE", "excess"),
            p_column("p, by Holm", [one.p_adjusted for one in pairs]),
            column("raw smECE", "smooth"),
            column("overconfidence", "overconfidence"),
            column("accuracy", "accuracy"),
            column("entropy", "entropy"),
        ],
        caption=f"Differences from {study.baseline}, paired by questions",
    )


def _arms(study: "SemanticCalibration") -> dict[str, Estimate]:
    return {
        "accuracy": study.accuracy,
        "confidence": study.mean_confidence,
        "overconfidence": study.excess_overconfidence,
        "entropy": study.entropy.mean,
    }


def _facts(study: "SemanticCalibration", smallest: SmallestEffects) -> tuple[Fact, ...]:
    p = study.p_adjusted
    least = float(np.nanmin(p)) if np.isfinite(p).any() else np.nan
    return (
        Fact(name="Right", value=span(study.accuracy, 3)),
        Fact(name="Sure", value=span(study.mean_confidence, 3)),
        Fact(name="smECE", value=span(study.smooth.value, 3)),
        Fact(name="smECE of calibrated models", value=span(study.expected, 3)),
        Fact(
            name="smECE beyond that of calibrated models",
            value=span(study.excess, 3),
            detail=f"smallest {p_equals(least)}",
        ),
        Fact(
            name="Samples a question",
            value=count(float(np.median(study.confidence.n_samples))),
            detail=f"at least {int(study.confidence.n_samples.min())}",
        ),
    )


def _methods(study: "SemanticCalibration") -> tuple[str, ...]:
    return (
        f"<b>Confidence in meaning.</b> After {cite('nakkiran')[1:-1]}: each question is asked "
        "many times, the replies are put into classes of one meaning, and the share of the "
        "largest class is the confidence that its answer is right. Only questions that all arms "
        f"answered are compared: {count(study.n_questions)}.",
        f"<b>Two nulls.</b> The smooth calibration error {cite('smece')} is above zero by chance "
        "alone. Beside it stand its expectation if answers were right as often as confidences "
        "say, and if the model were calibrated but its shares came from as many samples: the "
        "largest of several shares overstates the chance of its class, the more so the more "
        "diverse answers are. Verdicts rest on the second, adjusted for the number of arms "
        f"{cite('holm')}.",
        f"<b>Uncertainty.</b> Questions were resampled, the same for all arms, for intervals that "
        f"cover {percent(study.level)}; an effect is called small where its interval lies within "
        f"the smallest that matters {cite('schuirmann')}.",
    )


def _wanted(study: "SemanticCalibration", smallest: SmallestEffects) -> Iterator[Wanted]:
    least = smallest.calibration_error
    yield Wanted(what="error beyond a calibrated model", estimate=study.excess, smallest=least)


def _call(study: "SemanticCalibration", source: str, options: str) -> str:
    made = source or "# scores: the samples of each arm, by its name"
    given = arguments(study, ("baseline",)) if study.baseline != study.labels[0] else ""
    call = f"study = psy.semantic_calibration(scores{given}, {options})"
    return f"{made}\n{call}"


LAYOUT = Layout(
    title="Semantic calibration: are the models as sure of what they say as they are right?",
    subtitle=lambda study: (
        f"{len(study.labels)} arms, {count(study.n_questions)} questions that all of them "
        f"answered, {percent(study.level)} intervals"
    ),
    facts=_facts,
    beside={
        "arms": Beside(
            title="Is the most frequent answer as often right as it is frequent?",
            pictures=(_DIAGRAMS,),
            tables=(_nulls,),
            folded=(estimates_table("Arms", _arms, of="arm", digits=3),),
            instead=True,
        ),
        "verdict": Beside(
            title="How far from calibrated in meaning?",
            pictures=(
                forest_picture(
                    "excess",
                    "Calibration error beyond that of a calibrated model",
                    "Smooth calibration error beyond what a calibrated model shows with as many "
                    "samples.",
                    _excess,
                    x="excess smECE",
                    reference=0.0,
                ),
                forest_picture(
                    "overconfidence",
                    "Overconfidence",
                    "Mean confidence less accuracy, as it stands and beyond that of a calibrated "
                    "model with as many samples.",
                    _over,
                    x="overconfidence",
                    reference=0.0,
                ),
            ),
        ),
        "contrasts": Beside(tables=(_contrasts,), instead=True),
    },
    methods=_methods,
    call=_call,
    wanted=_wanted,
)
