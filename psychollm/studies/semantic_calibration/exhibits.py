"""Figures and tables of semantic calibration: diagrams, errors, contrasts of arms."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from psychollm.estimates.exhibits import Drawing, Exhibit, Listing, forest, listing
from psychollm.estimates.listing import (
    Column,
    Table,
    estimate_column,
    interval_column,
    name_column,
    number_column,
    p_column,
)
from psychollm.estimates.verdict import SmallestEffects, quoted

if TYPE_CHECKING:
    from psychollm.studies.semantic_calibration.study import SemanticCalibration


def exhibits(
    study: "SemanticCalibration", smallest: SmallestEffects
) -> Mapping[str, Sequence[Exhibit | None]]:
    """Return the figures and tables that support each finding."""
    diagrams = Drawing(
        plot="plot_semantic_calibration",
        of=study,
        key="diagrams",
        title="Accuracy against the proportion of the largest class, by arm",
        caption=(
            "Accuracy of the most frequent answer against its frequency. Larger rings represent "
            "more questions. Grey: values expected of a semantically calibrated model with the "
            "same number of samples. The expected values are below the diagonal, because the "
            "largest observed proportion overestimates the probability of its class."
        ),
    )
    arms = {
        "accuracy": study.accuracy,
        "confidence": study.mean_confidence,
        "overconfidence": study.excess_overconfidence,
        "entropy": study.entropy.mean,
    }
    excess = forest(
        {"excess smECE": study.excess},
        key="excess",
        title="Excess calibration error",
        caption=(
            "Smooth calibration error minus that of a calibrated model with the same number of "
            "samples."
        ),
        x="excess smECE",
        reference=0.0,
    )
    over = forest(
        {
            "excess over a calibrated model": study.excess_overconfidence,
            "raw": study.overconfidence,
        },
        key="overconfidence",
        title="Overconfidence",
        caption=(
            "Mean confidence minus accuracy: raw values, and their excess over the values "
            "expected of a calibrated model with the same number of samples."
        ),
        x="overconfidence",
        reference=0.0,
    )
    return {
        "verdict": (excess, over),
        "arms": (
            diagrams,
            Listing(table=partial(_nulls, study), instead=True),
            listing(arms, "Arms", of="arm", digits=3, folded=True),
        ),
        "contrasts": (Listing(table=partial(_contrasts, study), instead=True),),
    }


def _nulls(study: "SemanticCalibration") -> Table:
    """Return the error of each arm and its expectation under both null hypotheses."""
    smooth, binned = study.smooth, study.binned
    return Table.of(
        [
            name_column("arm", study.labels),
            estimate_column("smECE", smooth.value, digits=3),
            estimate_column("expected, calibrated model", study.expected, digits=3),
            p_column("p", study.p_value.value),
            p_column("p, adjusted (Holm)", study.p_adjusted),
            estimate_column("expected, calibrated confidences", smooth.expected, digits=3),
            p_column("p", smooth.p_value.value),
            number_column("ECE", binned.value.value, digits=3),
            number_column("expected ECE", binned.expected.value, digits=3),
        ],
        caption=(
            "Calibration error, and its expectation for a calibrated model with the same number "
            "of samples (used for the verdict) and for calibrated confidences"
        ),
    )


def _contrasts(study: "SemanticCalibration") -> Table | None:
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
            p_column("p, adjusted (Holm)", [one.p_adjusted for one in pairs]),
            column("raw smECE", "smooth"),
            column("overconfidence", "overconfidence"),
            column("accuracy", "accuracy"),
            column("entropy", "entropy"),
        ],
        caption=f"Differences from {quoted(study.baseline)}, paired by question",
    )
