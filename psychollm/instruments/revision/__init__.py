"""Answer, review, revise: does a second look find errors, or make them?."""

from psychollm.instruments.revision.instrument import INTRODUCTIONS, Revision
from psychollm.instruments.revision.rates import Informativeness
from psychollm.instruments.revision.result import RevisionScores
from psychollm.instruments.revision.scoring import read_reply, score_readings
from psychollm.instruments.revision.vote import Voting, vote

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
