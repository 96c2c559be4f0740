"""Collection in batches, which are submitted, awaited and fetched.

Requests that fail in a batch are then sent individually. Each batch is submitted, and paid for,
only once, because the store records a batch before it is sent. After a killed process or a broken
connection, it may be unknown whether the server received a batch. The client then searches the
server's list of batches before it submits the batch again. The client repeats the search for as
long as the server's list may be delayed.

The store records the state of a batch and its requests before the batch is sent. Therefore, no
other process can take the requests of a recorded batch, even if this process is killed. The states
of a batch are:

drafted -> sending (the server may have it) -> sent (the server has assigned an ID) -> closed
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar
from uuid import uuid4

from psychollm.collect.asking import Asker
from psychollm.collect.connection import Connections, Exchange
from psychollm.collect.faults import COUNTED, FINAL, HOPELESS, Kind
from psychollm.collect.lane import Lane, backoff
from psychollm.collect.progress import RunState
from psychollm.collect.records import Job, job_of, most_cost
from psychollm.collect.roster import Endpoint, Model
from psychollm.collect.store import LEASE_SECONDS, UNTRIED, Store, spent_in
from psychollm.collect.wire.batch_formats import (
    BatchError,
    BatchFormat,
    Draft,
    Look,
    NotYetError,
    Outcome,
    results,
)

MOST_REQUESTS = 10_000  # largest number of requests per batch
MOST_LETTERS = 40_000_000  # largest number of characters in the prompts of a batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A batch that is not yet closed in the store."""

    id: int
    model: str
    name: str
    made: float
    state: str
    file: str | None
    server_id: str | None


_FIELDS = ", ".join(Batch.__dataclass_fields__)


def draft(
    store: Store,
    model: str,
    amount: Callable[[Job], float],
    *,
    budget: float | None,
    model_budget: float | None,
) -> Batch | None:
    """Record a new batch with as many of a model's unsent requests as the budgets allow."""
    moment = time.time()
    with store.writing() as db:
        # SQL injection is impossible, because the query contains only constants of this module.
        waiting = db.execute(
            "SELECT id, key, canonical, follows FROM request WHERE model = ? AND state = 'open' "  # noqa: S608
            f"AND superseded = 0 AND lease_until <= ? AND batch IS NULL AND {UNTRIED} "
            "ORDER BY id LIMIT ?",
            (model, moment, MOST_REQUESTS),
        ).fetchall()
        held, own = spent_in(db, None), spent_in(db, model)
        chosen: list[tuple[float, int]] = []
        letters = 0
        for row in waiting:
            before = store.before(row["follows"])
            job = job_of(row["id"], row["key"], row["canonical"], before)
            cost = amount(job)
            held, own = held + cost, own + cost
            letters += len(row["canonical"]) + sum(len(turn["content"]) for turn in before)
            over = held > (budget or held) or own > (model_budget or own)
            if over or (chosen and letters > MOST_LETTERS):
                break
            chosen.append((cost, job.id))
        if not chosen:
            return None
        number = db.execute(
            "INSERT INTO batch (model, name, made, state, lease_owner, lease_until) "
            "VALUES (?, ?, ?, 'drafted', ?, ?)",
            (model, uuid4().hex[:20], moment, store.owner, moment + LEASE_SECONDS),
        ).lastrowid
        db.executemany(
            "UPDATE request SET batch = ?, reserved = ? WHERE id = ?",
            [(number, cost, one) for cost, one in chosen],
        )
        row = db.execute(f"SELECT {_FIELDS} FROM batch WHERE id = ?", (number,)).fetchone()  # noqa: S608
    return Batch(**row)


def adopt(store: Store, model: str) -> list[Batch]:
    """Take over a model's batches that no running process owns."""
    moment = time.time()
    with store.writing() as db:
        rows = db.execute(
            "UPDATE batch SET lease_owner = ?, lease_until = ? WHERE model = ? "  # noqa: S608
            f"AND state <> 'closed' AND lease_until <= ? RETURNING {_FIELDS}",
            (store.owner, moment + LEASE_SECONDS, model, moment),
        ).fetchall()
    return [Batch(**row) for row in rows]


def note(
    store: Store, batch: Batch, *, state: str, file: str | None = None, server: str | None = None
) -> None:
    """Record the state of a batch."""
    with store.writing() as db:
        db.execute(
            "UPDATE batch SET state = ?, file = coalesce(?, file), "
            "server_id = coalesce(?, server_id) WHERE id = ?",
            (state, file, server, batch.id),
        )


def close(store: Store, batch: Batch) -> None:
    """Close a batch and release its remaining requests."""
    with store.writing() as db:
        db.execute(
            "UPDATE request SET batch = NULL, reserved = 0 WHERE batch = ?",
            (batch.id,),
        )
        db.execute(
            "UPDATE batch SET state = 'closed', lease_owner = NULL, lease_until = 0 WHERE id = ?",
            (batch.id,),
        )


def jobs_in(store: Store, batch: Batch) -> dict[str, Job]:
    """Map the names of requests in a batch to the requests."""
    query = "SELECT id, key, canonical, follows FROM request WHERE batch = ? ORDER BY id"
    return {
        f"{batch.name}-{row['id']}": job_of(
            row["id"], row["key"], row["canonical"], store.before(row["follows"])
        )
        for row in list(store.rows(query, (batch.id,)))
    }


def server_ids(store: Store) -> list[str]:
    """Return the identifiers that servers gave to the batches of a store."""
    query = "SELECT server_id FROM batch WHERE server_id IS NOT NULL"
    return [row[0] for row in store.rows(query)]


T = TypeVar("T")

# after this number of queries of the server's list, an unlisted batch counts as not received
LAGS = 4
# Outcomes of a call without a response: the server may still have processed the call.
_UNHEARD = COUNTED | {Kind.OVERLOADED}


class _LeftError(Exception):
    """Error that stops the processing of a batch, so that a later run can continue it."""


class BatchLane:
    """Queue of all requests to one endpoint that supports batches."""

    def __init__(self, endpoint: Endpoint, models: Sequence[Model], state: RunState) -> None:
        self._endpoint = endpoint
        self._models = {model.name: model for model in models}
        self._state = state
        self._store = state.store
        self._asker = Asker(endpoint, self._models, state.store)
        self._format: BatchFormat = endpoint.wire_format.batches
        self._wake = state.new_wake()
        self._settled = 0

    async def run(self) -> None:
        """Submit and fetch batches until all requests are done or the run stops."""
        try:
            more = True
            while more and not self._state.stopping:
                before = self._settled
                await asyncio.gather(*(self._of(name) for name in self._models))
                if self._state.stopping:
                    return
                await Lane(self._endpoint, [*self._models.values()], self._state, tried=True).run()
                # After new replies, follow-up prompts can be sent in further batches.
                more = any(self._open(name) for name in self._models)
                if more and self._settled == before:
                    self._nothing_moves()
                    return
        finally:
            await self._asker.close()

    def _open(self, model: str) -> bool:
        halted = self._state.progress[model].halted
        return halted is None and self._store.is_open(model, untried=True)

    async def _of(self, model: str) -> None:
        """Process the batches of one model."""
        while self._state.progress[model].halted is None and not self._state.stopping:
            mine = adopt(self._store, model)
            while (new := self._draft(model)) is not None:
                mine.append(new)
            if not mine:
                return
            self._state.progress[model].batched = sum(
                len(jobs_in(self._store, one)) for one in mine
            )
            await asyncio.gather(*(self._settle(one) for one in mine))
            self._state.progress[model].batched = 0

    def _draft(self, model: str) -> Batch | None:
        known = self._models[model]
        return draft(
            self._store,
            model,
            lambda job: most_cost(job, known),
            budget=self._state.budget,
            model_budget=known.budget,
        )

    def _nothing_moves(self) -> None:
        """Stop this run if it has a budget, because no further request fits the budget."""
        budgets = [self._state.budget, *(model.budget for model in self._models.values())]
        if any(one is not None for one in budgets):
            self._state.stop("the budget does not allow another request")

    # -- one batch -----------------------------------------------------------------------------

    async def _settle(self, batch: Batch) -> None:
        """Complete one batch, whatever its state."""
        jobs = jobs_in(self._store, batch)
        try:
            while True:
                server = batch.server_id or await self._hand_in(batch, jobs)
                look = await self._ended(server)
                if not look.crowded:
                    break
                note(self._store, batch, state="drafted")
                batch = replace(batch, state="drafted", server_id=None, file=None)
                await self._pause(self._endpoint.poll)
            found = await self._patiently(
                lambda: results(self._line, self._format, look), missing=True
            )
            self._keep(jobs, found, look.refused)
        except BatchError as error:
            if error.kind not in HOPELESS | {Kind.NOT_FOUND}:
                # The server may have received the batch, so it stays open for a later run.
                said = self._blotted(error.detail)
                self._state.progress[batch.model].halted = f"{error.kind.value} ({said})"
                self._forget(batch)
                return
            self._keep(jobs, {}, f"the batch failed: {error.detail}")
        except _LeftError:
            return
        close(self._store, batch)
        self._settled += 1

    def _blotted(self, said: str) -> str:
        return self._asker.blot(said.encode("utf-8", "replace"))[:300].decode("utf-8", "replace")

    def _forget(self, batch: Batch) -> None:
        """Close a batch unless the server may have received it."""
        (row,) = self._store.rows("SELECT state FROM batch WHERE id = ?", (batch.id,))
        if row["state"] == "drafted":
            close(self._store, batch)

    @property
    def _line(self) -> Connections:
        line = self._asker.line
        assert isinstance(line, Connections)  # noqa: S101 -- all formats with batches use HTTP
        return line

    async def _hand_in(self, batch: Batch, jobs: dict[str, Job]) -> str:
        """Return the server's identifier of a batch, submitting it if necessary."""
        plan = Draft(
            name=batch.name,
            made=batch.made,
            bodies={name: self._asker.written(job).leaves for name, job in jobs.items()},
            path="/v1" + self._endpoint.wire_format.place("", stream=False),
            file=batch.file,
        )
        doubt = batch.state == "sending"
        begun = time.monotonic()
        while True:
            if doubt and (known := await self._found(batch, plan)) is not None:
                return known
            if plan.file is None:
                file = await self._patiently(partial(self._format.upload, self._line, plan))
                note(self._store, batch, state="drafted", file=file)
                plan = replace(plan, file=file)
            note(self._store, batch, state="sending")
            try:
                server = await self._format.create(self._line, plan)
            except BatchError as error:
                doubt = error.kind in _UNHEARD
                if not doubt:
                    note(self._store, batch, state="drafted")
                certain = not doubt and error.kind not in {Kind.RATE_LIMITED, Kind.UNREACHABLE}
                if certain or time.monotonic() - begun > self._endpoint.patience:
                    raise
                await self._pause(self._endpoint.poll)
            else:
                note(self._store, batch, state="sent", server=server)
                return server

    async def _found(self, batch: Batch, plan: Draft) -> str | None:
        """Search the server's list for a batch that the server may have received."""
        for _ in range(LAGS):
            await self._pause(self._endpoint.poll)
            known = [one for one in server_ids(self._store) if one != batch.server_id]
            try:
                server = await self._patiently(partial(self._format.find, self._line, plan, known))
            except BatchError as error:
                if error.kind not in HOPELESS | {Kind.NOT_FOUND}:
                    raise
                # The server may have received the batch, so sending its requests again could cost
                # twice as much.
                msg = f"the list of batches cannot be read: {error.detail}"
                raise BatchError(Kind.SERVER_ERROR, msg) from error
            if server is not None:
                note(self._store, batch, state="sent", server=server)
                return server
        return None

    async def _ended(self, server: str) -> Look:
        """Wait until a batch has ended."""
        while True:
            look = await self._patiently(
                lambda: self._format.look(self._line, server), missing=True
            )
            if look.ended:
                return look
            await self._pause(self._endpoint.poll)

    async def _patiently(self, call: Callable[[], Awaitable[T]], *, missing: bool = False) -> T:
        """Repeat a call if the server is unavailable or, with `missing`, lists no batch yet."""
        begun, tries = time.monotonic(), 0
        while True:
            try:
                return await call()
            except BatchError as error:
                tries += 1
                late = missing and error.kind is Kind.NOT_FOUND and tries <= LAGS
                if isinstance(error, NotYetError):  # the server needs more time
                    late, begun, tries = True, time.monotonic(), 0
                passing = late or error.kind not in FINAL | HOPELESS
                if not passing or time.monotonic() - begun > self._endpoint.patience:
                    raise
            await self._pause(max(self._endpoint.poll, backoff(tries, self._state.draw)))

    async def _pause(self, seconds: float) -> None:
        """Wait; if this run is stopping, leave the batch to a later run."""
        self._wake.clear()
        if not self._state.stopping:
            try:
                async with asyncio.timeout(seconds):
                    await self._wake.wait()
            except TimeoutError:
                return
        if self._state.stopping:
            raise _LeftError

    # -- results -------------------------------------------------------------------------------

    def _keep(self, jobs: dict[str, Job], found: dict[str, Outcome], why: str | None) -> None:
        """Store the results of a batch; requests without a result count as lost."""
        # Build all bodies before reading any result, because a result that rejects a parameter
        # changes the bodies that are built afterwards.
        written = {name: self._asker.written(job) for name, job in jobs.items()}
        moment = time.time()
        for name, job in jobs.items():
            outcome = found.get(name)
            lost = outcome is None or outcome.status is None
            # Requests that the server reports as unprocessed cost nothing. Requests that are
            # missing from the server's report may have been processed and charged.
            gone = Kind.LOST if outcome is None and why is None else Kind.EXPIRED
            said = why or (outcome.why if outcome else None) or "the batch has no result for it"
            exchange = Exchange(
                started=moment,
                seconds=0.0,
                status=None if outcome is None else outcome.status,
                headers={},
                raw=None if outcome is None else outcome.raw,
                kind=gone if lost else Kind.OK,
                detail=self._blotted(said) if lost else None,
            )
            asked = self._asker.judged(job, written[name], exchange)
            failed = asked.kind in HOPELESS
            self._store.record(job, asked.attempt, last=failed)
            self._state.tally(job.model, asked.kind, asked.attempt, failed=failed)
            if failed or asked.kind is Kind.OK:
                self._state.draw_more(job.model)
