"""A study of full size: a server on loopback is queried, replies are stored and analysed.

python -m validation.full_size --models 20 --questions 10570 prints time and memory of each step.

Each model gets two requests per question: whether it can answer, and the answer. The server
simulates both from a common factor with noise, which affects correctness less than the yes
answers. The collector runs on one core; reading and study run in another process. Processor time
is reported next to elapsed time, because elapsed time on a busy machine includes other programs.
Takes eight minutes on two cores, by the times in the guide to the collector.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Self

import joblib
import numpy as np

import psychollm as psy
from psychollm.instruments.self_prediction import SelfPrediction, confidence_and_correctness

PLAN = """\
prompts = "items.jsonl"
store = "run.sqlite"
order = "models"
{budget}[endpoints.here]
url = "{url}"
concurrency = 64
start_concurrency = 64
"""
BUDGET = "budget = 100000\n[parameters]\nmax_tokens = 64\n"
PRICED = "prices = { input = 1.0, output = 2.0 }\n"
MODEL = '[[models]]\nname = "m{0}"\nmodel = "m{0}"\nendpoint = "here"\n'


def serve(n_models: int, n: int) -> None:
    """Print the port, and answer requests until killed."""
    from tests.collect.hostile import Act, Hostile

    rng = np.random.default_rng(1)
    shared = rng.normal(size=n)
    levels = np.linspace(-1.0, 1.0, n_models)[:, None]
    sure = shared + 0.8 * rng.normal(size=(n_models, n)) + levels > 0.0
    right = 0.7 * shared + rng.normal(size=(n_models, n)) + levels > 0.0

    class Truth(Hostile):
        def act(self, head: str, raw: bytes) -> Act:
            body = json.loads(raw)
            text = body["messages"][-1]["content"]
            who = int(body["model"][1:])
            which = int(text.split("[", 1)[1].split("]", 1)[0])
            if "Do not answer it yet" in text:
                word = "Yes" if sure[who, which] else "No"
                said = f"I know some of what bears on {which}, not all of it.\nAnswer: {word}"
            else:
                said = f"place {which}" if right[who, which] else f"nowhere near {which}"
            choice = {"index": 0, "finish_reason": "stop", "message": {"content": said}}
            usage = {"prompt_tokens": 60, "completion_tokens": 8}
            return Act(body=json.dumps({"choices": [choice], "usage": usage}).encode())

    with Truth() as server:
        print(server.port, flush=True)
        while True:
            time.sleep(3600)


class Step:
    """The time of one step and the memory of its process, printed at its end."""

    def __init__(self, name: str, who: int = resource.RUSAGE_SELF) -> None:
        self.name, self.who = name, who

    def __enter__(self) -> Self:
        self.clock, self.before = time.perf_counter(), resource.getrusage(self.who)
        return self

    def __exit__(self, *_: object) -> None:
        after = resource.getrusage(self.who)
        user, system = after.ru_utime - self.before.ru_utime, after.ru_stime - self.before.ru_stime
        self.spent = user + system
        print(
            f"{self.name}: {time.perf_counter() - self.clock:.1f} s by the clock, "
            f"{self.spent:.1f} s of processor, {after.ru_maxrss / 1024:.0f} MB",
            flush=True,
        )


def study(store: Path) -> None:
    """Read a store and judge it."""
    with Step("read"):
        processes = joblib.parallel_config(backend="loky")
        with processes, psy.collect.Store(store, create=False) as opened:
            said = psy.collect.readings(opened, n_jobs=-1)
        confidence, correctness = confidence_and_correctness(said.pooled_scores())
        del said
    with Step("judged"):
        found = psy.shared_confidence(
            confidence, correctness, rng=1, bootstrap=psy.Bootstrap(n_jobs=-1)
        )
    print(found.findings().text())


def called(*options: str) -> list[str]:
    """Return the command of this program with other options."""
    return [sys.executable, "-m", "validation.full_size", *options]


def main(n_models: int, n: int, *, budget: bool) -> None:
    """Run all steps."""
    cores = sorted(os.sched_getaffinity(0))
    print(f"{n_models} models x {n:,} questions x 2, load {os.getloadavg()[0]:.1f}", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        questions = [{"question": f"Where is [{i}]?", "answer": f"place {i}"} for i in range(n)]
        prompts = SelfPrediction(questions=questions).prompts()
        lines = [json.dumps(prompt.to_dict()) for prompt in prompts]
        (folder / "items.jsonl").write_text("\n".join(lines))
        size = ("--models", str(n_models), "--questions", str(n))
        server = subprocess.Popen(called("--serve", *size), stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        os.sched_setaffinity(server.pid, {cores[-1]})
        models = "".join(MODEL.format(i) + PRICED * budget for i in range(n_models))
        plan, store = folder / "plan.toml", folder / "run.sqlite"
        plan.write_text(PLAN.format(url=url, budget=BUDGET * budget) + models)
        asking = [sys.executable, "-m", "psychollm", "collect", str(plan), "--quiet"]
        try:
            with Step("collected", resource.RUSAGE_CHILDREN) as collected:
                os.sched_setaffinity(0, {cores[0]})  # also binds the processes that it starts
                subprocess.run(asking, check=True)
                os.sched_setaffinity(0, cores)
        finally:
            server.kill()
            server.communicate()
        asked = n_models * len(prompts)
        print(f"{asked:,} requests, {asked / collected.spent:,.0f} per second of processor")
        print(f"store: {store.stat().st_size / 2**20:.0f} MB", flush=True)
        subprocess.run(called("--study", str(store)), check=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--models", type=int, default=20)
    parser.add_argument("--questions", type=int, default=10_570)
    parser.add_argument("--serve", action="store_true", help="only answer")
    parser.add_argument("--study", type=Path, help="only read and judge this store")
    parser.add_argument("--budget", action="store_true", help="models with prices, and a budget")
    given = parser.parse_args()
    if given.study is not None:
        study(given.study)
    elif given.serve:
        serve(given.models, given.questions)
    else:
        main(given.models, given.questions, budget=given.budget)
