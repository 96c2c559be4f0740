"""Dimensionality: one factor or several."""

from psychollm.studies.dimensionality.study import Dimensionality, dimensionality

__all__ = [
    "Dimensionality",
    "dimensionality",
]
