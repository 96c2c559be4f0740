"""`semantic_calibration` in plain sentences, every number with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from psychollm.estimates.difference import Difference
    from psychollm.estimates.estimate import Estimate
    from psychollm.studies.semantic_calibration.study import ArmContrast, SemanticCalibration

_UNIFORM = 0.98  # mean confidence from which samples tell next to nothing


def summary(study: SemanticCalibration) -> str:
    """Return the findings in sentences, a paragraph per question asked of the data."""
    lines = [verdict(study), "", f"{study.n_questions} questions that all arms answered:"]
    lines += [f"  {_arm(study, row)}" for row in range(len(study.labels))]
    if study.contrasts:
        lines += ["", f"Against {study.baseline}, paired by questions:"]
        lines += [f"  {_contrast(one)}" for one in study.contrasts]
    lines += _notes(study)
    return "\n".join(lines)


def verdict(study: SemanticCalibration) -> str:
    """Return in few sentences which arms are calibrated in meaning, and what sets them apart."""
    alpha = 1.0 - study.level
    lost = [row for row, p in enumerate(study.p_adjusted) if p <= alpha]
    kept = [str(one) for row, one in enumerate(study.labels) if row not in lost]
    parts = []
    if lost:
        named = [f"{study.labels[row]} ({_direction(study, row)})" for row in lost]
        parts.append(f"Not calibrated in meaning: {', '.join(named)}.")
    if kept:
        parts.append(f"No departure from calibration shown: {', '.join(kept)}.")
    worse = [one for one in study.contrasts if _clear(one, alpha) > 0]
    better = [one for one in study.contrasts if _clear(one, alpha) < 0]
    for found, word in ((worse, "worse"), (better, "better")):
        if found:
            named = [str(one.arm) for one in found]
            parts.append(f"Calibrated {word} than {study.baseline}: {', '.join(named)}.")
    if study.contrasts and not worse and not better:
        parts.append(f"No difference in calibration from {study.baseline} shown.")
    return " ".join(parts)


def _clear(one: ArmContrast, alpha: float) -> int:
    """Return the sign of a difference beyond chance, 0 otherwise."""
    return int(np.sign(one.excess.value)) if one.p_adjusted <= alpha else 0


def _direction(study: SemanticCalibration, row: int) -> str:
    low, high = study.excess_overconfidence.interval[row]
    if low > 0.0:
        return "overconfident"
    return "underconfident" if high < 0.0 else "in places too sure, in others too little"


def _arm(study: SemanticCalibration, row: int) -> str:
    expected = study.expected.value[row]
    text = (
        f"{study.labels[row]}: right {_at(study.accuracy, row)}, sure "
        f"{_at(study.mean_confidence, row)}; smECE {study.smooth.value.value[row]:.3f}, "
        f"{expected:.3f} if calibrated with as many samples (p = {study.p_value.value[row]:.3g}); "
        f"beyond that overconfident by {_at(study.excess_overconfidence, row, sign=True)}"
    )
    left = int(study.n_left_out[row])
    return text + (f"; {left} further questions without an answer." if left else ".")


def _at(estimate: Estimate, row: int, *, sign: bool = False) -> str:
    form = "+.3f" if sign else ".3f"
    low, high = estimate.interval[row]
    return f"{estimate.value[row]:{form}} [{low:{form}}, {high:{form}}]"


def _contrast(one: ArmContrast) -> str:
    return (
        f"{one.arm}: excess smECE {_gap(one.excess)} (p = {one.p_adjusted:.3g} by Holm), "
        f"overconfidence {_gap(one.overconfidence)}, accuracy {_gap(one.accuracy)}, "
        f"entropy {_gap(one.entropy)}."
    )


def _gap(found: Difference) -> str:
    low, high = found.interval
    return f"{found.value:+.3f} [{low:+.3f}, {high:+.3f}]"


def _notes(study: SemanticCalibration) -> list[str]:
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
    return ["", *lines] if lines else []
