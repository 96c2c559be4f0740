from psychollm.factor.confirmatory import confirmatory_factors as confirmatory_factors
from psychollm.factor.confirmatory_result import ConfirmatoryFactors as ConfirmatoryFactors
from psychollm.factor.confirmatory_result import ModificationIndices as ModificationIndices
from psychollm.factor.congruence import Congruence as Congruence
from psychollm.factor.congruence import congruence as congruence
from psychollm.factor.exploratory.extract import Extraction as Extraction
from psychollm.factor.exploratory.extract import extract as extract
from psychollm.factor.exploratory.factor_analysis import factor_analysis as factor_analysis
from psychollm.factor.exploratory.loading_errors import LoadingErrors as LoadingErrors
from psychollm.factor.exploratory.loading_errors import loading_errors as loading_errors
from psychollm.factor.exploratory.loading_errors import normal_covariance as normal_covariance
from psychollm.factor.exploratory.procrustes import procrustes as procrustes
from psychollm.factor.exploratory.rotate import Rotation as Rotation
from psychollm.factor.exploratory.rotate import rotate as rotate
from psychollm.factor.exploratory.schmid_leiman import SchmidLeiman as SchmidLeiman
from psychollm.factor.exploratory.schmid_leiman import schmid_leiman as schmid_leiman
from psychollm.factor.exploratory.solution import FactorSolution as FactorSolution
from psychollm.factor.factor_scores import FactorScores as FactorScores
from psychollm.factor.factor_scores import factor_scores as factor_scores
from psychollm.factor.fit import FactorFit as FactorFit
from psychollm.factor.invariance.fit import confirmatory_groups as confirmatory_groups
from psychollm.factor.invariance.ladder import FitDifference as FitDifference
from psychollm.factor.invariance.ladder import MeasurementInvariance as MeasurementInvariance
from psychollm.factor.invariance.ladder import fit_difference as fit_difference
from psychollm.factor.invariance.ladder import measurement_invariance as measurement_invariance
from psychollm.factor.invariance.result import EqualityTests as EqualityTests
from psychollm.factor.invariance.result import GroupFactors as GroupFactors
from psychollm.factor.number_of_factors.ordered_design import (
    resampled_correlations as resampled_correlations,
)
from psychollm.factor.number_of_factors.parallel import ParallelAnalysis as ParallelAnalysis
from psychollm.factor.number_of_factors.parallel import parallel_analysis as parallel_analysis
from psychollm.factor.number_of_factors.retention import Retention as Retention
from psychollm.factor.number_of_factors.retention import retention as retention
from psychollm.factor.number_of_factors.rules import SamplingAdequacy as SamplingAdequacy
from psychollm.factor.number_of_factors.rules import sampling_adequacy as sampling_adequacy
from psychollm.factor.one_factor.common_loadings import CommonLoadings as CommonLoadings
from psychollm.factor.one_factor.common_loadings import common_loadings as common_loadings
from psychollm.factor.one_factor.full_information import FullInformation as FullInformation
from psychollm.factor.one_factor.full_information import full_information as full_information
from psychollm.factor.one_factor.pairwise_likelihood import (
    ExploratoryPairwiseLikelihood as ExploratoryPairwiseLikelihood,
)
from psychollm.factor.one_factor.pairwise_likelihood import (
    PairwiseLikelihood as PairwiseLikelihood,
)
from psychollm.factor.one_factor.pairwise_likelihood import (
    exploratory_pairwise_likelihood as exploratory_pairwise_likelihood,
)
from psychollm.factor.one_factor.pairwise_likelihood import (
    pairwise_likelihood as pairwise_likelihood,
)
from psychollm.factor.one_factor.residuals import PairResiduals as PairResiduals
from psychollm.factor.one_factor.residuals import ResidualTest as ResidualTest
from psychollm.factor.one_factor.residuals import pair_residuals as pair_residuals
from psychollm.factor.one_factor.residuals import residual_test as residual_test
from psychollm.factor.one_factor.residuals import second_share_test as second_share_test
from psychollm.factor.one_factor.scores import QuestionScores as QuestionScores
from psychollm.factor.one_factor.scores import question_scores as question_scores
