"""One exchange with a server: the request body, the response, and the outcome."""

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from psychollm.collect.connection import Exchange
from psychollm.collect.faults import (
    MAYBE_BILLED,
    Kind,
    kind_of_status,
    refused_parameter,
    retry_after,
)
from psychollm.collect.records import Attempt, Job, cost_of, most_cost
from psychollm.collect.roster import Endpoint, Model
from psychollm.collect.secrets import Blotter, filled, filled_address, named_in
from psychollm.collect.store import Store
from psychollm.collect.wire.probabilities import sequence_logprob
from psychollm.collect.wire.protocol import Line, Reply, UnreadableReplyError, fault_of

KEPT = 2**16  # maximum number of bytes stored of a response without an answer
# Errors that parsing may raise for replies in an unknown format.
_UNFORESEEN = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError)
# Fields that a reply and the record of its exchange have in common.
_SAID = ("text", "reasoning", "finish_reason", "served_model", "provider", "fingerprint")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The outcome of one exchange with the server."""

    kind: Kind
    attempt: Attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A request body in two versions: as stored, and as sent with the secrets inserted."""

    parameters: Mapping[str, Any]
    sent: str
    leaves: bytes


class Asker:
    """Client that sends requests to one endpoint and classifies the responses."""

    def __init__(self, endpoint: Endpoint, models: Mapping[str, Model], store: Store) -> None:
        self._wire = endpoint.wire_format
        self._models = models
        self._store = store
        self._where = where = f"endpoint {endpoint.name!r}: "
        self._endpoint = endpoint
        self._secret = endpoint.secret()
        self._line = self._wire.open(
            filled_address(endpoint.url, where),
            secret=self._secret,
            headers=filled(endpoint.headers, where),
            timeout=endpoint.timeout,
            device=endpoint.device,
        )
        self.blot = Blotter(variables_of(endpoint, models.values()))
        self.blot.learn(filter(None, [self._secret]))
        self._dropped = {name: store.dropped(name) for name in models}

    @property
    def line(self) -> Line:
        """The connection to the endpoint."""
        return self._line

    async def ask(self, job: Job) -> Asked:
        """Send one request and return its outcome."""
        written = self.written(job)
        return self.judged(job, written, await self._post(job, written.leaves))

    def written(self, job: Job) -> Written:
        """Return the two versions of the body of a request, as stored and as sent."""
        parameters = self._parameters(job)
        sent = leaves = json.dumps(self._body(job, parameters))
        if named_in(parameters):
            leaves = json.dumps(self._body(job, filled(parameters, self._where)))
        return Written(parameters=parameters, sent=sent, leaves=leaves.encode())

    def judged(self, job: Job, written: Written, exchange: Exchange) -> Asked:
        """Return the outcome of a request, given the server's response."""
        raw = None if exchange.raw is None else self.blot(exchange.raw)
        kind, detail, reply = self._judge(exchange, raw)
        if kind is Kind.BAD_REQUEST and self._drop_refused(job, raw or b"", written.parameters):
            kind = Kind.REFUSED_PARAMETER
        attempt = Attempt(
            wire=self._wire.name,
            started=exchange.started,
            seconds=exchange.seconds,
            sent=written.sent,
            kind=kind.value,
            status=exchange.status,
            raw=raw if raw is None or kind is Kind.OK else raw[:KEPT],
            detail=detail,
            retry_after=retry_after(exchange.headers, exchange.started + exchange.seconds),
            **self._read(job, reply, kind),
        )
        return Asked(kind=kind, attempt=attempt)

    def _body(self, job: Job, parameters: Mapping[str, Any]) -> dict[str, Any]:
        body = self._wire.body(job.model_id, job.messages, parameters)
        return self._wire.streamed(body) if self._endpoint.stream else body

    async def _post(self, job: Job, leaves: bytes) -> Exchange:
        """Send a body; if the server rejects the secret, renew it and send the body again."""
        place = self._wire.place(job.model_id, stream=self._endpoint.stream)
        before = self._secret
        exchange = await self._line.post(leaves, place)
        refused = exchange.status in {401, 403} and exchange.kind is Kind.OK
        if refused and self._endpoint.key_command is not None:
            if self._secret == before:  # otherwise another request has already renewed the secret
                self._secret = await asyncio.to_thread(self._endpoint.secret)
                self.blot.learn(filter(None, [self._secret]))
                self._line.authorise(self._wire.headers(self._secret))
            if self._secret != before:
                return await self._line.post(leaves, place)
        return exchange

    async def close(self) -> None:
        """Close the connection to the endpoint."""
        await self._line.close()

    def _parameters(self, job: Job) -> dict[str, Any]:
        """Return the parameters that the format supports and the model accepts."""
        dropped = self._dropped[job.model]
        kept: dict[str, Any] = {}
        for name, value in job.parameters.items():
            if name in self._wire.lacks and name not in dropped:
                why = f"the format {self._wire.name} does not support this parameter"
                self._store.drop(job.model, name, None, why)
                dropped[name] = None
            sent_as = dropped.get(name, name)
            if sent_as is not None and (sent_as == name or sent_as not in job.parameters):
                kept[sent_as] = value
        return kept

    def _drop_refused(self, job: Job, raw: bytes, sent: Mapping[str, Any]) -> bool:
        """Drop a parameter that a server rejects; return whether to resend without it."""
        dropped = self._dropped[job.model]
        refused = refused_parameter(raw[:KEPT], sent.keys())
        if refused is None or refused[0] in dropped.values():
            return False  # the server names no parameter, or also rejects the replacement
        if refused[0] not in dropped:
            self._store.drop(job.model, *refused, raw[:500].decode("utf-8", "replace"))
            dropped[refused[0]] = refused[1]
        return True

    def _judge(
        self, exchange: Exchange, raw: bytes | None
    ) -> tuple[Kind, str | None, Reply | None]:
        """Return the outcome of an exchange, an explanation, and the reply if there is one."""
        if exchange.kind is not Kind.OK or exchange.status is None or raw is None:
            return exchange.kind, exchange.detail, None
        if not 200 <= exchange.status < 300:
            message = raw[:500].decode("utf-8", "replace")
            return kind_of_status(exchange.status, raw), message, None
        try:
            reply = self._wire.read(raw)
        except UnreadableReplyError as error:
            kind = error.kind if error.status is None else kind_of_status(error.status, raw)
            return kind, error.detail, None
        except _UNFORESEEN as error:  # a malformed reply fails one request, not the run
            return Kind.BAD_JSON, f"the reply has an unknown form ({type(error).__name__})", None
        fault = fault_of(reply)
        return (Kind.OK, None, reply) if fault is None else (*fault, reply)

    def _read(self, job: Job, reply: Reply | None, kind: Kind) -> dict[str, Any]:
        """Return the fields of a reply that an attempt stores, and the cost of the reply."""
        model = self._models[job.model]
        if reply is None:
            return {"cost": most_cost(job, model) if kind in MAYBE_BILLED else 0.0}
        return {
            **{name: getattr(reply, name) for name in _SAID},
            "input_tokens": reply.usage.input,
            "output_tokens": reply.usage.output,
            "reasoning_tokens": reply.usage.reasoning,
            "cost": cost_of(reply.usage, job, model),
            **_probabilities(reply),
        }


def _probabilities(reply: Reply) -> dict[str, Any]:
    """Return an attempt's log-probability fields, or no fields if the server sent none."""
    if not reply.tokens:
        return {}
    mass, whole = reply.mass, sequence_logprob(reply.tokens)
    return {
        "yes_mass": None if mass is None else mass.yes,
        "no_mass": None if mass is None else mass.no,
        "sequence_logprob": whole,
        "sequence_tokens": None if whole is None else len(reply.tokens),
    }


def variables_of(endpoint: Endpoint, models: Iterable[Model]) -> set[str]:
    """Return the names of environment variables with secrets of an endpoint or its models."""
    named = named_in(endpoint.headers, endpoint.url, *(model.parameters for model in models))
    return named if endpoint.key is None else named | {endpoint.key}
