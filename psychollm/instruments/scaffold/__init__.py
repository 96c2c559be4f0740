"""The same questions with and without directions on how to think."""

from psychollm.instruments.scaffold.instrument import DIRECTIONS, Scaffold, directed
from psychollm.instruments.scaffold.result import ScaffoldScores, read_reply, score_readings

__all__ = [
    "DIRECTIONS",
    "Scaffold",
    "ScaffoldScores",
    "directed",
    "read_reply",
    "score_readings",
]
