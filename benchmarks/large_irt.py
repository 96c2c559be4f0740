"""The 2PL of tables kept by their cells, up to a billion answers: time, memory, recovery.

    python -m benchmarks.large_irt 1000 100000            # models, questions; one cell in ten
    python -m benchmarks.large_irt 10000 1000000 --folder cells --kill 120
    python -m benchmarks.large_irt --growth benchmarks/large_irt.csv
    python -m benchmarks.large_irt --dask benchmarks/large_irt_dask.csv
    python -m benchmarks.large_irt --page docs/how_large.md

Answers are made block by block from known slopes, difficulties and abilities, and go through
``psychollm.data.scan`` into a folder; each step runs in a process of its own, so that its peak of
memory is its own. ``--kill S`` kills the fit after S seconds and lets it go on from its
checkpoint. ``--page`` writes the tables and the figure of the two files into the page.
"""

import argparse
import csv
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

import psychollm as psy

BLOCK = 2_000  # questions that are made at once
FILLED = 0.1
SEED = 20261125


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
    folder: Path, n_models: int, n_questions: int, n_jobs: int | None, checkpoint: str | None
) -> dict[str, Any]:
    """Fit the 2PL and compare with the truth."""
    scan = psy.data.Scan.open(folder)
    clock = time.perf_counter()
    found = psy.fit_irt(scan, n_jobs=n_jobs, checkpoint=checkpoint, progress=sys.stderr.isatty())
    seconds = time.perf_counter() - clock
    slope, intercept, ability = truth(n_models, n_questions)
    question = np.array(found.labels)  # in the order of first occurrence
    rows: dict[str, Any] = {
        "fit_s": seconds,
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
        # Of a million items the wildest decide a mean square: middle values beside it.
        rows[f"{name}_rmse"] = float(np.sqrt(np.mean(error**2)))
        rows[f"{name}_median_error"] = float(np.median(np.abs(error)))
        rows[f"{name}_median_expected"] = float(np.median(se[use]) * 0.6745)
        rows[f"{name}_bias"] = float(np.median(error))
        rows[f"{name}_covered"] = float(np.mean(np.abs(error) < 1.96 * se[use]))
        rows[f"{name}_without"] = int((~use).sum())
    clock = time.perf_counter()
    known_abilities = psy.ability(found, scan)
    rows["ability_s"] = time.perf_counter() - clock
    error = known_abilities.ability - ability[np.array(known_abilities.labels)]
    rows["ability_rmse"] = float(np.sqrt(np.mean(error**2)))
    # What the scale leaves open, mean and deviation of this sample of models, is taken out.
    line = np.polyfit(ability[np.array(known_abilities.labels)], known_abilities.ability, 1)
    rest = known_abilities.ability - np.polyval(line, ability[np.array(known_abilities.labels)])
    rows["ability_rmse_on_scale"] = float(np.sqrt(np.mean(rest**2)))
    rows["ability_mean_se"] = float(np.sqrt(np.mean(known_abilities.se**2)))
    return rows


def apart(*command: str) -> dict[str, Any]:
    """Run a step in a process of its own; return what it printed, time and memory."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    clock = time.perf_counter()
    said = subprocess.run(
        [sys.executable, "-m", "benchmarks.large_irt", *command],
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
    folder: Path, n_models: int, n_questions: int, n_jobs: int, kill: float | None
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
        command = [sys.executable, "-m", "benchmarks.large_irt", "fit", *sizes, *more]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            time.sleep(kill)
            process.kill()
        rows["killed_s"], rows["checkpoint"] = kill, place.exists()
    rows |= apart("fit", *sizes, *more)
    for key, value in rows.items():
        print(f"{key}: {value:.4g}" if isinstance(value, float) else f"{key}: {value}", flush=True)
    return rows


def over_dask(n_models: int = 3_200, n_questions: int = 310_000) -> list[dict[str, Any]]:
    """Fit on clusters of one and of two processes, and of two one of which is killed."""
    import os
    import signal
    from threading import Timer

    import joblib
    from distributed import Client, LocalCluster

    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "cells"
        write(folder, n_models, n_questions)
        scan = psy.data.Scan.open(folder)
        first = None
        for workers, killed in ((0, False), (1, False), (2, False), (2, True)):
            if not workers:
                clock = time.perf_counter()
                fit = psy.fit_irt(scan, n_jobs=1)
            else:
                local = LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    processes=True,
                    host="127.0.0.1",
                    dashboard_address=":0",
                )
                with local, Client(local) as client, joblib.parallel_config(backend="dask"):
                    client.wait_for_workers(workers)
                    psy.fit_irt(scan, max_iterations=1)  # what workers load and compile once
                    if killed:
                        victim = next(iter(client.run(os.getpid).values()))
                        Timer(10.0, os.kill, (victim, signal.SIGKILL)).start()
                    clock = time.perf_counter()
                    fit = psy.fit_irt(scan)
            seconds = time.perf_counter() - clock
            first = fit if first is None else first
            same = np.array_equal(fit.parameters, first.parameters, equal_nan=True)
            rows.append(
                {"workers": workers, "killed": killed, "seconds": seconds, "same_bits": same}
            )
            print(rows[-1], flush=True)
    return rows


def saved(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write rows as CSV."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=names)
        writer.writeheader()
        writer.writerows(rows)


def on_dask(rows: Any) -> list[str]:
    """Return the table of fits on clusters."""
    lines = ["| where | seconds | same bits |", "|---|---:|---|"]
    named = {0: "this process, one thread", 1: "Dask, one worker", 2: "Dask, two workers"}
    for row in rows.itertuples():
        where = named[row.workers] + (", one killed on the way" if row.killed else "")
        lines.append(f"| {where} | {row.seconds:.1f} | {'yes' if row.same_bits else 'no'} |")
    whole = rows[~rows["killed"]].set_index("workers")["seconds"]
    efficiency = whole[1] / (2 * whole[2])
    return [*lines, "", f"Two workers have an efficiency of {efficiency:.2f} against one."]


def page(path: Path) -> None:
    """Write the tables and the figure into the page."""
    import matplotlib.pyplot as plt
    import pandas as pd

    growth = pd.read_csv("benchmarks/large_irt.csv")
    lines = [
        "| models x questions | answers | read and sorted | fitted | memory "
        "| slopes: error (expected) | covered | abilities: error (expected) |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
        *(
            f"| {row.models:,} x {row.questions:,} | {row.write_cells:,} "
            f"| {row.write_wall_s:.0f} s, {row.write_peak_mb:,.0f} MB "
            f"| {row.fit_s:.1f} s | {row.peak_mb:,.0f} MB "
            f"| {row.slope_median_error:.3f} ({row.slope_median_expected:.3f}) "
            f"| {row.slope_covered:.1%} "
            f"| {row.ability_rmse_on_scale:.4f} ({row.ability_mean_se:.4f}) |"
            for row in growth.itertuples()
        ),
    ]
    steps = ", ".join(f"{s:.1f}" for s in growth["fit_s"] / growth["steps"])
    lines += ["", f"Seconds a step, from the smallest to the largest: {steps}."]
    if (clusters := Path("benchmarks/large_irt_dask.csv")).exists():
        lines += ["", *on_dask(pd.read_csv(clusters))]
    mark = "<!-- benchmarks/large_irt.py: {} -->"
    text = path.read_text(encoding="utf-8")
    before, after = text.split(mark.format("begin"))[0], text.split(mark.format("end"))[1]
    body = "\n".join([mark.format("begin"), "", *lines, "", mark.format("end")])
    path.write_text(before + body + after, encoding="utf-8")
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
    left.loglog(growth["write_cells"], growth["fit_s"], "o-", label="fit")
    left.loglog(growth["write_cells"], growth["write_wall_s"], "s--", label="read and sort")
    left.set(xlabel="Answers", ylabel="Seconds")
    left.legend(frameon=False)
    right.loglog(growth["write_cells"], growth["peak_mb"], "o-", label="fit")
    right.loglog(growth["write_cells"], growth["write_peak_mb"], "s--", label="read and sort")
    right.set(xlabel="Answers", ylabel="Peak of memory, MB")
    for one in (left, right):
        one.grid(alpha=0.3)
        one.spines[["top", "right"]].set_visible(False)
    place = path.parent / "_static" / "how_large"
    place.mkdir(parents=True, exist_ok=True)
    figure.savefig(place / "growth.png", dpi=150)


GROWTH = ((100, 10_000), (320, 31_000), (1_000, 100_000), (3_200, 310_000), (10_000, 1_000_000))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("size", nargs="*", help="[write|fit] MODELS QUESTIONS")
    parser.add_argument("--folder", type=Path, help="where the cells are, or go")
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--checkpoint", help=argparse.SUPPRESS)
    parser.add_argument("--kill", type=float, help="seconds after which a fit is killed")
    parser.add_argument("--growth", type=Path, help="a file for times and memory by size")
    parser.add_argument("--dask", type=Path, help="a file for times on clusters")
    parser.add_argument("--page", type=Path, help="the page that has the tables")
    typed = parser.parse_args()
    if typed.growth:
        with tempfile.TemporaryDirectory() as name:
            rows = []
            for n, m in GROWTH:
                folder = (
                    typed.folder if typed.folder and n == GROWTH[-1][0] else Path(name) / f"{n}"
                )
                rows.append(run(folder, n, m, typed.n_jobs, None))
                saved(typed.growth, rows)
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
            run(folder, n_models, n_questions, typed.n_jobs, typed.kill)
        return
    if step == ["write"]:
        found = write(typed.folder, n_models, n_questions)
    else:
        found = fit(typed.folder, n_models, n_questions, typed.n_jobs, typed.checkpoint)
    found["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    print(json.dumps(found))


if __name__ == "__main__":
    main()
