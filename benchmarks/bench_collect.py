"""Collection: cost of requests to a server on this machine, and of reading the replies.

``python -m benchmarks.bench_collect [N]`` prints requests per second of elapsed time. The
collector runs on one core and the server on the next, if there is another core.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from psychollm.collect.client import collect
from psychollm.collect.plan import Plan
from psychollm.collect.readings import readings
from psychollm.collect.records import Attempt, Entry
from psychollm.collect.request import Request
from psychollm.collect.roster import Endpoint, Model
from psychollm.collect.store import Store
from psychollm.instruments.prompt import Message, Prompt
from psychollm.instruments.self_prediction import SelfPrediction, confidence_and_correctness

SERVER = Path(__file__).resolve().parents[1] / "tests" / "collect" / "hostile.py"
N = 2000


class Asking:
    """2,000 stored requests: requests per second of wall time and of processor time; memory."""

    params = (16, 200)
    param_names = ("at_once",)
    timeout = 300

    def setup(self, at_once: int) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.server = subprocess.Popen(
            [sys.executable, str(SERVER)], stdout=subprocess.PIPE, text=True
        )
        port = self.server.stdout.readline().strip()
        self.url = f"http://127.0.0.1:{port}/v1"
        self.ask(at_once, 50)  # excludes imports and first connections

    def teardown(self, at_once: int) -> None:
        self.server.kill()
        self.server.communicate()
        self.folder.cleanup()

    def ask(self, at_once: int, n: int) -> tuple[float, float]:
        """Ask, and return the seconds that it took, on the wall and of processor time."""
        endpoint = Endpoint(
            name="here", url=self.url, concurrency=at_once, start_concurrency=at_once
        )
        prompts = tuple(
            Prompt(key=f"q{i}", item=f"q{i}", messages=(Message("user", "?"),), reply="yes_no")
            for i in range(n)
        )
        plan = Plan(
            store=Path(self.folder.name) / f"{time.time_ns()}.sqlite",
            prompts=prompts,
            endpoints={"here": endpoint},
            models=(Model(name="m", endpoint="here", model="m"),),
        )
        wall, own = time.perf_counter(), time.process_time()
        found = collect(plan)
        assert found.complete
        return time.perf_counter() - wall, time.process_time() - own

    def track_requests_per_second(self, at_once: int) -> float:
        return N / self.ask(at_once, N)[0]

    track_requests_per_second.unit = "requests/s"

    def track_requests_per_processor_second(self, at_once: int) -> float:
        return N / self.ask(at_once, N)[1]

    track_requests_per_processor_second.unit = "requests/s"

    def track_peak_memory(self, at_once: int) -> float:
        self.ask(at_once, N)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    track_peak_memory.unit = "MB"


class Reading:
    """Replies of a self-prediction read from a store, and made into tables."""

    timeout = 300

    def setup(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.store = Path(self.folder.name) / "run.sqlite"
        questions = [
            {"question": f"Where is [{i}]?", "answer": f"place {i}"} for i in range(N // 8)
        ]
        prompts = SelfPrediction(questions=questions).prompts()
        with Store(self.store) as store:
            for model in "abcd":
                store.enlist(
                    Request.build(prompt, model=model, model_id=model, parameters={})
                    for prompt in prompts
                )
                jobs = store.claim(model, len(prompts))
                store.record_all(
                    Entry(job, said(job.id, job.messages), last=False) for job in jobs
                )
        self.read()  # patterns are compiled once

    def teardown(self) -> None:
        self.folder.cleanup()

    def read(self) -> float:
        """Read, and return the seconds of processor time that it took."""
        own = time.process_time()
        with Store(self.store, create=False) as store:
            scores = readings(store).pooled_scores()
        confidence, _ = confidence_and_correctness(scores)
        assert confidence.values.shape == (4, N // 8)
        return time.process_time() - own

    def track_replies_per_processor_second(self) -> float:
        return N / self.read()

    track_replies_per_processor_second.unit = "replies/s"


def said(number: int, messages: Sequence[Mapping[str, str]]) -> Attempt:
    """Return a reply in two lines to a prediction, in two words to a question."""
    text = f"place {number}"
    if "Do not answer it yet" in messages[-1]["content"]:
        text = f"I know some of what bears on {number}, not all of it.\nAnswer: Yes"
    return Attempt(
        wire="openai-chat", started=0.0, seconds=0.1, sent="{}", kind="ok", raw=b"{}", text=text
    )


def main(n: int) -> None:
    """Print requests per second at several widths; the best and the worst of three rounds."""
    cores = sorted(os.sched_getaffinity(0))
    print(f"{n:,} requests, collector on 1 of {len(cores)} cores, load {os.getloadavg()[0]:.1f}")
    for at_once in (1, 16, 64, 200):
        bench = Asking()
        bench.setup(at_once)
        try:
            os.sched_setaffinity(bench.server.pid, {cores[-1]})
            os.sched_setaffinity(0, {cores[0]})
            spent = [bench.ask(at_once, n) for _ in range(3)]
        finally:
            os.sched_setaffinity(0, cores)
            bench.teardown(at_once)
        wall = sorted(n / one for one, _ in spent)
        own = max(n / one for _, one in spent)
        by_wall = f"{wall[-1]:6,.0f} requests/s by the wall (worst {wall[0]:,.0f})"
        print(f"{at_once:4d} at once: {by_wall}, {own:6,.0f} per second of processor", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("n", type=int, nargs="?", default=N, help="requests")
    main(parser.parse_args().n)
