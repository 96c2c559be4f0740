"""What goes in and out of a store: a request ready to be sent, and an exchange as it was."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A request that this process has leased, with its whole conversation."""

    id: int
    key: str
    model: str
    model_id: str
    messages: tuple[Mapping[str, str], ...]
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One exchange with a server, as it was."""

    wire: str
    started: float  # seconds since 1970
    seconds: float
    sent: str
    kind: str  # "ok" or what went wrong
    status: int | None = None
    raw: bytes | None = None
    detail: str | None = None
    retry_after: float | None = None
    text: str | None = None
    reasoning: str | None = None
    finish_reason: str | None = None
    served_model: str | None = None
    provider: str | None = None
    fingerprint: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: float = 0.0
    yes_mass: float | None = None
    no_mass: float | None = None


def job_of(place: int, key: str, canonical: str, before: Sequence[Mapping[str, str]] = ()) -> Job:
    """Return the job of a request from its canonical form and the conversation before it."""
    form = json.loads(canonical)
    return Job(
        id=place,
        key=key,
        model=form["model"],
        model_id=form["model_id"],
        messages=(*before, *form["messages"]),
        parameters=form["parameters"],
    )
