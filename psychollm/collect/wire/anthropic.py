"""Messages, as Anthropic defined them."""

from collections.abc import Mapping
from typing import Any

from psychollm.collect.faults import Kind
from psychollm.collect.wire.protocol import (
    Messages,
    OverHttp,
    Reply,
    UnreadableReplyError,
    Usage,
    count_or_none,
    object_of,
    text_or_none,
)

VERSION = "2023-06-01"
# The format has no default of its own and refuses a request without one.
DEFAULT_MAX_TOKENS = 1024
_RENAMED = {"max_completion_tokens": "max_tokens"}
# So that one word means the same for every server.
_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}


class AnthropicMessages(OverHttp):
    """``POST /messages``: the system prompt stands apart; no log probabilities, no seed."""

    name = "anthropic"
    path = "/messages"
    lacks = frozenset(
        {"seed", "logprobs", "top_logprobs", "reasoning_effort", "response_format", "logit_bias"}
    )

    def headers(self, secret: str | None) -> dict[str, str]:
        """Return the headers: version of the format, and the secret under a name of its own."""
        known = {"anthropic-version": VERSION}
        return known | ({"x-api-key": secret} if secret else {})

    def body(
        self, model: str, messages: Messages, parameters: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the body; system turns are taken out of the conversation."""
        named = {_RENAMED.get(name, name): value for name, value in parameters.items()}
        known = {"max_tokens": DEFAULT_MAX_TOKENS, **named}
        if "stop" in known:
            stop = known.pop("stop")
            known["stop_sequences"] = [stop] if isinstance(stop, str) else stop
        system = "\n\n".join(turn["content"] for turn in messages if turn["role"] == "system")
        turns = [dict(turn) for turn in messages if turn["role"] != "system"]
        body = {"model": model, "messages": turns, **known}
        return body | ({"system": system} if system else {})

    def read(self, raw: bytes) -> Reply:
        """Read a reply; blocks of text are joined, blocks of thinking kept apart."""
        body = object_of(raw)
        blocks = body.get("content")
        if not isinstance(blocks, list):
            raise UnreadableReplyError(Kind.NO_CHOICES, "the reply holds no content")
        reason = text_or_none(body.get("stop_reason"))
        return Reply(
            text=_joined(blocks, "text", "text"),
            reasoning=_joined(blocks, "thinking", "thinking") or None,
            finish_reason=_FINISH.get(reason or "", reason),
            served_model=text_or_none(body.get("model")),
            usage=_usage(body.get("usage")),
        )


def _joined(blocks: list[Any], kind: str, field: str) -> str:
    parts = [block for block in blocks if isinstance(block, dict) and block.get("type") == kind]
    return "".join(text_or_none(part.get(field)) or "" for part in parts)


def _usage(usage: Any) -> Usage:
    if not isinstance(usage, Mapping):
        return Usage()
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    counts = [count_or_none(usage.get(name)) for name in names]
    return Usage(
        input=None if counts[0] is None else sum(filter(None, counts)),
        output=count_or_none(usage.get("output_tokens")),
    )
