"""Points staked on an answer once it is given: does a model bet more on right answers?."""

from psychollm.instruments.wagering.instrument import Wagering
from psychollm.instruments.wagering.scoring import (
    WageringScores,
    confidence_and_correctness,
    read_reply,
    score_readings,
)

__all__ = [
    "Wagering",
    "WageringScores",
    "confidence_and_correctness",
    "read_reply",
    "score_readings",
]
