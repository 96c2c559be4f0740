"""Points staked on each answer after it is given, as a measure of confidence."""

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
