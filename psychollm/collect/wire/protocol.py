"""What a wire format must offer, and what is read from every reply."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlsplit

from psychollm._base.untrusted_json import as_number, parse_json
from psychollm.collect.connection import Connections, Exchange
from psychollm.collect.faults import Kind

Messages = Sequence[Mapping[str, str]]
MOST_COST = 1e6  # of one exchange, in any currency; a server that names more has erred
# What servers call an end that is no end of an answer.
_FAILED = frozenset({
    "abort", "aborted", "cancelled", "error", "failed", "insufficient_system_resource",
    "network_error",
})  # fmt: skip
_FILTERED = frozenset({
    "blocklist", "content_filter", "guardrail_intervened", "prohibited_content", "recitation",
    "refusal", "safety", "sensitive", "spii",
})  # fmt: skip


class UnreadableReplyError(Exception):
    """A reply that is no answer; `kind` names what is wrong with it."""

    def __init__(self, kind: Kind, detail: str, *, status: int | None = None) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.status = status  # where a reply of status 200 holds an error with its own


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one exchange, and its price where the server names it."""

    input: int | None = None
    output: int | None = None
    reasoning: int | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class YesNoMass:
    """Probability that the first token of a reply is a form of "yes", and of "no"."""

    # What both leave of one went to other tokens: `captured` should be reported beside `p_yes`.

    yes: float
    no: float

    @property
    def captured(self) -> float:
        """Probability of either."""
        return self.yes + self.no

    @property
    def p_yes(self) -> float:
        """Probability of "yes" among the two; NaN if neither was among the listed tokens."""
        return self.yes / self.captured if self.captured > 0 else math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a server said."""

    text: str
    reasoning: str | None = None
    finish_reason: str | None = None
    served_model: str | None = None
    provider: str | None = None
    fingerprint: str | None = None
    usage: Usage = Usage()
    mass: YesNoMass | None = None  # None where no log probabilities came back


class Line(Protocol):
    """What carries bodies to a model and brings back what it says."""

    async def post(self, body: bytes) -> Exchange:
        """Send one body; what fails is named in the result, never raised."""

    async def close(self) -> None:
        """Give back what it holds."""


class Wire(Protocol):
    """One wire format: requests to bodies, what comes back to replies."""

    name: str
    local: bool  # whether models run in this process, without an address
    lacks: frozenset[str]  # parameters that it has no place for

    def open(
        self, url: str, *, secret: str | None, headers: Mapping[str, str], timeout: float
    ) -> Line:
        """Return a line to an endpoint."""

    def body(
        self, model: str, messages: Messages, parameters: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the body to send."""

    def read(self, raw: bytes) -> Reply:
        """Read what came back with status 200."""


def object_of(raw: bytes) -> dict[str, Any]:
    """Return the JSON object of a body; bytes that are not UTF-8 become U+FFFD."""
    try:
        body = parse_json(raw, errors="replace")
    except ValueError as error:
        raise UnreadableReplyError(Kind.BAD_JSON, f"the reply is no JSON: {error}") from error
    if not isinstance(body, dict):
        raise UnreadableReplyError(Kind.BAD_JSON, "the reply is JSON, but no object")
    _check_error(body)
    return body


def _check_error(body: Mapping[str, Any]) -> None:
    """Raise where an error stands in place of a reply, or beside a part of one."""
    fault = body.get("error")
    if not fault:
        return
    code = fault.get("code") if isinstance(fault, dict) else None
    known = re.fullmatch(r"[45]\d\d", str(code)[:9])
    detail = f"an error in place of a reply: {fault!r:.300}".encode("ascii", "backslashreplace")
    raise UnreadableReplyError(
        Kind.SERVER_ERROR, detail.decode(), status=int(known[0]) if known else None
    )


def first_choice(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the first of the choices of an OpenAI-like reply."""
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise UnreadableReplyError(Kind.NO_CHOICES, "the reply holds no choice")
    _check_error(choices[0])
    return choices[0]


def fault_of(reply: Reply) -> tuple[Kind, str] | None:
    """Return why a reply is no answer, as the server says; None if it is one."""
    # A reply without words is an answer if the server says how it ended and that tokens were
    # spent: such is what a model says that has nothing to say, or no tokens left to say it.
    reason = (reply.finish_reason or "").casefold()
    if reason in _FILTERED:
        return Kind.FILTERED, f"held back (finish reason {reason})"
    if reason in _FAILED:
        return Kind.SERVER_ERROR, f"not finished (finish reason {reason})"
    spent = bool(reason) and bool(reply.usage.output)
    if reply.text.strip() or reply.reasoning or reason == "length" or spent:
        return None
    return Kind.EMPTY, f"nothing was said (finish reason {reason or 'missing'})"


def text_or_none(value: Any) -> str | None:
    """Return a string, or None for anything else; halves of characters become U+FFFD."""
    if not isinstance(value, str):
        return None
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def count_or_none(value: Any) -> int | None:
    """Return a whole number that is not negative, or None for anything else."""
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53
    return value if whole else None


def openai_usage(body: Mapping[str, Any]) -> Usage:
    """Read the ``usage`` of an OpenAI-like reply."""
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


def word_of(token: str) -> str:
    """Return the word that a token holds: without marks of spaces, punctuation and case."""
    return token.strip(" \t\r\n\u2581\u0120\u010a.,:;!*_\"'`()").casefold()


def yes_no_mass(listed: Iterable[tuple[Any, Any]]) -> YesNoMass | None:
    """Add up the probability of all forms of "yes" and "no" among listed first tokens."""
    masses = {"yes": 0.0, "no": 0.0}
    read = False
    for token, logprob in listed:
        value = -math.inf if logprob == -math.inf else as_number(logprob)
        if not isinstance(token, str) or value is None:
            continue
        read = True
        word = word_of(token)
        if word in masses:
            masses[word] += math.exp(min(value, 0.0))
    return YesNoMass(yes=masses["yes"], no=masses["no"]) if read else None


class OverHttp:
    """A wire format whose bodies are posted to a server."""

    path: str
    local = False

    def headers(self, secret: str | None) -> dict[str, str]:
        """Return the headers: the secret is a bearer token."""
        return {"Authorization": f"Bearer {secret}"} if secret else {}

    def open(
        self, url: str, *, secret: str | None, headers: Mapping[str, str], timeout: float
    ) -> Connections:
        """Return connections to the place below an address where bodies are posted."""
        parts = urlsplit(url)
        below = parts._replace(path=parts.path.rstrip("/") + self.path, fragment="")
        own = self.headers(secret)
        names = {name.lower() for name in own}
        others = {name: value for name, value in headers.items() if name.lower() not in names}
        return Connections(below.geturl(), headers={**others, **own}, timeout=timeout)
