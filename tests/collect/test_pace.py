"""How fast a server is asked, and what its refusals mean."""

from email.utils import formatdate
from pathlib import Path

import pytest

from psychollm.collect import faults, lane
from psychollm.collect.faults import Kind, kind_of_status, refused_parameter, retry_after
from psychollm.collect.lane import Allowance, SharedAllowance, Window
from psychollm.collect.roster import Endpoint
from psychollm.collect.store import Store


def test_delays_double_up_to_a_cap_and_are_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane, "FIRST_DELAY", 1.0)
    monkeypatch.setattr(lane, "LONGEST_DELAY", 10.0)
    assert [lane.backoff(n, lambda: 1.0) for n in (1, 2, 3, 4, 5, 999)] == [1, 2, 4, 8, 10, 10]
    assert lane.backoff(3, lambda: 0.0) == 2.0


def test_the_window_always_recovers() -> None:
    window = Window(limit=16, size=16.0)
    for moment in range(100):
        window.shrink(started=moment, now=moment)
    assert window.size == 1.0
    for _ in range(1000):
        window.grow(int(window.size))
    assert window.size == 16.0


def test_the_window_doubles_until_it_is_first_cut() -> None:
    window = Window(limit=100, size=4.0)
    for _ in range(4):
        window.grow(int(window.size))
    assert window.size == 8.0
    window.grow(2)  # not used: no reason to grow
    assert window.size == 8.0
    window.shrink(started=0.0, now=1.0)
    for _ in range(4):
        window.grow(int(window.size))
    assert 4.9 < window.size < 5.0


def test_an_allowance_is_kept_over_time() -> None:
    allowance = Allowance(per_minute=120.0)
    now, n = 0.0, 0
    while now < 60.0:
        now += allowance.take(1.0, now=now)
        n += 1
    assert 120 <= n <= 124  # and what was saved in the first second
    assert Allowance(per_minute=None).take(1e9, now=0.0) == 0.0


def test_what_was_not_used_is_given_back() -> None:
    allowance = Allowance(per_minute=60.0)
    allowance.take(100.0, now=0.0)
    allowance.give_back(99.0)
    assert allowance.take(1.0, now=0.0) == 0.0


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("3", 3.0), ("0", 0.0), ("-5", 0.0), ("2.5", 2.5), ("soon", None), ("", None), ("nan", None),
     ("inf", None), ("1e300", None), (formatdate(1030, usegmt=True), 30.0),
     (formatdate(900, usegmt=True), 0.0), ("Wed, 99 Foo 2020 00:00:00 GMT", None)],
)  # fmt: skip
def test_retry_after(value: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": value}, 1000.0) == seconds


def test_a_date_is_read_by_the_clock_of_the_server() -> None:
    until, clock = formatdate(1030, usegmt=True), formatdate(1020, usegmt=True)
    assert retry_after({"retry-after": until, "date": clock}, 9999.0) == 10.0
    assert retry_after({"retry-after-ms": "1500", "retry-after": "2"}, 0.0) == 1.5
    assert retry_after({}, 0.0) is None


@pytest.mark.parametrize(
    ("status", "kind"),
    [(301, Kind.REDIRECTED), (400, Kind.BAD_REQUEST), (401, Kind.UNAUTHORISED),
     (402, Kind.PAYMENT), (403, Kind.BAD_REQUEST), (404, Kind.NOT_FOUND),
     (408, Kind.SERVER_ERROR), (422, Kind.BAD_REQUEST), (429, Kind.RATE_LIMITED),
     (500, Kind.SERVER_ERROR), (502, Kind.SERVER_ERROR), (503, Kind.OVERLOADED),
     (529, Kind.OVERLOADED), (599, Kind.SERVER_ERROR)],
)  # fmt: skip
def test_status(status: int, kind: Kind) -> None:
    assert kind_of_status(status, b"") is kind


def test_every_kind_has_one_consequence() -> None:
    groups = (faults.BUSY, faults.COUNTED, faults.FINAL, faults.HOPELESS)
    alone = {Kind.OK, Kind.REFUSED_PARAMETER}
    for kind in Kind:
        assert sum(kind in group for group in groups) == (kind not in alone)


SENT = ("temperature", "logprobs", "top_logprobs", "max_tokens", "stop", "seed")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"error": {"message": "x", "param": "top_logprobs"}}', ("top_logprobs", None)),
        ("Unsupported parameter: 'top_logprobs' is not supported", ("top_logprobs", None)),
        ('{"detail": [{"loc": ["body", "seed"], "msg": "extra"}]}', ("seed", None)),
        ("Unknown field logprobs", ("logprobs", None)),
        ("please stop that", None),
        ("the context is too long, reduce max_tokens", None),
        ("'max_tokens' not supported, use 'max_completion_tokens'",
         ("max_tokens", "max_completion_tokens")),
        ('{"error": {"message": "temperature", "param": "messages"}}', None),
        ("\ufffd", None),
        ("[1]", None),
    ],
)  # fmt: skip
def test_refused_parameters(text: str, found: tuple[str, str | None] | None) -> None:
    assert refused_parameter(text.encode(), SENT) == found


def test_two_share_one_allowance(tmp_path: Path) -> None:
    here = Endpoint(
        name="a", url="http://127.0.0.1:9/v1", requests_per_minute=60.0, tokens_per_minute=600.0
    )
    path = tmp_path / "run.sqlite"
    with Store(path) as store, Store(path) as other:
        first, second = SharedAllowance(store, here), SharedAllowance(other, here)
        assert first.take(10.0, now=100.0) == 0.0
        assert second.take(30.0, now=100.0) == 0.0
        assert first.take(10.0, now=100.0) == 3.0  # 40 tokens come in within 4 s; 1 s is saved
        first.give_back(50.0)
        assert second.take(1.0, now=101.0) == 1.0  # three requests are taken, one second is gone
        elsewhere = SharedAllowance(other, Endpoint(name="b", url="http://127.0.0.1:8/v1"))
        assert elsewhere.take(1e9) == 0.0


def test_a_clock_that_is_set_back_stops_nobody(tmp_path: Path) -> None:
    here = Endpoint(name="a", url="http://127.0.0.1:9/v1", requests_per_minute=1.0)
    with Store(tmp_path / "run.sqlite") as store:
        allowance = SharedAllowance(store, here)
        allowance.take(0.0, now=10_000.0)
        assert allowance.take(0.0, now=10_000.0) == 59.0
        assert allowance.take(0.0, now=5_000.0) == 0.0
