"""Servers that hold to the rules of a provider: what must be there, what is refused, and how.

Each knows the fields that its provider publishes. A field that is missing, unknown, or of another
type is refused with the provider's own form of an error; a secret that is missing or wrong, too.
Replies have the published form, whole or as a stream.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from tests.collect.hostile import Act, Hostile

KEY = "a-key-of-the-provider-0123"
Json = dict[str, Any]


class RefusedError(Exception):
    """A request against the rules."""

    def __init__(self, status: int, said: str, param: str | None = None) -> None:
        super().__init__(said)
        self.status, self.said, self.param = status, said, param


@dataclass
class Said:
    """What a model says, in no format yet."""

    text: str = "Yes"
    thought: str = ""
    end: str = "stop"  # stop, length, filter
    tokens: list[tuple[str, float, dict[str, float]]] = field(default_factory=list)
    counts: tuple[int, int, int] = (11, 7, 0)  # input, answer, thinking


def fields(table: Any, known: Mapping[str, Any], needed: tuple[str, ...] = ()) -> None:
    """Refuse a table with a field that is missing, unknown, or of another type."""
    for name in needed:
        if name not in table:
            raise RefusedError(400, f"Missing required parameter: '{name}'.", name)
    for name, value in table.items():
        if name not in known:
            raise RefusedError(400, f"Unknown parameter: '{name}'.", name)
        if not isinstance(value, known[name]) or (
            isinstance(value, bool) and known[name] == NUMBER
        ):
            raise RefusedError(400, f"Invalid type for '{name}'.", name)


NUMBER = (int, float)


class Provider(Hostile):
    """One provider on loopback; `says` is what its model says to a body."""

    key_in = "authorization"

    def __init__(self, says: Callable[[Json], Said] | None = None, **rules: Any) -> None:
        super().__init__()
        self.says = says or (lambda body: Said())
        self.rules = rules
        self.paths: list[str] = []
        self.keys = {KEY}

    def act(self, head: str, raw: bytes) -> Act:
        """Check a request and answer it."""
        first, *lines = head.split("\r\n")
        method, path, _ = first.split(" ")
        headers = {k.lower(): v.strip() for k, v in (line.split(":", 1) for line in lines)}
        self.paths.append(path)
        self.heads.append(head)
        try:
            given = headers.get(self.key_in, "").removeprefix("Bearer ")
            if given not in self.keys:
                raise RefusedError(*self.stranger)
            if method != "POST":
                raise RefusedError(405, "Method not allowed")
            body = json.loads(raw)
            self.seen.append(body)
            streamed = self.check(unquote(path), headers, body)
        except RefusedError as refused:
            return Act(refused.status, json.dumps(self.error(refused)).encode())
        said = self.says(body)
        if streamed:
            events = self.stream(said, body)
            return Act(200, "".join(events).encode(), {"Content-Type": "text/event-stream"})
        return Act(200, json.dumps(self.reply(said, body)).encode())

    stranger: tuple[int, str] = (401, "Incorrect API key provided")

    def error(self, refused: RefusedError) -> Json:
        """Return OpenAI's form of an error."""
        kind = {"type": "invalid_request_error", "param": refused.param, "code": None}
        return {"error": {"message": refused.said, **kind}}

    def check(self, path: str, headers: Json, body: Json) -> bool:
        """Raise where a request is against the rules; return whether a stream is wanted."""
        raise NotImplementedError

    def reply(self, said: Said, body: Json) -> Json:
        """Return the published form of a reply."""
        raise NotImplementedError

    def stream(self, said: Said, body: Json) -> list[str]:
        """Return the published form of a stream."""
        raise NotImplementedError


def event(data: Json | str, name: str | None = None) -> str:
    """Return one server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {name}\n" if name else "") + f"data: {text}\n\n"


def turns_of(body: Json, roles: set[str]) -> None:
    for turn in body["messages"]:
        fields(turn, {"role": str, "content": str}, ("role", "content"))
        if turn["role"] not in roles:
            raise RefusedError(400, f"Invalid value: '{turn['role']}'.", "messages")


CHAT = {
    "model": str, "messages": list, "temperature": NUMBER, "top_p": NUMBER, "max_tokens": int,
    "max_completion_tokens": int, "seed": int, "stop": (str, list), "logprobs": bool,
    "top_logprobs": int, "reasoning_effort": str, "stream": bool, "stream_options": dict,
    "response_format": dict, "frequency_penalty": NUMBER, "presence_penalty": NUMBER,
}  # fmt: skip


class Chat(Provider):
    """OpenAI's chat completions; with ``reasons=True``, of a reasoning model."""

    needed: tuple[str, ...] = ("model", "messages")

    def check(self, path: str, headers: Json, body: Json) -> bool:
        self.check_path(path)
        fields(body, CHAT, self.needed)
        turns_of(body, {"system", "user", "assistant", "developer"})
        if "top_logprobs" in body and not body.get("logprobs"):
            raise RefusedError(400, "'top_logprobs' needs 'logprobs'.", "top_logprobs")
        if self.rules.get("reasons"):
            for name in ("temperature", "top_p", "logprobs", "top_logprobs"):
                if name in body:
                    said = f"Unsupported parameter: '{name}' is not supported with this model."
                    raise RefusedError(400, said, name)
            if "max_tokens" in body:
                said = (
                    "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
                    "'max_completion_tokens' instead."
                )
                raise RefusedError(400, said, "max_tokens")
        elif "reasoning_effort" in body:
            raise RefusedError(400, "Unrecognized request argument supplied: reasoning_effort")
        return bool(body.get("stream"))

    def check_path(self, path: str) -> None:
        if path != "/v1/chat/completions":
            raise RefusedError(404, f"Unknown request URL: POST {path}")

    def _around(self, body: Json) -> Json:
        around = {"id": "chatcmpl-1", "created": 1, "model": "served-1"}
        return {**around, "system_fingerprint": "fp_1"}

    def _logprobs(self, said: Said, body: Json) -> Json | None:
        if not body.get("logprobs"):
            return None
        return {"content": [openai_token(*one) for one in said.tokens], "refusal": None}

    def _usage(self, said: Said) -> Json:
        asked, answer, thought = said.counts
        details = {"reasoning_tokens": thought, "accepted_prediction_tokens": 0}
        total = {"completion_tokens": answer + thought, "total_tokens": asked + answer + thought}
        return {"prompt_tokens": asked, **total, "completion_tokens_details": details}

    def _end(self, said: Said) -> str:
        return {"filter": "content_filter"}.get(said.end, said.end)

    def reply(self, said: Said, body: Json) -> Json:
        message = {"role": "assistant", "content": said.text, "refusal": None, "annotations": []}
        choice = {"index": 0, "message": message, "logprobs": self._logprobs(said, body)}
        choice["finish_reason"] = self._end(said)
        around = {"object": "chat.completion", **self._around(body)}
        return {**around, "choices": [choice], "usage": self._usage(said)}

    def stream(self, said: Said, body: Json) -> list[str]:
        around = {"object": "chat.completion.chunk", **self._around(body)}

        def chunk(delta: Json, end: str | None = None, logprobs: Any = None) -> str:
            choice = {"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": end}
            return event({**around, "choices": [choice], "usage": None})

        halves = [said.text[:2], said.text[2:]]
        listed = (self._logprobs(said, body) or {"content": []})["content"]
        parts = [chunk({"role": "assistant", "content": "", "refusal": None})]
        if listed:
            parts += [chunk({"content": t["token"]}, logprobs={"content": [t]}) for t in listed]
        else:
            parts += [chunk({"content": half}) for half in halves]
        parts.append(chunk({}, self._end(said)))
        if (body.get("stream_options") or {}).get("include_usage"):
            parts.append(event({**around, "choices": [], "usage": self._usage(said)}))
        return [*parts, event("[DONE]")]


def openai_token(text: str, logprob: float, top: Mapping[str, float]) -> Json:
    listed = [{"token": t, "logprob": p, "bytes": list(t.encode())} for t, p in top.items()]
    return {
        "token": text,
        "logprob": logprob,
        "bytes": list(text.encode()),
        "top_logprobs": listed,
    }


class Azure(Chat):
    """A deployment on Azure: no model in the body, a version in the address."""

    needed = ("messages",)
    key_in = "api-key"
    stranger = (401, "Access denied due to invalid subscription key or wrong API endpoint.")

    def check_path(self, path: str) -> None:
        place, _, query = path.partition("?")
        if "api-version=" not in query:
            raise RefusedError(404, "Resource not found")
        if place != "/v1/openai/deployments/org/m/chat/completions":
            raise RefusedError(404, "The API deployment for this resource does not exist.")

    def check(self, path: str, headers: Json, body: Json) -> bool:
        streamed = super().check(path, headers, body)
        if "forbidden" in json.dumps(body):
            raise RefusedError(400, "The response was filtered", "prompt")
        return streamed

    def error(self, refused: RefusedError) -> Json:
        if refused.param == "prompt":
            inner = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {}}
            about = {"code": "content_filter", "status": 400, "param": "prompt"}
            return {"error": {"message": refused.said, "type": None, **about, "innererror": inner}}
        return super().error(refused)

    def reply(self, said: Said, body: Json) -> Json:
        kept = {"hate": {"filtered": False, "severity": "safe"}}
        whole = super().reply(said, body)
        whole["choices"][0]["content_filter_results"] = kept
        return {**whole, "prompt_filter_results": [{"prompt_index": 0}]}


RESPONSES = {
    "model": str, "input": (str, list), "instructions": str, "max_output_tokens": int,
    "temperature": NUMBER, "top_p": NUMBER, "store": bool, "reasoning": dict, "include": list,
    "top_logprobs": int, "text": dict, "stream": bool, "truncation": str, "metadata": dict,
}  # fmt: skip


class Responses(Provider):
    """OpenAI's responses; with ``reasons=True``, of a reasoning model."""

    def check(self, path: str, headers: Json, body: Json) -> bool:
        if path != "/v1/responses":
            raise RefusedError(404, f"Invalid URL (POST {path})")
        fields(body, RESPONSES, ("model", "input"))
        for turn in body["input"]:
            fields(turn, {"role": str, "content": str, "type": str}, ("role", "content"))
        if body.get("max_output_tokens", 16) < 16:
            said = "Invalid 'max_output_tokens': integer below minimum value."
            raise RefusedError(400, said, "max_output_tokens")
        if "reasoning" in body:
            fields(body["reasoning"], {"effort": str, "summary": str})
            if not self.rules.get("reasons"):
                said = (
                    "Unsupported parameter: 'reasoning.effort' is not supported with this model."
                )
                raise RefusedError(400, said, "reasoning.effort")
        if self.rules.get("reasons"):
            for name in ("temperature", "top_p", "top_logprobs"):
                if name in body:
                    said = f"Unsupported parameter: '{name}' is not supported with this model."
                    raise RefusedError(400, said, name)
        return bool(body.get("stream"))

    def reply(self, said: Said, body: Json) -> Json:
        asked, answer, thought = said.counts
        wanted = "message.output_text.logprobs" in body.get("include", [])
        listed = [openai_token(*one) for one in said.tokens] if wanted else []
        part = {"type": "output_text", "text": said.text, "annotations": [], "logprobs": listed}
        output: list[Json] = []
        if said.thought:
            summary = [{"type": "summary_text", "text": said.thought}]
            output.append({"type": "reasoning", "id": "rs_1", "summary": summary})
        if said.text:
            message = {"type": "message", "id": "msg_1", "status": "completed"}
            output.append({**message, "role": "assistant", "content": [part]})
        status, details = "completed", None
        if said.end != "stop":
            reason = {"length": "max_output_tokens", "filter": "content_filter"}[said.end]
            status, details = "incomplete", {"reason": reason}
        usage = {
            "input_tokens": asked, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": answer + thought,
            "output_tokens_details": {"reasoning_tokens": thought},
            "total_tokens": asked + answer + thought,
        }  # fmt: skip
        about = {"id": "resp_1", "object": "response", "created_at": 1, "model": "served-1"}
        ended = {"status": status, "incomplete_details": details, "error": None}
        return {**about, **ended, "output": output, "usage": usage, "store": body.get("store")}

    def stream(self, said: Said, body: Json) -> list[str]:
        whole = self.reply(said, body)
        begun = {**whole, "status": "in_progress", "output": [], "usage": None}
        last = f"response.{whole['status']}"
        return [
            event({"type": "response.created", "response": begun}, "response.created"),
            event(
                {"type": "response.output_text.delta", "delta": said.text},
                "response.output_text.delta",
            ),
            event({"type": last, "response": whole}, last),
        ]


MESSAGES = {
    "model": str, "messages": list, "max_tokens": int, "system": (str, list),
    "temperature": NUMBER, "top_p": NUMBER, "top_k": int, "stop_sequences": list,
    "stream": bool, "metadata": dict, "thinking": dict, "output_config": dict,
}  # fmt: skip


class Anthropic(Provider):
    """Anthropic's messages; ``adaptive=True`` is a model that knows efforts and no budgets."""

    key_in = "x-api-key"
    stranger = (401, "invalid x-api-key")

    def error(self, refused: RefusedError) -> Json:
        kind = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error"}
        error = {"type": kind.get(refused.status, "api_error"), "message": refused.said}
        return {"type": "error", "error": error, "request_id": "req_1"}

    def check(self, path: str, headers: Json, body: Json) -> bool:
        if path != "/v1/messages":
            raise RefusedError(404, "Not found")
        if headers.get("anthropic-version") != "2023-06-01":
            raise RefusedError(400, "anthropic-version: header is required")
        self.check_body(body)
        return bool(body.get("stream"))

    def check_body(self, body: Json) -> None:
        for name in body:
            if name not in MESSAGES:
                raise RefusedError(400, f"{name}: Extra inputs are not permitted")
        for name in ("model", "messages", "max_tokens"):
            if name not in body:
                raise RefusedError(400, f"{name}: Field required")
        turns_of(body, {"user", "assistant"})
        thinking = body.get("thinking", {"type": "disabled"})
        if thinking["type"] == "enabled":
            if self.rules.get("adaptive"):
                said = (
                    '"thinking.type.enabled" is not supported for this model. Use '
                    '"thinking.type.adaptive" and "output_config.effort" to control thinking '
                    "behavior."
                )
                raise RefusedError(400, said)
            if thinking["budget_tokens"] < 1024:
                raise RefusedError(400, "thinking.enabled.budget_tokens: at least 1024")
            if body["max_tokens"] <= thinking["budget_tokens"]:
                raise RefusedError(
                    400, "`max_tokens` must be greater than `thinking.budget_tokens`."
                )
        if thinking["type"] == "adaptive" and not self.rules.get("adaptive"):
            raise RefusedError(400, "adaptive thinking is not supported on this model")
        if thinking["type"] != "disabled" and body.get("temperature", 1) != 1:
            said = "`temperature` may only be set to 1 when thinking is enabled."
            raise RefusedError(400, said + " It is not supported otherwise.")

    def reply(self, said: Said, body: Json) -> Json:
        asked, answer, thought = said.counts
        content: list[Json] = []
        if said.thought:
            content.append({"type": "thinking", "thinking": said.thought, "signature": "EqQB"})
        if said.text:
            content.append({"type": "text", "text": said.text})
        end = {"stop": "end_turn", "length": "max_tokens", "filter": "refusal"}[said.end]
        usage = {"input_tokens": asked, "cache_creation_input_tokens": 0}
        usage |= {"cache_read_input_tokens": 0, "output_tokens": answer + thought}
        about = {"id": "msg_1", "type": "message", "role": "assistant", "model": "served-1"}
        return {
            **about,
            "content": content,
            "stop_reason": end,
            "stop_sequence": None,
            "usage": usage,
        }

    def stream(self, said: Said, body: Json) -> list[str]:
        whole = self.reply(said, body)
        usage = whole.pop("usage")
        first = {
            **whole,
            "content": [],
            "stop_reason": None,
            "usage": usage | {"output_tokens": 1},
        }
        parts = [event({"type": "message_start", "message": first}, "message_start")]
        parts.append(event({"type": "ping"}, "ping"))
        for index, block in enumerate(whole["content"]):
            name = block["type"]
            empty = {"type": name, name: ""}
            start = {"type": "content_block_start", "index": index, "content_block": empty}
            parts.append(event(start, "content_block_start"))
            for half in (block[name][:2], block[name][2:]):
                delta = {"type": f"{name}_delta", name: half}
                about = {"type": "content_block_delta", "index": index, "delta": delta}
                parts.append(event(about, "content_block_delta"))
            parts.append(event({"type": "content_block_stop", "index": index}))
        ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        counts = {"output_tokens": usage["output_tokens"]}
        parts.append(event({"type": "message_delta", "delta": ended, "usage": counts}))
        return [*parts, event({"type": "message_stop"}, "message_stop")]


GENERATION = {
    "temperature": NUMBER, "topP": NUMBER, "topK": int, "seed": int, "maxOutputTokens": int,
    "stopSequences": list, "responseLogprobs": bool, "logprobs": int, "thinkingConfig": dict,
    "candidateCount": int, "presencePenalty": NUMBER, "frequencyPenalty": NUMBER,
    "responseMimeType": str, "responseJsonSchema": dict,
}  # fmt: skip


class Google(Provider):
    """Gemini's contents."""

    key_in = "x-goog-api-key"
    stranger = (400, "API key not valid. Please pass a valid API key.")
    prefix = "/v1/models/org/m:"

    def error(self, refused: RefusedError) -> Json:
        about = {"code": refused.status, "message": refused.said, "status": "INVALID_ARGUMENT"}
        return {"error": about}

    def check(self, path: str, headers: Json, body: Json) -> bool:
        calls = {"generateContent": False, "streamGenerateContent?alt=sse": True}
        if not path.startswith(self.prefix) or path.removeprefix(self.prefix) not in calls:
            raise RefusedError(404, f"{path} is not found for API version v1")
        known = {"contents": list, "systemInstruction": dict, "generationConfig": dict}
        for name in body:
            if name not in {*known, "safetySettings", "cachedContent", "labels"}:
                said = f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
                raise RefusedError(400, said)
        if not body.get("contents"):
            raise RefusedError(400, "* GenerateContentRequest.contents: contents is not specified")
        for turn in body["contents"]:
            fields(turn, {"role": str, "parts": list}, ("role", "parts"))
            if turn["role"] not in {"user", "model"}:
                raise RefusedError(400, "Please use a valid role: user, model.")
        settings = body.get("generationConfig", {})
        for name in settings:
            if name not in GENERATION:
                said = f"Unknown name \"{name}\" at 'generation_config': Cannot find field."
                raise RefusedError(400, said)
        if "logprobs" in settings and not settings.get("responseLogprobs"):
            raise RefusedError(400, "Logprobs is only supported if response_logprobs is enabled.")
        thinking = settings.get("thinkingConfig", {})
        if {"thinkingBudget", "thinkingLevel"} <= set(thinking):
            raise RefusedError(
                400, "You can only set only one of thinking budget and thinking level."
            )
        return calls[path.removeprefix(self.prefix)]

    def _candidate(self, said: Said, body: Json, parts: list[Json], *, ends: bool) -> Json:
        one: Json = {"content": {"parts": parts, "role": "model"}, "index": 0}
        if ends:
            one["finishReason"] = {"stop": "STOP", "length": "MAX_TOKENS", "filter": "SAFETY"}[
                said.end
            ]
        if body.get("generationConfig", {}).get("responseLogprobs") and said.tokens and ends:
            one["avgLogprobs"] = sum(p for _, p, _ in said.tokens) / len(said.tokens)
            one["logprobsResult"] = {
                "chosenCandidates": [google_token(t, p) for t, p, _ in said.tokens],
                "topCandidates": [
                    {"candidates": [google_token(t, p) for t, p in top.items()]}
                    for _, _, top in said.tokens
                ],
            }
        return one

    def _around(self, said: Said) -> Json:
        asked, answer, thought = said.counts
        usage = {"promptTokenCount": asked, "totalTokenCount": asked + answer + thought}
        usage |= {"candidatesTokenCount": answer} if said.text else {}
        usage |= {"thoughtsTokenCount": thought} if thought else {}
        return {"usageMetadata": usage, "modelVersion": "served-1", "responseId": "r1"}

    def reply(self, said: Said, body: Json) -> Json:
        if said.end == "blocked":
            return {"promptFeedback": {"blockReason": "SAFETY"}, **self._around(said)}
        parts = [{"text": said.thought, "thought": True}] if said.thought else []
        parts += [{"text": said.text}] if said.text else []
        one = self._candidate(said, body, parts, ends=True)
        return {"candidates": [one], **self._around(said)}

    def stream(self, said: Said, body: Json) -> list[str]:
        parts = [{"text": said.thought, "thought": True}] if said.thought else []
        first = self._candidate(said, body, [*parts, {"text": said.text[:2]}], ends=False)
        last = self._candidate(said, body, [{"text": said.text[2:]}], ends=True)
        return [event({"candidates": [one], **self._around(said)}) for one in (first, last)]


def google_token(text: str, logprob: float) -> Json:
    return {"token": text, "tokenId": 7, "logProbability": logprob}


class OnVertex(Google):
    """Gemini on Vertex: a bearer token, and a place with project and location in it."""

    key_in = "authorization"
    stranger = (401, "Request had invalid authentication credentials. ACCESS_TOKEN_EXPIRED")
    prefix = "/v1/projects/p/locations/l/publishers/google/models/org/m:"

    @property
    def url(self) -> str:
        return f"{super().url}/projects/p/locations/l/publishers/google"


class Bedrock(Provider):
    """Converse on Bedrock."""

    stranger = (403, "Authentication failed: Please make sure your API Key is valid.")

    def error(self, refused: RefusedError) -> Json:
        return {"message": refused.said}

    def check(self, path: str, headers: Json, body: Json) -> bool:
        if path != "/v1/model/org/m/converse":
            raise RefusedError(404, "The requested operation is not recognized by the service.")
        known = {"messages", "system", "inferenceConfig", "additionalModelRequestFields"}
        if unknown := set(body) - known:
            raise RefusedError(400, f"Malformed input request: extraneous key {sorted(unknown)}")
        for turn in body["messages"]:
            fields(turn, {"role": str, "content": list}, ("role", "content"))
            if turn["role"] not in {"user", "assistant"}:
                raise RefusedError(
                    400, "Value at 'messages.1.member.role' failed to satisfy constraint"
                )
            for block in turn["content"]:
                fields(block, {"text": str}, ("text",))
        for block in body.get("system", []):
            fields(block, {"text": str}, ("text",))
        settings = {"maxTokens": int, "temperature": NUMBER, "topP": NUMBER, "stopSequences": list}
        fields(body.get("inferenceConfig", {}), settings)
        refused = self.rules.get("refuses", ())
        for name in body.get("additionalModelRequestFields", {}):
            if name in refused:
                said = f"The model returned an error: {name}: Extra inputs are not permitted"
                raise RefusedError(400, said)
        return False

    def reply(self, said: Said, body: Json) -> Json:
        asked, answer, thought = said.counts
        content: list[Json] = []
        if said.thought:
            inner = {"reasoningText": {"text": said.thought, "signature": "s"}}
            content.append({"reasoningContent": inner})
        if said.text:
            content.append({"text": said.text})
        end = {"stop": "end_turn", "length": "max_tokens", "filter": "guardrail_intervened"}
        usage = {"inputTokens": asked, "outputTokens": answer + thought}
        usage["totalTokens"] = asked + answer + thought
        message = {"role": "assistant", "content": content}
        about = {"stopReason": end[said.end], "usage": usage, "metrics": {"latencyMs": 3}}
        return {"output": {"message": message}, **about}


PROVIDERS: dict[str, type[Provider]] = {
    "openai-chat": Chat,
    "azure": Azure,
    "openai-responses": Responses,
    "anthropic": Anthropic,
    "gemini": Google,
    "vertex": OnVertex,
    "bedrock": Bedrock,
}
