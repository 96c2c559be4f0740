from psychollm.studies.arms.study import ArmStudy as ArmStudy
from psychollm.studies.arms.study import compare_arms as compare_arms
from psychollm.studies.attempts.foretelling import Foretold as Foretold
from psychollm.studies.attempts.frontier import Frontier as Frontier
from psychollm.studies.attempts.result import Attempts as Attempts
from psychollm.studies.attempts.study import attempts as attempts
from psychollm.studies.benchmark_agreement.study import BenchmarkAgreement as BenchmarkAgreement
from psychollm.studies.benchmark_agreement.study import benchmark_agreement as benchmark_agreement
from psychollm.studies.comparison.study import Comparison as Comparison
from psychollm.studies.comparison.study import compare as compare
from psychollm.studies.difficulty.gate import Gate as Gate
from psychollm.studies.difficulty.gate import GateFit as GateFit
from psychollm.studies.difficulty.gating import fit_gate as fit_gate
from psychollm.studies.difficulty.study import Difficulty as Difficulty
from psychollm.studies.difficulty.study import difficulty as difficulty
from psychollm.studies.dimensionality.result import Dimensionality as Dimensionality
from psychollm.studies.dimensionality.streamed import SharedSignals as SharedSignals
from psychollm.studies.dimensionality.streamed import shared_signals as shared_signals
from psychollm.studies.dimensionality.study import dimensionality as dimensionality
from psychollm.studies.evaluation_card.study import EvaluationCard as EvaluationCard
from psychollm.studies.evaluation_card.study import evaluation_card as evaluation_card
from psychollm.studies.groups.study import GroupDifferences as GroupDifferences
from psychollm.studies.groups.study import Grouped as Grouped
from psychollm.studies.groups.study import calibration_by as calibration_by
from psychollm.studies.groups.study import compare_by as compare_by
from psychollm.studies.inference_boundary.monitoring_link import MonitoringLink as MonitoringLink
from psychollm.studies.inference_boundary.monitoring_link import monitoring_link as monitoring_link
from psychollm.studies.inference_boundary.profile import BoundaryProfile as BoundaryProfile
from psychollm.studies.inference_boundary.skin_contrast import skin_contrast as skin_contrast
from psychollm.studies.inference_boundary.study import InferenceBoundary as InferenceBoundary
from psychollm.studies.inference_boundary.study import ThinkingContrast as ThinkingContrast
from psychollm.studies.inference_boundary.study import inference_boundary as inference_boundary
from psychollm.studies.judged_scores.planning import LabelPlan as LabelPlan
from psychollm.studies.judged_scores.result import JudgedScores as JudgedScores
from psychollm.studies.judged_scores.study import judged_scores as judged_scores
from psychollm.studies.metacognitive_skill.abstention import AbstentionSkill as AbstentionSkill
from psychollm.studies.metacognitive_skill.abstention import abstention_skill as abstention_skill
from psychollm.studies.metacognitive_skill.arms import CoderAgreement as CoderAgreement
from psychollm.studies.metacognitive_skill.arms import Scaffolding as Scaffolding
from psychollm.studies.metacognitive_skill.deployment import Deployment as Deployment
from psychollm.studies.metacognitive_skill.revision import RevisionSkill as RevisionSkill
from psychollm.studies.metacognitive_skill.revision import revision_skill as revision_skill
from psychollm.studies.metacognitive_skill.structure import StructureContrast as StructureContrast
from psychollm.studies.metacognitive_skill.study import MetacognitiveSkill as MetacognitiveSkill
from psychollm.studies.metacognitive_skill.study import metacognitive_skill as metacognitive_skill
from psychollm.studies.people.norm import HumanNorm as HumanNorm
from psychollm.studies.people.score import PeopleScore as PeopleScore
from psychollm.studies.people.study import BesidePeople as BesidePeople
from psychollm.studies.people.table import beside_people as beside_people
from psychollm.studies.people.table import read_people as read_people
from psychollm.studies.prediction.study import HeldOut as HeldOut
from psychollm.studies.prediction.study import PredictedAnswers as PredictedAnswers
from psychollm.studies.prediction.study import predict_answers as predict_answers
from psychollm.studies.probes.class_shares import ClassShares as ClassShares
from psychollm.studies.probes.class_shares import class_shares as class_shares
from psychollm.studies.probes.early_exit import EarlyExit as EarlyExit
from psychollm.studies.probes.early_exit import early_exit as early_exit
from psychollm.studies.probes.probe import StateProbe as StateProbe
from psychollm.studies.probes.probe import state_probe as state_probe
from psychollm.studies.probes.transfer import ProbeTransfer as ProbeTransfer
from psychollm.studies.probes.transfer import probe_transfer as probe_transfer
from psychollm.studies.question_audit.study import QuestionAudit as QuestionAudit
from psychollm.studies.question_audit.study import question_audit as question_audit
from psychollm.studies.question_screen.study import QuestionScreen as QuestionScreen
from psychollm.studies.question_screen.study import question_screen as question_screen
from psychollm.studies.rater_severity.result import RaterSeverity as RaterSeverity
from psychollm.studies.rater_severity.study import rater_severity as rater_severity
from psychollm.studies.recency_break.result import DateChange as DateChange
from psychollm.studies.recency_break.result import RecencyBreak as RecencyBreak
from psychollm.studies.recency_break.study import recency_break as recency_break
from psychollm.studies.self_efficacy.effects import DifficultyEffect as DifficultyEffect
from psychollm.studies.self_efficacy.effects import FactorEffect as FactorEffect
from psychollm.studies.self_efficacy.effects import Revision as Revision
from psychollm.studies.self_efficacy.links import EfficacyLink as EfficacyLink
from psychollm.studies.self_efficacy.study import ResponseStyle as ResponseStyle
from psychollm.studies.self_efficacy.study import SelfEfficacyStudy as SelfEfficacyStudy
from psychollm.studies.self_efficacy.study import self_efficacy as self_efficacy
from psychollm.studies.semantic_calibration.mechanism import SemanticMechanism as SemanticMechanism
from psychollm.studies.semantic_calibration.mechanism import predicted_chances as predicted_chances
from psychollm.studies.semantic_calibration.mechanism import (
    semantic_mechanism as semantic_mechanism,
)
from psychollm.studies.semantic_calibration.null import SampleCurve as SampleCurve
from psychollm.studies.semantic_calibration.study import ArmContrast as ArmContrast
from psychollm.studies.semantic_calibration.study import SemanticCalibration as SemanticCalibration
from psychollm.studies.semantic_calibration.study import (
    semantic_calibration as semantic_calibration,
)
from psychollm.studies.shared_confidence.by_groups import SharedByGroups as SharedByGroups
from psychollm.studies.shared_confidence.by_groups import (
    shared_confidence_by as shared_confidence_by,
)
from psychollm.studies.shared_confidence.private_signal import PrivateSignal as PrivateSignal
from psychollm.studies.shared_confidence.private_signal import private_signal as private_signal
from psychollm.studies.shared_confidence.residual_structure import (
    ResidualStructure as ResidualStructure,
)
from psychollm.studies.shared_confidence.residual_structure import (
    residual_structure as residual_structure,
)
from psychollm.studies.shared_confidence.result import SharedConfidence as SharedConfidence
from psychollm.studies.shared_confidence.study import shared_confidence as shared_confidence
from psychollm.studies.steering_match.best_strengths import BestStrengths as BestStrengths
from psychollm.studies.steering_match.evidence import Control as Control
from psychollm.studies.steering_match.match import steering_match as steering_match
from psychollm.studies.steering_match.reconstruction import Reconstruction as Reconstruction
from psychollm.studies.steering_match.result import SteeringMatch as SteeringMatch
from psychollm.studies.steering_match.steered_answers import SteeredAnswers as SteeredAnswers
from psychollm.studies.stitching.forecast import Forecast as Forecast
from psychollm.studies.stitching.result import StitchedBenchmarks as StitchedBenchmarks
from psychollm.studies.stitching.study import stitch_benchmarks as stitch_benchmarks
from psychollm.studies.time_horizon.result import TimeHorizon as TimeHorizon
from psychollm.studies.time_horizon.study import time_horizon as time_horizon
from psychollm.studies.time_horizon.trend import HorizonTrend as HorizonTrend
from psychollm.studies.votes.cycles import Cycles as Cycles
from psychollm.studies.votes.next_pairs import NextPairs as NextPairs
from psychollm.studies.votes.result import BradleyTerry as BradleyTerry
from psychollm.studies.votes.result import FitStatistics as FitStatistics
from psychollm.studies.votes.result import Kinds as Kinds
from psychollm.studies.votes.result import Pairs as Pairs
from psychollm.studies.votes.result import Voters as Voters
from psychollm.studies.votes.study import bradley_terry as bradley_terry
