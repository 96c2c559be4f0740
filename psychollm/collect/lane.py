"""Request queue of one endpoint: a loop admits requests, and each request runs as a task.

However many requests the store contains, only the requests in flight, the requests waiting for a
retry, and one window of new requests are in memory.

Each request takes its units of the rate limit in one transaction, and then waits until these units
are available. Processes share the rate limit, so times are wall-clock times. If the clock is set
back, earlier use of the rate limit is ignored.
"""

import asyncio
import heapq
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from psychollm.collect.asking import Asked, Asker
from psychollm.collect.faults import BUSY, COUNTED, CROWDED, FINAL, HOPELESS, Kind
from psychollm.collect.progress import RunState
from psychollm.collect.records import Job, likely_tokens, most_cost
from psychollm.collect.roster import Endpoint, Model
from psychollm.collect.store import Store

Draw = Callable[[], float]  # returns a random number from 0 to 1

FIRST_DELAY = 0.5  # seconds before the first retry
LONGEST_DELAY = 60.0


def backoff(tries: int, draw: Draw) -> float:
    """Return the seconds to wait after `tries` failures, doubled each time up to a limit."""
    # The delay is multiplied by a random factor between one half and one, so that requests that
    # failed together are not retried together.
    delay = min(FIRST_DELAY * 2.0 ** min(tries - 1, 30), LONGEST_DELAY)
    return delay * (0.5 + 0.5 * draw())


@dataclass(slots=True)
class Window:
    """Limit on concurrent requests, with additive increase and multiplicative decrease."""

    # Until the server first reports overload, the window grows by one with each answer, which
    # doubles it whenever all its requests are answered. Afterwards it grows by one for each window
    # of answers. Requests that are in flight together halve the window at most once. It never
    # falls below one, so that it can always recover.

    limit: int
    size: float
    cut_at: float = -1.0
    slow_start: bool = True

    def grow(self, in_flight: int) -> None:
        """Record an answer; enlarge the window if the whole window is in use."""
        if in_flight >= int(self.size):
            step = 1.0 if self.slow_start else 1.0 / self.size
            self.size = min(self.size + step, float(self.limit))

    def shrink(self, *, started: float, now: float) -> None:
        """Halve the window after an overload, if the request was sent after the last halving."""
        self.slow_start = False
        if started > self.cut_at:
            self.size = max(self.size / 2.0, 1.0)
            self.cut_at = now


@dataclass(slots=True)
class Allowance:
    """A rate limit in units per minute; unused units expire after a few seconds."""

    per_minute: float | None
    saved_seconds: float = 1.0
    free_at: float = field(default=-1e18)  # time from which all units taken so far are available

    def take(self, units: float, *, now: float) -> float:
        """Reserve units, and return the number of seconds until these units are available."""
        if self.per_minute is None:
            return 0.0
        wait = max(self.free_at - now - self.saved_seconds, 0.0)
        self.free_at = max(self.free_at, now) + units * 60.0 / self.per_minute
        return wait

    def give_back(self, units: float) -> None:
        """Give back unused units; a negative number means that more units were used than taken."""
        if self.per_minute is not None:
            self.free_at -= units * 60.0 / self.per_minute


class SharedAllowance:
    """Rate limits on requests and tokens of one endpoint, shared by all processes of a store."""

    # Endpoints with the same address and secret share one allowance, because the server counts
    # their requests together.

    def __init__(self, store: Store, endpoint: Endpoint) -> None:
        self._store = store
        self._place = f"{endpoint.url} {endpoint.key or ''}".strip()
        given = {"requests": endpoint.requests_per_minute, "tokens": endpoint.tokens_per_minute}
        self._limits = {unit: limit for unit, limit in given.items() if limit is not None}

    def take(self, tokens: float, *, now: float | None = None) -> float:
        """Take one request and its tokens; return the number of seconds to wait before sending."""
        return self._change({"requests": 1.0, "tokens": tokens}, now)

    def give_back(self, tokens: float, *, requests: float = 0.0) -> None:
        """Give back unused tokens; a negative number means that more were used than taken."""
        self._change({"requests": -requests, "tokens": -tokens}, None)

    def _change(self, units: Mapping[str, float], now: float | None) -> float:
        changed = {unit: units[unit] for unit in self._limits if units[unit]}
        if not changed:
            return 0.0
        moment = time.time() if now is None else now
        wait = 0.0
        with self._store.writing() as db:
            for unit, n in changed.items():
                allowance = self._load(db, unit, moment)
                if n > 0:
                    wait = max(wait, allowance.take(n, now=moment))
                else:
                    allowance.give_back(-n)
                db.execute(
                    "INSERT OR REPLACE INTO allowance VALUES (?, ?, ?, ?)",
                    (self._place, unit, allowance.free_at, moment),
                )
        return wait

    def _load(self, db: sqlite3.Connection, unit: str, now: float) -> Allowance:
        query = "SELECT free_at, noted FROM allowance WHERE place = ? AND unit = ?"
        row = db.execute(query, (self._place, unit)).fetchone()
        allowance = Allowance(per_minute=self._limits[unit])
        if row is not None and row[1] <= now + _CLOCKS_DIFFER:
            allowance.free_at = row[0]
        return allowance


_CLOCKS_DIFFER = 5.0  # tolerated difference in seconds between the clocks of two machines


@dataclass(slots=True)
class _Pending:
    """A job with the number of its failures in this run."""

    job: Job
    tries: int = 0  # number of failures that count towards the limit of retries
    busy: int = 0  # number of times that the server was busy or unreachable


@dataclass(order=True, slots=True)
class _Later:
    """A pending job and the time of its next retry."""

    due: float
    number: int
    pending: _Pending = field(compare=False)


class Lane:
    """The request queue of one endpoint."""

    def __init__(
        self,
        endpoint: Endpoint,
        models: Sequence[Model],
        state: RunState,
        *,
        tried: bool = False,  # whether to claim only requests that were sent but not answered
    ) -> None:
        self._endpoint = endpoint
        self._tried = tried
        self._state = state
        self._models = {model.name: model for model in models}
        self._asker = Asker(endpoint, dict(self._models), state.store)
        self._limit = endpoint.concurrency
        self._window = Window(
            limit=self._limit, size=float(min(endpoint.start_concurrency, self._limit))
        )
        self._allowance = SharedAllowance(state.store, endpoint)
        self._open = set(self._models)  # models that may have requests to claim
        self._buffer: deque[_Pending] = deque()
        self._later: list[_Later] = []
        self._number = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._wake = state.new_wake()
        self._pause_until = 0.0
        self._answered_at = time.monotonic()
        self._halted = False

    # -- admitting -----------------------------------------------------------------------------

    async def run(self) -> None:
        """Send requests until none is left, or the run stops."""
        try:
            while (pending := await self._next()) is not None and await self._admit(pending):
                self._start(pending)
        finally:
            await self._drain()

    @property
    def _stopped(self) -> bool:
        return self._halted or self._state.stopping

    async def _next(self) -> _Pending | None:
        """Return the next request: a retry that is due, or a new request from the store."""
        while not self._stopped:
            now = time.monotonic()
            if self._later and self._later[0].due <= now:
                return heapq.heappop(self._later).pending
            if len(self._later) < self._limit and (fresh := self._fresh()):
                return fresh
            if not self._tasks and not self._later:
                return None
            await self._wait(self._later[0].due - now if self._later else None)
        return None

    def _fresh(self) -> _Pending | None:
        """Return a new request from the store, alternating between models."""
        if not self._buffer and self._open:
            share = max(1, int(self._window.size) // len(self._open))
            claimed = []
            for name in sorted(self._open):
                jobs = self._state.store.claim(name, share, tried=self._tried)
                if len(jobs) < share:
                    self._open.discard(name)
                claimed.append(jobs)
            for turn in range(max(map(len, claimed))):
                self._buffer += [_Pending(jobs[turn]) for jobs in claimed if turn < len(jobs)]
        return self._buffer.popleft() if self._buffer else None

    async def _admit(self, pending: _Pending) -> bool:
        """Wait until a request may be sent; return False if the run stops first."""
        while not self._stopped and len(self._tasks) >= int(self._window.size):
            await self._wait(None)
        await self._hold_until(lambda: self._pause_until)
        if self._stopped:
            return False
        tokens = likely_tokens(pending.job)
        ready = time.monotonic() + self._allowance.take(tokens)
        await self._hold_until(lambda: ready)
        if self._stopped or not await self._afford(pending.job):
            self._allowance.give_back(tokens, requests=1.0)
            return False
        return True

    async def _hold_until(self, moment: Callable[[], float]) -> None:
        """Wait until a point in time that may change during the wait."""
        while not self._stopped and (seconds := moment() - time.monotonic()) > 0:
            await self._wait(seconds)

    async def _afford(self, job: Job) -> bool:
        """Reserve a request's maximum cost; if it exceeds the budget, wait for other requests."""
        model = self._models[job.model]
        while not self._state.reserve(job, most_cost(job, model), model.budget):
            if not self._stopped and not self._state.under_way:
                self._state.stop("the budget does not allow another request")
            if self._stopped:
                return False
            await self._wait(0.2)  # only polling detects the end of requests in other queues
        return True

    async def _wait(self, seconds: float | None) -> None:
        """Wait until an exchange ends, the run stops, or a number of seconds has passed."""
        self._wake.clear()
        if self._stopped:
            return
        if seconds is None:
            await self._wake.wait()
            return
        try:
            async with asyncio.timeout(max(seconds, 0.0)):
                await self._wake.wait()
        except TimeoutError:
            return

    def _start(self, pending: _Pending) -> None:
        if self._state.progress[pending.job.model].halted is not None:
            return  # the model was halted while this request waited
        task = asyncio.create_task(self._ask(pending))
        self._tasks.add(task)
        self._state.under_way += 1
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._state.under_way -= 1
        self._wake.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._state.fail(error)

    async def _drain(self) -> None:
        """Wait for the requests in flight; cancel them if this task is cancelled."""
        self._asker.line.withdraw()
        try:
            while self._tasks:
                await asyncio.wait(set(self._tasks))
        finally:
            for task in self._tasks:
                task.cancel()
            await self._asker.close()

    # -- after an exchange ---------------------------------------------------------------------

    async def _ask(self, pending: _Pending) -> None:
        clock = time.monotonic()
        asked = await self._asker.ask(pending.job)
        kind = asked.kind
        pending.tries += kind in COUNTED
        pending.busy += kind in BUSY
        # A rejected parameter does not count as a failure. The number of retries is finite,
        # because no parameter is rejected twice.
        failed = kind in HOPELESS or pending.tries >= self._endpoint.attempts
        opened = await self._state.recorder.record(pending.job, asked.attempt, last=failed)
        settled = failed or kind is Kind.OK
        if opened or (settled and self._state.draw_more(pending.job.model)):
            self._open.add(pending.job.model)
        self._state.tally(pending.job.model, kind, asked.attempt, failed=failed)
        self._adapt(kind, clock)
        if kind is Kind.OK:
            # Replace the estimated number of tokens in the rate limit by the actual number.
            used = (asked.attempt.input_tokens or 0) + (asked.attempt.output_tokens or 0)
            if used:
                self._allowance.give_back(likely_tokens(pending.job) - used)
        elif kind in FINAL:
            self._halt(pending.job.model, asked)
        elif not failed:
            self._again(pending, asked)

    def _adapt(self, kind: Kind, clock: float) -> None:
        """Enlarge or halve the window of concurrent requests after an exchange."""
        now = time.monotonic()
        if kind is Kind.OK:
            self._window.grow(len(self._tasks))
            self._answered_at = now
        elif kind in CROWDED:
            self._window.shrink(started=clock, now=now)

    def _again(self, pending: _Pending, asked: Asked) -> None:
        """Schedule a retry; the server's latest Retry-After time replaces earlier ones."""
        now = time.monotonic()
        wait = asked.attempt.retry_after
        if wait is not None and asked.kind in BUSY:
            self._pause_until = now + wait
            if wait > self._endpoint.longest_wait:
                self._halt_all(f"it asks clients to wait for {wait:.0f} s")
        if asked.kind in BUSY and now - self._answered_at > self._endpoint.patience:
            self._halt_all(
                f"{asked.kind.value} for {self._endpoint.patience:.0f} s without a break"
            )
        delay = 0.0
        if asked.kind is not Kind.REFUSED_PARAMETER:
            count = pending.busy if asked.kind in BUSY else pending.tries
            delay = max(wait or 0.0, backoff(count, self._state.draw))
        self._number += 1
        heapq.heappush(self._later, _Later(now + delay, self._number, pending))

    def _halt(self, model: str, asked: Asked) -> None:
        """Halt a model, or the endpoint, until the user intervenes."""
        why = f"{asked.kind.value} (status {asked.attempt.status})"
        if asked.kind is not Kind.NOT_FOUND:
            self._halt_all(why)
            return
        self._state.progress[model].halted = why
        self._open.discard(model)
        self._buffer = deque(one for one in self._buffer if one.job.model != model)
        self._later = [one for one in self._later if one.pending.job.model != model]
        heapq.heapify(self._later)

    def _halt_all(self, why: str) -> None:
        self._halted = True
        for name in self._models:
            if self._state.progress[name].halted is None:
                self._state.progress[name].halted = why
