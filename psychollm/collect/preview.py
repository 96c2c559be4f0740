"""The requests and cost of a plan, computed without sending anything."""

from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import indent
from typing import Any, ClassVar

from psychollm._base.result import Result
from psychollm.collect.costs import costs, likely
from psychollm.collect.plan import Plan
from psychollm.collect.progress import duration
from psychollm.collect.records import Job, job_of, likely_tokens, limit_of, most_cost
from psychollm.collect.request import Request
from psychollm.collect.store import Store


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Preview(Result):
    """Requests, tokens and cost of a plan by model, excluding answered requests.

    If a prompt continues a reply that is still unknown, the maximum length of the reply is
    counted. The expected cost and time are extrapolated from the store's earlier requests to a
    model, and from rate limits. The expected cost and time are NaN if neither earlier requests nor
    rate limits are available.

    Examples
    --------
    >>> found = Preview(models=("m",), requests=(4,), tokens=(1200,), most_cost=(0.5,),
    ...                 likely_cost=(0.2,), seconds=(30.0,), prompts=(), budget=2.0)
    >>> print(found.summary())
    m: 4 requests, about 1,200 tokens, likely 0.2, at most 0.5, about 30 s
    Total: 4 requests, about 1,200 tokens, likely 0.2, at most 0.5, about 30 s (budget 2). \
Nothing was sent.
    """

    _WHOLE: ClassVar = ("prompts",)

    models: tuple[str, ...]
    requests: tuple[int, ...]
    tokens: tuple[int, ...]  # approximate number of tokens, including replies
    most_cost: tuple[float, ...]  # upper bound; 0 without prices
    likely_cost: tuple[float, ...]
    seconds: tuple[float, ...]  # expected duration
    prompts: tuple[str, ...]  # first prompt of each reply format, as it will be sent
    budget: float | None

    def summary(self) -> str:
        """Describe the planned requests in words."""
        lines = [f"{text}\n" for text in self.prompts]
        columns = (self.requests, self.tokens, self.most_cost, self.likely_cost, self.seconds)
        for name, *row in zip(self.models, *columns, strict=True):
            lines.append(f"{name}: {_amounts(*row)}")
        # The sum over models is an upper bound on the total time, because endpoints are queried
        # concurrently.
        total = _amounts(*(sum(column) for column in columns))
        if self.budget is not None:
            total += f" (budget {self.budget:.4g})"
        return "\n".join([*lines, f"Total: {total}. Nothing was sent."])


def _amounts(n: float, tokens: float, most: float, likely_cost: float, seconds: float) -> str:
    parts = [f"{n:,} requests, about {tokens:,} tokens"]
    if most and likely_cost > 0:
        parts.append(f"likely {likely_cost:.3g}")
    if most:
        parts.append(f"at most {most:.3g}")
    if seconds > 0:
        parts.append(f"about {duration(seconds)}")
    return ", ".join(parts)


def preview(plan: Plan, *, show: int = 3) -> Preview:
    """Return the requests and cost of a plan.

    Parameters
    ----------
    plan : Plan
        Plan with the prompts, endpoints and models.
    show : int
        Maximum number of prompts to show in full; only the first prompt with each reply format is
        shown.

    Examples
    --------
    >>> from pathlib import Path
    >>> from psychollm.collect.roster import Endpoint, Model
    >>> here = Endpoint(name="here", url="http://127.0.0.1:8080/v1")
    >>> plan = Plan(store=Path("run.sqlite"), prompts=(), endpoints={"here": here},
    ...             models=(Model(name="m", endpoint="here", model="m"),))
    >>> print(preview(plan).summary().split(". ")[-1])
    Nothing was sent.
    """
    models = {model.name: model for model in plan.models}
    counts = dict.fromkeys(models, 0)
    tokens = dict.fromkeys(models, 0)
    most = dict.fromkeys(models, 0.0)
    shown: dict[str, str] = {}
    before: dict[str, Job] = {}  # jobs of the current model, by key; later jobs continue them
    answered, before_now = _known(plan)
    for request in _requests(plan):
        job = _whole(request, before)
        if request.key in answered:
            continue
        counts[request.model] += 1
        tokens[request.model] += likely_tokens(job)
        most[request.model] += most_cost(job, models[request.model])
        if len(shown) < show and request.prompt.reply not in shown:
            shown[request.prompt.reply] = _shown(request, job)
    estimates = [
        likely(before_now.get(name), n, plan.endpoints[models[name].endpoint], tokens[name])
        for name, n in counts.items()
    ]
    return Preview(
        models=tuple(models),
        requests=tuple(counts.values()),
        tokens=tuple(tokens.values()),
        most_cost=tuple(most.values()),
        likely_cost=tuple(cost for cost, _ in estimates),
        seconds=tuple(seconds for _, seconds in estimates),
        prompts=tuple(shown.values()),
        budget=plan.budget,
    )


def _known(plan: Plan) -> tuple[set[str], dict[str, dict[str, Any]]]:
    """Return the keys of the answered requests in a plan's store, and costs by model."""
    if not plan.store.exists():
        return set(), {}
    with Store(plan.store, create=False) as store:
        answered = store.rows("SELECT key FROM request WHERE state = 'answered'")
        return {row["key"] for row in answered}, costs(store)


def _requests(plan: Plan) -> Iterator[Request]:
    """Yield the requests; with an item bank, yield the largest possible selection."""
    if plan.adaptive is None:
        return plan.requests()
    most = plan.adaptive.size or len(plan.adaptive.bank.questions)
    return plan.requests(items={str(one) for one in plan.adaptive.session().next(most)})


def _whole(request: Request, before: dict[str, Job]) -> Job:
    """Return a request with its conversation, in which replies have their maximum length."""
    job = job_of(0, request.key, request.canonical)
    if request.follows is not None:
        first = before[request.follows]
        reply = {"role": "assistant", "content": "[reply]" + " " * 4 * (limit_of(first) or 256)}
        job = job_of(0, request.key, request.canonical, [*first.messages, reply])
    before[request.key] = job
    return job


def _shown(request: Request, job: Job) -> str:
    turns = [
        indent(
            f"{turn['role']}: {turn['content'].strip()}".replace("\n", "\n  "),
            "  ",
            lambda line: bool(line.strip()),
        )
        for turn in job.messages
    ]
    head = f"{request.model}, prompt {request.prompt.key} (reply: {request.prompt.reply}):"
    return "\n".join([head, *turns])
