"""Floor 5: verdicts: each study combines the rooms below into answers to one question."""

from psychollm.studies.boundary_profile import BoundaryProfile
from psychollm.studies.dimensionality import Dimensionality, dimensionality
from psychollm.studies.inference_boundary import (
    InferenceBoundary,
    ThinkingContrast,
    inference_boundary,
)
from psychollm.studies.monitoring_link import MonitoringLink, monitoring_link
from psychollm.studies.private_signal import PrivateSignal, private_signal
from psychollm.studies.residual_structure import ResidualStructure, residual_structure
from psychollm.studies.shared_confidence import SharedConfidence, shared_confidence
from psychollm.studies.skin_contrast import skin_contrast

__all__ = [
    "BoundaryProfile",
    "Dimensionality",
    "InferenceBoundary",
    "MonitoringLink",
    "PrivateSignal",
    "ResidualStructure",
    "SharedConfidence",
    "ThinkingContrast",
    "dimensionality",
    "inference_boundary",
    "monitoring_link",
    "private_signal",
    "residual_structure",
    "shared_confidence",
    "skin_contrast",
]
