"""Shared confidence: one signal or several, and what a model's own adds."""

from psychollm.studies.shared_confidence.private_signal import PrivateSignal, private_signal
from psychollm.studies.shared_confidence.residual_structure import (
    ResidualStructure,
    residual_structure,
)
from psychollm.studies.shared_confidence.result import SharedConfidence
from psychollm.studies.shared_confidence.study import shared_confidence

__all__ = [
    "PrivateSignal",
    "ResidualStructure",
    "SharedConfidence",
    "private_signal",
    "residual_structure",
    "shared_confidence",
]
