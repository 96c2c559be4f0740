"""Floor 3: how confidence and correctness agree, within and between models."""

from psychollm._base.multiplicity import adjust_p_values
from psychollm.calibration.between_models import BetweenModels, Line, between_models
from psychollm.calibration.confusion import Confusion, confusion
from psychollm.calibration.ensemble import EnsembleGain, ensemble_gain
from psychollm.calibration.estimate import Estimate
from psychollm.calibration.f_beta import FBeta, f_beta
from psychollm.calibration.individuation import Individuation, individuation
from psychollm.calibration.pairwise import PairwiseCalibration, pairwise_calibration
from psychollm.calibration.proportions import paired_difference, proportion, wilson
from psychollm.calibration.ranking import auroc
from psychollm.calibration.reasons import Reason

__all__ = [
    "BetweenModels",
    "Confusion",
    "EnsembleGain",
    "Estimate",
    "FBeta",
    "Individuation",
    "Line",
    "PairwiseCalibration",
    "Reason",
    "adjust_p_values",
    "auroc",
    "between_models",
    "confusion",
    "ensemble_gain",
    "f_beta",
    "individuation",
    "paired_difference",
    "pairwise_calibration",
    "proportion",
    "wilson",
]
