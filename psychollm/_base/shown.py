r"""Output of text in which control characters are escaped.

A label, a reply or a path may contain escape sequences, marks that change the writing direction,
or line breaks, which a terminal or page would interpret. `visible` escapes control characters as
JSON does, for example as ``\u001b``. `on_screen` also escapes characters that the stream cannot
encode.
"""

import codecs
import json
import re
import sys
from collections.abc import Callable
from copy import copy
from functools import wraps
from typing import Any, TypeVar

# Control characters except tab and newline, zero-width and direction marks, and lone surrogates.
_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_LINES = re.compile(f"{_OBEYED.pattern}|[\t\n]")
_PLAIN = str.maketrans(
    {"–": "-", "−": "-", "…": "...", "×": "x", "≤": "<=", "≥": ">=", "±": "+/-", "’": "'"}
)
Text = TypeVar("Text", bound=Callable[..., str])


def visible(text: str) -> str:
    """Return a text with control characters escaped, except line breaks."""
    return _OBEYED.sub(_written, text)


def one_line(text: str) -> str:
    """Return a text with control characters and line breaks escaped."""
    return _LINES.sub(_written, text)


def _written(letter: re.Match[str]) -> str:
    return json.dumps(letter[0])[1:-1]


def on_screen(text: str, stream: Any = None) -> str:
    """Escape control characters, and characters that a stream (default: stdout) cannot write."""
    coding = getattr(stream or sys.stdout, "encoding", None) or "utf-8"
    return visible(text).encode(coding, "psychollm").decode(coding)


def _in_plain_letters(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    plain = error.object[error.start : error.end].translate(_PLAIN)
    return json.dumps(plain)[1:-1], error.end


codecs.register_error("psychollm", _in_plain_letters)


class Screen:
    r"""A stream that escapes control characters in each text that it writes.

    Examples
    --------
    >>> print("a\x1b[31m", file=Screen(sys.stdout))
    a\u001b[31m
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text."""
        return int(self._stream.write(on_screen(text, self._stream)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def shown(method: Text) -> Text:
    """Wrap a method that prints a result, so that labels and returned text are escaped."""
    # `__repr__` prints the repr of each label, which has no line breaks.
    seen = in_lines if method.__name__ != "__repr__" else lambda result: result
    return wraps(method)(  # type: ignore[return-value]
        lambda self, *args, **options: on_screen(method(seen(self), *args, **options))
    )


def in_lines(value: Any) -> Any:
    """Return a value with the line breaks in its texts escaped; other values are unchanged."""
    if type(value) is str:
        return one_line(value) if _LINES.search(value) else value
    if type(value) in (tuple, list):
        kinds = set(map(type, value))
        if kinds <= {int, float} or (kinds == {str} and not _LINES.search("".join(value))):
            return value
        parts = [in_lines(one) for one in value]
        same = all(new is old for new, old in zip(parts, value, strict=True))
        return value if same else type(value)(parts)
    if type(value) is dict:
        pairs = list(value.items())
        lines = in_lines(pairs)
        return value if lines is pairs else dict(lines)
    if type(value).__name__ == "ndarray" and value.dtype.kind in "OU":
        held = value.ravel().tolist()
        lines = in_lines(held)
        if lines is not held:
            twin = value.astype(object)
            for place, one in enumerate(lines):
                twin.flat[place] = one
            return twin
    if hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        whole = getattr(value, "_WHOLE", ())
        names = [name for name in value.__dataclass_fields__ if name not in whole]
        held = [getattr(value, name, None) for name in names]
        lines = in_lines(held)
        if lines is not held:
            twin = copy(value)
            for name, one in zip(names, lines, strict=True):
                object.__setattr__(twin, name, one)
            return twin
    return value
