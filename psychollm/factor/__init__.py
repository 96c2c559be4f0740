"""Floor 3: factor solutions without empty-cell rules, and the scores of questions."""

from psychollm._base.entry import entries
from psychollm.factor.confirmatory import confirmatory_factors
from psychollm.factor.confirmatory_result import ConfirmatoryFactors, ModificationIndices
from psychollm.factor.congruence import Congruence, congruence
from psychollm.factor.exploratory.extract import Extraction, extract
from psychollm.factor.exploratory.factor_analysis import factor_analysis
from psychollm.factor.exploratory.loading_errors import (
    LoadingErrors,
    loading_errors,
    normal_covariance,
)
from psychollm.factor.exploratory.procrustes import procrustes
from psychollm.factor.exploratory.rotate import Rotation, rotate
from psychollm.factor.exploratory.schmid_leiman import SchmidLeiman, schmid_leiman
from psychollm.factor.exploratory.solution import FactorSolution
from psychollm.factor.factor_scores import FactorScores, factor_scores
from psychollm.factor.fit import FactorFit
from psychollm.factor.invariance.fit import confirmatory_groups
from psychollm.factor.invariance.ladder import (
    FitDifference,
    MeasurementInvariance,
    fit_difference,
    measurement_invariance,
)
from psychollm.factor.invariance.result import EqualityTests, GroupFactors
from psychollm.factor.number_of_factors.ordered_design import resampled_correlations
from psychollm.factor.number_of_factors.parallel import ParallelAnalysis, parallel_analysis
from psychollm.factor.number_of_factors.retention import Retention, retention
from psychollm.factor.number_of_factors.rules import SamplingAdequacy, sampling_adequacy
from psychollm.factor.one_factor.common_loadings import CommonLoadings, common_loadings
from psychollm.factor.one_factor.full_information import FullInformation, full_information
from psychollm.factor.one_factor.pairwise_likelihood import (
    ExploratoryPairwiseLikelihood,
    PairwiseLikelihood,
    exploratory_pairwise_likelihood,
    pairwise_likelihood,
)
from psychollm.factor.one_factor.residuals import (
    PairResiduals,
    ResidualTest,
    pair_residuals,
    residual_test,
    second_share_test,
)
from psychollm.factor.one_factor.scores import QuestionScores, question_scores

__all__ = [
    "CommonLoadings",
    "ConfirmatoryFactors",
    "Congruence",
    "EqualityTests",
    "ExploratoryPairwiseLikelihood",
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
    "PairwiseLikelihood",
    "ParallelAnalysis",
    "QuestionScores",
    "ResidualTest",
    "Retention",
    "Rotation",
    "SamplingAdequacy",
    "SchmidLeiman",
    "common_loadings",
    "confirmatory_factors",
    "confirmatory_groups",
    "congruence",
    "exploratory_pairwise_likelihood",
    "extract",
    "factor_analysis",
    "factor_scores",
    "fit_difference",
    "full_information",
    "loading_errors",
    "measurement_invariance",
    "normal_covariance",
    "pair_residuals",
    "pairwise_likelihood",
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

entries(globals())
