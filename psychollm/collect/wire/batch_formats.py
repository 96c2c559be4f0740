"""Batch formats of OpenAI and Anthropic, which submit, query and fetch batches.

The client names each batch, and the names of its requests contain the name of the batch. If a
server may have received a batch without confirming it, `find` searches the server's list of
batches before the batch is submitted again.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from urllib.parse import quote

from psychollm._base.untrusted_json import as_number, parse_json
from psychollm.collect.connection import Connections, Exchange
from psychollm.collect.faults import Kind, kind_of_status

LARGEST_RESULTS = 2**30  # largest size in bytes of all replies of a batch
_KEPT = 2**16  # number of bytes kept of an error text, before secrets are removed
CLOCKS_DIFFER = 600.0  # seconds by which a server's clock may differ from this machine's
_PAGES = 20  # number of pages of the list of batches to search


class BatchError(Exception):
    """Error for a failed call of a batch API."""

    def __init__(self, kind: Kind, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail


class NotYetError(BatchError):
    """Error that signals that the server needs more time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A batch before submission, with its name and with its request bodies by name."""

    name: str
    made: float  # seconds since 1970
    bodies: Mapping[str, bytes]
    path: str  # path of each single request
    file: str | None = None  # identifier of the uploaded file


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Status of a batch; after the batch has ended, `places` are the paths of its results."""

    ended: bool
    places: tuple[str, ...] = ()
    refused: str | None = None  # reason why the server rejected the whole batch
    crowded: bool = False  # whether it was rejected only because other work is pending


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of a request: a reply or error with its status, or the reason why it is missing."""

    name: str
    status: int | None
    raw: bytes
    why: str | None = None


class BatchFormat(Protocol):
    """A server's batch API."""

    async def upload(self, line: Connections, draft: Draft) -> str | None:
        """Upload the requests as a file (free of charge), and return the file's identifier."""

    async def create(self, line: Connections, draft: Draft) -> str:
        """Submit a batch and return the server's identifier."""

    async def find(self, line: Connections, draft: Draft, known: Sequence[str]) -> str | None:
        """Return the identifier of a batch that the server may have received, or None.

        The method raises `BatchError` as long as the server's list is incomplete.
        """

    async def look(self, line: Connections, batch: str) -> Look:
        """Return the status of a batch."""

    def outcome(self, entry: Mapping[str, Any]) -> Outcome | None:
        """Parse one line of the results; return None if it cannot be used."""


def object_from(exchange: Exchange) -> dict[str, Any]:
    """Return the JSON object of a response."""
    raw = _bytes(exchange)
    try:
        body = parse_json(raw, errors="replace")
    except ValueError as error:
        raise BatchError(Kind.BAD_JSON, f"not valid JSON: {error}") from error
    if not isinstance(body, dict):
        raise BatchError(Kind.BAD_JSON, "JSON, but not an object")
    return body


def _bytes(exchange: Exchange) -> bytes:
    if exchange.kind is not Kind.OK or exchange.status is None or exchange.raw is None:
        raise BatchError(exchange.kind, exchange.detail or "no response")
    if not 200 <= exchange.status < 300:
        said = exchange.raw[:_KEPT].decode("utf-8", "replace")
        raise BatchError(kind_of_status(exchange.status, exchange.raw), said)
    return exchange.raw


async def results(line: Connections, form: BatchFormat, look: Look) -> dict[str, Outcome]:
    """Return the outcomes of the requests of a batch, using the first of duplicate lines."""
    found: dict[str, Outcome] = {}
    for place in look.places:
        raw = _bytes(await line.send("GET", place, largest=LARGEST_RESULTS))
        for entry in _lines(raw):
            if (outcome := form.outcome(entry)) is not None:
                found.setdefault(outcome.name, outcome)
    return found


def _lines(raw: bytes) -> Iterator[dict[str, Any]]:
    for text in raw.split(b"\n"):
        try:
            entry = parse_json(text, errors="replace") if text.strip() else None
        except ValueError:
            continue  # a request whose line is damaged counts as lost
        if isinstance(entry, dict):
            yield entry


async def _pages(line: Connections, place: str) -> list[dict[str, Any]]:
    """Return the batches in a server's list, the newest first."""
    listed: list[dict[str, Any]] = []
    after = ""
    for _ in range(_PAGES):
        page = object_from(await line.send("GET", place + after))
        data = page.get("data")
        entries = [one for one in data if isinstance(one, dict)] if isinstance(data, list) else []
        listed += entries
        if not page.get("has_more") or not entries:
            break
        name = "after_id" if "message" in place else "after"
        after = f"&{name}={quote(str(entries[-1].get('id')), safe='')}"
    return listed


def _id(body: Mapping[str, Any]) -> str:
    name = body.get("id")
    if not isinstance(name, str) or not re.fullmatch(r"[\w.:-]{1,200}", name):
        raise BatchError(Kind.BAD_JSON, "the response has no id")
    return name


class OpenAIBatches:
    """Batches submitted through ``POST /files`` and ``POST /batches``, with results in files."""

    async def upload(self, line: Connections, draft: Draft) -> str | None:
        """Upload the requests as a file."""
        lines = [
            b'{"custom_id": %s, "method": "POST", "url": %s, "body": %s}'
            % (json.dumps(name).encode(), json.dumps(draft.path).encode(), body)
            for name, body in draft.bodies.items()
        ]
        edge = f"psychollm-{draft.name}"
        head = (
            f'--{edge}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
            f'--{edge}\r\nContent-Disposition: form-data; name="file"; '
            f'filename="{draft.name}.jsonl"\r\nContent-Type: application/jsonl\r\n\r\n'
        )
        body = head.encode() + b"\n".join(lines) + f"\r\n--{edge}--\r\n".encode()
        headers = {"Content-Type": f"multipart/form-data; boundary={edge}"}
        return _id(object_from(await line.send("POST", "/files", body, headers=headers)))

    async def create(self, line: Connections, draft: Draft) -> str:
        """Create a batch from the uploaded file."""
        body = {
            "input_file_id": draft.file,
            "endpoint": draft.path,
            "completion_window": "24h",
            "metadata": {"psychollm": draft.name},
        }
        return _id(object_from(await line.post(json.dumps(body).encode(), "/batches")))

    async def find(self, line: Connections, draft: Draft, known: Sequence[str]) -> str | None:
        """Find the batch by its file, which no other batch uses."""
        for one in await _pages(line, "/batches?limit=100"):
            if one.get("input_file_id") == draft.file:
                return _id(one)
        return None

    async def look(self, line: Connections, batch: str) -> Look:
        """Return the status of a batch."""
        body = object_from(await line.send("GET", f"/batches/{batch}"))
        status = body.get("status")
        files = [body.get("output_file_id"), body.get("error_file_id")]
        places = tuple(
            f"/files/{quote(one, safe='')}/content"
            for one in files
            if one and isinstance(one, str)
        )
        if status == "failed" and not places:
            errors = json.dumps(body.get("errors"))
            return Look(ended=True, refused=errors, crowded="token_limit_exceeded" in errors)
        ended = status in {"completed", "failed", "expired", "cancelled"}
        return Look(ended=ended, places=places if ended else ())

    def outcome(self, entry: Mapping[str, Any]) -> Outcome | None:
        """Parse one line of a results file."""
        name, response, error = entry.get("custom_id"), entry.get("response"), entry.get("error")
        if not isinstance(name, str):
            return None
        if isinstance(response, dict) and isinstance(response.get("status_code"), int):
            raw = json.dumps(response.get("body"), ensure_ascii=False).encode("utf-8", "replace")
            return Outcome(name, response["status_code"], raw)
        return Outcome(name, None, b"", json.dumps(error))


_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "overloaded_error": 529,
}


class AnthropicBatches:
    """Batches submitted through ``POST /messages/batches``; only their results identify them."""

    async def upload(self, line: Connections, draft: Draft) -> str | None:
        """Do nothing: the batch itself contains the requests."""
        return None

    async def create(self, line: Connections, draft: Draft) -> str:
        """Submit the requests."""
        entries = [
            b'{"custom_id": %s, "params": %s}' % (json.dumps(name).encode(), body)
            for name, body in draft.bodies.items()
        ]
        body = b'{"requests": [' + b", ".join(entries) + b"]}"
        return _id(object_from(await line.post(body, "/messages/batches")))

    async def find(self, line: Connections, draft: Draft, known: Sequence[str]) -> str | None:
        """Find a batch by request names in its results, among batches of equal size and time."""
        for one in await _pages(line, "/messages/batches?limit=100"):
            name = one.get("id")
            if name in known or not _like(one, draft):
                continue
            if one.get("processing_status") != "ended":
                msg = f"{name} may be this batch, and has not ended"
                raise NotYetError(Kind.OVERLOADED, msg)
            look = Look(ended=True, places=(_results_of(_id(one)),))
            try:
                outcomes = await results(line, self, look)
            except BatchError as error:
                if error.kind is not Kind.NOT_FOUND:
                    raise
                raise NotYetError(error.kind, f"{name} has no results yet") from None
            if any(key in draft.bodies for key in outcomes):
                return _id(one)
        return None

    async def look(self, line: Connections, batch: str) -> Look:
        """Return the status of a batch."""
        body = object_from(await line.send("GET", f"/messages/batches/{batch}"))
        ended = body.get("processing_status") == "ended"
        return Look(ended=ended, places=(_results_of(batch),) if ended else ())

    def outcome(self, entry: Mapping[str, Any]) -> Outcome | None:
        """Parse one line of the results."""
        name, result = entry.get("custom_id"), entry.get("result")
        if not isinstance(name, str) or not isinstance(result, dict):
            return None
        for kind in ("message", "error"):
            if isinstance(result.get(kind), dict):
                body = result[kind]
                inner = body.get("error") if kind == "error" else None
                inner = inner if isinstance(inner, dict) else body
                status = 200 if kind == "message" else _STATUS.get(str(inner.get("type")), 500)
                raw = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
                return Outcome(name, status, raw)
        return Outcome(name, None, b"", f"{result.get('type')} in the batch")


def _results_of(batch: str) -> str:
    return f"/messages/batches/{batch}/results"


def _like(listed: Mapping[str, Any], draft: Draft) -> bool:
    """Return whether a listed batch has the size of the draft and is not older than the draft."""
    counts = listed.get("request_counts")
    n = sum(as_number(one) or 0 for one in counts.values()) if isinstance(counts, dict) else 0
    try:
        made = datetime.fromisoformat(str(listed.get("created_at"))).timestamp()
    except (ValueError, OverflowError):
        made = draft.made
    return n == len(draft.bodies) and made >= draft.made - CLOCKS_DIFFER
