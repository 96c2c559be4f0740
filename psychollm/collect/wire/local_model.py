"""A model in this process, which completes batches of conversations padded on the left.

Padding is masked and each reply ends at its own limit, so a reply depends on the other prompts of
the batch only through rounding errors. A failed batch is repeatedly split into halves and retried
until only the failing prompts remain.
"""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from threading import Event
from typing import Any, TypeAlias

from psychollm.collect.request import LIMITS
from psychollm.collect.wire.probabilities import Token, verdict_at, word_of

DEFAULT_TOKENS = 1024  # default token limit of a reply
TOO_LARGE = "the conversation does not fit into the memory of the device"
LEAST = -9999.0  # replaces minus infinity, which JSON does not allow


class TooLargeError(Exception):
    """Error for a single prompt that exceeds the memory of the accelerator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A completion, and the seconds from the start of its batch to the end of the completion."""

    reply: dict[str, Any]
    seconds: float


Outcome: TypeAlias = Made | Exception


@dataclass(frozen=True, slots=True)
class _Row:
    """The tokens of a prompt, and the token limit of its reply."""

    ids: list[int]
    limit: int


class LocalModel:
    """A model and its tokenizer."""

    def __init__(self, name: str, tokenizer: Any, model: Any) -> None:
        self._name = name
        self._tokenizer = tokenizer
        self._model = model
        self._torch = import_module("torch")
        self._words: dict[int, str] = {}
        self._forms: list[int] | None = None
        self._room = math.inf  # largest batch that fits into memory, in tokens with padding

    def replies(
        self, asked: Sequence[Mapping[str, Any]], *, seconds: float, stop: Event
    ) -> list[Outcome]:
        """Return the outcomes of request bodies that differ only in messages and limits.

        Parameters
        ----------
        asked : sequence of mapping
            Request bodies with ``messages`` and parameters of chat completions; unknown
            parameters are passed to ``generate``.
        seconds : float
            Time limit of generation in seconds.
        stop : Event
            Event that ends generation at the next token.
        """
        found: dict[int, Outcome] = {}
        rows: dict[int, _Row] = {}
        for k, one in enumerate(asked):
            try:
                rows[k] = self._row(one)
            except Exception as error:  # noqa: BLE001 -- a template may raise any error
                found[k] = error
        options = {**asked[0]}
        for name in ("messages", "chat_template_kwargs", *LIMITS):
            options.pop(name, None)
        made = self._in_parts([*rows.values()], options, seconds, stop) if rows else []
        found |= zip(rows, made, strict=True)
        return [found[k] for k in range(len(asked))]

    def _in_parts(
        self, rows: list[_Row], options: dict[str, Any], seconds: float, stop: Event
    ) -> list[Outcome]:
        """Answer prompts in one batch, or in two halves after a failure."""
        size = len(rows) * (max(len(row.ids) for row in rows) + max(row.limit for row in rows))
        if len(rows) == 1 or size <= self._room:
            try:
                return self._together(rows, dict(options), seconds, stop)
            except Exception as error:  # noqa: BLE001 -- classified like a server error
                full = self._is_full(error)
                if len(rows) == 1:
                    return [TooLargeError(TOO_LARGE) if full else error]
            if full:
                self._room = size / 2
                self._torch.cuda.empty_cache()
        half = len(rows) // 2
        return [
            *self._in_parts(rows[:half], options, seconds, stop),
            *self._in_parts(rows[half:], options, seconds, stop),
        ]

    def _is_full(self, error: Exception) -> bool:
        return isinstance(error, self._torch.cuda.OutOfMemoryError)

    def _row(self, asked: Mapping[str, Any]) -> _Row:
        """Return a conversation as tokens; without a chat template, blank lines separate turns."""
        turns = [dict(turn) for turn in asked["messages"]]
        if getattr(self._tokenizer, "chat_template", None):
            words = asked.get("chat_template_kwargs", {})
            ids = self._tokenizer.apply_chat_template(
                turns, add_generation_prompt=True, return_dict=True, **words
            )["input_ids"]
        else:
            ids = self._tokenizer("\n\n".join(turn["content"] for turn in turns))["input_ids"]
        if not ids:
            msg = "the conversation has no tokens"
            raise ValueError(msg)
        given = next((asked[name] for name in LIMITS if name in asked), DEFAULT_TOKENS)
        return _Row(list(ids), int(given))

    def _together(
        self, rows: list[_Row], options: dict[str, Any], seconds: float, stop: Event
    ) -> list[Outcome]:
        """Answer prompts in one batch."""
        torch, ends = self._torch, self._ends()
        listed, stops = _listed(options), _stops(options)
        if (seed := options.pop("seed", None)) is not None:
            torch.manual_seed(int(seed))
        options = _options(options)
        pad = self._tokenizer.pad_token_id
        pad = min(ends, default=0) if pad is None else pad
        width = max(len(row.ids) for row in rows)
        short = [width - len(row.ids) for row in rows]
        pairs = list(zip(rows, short, strict=True))
        device = self._model.device
        ids = torch.tensor([[pad] * n + row.ids for row, n in pairs], device=device)
        mask = torch.tensor([[0] * n + [1] * len(row.ids) for row, n in pairs], device=device)
        watch = _Watch(self, rows, width, ends, stops, listed=listed, seconds=seconds, stop=stop)
        with torch.inference_mode(), watch.logits_of(self._model, wanted=listed is not None):
            made = self._model.generate(
                input_ids=ids,
                attention_mask=mask,
                max_new_tokens=max(row.limit for row in rows),
                pad_token_id=pad,
                stopping_criteria=import_module("transformers").StoppingCriteriaList([watch]),
                **options,
            ).tolist()
        return [self._completion(watch, k, ids[width:], stops) for k, ids in enumerate(made)]

    def _completion(self, watch: "_Watch", k: int, ids: list[int], stops: list[str]) -> Made:
        """Return a chat completion in the form of a server's response."""
        ids = ids[: watch.made[k]]
        text = self._tokenizer.decode(ids, skip_special_tokens=True)
        kept = text
        for one in stops:
            kept = kept.split(one, 1)[0]
        choice: dict[str, Any] = {
            "index": 0,
            "message": {"role": "assistant", "content": kept},
            "finish_reason": "stop" if watch.said_all[k] else "length",
        }
        if watch.steps:
            # Like servers, do not list the token that ends a reply, unless it is the only token.
            told = ids[:-1] if len(ids) > 1 and ids[-1] in self._ends() else ids
            while kept != text and len("".join(map(self.word, told[:-1]))) >= len(kept) > 0:
                told = told[:-1]
            choice["logprobs"] = {"content": self._tokens(watch, k, told)}
        usage = {"prompt_tokens": len(watch.rows[k].ids), "completion_tokens": len(ids)}
        reply = {
            "object": "chat.completion",
            "model": self._name,
            "choices": [choice],
            "usage": usage,
        }
        return Made(reply=reply, seconds=watch.seconds[k])

    def _tokens(self, watch: "_Watch", k: int, ids: list[int]) -> list[dict[str, Any]]:
        """Return tokens with log probabilities; at the verdict, list all forms of yes and no."""
        found = verdict_at([Token(self.word(token), None) for token in ids])
        whole = {0, found[0] if found else 0}
        listed = []
        for at, token in enumerate(ids):
            step = watch.steps[at]
            top = dict(zip(step.top[k], step.top_logprobs[k], strict=True))
            if at in whole:
                top |= dict(zip(self.yes_no_forms(), step.forms[k], strict=True))
            entries = [self._entry(*one) for one in top.items()]
            listed.append({**self._entry(token, step.chosen[k]), "top_logprobs": entries})
        return listed

    def _entry(self, token: int, logprob: float) -> dict[str, Any]:
        return {"token": self.word(token), "logprob": max(logprob, LEAST)}

    def word(self, token: int) -> str:
        """Return the text that a token adds to a reply."""
        # Decode the token after another one, because some tokenizers drop the space before the
        # first word.
        if token not in self._words:
            before = self._tokenizer("a", add_special_tokens=False)["input_ids"]
            start = len(self._tokenizer.decode(before))
            self._words[token] = self._tokenizer.decode([*before, token])[start:]
        return self._words[token]

    def text(self, tokens: list[int]) -> str:
        """Return the text of a reply's tokens."""
        return str(self._tokenizer.decode(tokens, skip_special_tokens=True))

    def _ends(self) -> set[int]:
        """Return the tokens that end a reply."""
        config = getattr(self._model, "generation_config", None)
        given = getattr(config, "eos_token_id", None)
        if given is None:
            given = self._tokenizer.eos_token_id
        if given is None:
            return set()
        return {given} if isinstance(given, int) else set(given)

    def yes_no_forms(self) -> list[int]:
        """Return the tokens that are forms of "yes" or "no"."""
        if self._forms is None:
            known = self._tokenizer.get_vocab()
            self._forms = sorted(
                token for text, token in known.items() if word_of(text) in {"yes", "no"}
            )
        return self._forms


@dataclass(frozen=True, slots=True)
class _Step:
    """Log probabilities of one step, for the chosen token, the likeliest tokens, yes and no."""

    chosen: list[float]
    top: list[list[int]]
    top_logprobs: list[list[float]]
    forms: list[list[float]]


class _Watch:
    """Monitor of generation steps, which records the ends of replies and token probabilities."""

    def __init__(
        self,
        model: LocalModel,
        rows: list[_Row],
        width: int,
        ends: set[int],
        stops: list[str],
        *,
        listed: int | None,
        seconds: float,
        stop: Event,
    ) -> None:
        self.rows = rows
        self.steps: list[_Step] = []
        self.made: list[int | None] = [None] * len(rows)  # length in tokens of each ended reply
        self.said_all = [False] * len(rows)  # whether each reply ended before its limit
        self.seconds = [math.inf] * len(rows)
        self._model = model
        self._width = width
        self._ends = ends
        self._stops = stops
        # The window contains the longest stop string and some tokens without text.
        self._reach = 8 + max((len(one.encode()) for one in stops), default=0)
        self._listed = listed
        self._most = seconds
        self._stop = stop
        self._logits: Any = None
        self._clock = time.perf_counter()

    @contextmanager
    def logits_of(self, model: Any, *, wanted: bool) -> Iterator[None]:
        """Record the logits before sampling settings change them."""

        def see(module: Any, given: Any, returned: Any) -> None:
            self._logits = returned.logits[:, -1]

        handle = model.register_forward_hook(see) if wanted else None
        try:
            yield
        finally:
            if handle is not None:
                handle.remove()

    def __call__(self, ids: Any, scores: Any) -> Any:
        """Return a mask of the replies that have ended."""
        if self._listed is not None:
            self._note(ids[:, -1])
        spent = time.perf_counter() - self._clock
        step = ids.shape[-1] - self._width
        for k, row in enumerate(self.rows):
            if self.made[k] is not None:
                continue
            self.said_all[k] = self._has_ended(ids[k])
            if self.said_all[k] or step >= row.limit:
                self.made[k], self.seconds[k] = step, spent
        over = spent > self._most or self._stop.is_set()
        return ids.new_tensor([over or one is not None for one in self.made]).bool()

    def _has_ended(self, ids: Any) -> bool:
        if int(ids[-1]) in self._ends:
            return True
        if not self._stops:
            return False
        text = self._model.text(ids[self._width :][-self._reach :].tolist())
        return any(one in text for one in self._stops)

    def _note(self, chosen: Any) -> None:
        """Store the log probabilities of a step."""
        logprobs = self._logits.float().log_softmax(-1)
        top = logprobs.topk(min(self._listed or 1, logprobs.shape[-1]))
        self.steps.append(
            _Step(
                logprobs.gather(-1, chosen[:, None].to(logprobs.device))[:, 0].tolist(),
                top.indices.tolist(),
                top.values.tolist(),
                logprobs[:, self._model.yes_no_forms()].tolist(),
            )
        )


def _listed(options: dict[str, Any]) -> int | None:
    """Remove the options for log probabilities; return how many tokens to list, or None."""
    wanted, n = options.pop("logprobs", None), options.pop("top_logprobs", None)
    if not wanted and not n:
        return None
    return int(n or 1)


def _stops(options: dict[str, Any]) -> list[str]:
    """Remove and return the stop strings."""
    given = options.pop("stop", None) or []
    return [given] if isinstance(given, str) else list(given)


def _options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments of ``generate``."""
    temperature = options.pop("temperature", 1.0)
    # Disable generation settings that are stored with the model, because they could alter the
    # probabilities.
    chosen: dict[str, Any] = {"do_sample": temperature > 0, "repetition_penalty": 1.0}
    if temperature > 0:
        chosen |= {"temperature": float(temperature), "top_k": 0, "top_p": 1.0}
    else:
        options.pop("top_p", None)
    return {**chosen, **options}
