"""Floor 3: how confidence and correctness agree, within and between models."""

from psychollm._base.entry import entries
from psychollm.calibration.consensus.between_models import BetweenModels, Line, between_models
from psychollm.calibration.consensus.ensemble import EnsembleGain, ensemble_gain
from psychollm.calibration.consensus.individuation import Individuation, individuation
from psychollm.calibration.consensus.pairwise import PairwiseCalibration, pairwise_calibration
from psychollm.calibration.decisions.confusion import Confusion, confusion
from psychollm.calibration.decisions.f_beta import FBeta, f_beta
from psychollm.calibration.decisions.signal_detection import SignalDetection, signal_detection
from psychollm.calibration.discrimination.association import gamma, point_biserial, somers_d, tau_b
from psychollm.calibration.discrimination.meta_information import (
    ConfidenceInformation,
    confidence_information,
)
from psychollm.calibration.discrimination.ranking import auroc, average_precision
from psychollm.calibration.discrimination.type2_roc import Type2ROC, type2_roc
from psychollm.calibration.errors.binned import BinnedCalibrationError, calibration_error
from psychollm.calibration.errors.bins import ReliabilityBins
from psychollm.calibration.errors.smooth import (
    ReliabilityCurve,
    SmoothCalibrationError,
    smooth_calibration_error,
)
from psychollm.calibration.metric import Metric, Output
from psychollm.calibration.panels.catalogue import metric_keys
from psychollm.calibration.panels.panel import CalibrationPanel, calibration_panel
from psychollm.calibration.sampled.self_knowledge import (
    PredictedCorrectness,
    p_true,
    predicted_correctness,
)
from psychollm.calibration.sampled.semantic_confidence import (
    SemanticConfidence,
    semantic_confidence,
)
from psychollm.calibration.sampled.semantic_entropy import SemanticEntropy, semantic_entropy
from psychollm.calibration.scores.corp import Corp, RecalibrationCurve, corp
from psychollm.calibration.scores.cox import Cox, cox
from psychollm.calibration.scores.murphy import Murphy, murphy
from psychollm.calibration.scores.overconfidence import Overconfidence, overconfidence
from psychollm.calibration.scores.proper_scores import brier, brier_skill, log_score
from psychollm.calibration.scores.spiegelhalter import Significance, spiegelhalter
from psychollm.calibration.selection.abstention import (
    Abstention,
    AbstentionByGroup,
    abstention,
    abstention_by,
)
from psychollm.calibration.selection.risk_coverage import RiskCoverage, risk_coverage
from psychollm.calibration.selection.selective import (
    SelectivePrediction,
    coverage_at_risk,
    risk_at_coverage,
    selective_prediction,
)
from psychollm.calibration.stated_scan import StatedScan, scan_stated
from psychollm.calibration.tally import Tally
from psychollm.calibration.two_choice.hierarchical_meta_d import (
    HierarchicalMetaD,
    hierarchical_meta_d,
    hierarchical_meta_d_from_counts,
)
from psychollm.calibration.two_choice.meta_d import MetaD, meta_d, meta_d_from_counts
from psychollm.calibration.two_choice.meta_information_trials import (
    MetaInformation,
    gaussian_meta_information,
    meta_information,
)
from psychollm.calibration.two_choice.trials import RatedConfidence, rate_confidence

__all__ = [
    "Abstention",
    "AbstentionByGroup",
    "BetweenModels",
    "BinnedCalibrationError",
    "CalibrationPanel",
    "ConfidenceInformation",
    "Confusion",
    "Corp",
    "Cox",
    "EnsembleGain",
    "FBeta",
    "HierarchicalMetaD",
    "Individuation",
    "Line",
    "MetaD",
    "MetaInformation",
    "Metric",
    "Murphy",
    "Output",
    "Overconfidence",
    "PairwiseCalibration",
    "PredictedCorrectness",
    "RatedConfidence",
    "RecalibrationCurve",
    "ReliabilityBins",
    "ReliabilityCurve",
    "RiskCoverage",
    "SelectivePrediction",
    "SemanticConfidence",
    "SemanticEntropy",
    "SignalDetection",
    "Significance",
    "SmoothCalibrationError",
    "StatedScan",
    "Tally",
    "Type2ROC",
    "abstention",
    "abstention_by",
    "auroc",
    "average_precision",
    "between_models",
    "brier",
    "brier_skill",
    "calibration_error",
    "calibration_panel",
    "confidence_information",
    "confusion",
    "corp",
    "coverage_at_risk",
    "cox",
    "ensemble_gain",
    "f_beta",
    "gamma",
    "gaussian_meta_information",
    "hierarchical_meta_d",
    "hierarchical_meta_d_from_counts",
    "individuation",
    "log_score",
    "meta_d",
    "meta_d_from_counts",
    "meta_information",
    "metric_keys",
    "murphy",
    "overconfidence",
    "p_true",
    "pairwise_calibration",
    "point_biserial",
    "predicted_correctness",
    "rate_confidence",
    "risk_at_coverage",
    "risk_coverage",
    "scan_stated",
    "selective_prediction",
    "semantic_confidence",
    "semantic_entropy",
    "signal_detection",
    "smooth_calibration_error",
    "somers_d",
    "spiegelhalter",
    "tau_b",
    "type2_roc",
]

entries(globals())
