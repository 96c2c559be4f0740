"""Collectors as processes: killed, interrupted, and two at once."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from psychollm.collect.store import Store
from tests.collect.conftest import write_plan
from tests.collect.hostile import Act, Body, Hostile, said
from tests.effort import FUZZ
from tests.forked import Started

resource = pytest.importorskip("resource")  # of POSIX

HERE = Path(__file__).parent
POSIX = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


def start(plan: Path) -> Started:
    return Started([str(HERE / "collector.py"), str(plan)], plan.parent)


@POSIX
@pytest.mark.thorough
def test_killed_again_and_again_it_loses_no_reply_and_asks_none_twice(tmp_path: Path) -> None:
    """Only what was under way when it was killed (at most 4 at a time) may be asked again."""
    n, kills, at_once = (400, 20, 4) if FUZZ else (120, 2, 4)
    moments = np.random.default_rng(1)
    with Hostile(lambda body, n: Act(200, said().body, delay=0.01)) as server:
        extra = f"concurrency = {at_once}\nstart_concurrency = {at_once}"
        plan = write_plan(tmp_path, server.url, n, extra=extra)
        for _ in range(kills):
            seen = len(server.seen)
            process = start(plan)
            target = seen + int(moments.integers(3, 18))
            while len(server.seen) < target and process.poll() is None:
                time.sleep(0.002)
            process.kill()
            process.communicate()
        answered = len(server.seen)
        assert 0 < answered < n
        process = start(plan)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        asked = Counter(body["messages"][0]["content"] for body in server.seen)
    assert len(asked) == n
    again = sum(times - 1 for times in asked.values())
    assert again <= kills * at_once
    with Store(tmp_path / "run.sqlite") as store:
        assert store.counts() == {"m": {"answered": n}}
        kept = next(store.rows("SELECT count(*) FROM attempt WHERE kind = 'ok'"))[0]
    # Every reply that was kept was kept once: nothing answered was asked again.
    assert kept == n


@POSIX
def test_interrupted_it_waits_for_what_is_under_way(tmp_path: Path) -> None:
    with Hostile(lambda body, n: Act(200, said().body, delay=0.3)) as server:
        plan = write_plan(
            tmp_path, server.url, 200, extra="start_concurrency = 4\nconcurrency = 4"
        )
        process = start(plan)
        while len(server.seen) < 4 and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        assert process.returncode == 3, err
        assert "Stopped: interrupted" in out
        with Store(tmp_path / "run.sqlite") as store:
            assert store.counts()["m"]["answered"] == len(server.seen) <= 8
            assert (
                next(store.rows("SELECT count(*) FROM request WHERE lease_owner NOTNULL"))[0] == 0
            )


@POSIX
def test_interrupted_twice_it_ends_at_once(tmp_path: Path) -> None:
    with Hostile(lambda body, n: Act(200, said().body, delay=30.0)) as server:
        plan = write_plan(tmp_path, server.url, 20)
        priced = plan.read_text() + "prices = { input = 0, output = 1e6 }\n"  # 8 a request
        plan.write_text(f"budget = 1e3\n{priced}")
        process = start(plan)
        while len(server.seen) < 4 and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=10)
        assert process.returncode == 3, err
        assert "Traceback" not in err
        # What was given up may have been served: it counts as spent.
        with Store(tmp_path / "run.sqlite") as store:
            assert store.spent() >= 8.0 * len(server.seen)


def test_two_collectors_share_the_work(tmp_path: Path) -> None:
    n = 300
    with Hostile(lambda body, n: Act(200, said().body, delay=0.01)) as server:
        plan = write_plan(tmp_path, server.url, n, extra="concurrency = 4")
        both = [start(plan), start(plan)]
        for process in both:
            _, err = process.communicate(timeout=60)
            assert process.returncode in {0, 3}, err
        asked = Counter(body["messages"][0]["content"] for body in server.seen)
    assert len(asked) == n
    assert set(asked.values()) == {1}
    with Store(tmp_path / "run.sqlite") as store:
        assert store.counts() == {"m": {"answered": n}}


def test_two_collectors_keep_one_limit_together(tmp_path: Path) -> None:
    """2,400 requests per minute are 40 a second, and those of one second are at hand at once."""
    n, per_second = 200, 40
    times: list[float] = []

    def script(body: Body, n: int) -> Act:
        times.append(time.monotonic())
        return said()

    with Hostile(script) as server:
        plan = write_plan(tmp_path, server.url, n, extra="requests_per_minute = 2400")
        both = [start(plan), start(plan)]
        for process in both:
            _, err = process.communicate(timeout=60)
            assert process.returncode in {0, 3}, err
    assert len(times) == n
    # Each with a limit of its own, both would be done in 1.5 s. The first request arrives late:
    # it has to connect.
    assert times[-1] - times[0] > 0.75 * (n / per_second - 1)
    with Store(tmp_path / "run.sqlite") as store:
        assert [row[0] for row in store.rows("SELECT unit FROM allowance")] == ["requests"]


def test_thousands_of_requests_two_hundred_at_once_in_bounded_memory(tmp_path: Path) -> None:
    """Bodies of 8 kB: 20 MB and more if all were held; the store is read in windows of 200."""
    n = 2_500
    with Hostile(lambda body, n: said("x" * 8000)) as server:
        server.seen = _Forgetful()
        server.heads = _Forgetful()
        extra = "concurrency = 200\nstart_concurrency = 200"
        plan = write_plan(tmp_path, server.url, n, extra=extra)
        peaks: list[int] = []
        process = subprocess.Popen(  # with memory of its own alone
            [sys.executable, str(HERE / "collector.py"), str(plan)],
            env={**os.environ, "PYTHONPATH": str(HERE.parents[1])},
            stderr=subprocess.PIPE,
            text=True,
        )
        watcher = threading.Thread(target=_watch, args=(process.pid, peaks))
        watcher.start()
        _, err = process.communicate(timeout=240)
        watcher.join()
        assert process.returncode == 0, err
        assert server.most <= 200
    with Store(tmp_path / "run.sqlite") as store:
        assert store.counts() == {"m": {"answered": n}}
    # After the first requests (plan read, connections made) memory stays as it is.
    half = len(peaks) // 2
    assert max(peaks[half:]) - peaks[half] < 10 * 2**20


class _Forgetful(list):  # type: ignore[type-arg]
    def append(self, item: object) -> None:
        """Forget it."""


def _watch(pid: int, sizes: list[int]) -> None:
    page = resource.getpagesize()
    while True:
        try:
            fields = Path(f"/proc/{pid}/statm").read_text().split()
        except OSError:
            return
        if fields[1] == "0":
            return
        sizes.append(int(fields[1]) * page)
        time.sleep(0.1)
