"""The 2PL of tables kept by their cells, up to a billion answers: time, memory, recovery.

    python -m benchmarks.large_irt 1000 100000            # models, questions; one cell in ten
    python -m benchmarks.large_irt 10000 1000000 --n-jobs 2 --checkpoint fit.npz
    python -m benchmarks.large_irt --growth growth.csv     # 1e5 to 1e9 cells, a process each

Answers are made block by block from known slopes, difficulties and abilities, and go through
``psychollm.data.scan`` into a folder; each step runs in a process of its own, so that its peak of
memory is its own.
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
def _block(seed, slope, intercept, ability, filled):  # type: ignore[no-untyped-def]
    """Return models, questions and answers of a block: gaps between filled cells are geometric."""
    np.random.seed(seed)
    most = int(slope.size * ability.size * filled * 1.2) + 1000
    models = np.empty(most, dtype=np.int32)
    questions = np.empty(most, dtype=np.int32)
    values = np.empty(most, dtype=np.int8)
    n, cell, scale = 0, -1, 1.0 / np.log1p(-filled)
    while True:
        cell += 1 + int(np.log(np.random.random()) * scale)
        if cell >= slope.size * ability.size or n == most:
            break
        j, i = cell // ability.size, cell % ability.size
        z = slope[j] * ability[i] + intercept[j]
        models[n], questions[n] = i, j
        values[n] = np.random.random() < 1.0 / (1.0 + np.exp(-z))
        n += 1
    return models[:n], questions[:n], values[:n]


def blocks(n_models: int, n_questions: int) -> Iterator[Any]:
    """Yield Arrow tables of a long table."""
    import pyarrow as pa

    slope, intercept, ability = truth(n_models, n_questions)
    for low in range(0, n_questions, BLOCK):
        part = slice(low, low + BLOCK)
        models, questions, values = _block(
            SEED + low, slope[part], intercept[part], ability, FILLED
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
    order = np.argsort(np.array(found.labels))  # labels come in the order of first occurrence
    rows: dict[str, Any] = {
        "fit_s": seconds,
        "steps": found.convergence.iterations,
        "reason": found.convergence.reason,
        "gradient": found.gradient,
        "priors": str(found.priors),
        "nodes": found.n_nodes,
    }
    known = {"slope": slope, "intercept": intercept}
    for name, true in known.items():
        value, se = (getattr(found, f"{prefix}{name}")[order] for prefix in ("", "se_"))
        use = np.isfinite(value) & np.isfinite(se)
        error = value[use] - true[np.sort(np.array(found.labels))][use]
        rows[f"{name}_rmse"] = float(np.sqrt(np.mean(error**2)))
        rows[f"{name}_mean_se"] = float(np.sqrt(np.mean(se[use] ** 2)))
        rows[f"{name}_bias"] = float(error.mean())
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
    folder: Path, n_models: int, n_questions: int, n_jobs: int, checkpoint: str | None
) -> dict[str, Any]:
    """Write and fit one size; print both."""
    sizes = [str(n_models), str(n_questions), "--folder", str(folder)]
    rows: dict[str, Any] = {"models": n_models, "questions": n_questions}
    if not (folder / "start.npy").exists() and not (folder / "by_question").exists():
        rows |= {f"write_{key}": value for key, value in apart("write", *sizes).items()}
    more = [] if checkpoint is None else ["--checkpoint", checkpoint]
    rows |= apart("fit", *sizes, "--n-jobs", str(n_jobs), *more)
    for key, value in rows.items():
        print(f"{key}: {value:.4g}" if isinstance(value, float) else f"{key}: {value}", flush=True)
    return rows


GROWTH = ((100, 10_000), (320, 31_000), (1_000, 100_000), (3_200, 310_000), (10_000, 1_000_000))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("size", nargs="*", help="[write|fit] MODELS QUESTIONS")
    parser.add_argument("--folder", type=Path, help="where the cells are, or go")
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--checkpoint")
    parser.add_argument("--growth", type=Path, help="a file for times and memory by size")
    typed = parser.parse_args()
    if typed.growth:
        with tempfile.TemporaryDirectory() as name:
            rows = [run(Path(name) / f"{n}", n, m, typed.n_jobs, None) for n, m in GROWTH]
        with typed.growth.open("w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        return
    *step, models, questions = typed.size
    n_models, n_questions = int(models), int(questions)
    if not step:
        with tempfile.TemporaryDirectory() as name:
            folder = typed.folder or Path(name) / "cells"
            run(folder, n_models, n_questions, typed.n_jobs, typed.checkpoint)
        return
    if step == ["write"]:
        found = write(typed.folder, n_models, n_questions)
    else:
        found = fit(typed.folder, n_models, n_questions, typed.n_jobs, typed.checkpoint)
    found["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    print(json.dumps(found))


if __name__ == "__main__":
    main()
