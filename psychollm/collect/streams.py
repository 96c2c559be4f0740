"""What carries the bytes of httpcore: streams of asyncio itself, in place of those of anyio.

httpcore speaks HTTP through a network backend, which may be given
(https://www.encode.io/httpcore/network-backends). The one that it takes by itself goes through
anyio, for the sake of trio, and costs as much as all the rest of a request. Nothing here knows of
HTTP. There are no limits on time but for connecting: a whole exchange has one, around it.
"""

import asyncio
import ssl
from collections.abc import Iterable
from typing import Any

from psychollm._base.optional import require

FULL = 2**16  # bytes that wait for more before they leave


class Backend:
    """Opens connections."""

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
        """Connect to a host; of several addresses that one which answers first."""
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
        """Wait."""
        await asyncio.sleep(seconds)


class Stream:
    """One connection."""

    # The head and the body of a request are written apart; they leave together, when the answer
    # is waited for: one call of the system instead of two.

    def __init__(self, reader: "_Reader", writer: asyncio.StreamWriter, errors: Any) -> None:
        self._reader, self._writer, self._errors = reader, writer, errors
        self._unsent = bytearray()

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send bytes, at the latest when something is read."""
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
        """Return what has come, nothing where the other side has ended."""
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
        """Go on under TLS."""
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
        """End the connection."""
        self._writer.transport.abort()
        await asyncio.sleep(0)  # in which the socket is closed

    def get_extra_info(self, info: str) -> Any:
        """Return what is known of a connection, such as whether anything came unasked."""
        return self._reader.held if info == "is_readable" else self._writer.get_extra_info(info)


class _Reader(asyncio.StreamReader):
    """Knows whether something waits to be read: bytes, the end, or an error."""

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
