"""Floor 3: what to ask models, and how to read and score what they reply; no network."""

from psychollm.instruments.prompt import Message, Prompt
from psychollm.instruments.reading import Outcome, Reading
from psychollm.instruments.rule_world import RuleWorld, RuleWorldScores, write_items

__all__ = [
    "Message",
    "Outcome",
    "Prompt",
    "Reading",
    "RuleWorld",
    "RuleWorldScores",
    "write_items",
]
