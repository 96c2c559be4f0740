"""Base class of API formats with an HTTP server."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from psychollm._base.untrusted_json import parse_json
from psychollm.collect.connection import Connections
from psychollm.collect.faults import Kind
from psychollm.collect.wire.batch_formats import BatchFormat
from psychollm.collect.wire.protocol import UnreadableReplyError, check_error, object_of

DONE = "[DONE]"
Event = dict[str, Any]


def is_stream(raw: bytes) -> bool:
    """Return whether a reply is a stream of server-sent events."""
    return raw[:64].lstrip().startswith((b"data:", b"event:", b":", b"id:"))


def events(raw: bytes) -> Iterator[Event | None]:
    """Yield the events of a stream, and None for its end marker."""
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
            raise UnreadableReplyError(Kind.BROKEN, f"an event is not JSON: {error}") from error
        if not isinstance(event, dict):
            raise UnreadableReplyError(Kind.BAD_JSON, "an event is JSON, but not an object")
        check_error(event)
        yield event


def cut_off() -> UnreadableReplyError:
    """Return the error for a stream that ended before the end of the reply."""
    return UnreadableReplyError(Kind.BROKEN, "the stream ended before the reply")


def added(whole: dict[str, Any], name: str, part: Any) -> None:
    """Append a piece of text to a field."""
    if isinstance(part, str):
        before = whole.get(name)
        whole[name] = (before if isinstance(before, str) else "") + part


class OverHttp:
    """An API format with an HTTP server."""

    path: str
    local = False
    streams = True
    batches: BatchFormat | None = None

    def headers(self, secret: str | None) -> dict[str, str]:
        """Return the request headers, with the secret as a bearer token."""
        return {"Authorization": f"Bearer {secret}"} if secret else {}

    def open(
        self,
        url: str,
        *,
        secret: str | None,
        headers: Mapping[str, str],
        timeout: float,
        device: str = "auto",
    ) -> Connections:
        """Return connections to an address, ignoring `device`."""
        own = self.headers(secret)
        names = {name.lower() for name in own}
        others = {name: value for name, value in headers.items() if name.lower() not in names}
        return Connections(
            urlsplit(url)._replace(fragment="").geturl(),
            headers={**others, **own},
            timeout=timeout,
        )

    def place(self, model: str, *, stream: bool) -> str:
        """Return the request path, which is the same for all models."""
        return self.path

    def streamed(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return a request body that asks for a streamed reply."""
        return {**body, "stream": True}

    def gathered(self, stream: Iterable[Event | None]) -> dict[str, Any]:
        """Return the object assembled from the events of a stream."""
        raise cut_off()

    def whole(self, raw: bytes) -> dict[str, Any]:
        """Return the object of a reply, whether sent as a whole or streamed."""
        return self.gathered(events(raw)) if is_stream(raw) else object_of(raw)
