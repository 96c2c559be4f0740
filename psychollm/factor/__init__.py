"""Floor 3: factor solutions without empty-cell rules, and the scores of questions."""

from psychollm.factor.full_information import FullInformation, full_information
from psychollm.factor.pairwise import (
    PairwiseFactor,
    PairwiseFactors,
    pairwise_factor,
    pairwise_factors,
)
from psychollm.factor.scores import QuestionScores, question_scores

__all__ = [
    "FullInformation",
    "PairwiseFactor",
    "PairwiseFactors",
    "QuestionScores",
    "full_information",
    "pairwise_factor",
    "pairwise_factors",
    "question_scores",
]
