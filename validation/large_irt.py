"""The 2PL of sparse tables, up to a billion answers: time, memory, recovery.

    python -m validation.large_irt 1000 100000            # models, questions; one cell in ten
    python -m validation.large_irt 10000 1000000 --folder cells --kill 120
    python -m validation.large_irt --growth validation/large_irt.csv
    python -m validation.large_irt --steps validation/large_irt_steps.csv
    python -m validation.large_irt --dask validation/large_irt_dask.csv
    python -m validation.large_irt --page docs/how_large.md

Answers are simulated block by block from known slopes, difficulties and abilities, and
``psychollm.data.scan`` writes them to a folder. Each step runs in its own process, so that its
peak memory is measured separately. ``--kill S`` kills the fit after S seconds and resumes it from
its checkpoint. ``--page`` writes the tables and the figure of the two files into the page.

Takes half a minute of CPU for ten million answers and 23 minutes for a billion, by the times in
the files.
"""

import argparse
import csv
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

import psychollm as psy
from psychollm._base.errors import ConvergenceWarning
from psychollm.irt.streamed import fit as streamed_fit
from psychollm.irt.streamed import posterior

BLOCK = 2_000  # questions simulated at once
FILLED = 0.1
SEED = 20261125
STEPS = 8  # of the fits whose data passes are timed


def truth(n_models: int, n_questions: int) -> tuple[Any, Any, Any]:
    """Return slopes, intercepts (questions,) and abilities (models,)."""
    rng = np.random.default_rng(SEED)
    slope = rng.lognormal(0.0, 0.3, n_questions)
    return slope, -slope * rng.normal(0.0, 1.0, n_questions), rng.normal(size=n_models)


@njit(nogil=True, cache=True)
def _block(rng, slope, intercept, ability, filled):  # type: ignore[no-untyped-def]
    """Return models, questions and answers of a block: gaps between filled cells are geometric."""
    most = int(slope.size * ability.size * filled * 1.2) + 1000
    models = np.empty(most, dtype=np.int32)
    questions = np.empty(most, dtype=np.int32)
    values = np.empty(most, dtype=np.int8)
    n, cell, scale = 0, -1, 1.0 / np.log1p(-filled)
    while True:
        cell += 1 + int(np.log(rng.random()) * scale)
        if cell >= slope.size * ability.size or n == most:
            break
        j, i = cell // ability.size, cell % ability.size
        z = slope[j] * ability[i] + intercept[j]
        models[n], questions[n] = i, j
        values[n] = rng.random() < 1.0 / (1.0 + np.exp(-z))
        n += 1
    return models[:n], questions[:n], values[:n]


def blocks(n_models: int, n_questions: int) -> Iterator[Any]:
    """Yield Arrow tables of a long table."""
    import pyarrow as pa

    slope, intercept, ability = truth(n_models, n_questions)
    for low in range(0, n_questions, BLOCK):
        part = slice(low, low + BLOCK)
        models, questions, values = _block(
            np.random.default_rng(SEED + low), slope[part], intercept[part], ability, FILLED
        )
        yield pa.table({"model": models, "question": questions + low, "value": values})


def write(folder: Path, n_models: int, n_questions: int) -> dict[str, Any]:
    """Make the answers and put them into a folder of cells."""
    scan = psy.data.scan(blocks(n_models, n_questions), folder=folder)
    return {"cells": int(scan.by_question.start[-1])}


def fit(
    folder: Path,
    n_models: int,
    n_questions: int,
    *,
    n_jobs: int | None,
    checkpoint: str | None,
) -> dict[str, Any]:
    """Fit the 2PL and compare with the truth."""
    scan = psy.data.Scan.open(folder)
    # One-time loading is excluded from the timed fit.
    few = psy.data.scan(blocks(100, 1_000))
    psy.ability(psy.fit_irt(few), few)
    clock, cpu = time.perf_counter(), time.process_time()
    found = psy.fit_irt(
        scan,
        n_jobs=n_jobs,
        checkpoint=checkpoint,
        progress=sys.stderr.isatty(),
    )
    seconds, used = time.perf_counter() - clock, time.process_time() - cpu
    slope, intercept, ability = truth(n_models, n_questions)
    question = np.array(found.labels)  # in the order of first occurrence
    rows: dict[str, Any] = {
        "fit_s": seconds,
        "fit_cpu_s": used,
        "steps": found.convergence.iterations,
        "reason": found.convergence.reason,
        "gradient": found.gradient,
        "priors": str(found.priors),
        "nodes": found.n_nodes,
        "slope_sd": float(slope.std()),
        "intercept_sd": float(intercept.std()),
    }
    for name, true in (("slope", slope[question]), ("intercept", intercept[question])):
        value, se = (getattr(found, f"{prefix}{name}") for prefix in ("", "se_"))
        use = np.isfinite(value) & np.isfinite(se)
        error = (value - true)[use]
        # The most extreme of a million items dominate a mean square, so that medians are reported
        # too.
        rows[f"{name}_rmse"] = float(np.sqrt(np.mean(error**2)))
        rows[f"{name}_median_error"] = float(np.median(np.abs(error)))
        rows[f"{name}_median_expected"] = float(np.median(se[use]) * 0.6745)
        rows[f"{name}_bias"] = float(np.median(error))
        rows[f"{name}_covered"] = float(np.mean(np.abs(error) < 1.96 * se[use]))
        rows[f"{name}_without"] = int((~use).sum())
    clock = time.perf_counter()
    known_abilities = psy.ability(found, scan, n_jobs=n_jobs)
    rows["ability_s"] = time.perf_counter() - clock
    error = known_abilities.ability - ability[np.array(known_abilities.labels)]
    rows["ability_rmse"] = float(np.sqrt(np.mean(error**2)))
    # Remove the mean and the SD of this sample of models, which the scale does not determine.
    line = np.polyfit(ability[np.array(known_abilities.labels)], known_abilities.ability, 1)
    rest = known_abilities.ability - np.polyval(line, ability[np.array(known_abilities.labels)])
    rows["ability_rmse_on_scale"] = float(np.sqrt(np.mean(rest**2)))
    rows["ability_mean_se"] = float(np.sqrt(np.mean(known_abilities.se**2)))
    return rows


def some_steps(folder: Path, n_jobs: int | None) -> dict[str, Any]:
    """Take a few steps of maximum likelihood on three nodes, whatever the size."""
    scan = psy.data.Scan.open(folder)
    readings = 0
    each = posterior.Answers.each

    def counted(*given: Any) -> Any:
        nonlocal readings
        readings += 1
        return each(*given)

    patched: Any = streamed_fit
    patched.NODES = ((0, 3),)

    few = psy.data.scan(blocks(100, 1_000))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        psy.fit_irt(few, priors=None, max_iterations=STEPS)
        patched = posterior.Answers
        patched.each = counted
        clock, cpu = time.perf_counter(), time.process_time()
        found = psy.fit_irt(scan, n_jobs=n_jobs, priors=None, max_iterations=STEPS)
    seconds, used = time.perf_counter() - clock, time.process_time() - cpu
    return {
        "steps": found.convergence.iterations,
        "readings": readings,
        "wall_per_reading": seconds / readings,
        "cpu_per_reading": used / readings,
    }


def apart(*command: str) -> dict[str, Any]:
    """Run a step in its own process; return its output, time and memory."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    clock = time.perf_counter()
    said = subprocess.run(
        [sys.executable, "-m", "validation.large_irt", *command],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    found: dict[str, Any] = json.loads(said.splitlines()[-1])
    found["wall_s"] = time.perf_counter() - clock
    found["cpu_s"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return found


def run(
    folder: Path,
    n_models: int,
    n_questions: int,
    *,
    n_jobs: int,
    kill: float | None = None,
) -> dict[str, Any]:
    """Write and fit one size; print both."""
    sizes = [str(n_models), str(n_questions), "--folder", str(folder)]
    rows: dict[str, Any] = {"models": n_models, "questions": n_questions}
    written = apart("write", *sizes) if not folder.exists() else {}
    rows |= {f"write_{key}": value for key, value in written.items()}
    more: list[str] = ["--n-jobs", str(n_jobs)]
    if kill is not None:
        place = folder.with_name(f"{folder.name}.npz")
        more += ["--checkpoint", str(place)]
        command = [sys.executable, "-m", "validation.large_irt", "fit", *sizes, *more]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            time.sleep(kill)
            process.kill()
        with np.load(place) as kept:
            rows["killed_s"], rows["kept_steps"] = kill, int(kept["taken"])
    rows |= apart("fit", *sizes, *more)
    for key, value in rows.items():
        print(f"{key}: {value:.4g}" if isinstance(value, float) else f"{key}: {value}", flush=True)
    return rows


# Settings that reduce the background work of Dask's processes: docs/clusters.md.
QUIET = {
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.worker.profile.enabled": False,
}


def over_dask(n_models: int = 3_200, n_questions: int = 310_000) -> list[dict[str, Any]]:
    """Fit on clusters of one and two processes, of two quiet processes, and with one killed."""
    import os
    import signal
    from threading import Timer

    import joblib

    config: Any = import_module("dask.config")
    distributed: Any = import_module("distributed")

    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "cells"
        write(folder, n_models, n_questions)
        scan = psy.data.Scan.open(folder)
        first = None
        for workers, killed, quiet in (
            (0, False, False),
            (1, False, False),
            (2, False, False),
            (2, False, True),
            (2, True, False),
        ):
            if not workers:
                clock = time.perf_counter()
                fit = psy.fit_irt(scan, n_jobs=1)
            else:
                with config.set(QUIET if quiet else {}):
                    local = distributed.LocalCluster(
                        n_workers=workers,
                        threads_per_worker=1,
                        processes=True,
                        host="127.0.0.1",
                        dashboard_address=":0",
                    )
                with (
                    local,
                    distributed.Client(local) as client,
                    joblib.parallel_config(backend="dask"),
                ):
                    client.wait_for_workers(workers)
                    psy.fit_irt(scan, max_iterations=1)  # workers load and compile once
                    if killed:
                        victim = next(iter(client.run(os.getpid).values()))
                        Timer(10.0, os.kill, (victim, signal.SIGKILL)).start()
                    clock = time.perf_counter()
                    fit = psy.fit_irt(scan)
            seconds = time.perf_counter() - clock
            first = fit if first is None else first
            same = np.array_equal(fit.parameters, first.parameters, equal_nan=True)
            row = {"workers": workers, "killed": killed, "quiet": quiet}
            rows.append(row | {"seconds": seconds, "same_bits": same})
            print(rows[-1], flush=True)
    return rows


def saved(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write rows as CSV."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=names)
        writer.writeheader()
        writer.writerows(rows)


def replaced(path: Path, part: str, lines: list[str]) -> None:
    """Put lines between the two marks of a part of the page."""
    begin, end = (
        f"<!-- validation/large_irt.py, {part}: {where} -->" for where in ("begin", "end")
    )
    text = path.read_text(encoding="utf-8")
    before, after = text.split(begin)[0], text.split(end)[1]
    path.write_text("\n".join([before + begin, "", *lines, "", end + after]), encoding="utf-8")


def on_growth(rows: Any) -> list[str]:
    """Return the table of data passes on three nodes, and their exponents."""
    lines = [
        "| answers | CPU s per pass | ns per answer | memory, MiB | exponent |",
        "|---:|---:|---:|---:|---:|",
    ]
    above = None
    for row in rows.itertuples():
        cells, used = 0.1 * row.models * row.questions, row.cpu_per_reading
        exponent = "" if above is None else f"{np.log10(used / above):.2f}"
        numbers = (f"{cells:.0e}", f"{used:.3f}", f"{1e9 * used / cells:.1f}")
        lines.append(f"| {' | '.join(numbers)} | {row.peak_mb:,.0f} | {exponent} |")
        above = used
    sizes, times = (
        np.log10(column) for column in (rows.models * rows.questions, rows.cpu_per_reading)
    )
    every, later = (np.polyfit(sizes[k:], times[k:], 1)[0] for k in (0, 1))
    lines += [
        "",
        f"The exponent over all rows is {every:.2f}; without the first row it is {later:.2f}.",
    ]
    return [line.replace("e+0", "e") for line in lines]


def efficiency(rows: Any, *, quiet: bool) -> float:
    """Return the efficiency of two workers, relative to the mean of two runs in one process."""
    whole = rows[~rows["killed"]]
    two = whole[(whole["workers"] == 2) & (whole["quiet"] == quiet)]["seconds"]
    return float(whole[whole["workers"] < 2]["seconds"].mean() / (2 * two.mean()))


MACHINES = (
    (1e10, 10_000_000, 16, "16 cores, 32 GB, 120 GB of disk"),
    (1e11, 10_000_000, 64, "64 cores, or four machines of 16 that share a disk of 1.2 TB"),
)


def on_machines(largest: Any, used: float) -> list[str]:
    """Return the table of machines, computed from the largest fit."""
    step = largest["fit_s"] / largest["steps"]
    each = largest["fit_cpu_s"] / largest["steps"] / largest["write_cells"]
    lines = [
        "| answers | questions | machine | a step | a fit |",
        "|---:|---:|---|---:|---:|",
        f"| 1e9 | 1,000,000 | 2 cores, 8 GB | {step:.0f} s | {largest['fit_s'] / 60:.0f} min "
        f"({largest['steps']} steps) |",
    ]
    for answers, questions, cores, machine in MACHINES:
        step = each * answers / (cores * used)
        fit = step * largest["steps"] / 60
        lines.append(
            f"| {answers:.0e} | {questions:,} | {machine} | {step:.0f} s | {fit:.0f} min |"
        )
    return [line.replace("e+", "e") for line in lines]


def on_dask(rows: Any) -> list[str]:
    """Return the table of fits on clusters."""
    lines = ["| where | seconds | same bits |", "|---|---:|---|"]
    named = (
        "this process, one thread",
        "Dask, one worker, for which joblib works in this process",
        "Dask, two workers",
    )
    for row in rows.itertuples():
        where = named[row.workers] + (", one killed on the way" if row.killed else "")
        where += ", the settings of [clusters](clusters.md)" if row.quiet else ""
        lines.append(f"| {where} | {row.seconds:.1f} | {'yes' if row.same_bits else 'no'} |")
    said = (
        "Relative to the mean of the first two rows, two workers have an efficiency of "
        f"{efficiency(rows, quiet=False):.2f}, and of {efficiency(rows, quiet=True):.2f} with "
        "those settings."
    )
    return [*lines, "", said]


def page(path: Path) -> None:
    """Write the tables and the figure into the page."""
    import matplotlib.pyplot as plt
    import pandas as pd

    growth = pd.read_csv("validation/large_irt.csv")
    lines = [
        "| models x questions | answers | read and sorted | fitted | memory "
        "| slopes: error (expected) | covered | abilities: error (expected) |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
        *(
            f"| {row.models:,} x {row.questions:,} | {row.write_cells:,} "
            f"| {row.write_wall_s:.0f} s, {row.write_peak_mb:,.0f} MiB "
            f"| {row.fit_s:.1f} s | {row.peak_mb:,.0f} MiB "
            f"| {row.slope_median_error:.3f} ({row.slope_median_expected:.3f}) "
            f"| {row.slope_covered:.1%} "
            f"| {row.ability_rmse_on_scale:.4f} ({row.ability_mean_se:.4f}) |"
            for row in growth.itertuples()
        ),
    ]
    stepped = pd.read_csv("validation/large_irt_steps.csv")
    clusters = pd.read_csv("validation/large_irt_dask.csv")
    replaced(path, "sizes", lines)
    replaced(path, "growth", on_growth(stepped))
    replaced(path, "clusters", on_dask(clusters))
    replaced(path, "machines", on_machines(growth.iloc[-1], efficiency(clusters, quiet=False)))
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
    left.loglog(growth["write_cells"], growth["fit_s"], "o-", label="fit")
    left.loglog(growth["write_cells"], growth["write_wall_s"], "s--", label="read and sort")
    left.set(xlabel="Answers", ylabel="Seconds")
    left.legend(frameon=False)
    right.loglog(growth["write_cells"], growth["peak_mb"], "o-", label="fit")
    right.loglog(growth["write_cells"], growth["write_peak_mb"], "s--", label="read and sort")
    right.set(xlabel="Answers", ylabel="Peak of memory, MiB")
    for one in (left, right):
        one.grid(alpha=0.3)
        one.spines[["top", "right"]].set_visible(False)
    place = path.parent / "_static" / "how_large"
    place.mkdir(parents=True, exist_ok=True)
    figure.savefig(place / "growth.png", dpi=150)


GROWTH = ((100, 10_000), (320, 31_000), (1_000, 100_000), (3_200, 310_000), (10_000, 1_000_000))
# Each question and each model has a hundred answers or more.
STEPPED = ((1_000, 1_000), (3_200, 3_100), *((10_000, 10**k) for k in (4, 5, 6)))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("size", nargs="*", help="[write|fit|steps] MODELS QUESTIONS")
    parser.add_argument("--folder", type=Path, help="where the cells are, or go")
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--steps", type=Path, help="a file for times of a few steps by size")
    parser.add_argument("--sizes", type=int, default=len(GROWTH), help="how many of --growth")
    parser.add_argument("--checkpoint", help=argparse.SUPPRESS)
    parser.add_argument("--kill", type=float, help="seconds after which a fit is killed")
    parser.add_argument("--growth", type=Path, help="a file for times and memory by size")
    parser.add_argument("--dask", type=Path, help="a file for times on clusters")
    parser.add_argument("--page", type=Path, help="the page that has the tables")
    typed = parser.parse_args()
    if where := typed.growth or typed.steps:
        with tempfile.TemporaryDirectory() as name:
            rows = []
            for n, m in (STEPPED if typed.steps else GROWTH)[: typed.sizes]:
                last = (n, m) == GROWTH[-1]
                own = typed.folder if typed.folder and last else Path(name) / f"{n}x{m}"
                if typed.steps:
                    if not own.exists():
                        apart("write", str(n), str(m), "--folder", str(own))
                    found = apart("steps", str(n), str(m), "--folder", str(own))
                    rows.append({"models": n, "questions": m} | found)
                else:
                    kill = typed.kill if last else None
                    rows.append(run(own, n, m, n_jobs=typed.n_jobs, kill=kill))
                saved(where, rows)
        return
    if typed.dask:
        saved(typed.dask, over_dask())
        return
    if typed.page:
        page(typed.page)
        return
    *step, models, questions = typed.size
    n_models, n_questions = int(models), int(questions)
    if not step:
        with tempfile.TemporaryDirectory() as name:
            folder = typed.folder or Path(name) / "cells"
            run(folder, n_models, n_questions, n_jobs=typed.n_jobs, kill=typed.kill)
        return
    if step == ["write"]:
        found = write(typed.folder, n_models, n_questions)
    elif step == ["steps"]:
        found = some_steps(typed.folder, typed.n_jobs)
    else:
        found = fit(
            typed.folder,
            n_models,
            n_questions,
            n_jobs=typed.n_jobs,
            checkpoint=typed.checkpoint,
        )
    found["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    print(json.dumps(found))


if __name__ == "__main__":
    main()
