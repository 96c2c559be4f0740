"""Batches: nothing is lost and nothing paid twice, whatever servers and processes do."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from psychollm._base.errors import OptionError
from psychollm.collect.client import Collection, collect
from psychollm.collect.plan import Plan
from psychollm.collect.roster import Model, Prices
from psychollm.collect.store import Store
from psychollm.instruments.prompt import Message, Prompt
from tests.collect.batch_servers import SERVERS, BatchServer, OpenAI, Rules, json_act
from tests.collect.conftest import write_plan
from tests.collect.hostile import Act
from tests.collect.test_processes import POSIX, start
from tests.effort import FUZZ

MakePlan = Callable[..., Plan]
BOTH = pytest.mark.parametrize("wire", SERVERS)


def run(
    make_plan: MakePlan, server: BatchServer, wire: str, n: int = 20, **more: object
) -> Collection:
    known = {"wire": wire, "batch": True, "poll": 0.02, "patience": 5.0}
    return collect(make_plan(server.url, n, **(known | more)))


def kinds(found: Collection) -> dict[str, int]:
    with Store(Path(found.store)) as store:
        query = "SELECT kind, count(*) FROM attempt GROUP BY 1"
        return {row[0]: row[1] for row in store.rows(query)}


@BOTH
def test_a_batch_is_handed_in_waited_for_and_fetched(wire: str, make_plan: MakePlan) -> None:
    with SERVERS[wire](Rules(looks=3, late_results=2)) as server:
        found = run(make_plan, server, wire)
    assert found.complete
    assert len(server.taken) == 1
    assert set(server.paid.values()) == {1}
    assert not server.alone
    assert kinds(found) == {"ok": 20}


@BOTH
def test_what_is_lost_or_expires_is_asked_by_itself(wire: str, make_plan: MakePlan) -> None:
    with SERVERS[wire](Rules(lose=0.2, expire=0.2, duplicate=0.5)) as server:
        found = run(make_plan, server, wire, 60)
    assert found.complete
    gone = sum(server.alone.values())
    assert 0 < gone < 50
    by_kind = kinds(found)
    assert by_kind.keys() == {"ok", "lost", "expired"}
    assert by_kind["lost"] + by_kind["expired"] == gone
    assert by_kind["ok"] == 60
    assert set(server.alone.values()) == {1}


@pytest.mark.parametrize(("rules", "each"), [({"lose": 1.0}, 35.0), ({"expire": 1.0}, 0.0)])
def test_what_was_lost_may_have_to_be_paid_and_what_expired_not(
    rules: dict[str, float], each: float, make_plan: MakePlan
) -> None:
    prices = Prices(input=1e6, output=1e6)  # a request costs 6, and 34 or 35 at most
    with OpenAI(Rules(**rules)) as server:  # type: ignore[arg-type]
        found = run(make_plan, server, "openai-chat", 10, prices=prices)
    assert found.complete
    assert abs(found.cost - 10 * (6.0 + each)) <= 10


@BOTH
def test_a_batch_that_was_taken_without_a_word_is_found(wire: str, make_plan: MakePlan) -> None:
    """The connection breaks after the server took it, and its list lags behind."""
    with SERVERS[wire](Rules(hidden=1.0, lag=0.05)) as server:
        found = run(make_plan, server, wire, poll=0.05)
    assert found.complete
    assert len(server.taken) == 1
    assert set(server.paid.values()) == {1}


@BOTH
def test_a_refused_parameter_leaves_the_batch_and_not_the_price(
    wire: str, make_plan: MakePlan
) -> None:
    with SERVERS[wire](Rules(refuse="temperature")) as server:
        found = run(make_plan, server, wire, parameters={"temperature": 0.0})
    assert found.complete
    assert len(server.taken) == 2  # the second without it
    assert not server.alone


def test_too_much_waiting_is_waited_out(make_plan: MakePlan) -> None:
    with OpenAI(Rules(crowded=2)) as server:
        found = run(make_plan, server, "openai-chat")
    assert found.complete
    assert not server.alone


def test_a_server_without_batches_is_asked_one_by_one(make_plan: MakePlan) -> None:
    class Plain(OpenAI):
        def upload(self, head: str, raw: bytes):  # type: ignore[no-untyped-def]
            return self.route("GET", "/nowhere", head, raw)

    with Plain() as server:
        found = run(make_plan, server, "openai-chat")
    assert found.complete
    assert sum(server.alone.values()) == 20


def chains(n: int, parts: str) -> tuple[Prompt, ...]:
    """Return conversations of several parts."""
    before = dict(zip(parts[1:], parts, strict=False))
    return tuple(
        Prompt(
            key=f"{part}{i}",
            item=f"q{i}",
            messages=(Message("user", f"{part} {i}?"),),
            reply="text",
            follows=f"{before[part]}{i}" if part in before else None,
        )
        for part in parts
        for i in range(n)
    )


def test_what_follows_is_handed_in_when_it_can_be(make_plan: MakePlan) -> None:
    with OpenAI() as server:
        found = run(make_plan, server, "openai-chat", asked=chains(5, "ab"))
        models = tuple(Model(name=name, endpoint="here", model=name) for name in "xy")
        run(make_plan, server, "openai-chat", models=models)
    assert found.complete
    assert [len(one.requests) for one in server.taken.values()] == [5, 5, 20, 20]
    assert "Yes" in str(list(server.taken.values())[1].requests)


def test_a_budget_holds_for_batches(make_plan: MakePlan) -> None:
    prices = Prices(input=1e6, output=1e6)  # a request costs 6, and 35 at most
    with OpenAI() as server:
        found = run(make_plan, server, "openai-chat", 40, prices=prices, budget=150.0)
    assert found.cost == 6.0 * sum(server.paid.values()) <= 150.0
    assert found.cost > 150.0 - 36.0
    assert found.stopped == "the budget does not allow another request"


@BOTH
def test_a_secret_that_is_refused_ends_the_asking(wire: str, make_plan: MakePlan) -> None:
    class Strict(SERVERS[wire]):  # type: ignore[misc]
        def route(self, method, place, head, raw):  # type: ignore[no-untyped-def]
            return json_act({"error": {"message": "no"}}, 401)

    with Strict() as server:
        found = run(make_plan, server, wire)
    assert found.left == (20,)
    assert "unauthorised" in found.halted["m"]


@BOTH
@pytest.mark.parametrize("status", [401, 400])
@pytest.mark.parametrize("spaces", [0, 230])  # the secret would be cut in two
def test_a_secret_that_a_server_repeats_is_blotted_out(
    wire: str, status: int, spaces: int, make_plan: MakePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "a-secret-" + "0123456789" * 4
    monkeypatch.setenv("BATCH_KEY", secret)

    class Talkative(SERVERS[wire]):  # type: ignore[misc]
        def route(self, method, place, head, raw):  # type: ignore[no-untyped-def]
            said = " " * spaces + f"Incorrect API key provided: {secret}"
            return json_act({"error": {"message": said}}, status)

    with Talkative() as server:
        found = run(make_plan, server, wire, 2, key="BATCH_KEY", attempts=1)
    with Store(Path(found.store)) as store:
        kept = [tuple(row) for row in store.rows("SELECT detail, raw FROM attempt")]
    assert bool(kept) == (status == 400)
    assert "Incorrect API key" in f"{found.halted} {kept}"
    assert "a-secret-0" not in f"{found.halted} {kept} {found.summary()}"


@BOTH
def test_a_server_that_stays_away_is_not_paid_twice(wire: str, make_plan: MakePlan) -> None:
    with SERVERS[wire](Rules(looks=10**6)) as server:
        away = SERVERS[wire].route
        server.route = lambda *call: (  # type: ignore[method-assign]
            away(server, *call) if not server.taken else Act(500, b"{}")
        )
        found = run(make_plan, server, wire, patience=0.2)
        assert found.left == (20,)
        assert "server_error" in found.halted["m"]
        del server.route
        server.rules.looks = 0
        assert run(make_plan, server, wire).complete
    assert set(server.paid.values()) == {1}


def test_wires_without_batches(make_plan: MakePlan) -> None:
    for more in ({"wire": "gemini"}, {"stream": True}):
        with pytest.raises(OptionError, match="batch"):
            make_plan("http://127.0.0.1:9", batch=True, **more)


@POSIX
@BOTH
@pytest.mark.thorough
def test_killed_twenty_times_it_loses_nothing_and_pays_nothing_twice(
    wire: str, tmp_path: Path
) -> None:
    """Twenty times under ``nox -s fuzz``; each part of a conversation is a batch of its own."""
    n, kills = 120, 20 if FUZZ else 2
    rules = Rules(looks=4, lag=0.1, hidden=0.4, duplicate=0.3, late_results=1)
    moments = np.random.default_rng(7)
    extra = f'wire = "{wire}"\nbatch = true\npoll = 0.1\npatience = 60.0'
    survived = 0
    with SERVERS[wire](rules, seed=3) as server:
        plan = write_plan(tmp_path, server.url, n, extra=extra)
        asked = [json.dumps(prompt.to_dict()) for prompt in chains(n // 3, "abc")]
        (tmp_path / "items.jsonl").write_text("\n".join(asked))
        for _ in range(kills):
            process = start(plan)
            seen = sum(server.calls.values())
            # Some while it hands in, some while it waits or fetches.
            target = seen + int(moments.integers(1, 5))
            while sum(server.calls.values()) < target and process.poll() is None:
                time.sleep(0.001)
            time.sleep(float(moments.random()) * 0.1)
            survived += process.poll() is None
            process.kill()
            process.communicate()
        process = start(plan)
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, out + err
    assert len(server.paid) == n
    assert set(server.paid.values()) == {1}  # nothing paid twice
    assert not server.alone
    with Store(tmp_path / "run.sqlite") as store:
        assert store.counts() == {"m": {"answered": n}}  # nothing lost
        (row,) = store.rows("SELECT count(*) FROM attempt WHERE kind = 'ok'")
        assert row[0] == n
    assert survived >= kills / 2, "the kills came too late to try anything"
