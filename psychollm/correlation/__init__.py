"""Floor 3: tetrachoric correlations of models or questions, their smoothing, their spectrum."""

from psychollm.correlation.sensitivity import Sensitivity
from psychollm.correlation.smoothing import Smoothing, smooth
from psychollm.correlation.spectrum import Spectrum, spectrum
from psychollm.correlation.table import TableCorrelation, tetrachoric_table
from psychollm.correlation.tetrachoric import Correlation, PairStatus, tetrachoric

__all__ = [
    "Correlation",
    "PairStatus",
    "Sensitivity",
    "Smoothing",
    "Spectrum",
    "TableCorrelation",
    "smooth",
    "spectrum",
    "tetrachoric",
    "tetrachoric_table",
]
