"""A prediction before each answer ("Can you answer this?"), compared with the answer."""

from psychollm.instruments.self_prediction.instrument import SelfPrediction, judge_prompts
from psychollm.instruments.self_prediction.result import SelfPredictionScores
from psychollm.instruments.self_prediction.scoring import (
    confidence_and_correctness,
    read_reply,
    score_readings,
    stated_table,
)

__all__ = [
    "SelfPrediction",
    "SelfPredictionScores",
    "confidence_and_correctness",
    "judge_prompts",
    "read_reply",
    "score_readings",
    "stated_table",
]
