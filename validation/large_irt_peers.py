"""The 2PL of tables with one cell in ten filled, compared with other programs.

    python -m validation.large_irt_peers --peer PYTHON    # has mirt and theta-irt (PyPI)
    python -m validation.large_irt_peers --page docs/how_large.md

The tables are those of `validation.large_irt`, five sizes up to 1,000 models x 100,000 questions.
Each program fits each table in its own process, with limits on CPU time and memory, and is not run
on larger tables after the first size at which it fails. The timed part begins with a table in the
program's format and ends with the parameters and abilities. A small fit runs first, so that
imports and compilation are excluded (theta-irt compiles again for each shape, which is included).

Takes six minutes of CPU, by the times in its table; two fits are stopped after two minutes each.
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
ITEMS = ("slope", "difficulty")
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
        """Return slopes and difficulties by question, abilities by model, and how it ended."""
        import psychollm as psy

        n_jobs = len(os.sched_getaffinity(0))
        found = psy.fit_irt(table, n_jobs=n_jobs)
        by_question, by_model = (np.argsort(np.array(one)) for one in (found.labels, table.models))
        difficulty = -found.intercept / found.slope
        ability = psy.ability(found, table, n_jobs=n_jobs).ability
        items = found.slope[by_question], difficulty[by_question]
        end = found.convergence
        return *items, ability[by_model], end.converged, end.iterations


def dense(models, questions, values, empty, kind):
    """Return a table of all cells, and which questions have different answers."""
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
        """Return slopes and difficulties by question, abilities by model, and how it ended."""
        import mirt

        answers, varied = table
        found = mirt.fit_mirt(answers, compute_standard_errors=False)
        ability = mirt.fscores(found, answers, method="EAP").theta
        items = found.model.discrimination, found.model.difficulty
        return *spread(*items, varied), np.ravel(ability), found.converged, found.n_iterations


class Theta:
    """theta-irt, its defaults, without standard errors."""

    package = "theta-irt"

    @staticmethod
    def table(models, questions, values):
        """Make a dense table, NaN where there is no answer."""
        return dense(models, questions, values, np.nan, np.float64)

    @staticmethod
    def fit(table):
        """Return slopes and difficulties by question, abilities by model, and how it ended."""
        import theta

        answers, varied = table
        found = theta.fit(answers, "2PL")
        ability = found.score(answers, method="EAP")[0]
        items = spread(found.a, found.b, varied)
        return *items, np.ravel(ability), found.converged, found.n_iter


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
    slope, difficulty, ability, converged, iterations = program.fit(table)
    took = {
        "version": version(program.package),
        "cpu_s": time.process_time() - ticks,
        "wall_s": time.perf_counter() - clock,
        "table_cpu_s": ticks - begun,
        "converged": bool(converged),
        "iterations": int(iterations),
    }
    np.savez(out, slope=slope, difficulty=difficulty, ability=ability)
    # ru_maxrss is not used, because it begins at the memory of the parent process.
    status = Path("/proc/self/status").read_text()
    took["peak_mb"] = int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024.0
    print(json.dumps(took), flush=True)
    os._exit(0)  # some programs leave threads running


def attempt(python, name, source, out, seconds, memory):
    """Run a program on a table; return what it took, and how it ended."""
    numbers = [str(one) for one in (source, out, seconds, memory)]
    command = [python, "-m", "validation.large_irt_peers", "--as-program", name, *numbers]
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
    from validation.large_irt import truth

    slope, intercept, ability = truth(n_models, n_questions)
    mean, sd = ability.mean(), ability.std()
    return {
        "slope": slope * sd,
        "difficulty": (-intercept / slope - mean) / sd,
        "ability": (ability - mean) / sd,
    }


def compared(found, true, shared):
    """Return the root mean square and the median error over some questions."""
    rows = {"ability_r": float(np.corrcoef(found["ability"], true["ability"])[0, 1])}
    for name in ITEMS:
        error = (found[name] - true[name])[shared]
        rows[f"{name}_rmse"] = float(np.sqrt(np.mean(error**2)))
        rows[f"{name}_median_error"] = float(np.median(np.abs(error)))
    return rows


def finite(found):
    """Return which questions have both parameters."""
    return np.isfinite(found["slope"]) & np.isfinite(found["difficulty"])


def run_size(folder, size, alive, given):
    """Fit one size with the remaining programs; yield their rows."""
    from validation.large_irt import blocks

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


def line(row):
    """Return a row of the page's table."""
    head = f"| {row['models']:,} x {row['questions']:,} | {row['program']} "
    if row["end"] != "fitted":
        return f"{head}| {row['end']} |" + " |" * 6
    steps = f"{row['iterations']:.0f}" + ("" if row["converged"] else ", not converged")
    errors = (f"{row[f'{name}_median_error']:.2g} ({row[f'{name}_rmse']:.2g})" for name in ITEMS)
    return (
        f"{head}| {row['cpu_s']:,.1f} s | {row['wall_s']:,.0f} s | {row['peak_mb']:,.0f} MB "
        f"| {steps} | {' | '.join(errors)} | {row['ability_r']:.3f} |"
    )


def beside(rows, name):
    """Return a row for the largest size that a program fitted."""
    here = [row for row in rows if row["program"] == name]
    last = [row for row in here if row["end"] == "fitted"][-1]
    size = last["models"], last["questions"]
    ours = next(row for row in rows if (row["models"], row["questions"]) == size)
    ratios = (f"{last[key] / ours[key]:.2g}" for key in ("cpu_s", "wall_s", "peak_mb"))
    errors = (
        f"{last[key]:.2g}, {last[f'psychollm_{key}']:.2g}"
        for key in ("slope_median_error", "difficulty_median_error")
    )
    after = "" if here[-1] is last else here[-1]["end"]
    return (
        f"| {name} {last['version']} | {size[0]:,} x {size[1]:,} | {' | '.join(ratios)} "
        f"| {' | '.join(errors)} | {last['ability_r']:.3f}, {ours['ability_r']:.3f} | {after} |"
    )


def page(path):
    """Write the table and the ratios into the page."""
    import pandas as pd

    rows = pd.read_csv(RESULTS).to_dict("records")
    fitted = {row["program"] for row in rows if row["end"] == "fitted"}
    lines = [
        "| models x questions | program | CPU | clock | memory | steps | error of slopes "
        "| error of difficulties | abilities, r |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
        *map(line, rows),
        "",
        "The next table gives ratios to psychollm at the largest size that each program fitted, "
        "and errors of both programs over the questions that both fitted:",
        "",
        "| program | models x questions | CPU | clock | memory | median error of slopes "
        "| of difficulties | abilities, r | next size |",
        "|---|---|---:|---:|---:|---:|---:|---:|---|",
        *(beside(rows, name) for name in PROGRAMS if name in fitted - {"psychollm"}),
    ]
    mark = "<!-- validation/large_irt_peers.py: {} -->"
    text = path.read_text(encoding="utf-8")
    before, after = text.split(mark.format("begin"))[0], text.split(mark.format("end"))[1]
    body = "\n".join([mark.format("begin"), "", *lines, "", mark.format("end")])
    path.write_text(before + body + after, encoding="utf-8")


def main():
    """Run what is asked."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--peer", help="an interpreter that has mirt and theta-irt")
    parser.add_argument("--seconds", type=int, default=120, help="of CPU, for each fit")
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
