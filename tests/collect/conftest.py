"""Plans for servers of our own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from psychollm.collect import lane
from psychollm.collect.plan import Plan
from psychollm.collect.roster import Endpoint, Model
from psychollm.instruments.prompt import Message, Prompt

pytest.importorskip("httpx")

MakePlan = Callable[..., Plan]


def prompts(n: int) -> tuple[Prompt, ...]:
    return tuple(
        Prompt(
            key=f"q{i}",
            item=f"q{i}",
            messages=(Message("user", f"Question {i}?"),),
            reply="yes_no",
            max_tokens=8,
        )
        for i in range(n)
    )


def write_plan(folder: Path, url: str, n: int, *, extra: str = "") -> Path:
    lines = [json.dumps(prompt.to_dict()) for prompt in prompts(n)]
    (folder / "items.jsonl").write_text("\n".join(lines))
    plan = folder / "plan.toml"
    plan.write_text(
        f'prompts = "items.jsonl"\nstore = "run.sqlite"\n'
        f'[endpoints.here]\nurl = "{url}"\n{extra}\n'
        '[[models]]\nname = "m"\nmodel = "org/m"\nendpoint = "here"\n'
    )
    return plan


@pytest.fixture(autouse=True)
def _short_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane, "FIRST_DELAY", 0.01)
    monkeypatch.setattr(lane, "LONGEST_DELAY", 0.1)


@pytest.fixture
def make_plan(tmp_path: Path) -> MakePlan:
    """Return a function that makes a plan for one server."""

    def make(url: str, n: int = 5, **options: Any) -> Plan:
        server = {
            name: options.pop(name)
            for name in list(options)
            if name in Endpoint.__dataclass_fields__
        }
        model = {
            name: options.pop(name)
            for name in list(options)
            if name in {"parameters", "prices", "system"}
        }
        return Plan(
            store=options.pop("store", tmp_path / "run.sqlite"),
            prompts=options.pop("asked", None) or prompts(n),
            endpoints={"here": Endpoint(name="here", url=url, **server)},
            models=options.pop(
                "models", (Model(name="m", endpoint="here", model="org/m", **model),)
            ),
            **options,
        )

    return make
