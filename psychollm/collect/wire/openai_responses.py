"""The Responses API, an alternative to chat completions on OpenAI's and other servers."""

from collections.abc import Iterable, Mapping
from typing import Any

from psychollm.collect.faults import Kind
from psychollm.collect.request import LIMITS
from psychollm.collect.wire.batch_formats import OpenAIBatches
from psychollm.collect.wire.over_http import Event, OverHttp, cut_off
from psychollm.collect.wire.probabilities import openai_tokens
from psychollm.collect.wire.protocol import (
    Messages,
    Reply,
    UnreadableReplyError,
    Usage,
    apart,
    count_or_none,
    text_or_none,
)
from psychollm.collect.wire.thinking import thinking_of, without_thinking

_LOGPROBS = "message.output_text.logprobs"
LEAST = 16  # tokens; the API rejects lower limits
_FINISH = {"completed": "stop", "max_output_tokens": "length"}
_ENDED = {"response.completed", "response.incomplete", "response.failed"}


class OpenAIResponses(OverHttp):
    """Format of ``POST /responses``, whose input and output are lists of items."""

    name = "openai-responses"
    path = "/responses"
    batches = OpenAIBatches()
    lacks = frozenset({"seed", "stop", "logit_bias", "presence_penalty", "frequency_penalty"})

    def body(
        self, model: str, messages: Messages, parameters: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the request body, which prevents storage on the server."""
        thinking = thinking_of(parameters)
        known = without_thinking(parameters)
        limit = next((known.pop(name) for name in LIMITS if name in known), None)
        effort = known.pop("reasoning_effort", None)
        if thinking is not None:
            effort = "none" if thinking.off else thinking.effort
            limit = None if limit is None else limit + thinking.tokens
        if effort is not None:
            known["reasoning"] = {**known.get("reasoning", {}), "effort": effort}
        if limit is not None:
            known["max_output_tokens"] = max(limit, LEAST)
        if known.pop("logprobs", False) or "top_logprobs" in known:
            known["include"] = [*known.get("include", []), _LOGPROBS]
        if (form := known.pop("response_format", None)) is not None:
            known["text"] = {**known.get("text", {}), "format": _flat(form)}
        turns = [dict(turn) for turn in messages]
        return {"model": model, "input": turns, "store": False, **known}

    def gathered(self, stream: Iterable[Event | None]) -> dict[str, Any]:
        """Return the complete response that the last event of a stream contains."""
        for event in stream:
            if event is not None and event.get("type") in _ENDED:
                response = event.get("response")
                return response if isinstance(response, dict) else {}
        raise cut_off()

    def read(self, raw: bytes) -> Reply:
        """Parse a reply into the answer (message items) and the thinking (reasoning items)."""
        body = self.whole(raw)
        items = body.get("output")
        if not isinstance(items, list):
            raise UnreadableReplyError(Kind.NO_CHOICES, "the reply holds no output")
        parts = [part for item in items for part in _parts(item, "message", "content")]
        text = "".join(
            text_or_none(part.get("text") or part.get("refusal")) or "" for part in parts
        )
        thoughts = [
            text_or_none(part.get("text")) or ""
            for item in items
            for field in ("content", "summary")
            for part in _parts(item, "reasoning", field)
        ]
        text, reasoning = apart(text, "\n\n".join(filter(None, thoughts)) or None)
        return Reply(
            text=text,
            reasoning=reasoning,
            finish_reason="refusal" if any(p.get("refusal") for p in parts) else _reason(body),
            served_model=text_or_none(body.get("model")),
            provider=text_or_none(body.get("provider")),
            usage=_usage(body.get("usage")),
            tokens=tuple(token for part in parts for token in openai_tokens(part.get("logprobs"))),
        )


def _flat(form: Any) -> Any:
    """Return the response format with schema and type on one level, as this API expects it."""
    inner = form.get("json_schema") if isinstance(form, Mapping) else None
    return {"type": "json_schema", **inner} if isinstance(inner, Mapping) else form


def _parts(item: Any, kind: str, field: str) -> list[dict[str, Any]]:
    if not isinstance(item, dict) or item.get("type") != kind:
        return []
    listed = item.get(field)
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _reason(body: Mapping[str, Any]) -> str | None:
    """Return the finish reason in the terms of chat completions."""
    status = text_or_none(body.get("status"))
    details = body.get("incomplete_details")
    if status == "incomplete" and isinstance(details, Mapping):
        status = text_or_none(details.get("reason"))
    if status in {"in_progress", "queued", "incomplete"}:
        raise UnreadableReplyError(Kind.NO_CHOICES, f"the reply is not finished ({status})")
    return _FINISH.get(status or "", status)


def _usage(usage: Any) -> Usage:
    if not isinstance(usage, Mapping):
        return Usage()
    details = usage.get("output_tokens_details")
    thought = details.get("reasoning_tokens") if isinstance(details, Mapping) else None
    return Usage(
        input=count_or_none(usage.get("input_tokens")),
        output=count_or_none(usage.get("output_tokens")),
        reasoning=count_or_none(thought),
    )
