"""The 2PL of tables of which one cell in ten is filled, beside other programs.

    python -m benchmarks.large_irt_peers --peer PYTHON    # has mirt and theta-irt (PyPI)
    python -m benchmarks.large_irt_peers --page docs/how_large.md

The tables are those of `benchmarks.large_irt`, five sizes up to 1,000 models x 100,000 questions.
Each program fits each table in a process of its own, with limits of CPU time and of memory, and is
not tried again above the first size at which it fails. The clock runs from a table in the form
that the program takes to the parameters and abilities; a small fit comes first, so that imports
and compilation are over (theta-irt compiles for each shape anew, which is counted).
"""

import argparse
import csv
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

SIZES = ((100, 1_000), (180, 3_200), (320, 10_000), (560, 32_000), (1_000, 100_000))
RESULTS = Path(__file__).with_suffix(".csv")
ROOT = Path(__file__).parents[1]


class Psychollm:
    """psychollm, the answers alone in memory, standard errors of parameters included."""

    package = "psychollm"

    @staticmethod
    def table(models, questions, values):
        """Keep the answers sparse."""
        import pyarrow as pa

        import psychollm as psy

        long = pa.table({"model": models, "question": questions, "value": values})
        return psy.Responses.from_long(long, sparse=True)

    @staticmethod
    def fit(table):
        """Return slopes and difficulties by question, and abilities by model."""
        import psychollm as psy

        found = psy.fit_irt(table, n_jobs=len(os.sched_getaffinity(0)))
        by_question, by_model = (np.argsort(np.array(one)) for one in (found.labels, table.models))
        difficulty = -found.intercept / found.slope
        ability = psy.ability(found, table).ability
        return found.slope[by_question], difficulty[by_question], ability[by_model]


def dense(models, questions, values, empty, kind):
    """Return a table of all cells, and which questions not all who answered answered alike."""
    table = np.full((models.max() + 1, questions.max() + 1), empty, dtype=kind)
    table[models, questions] = values
    varied = (table == 0).any(axis=0) & (table == 1).any(axis=0)
    return table[:, varied], varied


def spread(slope, difficulty, varied):
    """Return parameters of all questions, NaN where the program did not see the question."""
    every = np.full((2, varied.size), np.nan)
    every[:, varied] = np.ravel(slope), np.ravel(difficulty)
    return every


class Mirt:
    """mirt for Python, its defaults, without standard errors."""

    package = "mirt"

    @staticmethod
    def table(models, questions, values):
        """Make a dense table, -1 where there is no answer."""
        return dense(models, questions, values, -1, np.int32)

    @staticmethod
    def fit(table):
        """Return slopes and difficulties by question, and abilities by model."""
        import mirt

        answers, varied = table
        found = mirt.fit_mirt(answers, compute_standard_errors=False)
        ability = mirt.fscores(found, answers, method="EAP").theta
        items = found.model.discrimination, found.model.difficulty
        return *spread(*items, varied), np.ravel(ability)


class Theta:
    """theta-irt, its defaults, without standard errors."""

    package = "theta-irt"

    @staticmethod
    def table(models, questions, values):
        """Make a dense table, NaN where there is no answer."""
        return dense(models, questions, values, np.nan, np.float64)

    @staticmethod
    def fit(table):
        """Return slopes and difficulties by question, and abilities by model."""
        import theta

        answers, varied = table
        found = theta.fit(answers, "2PL")
        ability = found.score(answers, method="EAP")[0]
        return *spread(found.a, found.b, varied), np.ravel(ability)


PROGRAMS = {one.package: one for one in (Psychollm, Mirt, Theta)}


def child(name, source, out, seconds, memory):
    """Fit one table within limits of CPU seconds and of bytes; print what it took."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    program = PROGRAMS[name]
    with np.load(source) as file:
        long = [file[key] for key in ("models", "questions", "values")]
    small = (long[0] < 60) & (long[1] < 200)
    program.fit(program.table(*(one[small] for one in long)))
    begun = time.process_time()
    table = program.table(*long)
    clock, ticks = time.perf_counter(), time.process_time()
    slope, difficulty, ability = program.fit(table)
    took = {
        "version": version(program.package),
        "cpu_s": time.process_time() - ticks,
        "wall_s": time.perf_counter() - clock,
        "table_cpu_s": ticks - begun,
    }
    np.savez(out, slope=slope, difficulty=difficulty, ability=ability)
    # Not ru_maxrss, which begins at the memory of the process that started this one.
    status = Path("/proc/self/status").read_text()
    took["peak_mb"] = int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024.0
    print(json.dumps(took), flush=True)
    os._exit(0)  # some leave threads behind


def attempt(python, name, source, out, seconds, memory):
    """Run a program on a table; return what it took, and how it ended."""
    numbers = [str(one) for one in (source, out, seconds, memory)]
    command = [python, "-m", "benchmarks.large_irt_peers", "--as-program", name, *numbers]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1]) | {"end": "fitted"}
    if -done.returncode in (signal.SIGXCPU, signal.SIGKILL):
        return {"end": f"more than {seconds} s of CPU"}
    if re.search("memory|allocat|RESOURCE_EXHAUSTED", done.stderr, re.IGNORECASE):
        return {"end": f"more than {memory / 1e9:.0f} GB"}
    return {"end": ([*done.stderr.splitlines(), f"signal {-done.returncode}"])[-1]}


def known(n_models, n_questions):
    """Return true slopes, difficulties and abilities on the scale of these models."""
    from benchmarks.large_irt import truth

    slope, intercept, ability = truth(n_models, n_questions)
    mean, sd = ability.mean(), ability.std()
    return {
        "slope": slope * sd,
        "difficulty": (-intercept / slope - mean) / sd,
        "ability": (ability - mean) / sd,
    }


def compared(found, true, shared):
    """Return errors over some questions: root mean square, and the middle one."""
    rows = {"ability_r": float(np.corrcoef(found["ability"], true["ability"])[0, 1])}
    for name in ("slope", "difficulty"):
        error = (found[name] - true[name])[shared]
        rows[f"{name}_rmse"] = float(np.sqrt(np.mean(error**2)))
        rows[f"{name}_median_error"] = float(np.median(np.abs(error)))
    return rows


def finite(found):
    """Tell which questions have both parameters."""
    return np.isfinite(found["slope"]) & np.isfinite(found["difficulty"])


def run_size(folder, size, alive, given):
    """Let the programs that are left fit one size; yield their rows."""
    from benchmarks.large_irt import blocks

    source, true = Path(folder) / "table.npz", known(*size)
    long = [
        np.concatenate(part)
        for part in zip(
            *([column.to_numpy() for column in block.columns] for block in blocks(*size)),
            strict=True,
        )
    ]
    np.savez(source, models=long[0], questions=long[1], values=long[2])
    n, ours = long[0].size, None
    del long
    for name in [one for one in PROGRAMS if one in alive]:
        out = Path(folder) / f"{name}.npz"
        python = sys.executable if name == "psychollm" else given.peer
        took = attempt(python, name, source, out, given.seconds, int(given.gigabytes * 1e9))
        row = {"program": name, "models": size[0], "questions": size[1], "answers": n, **took}
        if took["end"] == "fitted":
            with np.load(out) as file:
                found = dict(file)
            ours = found if ours is None else ours
            shared = finite(found) & finite(ours)
            row |= {"shared": int(shared.sum())} | compared(found, true, shared)
            beside = compared(ours, true, shared)
            row |= {f"psychollm_{key}": value for key, value in beside.items()}
        else:
            alive.remove(name)
        print(row, flush=True)
        yield row


def saved(rows):
    """Write rows as CSV."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main():
    """Run what is asked."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--peer", help="an interpreter that has mirt and theta-irt")
    parser.add_argument("--seconds", type=int, default=120, help="of CPU, for each program and size")
    parser.add_argument("--gigabytes", type=float, default=8.0, help="of memory, likewise")
    parser.add_argument("--sizes", type=int, default=len(SIZES), help="how many of them")
    parser.add_argument("--page", type=Path, help="the page that has the table")
    parser.add_argument("--as-program", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.as_program:
        name, source, out, *limits = given.as_program
        child(name, source, out, *map(int, limits))
    if given.page:
        page(given.page)
        return
    rows, alive = [], set(PROGRAMS if given.peer else ["psychollm"])
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES[: given.sizes]:
            for row in run_size(folder, size, alive, given):
                rows.append(row)
                saved(rows)


if __name__ == "__main__":
    main()
