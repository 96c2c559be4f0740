"""Floor 3: factor solutions without empty-cell rules, and the scores of questions."""

from psychollm.factor.confirmatory import confirmatory_factors
from psychollm.factor.confirmatory_result import ConfirmatoryFactors, ModificationIndices
from psychollm.factor.congruence import Congruence, congruence
from psychollm.factor.extract import Extraction, extract
from psychollm.factor.factor_analysis import factor_analysis
from psychollm.factor.factor_scores import FactorScores, factor_scores
from psychollm.factor.fit import FactorFit
from psychollm.factor.full_information import FullInformation, full_information
from psychollm.factor.invariance.difference import FitDifference, fit_difference
from psychollm.factor.invariance.fit import confirmatory_groups
from psychollm.factor.invariance.ladder import MeasurementInvariance, measurement_invariance
from psychollm.factor.invariance.result import GroupFactors
from psychollm.factor.invariance.score_tests import EqualityTests
from psychollm.factor.loading_errors import LoadingErrors, loading_errors, normal_covariance
from psychollm.factor.ordered_design import resampled_correlations
from psychollm.factor.pairwise import (
    PairwiseFactor,
    PairwiseFactors,
    pairwise_factor,
    pairwise_factors,
)
from psychollm.factor.parallel import ParallelAnalysis, parallel_analysis
from psychollm.factor.procrustes import procrustes
from psychollm.factor.residual_test import ResidualTest, residual_test, second_share_test
from psychollm.factor.residuals import PairResiduals, pair_residuals
from psychollm.factor.retention import Retention, retention
from psychollm.factor.retention_rules import SamplingAdequacy, sampling_adequacy
from psychollm.factor.rotate import Rotation, rotate
from psychollm.factor.schmid_leiman import SchmidLeiman, schmid_leiman
from psychollm.factor.scores import QuestionScores, question_scores
from psychollm.factor.solution import FactorSolution

__all__ = [
    "ConfirmatoryFactors",
    "Congruence",
    "EqualityTests",
    "Extraction",
    "FactorFit",
    "FactorScores",
    "FactorSolution",
    "FitDifference",
    "FullInformation",
    "GroupFactors",
    "LoadingErrors",
    "MeasurementInvariance",
    "ModificationIndices",
    "PairResiduals",
    "PairwiseFactor",
    "PairwiseFactors",
    "ParallelAnalysis",
    "QuestionScores",
    "ResidualTest",
    "Retention",
    "Rotation",
    "SamplingAdequacy",
    "SchmidLeiman",
    "confirmatory_factors",
    "confirmatory_groups",
    "congruence",
    "extract",
    "factor_analysis",
    "factor_scores",
    "fit_difference",
    "full_information",
    "loading_errors",
    "measurement_invariance",
    "normal_covariance",
    "pair_residuals",
    "pairwise_factor",
    "pairwise_factors",
    "parallel_analysis",
    "procrustes",
    "question_scores",
    "resampled_correlations",
    "residual_test",
    "retention",
    "rotate",
    "sampling_adequacy",
    "schmid_leiman",
    "second_share_test",
]
