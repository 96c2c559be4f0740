"""Servers that take batches, in the forms of OpenAI and Anthropic, on loopback.

They lose, duplicate and delay on request: a batch is taken though the connection breaks before
they say so; lists lag behind; lines of results come twice, or not at all.
"""

import json
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.collect.hostile import Act, Hostile

Json = dict[str, Any]


@dataclass
class Rules:
    """What goes wrong, and how long things take, in looks or seconds."""

    looks: int = 2  # until a batch has ended
    lag: float = 0.0  # seconds until a new batch is listed
    hidden: float = 0.0  # share of batches taken without a word
    duplicate: float = 0.0  # share of lines that come twice
    lose: float = 0.0  # share of lines that do not come
    expire: float = 0.0  # share of requests that expire
    refuse: str | None = None  # a parameter that each request is refused for
    late_results: int = 0  # looks at results until they are there
    crowded: int = 0  # batches refused because too much is waiting


@dataclass
class Taken:
    """A batch that the server has."""

    id: str
    made: float
    requests: dict[str, Json]
    file: str | None = None
    metadata: Json = field(default_factory=dict)
    looks: int = 0
    asked_for: int = 0
    failed: bool = False
    lines: list[Json] = field(default_factory=list)


class BatchServer(Hostile):
    """What both have in common; `paid` counts how often each question was processed."""

    def __init__(self, rules: Rules | None = None, seed: int = 1) -> None:
        super().__init__()
        self.rules = rules or Rules()
        self.draw = np.random.default_rng(seed)
        self.taken: dict[str, Taken] = {}
        self.files: dict[str, bytes] = {}
        self.paid: Counter[str] = Counter()
        self.alone: Counter[str] = Counter()  # asked one by one
        self.calls: Counter[str] = Counter()

    def act(self, head: str, raw: bytes) -> Act:
        method, path, _ = head.split("\r\n")[0].split(" ")
        place = path.removeprefix("/v1")
        self.calls[f"{method} {re.sub(r'[a-z]+_[0-9]+', 'X', place.partition('?')[0])}"] += 1
        return self.route(method, place, head, raw)

    def route(self, method: str, place: str, head: str, raw: bytes) -> Act:
        raise NotImplementedError

    def said(self, body: Json) -> Json:
        raise NotImplementedError

    def process(self, batch: Taken) -> None:
        """Answer all requests of a batch: this is what is paid for."""
        for name, body in batch.requests.items():
            if self.rules.refuse is not None and self.rules.refuse in body:
                line = self.line(name, 400, f"{self.rules.refuse} is not supported")
            elif self.draw.random() < self.rules.expire:
                line = self.expired(name)
            else:
                self.paid[question(body)] += 1
                if self.draw.random() < self.rules.lose:
                    continue
                line = self.line(name, 200, self.said(body))
            batch.lines.append(line)
            if self.draw.random() < self.rules.duplicate:
                batch.lines.append(line)

    def line(self, name: str, status: int, body: Any) -> Json:
        raise NotImplementedError

    def expired(self, name: str) -> Json:
        raise NotImplementedError

    def take(self, batch: Taken, reply: Json) -> Act:
        """Take a batch, and say so unless the connection breaks."""
        self.taken[batch.id] = batch
        self.process(batch)
        if self.draw.random() < self.rules.hidden:
            return Act(200, b"{}", cut=0)
        return json_act(reply)

    def look(self, batch: Taken) -> bool:
        batch.looks += 1
        return batch.looks > self.rules.looks

    def listed(self) -> list[Taken]:
        now = time.time()
        known = [one for one in self.taken.values() if one.made + self.rules.lag <= now]
        return sorted(known, key=lambda one: -one.made)

    def content(self, batch: Taken) -> Act:
        batch.asked_for += 1
        if batch.asked_for <= self.rules.late_results:
            return json_act({"error": {"message": "No such file"}}, 404)
        lines = list(batch.lines)
        self.draw.shuffle(lines)  # type: ignore[arg-type]
        return Act(200, b"\n".join(json.dumps(one).encode() for one in lines) + b"\n")


def question(body: Json) -> str:
    turns = body.get("messages") or body["input"]
    return str([turn["content"] for turn in turns])


def json_act(body: Json, status: int = 200) -> Act:
    return Act(status, json.dumps(body).encode())


class OpenAI(BatchServer):
    """Files and batches."""

    endpoint = "/v1/chat/completions"

    def said(self, body: Json) -> Json:
        choice = {"index": 0, "finish_reason": "stop", "message": {"content": "Yes"}}
        usage = {"prompt_tokens": 5, "completion_tokens": 1}
        return {"model": body["model"], "choices": [choice], "usage": usage}

    def line(self, name: str, status: int, body: Any) -> Json:
        held = body if status == 200 else {"error": {"message": body, "param": self.rules.refuse}}
        response = {"status_code": status, "request_id": "req_1", "body": held}
        return {"id": "batch_req_1", "custom_id": name, "response": response, "error": None}

    def expired(self, name: str) -> Json:
        error = {"code": "batch_expired", "message": "This request could not be executed."}
        return {"id": "batch_req_1", "custom_id": name, "response": None, "error": error}

    def route(self, method: str, place: str, head: str, raw: bytes) -> Act:
        if (method, place) == ("POST", self.endpoint.removeprefix("/v1")):
            body = json.loads(raw)
            self.alone[question(body)] += 1
            return json_act(self.said(body))
        if (method, place) == ("POST", "/files"):
            return self.upload(head, raw)
        if (method, place) == ("POST", "/batches"):
            return self.create(json.loads(raw))
        if method == "GET" and place.startswith("/batches?"):
            return self.list(place)
        if method == "GET" and place.startswith("/batches/"):
            batch = self.taken.get(place.removeprefix("/batches/"))
            return self.show(batch) if batch else json_act({"error": {"message": "no"}}, 404)
        if method == "GET" and place.startswith("/files/"):
            name = place.split("/")[2].removeprefix("out-")
            return self.content(self.taken[name])
        return json_act({"error": {"message": f"Unknown request URL: {method} {place}"}}, 404)

    def upload(self, head: str, raw: bytes) -> Act:
        edge = re.search(r"boundary=(\S+)", head)
        assert edge is not None
        _, purpose, file, end = raw.split(b"--" + edge[1].encode())
        assert b'name="purpose"\r\n\r\nbatch' in purpose
        assert end.strip() == b"--"
        name = f"file-{len(self.files)}"
        self.files[name] = file.split(b"\r\n\r\n", 1)[1].rstrip()
        return json_act({"id": name, "object": "file", "purpose": "batch", "status": "processed"})

    def create(self, body: Json) -> Act:
        if set(body) - {"input_file_id", "endpoint", "completion_window", "metadata"}:
            return json_act({"error": {"message": "Unknown parameter"}}, 400)
        if body["completion_window"] != "24h" or body["endpoint"] != self.endpoint:
            return json_act({"error": {"message": "Invalid value"}}, 400)
        lines = [json.loads(one) for one in self.files[body["input_file_id"]].split(b"\n")]
        assert all(set(one) == {"custom_id", "method", "url", "body"} for one in lines)
        assert len({one["custom_id"] for one in lines}) == len(lines)
        assert {one["url"] for one in lines} == {self.endpoint}
        requests = {one["custom_id"]: one["body"] for one in lines}
        assert len({one["model"] for one in requests.values()}) == 1
        name = f"batch_{len(self.taken)}"
        batch = Taken(name, time.time(), requests, body["input_file_id"], body["metadata"])
        if self.rules.crowded:
            self.rules.crowded -= 1
            batch.failed = True
            self.taken[name] = batch
            return self.show(batch)
        return self.take(batch, {"id": name, "object": "batch", "status": "validating"})

    def body_of(self, batch: Taken, status: str) -> Json:
        about = {"id": batch.id, "object": "batch", "input_file_id": batch.file}
        ended = status == "completed"
        error = {"code": "token_limit_exceeded", "message": "Enqueued token limit reached"}
        return {
            **about, "status": status, "endpoint": self.endpoint, "metadata": batch.metadata,
            "output_file_id": f"out-{batch.id}" if ended else None, "error_file_id": None,
            "errors": {"object": "list", "data": [error]} if batch.failed else None,
        }  # fmt: skip

    def show(self, batch: Taken) -> Act:
        if batch.failed:
            return json_act(self.body_of(batch, "failed"))
        return json_act(self.body_of(batch, "completed" if self.look(batch) else "in_progress"))

    def list(self, place: str) -> Act:
        data = [self.body_of(one, "in_progress") for one in self.listed()]
        return json_act({"object": "list", "data": data, "has_more": False})


class Anthropic(BatchServer):
    """Message batches."""

    def said(self, body: Json) -> Json:
        usage = {"input_tokens": 5, "output_tokens": 1}
        content = [{"type": "text", "text": "Yes"}]
        about = {"type": "message", "role": "assistant", "model": body["model"]}
        return {**about, "content": content, "stop_reason": "end_turn", "usage": usage}

    def line(self, name: str, status: int, body: Any) -> Json:
        if status == 200:
            return {"custom_id": name, "result": {"type": "succeeded", "message": body}}
        error = {"type": "error", "error": {"type": "invalid_request_error", "message": body}}
        return {"custom_id": name, "result": {"type": "errored", "error": error}}

    def expired(self, name: str) -> Json:
        return {"custom_id": name, "result": {"type": "expired"}}

    def route(self, method: str, place: str, head: str, raw: bytes) -> Act:
        assert "anthropic-version" in head.lower()
        if (method, place) == ("POST", "/messages"):
            body = json.loads(raw)
            self.alone[question(body)] += 1
            return json_act(self.said(body))
        if (method, place) == ("POST", "/messages/batches"):
            return self.create(json.loads(raw))
        if method == "GET" and place.startswith("/messages/batches?"):
            listed = self.listed()
            for one in listed:
                self.look(one)  # time goes by
            data = [self.body_of(one) for one in listed]
            return json_act({"data": data, "has_more": False, "first_id": None, "last_id": None})
        parts = place.split("/")
        batch = self.taken.get(parts[3]) if len(parts) > 3 else None
        if method != "GET" or batch is None:
            error = {"type": "not_found_error", "message": "no"}
            return json_act({"type": "error", "error": error}, 404)
        if parts[-1] == "results":
            return self.content(batch)
        self.look(batch)
        return json_act(self.body_of(batch))

    def create(self, body: Json) -> Act:
        requests = {one["custom_id"]: one["params"] for one in body["requests"]}
        assert len(requests) == len(body["requests"])
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in requests)
        assert all("max_tokens" in one for one in requests.values())
        batch = Taken(f"msgbatch_{len(self.taken)}", time.time(), requests)
        return self.take(batch, self.body_of(batch))

    def body_of(self, batch: Taken) -> Json:
        ended = batch.looks > self.rules.looks
        n = len(batch.requests)
        counts = {"processing": 0 if ended else n, "succeeded": n if ended else 0, "errored": 0}
        made = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(batch.made)) + ".000000Z"
        about = {"id": batch.id, "type": "message_batch", "request_counts": counts}
        status = "ended" if ended else "in_progress"
        return {**about, "processing_status": status, "created_at": made, "results_url": "x"}


SERVERS: dict[str, type[BatchServer]] = {"openai-chat": OpenAI, "anthropic": Anthropic}
