"""Collection: what it costs to ask, against a server on this machine that answers at once."""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from psychollm.collect.client import collect
from psychollm.collect.plan import Plan
from psychollm.collect.roster import Endpoint, Model
from psychollm.instruments.prompt import Message, Prompt

SERVER = Path(__file__).resolve().parents[1] / "tests" / "collect" / "hostile.py"
N = 2000


class Asking:
    """2,000 requests, stored; requests per second of this process's time, and its memory."""

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
        self._ask(at_once, 50)  # imports and first connections

    def teardown(self, at_once: int) -> None:
        self.server.kill()
        self.server.communicate()
        self.folder.cleanup()

    def _ask(self, at_once: int, n: int) -> float:
        """Ask, and return the seconds of processor time that it took."""
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
        start = time.process_time()
        found = collect(plan)
        assert found.complete
        return time.process_time() - start

    def track_requests_per_second(self, at_once: int) -> float:
        return N / self._ask(at_once, N)

    track_requests_per_second.unit = "requests/s"

    def track_peak_memory(self, at_once: int) -> float:
        self._ask(at_once, N)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    track_peak_memory.unit = "MB"
