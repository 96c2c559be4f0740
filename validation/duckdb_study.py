"""A verdict, a panel and a 2PL from a DuckDB file, with one command each.

    python validation/duckdb_study.py                     # 1,000 models x 100,000 questions
    python validation/duckdb_study.py --models 200 --questions 50000 --metrics brier,auroc
    python validation/duckdb_study.py --page docs/how_large.md   # the table of the last run

The file is written in blocks of models, with answers of a 2PL and stated confidences in steps of
0.05 that are correlated with correctness. Each command runs in its own process. Its elapsed time,
processor time and peak memory are printed and stored in `duckdb_study.csv` next to this file.
Takes 16 minutes of CPU with ``--null 19``, by the times of the three commands in that file and one
minute to write the answers, extrapolated from four million.
"""

import argparse
import csv
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).with_suffix(".csv")


def make(path: Path, models: int, questions: int, filled: float) -> None:
    """Write the answers, a row each."""
    import duckdb  # not in the environment in which asv looks for benchmarks
    import pyarrow as pa

    rng = np.random.default_rng(1)
    slope = rng.lognormal(0.0, 0.3, questions)
    difficulty = rng.normal(0.0, 1.0, questions)
    with duckdb.connect(str(path)) as database:
        columns = "model VARCHAR, question INTEGER, confidence FLOAT, correct TINYINT"
        database.execute(f"CREATE TABLE runs ({columns})")
        for i, ability in enumerate(rng.normal(0.0, 1.0, models)):
            asked = np.flatnonzero(rng.random(questions) < filled)
            logit = slope[asked] * (ability - difficulty[asked])
            correct = rng.random(asked.size) < 1.0 / (1.0 + np.exp(-logit))
            felt = 1.0 / (1.0 + np.exp(-(0.5 + logit + rng.normal(0.0, 1.0, asked.size))))
            block = pa.table(
                {
                    "model": pa.array([f"model-{i:05d}"] * asked.size),
                    "question": asked.astype(np.int32),
                    "confidence": (np.rint(20.0 * felt) / 20.0).astype(np.float32),
                    "correct": correct.astype(np.int8),
                }
            )
            database.register("block", block)
            database.execute("INSERT INTO runs SELECT * FROM block")
            database.unregister("block")


def measured(name: str, arguments: list[str]) -> dict[str, object]:
    """Run a command; print and return its time and memory."""
    begin = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "psychollm", *arguments], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    took = time.perf_counter() - begin
    print(
        f"{name:10} {took:8.1f} s  {used.ru_utime + used.ru_stime:8.1f} s of processors  "
        f"{used.ru_maxrss * 1024 / 1e9:6.2f} GB  exit code {os.waitstatus_to_exitcode(status)}",
        flush=True,
    )
    print("   ", "\n    ".join(said.strip().splitlines()[:6]), flush=True)
    options = " ".join(arguments[2:-2])
    used_s = used.ru_utime + used.ru_stime
    return {
        "command": f"psychollm {name} answers.duckdb {options}",
        "wall_s": took,
        "cpu_s": used_s,
        "peak_gb": used.ru_maxrss * 1024 / 1e9,
        "exit_code": os.waitstatus_to_exitcode(status),
    }


def page(path: Path) -> None:
    """Put the table of the last run into a page."""
    with RESULTS.open(newline="") as file:
        rows = list(csv.DictReader(file))
    lines = ["| command | seconds | of processors | memory |", "|---|---:|---:|---:|"]
    for row in rows:
        wall, cpu, peak = (float(row[name]) for name in ("wall_s", "cpu_s", "peak_gb"))
        lines.append(f"| `{row['command']}` | {wall:.0f} | {cpu:.0f} | {peak:.2f} GB |")
    text = path.read_text(encoding="utf-8")
    begin, end = (f"<!-- validation/duckdb_study.py: {where} -->" for where in ("begin", "end"))
    before, after = text.split(begin)[0], text.split(end)[1]
    path.write_text("\n".join([before + begin, "", *lines, "", end + after]), encoding="utf-8")


def main() -> None:
    """Make the file and run the commands."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--models", type=int, default=1_000)
    parser.add_argument("--questions", type=int, default=100_000)
    parser.add_argument("--filled", type=float, default=1.0)
    parser.add_argument("--metrics", default="", help="otherwise all")
    parser.add_argument("--bootstrap", type=int, default=2_000)
    parser.add_argument("--null", type=int, default=39)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="study,calibrate,irt")
    parser.add_argument("--file", type=Path, help="of answers; made where it does not exist")
    parser.add_argument("--page", type=Path, help="a page to put the last run's table into")
    given = parser.parse_args()
    if given.page:
        page(given.page)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = given.file or Path(folder) / "answers.duckdb"
        if not path.exists():
            make(path, given.models, given.questions, given.filled)
        print(f"{path}: {path.stat().st_size / 1e9:.2f} GB", flush=True)
        metrics = ["--metrics", given.metrics] if given.metrics else []
        jobs = ["--jobs", str(given.jobs)]
        commands = {
            "study": ["--confidence-column", "confidence", "--threshold", "0.6",
                      "--null", str(given.null)],
            "calibrate": ["--bootstrap", str(given.bootstrap), *metrics],
            "irt": ["--value-column", "correct"],
        }  # fmt: skip
        rows = []
        for name in given.only.split(","):
            out = ["--out", str(Path(folder) / name)]
            rows.append(measured(name, [name, str(path), *commands[name], *jobs, *out]))
            with RESULTS.open("w", newline="") as file:
                writer = csv.DictWriter(file, fieldnames=list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)


if __name__ == "__main__":
    main()
