"""The API format of Google's Gemini, also on Vertex."""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from psychollm.collect.faults import Kind
from psychollm.collect.request import LIMITS
from psychollm.collect.wire.over_http import Event, OverHttp, cut_off
from psychollm.collect.wire.probabilities import Token, token_of
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

_ROLES = {"assistant": "model", "user": "user"}
_NAMES = {
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "seed": "seed",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
}
# Parameters that are top-level fields of the body, not generation settings.
_BESIDE = ("safetySettings", "labels", "cachedContent")
_FINISH = {"STOP": "stop", "MAX_TOKENS": "length"}
_FAILED = {
    "OTHER", "MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL", "LANGUAGE",
    "NO_IMAGE",
}  # fmt: skip


class Gemini(OverHttp):
    """``POST /models/MODEL:generateContent``."""

    name = "gemini"
    lacks = frozenset({"logit_bias", "reasoning_effort"})

    def headers(self, secret: str | None) -> dict[str, str]:
        """Return the request headers with the secret."""
        return {"x-goog-api-key": secret} if secret else {}

    def place(self, model: str, *, stream: bool) -> str:
        """Return the request path for a model."""
        call = "streamGenerateContent?alt=sse" if stream else "generateContent"
        return f"/models/{quote(model.removeprefix('models/'), safe='')}:{call}"

    def streamed(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the request body unchanged, because the address already requests a stream."""
        return body

    def body(
        self, model: str, messages: Messages, parameters: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the request body with separate system turns; the path names the model."""
        contents = [
            {"role": _ROLES[turn["role"]], "parts": [{"text": turn["content"]}]}
            for turn in messages
            if turn["role"] != "system"
        ]
        system = [{"text": turn["content"]} for turn in messages if turn["role"] == "system"]
        body: dict[str, Any] = {"contents": contents}
        if system:
            body["systemInstruction"] = {"parts": system}
        known = without_thinking(parameters)
        body |= {name: known.pop(name) for name in _BESIDE if name in known}
        if settings := _settings(known, thinking_of(parameters)):
            body["generationConfig"] = settings
        return body

    def gathered(self, stream: Iterable[Event | None]) -> dict[str, Any]:
        """Return the reply assembled from the pieces of a stream."""
        whole: dict[str, Any] = {}
        first: dict[str, Any] = {}
        parts: list[Any] = []
        chosen: list[Any] = []
        tops: list[Any] = []
        for event in stream:
            if event is None:
                continue
            whole |= {name: value for name, value in event.items() if name != "candidates"}
            one = _first(event) or {}
            first |= {k: v for k, v in one.items() if k not in {"content", "logprobsResult"}}
            parts += _listed(one.get("content"), "parts")
            chosen += _listed(one.get("logprobsResult"), "chosenCandidates")
            tops += _listed(one.get("logprobsResult"), "topCandidates")
        if first:
            if not first.get("finishReason"):
                raise cut_off()
            first["content"] = {"parts": parts}
            first["logprobsResult"] = {"chosenCandidates": chosen, "topCandidates": tops}
            whole["candidates"] = [first]
        return whole

    def read(self, raw: bytes) -> Reply:
        """Parse a reply, keeping its thought parts separate."""
        body = self.whole(raw)
        first = _first(body)
        usage = _usage(body.get("usageMetadata"))
        if first is None:
            feedback = body.get("promptFeedback")
            if isinstance(feedback, dict) and feedback.get("blockReason"):
                return Reply(text="", finish_reason="prohibited_content", usage=usage)
            raise UnreadableReplyError(Kind.NO_CHOICES, "the reply holds no candidate")
        parts = [one for one in _listed(first.get("content"), "parts") if isinstance(one, dict)]
        reason = text_or_none(first.get("finishReason"))
        text, reasoning = apart(_said(parts), _said(parts, thought=True) or None)
        known = "error" if reason in _FAILED else _FINISH.get(reason or "", reason)
        return Reply(
            text=text,
            reasoning=reasoning,
            finish_reason=known,
            served_model=text_or_none(body.get("modelVersion")),
            usage=usage,
            tokens=_tokens(first.get("logprobsResult")),
        )


class Vertex(Gemini):
    """Gemini on Vertex, whose address ends in ``/publishers/google``."""

    name = "vertex"

    def headers(self, secret: str | None) -> dict[str, str]:
        """Return the request headers with the secret as a bearer token."""
        return OverHttp.headers(self, secret)


def _settings(known: Mapping[str, Any], thinking: Thinking | None) -> dict[str, Any]:
    """Return the generation settings under the names of this format."""
    settings = {_NAMES.get(name, name): value for name, value in known.items()}
    limit = next((settings.pop(name) for name in LIMITS if name in settings), None)
    if (stop := settings.pop("stop", None)) is not None:
        settings["stopSequences"] = [stop] if isinstance(stop, str) else stop
    wanted, n = settings.pop("logprobs", None), settings.pop("top_logprobs", None)
    if wanted or n:
        settings |= {"responseLogprobs": True} | ({"logprobs": n} if n else {})
    form = settings.pop("response_format", None)
    if isinstance(form, Mapping):
        settings["responseMimeType"] = "application/json"
        schema = form.get("json_schema")
        if isinstance(schema, Mapping) and "schema" in schema:
            settings["responseJsonSchema"] = schema["schema"]
    if thinking is not None:
        settings["thinkingConfig"] = _thinking(thinking)
    if limit is not None:
        settings["maxOutputTokens"] = limit + (thinking.tokens if thinking else 0)
    return settings


def _thinking(thinking: Thinking) -> dict[str, Any]:
    """Return the thinking parameters: a level or, for older models, a token budget."""
    if thinking.off:
        return {"thinkingBudget": 0}
    if thinking.level is None:
        return {"thinkingBudget": thinking.tokens, "includeThoughts": True}
    level = {"xhigh": "high", "max": "high"}.get(thinking.level, thinking.level)
    return {"thinkingLevel": level, "includeThoughts": True}


def _first(body: Mapping[str, Any]) -> dict[str, Any] | None:
    candidates = body.get("candidates")
    first = candidates[0] if isinstance(candidates, list) and candidates else None
    return first if isinstance(first, dict) else None


def _listed(holder: Any, name: str) -> list[Any]:
    listed = holder.get(name) if isinstance(holder, dict) else None
    return listed if isinstance(listed, list) else []


def _said(parts: list[dict[str, Any]], *, thought: bool = False) -> str:
    these = [part for part in parts if bool(part.get("thought")) is thought]
    return "".join(text_or_none(part.get("text")) or "" for part in these)


def _tokens(found: Any) -> tuple[Token, ...]:
    """Return the tokens of a reply, each with its most likely alternatives."""
    tops = _listed(found, "topCandidates")
    tokens = []
    for at, one in enumerate(_listed(found, "chosenCandidates")):
        if not isinstance(one, dict):
            continue
        listed = _listed(tops[at], "candidates") if at < len(tops) else []
        pairs = [(t.get("token"), t.get("logProbability")) for t in listed if isinstance(t, dict)]
        tokens.append(token_of(one.get("token"), one.get("logProbability"), pairs))
    return tuple(tokens)


def _usage(usage: Any) -> Usage:
    if not isinstance(usage, Mapping):
        return Usage()
    said, thought = (
        count_or_none(usage.get(name)) for name in ("candidatesTokenCount", "thoughtsTokenCount")
    )
    # Reasoning is billed as output but counted separately.
    output = None if said is None and thought is None else (said or 0) + (thought or 0)
    return Usage(
        input=count_or_none(usage.get("promptTokenCount")), output=output, reasoning=thought
    )
