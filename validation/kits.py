"""How often the replication kits recover simulated truths, by seed.

    python -m validation.kits [KIT ...] [--seeds 5] [--python PYTHON] [--write]

Each kit is copied and run unchanged on simulated models, with 299 resamples and 99 replicates of
each null; `--python` is the interpreter of the environment that it runs in. Results are stored in
validation/kits.csv, and stored runs are not repeated. `--write` makes docs/kits_tables.md from
them. Takes ten minutes.
"""

import argparse
import csv
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

KEPT = Path(__file__).with_suffix(".csv")
OUT = Path(__file__).resolve().parents[1] / "docs" / "kits_tables.md"
KITS = (
    "shared_confidence",
    "inference_boundary",
    "self_efficacy",
    "semantic_calibration",
    "metacognitive_skill",
)
QUICK = ("--bootstrap", "299", "--null", "99", "--no-report", "--quiet")
COLUMNS = ("kit", "seed", "what", "true", "found", "lower", "upper", "holds")

Row = dict[str, str]


def run(python: str, kit: str, seed: int) -> list[Row]:
    """Return true values and estimates."""
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    with tempfile.TemporaryDirectory() as folder:

        def psychollm(*words: str) -> None:
            command = [python, "-m", "psychollm", *words]
            subprocess.run(command, check=True, cwd=folder, env=environment)

        psychollm("kit", "copy", kit, "kit", "--quiet")
        psychollm("run", kit, "kit/plan.toml", "--simulated", "--seed", str(seed), *QUICK)
        path = Path(folder, "psychollm-report", "truth.csv")
        with path.open(encoding="utf-8", newline="") as file:
            return [{"kit": kit, "seed": str(seed), **row} for row in csv.DictReader(file)]


def kept() -> list[Row]:
    """Return the stored results."""
    if not KEPT.is_file():
        return []
    with KEPT.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def keep(rows: list[Row]) -> None:
    """Add results to the stored ones."""
    new = not KEPT.is_file()
    with KEPT.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerows(rows)


def table(rows: list[Row]) -> str:
    """Return a table in Markdown: a row for each kind of truth, a column for each seed."""
    seeds = sorted({row["seed"] for row in rows}, key=int)
    held, all_of = Counter[tuple[str, str, str]](), Counter[tuple[str, str, str]]()
    for row in rows:
        what = row["what"].partition(",")[0]
        for kit in (row["kit"], "all"):
            for seed in (row["seed"], "all"):
                place = (kit, what if kit != "all" else "", seed)
                all_of[place] += 1
                held[place] += row["holds"] == "True"
    heads = " | ".join(f"seed {seed}" for seed in seeds)
    lines = [f"| kit | truths | {heads} | all |", f"|---|---|{'---|' * (len(seeds) + 1)}"]
    order = {kit: place for place, kit in enumerate((*KITS, "all"))}
    for kit, what in sorted(
        dict.fromkeys((kit, what) for kit, what, _ in all_of), key=lambda one: order[one[0]]
    ):
        cells = [f"{held[kit, what, s]} of {all_of[kit, what, s]}" for s in (*seeds, "all")]
        lines.append(f"| {kit if kit == 'all' else f'`{kit}`'} | {what} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kits", nargs="*", metavar="KIT", choices=[*KITS, []])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--write", action="store_true")
    typed = parser.parse_args()
    done = {(row["kit"], row["seed"]) for row in kept()}
    for seed in range(1, 1 + typed.seeds):
        for kit in typed.kits or KITS:
            if (kit, str(seed)) not in done:
                keep(run(typed.python, kit, seed))
    text = table(kept())
    print(text)
    if typed.write:
        OUT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
