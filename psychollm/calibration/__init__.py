"""Floor 3: how confidence and correctness agree, within and between models."""

from psychollm.calibration.between_models import BetweenModels, Line, between_models
from psychollm.calibration.confusion import Confusion, confusion
from psychollm.calibration.ensemble import EnsembleGain, ensemble_gain
from psychollm.calibration.f_beta import FBeta, f_beta
from psychollm.calibration.individuation import Individuation, individuation
from psychollm.calibration.pairwise import PairwiseCalibration, pairwise_calibration
from psychollm.calibration.proper_scores import brier
from psychollm.calibration.ranking import auroc

__all__ = [
    "BetweenModels",
    "Confusion",
    "EnsembleGain",
    "FBeta",
    "Individuation",
    "Line",
    "PairwiseCalibration",
    "auroc",
    "between_models",
    "brier",
    "confusion",
    "ensemble_gain",
    "f_beta",
    "individuation",
    "pairwise_calibration",
]
