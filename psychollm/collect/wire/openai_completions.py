"""Plain completions: base models continue a text."""

from collections.abc import Mapping
from typing import Any

from psychollm.collect.faults import Kind
from psychollm.collect.wire.openai_chat import OpenAIChat
from psychollm.collect.wire.protocol import (
    Messages,
    Reply,
    UnreadableReplyError,
    YesNoMass,
    first_choice,
    object_of,
    openai_usage,
    text_or_none,
    yes_no_mass,
)

_RENAMED = {"max_completion_tokens": "max_tokens"}


class OpenAICompletions(OpenAIChat):
    """``POST /completions``: the messages become one text, a blank line between turns."""

    name = "openai-completions"
    path = "/completions"
    lacks = frozenset({"top_logprobs", "reasoning_effort", "response_format"})

    def body(
        self, model: str, messages: Messages, parameters: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the body; ``logprobs = true`` becomes the number that this format wants."""
        known = {_RENAMED.get(name, name): value for name, value in parameters.items()}
        if known.get("logprobs") is True:
            known["logprobs"] = 5  # the most that the format allows
        text = "\n\n".join(turn["content"] for turn in messages)
        return {"model": model, "prompt": text, **known}

    def read(self, raw: bytes) -> Reply:
        """Read a reply."""
        found = object_of(raw)
        choice = first_choice(found)
        text = text_or_none(choice.get("text"))
        if text is None:
            raise UnreadableReplyError(Kind.NO_CHOICES, "the first choice holds no text")
        return Reply(
            text=text,
            finish_reason=text_or_none(choice.get("finish_reason")),
            served_model=text_or_none(found.get("model")),
            provider=text_or_none(found.get("provider")),
            fingerprint=text_or_none(found.get("system_fingerprint")),
            usage=openai_usage(found),
            mass=_mass(choice),
        )


def _mass(choice: Mapping[str, Any]) -> YesNoMass | None:
    logprobs = choice.get("logprobs")
    top = logprobs.get("top_logprobs") if isinstance(logprobs, dict) else None
    if not isinstance(top, list) or not top or not isinstance(top[0], dict):
        return None
    return yes_no_mass(top[0].items())
