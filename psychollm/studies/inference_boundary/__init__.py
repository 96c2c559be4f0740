"""Inference boundary: whether models know how far given rules carry."""

from psychollm.studies.inference_boundary.monitoring_link import MonitoringLink, monitoring_link
from psychollm.studies.inference_boundary.profile import BoundaryProfile
from psychollm.studies.inference_boundary.skin_contrast import skin_contrast
from psychollm.studies.inference_boundary.study import (
    InferenceBoundary,
    ThinkingContrast,
    inference_boundary,
)

__all__ = [
    "BoundaryProfile",
    "InferenceBoundary",
    "MonitoringLink",
    "ThinkingContrast",
    "inference_boundary",
    "monitoring_link",
    "skin_contrast",
]
