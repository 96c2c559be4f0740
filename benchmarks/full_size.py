"""A study of full size on this machine: asked of a server on loopback, stored, read and judged.

python -m benchmarks.full_size --models 20 --questions 10570 prints time and memory of each step.

Each model is asked twice about each question: whether it can answer, and for the answer. The
server knows the truth: one shared signal decides who says yes, another, related one who is right.
Each step runs in a process of its own, the collector on one core; what its processor spent stands
beside the clock on the wall, for on a busy machine the clock measures the others.
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

import numpy as np

from psychollm.instruments.self_prediction import SelfPrediction

PLAN = """\
prompts = "items.jsonl"
store = "run.sqlite"
order = "models"
[endpoints.here]
url = "{url}"
concurrency = 64
start_concurrency = 64
"""
MODEL = '[[models]]\nname = "m{0}"\nmodel = "m{0}"\nendpoint = "here"\n'
STUDY = """\
from pathlib import Path
import sys
import psychollm as psy
from psychollm.instruments.self_prediction import confidence_and_correctness
with psy.collect.Store(Path(sys.argv[1]), create=False) as store:
    said = psy.collect.readings(store)
confidence, correctness = confidence_and_correctness(said.pooled_scores())
if sys.argv[2] == "judge":
    found = psy.shared_confidence(confidence, correctness, rng=1)
    print(found.summary())
else:
    print(confidence.values.shape, confidence.values.mean(), correctness.values.mean())
"""


def serve(n_models: int, n: int) -> None:
    """Answer for ever; print the port."""
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


def step(name: str, *command: str, core: int | None = None) -> str:
    """Run one step in a process of its own, and print what it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    clock = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.PIPE, text=True, cwd=Path.cwd()
    )
    if core is not None:
        os.sched_setaffinity(process.pid, {core})
    peak = 0
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
            peak = max(peak, int(status.split("VmHWM:")[1].split()[0]))
        except (OSError, IndexError):
            pass
        time.sleep(0.2)
    said, _ = process.communicate()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    wall = time.perf_counter() - clock
    print(
        f"{name}: {wall:.1f} s by the clock, {spent:.1f} s of processor, {peak / 1024:.0f} MB",
        flush=True,
    )
    if process.returncode:
        sys.exit(f"{name} failed")
    return f"{spent}\n{said}"


def main(n_models: int, n: int) -> None:
    """Run all steps."""
    cores = sorted(os.sched_getaffinity(0))
    print(f"{n_models} models x {n:,} questions x 2, load {os.getloadavg()[0]:.1f}", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        questions = [{"question": f"Where is [{i}]?", "answer": f"place {i}"} for i in range(n)]
        prompts = SelfPrediction(questions=questions).prompts()
        lines = [json.dumps(prompt.to_dict()) for prompt in prompts]
        (folder / "items.jsonl").write_text("\n".join(lines))
        serving = [sys.executable, "-m", "benchmarks.full_size", "--serve"]
        serving += ["--models", str(n_models), "--questions", str(n)]
        server = subprocess.Popen(serving, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        os.sched_setaffinity(server.pid, {cores[-1]})
        models = "".join(MODEL.format(i) for i in range(n_models))
        (folder / "plan.toml").write_text(PLAN.format(url=url) + models)
        store = str(folder / "run.sqlite")
        try:
            plan = str(folder / "plan.toml")
            command = ("-m", "psychollm", "collect", plan, "--quiet")
            spent = float(step("collected", *command, core=cores[0]).split("\n")[0])
        finally:
            server.kill()
            server.communicate()
        asked = n_models * len(prompts)
        print(f"{asked:,} requests, {asked / spent:,.0f} per second of processor")
        print(f"store: {Path(store).stat().st_size / 2**20:.0f} MB")
        print(step("read", "-c", STUDY, store, "read"))
        print(step("read and judged", "-c", STUDY, store, "judge"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--models", type=int, default=20)
    parser.add_argument("--questions", type=int, default=10_570)
    parser.add_argument("--serve", action="store_true", help="only answer")
    given = parser.parse_args()
    (serve if given.serve else main)(given.models, given.questions)
