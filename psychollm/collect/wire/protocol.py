"""What a wire format must offer, and what is read from every reply."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from psychollm.collect.connection import Exchange
from psychollm.collect.faults import Kind

Messages = Sequence[Mapping[str, str]]


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
    """Probability that the first token of a reply is a form of "yes", and of "no".

    What both leave of one went to other tokens: `captured` should be reported beside `p_yes`.

    Examples
    --------
    >>> mass = YesNoMass(yes=0.3, no=0.1)
    >>> round(mass.captured, 3), round(mass.p_yes, 3)
    (0.4, 0.75)
    """

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
        """Read what came back with status 200.

        Raises
        ------
        UnreadableReplyError
            If it is no answer.
        """


def parse_json(raw: bytes) -> dict[str, Any]:
    r"""Return the JSON object of a body; bytes that are not UTF-8 become U+FFFD.

    Examples
    --------
    >>> parse_json(b'{"a": "\xff"}')
    {'a': '\ufffd'}
    """
    try:
        found = json.loads(raw.decode("utf-8", errors="replace"))
    except (ValueError, RecursionError) as error:
        raise UnreadableReplyError(Kind.BAD_JSON, f"the reply is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise UnreadableReplyError(Kind.BAD_JSON, "the reply is JSON, but no object")
    fault = found.get("error")
    if fault:
        code = fault.get("code") if isinstance(fault, dict) else None
        status = code if isinstance(code, int) and 400 <= code < 600 else None
        detail = f"an error in place of a reply: {json.dumps(fault)[:300]}"
        raise UnreadableReplyError(Kind.SERVER_ERROR, detail, status=status)
    return found


def first_choice(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the first of the choices of an OpenAI-like reply."""
    choices = found.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise UnreadableReplyError(Kind.NO_CHOICES, "the reply holds no choice")
    return choices[0]


def text_or_none(value: Any) -> str | None:
    """Return a string, or None for anything else; halves of characters become U+FFFD."""
    if not isinstance(value, str):
        return None
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def count_or_none(value: Any) -> int | None:
    """Return a whole number that is not negative, or None for anything else."""
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53
    return value if whole else None


def openai_usage(found: Mapping[str, Any]) -> Usage:
    """Read the ``usage`` of an OpenAI-like reply."""
    usage = found.get("usage")
    if not isinstance(usage, dict):
        return Usage()
    details = usage.get("completion_tokens_details")
    cost = usage.get("cost")
    return Usage(
        input=count_or_none(usage.get("prompt_tokens")),
        output=count_or_none(usage.get("completion_tokens")),
        reasoning=count_or_none(details.get("reasoning_tokens"))
        if isinstance(details, dict)
        else None,
        cost=float(cost) if isinstance(cost, int | float) and 0 <= cost < math.inf else None,
    )


def word_of(token: str) -> str:
    r"""Return the word that a token holds: without marks of spaces, punctuation and case.

    Examples
    --------
    >>> word_of("\u0120Yes."), word_of(" NO")
    ('yes', 'no')
    """
    return token.strip(" \t\r\n\u2581\u0120\u010a.,:;!*_\"'`()").casefold()


def yes_no_mass(listed: Iterable[tuple[Any, Any]]) -> YesNoMass | None:
    """Add up the probability of all forms of "yes" and "no" among listed first tokens.

    Parameters
    ----------
    listed : iterable of (token, log probability)
        The most likely first tokens.

    Returns
    -------
    YesNoMass or None
        None if nothing is listed that can be read.

    Examples
    --------
    >>> mass = yes_no_mass([("Yes", math.log(0.5)), (" yes", math.log(0.1)), ("NO.", -3.0)])
    >>> round(mass.yes, 3), round(mass.no, 3)
    (0.6, 0.05)
    """
    masses = {"yes": 0.0, "no": 0.0}
    read = False
    for token, logprob in listed:
        if not isinstance(token, str) or not isinstance(logprob, int | float):
            continue
        read = True
        word = word_of(token)
        if word in masses and not math.isnan(logprob):
            masses[word] += math.exp(min(float(logprob), 0.0))
    return YesNoMass(yes=masses["yes"], no=masses["no"]) if read else None
