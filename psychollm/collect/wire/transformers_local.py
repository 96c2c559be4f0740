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
import math
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any

import numpy as np
from scipy.special import log_softmax

from psychollm._base.optional import require
from psychollm._base.types import FloatArray
from psychollm.collect.connection import Exchange
from psychollm.collect.faults import Kind
from psychollm.collect.request import LIMITS
from psychollm.collect.wire.openai_chat import OpenAIChat
from psychollm.collect.wire.probabilities import word_of
from psychollm.collect.wire.protocol import Messages
from psychollm.collect.wire.thinking import thinking_of, without_thinking


class TransformersLocal(OpenAIChat):
    """Chat completions without a server."""

    name = "transformers"
    local = True
    streams = False
    batches = None
    lacks = frozenset(
        {
            "frequency_penalty",
            "logit_bias",
            "presence_penalty",
            "reasoning_effort",
            "response_format",
        }
    )

    def body(
        self, model: str, messages: Messages, parameters: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the body; whether a model thinks is for its template to say."""
        known = without_thinking(parameters)
        if (thinking := thinking_of(parameters)) is not None:
            words: dict[str, Any] = {"enable_thinking": not thinking.off}
            if not thinking.off:
                words["reasoning_effort"] = thinking.effort
            known["chat_template_kwargs"] = {**words, **known.get("chat_template_kwargs", {})}
            known |= {name: known[name] + thinking.tokens for name in LIMITS if name in known}
        return {"model": model, "messages": [dict(turn) for turn in messages], **known}

    def open(  # type: ignore[override]
        self, url: str, *, secret: str | None, headers: Mapping[str, str], timeout: float
    ) -> "LocalLine":
        """Return a line to models in this process."""
        for module in ("torch", "transformers"):
            require(module, extra="steering", purpose="running models in this process")
        return LocalLine(load, timeout=timeout)


class LocalLine:
    """Models in this process, loaded when they are first asked."""

    def __init__(self, load: Callable[[str], "LocalModel"], *, timeout: float) -> None:
        self._load = load
        self._timeout = timeout
        self._models: dict[str, LocalModel] = {}
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="psychollm-model")

    async def post(self, body: bytes, place: str) -> Exchange:
        """Answer one body; what fails is named in the result, never raised."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._answer, body)

    def authorise(self, headers: Mapping[str, str]) -> None:
        """Models in this process ask for no secret."""

    async def close(self) -> None:
        """Let what is under way end, and forget the models."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._models.clear()

    def _answer(self, body: bytes) -> Exchange:
        asked = json.loads(body)
        name = str(asked.pop("model"))
        started, clock = time.time(), time.perf_counter()
        status, reply, kind = 200, {}, Kind.OK
        try:
            model = self._models.get(name) or self._models.setdefault(name, self._load(name))
            clock = time.perf_counter()  # loading is no part of the reply
            reply = model.reply(asked.pop("messages"), asked, seconds=self._timeout)
            if time.perf_counter() - clock > self._timeout:
                kind = Kind.TIMEOUT
        except Exception as error:  # noqa: BLE001 -- named in the result, as a server would
            status, reply = _status(error), {"error": {"message": _said(error)}}
        return Exchange(
            started=started,
            seconds=time.perf_counter() - clock,
            status=status,
            headers={},
            raw=json.dumps(reply).encode(),
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


DEFAULT_TOKENS = 1024  # where no limit is given
_RENAMED = {"max_completion_tokens": "max_new_tokens", "max_tokens": "max_new_tokens"}


class NoSuchModelError(Exception):
    """A folder or name under which there is no model."""


def load(name: str) -> "LocalModel":
    """Return a model by its folder or name, on the accelerator if there is one.

    Raises
    ------
    NoSuchModelError
        If there is none.
    """
    torch, transformers = import_module("torch"), import_module("transformers")
    # Weights keep the type that they are stored in; the option was renamed in version 5.
    newer = int(transformers.__version__.split(".")[0]) >= 5
    kind = {"dtype" if newer else "torch_dtype": "auto"}
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(name)
        model = transformers.AutoModelForCausalLM.from_pretrained(name, **kind)
    except OSError as error:
        msg = f"{name} cannot be loaded: {error}"
        raise NoSuchModelError(msg) from error
    model = model.to("cuda" if torch.cuda.is_available() else "cpu")
    model.eval()
    return LocalModel(name, tokenizer, model, torch)


class LocalModel:
    """A model and its tokenizer."""

    def __init__(self, name: str, tokenizer: Any, model: Any, torch: Any) -> None:
        self._name = name
        self._tokenizer = tokenizer
        self._model = model
        self._torch = torch
        self._forms: list[int] | None = None

    def reply(
        self, messages: Messages, parameters: Mapping[str, Any], *, seconds: float
    ) -> dict[str, Any]:
        """Return a chat completion.

        Parameters
        ----------
        messages : sequence of mapping
            The conversation.
        parameters : mapping
            Those of chat completions; others go to ``generate`` as they are.
        seconds : float
            Generation ends after so long.

        Raises
        ------
        ValueError
            If ``generate`` does not know a parameter, or one cannot be.
        """
        options = dict(parameters)
        n_listed = _listed(options)
        seed = options.pop("seed", None)
        inputs = self._inputs(messages, options.pop("chat_template_kwargs", {}))
        n_input = int(inputs["input_ids"].shape[-1])
        if seed is not None:
            self._torch.manual_seed(int(seed))
        with self._torch.inference_mode():
            first = self._first(inputs, n_listed) if n_listed is not None else None
            options = self._options(options, seconds)
            sequence = self._model.generate(**inputs, **options)[0].tolist()
        made = sequence[n_input:]
        text = self._tokenizer.decode(made, skip_special_tokens=True)
        kept = _before(text, options)
        ended = (bool(made) and made[-1] in self._ends()) or kept != text
        whole = ended or len(made) < options["max_new_tokens"]
        choice: dict[str, Any] = {
            "index": 0,
            "message": {"role": "assistant", "content": kept},
            "finish_reason": "stop" if whole else "length",
        }
        if first is not None:
            choice["logprobs"] = {"content": [first]}
        return {
            "object": "chat.completion",
            "model": self._name,
            "choices": [choice],
            "usage": {"prompt_tokens": n_input, "completion_tokens": len(made)},
        }

    def _inputs(self, messages: Messages, words: Mapping[str, Any]) -> Any:
        """Return the conversation in tokens; without a template, a blank line between turns."""
        turns = [dict(turn) for turn in messages]
        if getattr(self._tokenizer, "chat_template", None):
            inputs = self._tokenizer.apply_chat_template(
                turns, add_generation_prompt=True, return_tensors="pt", return_dict=True, **words
            )
        else:
            text = "\n\n".join(turn["content"] for turn in turns)
            inputs = self._tokenizer(text, return_tensors="pt")
        return inputs.to(self._model.device)

    def _options(self, given: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Return the options of ``generate``."""
        options = {_RENAMED.get(name, name): value for name, value in given.items()}
        options.setdefault("max_new_tokens", DEFAULT_TOKENS)
        temperature = options.pop("temperature", 1.0)
        # What a model's own settings would do to the probabilities is switched off.
        chosen: dict[str, Any] = {"do_sample": temperature > 0, "repetition_penalty": 1.0}
        if temperature > 0:
            chosen |= {"temperature": float(temperature), "top_k": 0, "top_p": 1.0}
        else:
            options.pop("top_p", None)
        if (stop := options.pop("stop", None)) is not None:
            chosen["stop_strings"] = [stop] if isinstance(stop, str) else list(stop)
            chosen["tokenizer"] = self._tokenizer
        if self._tokenizer.pad_token_id is None and (ends := self._ends()):
            chosen["pad_token_id"] = min(ends)  # else each reply begins with a warning
        return {"max_time": seconds, **chosen, **options}

    def _ends(self) -> set[int]:
        """Return the tokens that end a reply."""
        config = getattr(self._model, "generation_config", None)
        given = getattr(config, "eos_token_id", None)
        if given is None:
            given = self._tokenizer.eos_token_id
        if given is None:
            return set()
        return {given} if isinstance(given, int) else set(given)

    def _first(self, inputs: Any, n: int) -> dict[str, Any]:
        """Return the most likely first tokens, and every form of "yes" and "no"."""
        logits = self._model(**inputs).logits[0, -1].float().tolist()
        logprobs = log_softmax(np.array(logits, dtype=np.float64))
        likely = np.argsort(-logprobs, kind="stable")[: max(n, 1)].tolist()
        listed = [self._entry(token, logprobs) for token in likely]
        rest = [token for token in self._yes_no_forms() if token not in set(likely)]
        top = [*listed, *(self._entry(token, logprobs) for token in rest)]
        return {**listed[0], "top_logprobs": top}

    def _entry(self, token: int, logprobs: FloatArray) -> dict[str, Any]:
        logprob = float(logprobs[token])
        # Minus infinity is no JSON.
        value = logprob if math.isfinite(logprob) else -9999.0
        return {"token": self._tokenizer.decode([token]), "logprob": value}

    def _yes_no_forms(self) -> list[int]:
        """Return the tokens that are a form of "yes" or "no"."""
        if self._forms is None:
            known = self._tokenizer.get_vocab()
            self._forms = sorted(
                token for text, token in known.items() if word_of(text) in {"yes", "no"}
            )
        return self._forms


def _before(text: str, options: Mapping[str, Any]) -> str:
    """Return what stands before the first string that ends a reply, as servers do."""
    for stop in options.get("stop_strings", ()):
        text = text.split(stop, 1)[0]
    return text


def _listed(options: dict[str, Any]) -> int | None:
    """Take out what asks for log probabilities; return how many to list, None for none."""
    wanted, n = options.pop("logprobs", None), options.pop("top_logprobs", None)
    if not wanted and not n:
        return None
    return int(n or 1)
