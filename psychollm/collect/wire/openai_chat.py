"""Chat completions, as OpenAI defined them and many servers speak them."""

from collections.abc import Mapping
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
        answer = object_of(raw)
        choice = first_choice(answer)
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
        # The name of the reasoning differs between servers.
        reasoning = (text_or_none(message.get(key)) for key in ("reasoning_content", "reasoning"))
        return _reply(
            answer,
            choice,
            text=text_or_none(content) or "",
            reasoning=next(filter(None, reasoning), None) or thought,
            mass=_mass(choice),
        )


def _reply(
    answer: Mapping[str, Any],
    choice: Mapping[str, Any],
    *,
    text: str,
    mass: YesNoMass | None,
    reasoning: str | None = None,
) -> Reply:
    """Return a reply with what stands around it in the answer of a server."""
    return Reply(
        finish_reason=text_or_none(choice.get("finish_reason")),
        served_model=text_or_none(answer.get("model")),
        provider=text_or_none(answer.get("provider")),
        fingerprint=text_or_none(answer.get("system_fingerprint")),
        usage=openai_usage(answer),
        text=text,
        reasoning=reasoning,
        mass=mass,
    )


def _joined(parts: list[Any]) -> tuple[str | None, str | None]:
    """Return the text and the thinking of content in parts; None for what has no part."""
    spoken: list[str] = []
    thought: list[str] = []
    for part in parts:
        kind, held = "text", part
        if isinstance(part, dict):
            kind = str(part.get("type"))
            held = part.get("text", part.get(kind))
        if kind in {"thinking", "reasoning"} and isinstance(held, list):
            held = _joined(held)[0]
        if (text := text_or_none(held)) is not None:
            (thought if kind in {"thinking", "reasoning"} else spoken).append(text)
    return "".join(spoken) if spoken else None, "".join(thought) or None


def _first_token(choice: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """Return what the log probabilities hold of the first token, if they do."""
    logprobs = choice.get("logprobs")
    tokens = logprobs.get(name) if isinstance(logprobs, dict) else None
    first = tokens[0] if isinstance(tokens, list) and tokens else None
    return first if isinstance(first, dict) else None


def _mass(choice: Mapping[str, Any]) -> YesNoMass | None:
    first = _first_token(choice, "content")
    if first is None:
        return None
    top = first.get("top_logprobs")
    entries = [entry for entry in top if isinstance(entry, dict)] if isinstance(top, list) else []
    return yes_no_mass((entry.get("token"), entry.get("logprob")) for entry in entries)


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
        answer = object_of(raw)
        choice = first_choice(answer)
        text = text_or_none(choice.get("text"))
        if text is None:
            raise UnreadableReplyError(Kind.NO_CHOICES, "the first choice holds no text")
        top = _first_token(choice, "top_logprobs")
        mass = None if top is None else yes_no_mass(top.items())
        return _reply(answer, choice, text=text, mass=mass)
