"""Replies that nobody vouches for: failed calls are no answers, and no reply stops a run."""

import gzip
import json
import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from psychollm.collect.client import collect
from psychollm.collect.plan import Plan
from psychollm.collect.store import Store
from psychollm.collect.wire import WIRES
from tests.collect.hostile import Act, Body, Hostile, said

MakePlan = Callable[..., Plan]
CHAT = WIRES["openai-chat"]


def reply(**fields: Any) -> Act:
    """Return a proper reply with some fields changed."""
    return Act(body=json.dumps(json.loads(said("No").body) | fields).encode())


def first(act: Act, times: int = 1) -> Callable[[Body, int], Act]:
    return lambda body, n: act if n <= times else said("Yes")


def kinds(plan: Plan) -> list[str]:
    with Store(plan.store) as store:
        return [row[0] for row in store.rows("SELECT kind FROM attempt ORDER BY id")]


# -- failed calls are no answers -----------------------------------------------------------------

EMPTY = {"content": ""}
FAILED = {
    "finish reason error": (said("No", finish_reason="error"), "server_error"),
    "finish reason abort": (said("No", finish_reason="abort"), "server_error"),
    "an error in the choice": (said("No", error={"code": 502, "message": "x"}), "server_error"),
    "a limit in the choice": (said("No", error={"code": "429"}), "rate_limited"),
    "an empty message": (reply(choices=[{"message": {}}]), "empty"),
    "nothing and no reason": (reply(choices=[{"message": EMPTY}]), "empty"),
    "nothing said, no token": (said("", usage=(5, 0)), "empty"),
    "blanks, no usage": (
        reply(choices=[{"message": {"content": " \n"}, "finish_reason": "stop"}], usage=None),
        "empty",
    ),
    "null": (
        reply(choices=[{"message": {"content": None}, "finish_reason": "stop"}], usage={}),
        "empty",
    ),
}


@pytest.mark.parametrize("name", FAILED)
def test_failed_calls_are_asked_again(name: str, make_plan: MakePlan) -> None:
    act, kind = FAILED[name]
    with Hostile(first(act)) as server:
        plan = make_plan(server.url, 1)
        assert collect(plan).complete
    assert kinds(plan) == [kind, "ok"]


@pytest.mark.parametrize("reason", ["content_filter", "SAFETY", "guardrail_intervened"])
def test_what_a_filter_held_back_is_missing_and_asked_again_by_the_next_run(
    reason: str, make_plan: MakePlan
) -> None:
    with Hostile(first(said("No", finish_reason=reason))) as server:
        plan = make_plan(server.url, 1)
        found = collect(plan)
        assert (found.answered, found.failed) == ((0,), (1,))
        assert found.failures == {"filtered": 1}
        assert collect(plan).complete


def test_a_model_that_says_nothing_has_answered(make_plan: MakePlan) -> None:
    for k, act in enumerate([
        said("", usage=(5, 1)),
        said("", usage=(5, 64), finish_reason="length"),
        said("", message={"content": "", "reasoning_content": "Hm."}, usage=(5, 0)),
    ]):  # fmt: skip
        with Hostile(lambda body, n, act=act: act) as server:
            store = make_plan(server.url, 1).store.with_name(f"{k}.sqlite")
            plan = make_plan(server.url, 1, store=store)
            assert collect(plan).complete
        assert kinds(plan) == ["ok"]


def test_refusals_by_a_classifier_of_messages(make_plan: MakePlan) -> None:
    body = {"content": [{"type": "text", "text": "No"}], "stop_reason": "refusal"}
    with Hostile(lambda asked, n: Act(body=json.dumps(body).encode())) as server:
        found = collect(make_plan(server.url, 1, wire="anthropic"))
    assert found.failures == {"filtered": 1}


def test_money_that_a_failed_call_has_cost_is_counted(make_plan: MakePlan) -> None:
    act = reply(choices=[{"message": {}}], usage={"cost": 0.25})
    with Hostile(first(act)) as server:
        assert collect(make_plan(server.url, 1)).cost == 0.25


# -- no reply stops a run ------------------------------------------------------------------------

DIGITS = "9" * 400
TOP = {"content": [{"token": "Yes", "top_logprobs": [{"token": "Yes", "logprob": -0.5}]}]}


@pytest.mark.parametrize("number", [DIGITS, "9" * 5000, "-" + DIGITS, "1e999", "NaN", "true"])
@pytest.mark.parametrize("field", ["cost", "completion_tokens", "logprob"])
def test_numbers_that_no_program_means(number: str, field: str, make_plan: MakePlan) -> None:
    choice = {"message": {"content": "Yes"}, "finish_reason": "stop", "logprobs": TOP}
    body = json.dumps({"choices": [choice], "usage": {"cost": 0, "completion_tokens": 0}})
    start = body.index(f'"{field}": ') + len(field) + 4
    stop = min(k for k in (body.find(",", start), body.find("}", start)) if k > 0)
    act = Act(body=(body[:start] + number + body[stop:]).encode())
    with Hostile(lambda asked, n: act) as server:
        plan = make_plan(server.url, 2)
        found = collect(plan)
        assert found.complete
        assert found.cost == 0
        assert collect(plan).complete
    with Store(plan.store) as store:
        rows = [tuple(row) for row in store.rows("SELECT text, yes_mass FROM attempt")]
    mass = None if field == "logprob" else pytest.approx(0.6065, abs=1e-4)
    assert rows == [("Yes", mass)] * 2


@pytest.mark.parametrize("cost", [1e300, 10**9, -1, "0.5", [], True])
def test_costs_that_cannot_be_are_none(cost: object) -> None:
    assert CHAT.read(reply(usage={"cost": cost}).body).usage.cost is None


def test_a_byte_order_mark_is_passed_over(make_plan: MakePlan) -> None:
    with Hostile(lambda body, n: Act(body=b"\xef\xbb\xbf" + said("No").body)) as server:
        plan = make_plan(server.url, 1)
        assert collect(plan).complete
    assert kinds(plan) == ["ok"]


PARTS = [
    ([{"type": "text", "text": "Ye"}, {"type": "text", "text": "s"}], "Yes", None),
    (["Yes"], "Yes", None),
    ([{"type": "output_text", "text": "Yes"}, {"type": "image_url"}], "Yes", None),
    ([{"type": "refusal", "refusal": "I will not."}], "I will not.", None),
    (
        [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
         {"type": "text", "text": "Yes"}],
        "Yes",
        "Hm.",
    ),
    ([{"type": "reasoning", "text": "Hm."}, {"type": "text", "text": "No"}], "No", "Hm."),
]  # fmt: skip


@pytest.mark.parametrize(("content", "text", "reasoning"), PARTS)
def test_content_may_come_in_parts(content: object, text: str, reasoning: str | None) -> None:
    found = CHAT.read(reply(choices=[{"message": {"content": content}}]).body)
    assert (found.text, found.reasoning) == (text, reasoning)


def test_many_objects_in_few_bytes_are_refused_before_they_are_made(make_plan: MakePlan) -> None:
    body = b'{"choices": [{"message": {"content": "Yes"}}], "x": [' + b"[]," * 2**20 + b"[]]}"
    with Hostile(first(Act(body=body))) as server:
        plan = make_plan(server.url, 1)
        assert collect(plan).complete
    assert kinds(plan) == ["bad_json", "ok"]


def test_an_error_that_is_deep(make_plan: MakePlan) -> None:
    body = b'{"error": ' + b"[" * 900 + b"]" * 900 + b"}"
    with Hostile(first(Act(body=body))) as server:
        assert collect(make_plan(server.url, 1)).complete
    with Hostile(lambda asked, n: Act(400, b"[" * 100_000)) as server:
        assert collect(make_plan(server.url, 2)).failures == {"bad_request": 1}


# -- size ----------------------------------------------------------------------------------------


def test_replies_are_never_unpacked(make_plan: MakePlan) -> None:
    body = gzip.compress(gzip.compress(b" " * 2**20 + said("Yes").body))
    bomb = Act(200, body, {"Content-Encoding": "gzip, gzip"})
    with Hostile(first(bomb)) as server:
        plan = make_plan(server.url, 1)
        assert collect(plan).complete
    assert kinds(plan) == ["encoded", "ok"]


def test_identity_is_no_encoding(make_plan: MakePlan) -> None:
    with Hostile(
        lambda body, n: Act(200, said().body, {"Content-Encoding": "Identity"})
    ) as server:
        assert collect(make_plan(server.url, 1)).failures == {}


def test_a_bomb_does_not_fill_the_memory(tmp_path: Any) -> None:
    """A few kilobytes that unfold to two gigabytes, under a limit of one."""
    (tmp_path / "ask.py").write_text(
        textwrap.dedent("""
        import asyncio, gzip, resource, sys, zlib
        def packed(n):
            pack = zlib.compressobj(1, zlib.DEFLATED, 31)
            parts = [pack.compress(bytes(2**20)) for _ in range(n)]
            return b"".join(parts) + pack.flush()
        bomb = gzip.compress(gzip.compress(packed(2048)))
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        from psychollm.collect.connection import Connections
        from tests.collect.hostile import Act, Hostile
        act = Act(200, bomb, {"Content-Encoding": "gzip, gzip, gzip"})
        async def ask(url):
            line = Connections(url, headers={}, timeout=60.0)
            found = await line.post(b"{}", "/x")
            await line.close()
            return found
        with Hostile(lambda body, n: act) as server:
            found = asyncio.run(ask(server.url))
        print(found.kind)
    """)
    )
    done = subprocess.run(
        [sys.executable, str(tmp_path / "ask.py")],
        capture_output=True, text=True, timeout=120, check=False, cwd=".",
        env={"PYTHONPATH": ".", "OPENBLAS_NUM_THREADS": "1", "PATH": ""},
    )  # fmt: skip
    assert done.stdout.split() == ["encoded"], done.stderr


@pytest.mark.parametrize("act", [
    Act(500, b"x" * 2**20), Act(200, b"{" + b" " * 2**20), Act(200, b" " * 2**20, cut=2**19),
    Act(400, b"max_tokens " * 2**16),
])  # fmt: skip
def test_of_failed_attempts_no_more_than_64_kilobytes_are_kept(
    act: Act, make_plan: MakePlan
) -> None:
    with Hostile(first(act, 2)) as server:
        plan = make_plan(server.url, 1)
        collect(plan)
    with Store(plan.store) as store:
        sizes = [row[0] for row in store.rows("SELECT length(raw) FROM attempt")]
    assert sizes[0] == 2**16


def test_whole_replies_are_kept_whole(make_plan: MakePlan) -> None:
    act = said("Yes. " * 2**16)
    with Hostile(lambda body, n: act) as server:
        plan = make_plan(server.url, 1)
        collect(plan)
    with Store(plan.store) as store:
        assert next(store.rows("SELECT raw FROM attempt"))[0] == act.body
