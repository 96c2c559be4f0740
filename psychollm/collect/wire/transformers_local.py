"""Models in this process, which the library transformers runs without a server.

A model is named by its folder, its file, or a name on the Hugging Face Hub, and is loaded on first
use. Waiting requests to one model with the same parameters form a batch, which runs in a separate
thread. Models share the processor, so only one batch runs at a time. The time limit of a request
begins when its batch starts. A sampled reply with a seed runs alone, because it would otherwise
depend on the other requests of a batch.

The raw reply is stored in the format of chat completions, so that it is parsed like a server's
reply. At the first token and at the verdict, the log probabilities list every form of "yes" and
"no" in addition to the likeliest tokens. The total probabilities of yes and no are therefore
exact.
"""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event
from typing import Any

from psychollm._base.errors import PsychollmError
from psychollm._base.optional import check_device, require
from psychollm.collect.connection import Exchange
from psychollm.collect.faults import Kind
from psychollm.collect.request import LIMITS, canonical_text
from psychollm.collect.wire.local_loading import (
    NoSuchModelError,
    Precision,
    load,
    precision_of,
)
from psychollm.collect.wire.local_model import LocalModel, Made, Outcome, TooLargeError
from psychollm.collect.wire.openai_chat import OpenAIChat
from psychollm.collect.wire.protocol import Messages
from psychollm.collect.wire.thinking import thinking_of, without_thinking


class TransformersLocal(OpenAIChat):
    """Chat completions by models in this process."""

    name = "transformers"
    local = True
    streams = False
    batches = None
    lacks = frozenset(
        {
            "frequency_penalty",
            "logit_bias",
            "num_beams",
            "num_return_sequences",
            "presence_penalty",
            "reasoning_effort",
            "response_format",
        }
    )

    def body(
        self, model: str, messages: Messages, parameters: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the body; the chat template of a model controls its thinking."""
        known = without_thinking(parameters)
        if (thinking := thinking_of(parameters)) is not None:
            words: dict[str, Any] = {"enable_thinking": not thinking.off}
            if not thinking.off:
                words["reasoning_effort"] = thinking.effort
            known["chat_template_kwargs"] = {**words, **known.get("chat_template_kwargs", {})}
            known |= {name: known[name] + thinking.tokens for name in LIMITS if name in known}
        return {"model": model, "messages": [dict(turn) for turn in messages], **known}

    def open(  # type: ignore[override]
        self,
        url: str,
        *,
        secret: str | None,
        headers: Mapping[str, str],
        timeout: float,
        device: str = "auto",
    ) -> "LocalLine":
        """Return a connection to the models of this process."""
        torch, _ = (
            require(module, extra="steering", purpose="running models in this process")
            for module in ("torch", "transformers")
        )
        if device != "auto":
            check_device(torch, device, otherwise="auto")
        return LocalLine(load, timeout=timeout, device=device)


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A request body queued for a model, with the future for its result."""

    body: Mapping[str, Any]
    exchange: "asyncio.Future[Exchange]"


class LocalLine:
    """Models in this process, loaded on first use."""

    def __init__(
        self, load: Callable[[str, Precision, str], LocalModel], *, timeout: float, device: str
    ) -> None:
        self._load = load
        self._timeout = timeout
        self._device = device
        self._models: dict[tuple[str, Precision], LocalModel] = {}
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="psychollm-model")
        self._waiting: list[_Waiting] = []
        self._busy = False
        self._stop = Event()

    async def post(self, body: bytes, place: str) -> Exchange:
        """Answer one request body; failures are returned in the result, not raised."""
        loop = asyncio.get_running_loop()
        one = _Waiting(json.loads(body), loop.create_future())
        self._waiting.append(one)
        loop.call_soon(self._begin)  # begin when all requests of this iteration are posted
        return await one.exchange

    def authorise(self, headers: Mapping[str, str]) -> None:
        """Do nothing: models in this process need no secret."""

    def withdraw(self) -> None:
        """Abandon waiting requests that are not yet in a batch."""
        for one in self._waiting:
            one.exchange.cancel()
        self._waiting.clear()

    async def close(self) -> None:
        """Stop the running generation after its next token, and release the models."""
        self._stop.set()
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._models.clear()

    def _begin(self) -> None:
        """Pass a batch to the model unless one is running."""
        if self._busy or not self._waiting:
            return
        first = self._waiting[0]
        alike = _alike(first.body)
        batch = [
            one
            for one in self._waiting
            if one is first or (alike is not None and _alike(one.body) == alike)
        ]
        self._waiting = [one for one in self._waiting if one not in batch]
        self._busy = True
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(self._thread, self._answers, [one.body for one in batch])
        work.add_done_callback(lambda work: self._ended(batch, work))

    def _ended(self, batch: list[_Waiting], work: "asyncio.Future[list[Exchange]]") -> None:
        self._busy = False
        error = None if work.cancelled() else work.exception()
        for k, one in enumerate(batch):
            if one.exchange.done():  # the request was cancelled
                continue
            if error is not None:
                one.exchange.set_exception(error)
            else:
                one.exchange.set_result(work.result()[k])
        self._begin()

    def _answers(self, asked: list[Mapping[str, Any]]) -> list[Exchange]:
        """Answer several request bodies that have the same parameters."""
        name, precision = str(asked[0]["model"]), precision_of(asked[0])
        bodies = [{key: one[key] for key in one if key not in _OURS} for one in asked]
        started, clock = time.time(), time.perf_counter()
        try:
            model = self._models.get((name, precision))
            if model is None:
                model = self._load(name, precision, self._device)
                self._models[name, precision] = model
                started, clock = time.time(), time.perf_counter()  # excludes the loading time
            outcomes = model.replies(bodies, seconds=self._timeout, stop=self._stop)
        except PsychollmError:
            raise  # stop the run, because only the user can correct this
        except Exception as error:  # noqa: BLE001 -- classified like a server error
            outcomes = [error] * len(asked)
        spent = time.perf_counter() - clock
        return [self._exchange(one, started, spent) for one in outcomes]

    def _exchange(self, outcome: Outcome, started: float, spent: float) -> Exchange:
        if isinstance(outcome, Made):
            status, reply, spent = 200, outcome.reply, min(outcome.seconds, spent)
            late = outcome.seconds > self._timeout
        else:
            status, reply, late = _status(outcome), {"error": {"message": _said(outcome)}}, False
        return Exchange(
            started=started,
            seconds=spent,
            status=status,
            headers={},
            raw=json.dumps(reply).encode(),
            kind=Kind.TIMEOUT if late else Kind.OK,
            detail=f"no complete reply within {self._timeout:g} s" if late else None,
        )


_OURS = ("model", "dtype", "bits")  # not options of `generate`


def _alike(body: Mapping[str, Any]) -> str | None:
    """Return the parameters that a batch has in common, or None if a request must run alone."""
    fixed = {name: body[name] for name in body if name not in ("messages", *LIMITS)}
    if "seed" in fixed:
        if fixed.get("temperature", 1.0) > 0:
            return None
        del fixed["seed"]  # without sampling, the seed has no effect
    return canonical_text(fixed)


def _status(error: Exception) -> int:
    """Return the HTTP status of an equivalent server error."""
    if isinstance(error, NoSuchModelError):
        return 404
    if isinstance(error, TooLargeError):
        return 413
    return 400 if isinstance(error, TypeError | ValueError) else 500


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:500]
