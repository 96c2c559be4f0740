"""Sending a request and receiving one reply, through httpx, with failures named.

Each connection is an httpx transport of its own that holds one socket: a pool shared by many
requests searches its list of connections at each of them, which at 200 at once costs four times
the work. All share one TLS context, and the proxy that the environment names. Redirects are not
followed, for a secret would travel with them. The bytes go through streams of asyncio.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from psychollm._base.optional import require
from psychollm._base.version import __version__
from psychollm.collect.faults import Kind
from psychollm.collect.streams import Backend

LARGEST_REPLY = 64 * 2**20  # bytes; no answer is longer
LONGEST_CONNECT = 15.0  # seconds; a server that takes longer to accept is not there


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What came back, whole or not."""

    started: float  # seconds since 1970
    seconds: float
    status: int | None
    headers: Mapping[str, str]
    raw: bytes | None
    kind: Kind  # OK means: a whole reply, of whatever status
    detail: str | None = None


class Connections:
    """As many connections to one address as are used at once."""

    def __init__(self, url: str, *, headers: Mapping[str, str], timeout: float) -> None:
        self._httpx = require("httpx", extra="collect", purpose="asking models")
        self._unreachable = (
            self._httpx.ConnectError,
            self._httpx.ConnectTimeout,
            self._httpx.ProxyError,
        )
        self.url = url
        self._places: dict[str, Any] = {}
        self._headers = self._httpx.Headers(
            {
                "Content-Type": "application/json",
                "Accept-Encoding": "identity",
                "User-Agent": f"psychollm/{__version__}",
            }
        )
        self._headers.update(headers)
        self._timeout = timeout
        self._limits = {"connect": min(timeout, LONGEST_CONNECT)}
        self._context: Any = None
        self._backend = Backend()
        self._idle: list[Any] = []
        self._all: list[Any] = []

    def _take(self) -> Any:
        if self._idle:
            return self._idle.pop()
        if self._context is None:
            self._context = self._httpx.create_ssl_context()
        client = self._httpx.AsyncHTTPTransport(
            verify=self._context,
            limits=self._httpx.Limits(max_connections=1, max_keepalive_connections=1),
            proxy=proxy_for(self.url),
        )
        # httpx has no option for it. A pool that it has otherwise would keep to anyio.
        if (pool := getattr(client, "_pool", None)) is not None:
            pool._network_backend = self._backend
        self._all.append(client)
        return client

    def authorise(self, headers: Mapping[str, str]) -> None:
        """Put newer headers in the place of those of the same names."""
        self._headers.update(headers)

    def withdraw(self) -> None:
        """Nothing waits here: what is posted leaves at once."""

    def at(self, place: str) -> Any:
        """Return the address of a place below that of the endpoint; both may have a query."""
        if place not in self._places:
            parts, below = urlsplit(self.url), urlsplit(place)
            query = "&".join(filter(None, (parts.query, below.query)))
            path = parts.path.rstrip("/") + below.path
            self._places[place] = self._httpx.URL(parts._replace(path=path, query=query).geturl())
        return self._places[place]

    async def post(self, body: bytes, place: str) -> Exchange:
        """Post one body; what fails is named in the result, never raised."""
        return await self.send("POST", place, body)

    async def send(
        self,
        method: str,
        place: str,
        body: bytes = b"",
        *,
        headers: Mapping[str, str] | None = None,
        largest: int = LARGEST_REPLY,
    ) -> Exchange:
        """Send a request with headers beside the usual ones; failures are named, never raised."""
        client = self._take()
        received = _Received(largest)
        started, clock = time.time(), time.perf_counter()
        kind, detail = Kind.OK, None
        try:
            async with asyncio.timeout(self._timeout):
                await self._exchange(client, self._request(method, place, body, headers), received)
        except self._unreachable as error:
            kind, detail = Kind.UNREACHABLE, _said(error)
        except (TimeoutError, self._httpx.TimeoutException):
            kind, detail = Kind.TIMEOUT, f"no whole reply within {self._timeout:g} s"
        except _TooLargeError:
            kind, detail = Kind.TOO_LARGE, f"more than {received.largest} bytes"
        except _EncodedError:
            kind, detail = Kind.ENCODED, "a Content-Encoding, which was not asked for"
        except (self._httpx.HTTPError, self._httpx.StreamError, OSError) as error:
            kind, detail = Kind.BROKEN, _said(error)
        finally:
            self._idle.append(client)
        return Exchange(
            started=started,
            seconds=time.perf_counter() - clock,
            status=received.status,
            headers=received.headers,
            raw=b"".join(received.parts) if received.status is not None else None,
            kind=kind,
            detail=detail,
        )

    def _request(
        self, method: str, place: str, body: bytes, more: Mapping[str, str] | None
    ) -> Any:
        headers = self._headers
        if more:
            headers = self._httpx.Headers(headers)
            headers.update(more)
        content = body if method == "POST" else None
        request = self._httpx.Request(method, self.at(place), headers=headers, content=content)
        request.extensions["timeout"] = self._limits
        return request

    async def _exchange(self, client: Any, request: Any, received: "_Received") -> None:
        response = await client.handle_async_request(request)
        try:
            received.status, received.headers = response.status_code, response.headers
            packed = response.headers.get("content-encoding", "identity").strip().lower()
            if packed not in {"", "identity"}:
                raise _EncodedError
            size = 0
            # As it came: a few packed bytes may hold more than memory.
            async for part in response.stream:
                size += len(part)
                if size > received.largest:
                    raise _TooLargeError
                received.parts.append(part)
        finally:
            await response.aclose()

    async def close(self) -> None:
        """Close all."""
        for client in self._all:
            await client.aclose()


def proxy_for(url: str) -> str | None:
    """Return the proxy that the environment names for an address, or None."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in {"localhost", "127.0.0.1", "::1"} or proxy_bypass(host):
        return None
    proxies = getproxies()
    return proxies.get(parts.scheme) or proxies.get("all")


class _Received:
    """What has come so far; stays when the exchange breaks."""

    def __init__(self, largest: int) -> None:
        self.largest = largest
        self.status: int | None = None
        self.headers: Mapping[str, str] = {}
        self.parts: list[bytes] = []


class _TooLargeError(Exception):
    """A reply that does not end."""


class _EncodedError(Exception):
    """A reply that is packed."""


def _said(error: BaseException) -> str:
    """Return the kind of an error; its text may hold an address with a secret in it."""
    return type(error).__name__
