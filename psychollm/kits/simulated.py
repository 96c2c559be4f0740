"""Local endpoint where simulated models answer requests for chat and plain completions."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from psychollm._base.errors import PsychollmError
from psychollm.kits.respondents import Respondents

_HEAD = "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"


@contextmanager
def serving(respondents: Respondents) -> Iterator[str]:
    """Serve replies in a separate thread, and yield the address.

    Parameters
    ----------
    respondents : Respondents
        Simulated models.
    """
    loop = asyncio.new_event_loop()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                body = json.loads(await reader.readexactly(_length(head)))
                writer.write(_answer(respondents, body))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = loop.run_until_complete(asyncio.start_server(connected, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        asyncio.run_coroutine_threadsafe(_ended(server), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _ended(server: asyncio.Server) -> None:
    """Close the server and cancel all pending requests."""
    server.close()
    waiting = asyncio.all_tasks() - {asyncio.current_task()}
    for one in waiting:
        one.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


def _length(head: bytes) -> int:
    lines = (line.lower().partition(b":") for line in head.split(b"\r\n"))
    return next(int(value) for name, _, value in lines if name == b"content-length")


def _answer(respondents: Respondents, body: dict[str, Any]) -> bytes:
    """Return the bytes of a reply, or of an error if the request cannot be answered."""
    turns = body.get("messages") or [{"role": "user", "content": body["prompt"]}]
    try:
        said, status = respondents.reply(body["model"], turns), "200 OK"
    except PsychollmError as error:
        text, status = json.dumps({"error": {"message": str(error)}}), "400 Bad Request"
    else:
        held = {"message": {"role": "assistant", "content": said}}
        choice = {"index": 0, "finish_reason": "stop", "text": said}
        choice |= held if "messages" in body else {}
        usage = {"prompt_tokens": 1, "completion_tokens": len(said.split())}
        text = json.dumps({"model": body["model"], "choices": [choice], "usage": usage})
    content = text.encode()
    return _HEAD.format(status=status, length=len(content)).encode() + content
