"""Floor 3: tetrachoric correlations of models or questions, their smoothing, their spectrum."""

from psychollm.correlation.sensitivity import Sensitivity
from psychollm.correlation.table import TableCorrelation, tetrachoric_table
from psychollm.correlation.tetrachoric import Correlation, PairStatus, tetrachoric

__all__ = [
    "Correlation",
    "PairStatus",
    "Sensitivity",
    "TableCorrelation",
    "tetrachoric",
    "tetrachoric_table",
]
