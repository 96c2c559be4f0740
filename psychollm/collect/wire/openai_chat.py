"""Chat completions, the API format of OpenAI and many other servers, and plain completions."""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from psychollm.collect.faults import Kind
from psychollm.collect.request import LENGTHS, LIMITS
from psychollm.collect.wire.anthropic import FINISH
from psychollm.collect.wire.batch_formats import BatchFormat, OpenAIBatches
from psychollm.collect.wire.over_http import Event, OverHttp, added, cut_off
from psychollm.collect.wire.probabilities import Token, openai_tokens, token_of
from psychollm.collect.wire.protocol import (
    Messages,
    Reply,
    UnreadableReplyError,
    apart,
    first_choice,
    openai_usage,
    text_or_none,
)
from psychollm.collect.wire.thinking import thinking_of, without_thinking

# Names of the reasoning field, which differ between servers.
_REASONING = ("reasoning_content", "reasoning")


class OpenAIChat(OverHttp):
    """``POST /chat/completions``."""

    name = "openai-chat"
    path = "/chat/completions"
    lacks: frozenset[str] = frozenset()
    batches: BatchFormat | None = OpenAIBatches()

    def body(
        self, model: str, messages: Messages, parameters: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the request body with parameters as top-level fields."""
        turns = [dict(turn) for turn in messages]
        return {"model": model, "messages": turns, **_thinking(parameters)}

    def streamed(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return a request body that asks for a stream with token counts at its end."""
        return {**body, "stream": True, "stream_options": {"include_usage": True}}

    def gathered(self, stream: Iterable[Event | None]) -> dict[str, Any]:
        """Return the completion assembled from the pieces of a stream."""
        whole: dict[str, Any] = {}
        message: dict[str, Any] = {"content": None}
        choice: dict[str, Any] = {"message": message, "finish_reason": None}
        tokens: list[Any] = []
        done = False
        said = False  # whether any piece has a text field
        for event in stream:
            if event is None:
                done = True
                continue
            named = {key: event[key] for key in _AROUND if event.get(key) is not None}
            whole = {**named, **whole} | {key: named[key] for key in named if key == "usage"}
            for part in _choices(event):
                delta, given = part.get("delta"), part.get("message")
                said |= isinstance(delta, dict) or isinstance(given, dict) or "text" in part
                for name in ("content", "refusal", *_REASONING):
                    added(message, name, delta.get(name) if isinstance(delta, dict) else None)
                    _given(message, name, given)
                if text_or_none(part.get("text")):
                    added(choice, "text", part["text"])
                listed = part.get("logprobs")
                if isinstance(listed, dict) and isinstance(listed.get("content"), list):
                    tokens += listed["content"]
                choice["finish_reason"] = part.get("finish_reason") or choice["finish_reason"]
        if not done and choice["finish_reason"] is None:
            raise cut_off()
        if not said:
            raise UnreadableReplyError(Kind.NO_CHOICES, "no piece of the stream holds a message")
        choice["logprobs"] = {"content": tokens} if tokens else None
        return {**whole, "choices": [choice]}

    def read(self, raw: bytes) -> Reply:
        """Parse a reply, whose content is text or a list of text parts and thinking parts."""
        answer = self.whole(raw)
        choice = first_choice(answer)
        message = choice.get("message")
        if not isinstance(message, dict):
            raise UnreadableReplyError(Kind.NO_CHOICES, "the first choice holds no message")
        content = message.get("content")
        refusal = text_or_none(message.get("refusal"))
        content = refusal if content is None else content
        parts = content if isinstance(content, list) else []
        if refusal or any(isinstance(one, dict) and one.get("refusal") for one in parts):
            choice = {**choice, "finish_reason": "refusal"}
        thought = None
        if isinstance(content, list):
            content, thought = _joined(content)
        if content is not None and text_or_none(content) is None:
            raise UnreadableReplyError(Kind.NO_CHOICES, "the content of the message is not text")
        reasoning = (text_or_none(message.get(key)) for key in _REASONING)
        beside = next(filter(None, reasoning), None) or thought
        text, beside = apart(text_or_none(content) or "", beside)
        logprobs = choice.get("logprobs")
        tokens = openai_tokens(logprobs.get("content")) if isinstance(logprobs, dict) else ()
        return _reply(answer, choice, text=text, reasoning=beside, tokens=tokens)


_AROUND = ("model", "provider", "system_fingerprint", "usage", "id", "object", "created")


def _given(message: dict[str, Any], name: str, given: Any) -> None:
    """Store a field that a server sends in one piece within a stream."""
    held = given.get(name) if isinstance(given, dict) else None
    if not held:
        return
    if message.get(name) not in {None, ""} and message[name] != held:
        # The text may be the next piece or all text so far; the two cannot be distinguished.
        raise UnreadableReplyError(Kind.BAD_JSON, "the stream holds several messages")
    message[name] = held


def _choices(event: Event) -> list[dict[str, Any]]:
    """Return the parts of a stream's event that belong to the first choice."""
    listed = event.get("choices")
    listed = listed if isinstance(listed, list) else []
    return [one for one in listed if isinstance(one, dict) and not one.get("index")]


def _thinking(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with the reasoning effort, and a limit that includes reasoning."""
    thinking = thinking_of(parameters)
    known = without_thinking(parameters)
    if thinking is None:
        return known
    if not thinking.off:
        for name in known.keys() & set(LIMITS):
            sent_as = "max_completion_tokens" if name in LENGTHS else name
            known[sent_as] = known.pop(name) + thinking.tokens
    return {**known, "reasoning_effort": "none" if thinking.off else thinking.effort}


def _reply(
    answer: Mapping[str, Any],
    choice: Mapping[str, Any],
    *,
    text: str,
    tokens: tuple[Token, ...],
    reasoning: str | None = None,
) -> Reply:
    """Return a reply with the metadata of the server's response."""
    reason = text_or_none(choice.get("finish_reason"))
    return Reply(
        finish_reason=FINISH.get((reason or "").casefold(), reason),
        served_model=text_or_none(answer.get("model")),
        provider=text_or_none(answer.get("provider")),
        fingerprint=text_or_none(answer.get("system_fingerprint")),
        usage=openai_usage(answer),
        text=text,
        reasoning=reasoning,
        tokens=tokens,
    )


def _joined(parts: list[Any]) -> tuple[str | None, str | None]:
    """Return the joined text and the joined reasoning of content in parts, or None for each."""
    spoken: list[str] = []
    thought: list[str] = []
    for part in parts:
        kind, held = "text", part
        if isinstance(part, dict):
            kind = str(part.get("type"))
            held = part.get("text", part.get(kind))
        if kind in {"thinking", "reasoning"} and isinstance(held, list):
            held = _joined(held)[0]
        if (text := text_or_none(held)) is not None:
            (thought if kind in {"thinking", "reasoning"} else spoken).append(text)
    return "".join(spoken) if spoken else None, "".join(thought) or None


class AzureOpenAI(OpenAIChat):
    """Chat completions of a deployment, with the query ``?api-version=`` in its address."""

    name = "azure"
    batches = None  # batches on Azure require a separate deployment

    def headers(self, secret: str | None) -> dict[str, str]:
        """Return the request headers, with the secret in a separate header."""
        return {"api-key": secret} if secret else {}

    def place(self, model: str, *, stream: bool) -> str:
        """Return the request path for a deployment."""
        return f"/openai/deployments/{quote(model, safe='')}/chat/completions"

    def body(
        self, model: str, messages: Messages, parameters: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the request body; the path names the deployment."""
        body = super().body(model, messages, parameters)
        del body["model"]
        return body


_RENAMED = {"max_completion_tokens": "max_tokens"}


class OpenAICompletions(OpenAIChat):
    """Format of ``POST /completions`` with messages joined to one text by blank lines."""

    name = "openai-completions"
    path = "/completions"
    lacks = frozenset({"top_logprobs", "reasoning_effort", "response_format", "thinking"})

    def body(
        self, model: str, messages: Messages, parameters: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the request body, with a number instead of ``logprobs = true``."""
        known = {_RENAMED.get(name, name): value for name, value in parameters.items()}
        if known.get("logprobs") is True:
            known["logprobs"] = 5  # largest number that the API accepts
        text = "\n\n".join(turn["content"] for turn in messages)
        return {"model": model, "prompt": text, **known}

    def read(self, raw: bytes) -> Reply:
        """Parse a reply."""
        answer = self.whole(raw)
        choice = first_choice(answer)
        text = text_or_none(choice.get("text"))
        if text is None:
            raise UnreadableReplyError(Kind.NO_CHOICES, "the first choice holds no text")
        text, thought = apart(text)
        tokens = _plain_tokens(choice.get("logprobs"))
        return _reply(answer, choice, text=text, reasoning=thought, tokens=tokens)


def _plain_tokens(logprobs: Any) -> tuple[Token, ...]:
    """Return tokens, assembled from the parallel lists of texts and log probabilities."""
    known = logprobs if isinstance(logprobs, dict) else {}
    texts, chosen, tops = (
        value if isinstance(value := known.get(name), list) else []
        for name in ("tokens", "token_logprobs", "top_logprobs")
    )
    n = max(map(len, (texts, chosen, tops)))

    def at(listed: list[Any], i: int) -> Any:
        return listed[i] if i < len(listed) else None

    return tuple(
        token_of(
            at(texts, i),
            at(chosen, i),
            at(tops, i).items() if isinstance(at(tops, i), dict) else (),
        )
        for i in range(n)
    )
