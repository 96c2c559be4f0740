"""Floor 3: what to ask models, and how to read and score what they reply; no network."""

from psychollm.instruments import readers
from psychollm.instruments.grading import (
    Grade,
    abstains,
    exact_match,
    grade,
    normalise,
    token_f1,
)
from psychollm.instruments.prompt import Message, Prompt
from psychollm.instruments.questions import Question, read_questions
from psychollm.instruments.reading import Outcome, Reading
from psychollm.instruments.rule_world import RuleWorld, RuleWorldScores, write_items
from psychollm.instruments.self_prediction import SelfPrediction, SelfPredictionScores

__all__ = [
    "Grade",
    "Message",
    "Outcome",
    "Prompt",
    "Question",
    "Reading",
    "RuleWorld",
    "RuleWorldScores",
    "SelfPrediction",
    "SelfPredictionScores",
    "abstains",
    "exact_match",
    "grade",
    "normalise",
    "read_questions",
    "readers",
    "token_f1",
    "write_items",
]
