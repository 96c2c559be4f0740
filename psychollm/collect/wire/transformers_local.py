"""Models in this process, run by the library transformers: no server, no address.

A model is named by its folder, or by a name that transformers knows. Each is loaded when it is
first asked. One request runs at a time, in a thread of its own, for models share the processor and
random numbers are drawn from one stream; the limit on time counts from when it begins.

What is kept as the raw reply is a chat completion as a server would send it, so that it is read,
and read again, in the same way. Of log probabilities it has those of the first token: the most
likely ones, and every form of "yes" and "no", so that the mass of both is exact.
"""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from psychollm._base.optional import require
from psychollm.collect.connection import Exchange
from psychollm.collect.faults import Kind
from psychollm.collect.wire.local_model import LocalModel, NoSuchModelError, load
from psychollm.collect.wire.openai_chat import OpenAIChat


class TransformersLocal(OpenAIChat):
    """Chat completions without a server."""

    name = "transformers"
    local = True
    lacks = frozenset(
        {
            "frequency_penalty",
            "logit_bias",
            "presence_penalty",
            "reasoning_effort",
            "response_format",
        }
    )

    def open(  # type: ignore[override]
        self, url: str, *, secret: str | None, headers: Mapping[str, str], timeout: float
    ) -> "LocalLine":
        """Return a line to models in this process."""
        for module in ("torch", "transformers"):
            require(module, extra="steering", purpose="running models in this process")
        return LocalLine(load, timeout=timeout)


class LocalLine:
    """Models in this process, loaded when they are first asked."""

    def __init__(self, load: Callable[[str], LocalModel], *, timeout: float) -> None:
        self._load = load
        self._timeout = timeout
        self._models: dict[str, LocalModel] = {}
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="psychollm-model")

    async def post(self, body: bytes) -> Exchange:
        """Answer one body; what fails is named in the result, never raised."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._answer, body)

    async def close(self) -> None:
        """Let what is under way end, and forget the models."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._models.clear()

    def _answer(self, body: bytes) -> Exchange:
        asked = json.loads(body)
        name = str(asked.pop("model"))
        started, clock = time.time(), time.perf_counter()
        status, found, kind = 200, {}, Kind.OK
        try:
            model = self._models.get(name) or self._models.setdefault(name, self._load(name))
            clock = time.perf_counter()  # loading is no part of the reply
            found = model.reply(asked.pop("messages"), asked, seconds=self._timeout)
            if time.perf_counter() - clock > self._timeout:
                kind = Kind.TIMEOUT
        except Exception as error:  # noqa: BLE001 -- named in the result, as a server would
            status, found = _status(error), {"error": {"message": _said(error)}}
        return Exchange(
            started=started,
            seconds=time.perf_counter() - clock,
            status=status,
            headers={},
            raw=json.dumps(found).encode(),
            kind=kind,
            detail=None if kind is Kind.OK else f"no whole reply within {self._timeout:g} s",
        )


def _status(error: Exception) -> int:
    """Return the status by which a server would say what went wrong."""
    if isinstance(error, NoSuchModelError):
        return 404
    return 400 if isinstance(error, TypeError | ValueError) else 500


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:500]
