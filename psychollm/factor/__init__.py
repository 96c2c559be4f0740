"""Floor 3: factor solutions without empty-cell rules, and the scores of questions."""

from psychollm.factor.congruence import Congruence, congruence
from psychollm.factor.extract import Extraction, extract
from psychollm.factor.full_information import FullInformation, full_information
from psychollm.factor.pairwise import (
    PairwiseFactor,
    PairwiseFactors,
    pairwise_factor,
    pairwise_factors,
)
from psychollm.factor.residual_test import ResidualTest, residual_test, second_share_test
from psychollm.factor.residuals import PairResiduals, pair_residuals
from psychollm.factor.rotate import Rotation, rotate
from psychollm.factor.schmid_leiman import SchmidLeiman, schmid_leiman
from psychollm.factor.scores import QuestionScores, question_scores

__all__ = [
    "Congruence",
    "Extraction",
    "FullInformation",
    "PairResiduals",
    "PairwiseFactor",
    "PairwiseFactors",
    "QuestionScores",
    "ResidualTest",
    "Rotation",
    "SchmidLeiman",
    "congruence",
    "extract",
    "full_information",
    "pair_residuals",
    "pairwise_factor",
    "pairwise_factors",
    "question_scores",
    "residual_test",
    "rotate",
    "schmid_leiman",
    "second_share_test",
]
