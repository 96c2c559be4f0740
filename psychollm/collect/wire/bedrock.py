"""The Converse API of Amazon Bedrock, which serves all models of Bedrock."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from psychollm.collect.faults import Kind
from psychollm.collect.request import LIMITS
from psychollm.collect.wire.anthropic import FINISH, claude_thinking
from psychollm.collect.wire.over_http import OverHttp
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

_SETTINGS = {"temperature": "temperature", "top_p": "topP"}
_REASONS = {**FINISH, "content_filtered": "content_filter"}
_BESIDE = ("guardrailConfig", "performanceConfig", "requestMetadata", "serviceTier")


class BedrockConverse(OverHttp):
    """Format of ``POST /model/MODEL/converse`` with a Bedrock API key as a bearer token."""

    name = "bedrock"
    streams = False  # Bedrock streams have a different format
    lacks = frozenset(
        {"seed", "logprobs", "top_logprobs", "response_format", "logit_bias", "reasoning_effort"}
    )

    def place(self, model: str, *, stream: bool) -> str:
        """Return the request path for a model, whose name may contain colons and slashes."""
        return f"/model/{quote(model, safe='')}/converse"

    def body(
        self, model: str, messages: Messages, parameters: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the request body, with model-specific parameters as additional fields."""
        thinking = thinking_of(parameters)
        more = without_thinking(parameters)
        settings = {_SETTINGS[name]: more.pop(name) for name in _SETTINGS if name in more}
        limit = next((more.pop(name) for name in LIMITS if name in more), None)
        if limit is not None:
            settings["maxTokens"] = limit + (thinking.tokens if thinking else 0)
        if (stop := more.pop("stop", None)) is not None:
            settings["stopSequences"] = [stop] if isinstance(stop, str) else stop
        turns = [
            {"role": turn["role"], "content": [{"text": turn["content"]}]}
            for turn in messages
            if turn["role"] != "system"
        ]
        body: dict[str, Any] = {"messages": turns}
        if system := [{"text": turn["content"]} for turn in messages if turn["role"] == "system"]:
            body["system"] = system
        body |= {name: more.pop(name) for name in _BESIDE if name in more}
        if settings:
            body["inferenceConfig"] = settings
        if thinking is not None:
            more |= _thinking(model, thinking)
        if more:
            body["additionalModelRequestFields"] = more
        return body

    def read(self, raw: bytes) -> Reply:
        """Parse a reply, keeping its reasoning blocks separate."""
        body = self.whole(raw)
        output = body.get("output")
        message = output.get("message") if isinstance(output, dict) else None
        blocks = message.get("content") if isinstance(message, dict) else None
        if not isinstance(blocks, list):
            raise UnreadableReplyError(Kind.NO_CHOICES, "the reply holds no message")
        known = [block for block in blocks if isinstance(block, dict)]
        text = "".join(text_or_none(block.get("text")) or "" for block in known)
        thoughts = "".join(map(_thought, known))
        hidden = any("reasoningContent" in block for block in known) and not thoughts
        text, reasoning = apart(text, thoughts or None)
        reason = text_or_none(body.get("stopReason"))
        return Reply(
            text=text,
            reasoning=reasoning,
            finish_reason=_REASONS.get(reason or "", reason),
            usage=_usage(body.get("usage"), hidden=hidden and not text),
        )


def _thinking(model: str, thinking: Thinking) -> dict[str, Any]:
    """Return the thinking parameters, which differ between model vendors."""
    if "anthropic." in model:
        return claude_thinking(thinking)
    if "nova" in model:
        if thinking.off:
            return {"reasoningConfig": {"type": "disabled"}}
        effort = {"minimal": "low", "xhigh": "high", "max": "high"}
        level = effort.get(thinking.effort, thinking.effort)
        return {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": level}}
    return {"reasoning_effort": "none" if thinking.off else thinking.effort}


def _thought(block: Mapping[str, Any]) -> str:
    content = block.get("reasoningContent")
    inner = content.get("reasoningText") if isinstance(content, dict) else None
    return (text_or_none(inner.get("text")) or "") if isinstance(inner, dict) else ""


def _usage(usage: Any, *, hidden: bool) -> Usage:
    if not isinstance(usage, Mapping):
        return Usage()
    names = ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
    counts = [count_or_none(usage.get(name)) for name in names]
    output = count_or_none(usage.get("outputTokens"))
    return Usage(
        input=None if counts[0] is None else sum(filter(None, counts)),
        output=output,
        reasoning=output if hidden else None,  # all output is reasoning whose text is withheld
    )
