"""Reasoning traces, coded for how often a model plans, checks and reflects on its thinking."""

from psychollm.instruments.coding.instrument import Coding
from psychollm.instruments.coding.replies import coded, read_reply
from psychollm.instruments.coding.result import CodingScores
from psychollm.instruments.coding.schemes import (
    FIVE,
    RATIONALIST,
    STANCE,
    Category,
    Scheme,
    read_scheme,
)
from psychollm.instruments.coding.scoring import (
    code_by_rules,
    score_readings,
    verifications,
)
from psychollm.instruments.coding.transcripts import Transcript

__all__ = [
    "FIVE",
    "RATIONALIST",
    "STANCE",
    "Category",
    "Coding",
    "CodingScores",
    "Scheme",
    "Transcript",
    "code_by_rules",
    "coded",
    "read_reply",
    "read_scheme",
    "score_readings",
    "verifications",
]
