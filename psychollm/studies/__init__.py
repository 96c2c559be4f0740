"""Floor 4: verdicts: each study combines the rooms below into answers to one question."""

from psychollm.studies.dimensionality import Dimensionality, dimensionality
from psychollm.studies.private_signal import PrivateSignal, private_signal
from psychollm.studies.residual_structure import ResidualStructure, residual_structure
from psychollm.studies.shared_confidence import SharedConfidence, shared_confidence

__all__ = [
    "Dimensionality",
    "PrivateSignal",
    "ResidualStructure",
    "SharedConfidence",
    "dimensionality",
    "private_signal",
    "residual_structure",
    "shared_confidence",
]
