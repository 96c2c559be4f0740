"""One limit on the length of a reply: the plan's before the prompt's, under either name."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from psychollm._base.errors import OptionError
from psychollm.collect.client import collect
from psychollm.collect.plan import Plan, read_plan
from psychollm.collect.preview import preview
from psychollm.collect.request import LIMITS
from psychollm.collect.roster import Prices
from psychollm.collect.wire import WIRES
from tests.collect.conftest import write_plan
from tests.collect.hostile import Act, Body, Hostile, said

MakePlan = Callable[..., Plan]
LENGTHS = ("max_tokens", "max_completion_tokens")
TALK = ({"role": "user", "content": "?"},)


@pytest.mark.parametrize("name", LENGTHS)
def test_the_plan_wins_over_the_prompt_under_either_name(name: str, make_plan: MakePlan) -> None:
    with Hostile() as server:
        assert collect(make_plan(server.url, 1, parameters={name: 4000})).complete
        sent = {key: value for key, value in server.seen[0].items() if key in LENGTHS}
    assert sent == {name: 4000}


def test_a_refused_limit_of_the_prompt_is_never_renamed_over_the_plans(
    make_plan: MakePlan,
) -> None:
    """A server that knows one name only, and says so as OpenAI does of reasoning models."""

    def script(body: Body, n: int) -> Act:
        if "max_tokens" in body:
            return Act(400, b"'max_tokens' is not supported: use 'max_completion_tokens'")
        return said()

    with Hostile(script) as server:
        plan = make_plan(server.url, 3, parameters={"max_completion_tokens": 4000})
        assert collect(plan).complete
    assert [body["max_completion_tokens"] for body in server.seen] == [4000] * 3


def test_a_limit_of_the_prompt_is_still_renamed(make_plan: MakePlan) -> None:
    def script(body: Body, n: int) -> Act:
        if "max_tokens" in body:
            return Act(400, b"'max_tokens' is not supported: use 'max_completion_tokens'")
        return said()

    with Hostile(script) as server:
        assert collect(make_plan(server.url, 2, start_concurrency=1)).complete
    assert server.seen[-1]["max_completion_tokens"] == 8


@pytest.mark.parametrize("name", LIMITS)
def test_the_only_limit_is_not_given_up(name: str, make_plan: MakePlan) -> None:
    """Without it nothing would bound what a request costs."""

    def script(body: Body, n: int) -> Act:
        told = {"message": f"Unknown parameter: '{name}'", "param": name}
        return Act(400, json.dumps({"error": told}).encode()) if name in body else said()

    with Hostile(script) as server:
        found = collect(make_plan(server.url, 2, parameters={name: 16}))
        assert found.failed == (2,)
        assert all(body[name] == 16 for body in server.seen)


def test_a_models_own_limit_takes_the_place_of_the_one_of_all(tmp_path: Path) -> None:
    path = write_plan(tmp_path, "http://127.0.0.1:9/v1", 1)
    path.write_text(
        path.read_text().replace("[endpoints", "[parameters]\nmax_tokens = 64\n[endpoints")
        + "[models.parameters]\nmax_completion_tokens = 4000\n"
    )
    (model,) = read_plan(path).models
    assert model.parameters == {"max_completion_tokens": 4000}


@pytest.mark.parametrize(
    "wrong", [{"max_tokens": 1, "max_completion_tokens": 2}, {"max_tokens": "64"},
              {"max_tokens": 0}, {"max_completion_tokens": True}, {"max_tokens": 2.5}]
)  # fmt: skip
def test_limits_that_cannot_be(wrong: dict[str, object], make_plan: MakePlan) -> None:
    with pytest.raises(OptionError, match="max_tokens|max_completion_tokens"):
        make_plan("http://127.0.0.1:9/v1", parameters=wrong)


@pytest.mark.parametrize("name", LENGTHS)
def test_either_name_bounds_the_cost(name: str, make_plan: MakePlan) -> None:
    prices = Prices(input=0.0, output=1e6)
    plan = make_plan("http://127.0.0.1:9/v1", 1, prices=prices, parameters={name: 40})
    assert preview(plan).most_cost == (40.0,)


@pytest.mark.parametrize("wire", ["anthropic", "openai-completions"])
def test_formats_that_know_one_name_get_that(wire: str) -> None:
    body = WIRES[wire].body("m", TALK, {"max_completion_tokens": 4000})
    assert body["max_tokens"] == 4000
    assert "max_completion_tokens" not in body
