from psychollm.reliability.components.crossed_logistic import CrossedLogistic as CrossedLogistic
from psychollm.reliability.components.crossed_logistic import crossed_logistic as crossed_logistic
from psychollm.reliability.components.decision_study import DecisionStudy as DecisionStudy
from psychollm.reliability.components.decision_study import decision_study as decision_study
from psychollm.reliability.components.generalizability import Generalizability as Generalizability
from psychollm.reliability.components.generalizability import generalizability as generalizability
from psychollm.reliability.components.intraclass import Intraclass as Intraclass
from psychollm.reliability.components.intraclass import intraclass as intraclass
from psychollm.reliability.contrasts.conditions import RankTest as RankTest
from psychollm.reliability.contrasts.conditions import friedman as friedman
from psychollm.reliability.contrasts.conditions import kruskal_wallis as kruskal_wallis
from psychollm.reliability.contrasts.mixed_model import MixedModel as MixedModel
from psychollm.reliability.contrasts.mixed_model import mixed_model as mixed_model
from psychollm.reliability.contrasts.pairwise_conditions import (
    PairwiseConditions as PairwiseConditions,
)
from psychollm.reliability.contrasts.pairwise_conditions import (
    pairwise_conditions as pairwise_conditions,
)
from psychollm.reliability.grim import Grim as Grim
from psychollm.reliability.grim import grim as grim
from psychollm.reliability.means.answer_variance import AnswerVariance as AnswerVariance
from psychollm.reliability.means.answer_variance import answer_variance as answer_variance
from psychollm.reliability.means.clustered import mean_score as mean_score
from psychollm.reliability.means.difference_variance import (
    DifferenceVariance as DifferenceVariance,
)
from psychollm.reliability.means.difference_variance import assumed_variance as assumed_variance
from psychollm.reliability.means.difference_variance import pilot_variance as pilot_variance
from psychollm.reliability.means.power import ComparisonPower as ComparisonPower
from psychollm.reliability.means.power import comparison_power as comparison_power
from psychollm.reliability.means.power import (
    minimum_detectable_difference as minimum_detectable_difference,
)
from psychollm.reliability.means.power import questions_needed as questions_needed
from psychollm.reliability.means.repeated_scores import RepeatedScores as RepeatedScores
from psychollm.reliability.means.score_differences import ScoreDifferences as ScoreDifferences
from psychollm.reliability.means.score_differences import mcnemar as mcnemar
from psychollm.reliability.means.score_differences import score_differences as score_differences
from psychollm.reliability.means.set_difference import set_difference as set_difference
from psychollm.reliability.omegas.omega import Omega as Omega
from psychollm.reliability.omegas.omega import omega as omega
from psychollm.reliability.omegas.omega_categorical import omega_categorical as omega_categorical
from psychollm.reliability.omegas.omega_of_loadings import OmegaCategorical as OmegaCategorical
from psychollm.reliability.omegas.omega_of_loadings import omega_of_loadings as omega_of_loadings
from psychollm.reliability.raters.agreement import Agreement as Agreement
from psychollm.reliability.raters.agreement import agreement as agreement
from psychollm.reliability.raters.agreement import fleiss_kappa as fleiss_kappa
from psychollm.reliability.raters.agreement import gwet_ac1 as gwet_ac1
from psychollm.reliability.raters.agreement import krippendorff_alpha as krippendorff_alpha
from psychollm.reliability.raters.agreement import percent_agreement as percent_agreement
from psychollm.reliability.raters.kappa import cohen_kappa as cohen_kappa
from psychollm.reliability.raters.rate_contrast import rate_contrast as rate_contrast
from psychollm.reliability.raters.ratings import Ratings as Ratings
from psychollm.reliability.raters.response_shares import ResponseShares as ResponseShares
from psychollm.reliability.raters.response_shares import response_shares as response_shares
from psychollm.reliability.raters.retest import Retest as Retest
from psychollm.reliability.raters.retest import retest as retest
from psychollm.reliability.scales.consistency import Consistency as Consistency
from psychollm.reliability.scales.consistency import alpha as alpha
from psychollm.reliability.scales.consistency import alpha_of_matrix as alpha_of_matrix
from psychollm.reliability.scales.consistency import consistency as consistency
from psychollm.reliability.scales.guttman import guttman as guttman
from psychollm.reliability.scales.guttman import guttman_of_matrix as guttman_of_matrix
from psychollm.reliability.scales.item_statistics import ItemStatistics as ItemStatistics
from psychollm.reliability.scales.item_statistics import item_statistics as item_statistics
from psychollm.reliability.scales.kuder_richardson import kr20 as kr20
from psychollm.reliability.scales.kuder_richardson import kr21 as kr21
from psychollm.reliability.scales.split_half import SplitHalf as SplitHalf
from psychollm.reliability.scales.split_half import split_half as split_half
