"""Stores filled by hand: no server is asked."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from psychollm.collect.plan import Plan
from psychollm.collect.records import Attempt
from psychollm.collect.roster import Endpoint, Model
from psychollm.collect.store import Store
from psychollm.instruments.prompt import Prompt

# The reply to a prompt, or None where the call fails.
Says = Callable[[Prompt, int], str | None]


# The log probability of what a model replies to a prompt, and of how many tokens.
Likely = Callable[[str, Prompt], tuple[float, int] | None]


def filled(
    path: Path,
    prompts: Sequence[Prompt],
    says: Mapping[str, Says],
    *,
    repeats: int = 1,
    likely: Likely = lambda model, prompt: None,
) -> Path:
    """Make a store in which each model has said what its function says."""
    plan = Plan(
        store=path,
        prompts=tuple(prompts),
        endpoints={"here": Endpoint(name="here", url="http://127.0.0.1:9/v1")},
        models=tuple(Model(name=name, endpoint="here", model=name) for name in says),
        repeats=repeats,
    )
    asked = {request.key: request for request in plan.requests()}
    with Store(path) as store:
        store.enlist(asked.values())
        for model in says:
            while jobs := store.claim(model, 1000):
                for job in jobs:
                    request = asked[job.key]
                    text = says[model](request.prompt, request.sample)
                    kind = "ok" if text is not None else "bad_request"
                    logprob, tokens = likely(model, request.prompt) or (None, None)
                    attempt = Attempt(
                        wire="openai-chat",
                        started=0.0,
                        seconds=0.1,
                        sent='{"messages": [{"role": "user", "content": "?"}]}',
                        kind=kind,
                        text=text,
                        sequence_logprob=logprob,
                        sequence_tokens=tokens,
                    )
                    store.record(job, attempt, last=True)
    return path
