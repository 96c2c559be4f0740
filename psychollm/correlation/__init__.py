"""Floor 3: tetrachoric correlations of models or questions, their smoothing, their spectrum."""

from psychollm._base.entry import entries
from psychollm.correlation.by_group import polychoric_by_group
from psychollm.correlation.polychoric import PolychoricCorrelation, polychoric
from psychollm.correlation.polyserial import SerialCorrelation, biserial, polyserial
from psychollm.correlation.smoothing import Smoothing, smooth
from psychollm.correlation.spectrum import Spectrum, spectrum
from psychollm.correlation.table import TableCorrelation, tetrachoric_table
from psychollm.correlation.tetrachoric import Correlation, PairStatus, Sensitivity, tetrachoric

__all__ = [
    "Correlation",
    "PairStatus",
    "PolychoricCorrelation",
    "Sensitivity",
    "SerialCorrelation",
    "Smoothing",
    "Spectrum",
    "TableCorrelation",
    "biserial",
    "polychoric",
    "polychoric_by_group",
    "polyserial",
    "smooth",
    "spectrum",
    "tetrachoric",
    "tetrachoric_table",
]

entries(globals())
