"""The Messages API of Anthropic."""

from collections.abc import Iterable, Mapping
from typing import Any

from psychollm.collect.faults import Kind
from psychollm.collect.request import LIMITS
from psychollm.collect.wire.batch_formats import AnthropicBatches
from psychollm.collect.wire.over_http import Event, OverHttp, added, cut_off
from psychollm.collect.wire.protocol import (
    Messages,
    Reply,
    UnreadableReplyError,
    Usage,
    apart,
    count_or_none,
    text_or_none,
)
from psychollm.collect.wire.thinking import Thinking, thinking_of, without_thinking

VERSION = "2023-06-01"
# The API rejects requests without a length limit, because it defines no default.
DEFAULT_MAX_TOKENS = 1024
# Finish reasons of this API, translated to the names used for all servers.
FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}
LACKS = frozenset(
    {"seed", "logprobs", "top_logprobs", "reasoning_effort", "response_format", "logit_bias"}
)


class AnthropicMessages(OverHttp):
    """Format of ``POST /messages`` with a separate system prompt and without log probabilities."""

    name = "anthropic"
    path = "/messages"
    lacks = LACKS
    batches = AnthropicBatches()

    def headers(self, secret: str | None) -> dict[str, str]:
        """Return the headers with the version of the format and the secret."""
        known = {"anthropic-version": VERSION}
        return known | ({"x-api-key": secret} if secret else {})

    def body(
        self, model: str, messages: Messages, parameters: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the request body, with system turns removed from the conversation."""
        thinking = thinking_of(parameters)
        known = without_thinking(parameters)
        limits = [known.pop(name) for name in LIMITS if name in known]
        known["max_tokens"] = limits[0] if limits else DEFAULT_MAX_TOKENS
        if thinking is not None:
            known["max_tokens"] += thinking.tokens
            known |= claude_thinking(thinking)
        if "stop" in known:
            stop = known.pop("stop")
            known["stop_sequences"] = [stop] if isinstance(stop, str) else stop
        system = "\n\n".join(turn["content"] for turn in messages if turn["role"] == "system")
        turns = [dict(turn) for turn in messages if turn["role"] != "system"]
        body = {"model": model, "messages": turns, **known}
        return body | ({"system": system} if system else {})

    def gathered(self, stream: Iterable[Event | None]) -> dict[str, Any]:
        """Return the message assembled from the events of a stream."""
        whole: dict[str, Any] = {}
        blocks: dict[Any, dict[str, Any]] = {}
        usage: dict[str, Any] = {}
        done = False
        for event in stream:
            kind = None if event is None else event.get("type")
            done |= kind == "message_stop"
            if event is None or kind == "ping":
                continue
            held = event.get("message") if kind == "message_start" else event.get("delta")
            part = held if isinstance(held, dict) else {}
            if kind in {"message_start", "message_delta"}:
                for source in (part.get("usage"), event.get("usage")):
                    usage |= source if isinstance(source, dict) else {}
                whole |= {k: v for k, v in part.items() if k not in {"content", "usage"}}
                held = part.get("content")  # blocks that the server sent as a whole
                blocks |= {
                    str(i): dict(one)
                    for i, one in enumerate(held if isinstance(held, list) else [])
                    if isinstance(one, dict)
                }
            elif kind == "content_block_start":
                first = event.get("content_block")
                blocks[str(event.get("index"))] = dict(first) if isinstance(first, dict) else {}
            elif kind == "content_block_delta":
                block = blocks.setdefault(str(event.get("index")), {})
                for name in ("text", "thinking"):
                    added(block, name, part.get(name))
        if not done:
            raise cut_off()
        return {**whole, "content": list(blocks.values()), "usage": usage}

    def read(self, raw: bytes) -> Reply:
        """Parse a reply, joining its text blocks and keeping its thinking blocks separate."""
        body = self.whole(raw)
        blocks = body.get("content")
        if not isinstance(blocks, list):
            raise UnreadableReplyError(Kind.NO_CHOICES, "the reply holds no content")
        reason = text_or_none(body.get("stop_reason"))
        thoughts = _joined(blocks, "thinking", "thinking") or None
        text, reasoning = apart(_joined(blocks, "text", "text"), thoughts)
        return Reply(
            text=text,
            reasoning=reasoning,
            finish_reason=FINISH.get(reason or "", reason),
            served_model=text_or_none(body.get("model")),
            usage=_usage(body.get("usage"), blocks),
        )


def claude_thinking(thinking: Thinking) -> dict[str, Any]:
    """Return the thinking parameters: a level or, for older models, a token budget."""
    if thinking.off:
        return {"thinking": {"type": "disabled"}}
    if thinking.level is None:
        return {"thinking": {"type": "enabled", "budget_tokens": thinking.tokens}}
    effort = {"minimal": "low"}.get(thinking.level, thinking.level)
    return {"thinking": {"type": "adaptive"}, "output_config": {"effort": effort}}


def _joined(blocks: list[Any], kind: str, field: str) -> str:
    parts = [block for block in blocks if isinstance(block, dict) and block.get("type") == kind]
    return "".join(text_or_none(part.get(field)) or "" for part in parts)


def _usage(usage: Any, blocks: list[Any]) -> Usage:
    if not isinstance(usage, Mapping):
        return Usage()
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    counts = [count_or_none(usage.get(name)) for name in names]
    details = usage.get("output_tokens_details")
    thought = details.get("thinking_tokens") if isinstance(details, Mapping) else None
    output = count_or_none(usage.get("output_tokens"))
    # If the server withholds its thinking, the block is empty or redacted.
    only = [one.get("type") for one in blocks if isinstance(one, dict)]
    hidden = output if only and set(only) <= {"thinking", "redacted_thinking"} else None
    return Usage(
        input=None if counts[0] is None else sum(filter(None, counts)),
        output=output,
        reasoning=hidden if (counted := count_or_none(thought)) is None else counted,
    )
