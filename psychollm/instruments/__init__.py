"""Floor 3: what to ask models, and how to read and score what they reply; no network."""

from psychollm.instruments.prompt import Message, Prompt
from psychollm.instruments.reading import Outcome, Reading

__all__ = ["Message", "Outcome", "Prompt", "Reading"]
