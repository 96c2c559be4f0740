"""Progress of a run by model, and the recorder of the run's exchanges.

Replies that arrive together are stored in one transaction.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from psychollm.collect.drawing import Drawing
from psychollm.collect.faults import Kind
from psychollm.collect.records import Attempt, Entry, Job
from psychollm.collect.store import Store


class Recorder:
    """Recorder of a run's exchanges; each caller waits until its exchange is stored."""

    # A transaction has a large fixed cost, so storing ten replies in one transaction takes a third
    # of the time of ten transactions. No reply is delayed, because a transaction contains only
    # replies that arrived in one iteration of the event loop.

    def __init__(self, store: Store) -> None:
        self._store = store
        self._arrived: list[tuple[Entry, asyncio.Future[int]]] = []

    async def record(self, job: Job, attempt: Attempt, *, last: bool = False) -> int:
        """Record one exchange as `Store.record` does, and return after the commit."""
        loop = asyncio.get_running_loop()
        if not self._arrived:
            loop.call_soon(self._commit)
        kept: asyncio.Future[int] = loop.create_future()
        self._arrived.append((Entry(job, attempt, last), kept))
        # Shield the commit, which other callers need even if this caller is cancelled.
        return await kept

    def _commit(self) -> None:
        arrived, self._arrived = self._arrived, []
        try:
            opened = self._store.record_all([exchange for exchange, _ in arrived])
        except Exception as error:  # noqa: BLE001 -- passed to the waiting callers
            if len(arrived) == 1:
                _tell(arrived[0][1], error)
                return
            # If one exchange cannot be stored, store the others one by one.
            for one in arrived:
                self._arrived = [one]
                self._commit()
            return
        for (_, kept), n in zip(arrived, opened, strict=True):
            _tell(kept, n)


def _tell(kept: "asyncio.Future[int]", told: int | Exception) -> None:
    if kept.done():  # the caller was cancelled
        return
    if isinstance(told, Exception):
        kept.set_exception(told)
    else:
        kept.set_result(told)


@dataclass(slots=True)
class ModelProgress:
    """Progress of one model, with its requests in this run and in earlier runs.

    Examples
    --------
    >>> one = ModelProgress(name="m", total=10, before=4, answered=3, began=0.0)
    >>> one.left, one.line(now=6.0)
    (3, 'm: 7/10 answered, 0.5/s, 6 s left')
    """

    name: str
    total: int
    before: int = 0  # requests answered before this run
    answered: int = 0
    failed: int = 0
    batched: int = 0  # requests that are currently in batches
    cost: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    kinds: Counter[Kind] = field(default_factory=Counter)  # exchanges of this run, by kind
    halted: str | None = None  # reason why the model receives no more requests
    began: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> int:
        """Number of requests that are neither answered nor failed."""
        return max(self.total - self.before - self.answered - self.failed, 0)

    def rate(self, now: float) -> float:
        """Return answers per second since the run began."""
        return self.answered / max(now - self.began, 1e-9)

    def line(self, now: float) -> str:
        """Return the model's progress in one line of text."""
        parts = [f"{self.name}: {self.before + self.answered:,}/{self.total:,} answered"]
        if self.failed:
            parts.append(f"{self.failed:,} failed")
        if self.batched:
            parts.append(f"{self.batched:,} in batches")
        # Show frequent failures immediately, while the user can still act.
        for kind, n in self.kinds.most_common(2):
            if kind is not Kind.OK:
                parts.append(f"{n:,} {kind.replace('_', ' ')}")
        rate = self.rate(now)
        if self.left and self.halted is None and rate > 0:
            parts += [f"{rate:.3g}/s", f"{duration(self.left / rate)} left"]
        if self.cost:
            whole = self.cost / max(self.answered, 1) * (self.answered + self.left)
            about = f" of about {whole:.3g}" if self.left and self.answered else ""
            parts.append(f"cost {self.cost:.3g}{about}")
        if self.halted is not None:
            parts.append(f"stopped: {self.halted}")
        return ", ".join(parts)


def total_line(models: Sequence[ModelProgress], now: float) -> str:
    """Return one line of text for all models together."""
    whole = ModelProgress(name="Total", total=0, began=min(one.began for one in models))
    for one in models:
        whole.total += one.total
        whole.before += one.before
        whole.answered += one.answered
        whole.failed += one.failed
        whole.batched += one.batched
        whole.cost += one.cost
    return whole.line(now)


def duration(seconds: float) -> str:
    """Return a duration in words: ``42 s``, ``3 min``, ``2.5 h``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


class RunState:
    """State shared by the queues of a run."""

    def __init__(
        self,
        store: Store,
        progress: Mapping[str, ModelProgress],
        *,
        budget: float | None,
        draw: Callable[[], float],
    ) -> None:
        self.store = store
        self.recorder = Recorder(store)
        self.progress = progress
        self.budget = budget
        self.draw = draw
        self.drawings: dict[str, Drawing] = {}  # keyed by model; empty without adaptive selection
        self.under_way = 0
        self.stopping = False
        self.reason: str | None = None
        self.error: BaseException | None = None
        self._wakes: list[asyncio.Event] = []

    def new_wake(self) -> asyncio.Event:
        """Return an event that is set when the run must stop."""
        wake = asyncio.Event()
        self._wakes.append(wake)
        return wake

    def stop(self, reason: str) -> None:
        """Stop the run: send no further requests, and complete the requests in flight."""
        if not self.stopping:
            self.stopping, self.reason = True, reason
        for wake in self._wakes:
            wake.set()

    def fail(self, error: BaseException) -> None:
        """Stop the run because of an error, and raise the error when the run ends."""
        self.error = self.error or error
        self.stop("an error")

    def reserve(self, job: Job, amount: float, model_budget: float | None) -> bool:
        """Reserve the maximum cost of a request, unless it would exceed a budget."""
        if self.budget is None and model_budget is None:
            return True
        limit = float("inf") if self.budget is None else self.budget
        return self.store.reserve(job, amount, budget=limit, model=model_budget)

    def draw_more(self, model: str) -> bool:
        """Enter the next selected questions of a model; return whether any questions are left."""
        if self.stopping or model not in self.drawings:
            return False
        more = self.drawings[model].more()
        self.progress[model].total = sum(self.store.counts()[model].values())
        return more

    def tally(self, model: str, kind: Kind, attempt: Attempt, *, failed: bool) -> None:
        """Add one exchange to the counts of its model."""
        one = self.progress[model]
        one.kinds[kind] += 1
        one.answered += kind is Kind.OK
        one.failed += failed
        one.cost += attempt.cost
        one.input_tokens += attempt.input_tokens or 0
        one.output_tokens += attempt.output_tokens or 0
