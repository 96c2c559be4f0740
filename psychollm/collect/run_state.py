"""What the lanes of a run share: the store, the budget, the tallies, and the wish to stop."""

import asyncio
from collections.abc import Callable, Mapping

from psychollm.collect.faults import Kind
from psychollm.collect.progress import ModelProgress
from psychollm.collect.records import Attempt, Job
from psychollm.collect.store import Store


class RunState:
    """What the lanes of a run share."""

    def __init__(
        self,
        store: Store,
        progress: Mapping[str, ModelProgress],
        *,
        budget: float | None,
        draw: Callable[[], float],
    ) -> None:
        self.store = store
        self.progress = progress
        self.budget = budget
        self.draw = draw
        self.under_way = 0
        self.stopping = False
        self.reason: str | None = None
        self.error: BaseException | None = None
        self._wakes: list[asyncio.Event] = []

    def new_wake(self) -> asyncio.Event:
        """Return an event that is set when the run is to stop."""
        wake = asyncio.Event()
        self._wakes.append(wake)
        return wake

    def stop(self, reason: str) -> None:
        """Ask nothing more; what is under way ends."""
        if not self.stopping:
            self.stopping, self.reason = True, reason
        for wake in self._wakes:
            wake.set()

    def fail(self, error: BaseException) -> None:
        """Stop because of an error that the run ends with."""
        self.error = self.error or error
        self.stop("an error")

    def reserve(self, job: Job, amount: float, model_budget: float | None) -> bool:
        """Set aside what a request may cost, unless a budget would be passed."""
        if self.budget is None and model_budget is None:
            return True
        limit = float("inf") if self.budget is None else self.budget
        return self.store.reserve(job, amount, budget=limit, model=model_budget)

    def tally(self, model: str, kind: Kind, attempt: Attempt, *, failed: bool) -> None:
        """Count one exchange."""
        one = self.progress[model]
        one.kinds[kind] += 1
        one.answered += kind is Kind.OK
        one.failed += failed
        one.cost += attempt.cost
        one.input_tokens += attempt.input_tokens or 0
        one.output_tokens += attempt.output_tokens or 0
