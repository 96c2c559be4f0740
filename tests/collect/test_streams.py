"""The streams under httpcore: what arrives unasked, what is long, and what does not answer."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from psychollm.collect.connection import FULL, Connections, Exchange
from psychollm.collect.faults import Kind
from tests.collect.hostile import said

BODY = said().body
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def request_of(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
    return await reader.readexactly(length)


def exchanges(serve: Serve, bodies: list[bytes], scheme: str = "http") -> list[Exchange]:
    """Post bodies one after another, each over the connection of the last, if it may be used."""

    ended: list[Awaitable[None]] = []

    async def to_its_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (task := asyncio.current_task()) is not None:
            ended.append(task)
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await serve(reader, writer)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    async def run() -> list[Exchange]:
        server = await asyncio.start_server(to_its_end, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        made = Connections(f"{scheme}://127.0.0.1:{port}/v1", headers={}, timeout=5.0)
        found = []
        for body in bodies:
            found.append(await made.post(body, "/chat/completions"))
            await asyncio.sleep(0.05)
        await made.close()
        await asyncio.gather(*ended)
        server.close()
        return found

    return asyncio.run(run())


def test_what_arrives_unasked_on_a_connection_at_rest_answers_nothing() -> None:
    opened = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened.append(1)
        await request_of(reader)
        writer.write(WHOLE)
        if len(opened) == 1:
            await asyncio.sleep(0.02)
            writer.write(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
        await reader.read()

    found = exchanges(serve, [b"{}", b"{}"])
    assert [one.status for one in found] == [200, 200]
    assert len(opened) == 2


def test_a_connection_that_the_server_closed_at_rest_is_opened_anew() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(WHOLE)
        await asyncio.sleep(0.01)

    assert [one.kind for one in exchanges(serve, [b"{}"] * 3)] == [Kind.OK] * 3


@pytest.mark.parametrize("size", [10, FULL, 8 * FULL])
def test_a_body_arrives_whole_over_one_connection_whatever_its_length(size: int) -> None:
    came, opened = [], []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened.append(1)
        for _ in range(2):
            came.append(len(json.loads(await request_of(reader))))
            writer.write(WHOLE)

    found = exchanges(serve, [json.dumps("x" * size).encode()] * 2)
    assert [one.raw for one in found] == [BODY, BODY]
    assert (came, len(opened)) == ([size, size], 1)


def test_an_answer_before_the_end_of_a_request_is_read() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await reader.read()

    (found,) = exchanges(serve, [b"x" * 4 * FULL])
    assert found.status == 413


def test_a_server_without_tls_where_tls_is_wanted_is_not_reached() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(WHOLE)

    assert [one.kind for one in exchanges(serve, [b"{}"], "https")] == [Kind.UNREACHABLE]
