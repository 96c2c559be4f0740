from psychollm.calibration.consensus.between_models import BetweenModels as BetweenModels
from psychollm.calibration.consensus.between_models import Line as Line
from psychollm.calibration.consensus.between_models import between_models as between_models
from psychollm.calibration.consensus.ensemble import EnsembleGain as EnsembleGain
from psychollm.calibration.consensus.ensemble import ensemble_gain as ensemble_gain
from psychollm.calibration.consensus.individuation import Individuation as Individuation
from psychollm.calibration.consensus.individuation import individuation as individuation
from psychollm.calibration.consensus.pairwise import PairwiseCalibration as PairwiseCalibration
from psychollm.calibration.consensus.pairwise import pairwise_calibration as pairwise_calibration
from psychollm.calibration.decisions.confusion import Confusion as Confusion
from psychollm.calibration.decisions.confusion import confusion as confusion
from psychollm.calibration.decisions.f_beta import FBeta as FBeta
from psychollm.calibration.decisions.f_beta import f_beta as f_beta
from psychollm.calibration.decisions.signal_detection import SignalDetection as SignalDetection
from psychollm.calibration.decisions.signal_detection import signal_detection as signal_detection
from psychollm.calibration.discrimination.association import gamma as gamma
from psychollm.calibration.discrimination.association import point_biserial as point_biserial
from psychollm.calibration.discrimination.association import somers_d as somers_d
from psychollm.calibration.discrimination.association import tau_b as tau_b
from psychollm.calibration.discrimination.meta_information import (
    ConfidenceInformation as ConfidenceInformation,
)
from psychollm.calibration.discrimination.meta_information import (
    confidence_information as confidence_information,
)
from psychollm.calibration.discrimination.ranking import auroc as auroc
from psychollm.calibration.discrimination.ranking import average_precision as average_precision
from psychollm.calibration.discrimination.type2_roc import Type2ROC as Type2ROC
from psychollm.calibration.discrimination.type2_roc import type2_roc as type2_roc
from psychollm.calibration.errors.binned import BinnedCalibrationError as BinnedCalibrationError
from psychollm.calibration.errors.binned import calibration_error as calibration_error
from psychollm.calibration.errors.bins import ReliabilityBins as ReliabilityBins
from psychollm.calibration.errors.smooth import ReliabilityCurve as ReliabilityCurve
from psychollm.calibration.errors.smooth import SmoothCalibrationError as SmoothCalibrationError
from psychollm.calibration.errors.smooth import (
    smooth_calibration_error as smooth_calibration_error,
)
from psychollm.calibration.gates.confidence_gate import ConfidenceGate as ConfidenceGate
from psychollm.calibration.gates.confidence_gate import confidence_gate as confidence_gate
from psychollm.calibration.metric import Metric as Metric
from psychollm.calibration.metric import Output as Output
from psychollm.calibration.panels.catalogue import metric_keys as metric_keys
from psychollm.calibration.panels.panel import CalibrationPanel as CalibrationPanel
from psychollm.calibration.panels.panel import calibration_panel as calibration_panel
from psychollm.calibration.sampled.self_knowledge import (
    PredictedCorrectness as PredictedCorrectness,
)
from psychollm.calibration.sampled.self_knowledge import p_true as p_true
from psychollm.calibration.sampled.self_knowledge import (
    predicted_correctness as predicted_correctness,
)
from psychollm.calibration.sampled.semantic_confidence import (
    SemanticConfidence as SemanticConfidence,
)
from psychollm.calibration.sampled.semantic_confidence import (
    semantic_confidence as semantic_confidence,
)
from psychollm.calibration.sampled.semantic_entropy import SemanticEntropy as SemanticEntropy
from psychollm.calibration.sampled.semantic_entropy import semantic_entropy as semantic_entropy
from psychollm.calibration.scores.corp import Corp as Corp
from psychollm.calibration.scores.corp import RecalibrationCurve as RecalibrationCurve
from psychollm.calibration.scores.corp import corp as corp
from psychollm.calibration.scores.cox import Cox as Cox
from psychollm.calibration.scores.cox import cox as cox
from psychollm.calibration.scores.murphy import Murphy as Murphy
from psychollm.calibration.scores.murphy import murphy as murphy
from psychollm.calibration.scores.overconfidence import Overconfidence as Overconfidence
from psychollm.calibration.scores.overconfidence import overconfidence as overconfidence
from psychollm.calibration.scores.proper_scores import brier as brier
from psychollm.calibration.scores.proper_scores import brier_skill as brier_skill
from psychollm.calibration.scores.proper_scores import log_score as log_score
from psychollm.calibration.scores.spiegelhalter import Significance as Significance
from psychollm.calibration.scores.spiegelhalter import spiegelhalter as spiegelhalter
from psychollm.calibration.selection.abstention import Abstention as Abstention
from psychollm.calibration.selection.abstention import AbstentionByGroup as AbstentionByGroup
from psychollm.calibration.selection.abstention import abstention as abstention
from psychollm.calibration.selection.abstention import abstention_by as abstention_by
from psychollm.calibration.selection.risk_coverage import RiskCoverage as RiskCoverage
from psychollm.calibration.selection.risk_coverage import risk_coverage as risk_coverage
from psychollm.calibration.selection.selective import SelectivePrediction as SelectivePrediction
from psychollm.calibration.selection.selective import coverage_at_risk as coverage_at_risk
from psychollm.calibration.selection.selective import risk_at_coverage as risk_at_coverage
from psychollm.calibration.selection.selective import selective_prediction as selective_prediction
from psychollm.calibration.stated_scan import StatedScan as StatedScan
from psychollm.calibration.stated_scan import scan_stated as scan_stated
from psychollm.calibration.tally import Tally as Tally
from psychollm.calibration.two_choice.hierarchical_meta_d import (
    HierarchicalMetaD as HierarchicalMetaD,
)
from psychollm.calibration.two_choice.hierarchical_meta_d import (
    hierarchical_meta_d as hierarchical_meta_d,
)
from psychollm.calibration.two_choice.hierarchical_meta_d import (
    hierarchical_meta_d_from_counts as hierarchical_meta_d_from_counts,
)
from psychollm.calibration.two_choice.meta_d import MetaD as MetaD
from psychollm.calibration.two_choice.meta_d import meta_d as meta_d
from psychollm.calibration.two_choice.meta_d import meta_d_from_counts as meta_d_from_counts
from psychollm.calibration.two_choice.meta_information_trials import (
    MetaInformation as MetaInformation,
)
from psychollm.calibration.two_choice.meta_information_trials import (
    gaussian_meta_information as gaussian_meta_information,
)
from psychollm.calibration.two_choice.meta_information_trials import (
    meta_information as meta_information,
)
from psychollm.calibration.two_choice.trials import RatedConfidence as RatedConfidence
from psychollm.calibration.two_choice.trials import rate_confidence as rate_confidence
