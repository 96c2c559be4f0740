"""Many sampled answers to each question, whose agreement in meaning measures confidence."""

from psychollm.instruments.semantic_sampling.collapse import (
    Collapse,
    by_entailment,
    by_function,
    by_relation,
    exact,
    normalised,
    numeric,
)
from psychollm.instruments.semantic_sampling.instrument import SemanticSampling
from psychollm.instruments.semantic_sampling.judge import Shot
from psychollm.instruments.semantic_sampling.replies import read_reply
from psychollm.instruments.semantic_sampling.result import SemanticSamples, stack_samples
from psychollm.instruments.semantic_sampling.scoring import by_form, score_readings

__all__ = [
    "Collapse",
    "SemanticSamples",
    "SemanticSampling",
    "Shot",
    "by_entailment",
    "by_form",
    "by_function",
    "by_relation",
    "exact",
    "normalised",
    "numeric",
    "read_reply",
    "score_readings",
    "stack_samples",
]
