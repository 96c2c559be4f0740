"""Answers, reviews and revisions that test whether a second look corrects or introduces errors."""

from psychollm.instruments.revision.instrument import INTRODUCTIONS, Revision
from psychollm.instruments.revision.rates import Informativeness, Voting, vote
from psychollm.instruments.revision.result import RevisionScores, read_reply, score_readings

__all__ = [
    "INTRODUCTIONS",
    "Informativeness",
    "Revision",
    "RevisionScores",
    "Voting",
    "read_reply",
    "score_readings",
    "vote",
]
