"""Ratings of a model's own efficacy, their agreement with performance, and their stability."""

from psychollm.instruments.self_efficacy.instrument import TASKS, SelfEfficacy, tasks_of
from psychollm.instruments.self_efficacy.replies import (
    disowning,
    grade_task,
    ratings_of,
    read_reply,
)
from psychollm.instruments.self_efficacy.result import SelfEfficacyScores, score_readings
from psychollm.instruments.self_efficacy.scale import COPING, Scale, read_scale

__all__ = [
    "COPING",
    "TASKS",
    "Scale",
    "SelfEfficacy",
    "SelfEfficacyScores",
    "disowning",
    "grade_task",
    "ratings_of",
    "read_reply",
    "read_scale",
    "score_readings",
    "tasks_of",
]
