"""Answer, review, revise: does a second look find errors, or make them?."""

from psychollm.instruments.revision.informativeness import Informativeness
from psychollm.instruments.revision.instrument import Revision
from psychollm.instruments.revision.replies import read_reply
from psychollm.instruments.revision.result import RevisionScores
from psychollm.instruments.revision.scoring import score_readings
from psychollm.instruments.revision.vote import Voting, vote
from psychollm.instruments.revision.wording import INTRODUCTIONS

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
