"""What wire formats have in common whose bodies are posted to a server."""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from psychollm.collect.connection import Connections
from psychollm.collect.wire.batch_formats import BatchFormat
from psychollm.collect.wire.protocol import object_of
from psychollm.collect.wire.streams import Event, cut_off, events, is_stream


class OverHttp:
    """A wire format whose bodies are posted to a server."""

    path: str
    local = False
    streams = True
    batches: BatchFormat | None = None

    def headers(self, secret: str | None) -> dict[str, str]:
        """Return the headers: the secret is a bearer token."""
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
        """Return connections to an address; the device is the server's affair."""
        own = self.headers(secret)
        names = {name.lower() for name in own}
        others = {name: value for name, value in headers.items() if name.lower() not in names}
        return Connections(
            urlsplit(url)._replace(fragment="").geturl(),
            headers={**others, **own},
            timeout=timeout,
        )

    def place(self, model: str, *, stream: bool) -> str:
        """Return where requests are sent: the same place for all models."""
        return self.path

    def streamed(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return a body that asks for the reply as a stream."""
        return {**body, "stream": True}

    def gathered(self, stream: Iterable[Event | None]) -> dict[str, Any]:
        """Return the object that the events of a stream make up."""
        raise cut_off()

    def whole(self, raw: bytes) -> dict[str, Any]:
        """Return the object of a reply, whole or streamed."""
        return self.gathered(events(raw)) if is_stream(raw) else object_of(raw)
