"""How much of what is true the replication kits find again, by seed.

    python -m validation.kits [--seeds 5] [--python PYTHON] [--write]

Each kit is copied and run as it stands on simulated models, with 299 resamples and 99 replicates
of each null; `--python` is the interpreter of the environment that it runs in. `--write` makes
docs/kits_tables.md. Takes ten minutes.
"""

import argparse
import csv
import os
import resource
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

OUT = Path(__file__).resolve().parents[1] / "docs" / "kits_tables.md"
KITS = (
    "shared_confidence",
    "inference_boundary",
    "self_efficacy",
    "semantic_calibration",
    "metacognitive_skill",
)
QUICK = ("--bootstrap", "299", "--null", "99", "--no-report", "--quiet")

Covered = dict[str, list[bool]]


def run(python: str, kit: str, seed: int) -> Covered:
    """Return, by what is true, which of its values are in their intervals."""
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    with tempfile.TemporaryDirectory() as folder:

        def psychollm(*words: str) -> None:
            command = [python, "-m", "psychollm", *words]
            subprocess.run(command, check=True, cwd=folder, env=environment)

        psychollm("kit", "copy", kit, "kit", "--quiet")
        psychollm("run", kit, "kit/plan.toml", "--simulated", "--seed", str(seed), *QUICK)
        covered: Covered = defaultdict(list)
        path = Path(folder, "psychollm-report", "truth.csv")
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                covered[row["what"].partition(",")[0]].append(row["holds"] == "True")
                if row["holds"] != "True":
                    print("missed", kit, seed, row, flush=True)
    return covered


def table(found: dict[str, list[Covered]]) -> str:
    """Return a table in Markdown: a row for each kind of truth, a column for each seed."""
    seeds = range(1, 1 + max(map(len, found.values())))
    heads = " | ".join(f"seed {seed}" for seed in seeds)
    lines = [f"| kit | truths | {heads} | all |", f"|---|---|{'---|' * (len(seeds) + 1)}"]
    every: list[bool] = []
    for kit, draws in found.items():
        for what in draws[0]:
            each = [one[what] for one in draws]
            cells = " | ".join(f"{sum(one)} of {len(one)}" for one in each)
            flat = [holds for one in each for holds in one]
            every += flat
            lines.append(f"| `{kit}` | {what} | {cells} | {sum(flat)} of {len(flat)} |")
    lines.append(
        f"| all | | {' | '.join(_sum(found, k) for k in range(len(seeds)))} | "
        f"{sum(every)} of {len(every)} ({sum(every) / len(every):.1%}) |"
    )
    return "\n".join(lines) + "\n"


def _sum(found: dict[str, list[Covered]], k: int) -> str:
    holds = [one for draws in found.values() for part in draws[k].values() for one in part]
    return f"{sum(holds)} of {len(holds)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--write", action="store_true")
    typed = parser.parse_args()
    found: dict[str, list[Covered]] = {}
    for kit in KITS:
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        found[kit] = [run(typed.python, kit, 1 + k) for k in range(typed.seeds)]
        spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        print(f"{kit}: {spent / typed.seeds:.0f} s of CPU time each", flush=True)
    text = table(found)
    print(text)
    if typed.write:
        OUT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
