"""Data exchanged with a store: requests ready to be sent, and records of exchanges."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from psychollm.collect.request import LIMITS
from psychollm.collect.roster import Model
from psychollm.collect.wire.protocol import Usage
from psychollm.collect.wire.thinking import room

TOKENS_PER_TURN = 16  # largest number of tokens that a chat template adds per turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A request leased by this process, with its whole conversation."""

    id: int
    key: str
    model: str
    model_id: str
    messages: tuple[Mapping[str, str], ...]
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """The record of one exchange with a server."""

    wire: str
    started: float  # seconds since 1970
    seconds: float
    sent: str
    kind: str  # "ok" or the kind of failure
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
    sequence_logprob: float | None = None
    sequence_tokens: int | None = None


class Entry(NamedTuple):
    """One exchange with its request, as passed to the store."""

    job: Job
    attempt: Attempt
    last: bool  # whether the request fails if this attempt has no answer


def job_of(number: int, key: str, canonical: str, before: Sequence[Mapping[str, str]] = ()) -> Job:
    """Return the job of a request, given its canonical form and the preceding conversation."""
    form = json.loads(canonical)
    return Job(
        id=number,
        key=key,
        model=form["model"],
        model_id=form["model_id"],
        messages=(*before, *form["messages"]),
        parameters=form["parameters"],
    )


def limit_of(job: Job) -> int | None:
    """Return the token limit of a reply including its reasoning, or None if it has no limit."""
    given = next((job.parameters[name] for name in LIMITS if name in job.parameters), None)
    return None if given is None else int(given) + room(job.parameters)


def likely_tokens(job: Job) -> int:
    """Return the approximate number of tokens of a request and its reply, for rate limits."""
    letters = sum(len(turn["content"]) for turn in job.messages)
    return letters // 4 + TOKENS_PER_TURN + (limit_of(job) or 256)


def most_tokens(job: Job) -> tuple[int, int]:
    """Return upper bounds on the tokens of a request (one per byte) and of its reply."""
    octets = sum(len(turn["content"].encode("utf-8", "replace")) for turn in job.messages)
    return octets + TOKENS_PER_TURN * len(job.messages), limit_of(job) or 0


def most_cost(job: Job, model: Model) -> float:
    """Return an upper bound on the cost of one request; 0 if there are no prices."""
    return model.prices.of(*most_tokens(job)) if model.prices else 0.0


def cost_of(usage: Usage, job: Job, model: Model) -> float:
    """Return the cost of one exchange as stated by the server or computed from its tokens."""
    # If the server reports 0 tokens or no number of tokens, the upper bound is used.
    if usage.cost is not None:
        return usage.cost
    if model.prices is None:
        return 0.0
    most = most_tokens(job)
    return model.prices.of(usage.input or most[0], usage.output or most[1])
