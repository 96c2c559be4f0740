"""Floor 3: factor solutions without empty-cell rules, and the scores of questions."""

from psychollm.factor.congruence import Congruence, congruence
from psychollm.factor.full_information import FullInformation, full_information
from psychollm.factor.pairwise import (
    PairwiseFactor,
    PairwiseFactors,
    pairwise_factor,
    pairwise_factors,
)
from psychollm.factor.residual_test import ResidualTest, residual_test, second_share_test
from psychollm.factor.residuals import PairResiduals, pair_residuals
from psychollm.factor.scores import QuestionScores, question_scores

__all__ = [
    "Congruence",
    "FullInformation",
    "PairResiduals",
    "PairwiseFactor",
    "PairwiseFactors",
    "QuestionScores",
    "ResidualTest",
    "congruence",
    "full_information",
    "pair_residuals",
    "pairwise_factor",
    "pairwise_factors",
    "question_scores",
    "residual_test",
    "second_share_test",
]
