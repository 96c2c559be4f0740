"""Calibration in meaning: whether an answer is as often right as it is sampled."""

from psychollm.studies.semantic_calibration.mechanism import (
    SemanticMechanism,
    predicted_chances,
    semantic_mechanism,
)
from psychollm.studies.semantic_calibration.null import SampleCurve
from psychollm.studies.semantic_calibration.study import (
    ArmContrast,
    SemanticCalibration,
    semantic_calibration,
)

__all__ = [
    "ArmContrast",
    "SampleCurve",
    "SemanticCalibration",
    "SemanticMechanism",
    "predicted_chances",
    "semantic_calibration",
    "semantic_mechanism",
]
