"""What the client does when a server misbehaves: no reply lost, none made up, all on record."""

import itertools
import json
import threading
import time
from collections.abc import Callable, Sequence
from email.utils import formatdate

import pytest

from psychollm.collect.client import Collection, collect
from psychollm.collect.export import to_frame
from psychollm.collect.faults import Kind
from psychollm.collect.plan import Plan
from psychollm.collect.progress import ModelProgress
from psychollm.collect.store import Store
from tests.collect.hostile import Act, Body, Hostile, said

MakePlan = Callable[..., Plan]


def attempts(plan: Plan) -> list[tuple[str, int | None]]:
    with Store(plan.store) as store:
        return [tuple(row) for row in store.rows("SELECT kind, status FROM attempt ORDER BY id")]


def first(act: Act, times: int = 1) -> Callable[[Body, int], Act]:
    """Return a script that misbehaves some times and then answers."""
    return lambda body, n: act if n <= times else said()


def unasked(*choices: Body, done: bool = True) -> Act:
    """Return a reply that comes as a stream although nobody asked for one."""
    ended = {"delta": {}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 5, "completion_tokens": 1}
    events = [{"choices": [one]} for one in (*choices, ended)]
    lines = [f"data: {json.dumps(one)}\n\n" for one in (*events, {"choices": [], "usage": usage})]
    body = "".join([*lines, "data: [DONE]\n\n"] if done else lines)
    return Act(200, body.encode(), {"Content-Type": "text/event-stream"})


HALF = said().body[:40]
FAULTS = {
    "429": (Act(429, b"{}"), "rate_limited"),
    "429, seconds": (Act(429, b"{}", {"Retry-After": "0.05"}), "rate_limited"),
    "429, milliseconds": (Act(429, b"{}", {"retry-after-ms": "50"}), "rate_limited"),
    "429, nonsense": (Act(429, b"{}", {"Retry-After": "soon"}), "rate_limited"),
    "500": (Act(500, b"oops"), "server_error"),
    "503": (Act(503, b""), "overloaded"),
    "529": (Act(529, b"{}"), "overloaded"),
    "half-sent JSON": (Act(200, said().body, cut=40), "broken"),
    "nothing sent": (Act(200, said().body, cut=0), "broken"),
    "JSON that ends early": (Act(200, HALF), "bad_json"),
    "no JSON": (Act(200, b"<html>"), "bad_json"),
    "deep JSON": (Act(200, b"[" * 100_000), "bad_json"),
    "a list": (Act(200, b"[]"), "bad_json"),
    "empty body": (Act(200, b""), "bad_json"),
    "empty choices": (Act(200, b'{"choices": []}'), "no_choices"),
    "null choices": (Act(200, b'{"choices": null}'), "no_choices"),
    "no message": (Act(200, b'{"choices": [{}]}'), "no_choices"),
    "content of numbers": (Act(200, b'{"choices": [{"message": {"content": 1}}]}'), "no_choices"),
    "a stream of several messages": (
        unasked({"message": {"content": "Y"}}, {"message": {"content": "Yes"}}),
        "bad_json",
    ),
    "a stream with the message in no choice": (
        Act(200, b'data: {"message": {"content": "Yes"}, "done": true}\n\n'),
        "broken",
    ),
    "a stream without a place for text": (
        Act(
            200,
            b'data: {"choices": [{"content": "Yes", "finish_reason": "stop"}],'
            b' "usage": {"completion_tokens": 1}}\n\ndata: [DONE]\n\n',
        ),
        "no_choices",
    ),
    "error within 200": (Act(200, b'{"error": {"code": 429}}'), "rate_limited"),
    "error of no kind": (Act(200, b'{"error": "x"}'), "server_error"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_passing_fault_costs_no_reply(name: str, make_plan: MakePlan) -> None:
    act, kind = FAULTS[name]
    with Hostile(first(act, 2)) as server:
        plan = make_plan(server.url, 4)
        found = collect(plan)
    assert found.complete
    assert found.answered == (4,)
    assert found.failures == {kind: 2}
    assert [row[0] for row in attempts(plan)].count("ok") == 4


@pytest.mark.parametrize(
    "act",
    [
        unasked({"message": {"role": "assistant", "content": "Yes"}}),
        unasked({"message": {"content": ""}}, {"message": {"content": "Yes"}}),
        unasked({"message": {"content": "Yes"}}, {"message": {"content": "Yes"}}),
        unasked({"message": {"content": "Yes"}, "finish_reason": "stop"}, done=False),
        unasked({"delta": {"content": "Y"}}, {"delta": {"content": "es"}}),
        unasked({"delta": {"content": "Yes"}}, {"message": {"content": "Yes"}}),
    ],
)
def test_a_stream_that_nobody_asked_for_is_read(act: Act, make_plan: MakePlan) -> None:
    with Hostile(lambda body, n: act) as server:
        plan = make_plan(server.url, 1)
        found = collect(plan)
    assert found.complete
    assert found.failures == {}
    with Store(plan.store) as store:
        assert list(to_frame(store)["text"]) == ["Yes"]


def test_raw_bytes_are_kept_whole_even_of_half_a_reply(make_plan: MakePlan) -> None:
    act = Act(200, said().body, cut=40)
    with Hostile(first(act)) as server:
        plan = make_plan(server.url, 1)
        collect(plan)
    with Store(plan.store) as store:
        raw = [row[0] for row in store.rows("SELECT raw FROM attempt ORDER BY id")]
    assert raw == [said().body[:40], said().body]


def in_two_seconds() -> str:
    """Return a date; dates hold whole seconds, so that it is more than one second away."""
    return formatdate(time.time() + 2, usegmt=True)


@pytest.mark.parametrize(("word", "least"), [(lambda: "0.4", 0.4), (in_two_seconds, 0.9)])
def test_retry_after_is_obeyed_as_seconds_and_as_a_date(
    word: Callable[[], str], least: float, make_plan: MakePlan
) -> None:
    def script(body: Body, n: int) -> Act:
        return said() if n > 1 else Act(429, b"{}", {"Retry-After": word()})

    with Hostile(script) as server:
        start = time.monotonic()
        assert collect(make_plan(server.url, 1)).complete
    assert least <= time.monotonic() - start < least + 5


def test_a_server_that_wants_hours_of_rest_is_left_alone(make_plan: MakePlan) -> None:
    with Hostile(lambda body, n: Act(429, b"{}", {"Retry-After": "7200"})) as server:
        found = collect(make_plan(server.url, 3))
    assert found.left == (3,)
    assert "7200 s" in found.halted["m"]


def test_rate_limits_never_fail_a_request(make_plan: MakePlan) -> None:
    with Hostile(lambda body, n: said() if n % 4 == 0 else Act(429, b"{}")) as server:
        found = collect(make_plan(server.url, 20, attempts=1))
    assert found.complete


def test_lasting_faults_are_failures_by_kind_and_never_answers(make_plan: MakePlan) -> None:
    def script(body: Body, n: int) -> Act:
        return Act(500, b"x") if "Question 1" in body["messages"][0]["content"] else said()

    with Hostile(script) as server:
        plan = make_plan(server.url, 3, attempts=3)
        found = collect(plan)
        assert (found.answered, found.failed, found.left) == ((2,), (1,), (0,))
        assert found.failures == {"server_error": 3}
        assert "3 server error" in found.summary()
        # The next run asks again for what failed, and for nothing else.
        server.seen.clear()
        server.script = lambda body, n: said()
        assert collect(plan).complete
        assert len(server.seen) == 1


def test_timeouts(make_plan: MakePlan) -> None:
    def script(body: Body, n: int) -> Act:
        return Act(200, said().body, delay=5.0) if n == 1 else said()

    with Hostile(script) as server:
        plan = make_plan(server.url, 3, timeout=0.3)
        found = collect(plan)
    assert found.complete
    assert found.failures == {"timeout": 1}


def test_bytes_that_are_no_text_are_marked_and_the_rest_is_kept(make_plan: MakePlan) -> None:
    body = said("Yes XX").body.replace(b"XX", b"\xff\xfe")
    with Hostile(lambda asked, n: Act(200, body)) as server:
        plan = make_plan(server.url, 1)
        assert collect(plan).complete
    with Store(plan.store) as store:
        (row,) = store.rows("SELECT text, raw FROM attempt")
    assert row["text"] == "Yes \ufffd\ufffd"
    assert row["raw"] == body


@pytest.mark.parametrize("half", ["\\ud800", "\\udfff"])
def test_half_a_character_can_be_stored(half: str, make_plan: MakePlan) -> None:
    body = said("XX").body.replace(b"XX", half.encode())
    with Hostile(lambda asked, n: Act(200, body)) as server:
        assert collect(make_plan(server.url, 1)).complete


@pytest.mark.parametrize(
    "logprobs",
    [None, {}, {"content": None}, {"content": []}, {"content": [{"top_logprobs": None}]}],
)
def test_null_log_probabilities_are_missing(logprobs: object, make_plan: MakePlan) -> None:
    with Hostile(lambda body, n: said(logprobs=logprobs)) as server:
        plan = make_plan(server.url, 1, parameters={"logprobs": True})
        assert collect(plan).complete
    with Store(plan.store) as store:
        (row,) = store.rows("SELECT yes_mass, no_mass FROM attempt")
    assert tuple(row) == (None, None)


def test_a_server_that_dies_and_comes_back(make_plan: MakePlan) -> None:
    with Hostile() as server:
        port = server.port
    plan = make_plan(f"http://127.0.0.1:{port}/v1", 10, patience=60)
    found: list[Collection] = []
    away = threading.Event()

    def watch(progress: Sequence[ModelProgress]) -> None:
        if any(Kind.UNREACHABLE in one.kinds for one in progress):
            away.set()

    thread = threading.Thread(target=lambda: found.append(collect(plan, watch=watch, every=0.01)))
    thread.start()
    assert away.wait(30)
    with Hostile(port=port):
        thread.join(30)
    assert found[0].complete
    assert found[0].failures["unreachable"] > 0


def test_a_server_that_stays_away_ends_the_run(make_plan: MakePlan) -> None:
    with Hostile() as server:
        url = server.url
    found = collect(make_plan(url, 3, patience=0.3))
    assert found.left == (3,)
    assert "unreachable" in found.halted["m"]


@pytest.mark.parametrize(
    ("act", "word"),
    [
        (Act(401, b"{}"), "unauthorised"),
        (Act(402, b"{}"), "payment"),
        (Act(429, b'{"error": {"code": "insufficient_quota"}}'), "payment"),
        (Act(302, b"", {"Location": "http://127.0.0.1:9/v1"}), "redirected"),
        (Act(404, b"{}"), "not_found"),
    ],
)
def test_some_replies_stop_the_endpoint(act: Act, word: str, make_plan: MakePlan) -> None:
    with Hostile(lambda body, n: act) as server:
        found = collect(make_plan(server.url, 50, start_concurrency=2))
        assert len(server.seen) <= 4
    assert found.left == (50,)
    assert found.failed == (0,)
    assert word in found.halted["m"]
    assert "Run the same command again" in found.summary()


def test_a_refused_parameter_is_dropped_once_and_recorded(make_plan: MakePlan) -> None:
    def script(body: Body, n: int) -> Act:
        if "temperature" in body:
            error = {"message": "temperature is not supported", "param": "temperature"}
            return Act(400, json.dumps({"error": error}).encode())
        if "max_tokens" in body:
            return Act(400, b"max_tokens is not supported: use 'max_completion_tokens' instead")
        return said()

    with Hostile(script) as server:
        plan = make_plan(server.url, 8, parameters={"temperature": 0.0}, start_concurrency=1)
        assert collect(plan).complete
        assert len(server.seen) == 10
        assert set(server.seen[-1]) == {"model", "messages", "max_completion_tokens"}
        with Store(plan.store) as store:
            assert store.dropped("m") == {
                "temperature": None,
                "max_tokens": "max_completion_tokens",
            }
        server.seen.clear()
        more = make_plan(server.url, 9, parameters={"temperature": 0.0})
        assert collect(more).complete
        assert len(server.seen) == 1  # remembered: nothing is refused any more


def test_a_request_that_is_refused_for_its_content_fails_alone(make_plan: MakePlan) -> None:
    def script(body: Body, n: int) -> Act:
        asked = body["messages"][0]["content"]
        return Act(400, b'{"error": "no"}') if "Question 2" in asked else said()

    with Hostile(script) as server:
        found = collect(make_plan(server.url, 4))
    assert (found.answered, found.failed) == ((3,), (1,))
    assert found.failures == {"bad_request": 1}


def test_a_server_that_always_refuses_what_was_dropped_is_not_asked_for_ever(
    make_plan: MakePlan,
) -> None:
    with Hostile(lambda body, n: Act(400, b"temperature, seed: not supported")) as server:
        parameters = {"temperature": 0.0, "seed": 1}
        found = collect(make_plan(server.url, 2, parameters=parameters, start_concurrency=1))
        # The first prompt with both, with one, with none; the second with none.
        assert len(server.seen) == 4
    assert found.failed == (2,)


def test_a_server_that_refuses_everything_is_asked_once_for_each_parameter(
    make_plan: MakePlan,
) -> None:
    def script(body: Body, n: int) -> Act:
        for name in ("temperature", "seed", "top_p"):
            if name in body:
                return Act(400, f"{name} is not supported".encode())
        if "max_tokens" in body:
            return Act(400, b"max_tokens is not supported: use max_completion_tokens")
        return Act(400, b"max_completion_tokens is not supported: use max_tokens")

    parameters = {"temperature": 0.0, "seed": 1, "top_p": 0.5}
    with Hostile(script) as server:
        found = collect(make_plan(server.url, 1, parameters=parameters))
        # Three are dropped, the limit is renamed, and its new name is not renamed back.
        assert len(server.seen) == 5
    assert (found.failed, found.failures) == ((1,), {"refused_parameter": 4, "bad_request": 1})


def test_tries_again_after_the_longer_of_its_own_delay_and_the_servers(
    make_plan: MakePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def delay(count: int, draw: Callable[[], float]) -> float:
        asked.append(count)
        return 0.3

    monkeypatch.setattr("psychollm.collect.lane.backoff", delay)
    # Crowded and broken servers are counted apart; only those who are not crowded are tried again
    # without a pause for all.
    acts = [
        Act(429, b"{}", {"Retry-After": "0"}),
        Act(500, b"x"),
        Act(429, b"{}"),
        Act(500, b"x", {"Retry-After": "0.6"}),
        Act(500, b"x", {"Retry-After": "0"}),
    ]
    came: list[float] = []

    def script(body: Body, n: int) -> Act:
        came.append(time.monotonic())
        return acts[n - 1] if n <= len(acts) else said()

    with Hostile(script) as server:
        assert collect(make_plan(server.url, 1)).complete
    assert asked == [1, 1, 2, 2, 3]
    gaps = [later - earlier for earlier, later in itertools.pairwise(came)]
    assert all(gap >= least for gap, least in zip(gaps, [0.3, 0.3, 0.3, 0.6, 0.3], strict=True))
