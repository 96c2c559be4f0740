"""What a plan would ask and cost, without asking."""

from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import indent

from psychollm._base.result import Result
from psychollm.collect.plan import Plan
from psychollm.collect.records import Job, job_of, likely_tokens, limit_of, most_cost
from psychollm.collect.request import Request


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Preview(Result):
    """What a plan would ask: counts, tokens and cost by model.

    Replies that prompts continue are not known: they count with the most that they can have.

    Examples
    --------
    >>> found = Preview(models=("m",), requests=(4,), tokens=(1200,), most_cost=(0.5,),
    ...                 prompts=(), budget=2.0)
    >>> print(found.summary())
    m: 4 requests, about 1,200 tokens, at most 0.5
    In all: 4 requests, about 1,200 tokens, at most 0.5 (budget 2). Nothing was asked.
    """

    models: tuple[str, ...]
    requests: tuple[int, ...]
    tokens: tuple[int, ...]  # roughly
    most_cost: tuple[float, ...]  # a bound; 0 without prices
    prompts: tuple[str, ...]  # the first of each kind, as it will be sent
    budget: float | None

    def summary(self) -> str:
        """Return what would be asked, in words."""
        lines = [f"{text}\n" for text in self.prompts]
        for name, n, tokens, cost in zip(
            self.models, self.requests, self.tokens, self.most_cost, strict=True
        ):
            lines.append(f"{name}: {_amounts(n, tokens, cost)}")
        total = _amounts(sum(self.requests), sum(self.tokens), sum(self.most_cost))
        if self.budget is not None:
            total += f" (budget {self.budget:.4g})"
        return "\n".join([*lines, f"In all: {total}. Nothing was asked."])


def _amounts(n: int, tokens: int, cost: float) -> str:
    price = f", at most {cost:.3g}" if cost else ""
    return f"{n:,} requests, about {tokens:,} tokens{price}"


def preview(plan: Plan, *, show: int = 3) -> Preview:
    """Return what a plan would ask and cost.

    Parameters
    ----------
    plan : Plan
        What is asked, of whom.
    show : int
        How many prompts are shown whole, the first of each kind of reply.

    Examples
    --------
    >>> from pathlib import Path
    >>> from psychollm.collect.roster import Endpoint, Model
    >>> here = Endpoint(name="here", url="http://127.0.0.1:8080/v1")
    >>> plan = Plan(store=Path("run.sqlite"), prompts=(), endpoints={"here": here},
    ...             models=(Model(name="m", endpoint="here", model="m"),))
    >>> print(preview(plan).summary().split(". ")[-1])
    Nothing was asked.
    """
    models = {model.name: model for model in plan.models}
    counts = dict.fromkeys(models, 0)
    tokens = dict.fromkeys(models, 0)
    costs = dict.fromkeys(models, 0.0)
    shown: dict[str, str] = {}
    before: dict[str, Job] = {}  # jobs of the model at hand, for conversations that go on
    for request in _requests(plan):
        job = _whole(request, before)
        counts[request.model] += 1
        tokens[request.model] += likely_tokens(job)
        costs[request.model] += most_cost(job, models[request.model])
        if len(shown) < show and request.prompt.reply not in shown:
            shown[request.prompt.reply] = _shown(request, job)
    return Preview(
        models=tuple(models),
        requests=tuple(counts.values()),
        tokens=tuple(tokens.values()),
        most_cost=tuple(costs.values()),
        prompts=tuple(shown.values()),
        budget=plan.budget,
    )


def _requests(plan: Plan) -> Iterator[Request]:
    """Yield what is asked; where a bank draws it, the most that it can be."""
    if plan.adaptive is None:
        return plan.requests()
    most = plan.adaptive.size or len(plan.adaptive.bank.questions)
    return plan.requests(items={str(one) for one in plan.adaptive.session().next(most)})


def _whole(request: Request, before: dict[str, Job]) -> Job:
    """Return a request with the conversation before it, replies at their greatest length."""
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
