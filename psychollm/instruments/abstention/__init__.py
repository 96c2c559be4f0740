"""Answerable and unanswerable questions that test whether a model abstains when it should."""

from psychollm.instruments.abstention.instrument import Abstention
from psychollm.instruments.abstention.questions import Askable, as_askable, read_askable
from psychollm.instruments.abstention.result import AbstentionScores
from psychollm.instruments.abstention.scoring import Reply, read_reply, score_readings

__all__ = [
    "Abstention",
    "AbstentionScores",
    "Askable",
    "Reply",
    "as_askable",
    "read_askable",
    "read_reply",
    "score_readings",
]
