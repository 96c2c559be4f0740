"""Floor 4: how far scores, raters and repeated runs can be relied on."""

from psychollm._base.entry import entries
from psychollm.reliability.components.crossed_logistic import CrossedLogistic, crossed_logistic
from psychollm.reliability.components.decision_study import DecisionStudy, decision_study
from psychollm.reliability.components.generalizability import Generalizability, generalizability
from psychollm.reliability.components.intraclass import Intraclass, intraclass
from psychollm.reliability.contrasts.conditions import RankTest, friedman, kruskal_wallis
from psychollm.reliability.contrasts.mixed_model import MixedModel, mixed_model
from psychollm.reliability.contrasts.pairwise_conditions import (
    PairwiseConditions,
    pairwise_conditions,
)
from psychollm.reliability.grim import Grim, grim
from psychollm.reliability.means.answer_variance import AnswerVariance, answer_variance
from psychollm.reliability.means.clustered import mean_score
from psychollm.reliability.means.difference_variance import (
    DifferenceVariance,
    assumed_variance,
    pilot_variance,
)
from psychollm.reliability.means.power import (
    ComparisonPower,
    comparison_power,
    minimum_detectable_difference,
    questions_needed,
)
from psychollm.reliability.means.repeated_scores import RepeatedScores
from psychollm.reliability.means.score_differences import (
    ScoreDifferences,
    mcnemar,
    score_differences,
)
from psychollm.reliability.means.set_difference import set_difference
from psychollm.reliability.omegas.omega import Omega, omega
from psychollm.reliability.omegas.omega_categorical import omega_categorical
from psychollm.reliability.omegas.omega_of_loadings import OmegaCategorical, omega_of_loadings
from psychollm.reliability.raters.agreement import (
    Agreement,
    agreement,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    percent_agreement,
)
from psychollm.reliability.raters.kappa import cohen_kappa
from psychollm.reliability.raters.rate_contrast import rate_contrast
from psychollm.reliability.raters.ratings import Ratings
from psychollm.reliability.raters.response_shares import ResponseShares, response_shares
from psychollm.reliability.raters.retest import Retest, retest
from psychollm.reliability.scales.consistency import (
    Consistency,
    alpha,
    alpha_of_matrix,
    consistency,
)
from psychollm.reliability.scales.guttman import guttman, guttman_of_matrix
from psychollm.reliability.scales.item_statistics import ItemStatistics, item_statistics
from psychollm.reliability.scales.kuder_richardson import kr20, kr21
from psychollm.reliability.scales.split_half import SplitHalf, split_half

__all__ = [
    "Agreement",
    "AnswerVariance",
    "ComparisonPower",
    "Consistency",
    "CrossedLogistic",
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
    "crossed_logistic",
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

entries(globals())
