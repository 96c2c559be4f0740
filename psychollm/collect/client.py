"""Send the requests of a plan and store the replies.

After one interrupt (Ctrl-C), the client sends no more requests, waits for the requests in flight,
and reports the result. After a second interrupt, the client abandons the requests in flight.
Calling `collect` again resumes the run.
"""

import asyncio
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from psychollm._base.result import Result
from psychollm._base.version import __version__
from psychollm.collect.asking import variables_of
from psychollm.collect.batches import BatchLane
from psychollm.collect.costs import cost_table, costs
from psychollm.collect.drawing import Drawing, bank_scores, told
from psychollm.collect.lane import Lane
from psychollm.collect.plan import Plan
from psychollm.collect.progress import ModelProgress, RunState
from psychollm.collect.roster import Model
from psychollm.collect.secrets import Blotter
from psychollm.collect.store import LEASE_SECONDS, Store

Watch = Callable[[Sequence[ModelProgress]], None]
INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Collection(Result):
    """Numbers of answered, failed and open requests of a run, by model.

    A request that failed or was never sent is missing in every table made from the store.

    Examples
    --------
    >>> found = Collection(store="run.sqlite", models=("m",), answered=(4,), failed=(1,),
    ...                    left=(0,), cost=0.0, failures={"timeout": 6}, halted={}, stopped=None)
    >>> print(found.summary())
    m: 4 answered, 1 failed, 0 not asked
    Exchanges without an answer in this run: 6 timeout.
    Run the same command again to request the missing replies.
    """

    store: str
    models: tuple[str, ...]
    answered: tuple[int, ...]
    failed: tuple[int, ...]
    left: tuple[int, ...]  # requests that are neither answered nor failed
    cost: float  # total cost of all runs on this store
    failures: Mapping[str, int]  # exchanges of this run without an answer, by kind
    halted: Mapping[str, str]  # models that receive no more requests, with the reason
    stopped: str | None  # reason why the run ended early
    scores: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # see `bank_scores`
    costs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # see `costs.costs`

    @property
    def complete(self) -> bool:
        """Whether every request has an answer."""
        return not any(self.failed) and not any(self.left)

    def summary(self) -> str:
        """Return a summary of the run in words."""
        rows = zip(self.models, self.answered, self.failed, self.left, strict=True)
        lines = [
            f"{name}: {answered:,} answered, {failed:,} failed, {left:,} not asked"
            + (f" (stopped: {self.halted[name]})" if name in self.halted else "")
            for name, answered, failed, left in rows
        ]
        lines += [told(name, one) for name, one in self.scores.items()]
        if self.failures:
            kinds = ", ".join(
                f"{n:,} {kind.replace('_', ' ')}" for kind, n in self.failures.items()
            )
            lines.append(f"Exchanges without an answer in this run: {kinds}.")
        if self.cost:
            lines += [*cost_table(self.costs), f"Cost so far: {self.cost:.3g}."]
        if self.stopped:
            lines.append(f"Stopped: {self.stopped}.")
        if not self.complete:
            lines.append("Run the same command again to request the missing replies.")
        return "\n".join(lines)


def collect(plan: Plan, *, watch: Watch | None = None, every: float = 1.0) -> Collection:
    """Send all requests of a plan that have no reply in the plan's store yet.

    Parameters
    ----------
    plan : Plan
        Plan with the prompts, endpoints and models.
    watch : callable, optional
        Callback that receives the progress of all models, periodically and at the end.
    every : float
        Number of seconds between two calls of `watch`.

    Raises
    ------
    OptionError
        If a secret is missing from the environment.
    StoreError
        If the store cannot be used or written.
    MissingPackageError
        If httpx is not installed.

    Examples
    --------
    >>> from psychollm.collect.roster import Endpoint, Model
    >>> here = Endpoint(name="here", url="http://127.0.0.1:9/v1")
    >>> plan = Plan(store=getfixture("tmp_path") / "run.sqlite", prompts=(),
    ...             endpoints={"here": here},
    ...             models=(Model(name="m", endpoint="here", model="m"),))
    >>> print(collect(plan).summary())
    m: 0 answered, 0 failed, 0 not asked
    """
    with Store(plan.store) as store:
        state = prepare(plan, store)
        asyncio.run(_run(plan, state, watch, every))
        return _collection(plan, state)


def prepare(plan: Plan, store: Store) -> RunState:
    """Enter the requests of a plan into its store, and return the initial state of the run."""
    secrets = (
        variables_of(endpoint, [model for model in plan.models if model.endpoint == name])
        for name, endpoint in plan.endpoints.items()
    )
    blot = Blotter(set().union(*secrets))
    store.note("plan", blot(plan.text.encode()).decode())
    store.note("psychollm", __version__)
    store.release_dead()
    names = [model.name for model in plan.models]
    drawings = {}
    if plan.adaptive is None:
        store.enlist(plan.requests())
        n = plan.repeats * sum(one.to in (None, name) for name in names for one in plan.prompts)
        if sum(sum(one.values()) for one in _counts(plan, store).values()) > n:
            # Requests of an earlier version of the plan are no longer sent.
            store.set_aside(names)
            store.enlist(plan.requests())
        store.reopen(names)
    else:
        store.reopen(names)
        store.set_aside(names)  # requests that another seed or bank had selected
        drawings = {name: Drawing(plan, plan.adaptive, name, store) for name in names}
        for one in drawings.values():
            one.more()
    counts = _counts(plan, store)
    progress = {
        name: ModelProgress(name=name, total=sum(n.values()), before=n.get("answered", 0))
        for name, n in counts.items()
    }
    state = RunState(store, progress, budget=plan.budget, draw=np.random.default_rng().random)
    state.drawings = drawings
    return state


async def _run(plan: Plan, state: RunState, watch: Watch | None, every: float) -> None:
    turns = _turns(plan)
    beats = [asyncio.create_task(_repeat(state, state.store.renew, LEASE_SECONDS / 3))]
    if watch is not None:
        beats.append(
            asyncio.create_task(_repeat(state, lambda: watch([*state.progress.values()]), every))
        )
    try:
        with _interrupts(state):
            await asyncio.gather(*(_in_turn(plan, models, state) for models in turns))
    except asyncio.CancelledError:
        if state.reason != INTERRUPTED:
            raise
        state.store.release(charge=True)  # the server may have processed abandoned requests
    finally:
        for beat in beats:
            beat.cancel()
    if state.error is not None:
        raise state.error
    if watch is not None:
        watch([*state.progress.values()])


async def _repeat(state: RunState, action: Callable[[], None], seconds: float) -> None:
    """Call a function periodically; if it raises an error, end the run."""
    while True:
        await asyncio.sleep(seconds)
        try:
            action()
        except Exception as error:  # noqa: BLE001 -- passed to the run, which raises it
            state.fail(error)
            return


def _turns(plan: Plan) -> list[list[list[Model]]]:
    """Return each endpoint's turns: groups of models that are queried concurrently."""
    turns = []
    for name in plan.endpoints:
        here = [one for one in plan.models if one.endpoint == name]
        turns.append([[one] for one in here] if plan.order == "models" else [here] if here else [])
    return turns


async def _in_turn(plan: Plan, turns: list[list[Model]], state: RunState) -> None:
    """Query the models of one endpoint, one turn after another."""
    for models in turns:
        if state.stopping:
            return
        endpoint = plan.endpoints[models[0].endpoint]
        await (BatchLane if endpoint.batch else Lane)(endpoint, models, state).run()


@contextmanager
def _interrupts(state: RunState) -> Iterator[None]:
    """Complete the requests in flight after the first Ctrl-C, and cancel them after the second."""
    loop = asyncio.get_running_loop()
    whole = asyncio.current_task()

    def interrupt() -> None:
        if state.stopping and whole is not None:
            whole.cancel()
        state.stop(INTERRUPTED)

    def handle(number: int, frame: object) -> None:
        loop.call_soon_threadsafe(interrupt)

    try:
        before = signal.signal(signal.SIGINT, handle)
    except ValueError:  # only the main thread receives interrupts
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _counts(plan: Plan, store: Store) -> dict[str, dict[str, int]]:
    """Return the number of requests of each model of a plan by state."""
    counts = store.counts()
    return {model.name: counts.get(model.name, {}) for model in plan.models}


def _collection(plan: Plan, state: RunState) -> Collection:
    counts = _counts(plan, state.store)
    names = tuple(counts)
    failures: dict[str, int] = {}
    for one in state.progress.values():
        for kind, n in one.kinds.items():
            if kind != "ok":
                failures[kind.value] = failures.get(kind.value, 0) + n
    return Collection(
        store=str(plan.store),
        models=names,
        answered=tuple(counts[name].get("answered", 0) for name in names),
        failed=tuple(counts[name].get("failed", 0) for name in names),
        left=tuple(counts[name].get("open", 0) + counts[name].get("waiting", 0) for name in names),
        cost=state.store.spent(),
        costs=costs(state.store),
        failures=failures,
        halted={one.name: one.halted for one in state.progress.values() if one.halted},
        stopped=state.reason,
        scores={name: one for name, one in bank_scores(state.store).items() if state.drawings},
    )
