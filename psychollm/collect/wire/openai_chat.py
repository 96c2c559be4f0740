"""Chat completions, as OpenAI defined them and many servers speak them."""

from collections.abc import Iterator, Mapping
from typing import Any

from psychollm.collect.faults import Kind
from psychollm.collect.wire.protocol import (
    Messages,
    OverHttp,
    Reply,
    UnreadableReplyError,
    YesNoMass,
    first_choice,
    object_of,
    openai_usage,
    text_or_none,
    yes_no_mass,
)


class OpenAIChat(OverHttp):
    """``POST /chat/completions``."""

    name = "openai-chat"
    path = "/chat/completions"
    lacks: frozenset[str] = frozenset()

    def body(
        self, model: str, messages: Messages, parameters: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the body; parameters stand beside model and messages."""
        return {"model": model, "messages": [dict(turn) for turn in messages], **parameters}

    def read(self, raw: bytes) -> Reply:
        """Read a reply; its content is text, or parts of text and of thinking."""
        found = object_of(raw)
        choice = first_choice(found)
        message = choice.get("message")
        if not isinstance(message, dict):
            raise UnreadableReplyError(Kind.NO_CHOICES, "the first choice holds no message")
        content = message.get("content")
        if content is None and text_or_none(message.get("refusal")):
            content = message["refusal"]
        thought = None
        if isinstance(content, list):
            content, thought = _joined(content)
        if content is not None and text_or_none(content) is None:
            raise UnreadableReplyError(Kind.NO_CHOICES, "the content of the message is no text")
        return Reply(
            text=text_or_none(content) or "",
            reasoning=_reasoning(message) or thought,
            finish_reason=text_or_none(choice.get("finish_reason")),
            served_model=text_or_none(found.get("model")),
            provider=text_or_none(found.get("provider")),
            fingerprint=text_or_none(found.get("system_fingerprint")),
            usage=openai_usage(found),
            mass=_mass(choice),
        )


def _reasoning(message: Mapping[str, Any]) -> str | None:
    """Return the reasoning, whose name differs between servers."""
    return text_or_none(message.get("reasoning_content")) or text_or_none(message.get("reasoning"))


def _joined(parts: list[Any]) -> tuple[str | None, str | None]:
    """Return the text and the thinking of content in parts; None for what has no part."""
    said: list[str] = []
    thought: list[str] = []
    for part in parts:
        kind, held = "text", part
        if isinstance(part, dict):
            kind = str(part.get("type"))
            held = part.get("text", part.get(kind))
        if kind in {"thinking", "reasoning"} and isinstance(held, list):
            held = _joined(held)[0]
        if (text := text_or_none(held)) is not None:
            (thought if kind in {"thinking", "reasoning"} else said).append(text)
    return "".join(said) if said else None, "".join(thought) or None


def _mass(choice: Mapping[str, Any]) -> YesNoMass | None:
    logprobs = choice.get("logprobs")
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(tokens, list) or not tokens or not isinstance(tokens[0], dict):
        return None
    return yes_no_mass(_listed(tokens[0].get("top_logprobs")))


def _listed(top: Any) -> Iterator[tuple[Any, Any]]:
    for entry in top if isinstance(top, list) else []:
        if isinstance(entry, dict):
            yield entry.get("token"), entry.get("logprob")


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
            mass=_mass_of_completion(choice),
        )


def _mass_of_completion(choice: Mapping[str, Any]) -> YesNoMass | None:
    logprobs = choice.get("logprobs")
    top = logprobs.get("top_logprobs") if isinstance(logprobs, dict) else None
    if not isinstance(top, list) or not top or not isinstance(top[0], dict):
        return None
    return yes_no_mass(top[0].items())
