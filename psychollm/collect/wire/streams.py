"""Replies that come as a stream of events: read into the one object a whole reply would be."""

from collections.abc import Iterator
from typing import Any

from psychollm._base.untrusted_json import parse_json
from psychollm.collect.faults import Kind
from psychollm.collect.wire.protocol import UnreadableReplyError, check_error

DONE = "[DONE]"
Event = dict[str, Any]


def is_stream(raw: bytes) -> bool:
    """Whether a reply is a stream of server-sent events."""
    return raw[:64].lstrip().startswith((b"data:", b"event:", b":", b"id:"))


def events(raw: bytes) -> Iterator[Event | None]:
    """Yield the events of a stream; None where it says that it is done."""
    for block in raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n\n"):
        data = b"\n".join(
            line[5:].removeprefix(b" ") for line in block.split(b"\n") if line.startswith(b"data:")
        )
        if not data:
            continue
        if data.strip() == DONE.encode():
            yield None
            continue
        try:
            event = parse_json(data, errors="replace")
        except ValueError as error:
            raise UnreadableReplyError(Kind.BROKEN, f"an event is no JSON: {error}") from error
        if not isinstance(event, dict):
            raise UnreadableReplyError(Kind.BAD_JSON, "an event is JSON, but no object")
        check_error(event)
        yield event


def cut_off() -> UnreadableReplyError:
    """Return the error of a stream that ended before the reply did."""
    return UnreadableReplyError(Kind.BROKEN, "the stream ended before the reply")


def added(whole: dict[str, Any], name: str, part: Any) -> None:
    """Add a piece of text to what has come under a name."""
    if isinstance(part, str):
        before = whole.get(name)
        whole[name] = (before if isinstance(before, str) else "") + part
