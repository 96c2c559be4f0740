"""Sending a request and receiving one reply, through aiohttp, with failures named.

Redirects are not followed, for a secret would travel with them.
"""

import asyncio
import os
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from psychollm._base.optional import require
from psychollm._base.version import __version__
from psychollm.collect.faults import Kind

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
        self._aiohttp, multidict, yarl, self._certifi = (
            require(name, extra="collect", purpose="asking models")
            for name in ("aiohttp", "multidict", "yarl", "certifi")
        )
        self._unreachable = (
            self._aiohttp.ClientConnectorError,
            self._aiohttp.ConnectionTimeoutError,
            self._aiohttp.ClientHttpProxyError,
        )
        self.url = url
        self._address = yarl.URL
        self._places: dict[str, Any] = {}
        self._headers = multidict.CIMultiDict(
            {
                "Content-Type": "application/json",
                "Accept-Encoding": "identity",
                "User-Agent": f"psychollm/{__version__}",
            }
        )
        self._headers.update(headers)
        self._timeout = timeout
        self._proxy = proxy_for(url)
        self._opened: Any = None

    @property
    def _session(self) -> Any:
        """What holds the connections; made when it is first used, for it belongs to a loop."""
        if self._opened is None:
            certificates = self._certificates() if self.url.startswith("https:") else True
            self._opened = self._aiohttp.ClientSession(
                connector=self._aiohttp.TCPConnector(limit=0, ssl=certificates),
                timeout=self._aiohttp.ClientTimeout(
                    total=None, connect=min(self._timeout, LONGEST_CONNECT)
                ),
                cookie_jar=self._aiohttp.DummyCookieJar(),
                auto_decompress=False,
            )
        return self._opened

    def _certificates(self) -> ssl.SSLContext:
        """Return the authorities that the environment names, or those of Mozilla."""
        file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
        if not file and not folder:
            file = self._certifi.where()
        return ssl.create_default_context(cafile=file or None, capath=folder or None)

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
            whole = parts._replace(path=path, query=query).geturl()
            self._places[place] = self._address(whole, encoded=True)
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
        received = _Received(largest)
        started, clock = time.time(), time.perf_counter()
        kind, detail = Kind.OK, None
        try:
            async with asyncio.timeout(self._timeout):
                await self._exchange(method, place, body, headers, received)
        except self._unreachable as error:
            kind, detail = Kind.UNREACHABLE, _said(error)
        except TimeoutError:
            kind, detail = Kind.TIMEOUT, f"no whole reply within {self._timeout:g} s"
        except _TooLargeError:
            kind, detail = Kind.TOO_LARGE, f"more than {received.largest} bytes"
        except _EncodedError:
            kind, detail = Kind.ENCODED, "a Content-Encoding, which was not asked for"
        except (self._aiohttp.ClientError, OSError, ValueError) as error:
            kind, detail = Kind.BROKEN, _said(error)
        return Exchange(
            started=started,
            seconds=time.perf_counter() - clock,
            status=received.status,
            headers=received.headers,
            raw=b"".join(received.parts) if received.status is not None else None,
            kind=kind,
            detail=detail,
        )

    async def _exchange(
        self,
        method: str,
        place: str,
        body: bytes,
        more: Mapping[str, str] | None,
        received: "_Received",
    ) -> None:
        headers = self._headers
        if more:
            headers = headers.copy()
            headers.update(more)
        async with self._session.request(
            method,
            self.at(place),
            data=body if method == "POST" else None,
            headers=headers,
            allow_redirects=False,
            proxy=self._proxy,
        ) as response:
            received.status, received.headers = response.status, response.headers
            packed = response.headers.get("content-encoding", "identity").strip().lower()
            if packed not in {"", "identity"}:
                raise _EncodedError
            size = 0
            # As it came: a few packed bytes may hold more than memory.
            async for part in response.content.iter_any():
                size += len(part)
                if size > received.largest:
                    raise _TooLargeError
                received.parts.append(part)

    async def close(self) -> None:
        """Close all."""
        if self._opened is not None:
            await self._opened.close()


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
