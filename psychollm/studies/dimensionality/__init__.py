"""Dimensionality: one factor or several."""

from psychollm.studies.dimensionality.result import Dimensionality
from psychollm.studies.dimensionality.study import dimensionality

__all__ = ["Dimensionality", "dimensionality"]
