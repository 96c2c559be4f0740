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
    """Return what JSON holds; a byte-order mark is passed over."""
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
    """Return a number as a float; None for anything else, and for what no float holds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        msg = f"the name {twice!r} occurs twice in one object"
        raise ValueError(msg)
    return members


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) < 1000 else float(digits)
