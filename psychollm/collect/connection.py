"""Sending of requests and receiving of replies through httpcore, with classified failures.

httpcore is the transport layer of httpx. From httpx itself, this module uses only addresses,
headers, proxies and certificates. The client of httpx would make each request take a third longer.
The client also has unwanted features: redirects (which would forward a secret), cookies and
compressed replies.

Connections are kept in a list. A connection pool of httpcore would search all its connections for
each request, and this search would quadruple the work with 200 concurrent requests. All
connections share one TLS context and the proxy from the environment.

This module also provides a network backend (https://www.encode.io/httpcore/network-backends) based
on asyncio streams. The default backend of httpcore uses anyio in order to support trio, and takes
as much time as the rest of a request. The network backend does not depend on HTTP. One time limit
applies to connecting, and another to the whole exchange.
"""

import asyncio
import ssl
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from psychollm._base.optional import require
from psychollm._base.version import __version__
from psychollm.collect.faults import Kind

FULL = 2**16  # bytes; a larger write buffer is sent immediately


class Backend:
    """A network backend that opens connections."""

    def __init__(self) -> None:
        self._errors = require("httpcore", extra="collect", purpose="asking models")

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> "Stream":
        """Connect to whichever address of a host answers first."""
        loop = asyncio.get_running_loop()
        reader = _Reader(loop=loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        try:
            async with asyncio.timeout(timeout):
                transport, _ = await loop.create_connection(
                    lambda: protocol, host, port, happy_eyeballs_delay=0.25
                )
        except TimeoutError as error:
            raise self._errors.ConnectTimeout from error
        except OSError as error:
            raise self._errors.ConnectError from error
        return Stream(
            reader, asyncio.StreamWriter(transport, protocol, reader, loop), self._errors
        )

    async def sleep(self, seconds: float) -> None:
        """Wait for a number of seconds."""
        await asyncio.sleep(seconds)


class Stream:
    """One open connection."""

    # httpcore writes the headers and the body of a request separately. This stream sends them
    # together when the reply is read, which saves a system call.

    def __init__(self, reader: "_Reader", writer: asyncio.StreamWriter, errors: Any) -> None:
        self._reader, self._writer, self._errors = reader, writer, errors
        self._unsent = bytearray()

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Buffer bytes, which are sent at the next read or earlier."""
        self._unsent += buffer
        if len(self._unsent) > FULL:
            await self._send()

    async def _send(self) -> None:
        unsent, self._unsent = self._unsent, bytearray()
        try:
            self._writer.write(unsent)
            await self._writer.drain()
        except OSError as error:
            raise self._errors.WriteError from error

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return received bytes, or b"" at the end of the stream."""
        if self._unsent:
            await self._send()
        try:
            return await self._reader.read(max_bytes)
        except OSError as error:
            raise self._errors.ReadError from error

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> "Stream":
        """Switch to TLS."""
        try:
            async with asyncio.timeout(timeout):
                await self._writer.start_tls(ssl_context, server_hostname=server_hostname)
        except TimeoutError as error:
            await self.aclose()
            raise self._errors.ConnectTimeout from error
        except OSError as error:
            await self.aclose()
            raise self._errors.ConnectError from error
        return self

    async def aclose(self) -> None:
        """Close the connection."""
        self._writer.transport.abort()
        await asyncio.sleep(0)  # lets the event loop close the socket

    def get_extra_info(self, info: str) -> Any:
        """Return a property of a connection, such as whether unread data is waiting."""
        return self._reader.held if info == "is_readable" else self._writer.get_extra_info(info)


class _Reader(asyncio.StreamReader):
    """A stream reader that reports pending data: bytes, the end, or an error."""

    _waiting = 0

    def feed_data(self, data: Any) -> None:
        self._waiting += len(data)
        super().feed_data(data)

    async def read(self, n: int = -1) -> bytes:
        data = await super().read(n)
        self._waiting -= len(data)
        return data

    @property
    def held(self) -> bool:
        return self._waiting > 0 or self.at_eof() or self.exception() is not None


LARGEST_REPLY = 64 * 2**20  # bytes; longer replies are rejected
MOST_UNDER_WAY = 256 * 2**20  # total bytes of the replies being received
SMALL_REPLY = 2**20  # bytes; smaller replies are accepted regardless of the total
LONGEST_CONNECT = 15.0  # seconds; a slower server counts as unreachable
LONGEST_REST = 5.0  # seconds of idleness, after which many servers close a connection


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A server's response, complete or incomplete."""

    started: float  # start of the exchange, in seconds since 1970-01-01
    seconds: float
    status: int | None
    headers: Mapping[str, str]
    raw: bytes | None
    kind: Kind  # OK means a complete response with any status
    detail: str | None = None


class Connections:
    """Connections to one address, one for each concurrent request."""

    def __init__(self, url: str, *, headers: Mapping[str, str], timeout: float) -> None:
        self._httpx = require("httpx", extra="collect", purpose="asking models")
        self._core = core = require("httpcore", extra="collect", purpose="asking models")
        self._unreachable = (core.ConnectError, core.ConnectTimeout, core.ProxyError)
        self._broken = (core.NetworkError, core.ProtocolError, core.UnsupportedProtocol, OSError)
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
        self._proxy = proxy_for(url)
        self._idle: list[Any] = []
        self._all: set[Any] = set()

    async def _take(self, origin: Any) -> Any:
        while self._idle:
            line = self._idle.pop()
            # For a proxy, httpcore offers only a pool, which reconnects by itself.
            if self._proxy is not None or not (line.is_closed() or line.has_expired()):
                return line
            self._all.remove(line)
            await line.aclose()
        line = self._opened(origin)
        self._all.add(line)
        return line

    def _opened(self, origin: Any) -> Any:
        if self._context is None:
            self._context = self._httpx.create_ssl_context()
        usual: dict[str, Any] = {
            "ssl_context": self._context,
            "keepalive_expiry": LONGEST_REST,
            "network_backend": self._backend,
        }
        if self._proxy is None:
            return self._core.AsyncHTTPConnection(origin, **usual)
        proxy = self._httpx.Proxy(self._proxy)  # the proxy's URL omits the user name and password
        socks = proxy.url.scheme.startswith("socks")
        made = self._core.AsyncSOCKSProxy if socks else self._core.AsyncHTTPProxy
        place = self._address(proxy.url)
        return made(proxy_url=place, proxy_auth=proxy.raw_auth, max_connections=1, **usual)

    def _address(self, url: Any) -> Any:
        """Convert an httpx URL to an httpcore URL."""
        return self._core.URL(
            scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
        )

    def authorise(self, headers: Mapping[str, str]) -> None:
        """Set headers, replacing existing headers with the same names."""
        self._headers.update(headers)

    def withdraw(self) -> None:
        """Do nothing: each request is sent immediately, so no request can be withdrawn."""

    def at(self, place: str) -> Any:
        """Return the endpoint's address extended by a path; both may contain a query string."""
        parts, below = urlsplit(self.url), urlsplit(place)
        query = "&".join(filter(None, (parts.query, below.query)))
        path = parts.path.rstrip("/") + below.path
        return self._httpx.URL(parts._replace(path=path, query=query).geturl())

    async def post(self, body: bytes, place: str) -> Exchange:
        """Post one body; failures raise no error but are classified in the result."""
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
        """Send a request with additional headers; the result classifies failures."""
        request = self._request(method, place, body, headers)
        line = await self._take(request.url.origin)
        received = _Received(largest)
        started, clock = time.time(), time.perf_counter()
        kind, detail = Kind.OK, None
        try:
            async with asyncio.timeout(self._timeout):
                await self._exchange(line, request, received)
        except self._unreachable as error:
            kind, detail = Kind.UNREACHABLE, _said(error)
        except (TimeoutError, self._core.TimeoutException):
            kind, detail = Kind.TIMEOUT, f"no complete reply within {self._timeout:g} s"
        except _TooLargeError as error:
            kind, detail = Kind.TOO_LARGE, f"more than {error}"
        except _EncodedError:
            kind, detail = Kind.ENCODED, "a Content-Encoding, which was not requested"
        except self._broken as error:
            kind, detail = Kind.BROKEN, _said(error)
        finally:
            self._idle.append(line)
            received.end()
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
        if place not in self._places:
            url = self.at(place)
            self._places[place] = self._address(url), (b"Host", url.netloc)
        address, host = self._places[place]
        headers = self._headers
        if more:
            headers = self._httpx.Headers(headers)
            headers.update(more)
        lines = headers.raw if "host" in headers else [host, *headers.raw]
        if method == "POST":
            lines.append((b"Content-Length", b"%d" % len(body)))
        return self._core.Request(
            method,
            address,
            headers=lines,
            content=body if method == "POST" else None,
            extensions={"timeout": self._limits},
        )

    async def _exchange(self, line: Any, request: Any, received: "_Received") -> None:
        response = await line.handle_async_request(request)
        try:
            received.status = response.status
            received.headers = self._httpx.Headers(response.headers)
            packed = received.headers.get("content-encoding", "identity").strip().lower()
            if packed not in {"", "identity"}:
                raise _EncodedError
            # Read the bytes without decompressing them, because a few compressed bytes may expand
            # beyond memory.
            async for part in response.stream:
                received.take(part)
        finally:
            await response.aclose()

    async def close(self) -> None:
        """Close all connections."""
        for line in self._all:
            await line.aclose()


def proxy_for(url: str) -> str | None:
    """Return the proxy that the environment sets for an address, or None."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in {"localhost", "127.0.0.1", "::1"} or proxy_bypass(host):
        return None
    proxies = getproxies()
    return proxies.get(parts.scheme) or proxies.get("all")


class _Received:
    """Data received so far in an exchange; they are kept even if the exchange fails."""

    under_way = 0  # bytes being received on all connections

    def __init__(self, largest: int) -> None:
        self.largest = largest
        self.status: int | None = None
        self.headers: Mapping[str, str] = {}
        self.parts: list[bytes] = []
        self.size = 0

    def take(self, part: bytes) -> None:
        """Append received bytes if the size limits allow it."""
        self.size += len(part)
        _Received.under_way += len(part)
        if self.size > self.largest:
            msg = f"{self.largest} bytes"
            raise _TooLargeError(msg)
        most = max(self.largest, MOST_UNDER_WAY)
        if self.size > SMALL_REPLY and _Received.under_way > most:
            msg = f"more than {most} bytes of replies being received"
            raise _TooLargeError(msg)
        self.parts.append(part)

    def end(self) -> None:
        """Remove this exchange's bytes from the total of all connections."""
        _Received.under_way -= self.size


class _TooLargeError(Exception):
    """Error for a reply that exceeds the size limit."""


class _EncodedError(Exception):
    """A compressed reply."""


def _said(error: BaseException) -> str:
    """Return the type of an error without the text, because a text may contain a secret."""
    return type(error).__name__
