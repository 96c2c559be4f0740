"""JSON that nobody vouches for: replies of servers, logs of other programs, saved results.

Three bytes of JSON may stand for a list that takes seventy, and a number may be longer than
Python turns into an integer, or lie beyond what a float holds. What a text asks for is bounded by
its size before it is parsed, and a number by `as_number` before it is used.
"""

import json
import math
from collections import Counter
from typing import Any, Literal

FREE = 1_000_000  # objects and lists that any text may hold
MIN_BYTES = 8  # of text to each beyond; what programs write has some twenty


def parse_json(
    data: bytes, *, errors: Literal["strict", "replace"] = "strict", unique: bool = False
) -> Any:
    r"""Return what JSON holds; a byte-order mark is passed over.

    Parameters
    ----------
    data : bytes
        JSON in UTF-8.
    errors : {"strict", "replace"}
        Whether bytes that are not UTF-8 are an error or become U+FFFD.
    unique : bool
        Whether a name that occurs twice in one object is an error; otherwise the last one counts.

    Raises
    ------
    ValueError
        If it is no JSON, too deep, or holds more objects and lists than its size allows.

    Examples
    --------
    >>> parse_json(b'\xef\xbb\xbf{"a": [1, NaN]}')
    {'a': [1, nan]}
    >>> parse_json(b'{"a": 1, "a": 2}', unique=True)
    Traceback (most recent call last):
    ValueError: the name 'a' occurs twice in one object
    """
    most = max(FREE, len(data) // MIN_BYTES)
    if data.count(b"[") + data.count(b"{") > most:
        msg = f"more than {most:,} objects and lists in {len(data):,} bytes"
        raise ValueError(msg)
    text = data.decode("utf-8-sig", errors)
    once = _once if unique else None
    try:
        try:
            return json.loads(text, object_pairs_hook=once)
        except json.JSONDecodeError:
            raise
        except ValueError:  # a whole number of more digits than Python converts
            return json.loads(text, object_pairs_hook=once, parse_int=_whole)
    except RecursionError:
        msg = "it is nested too deeply"
        raise ValueError(msg) from None


def as_number(value: Any) -> float | None:
    """Return a number as a float; None for anything else, and for what no float holds.

    Examples
    --------
    >>> as_number(3), as_number(10**400), as_number(float("nan")), as_number(True), as_number("3")
    (3.0, None, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        msg = f"the name {twice!r} occurs twice in one object"
        raise ValueError(msg)
    return found


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) < 1000 else float(digits)
