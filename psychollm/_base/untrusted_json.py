"""Parsing of untrusted JSON: server replies, logs of other programs, saved results.

Three bytes of JSON can become a list of seventy bytes in memory. A number can have more digits
than Python converts, or exceed the range of a float. Therefore, `parse_json` limits the memory
used for a text, and `as_number` checks the range of a number.
"""

import json
import math
from collections import Counter
from typing import Any, Literal

FREE = 1_000_000  # number of objects and lists allowed in a text of any length
MIN_BYTES = 8  # bytes of text required per further object; JSON usually has about twenty


def parse_json(
    data: bytes, *, errors: Literal["strict", "replace"] = "strict", unique: bool = False
) -> Any:
    """Return the parsed JSON of a text, without its byte-order mark."""
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
        except ValueError:  # an integer has more digits than Python converts
            return json.loads(text, object_pairs_hook=once, parse_int=_whole)
    except RecursionError:
        msg = "it is nested too deeply"
        raise ValueError(msg) from None


def as_number(value: Any) -> float | None:
    """Return a number as a float; None if it is out of range or not a number."""
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
