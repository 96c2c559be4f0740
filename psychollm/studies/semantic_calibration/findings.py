"""`semantic_calibration` in plain sentences, every number with its interval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from psychollm._base.numbers import p_equals, with_interval
from psychollm.estimates.findings import VERDICT, Finding, Findings
from psychollm.estimates.verdict import (
    SMALLEST,
    Outcome,
    SmallestEffects,
    Verdicts,
    outcome,
    verdicts,
)

if TYPE_CHECKING:
    from psychollm.estimates.difference import Difference
    from psychollm.studies.semantic_calibration.study import ArmContrast, SemanticCalibration

_UNIFORM = 0.98  # mean confidence from which samples tell next to nothing


def findings(study: SemanticCalibration, smallest: SmallestEffects) -> Findings:
    """Return the verdict, then the arms, their contrasts, and what tells little."""
    excess = {str(one.arm): one.excess for one in study.contrasts}
    items = [
        Finding(
            key=VERDICT,
            statement=verdict(study, smallest=smallest),
            numbers={"excess": study.excess, "p_adjusted": study.p_adjusted},
        ),
        Finding(
            key="arms",
            question=f"{study.n_questions} questions that all arms answered:",
            rows=tuple(_arm(study, row) for row in range(len(study.labels))),
            numbers={"accuracy": study.accuracy, "mean_confidence": study.mean_confidence},
        ),
        Finding(
            key="contrasts",
            question=f"Against {study.baseline}, paired by questions:",
            rows=tuple(map(_contrast, study.contrasts)),
            numbers=excess,
        ),
        Finding(key="notes", question="To be kept in mind:", rows=_notes(study)),
    ]
    return Findings(items=tuple(one for one in items if one.statement or one.rows))


def verdict(study: SemanticCalibration, *, smallest: SmallestEffects = SMALLEST) -> str:
    """Return in few sentences which arms are calibrated in meaning, and what sets them apart."""
    alpha, least = 1.0 - study.level, smallest.calibration_error
    found = verdicts(
        study.excess, smallest=least, rejected=[bool(p <= alpha) for p in study.p_adjusted]
    )
    lost = [row for row, one in enumerate(found.outcomes) if one.shown]
    named = [f"{study.labels[row]} ({_direction(study, row)})" for row in lost]
    parts = [f"Not calibrated in meaning: {', '.join(named)}."] if lost else []
    parts += _listed(
        found,
        {
            Outcome.SMALL: f"Calibrated in meaning to within {least:g}",
            Outcome.OPEN: "Too few questions to say whether calibrated in meaning",
        },
    )
    arms = Verdicts(
        tuple(one.arm for one in study.contrasts),
        tuple(
            outcome(one.excess.interval, smallest=least, rejected=bool(one.p_adjusted <= alpha))
            for one in study.contrasts
        ),
    )
    parts += _listed(
        arms,
        {
            Outcome.ABOVE: f"Calibrated worse than {study.baseline}",
            Outcome.BELOW: f"Calibrated better than {study.baseline}",
            Outcome.SMALL: f"Calibrated as well as {study.baseline}, to within {least:g}",
            Outcome.OPEN: f"Too few questions to compare with {study.baseline}",
        },
    )
    return " ".join(parts)


def _listed(found: Verdicts, words: Mapping[Outcome, str]) -> list[str]:
    """Return a sentence per outcome that occurs, with whom it concerns."""
    return [
        f"{said}: {', '.join(found.which(one))}."
        for one, said in words.items()
        if found.count(one)
    ]


def _direction(study: SemanticCalibration, row: int) -> str:
    low, high = study.excess_overconfidence.interval[row]
    if low > 0.0:
        return "overconfident"
    return "underconfident" if high < 0.0 else "in places too sure, in others too little"


def _arm(study: SemanticCalibration, row: int) -> str:
    expected = study.expected.value[row]
    text = (
        f"{study.labels[row]}: right {study.accuracy.text(row, 3)}, sure "
        f"{study.mean_confidence.text(row, 3)}; smECE {study.smooth.value.value[row]:.3f}, "
        f"{expected:.3f} if calibrated with as many samples "
        f"({p_equals(study.p_value.value[row])}); "
        f"beyond that overconfident by {study.excess_overconfidence.text(row, 3, signed=True)}"
    )
    left = int(study.n_left_out[row])
    return text + (f"; {left} further questions without an answer." if left else ".")


def _contrast(one: ArmContrast) -> str:
    return (
        f"{one.arm}: excess smECE {_gap(one.excess)} ({p_equals(one.p_adjusted)} by Holm), "
        f"overconfidence {_gap(one.overconfidence)}, accuracy {_gap(one.accuracy)}, "
        f"entropy {_gap(one.entropy)}."
    )


def _gap(found: Difference) -> str:
    return with_interval(found.value, found.interval, 3, signed=True)


def _notes(study: SemanticCalibration) -> tuple[str, ...]:
    confidence = study.mean_confidence
    lines = [
        f"{label} gives nearly always the same answer: its samples tell little of confidence."
        for label, value in zip(study.labels, confidence.value, strict=True)
        if value >= _UNIFORM
    ]
    few = int(study.confidence.n_samples.min())
    if few < 5:
        number = "one sample" if few == 1 else f"{few} samples"
        lines.append(f"Some questions have {number} only: ten or more are advisable.")
    return tuple(lines)
