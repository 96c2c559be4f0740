"""Outcomes of an exchange, and their consequences."""

import re
from collections.abc import Collection, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from enum import StrEnum

from psychollm._base.untrusted_json import as_number, parse_json
from psychollm.collect.request import LENGTHS, LIMITS


class Kind(StrEnum):
    """The outcome of one exchange with a server."""

    OK = "ok"
    RATE_LIMITED = "rate_limited"  # status 429
    OVERLOADED = "overloaded"  # status 503 or 529
    UNREACHABLE = "unreachable"  # no connection
    SERVER_ERROR = "server_error"  # status 408, 409 or another 5xx
    TIMEOUT = "timeout"  # no complete reply in time
    LOST = "lost"  # the results of a batch lack the request
    EXPIRED = "expired"  # a batch ended before the request was processed
    BROKEN = "broken"  # the connection ended during the exchange
    BAD_JSON = "bad_json"  # the response is not a JSON object
    NO_CHOICES = "no_choices"  # JSON without an answer
    EMPTY = "empty"  # a reply without text
    TOO_LARGE = "too_large"  # a reply longer than any plausible answer
    ENCODED = "encoded"  # a compressed reply, which was not requested
    FILTERED = "filtered"  # a content filter of the server blocked the reply
    CUT_BY_THINKING = "cut_by_thinking"  # the reasoning used all tokens of the reply
    REFUSED_PARAMETER = "refused_parameter"  # the request is sent again without the parameter
    BAD_REQUEST = "bad_request"  # status 400, 403, 413, 422, ...
    NOT_FOUND = "not_found"  # status 404: the model or address does not exist
    UNAUTHORISED = "unauthorised"  # status 401
    PAYMENT = "payment"  # status 402, or the quota is exhausted
    REDIRECTED = "redirected"  # status 3xx: the address of the endpoint is wrong


# The server is busy or unreachable. The request is sent again later, without counting as a retry.
BUSY = frozenset({Kind.RATE_LIMITED, Kind.OVERLOADED, Kind.UNREACHABLE})
# The request itself failed. It is retried a limited number of times.
COUNTED = frozenset(
    {Kind.SERVER_ERROR, Kind.TIMEOUT, Kind.BROKEN, Kind.BAD_JSON, Kind.NO_CHOICES, Kind.EMPTY}
    | {Kind.TOO_LARGE, Kind.ENCODED, Kind.LOST, Kind.EXPIRED}
)
# The same request would fail again, so it is not retried in this run.
HOPELESS = frozenset({Kind.BAD_REQUEST, Kind.FILTERED, Kind.CUT_BY_THINKING})
# Outcomes that call for fewer concurrent requests.
CROWDED = frozenset({Kind.RATE_LIMITED, Kind.OVERLOADED, Kind.TIMEOUT, Kind.UNREACHABLE})
# No request to this endpoint can succeed until the user intervenes.
FINAL = frozenset({Kind.UNAUTHORISED, Kind.PAYMENT, Kind.REDIRECTED, Kind.NOT_FOUND})
# Outcomes without an answer for which the server may still have processed and charged the request.
MAYBE_BILLED = frozenset(
    {Kind.TIMEOUT, Kind.BROKEN, Kind.BAD_JSON, Kind.NO_CHOICES, Kind.TOO_LARGE, Kind.ENCODED}
    | {Kind.LOST}
)

_BY_STATUS = {
    401: Kind.UNAUTHORISED,
    402: Kind.PAYMENT,
    404: Kind.NOT_FOUND,
    408: Kind.SERVER_ERROR,
    424: Kind.SERVER_ERROR,
    409: Kind.SERVER_ERROR,
    425: Kind.SERVER_ERROR,
    429: Kind.RATE_LIMITED,
    503: Kind.OVERLOADED,
    529: Kind.OVERLOADED,
}
_REFUSAL = re.compile(
    r"unsupported|not supported|unknown|unrecogni[sz]ed|unexpected|not permitted|not allowed", re.I
)
_USED_UP = re.compile(rb"insufficient_quota|billing_hard_limit|credit balance is too low")
# Error texts of servers that report a rejected secret with status 400 or 403 instead of 401.
_STRANGER = re.compile(
    rb"API_KEY_INVALID|API key not valid|security token|make sure your API Key is valid"
    rb"|Invalid API Key|not authorized to|PERMISSION_DENIED|ACCESS_TOKEN"
)
_HELD_BACK = re.compile(rb'"code"\s*:\s*"content_filter"|ResponsibleAIPolicyViolation')


def kind_of_status(status: int, raw: bytes) -> Kind:
    """Return the kind of failure for an HTTP status other than 200."""
    if status in {400, 403, 429} and _USED_UP.search(raw):
        return Kind.PAYMENT
    if status in {400, 403} and _STRANGER.search(raw):
        return Kind.UNAUTHORISED
    if status == 400 and _HELD_BACK.search(raw):
        return Kind.FILTERED
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= 500:
        return Kind.SERVER_ERROR
    return Kind.REDIRECTED if 300 <= status < 400 else Kind.BAD_REQUEST


def refused_parameter(raw: bytes, sent: Collection[str]) -> tuple[str, str | None] | None:
    """Return the parameter that a server rejects, and the replacement that the server suggests."""
    # The length limit may be renamed but is never dropped, because it bounds the cost.
    text = raw.decode("utf-8", errors="replace")
    named = _named(text)
    # The thinking setting is never dropped, because a different amount of thinking would be a
    # different experimental condition.
    for name in sorted(set(sent) - {"thinking"}, key=len, reverse=True):
        if name != named and (named is not None or not _blames(text, name)):
            continue
        others = [one for one in LENGTHS if one != name] if name in LIMITS else []
        if not others or not set(sent).isdisjoint(others):
            return name, None
        for other in others:
            if re.search(rf"(?<!\w){other}(?!\w)", text):
                return name, other
    return None


def _blames(text: str, name: str) -> bool:
    """Return whether an error text refers to a parameter of the request."""
    word = re.escape(name)
    if re.search(rf"""['"`]{word}['"`]""", text):
        return True
    return bool(re.search(rf"(?<!\w){word}(?!\w)", text) and _REFUSAL.search(text))


def _named(text: str) -> str | None:
    """Return the parameter that an OpenAI-style error names."""
    try:
        error = parse_json(text.encode())["error"]
        return str(error["param"]) if error["param"] else None
    except (ValueError, LookupError, TypeError):
        return None


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the number of seconds that a server asks clients to wait, or None."""
    # Header names are in lower case. A retry date is compared with the server's own date, if the
    # server sent it, because the clocks may differ.
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        seconds = _number(headers.get(name))
        if seconds is not None:
            return max(seconds / unit, 0.0)
    until = _moment(headers.get("retry-after"))
    if until is None:
        return None
    clock = _moment(headers.get("date"))
    return max(until - (now if clock is None else clock), 0.0)


def _number(value: str | None) -> float | None:
    try:
        number = as_number(float(value or ""))
    except ValueError:
        return None
    return number if number is not None and abs(number) < 1e9 else None


def _moment(value: str | None) -> float | None:
    if value is None:
        return None
    try:
        moment = parsedate_to_datetime(value)
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
