"""Floor 5: verdicts: each study combines the subpackages below into answers to one question."""

from psychollm._base.entry import entries
from psychollm.studies.comparison.study import Comparison, compare
from psychollm.studies.difficulty.gate import Gate, GateFit
from psychollm.studies.difficulty.gating import fit_gate
from psychollm.studies.difficulty.study import Difficulty, difficulty
from psychollm.studies.dimensionality.result import Dimensionality
from psychollm.studies.dimensionality.streamed import SharedSignals, shared_signals
from psychollm.studies.dimensionality.study import dimensionality
from psychollm.studies.evaluation_card.study import EvaluationCard, evaluation_card
from psychollm.studies.groups.study import (
    GroupDifferences,
    Grouped,
    calibration_by,
    compare_by,
)
from psychollm.studies.inference_boundary.monitoring_link import MonitoringLink, monitoring_link
from psychollm.studies.inference_boundary.skin_contrast import skin_contrast
from psychollm.studies.inference_boundary.study import (
    BoundaryProfile,
    InferenceBoundary,
    ThinkingContrast,
    inference_boundary,
)
from psychollm.studies.metacognitive_skill.abstention import AbstentionSkill, abstention_skill
from psychollm.studies.metacognitive_skill.arms import CoderAgreement, Scaffolding
from psychollm.studies.metacognitive_skill.deployment import Deployment
from psychollm.studies.metacognitive_skill.revision import RevisionSkill, revision_skill
from psychollm.studies.metacognitive_skill.structure import StructureContrast
from psychollm.studies.metacognitive_skill.study import MetacognitiveSkill, metacognitive_skill
from psychollm.studies.prediction.study import HeldOut, PredictedAnswers, predict_answers
from psychollm.studies.probes.class_shares import ClassShares, class_shares
from psychollm.studies.probes.early_exit import EarlyExit, early_exit
from psychollm.studies.probes.probe import StateProbe, state_probe
from psychollm.studies.probes.transfer import ProbeTransfer, probe_transfer
from psychollm.studies.question_audit.study import QuestionAudit, question_audit
from psychollm.studies.question_screen.study import QuestionScreen, question_screen
from psychollm.studies.self_efficacy.effects import DifficultyEffect, FactorEffect, Revision
from psychollm.studies.self_efficacy.links import EfficacyLink, HumanNorm, NormComparison
from psychollm.studies.self_efficacy.study import ResponseStyle, SelfEfficacyStudy, self_efficacy
from psychollm.studies.semantic_calibration.mechanism import (
    SemanticMechanism,
    predicted_chances,
    semantic_mechanism,
)
from psychollm.studies.semantic_calibration.null import SampleCurve
from psychollm.studies.semantic_calibration.study import (
    ArmContrast,
    SemanticCalibration,
    semantic_calibration,
)
from psychollm.studies.shared_confidence.private_signal import PrivateSignal, private_signal
from psychollm.studies.shared_confidence.residual_structure import (
    ResidualStructure,
    residual_structure,
)
from psychollm.studies.shared_confidence.result import SharedConfidence
from psychollm.studies.shared_confidence.study import shared_confidence
from psychollm.studies.steering_match.best_strengths import BestStrengths
from psychollm.studies.steering_match.evidence import Control
from psychollm.studies.steering_match.match import steering_match
from psychollm.studies.steering_match.reconstruction import Reconstruction
from psychollm.studies.steering_match.result import SteeringMatch
from psychollm.studies.steering_match.steered_answers import SteeredAnswers

__all__ = [
    "AbstentionSkill",
    "ArmContrast",
    "BestStrengths",
    "BoundaryProfile",
    "ClassShares",
    "CoderAgreement",
    "Comparison",
    "Control",
    "Deployment",
    "Difficulty",
    "DifficultyEffect",
    "Dimensionality",
    "EarlyExit",
    "EfficacyLink",
    "EvaluationCard",
    "FactorEffect",
    "Gate",
    "GateFit",
    "GroupDifferences",
    "Grouped",
    "HeldOut",
    "HumanNorm",
    "InferenceBoundary",
    "MetacognitiveSkill",
    "MonitoringLink",
    "NormComparison",
    "PredictedAnswers",
    "PrivateSignal",
    "ProbeTransfer",
    "QuestionAudit",
    "QuestionScreen",
    "Reconstruction",
    "ResidualStructure",
    "ResponseStyle",
    "Revision",
    "RevisionSkill",
    "SampleCurve",
    "Scaffolding",
    "SelfEfficacyStudy",
    "SemanticCalibration",
    "SemanticMechanism",
    "SharedConfidence",
    "SharedSignals",
    "StateProbe",
    "SteeredAnswers",
    "SteeringMatch",
    "StructureContrast",
    "ThinkingContrast",
    "abstention_skill",
    "calibration_by",
    "class_shares",
    "compare",
    "compare_by",
    "difficulty",
    "dimensionality",
    "early_exit",
    "evaluation_card",
    "fit_gate",
    "inference_boundary",
    "metacognitive_skill",
    "monitoring_link",
    "predict_answers",
    "predicted_chances",
    "private_signal",
    "probe_transfer",
    "question_audit",
    "question_screen",
    "residual_structure",
    "revision_skill",
    "self_efficacy",
    "semantic_calibration",
    "semantic_mechanism",
    "shared_confidence",
    "shared_signals",
    "skin_contrast",
    "state_probe",
    "steering_match",
]

entries(globals())
