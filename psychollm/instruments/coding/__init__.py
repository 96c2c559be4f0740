"""Traces of reasoning: what does a model do about its own thinking, and how often?."""

from psychollm.instruments.coding.instrument import Coding
from psychollm.instruments.coding.replies import coded, read_reply
from psychollm.instruments.coding.result import CodingScores
from psychollm.instruments.coding.schemes import FIVE, RATIONALIST, Category, Scheme
from psychollm.instruments.coding.scoring import (
    code_by_rules,
    score_readings,
    verifications,
)
from psychollm.instruments.coding.transcripts import Transcript

__all__ = [
    "FIVE",
    "RATIONALIST",
    "Category",
    "Coding",
    "CodingScores",
    "Scheme",
    "Transcript",
    "code_by_rules",
    "coded",
    "read_reply",
    "score_readings",
    "verifications",
]
