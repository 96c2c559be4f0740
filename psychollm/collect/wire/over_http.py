"""What wire formats over HTTP have in common: where their bodies go."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from psychollm.collect.connection import Connections


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
