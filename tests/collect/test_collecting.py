"""From a plan to a table: what is asked, what is kept, what it costs, and what is never kept."""

import json
import math
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from psychollm._base.errors import InputError, OptionError
from psychollm.collect.client import collect
from psychollm.collect.export import export, replies, to_frame
from psychollm.collect.plan import Plan
from psychollm.collect.preview import preview
from psychollm.collect.progress import ModelProgress
from psychollm.collect.roster import Model, Prices
from psychollm.collect.store import Store
from psychollm.instruments.prompt import Message, Prompt
from tests.collect.conftest import prompts
from tests.collect.hostile import Act, Body, Hostile, said

MakePlan = Callable[..., Plan]
SECRET = "sk-very-secret-0123456789"  # noqa: S105 -- invented


def frame(plan: Plan) -> pd.DataFrame:
    with Store(plan.store) as store:
        return to_frame(store)


def chain() -> tuple[Prompt, ...]:
    turns = ("Can you?", "Then do.", "Check it.")
    before: str | None = None
    made = []
    for key, words in zip("abc", turns, strict=True):
        turn = (Message("user", words),)
        made.append(Prompt(key=key, item="q", messages=turn, reply="text", follows=before))
        before = key
    return tuple(reversed(made))


def test_prompts_that_follow_are_asked_after_with_the_replies_inserted(
    make_plan: MakePlan,
) -> None:
    def script(body: Body, n: int) -> Act:
        return said(f"reply {len(body['messages'])}")

    with Hostile(script) as server:
        found = collect(make_plan(server.url, asked=chain(), system="Be brief.", repeats=2))
    assert found.complete
    longest = max(server.seen, key=lambda body: len(body["messages"]))
    assert [(turn["role"], turn["content"]) for turn in longest["messages"]] == [
        ("system", "Be brief."),
        ("user", "Can you?"),
        ("assistant", "reply 2"),
        ("user", "Then do."),
        ("assistant", "reply 4"),
        ("user", "Check it."),
    ]
    assert len(server.seen) == 6


def test_what_follows_a_failure_is_not_asked(make_plan: MakePlan) -> None:
    with Hostile(lambda body, n: Act(400, b"no")) as server:
        found = collect(make_plan(server.url, asked=chain()))
    assert (found.answered, found.failed, found.left) == ((0,), (1,), (2,))
    assert len(server.seen) == 1


def test_where_a_reply_comes_from_is_kept(make_plan: MakePlan) -> None:
    top = [{"token": "Yes", "logprob": math.log(0.25)}, {"token": " no", "logprob": -3.0}]
    script = said("Yes.", logprobs={"content": [{"token": "Yes", "top_logprobs": top}]})
    with Hostile(lambda body, n: script) as server:
        plan = make_plan(server.url, 1, parameters={"logprobs": True, "top_logprobs": 20})
        collect(plan)
        assert server.seen[0]["top_logprobs"] == 20
    row = frame(plan).iloc[0]
    assert (row["served_model"], row["provider"], row["fingerprint"]) == ("served", "here", "fp")
    assert (row["input_tokens"], row["output_tokens"], row["finish_reason"]) == (5, 1, "stop")
    assert row["yes_mass"] == pytest.approx(0.25)
    assert row["no_mass"] == pytest.approx(math.exp(-3.0))
    assert row["attempts"] == 1
    assert 0 <= row["seconds"] < 10
    assert abs(row["started"] - time.time()) < 60


def test_repeats_are_asked_apart_and_seeds_differ(make_plan: MakePlan) -> None:
    with Hostile() as server:
        plan = make_plan(server.url, 2, parameters={"seed": 7}, repeats=3)
        assert collect(plan).answered == (6,)
    assert sorted(body["seed"] for body in server.seen) == [7, 7, 8, 8, 9, 9]
    assert sorted(frame(plan)["sample"]) == [0, 0, 1, 1, 2, 2]


def test_many_models_in_one_run_take_turns(make_plan: MakePlan) -> None:
    models = tuple(
        Model(name=f"m{i}", endpoint="here", model="org/m", system=f"You are {i}.")
        for i in range(3)
    )
    with Hostile() as server:
        plan = make_plan(server.url, 10, models=models, concurrency=3, start_concurrency=3)
        found = collect(plan)
    assert found.answered == (10, 10, 10)
    first = [body["messages"][0]["content"] for body in server.seen[:6]]
    assert set(first) == {"You are 0.", "You are 1.", "You are 2."}


def test_failed_calls_are_missing_and_never_no(make_plan: MakePlan, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")

    def script(body: Body, n: int) -> Act:
        return Act(400, b"no") if "Question 1" in body["messages"][0]["content"] else said("")

    with Hostile(script) as server:
        plan = make_plan(server.url, 2)
        collect(plan)
    table = frame(plan)
    assert table["text"].fillna("missing").tolist() == ["", "missing"]
    assert table["state"].tolist() == ["answered", "failed"]
    assert table["failure"].fillna("").tolist() == ["", "bad_request"]
    with Store(plan.store) as store:
        assert [row["text"] for _, row in replies(store)] == ["", None]
        assert [prompt.key for prompt, _ in replies(store)] == ["q0", "q1"]
        assert export(store, tmp_path / "a.csv") == 2
        assert export(store, tmp_path / "a.parquet") == 2
        with pytest.raises(InputError, match="name it"):
            export(store, tmp_path / "a.xls")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "a.parquet"), table)


# -- money and pace ------------------------------------------------------------------------------


def test_a_budget_is_never_passed(make_plan: MakePlan) -> None:
    prices = Prices(input=1e6, output=1e6)  # one a token: each reply costs 6
    with Hostile(lambda body, n: Act(200, said().body, delay=0.01)) as server:
        plan = make_plan(server.url, 50, prices=prices, budget=100.0)
        found = collect(plan)
        assert found.cost == 6.0 * len(server.seen) <= 100.0
        assert found.stopped == "the budget does not allow another request"
        assert found.failed == (0,)
        # The bound of a request is 26 to 27 + 8: no other would have fitted.
        assert found.cost > 100.0 - 36.0
        # A larger budget goes on from there.
        done = len(server.seen)
        more = collect(make_plan(server.url, 50, prices=prices, budget=200.0))
        assert done < more.answered[0]
        assert more.cost <= 200.0


def test_what_left_the_plan_is_not_asked(make_plan: MakePlan) -> None:
    prices = Prices(input=0.0, output=1e6)
    with Hostile() as server:
        first = collect(make_plan(server.url, 6, prices=prices, budget=8.5, repeats=3))
        assert first.answered == (1,)
        plan = make_plan(server.url, 2)
        assert preview(plan).requests == (1,)
        found = collect(plan)
        assert (found.answered, found.left) == ((2,), (0,))
        assert len(server.seen) == 2
        # Back in the plan, it is asked.
        assert collect(make_plan(server.url, 3)).answered == (3,)


def test_prices_that_the_server_names_count(make_plan: MakePlan) -> None:
    reply = json.loads(said().body) | {"usage": {"cost": 0.25}}
    with Hostile(lambda body, n: Act(200, json.dumps(reply).encode())) as server:
        assert collect(make_plan(server.url, 4)).cost == 1.0


def test_tokens_that_the_server_counts_as_none_are_taken_at_their_bound(
    make_plan: MakePlan,
) -> None:
    usage = {"usage": {"prompt_tokens": 0, "completion_tokens": 0}}
    reply = json.dumps(json.loads(said().body) | usage).encode()
    with Hostile(lambda body, n: Act(200, reply)) as server:
        found = collect(make_plan(server.url, 2, prices=Prices(input=0.0, output=1e6)))
    assert found.cost == 16.0  # of 8 each


def test_what_timed_out_counts_as_spent(make_plan: MakePlan) -> None:
    with Hostile(lambda body, n: Act(200, said().body, delay=9.0)) as server:
        prices = Prices(input=0.0, output=1e6)
        plan = make_plan(server.url, 1, prices=prices, budget=17.0, timeout=0.1, attempts=9)
        found = collect(plan)
        assert len(server.seen) == 2  # of 8 each
    assert found.cost == 16.0
    assert found.left == (1,)


def test_requests_per_minute(make_plan: MakePlan) -> None:
    with Hostile() as server:
        start = time.monotonic()
        # 10 a second, of which one second's worth may come at once.
        assert collect(make_plan(server.url, 21, requests_per_minute=600)).complete
        assert 0.9 < time.monotonic() - start < 6


def test_tokens_per_minute(make_plan: MakePlan) -> None:
    with Hostile(lambda body, n: said(usage=(20, 7))) as server:
        start = time.monotonic()
        # Of 27 tokens each, 6,000 a minute: 3.7 a second.
        assert collect(make_plan(server.url, 8, tokens_per_minute=6000)).complete
        assert 0.8 < time.monotonic() - start < 6


def test_fewer_at_once_when_the_server_is_crowded(make_plan: MakePlan) -> None:
    def script(body: Body, n: int) -> Act:
        if server.now > 3:
            return Act(429, b"{}", delay=0.02)
        return Act(200, said().body, delay=0.02)

    with Hostile(script) as server:
        found = collect(make_plan(server.url, 120, start_concurrency=32))
    assert found.complete
    # Thirty-two at once would be refused 29 times a round, for ever.
    assert found.failures["rate_limited"] < 240


# -- secrets -------------------------------------------------------------------------------------


def test_a_secret_leaves_no_trace(
    make_plan: MakePlan, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TEST_KEY", SECRET)
    echo = said(f"your key is {SECRET}").body

    def script(body: Body, n: int) -> Act:
        return Act(500, f"bad key {SECRET}".encode()) if n == 1 else Act(200, echo)

    with Hostile(script) as server:
        plan = make_plan(server.url, 2, key="TEST_KEY")
        found = collect(plan)
        assert f"Bearer {SECRET}" in server.heads[0]
    assert SECRET not in repr(found) + repr(plan) + found.summary()
    export_path = tmp_path / "replies.csv"
    with Store(plan.store) as store:
        export(store, export_path)
    for path in tmp_path.iterdir():
        assert SECRET.encode() not in path.read_bytes(), path


def test_a_secret_that_is_not_there(make_plan: MakePlan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_KEY", raising=False)
    with pytest.raises(OptionError, match="TEST_KEY is not set"):
        collect(make_plan("http://127.0.0.1:9/v1", key="TEST_KEY"))


def test_a_secret_in_the_plan_is_refused_and_not_repeated(make_plan: MakePlan) -> None:
    for bad in ({"key": SECRET}, {"url": f"http://me:{SECRET}@127.0.0.1/v1"}):
        with pytest.raises(OptionError) as caught:
            make_plan(**{"url": "http://127.0.0.1:9/v1"} | bad)
        assert SECRET not in str(caught.value)


# -- looking -------------------------------------------------------------------------------------


def test_a_preview_asks_nothing(make_plan: MakePlan) -> None:
    with Hostile() as server:
        prices = Prices(input=1.0, output=2.0)
        plan = make_plan(server.url, 4, prices=prices, budget=1.0, repeats=2, system="Be brief.")
        found = preview(plan)
        assert server.seen == []
    assert found.requests == (8,)
    assert "system: Be brief." in found.summary()
    assert "user: Question 0?" in found.summary()
    assert "Nothing was sent" in found.summary()
    assert not plan.store.exists()
    # Bound: letters and 16 a turn for two turns, 8 of the reply.
    assert found.most_cost[0] == pytest.approx(8 * ((9 + 11 + 32) * 1.0 + 8 * 2.0) / 1e6)


def test_progress_is_told(make_plan: MakePlan) -> None:
    told: list[str] = []

    def watch(models: "list[ModelProgress]") -> None:
        told.append(models[0].line(time.monotonic()))

    with Hostile(lambda body, n: Act(200, said().body, delay=0.05)) as server:
        plan = make_plan(server.url, 20, concurrency=4, start_concurrency=4)
        collect(plan, watch=watch, every=0.05)
    assert len(told) > 2
    assert "20/20 answered" in told[-1]
    assert any("left" in line for line in told)


def test_an_error_in_the_watch_ends_the_run(make_plan: MakePlan) -> None:
    def watch(models: object) -> None:
        msg = "no screen"
        raise RuntimeError(msg)

    with (
        Hostile(lambda body, n: Act(200, said().body, delay=0.05)) as server,
        pytest.raises(RuntimeError, match="no screen"),
    ):
        collect(make_plan(server.url, 50), watch=watch, every=0.02)


def test_a_store_that_fails_ends_the_run(
    make_plan: MakePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> int:
        msg = "disk is full"
        raise OSError(msg)

    monkeypatch.setattr(Store, "record_all", full)
    with Hostile() as server, pytest.raises(OSError, match="full"):
        collect(make_plan(server.url, 50))


def test_prompts_of_several_repeats_keep_theirs(make_plan: MakePlan) -> None:
    twice = tuple(
        Prompt(key="a", item="q", messages=prompts(1)[0].messages, reply="text", repeat=r)
        for r in (0, 1)
    )
    with Hostile() as server:
        plan = make_plan(server.url, asked=twice)
        assert collect(plan).complete
    assert frame(plan)["repeat"].tolist() == [0, 1]


@pytest.mark.parametrize("order", ["turns", "models"])
def test_models_in_turn_or_one_after_another(order: str, make_plan: MakePlan) -> None:
    models = tuple(Model(name=f"m{i}", endpoint="here", model=f"org/m{i}") for i in range(3))
    with Hostile() as server:
        plan = make_plan(server.url, 8, models=models, order=order, concurrency=2)
        assert collect(plan).answered == (8, 8, 8)
    asked = [body["model"] for body in server.seen]
    assert (asked == sorted(asked)) is (order == "models")
    with pytest.raises(OptionError, match="order"):
        make_plan(server.url, order="random")


def test_what_each_model_cost_and_what_more_will(make_plan: MakePlan) -> None:
    models = tuple(
        Model(name=name, endpoint="here", model=name, prices=Prices(input=1e5, output=price))
        for name, price in (("cheap", 0.0), ("dear", 1e6))
    )
    with Hostile() as server:
        plan = make_plan(server.url, 4, models=models)
        first = preview(plan)
        assert all(map(math.isnan, first.likely_cost))
        found = collect(plan)
        paced = preview(make_plan(server.url, 8, models=models, requests_per_minute=4))
    assert [one["cost"] for one in found.costs.values()] == [2.0, 6.0]
    assert found.costs["dear"]["output_tokens"] == 4
    lines = [line.split() for line in found.summary().splitlines()]
    assert ["cheap", "20", "4", "0", "2", "0.5"] in lines
    assert ["dear", "20", "4", "0", "6", "1.5"] in lines
    assert paced.requests == (4, 4)  # what is answered is not asked again
    assert paced.likely_cost == (2.0, 6.0)
    assert paced.seconds == (60.0, 60.0)
    assert "likely 8" in paced.summary()


def test_the_cost_of_all_is_told_while_it_runs() -> None:
    one = ModelProgress(name="m", total=10, answered=2, cost=0.5, began=0.0)
    assert one.line(now=1.0).endswith("cost 0.5 of about 2.5")
