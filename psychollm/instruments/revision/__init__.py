"""Answer, review, revise: does a second look correct errors, or introduce them?."""

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
