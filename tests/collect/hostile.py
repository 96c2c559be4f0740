"""A server that speaks chat completions badly on purpose, on loopback, in a thread or a process.

As a program it answers at once, for ever, and prints its port: ``python hostile.py``.
"""

import asyncio
import json
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

Body = dict[str, Any]


@dataclass(frozen=True)
class Act:
    """What the server does with one request."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: int | None = None  # send so many bytes of the body, then hang up


def said(text: str = "Yes", *, usage: tuple[int, int] = (5, 1), **choice: Any) -> Act:
    """Return a proper reply."""
    reply = {
        "model": "served",
        "provider": "here",
        "system_fingerprint": "fp",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"content": text}} | choice],
        "usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1]},
    }
    return Act(body=json.dumps(reply).encode())


Script = Callable[[Body, int], Act]


class Hostile:
    """A server that does what a script says; `seen` holds the bodies that came, in order."""

    def __init__(self, script: Script | None = None, port: int = 0) -> None:
        self.script = script or (lambda body, n: said())
        self.port = port
        self.seen: list[Body] = []
        self.heads: list[str] = []
        self.now = self.most = 0  # requests under way, and the most there were
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._open: set[asyncio.Transport] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def act(self, head: str, raw: bytes) -> Act:
        """Return what to do with one request."""
        body = json.loads(raw)
        self.seen.append(body)
        self.heads.append(head)
        return self.script(body, len(self.seen))

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        start = self._loop.create_server(lambda: _Line(self), "127.0.0.1", self.port, backlog=500)
        server = self._loop.run_until_complete(start)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        for transport in list(self._open):
            transport.abort()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()


class _Line(asyncio.Protocol):
    def __init__(self, server: Hostile) -> None:
        self.server = server
        self.got = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.server._open.add(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.server._open.discard(self.transport)

    def data_received(self, data: bytes) -> None:
        self.got += data
        head, end, rest = self.got.partition(b"\r\n\r\n")
        if not end:
            return
        _, named, after = head.lower().partition(b"content-length:")
        length = int(after.split(b"\r\n")[0]) if named else 0
        if len(rest) < length:
            return
        self.got = rest[length:]
        server = self.server
        server.now += 1
        server.most = max(server.most, server.now)
        act = server.act(head.decode(), rest[:length])
        if act.delay:
            server._loop.call_later(act.delay, self.reply, act)
        else:
            self.reply(act)

    def reply(self, act: Act) -> None:
        self.server.now -= 1
        if self.transport.is_closing():
            return
        length = {} if act.status == 204 else {"Content-Length": str(len(act.body))}
        fields = {"Content-Type": "application/json", **length}
        lines = [f"{name}: {value}" for name, value in (fields | act.headers).items()]
        head = "\r\n".join([f"HTTP/1.1 {act.status} X", *lines, "", ""]).encode()
        self.transport.write(head + (act.body if act.cut is None else act.body[: act.cut]))
        if act.cut is not None:
            self.transport.close()


if __name__ == "__main__":
    with Hostile() as server:
        server.seen = type("Nothing", (list,), {"append": lambda self, item: None})()  # type: ignore[assignment]
        server.heads = server.seen  # type: ignore[assignment]
        sys.stdout.write(f"{server.port}\n")
        sys.stdout.flush()
        threading.Event().wait()
