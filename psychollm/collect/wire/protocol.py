"""Interface of API formats, and functions for parts that their replies have in common."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from psychollm._base.untrusted_json import as_number, parse_json
from psychollm.collect.connection import Exchange
from psychollm.collect.faults import Kind
from psychollm.collect.wire.probabilities import Token, YesNoMass, yes_no_mass
from psychollm.instruments.readers.plain_text import in_tags

Messages = Sequence[Mapping[str, str]]
MOST_COST = 1e6  # largest cost of one exchange; larger values are server errors
# Finish reasons that indicate an unfinished answer.
_FAILED = frozenset({
    "abort", "aborted", "cancelled", "error", "failed", "insufficient_system_resource",
    "malformed_model_output", "malformed_tool_use", "network_error",
})  # fmt: skip
_FILTERED = frozenset({
    "blocklist", "content_filter", "guardrail_intervened", "prohibited_content", "recitation",
    "refusal", "safety", "sensitive", "spii",
})  # fmt: skip


class UnreadableReplyError(Exception):
    """Error for a reply without an answer; `kind` classifies the problem."""

    def __init__(self, kind: Kind, detail: str, *, status: int | None = None) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.status = status  # status of an error within a reply with status 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Numbers of tokens of one exchange, and its cost if the server states it."""

    input: int | None = None
    output: int | None = None
    reasoning: int | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A model's reply, as returned by a server."""

    text: str
    reasoning: str | None = None
    finish_reason: str | None = None
    served_model: str | None = None
    provider: str | None = None
    fingerprint: str | None = None
    usage: Usage = Usage()
    tokens: tuple[Token, ...] = ()  # tokens of the answer, with log probabilities

    @property
    def mass(self) -> YesNoMass | None:
        """Probabilities of yes and no at the token where the reply states its verdict."""
        return yes_no_mass(self.tokens)


class Line(Protocol):
    """A connection to a model."""

    async def post(self, body: bytes, place: str) -> Exchange:
        """Send one request body to a path; failures are returned in the result, not raised."""

    def authorise(self, headers: Mapping[str, str]) -> None:
        """Use the given headers for all further requests."""

    def withdraw(self) -> None:
        """Abandon queued request bodies that have not been sent."""

    async def close(self) -> None:
        """Release all resources."""


class Wire(Protocol):
    """An API format, which writes request bodies and parses responses into replies."""

    name: str
    local: bool  # whether models run in this process, without an address
    streams: bool  # whether replies can be streamed
    batches: Any  # a `BatchFormat`, or None if batches are not supported
    lacks: frozenset[str]  # unsupported parameters

    def open(
        self,
        url: str,
        *,
        secret: str | None,
        headers: Mapping[str, str],
        timeout: float,
        device: str = "auto",
    ) -> Line:
        """Return a connection to an endpoint; `device` applies only to models in this process."""

    def headers(self, secret: str | None) -> dict[str, str]:
        """Return the headers of every request."""

    def place(self, model: str, *, stream: bool) -> str:
        """Return the path of requests to a model, relative to the endpoint's address."""

    def body(
        self, model: str, messages: Messages, parameters: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the body of a request."""

    def streamed(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return a request body that asks for a streamed reply."""

    def read(self, raw: bytes) -> Reply:
        """Parse a response with status 200, which may be streamed."""


def object_of(raw: bytes) -> dict[str, Any]:
    """Return the JSON object in a body; bytes that are not UTF-8 become U+FFFD."""
    try:
        body = parse_json(raw, errors="replace")
    except ValueError as error:
        raise UnreadableReplyError(Kind.BAD_JSON, f"the reply is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise UnreadableReplyError(Kind.BAD_JSON, "the reply is JSON, but not an object")
    check_error(body)
    return body


def check_error(body: Mapping[str, Any]) -> None:
    """Raise `UnreadableReplyError` if a response contains an error, with or without a reply."""
    fault = body.get("error")
    if not fault:
        return
    code = fault.get("code") if isinstance(fault, dict) else None
    known = re.fullmatch(r"[45]\d\d", str(code)[:9])
    detail = f"an error instead of a reply: {fault!r:.300}".encode("ascii", "backslashreplace")
    raise UnreadableReplyError(
        Kind.SERVER_ERROR, detail.decode(), status=int(known[0]) if known else None
    )


def first_choice(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the first choice of an OpenAI-like reply."""
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise UnreadableReplyError(Kind.NO_CHOICES, "the reply holds no choice")
    check_error(choices[0])
    return choices[0]


def fault_of(reply: Reply) -> tuple[Kind, str] | None:
    """Return the reason why a reply is not an answer according to the server, or None."""
    # An empty reply counts as an answer if the server reports a finish reason and used tokens,
    # because the model then wrote nothing or used all tokens for reasoning.
    reason = (reply.finish_reason or "").casefold()
    if reason in _FILTERED:
        return Kind.FILTERED, f"held back (finish reason {reason})"
    if reason in _FAILED:
        return Kind.SERVER_ERROR, f"not finished (finish reason {reason})"
    thought = reply.reasoning or reply.usage.reasoning
    if reason == "length" and thought and not reply.text.strip():
        return Kind.CUT_BY_THINKING, "the limit was reached during thinking"
    spent = bool(reason) and bool(reply.usage.output)
    if reply.text.strip() or reply.reasoning or reason == "length" or spent:
        return None
    return Kind.EMPTY, f"the reply is empty (finish reason {reason or 'missing'})"


_OPEN, _CLOSE = "<think>", "</think>"


def apart(text: str, reasoning: str | None = None) -> tuple[str, str | None]:
    """Separate an answer from the thinking in tags that precedes it; return both."""
    # If only the closing tag occurs, the opening tag was part of the prompt. If only the opening
    # tag occurs, the reply was truncated.
    words = in_tags(text).lstrip()
    opened = words.startswith(_OPEN)
    if not opened and _CLOSE not in words:
        return text, reasoning
    thought, _, answer = words.removeprefix(_OPEN).partition(_CLOSE)
    if not opened and _OPEN in thought:
        return text, reasoning  # the answer itself contains the tags
    both = "\n".join(one.strip() for one in (reasoning or "", thought) if one.strip())
    return answer.lstrip("\n"), both or None


def text_or_none(value: Any) -> str | None:
    """Return a string, or None for other values; unpaired surrogates become U+FFFD."""
    if not isinstance(value, str):
        return None
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def count_or_none(value: Any) -> int | None:
    """Return a non-negative whole number, or None for other values."""
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53
    return value if whole else None


def openai_usage(body: Mapping[str, Any]) -> Usage:
    """Parse the ``usage`` of an OpenAI-like reply."""
    usage = body.get("usage")
    if not isinstance(usage, dict):
        return Usage()
    details = usage.get("completion_tokens_details")
    cost = as_number(usage.get("cost"))
    return Usage(
        input=count_or_none(usage.get("prompt_tokens")),
        output=count_or_none(usage.get("completion_tokens")),
        reasoning=count_or_none(details.get("reasoning_tokens"))
        if isinstance(details, dict)
        else None,
        cost=cost if cost is not None and 0 <= cost <= MOST_COST else None,
    )
