"""Floor 4: how far scores, raters and repeated runs can be relied on."""

from psychollm.reliability.agreement import Agreement, agreement, percent_agreement
from psychollm.reliability.answer_variance import AnswerVariance, answer_variance
from psychollm.reliability.categorical_result import OmegaCategorical
from psychollm.reliability.clustered import mean_score
from psychollm.reliability.conditions import RankTest, friedman, kruskal_wallis
from psychollm.reliability.consistency import Consistency, alpha, consistency
from psychollm.reliability.decision_study import DecisionStudy, decision_study
from psychollm.reliability.difference_variance import (
    DifferenceVariance,
    assumed_variance,
    pilot_variance,
)
from psychollm.reliability.generalizability import Generalizability, generalizability
from psychollm.reliability.grim import Grim, grim
from psychollm.reliability.guttman import guttman, guttman_of_matrix
from psychollm.reliability.gwet import gwet_ac1
from psychollm.reliability.intraclass import Intraclass, intraclass
from psychollm.reliability.item_statistics import ItemStatistics, item_statistics
from psychollm.reliability.kappa import cohen_kappa, fleiss_kappa
from psychollm.reliability.krippendorff import krippendorff_alpha
from psychollm.reliability.kuder_richardson import kr20, kr21
from psychollm.reliability.matrix_alpha import alpha_of_matrix
from psychollm.reliability.mixed_model import MixedModel, mixed_model
from psychollm.reliability.omega import omega
from psychollm.reliability.omega_categorical import omega_categorical
from psychollm.reliability.omega_of_loadings import omega_of_loadings
from psychollm.reliability.omega_result import Omega
from psychollm.reliability.pairwise_conditions import PairwiseConditions, pairwise_conditions
from psychollm.reliability.power import (
    ComparisonPower,
    comparison_power,
    minimum_detectable_difference,
    questions_needed,
)
from psychollm.reliability.rate_contrast import rate_contrast
from psychollm.reliability.ratings import Ratings
from psychollm.reliability.repeated_scores import RepeatedScores
from psychollm.reliability.response_shares import ResponseShares, response_shares
from psychollm.reliability.retest import Retest, retest
from psychollm.reliability.score_differences import ScoreDifferences, mcnemar, score_differences
from psychollm.reliability.set_difference import set_difference
from psychollm.reliability.split_half import SplitHalf, split_half

__all__ = [
    "Agreement",
    "AnswerVariance",
    "ComparisonPower",
    "Consistency",
    "DecisionStudy",
    "DifferenceVariance",
    "Generalizability",
    "Grim",
    "Intraclass",
    "ItemStatistics",
    "MixedModel",
    "Omega",
    "OmegaCategorical",
    "PairwiseConditions",
    "RankTest",
    "Ratings",
    "RepeatedScores",
    "ResponseShares",
    "Retest",
    "ScoreDifferences",
    "SplitHalf",
    "agreement",
    "alpha",
    "alpha_of_matrix",
    "answer_variance",
    "assumed_variance",
    "cohen_kappa",
    "comparison_power",
    "consistency",
    "decision_study",
    "fleiss_kappa",
    "friedman",
    "generalizability",
    "grim",
    "guttman",
    "guttman_of_matrix",
    "gwet_ac1",
    "intraclass",
    "item_statistics",
    "kr20",
    "kr21",
    "krippendorff_alpha",
    "kruskal_wallis",
    "mcnemar",
    "mean_score",
    "minimum_detectable_difference",
    "mixed_model",
    "omega",
    "omega_categorical",
    "omega_of_loadings",
    "pairwise_conditions",
    "percent_agreement",
    "pilot_variance",
    "questions_needed",
    "rate_contrast",
    "response_shares",
    "retest",
    "score_differences",
    "set_difference",
    "split_half",
]
