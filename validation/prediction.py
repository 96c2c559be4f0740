"""Held-out answers predicted by this library and by others: log loss, calibration, CPU time.

A fifth of the answers of each table is hidden, drawn at random; every program fits the rest and is
evaluated on the hidden answers, with standard errors over questions. Scores between 0 and 1 count
as that proportion of a yes; they are rounded for other programs, which require 0 and 1. A program
without a prediction for a question that all or none have solved is given the item mean. MMLU-Pro
is reduced to 2,000 random questions unless ``--full``.

Needs the folder with real tables (``--data``), and an interpreter whose environment has
torch-measure, py-irt and mirt (``--peers``). Run as
``OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 python -m validation.prediction --data DIR --peers
PYTHON``, which writes docs/prediction_tables.md.

Takes eleven minutes of CPU, by the times in its tables, of which other programs take three and a
half.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

import psychollm as psy
from psychollm.calibration import calibration_error
from psychollm.studies.prediction.predictors import MEANS, RASCH, TWO_PL

TABLE = Path(__file__).parents[1] / "docs" / "prediction_tables.md"
HIDDEN = 0.2


def bridge(data: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return agents x tasks, and the minutes that people take for a task."""
    answers = pd.read_csv(data / "bridge_agents.csv.gz")
    tasks = pd.read_csv(data / "bridge_tasks.csv.gz").set_index("task")[["human_minutes"]]
    return answers.pivot_table(index="model", columns="task", values="solved"), tasks


def livebench(data: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return models x questions, and the category and task of each question."""
    answers = pd.read_parquet(data / "livebench_scores.parquet")
    tasks = answers.drop_duplicates("question").set_index("question")[["category", "task"]]
    return answers.pivot_table(index="model", columns="question", values="score"), tasks


def mmlu_pro(data: Path, questions: int | None) -> tuple[pd.DataFrame, None]:
    """Return models x questions."""
    frame = pd.read_csv(data / "mmlu_pro_correct.csv.gz")
    first = frame.columns[0]
    frame = frame.set_index(first).apply(pd.to_numeric, errors="coerce")
    if len(frame) > frame.shape[1]:
        frame = frame.T
    if questions is not None:
        frame = frame.sample(questions, axis=1, random_state=0)
    return frame, None


def mmlu_redux(data: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return models x questions, and the subject of each question."""
    frame = pd.read_csv(data / "mmlu_redux_options.csv.gz")
    models = [name for name in frame if name not in ("question", "subject", "key", "label")]
    models = [name for name in models if set(frame[name].dropna()) <= set("ABCD")]
    chosen = frame[models]
    right = chosen.eq(frame["key"], axis=0).where(chosen.notna()).astype(float)
    return right.T, frame[["subject"]]


def judged(p: np.ndarray, y: np.ndarray, question: np.ndarray) -> tuple[float, float, float]:
    """Return log loss, its standard error over questions, and the debiased calibration error."""
    inside = np.clip(p, 1e-6, 1.0 - 1e-6)
    losses = -(y * np.log(inside) + (1.0 - y) * np.log1p(-inside))
    score = psy.reliability.mean_score([losses], clusters=question, bootstrap=0)
    error = calibration_error(np.round(p, 3), y, bins="mass", n_bins=10, bootstrap=100, rng=0)
    return float(score.value[0]), float(score.se[0]), float(error.debiased.value[0])


def peers(python: str, table: np.ndarray) -> Iterator[tuple[str, np.ndarray, float]]:
    """Yield name, predictions and seconds of other programs."""
    with tempfile.TemporaryDirectory() as folder:
        given, out = Path(folder) / "table.npz", Path(folder) / "out.npz"
        np.savez(given, table=table)
        script = Path(__file__).with_name("prediction_peers.py")
        subprocess.run([python, str(script), str(given), str(out)], check=True)
        found = dict(np.load(out))
    for name, p in found.items():
        if "|" not in name:
            yield name, p, float(found[f"{name}|seconds"])


def rows(frame: pd.DataFrame, side: pd.DataFrame | None, python: str) -> Iterator[list[str]]:
    """Yield a row of the table for each program."""
    values = frame.to_numpy(dtype=float)
    rng = np.random.default_rng(1)
    out = np.isfinite(values) & (rng.random(values.shape) < HIDDEN)
    rest = frame.mask(out)
    y = values[out]
    there = rest.notna().sum()
    means = (rest.sum() + 2.0 * np.nanmean(rest)) / (there + 2.0)
    means = np.broadcast_to(means.to_numpy(), values.shape)

    def row(name: str, p: np.ndarray, seconds: float) -> list[str]:
        none = ~np.isfinite(p[out])
        loss, se, error = judged(np.where(none, means[out], p[out]), y, np.nonzero(out)[1])
        share = f"{100.0 * none.mean():.1f} %" if none.any() else ""
        done = [name, f"{loss:.4f} ({se:.4f})", f"{100 * error:.1f}", share, f"{seconds:.0f}"]
        print(done, flush=True)
        return done

    yield row(MEANS, means, 0.0)
    if np.isin(y, (0.0, 1.0)).all():
        for name, model in ((RASCH, "rasch"), (TWO_PL, "2pl")):
            start = time.process_time()
            fit = psy.fit_irt(rest, model=model)
            yield row(f"psychollm {name}", fit.predict(rest), time.process_time() - start)
    for name, p, seconds in peers(python, rest.to_numpy(dtype=float)):
        yield row(name, p, seconds)
    tables = [("psychollm predict_answers", None)]
    if side is not None:
        tables.append((f"the same, with {' and '.join(side.columns)}", side))
    for name, given in tables:
        start = time.process_time()
        predicted = psy.predict_answers(rest, questions=given, n_folds=3, rng=0)
        own = predicted.held_out
        stated = f"{own.log_loss[0]:.3f} ({own.se[0]:.3f})"
        yield row(
            f"{name} (its own cross-validation: {stated})",
            predicted.probability,
            time.process_time() - start,
        )


def main() -> None:
    """Write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--peers", default=sys.executable)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--only", nargs="*")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    data: Path = options.data
    sets = {
        "BRIDGE": lambda: bridge(data),
        "LiveBench": lambda: livebench(data),
        "MMLU-Redux": lambda: mmlu_redux(data),
        "MMLU-Pro": lambda: mmlu_pro(data, None if options.full else 2000),
    }
    blocks = []
    for name, load in sets.items():
        if options.only and name not in options.only:
            continue
        frame, side = load()
        known = int(frame.notna().sum().sum())
        lines = [
            f"### {name}",
            "",
            f"The table has {frame.shape[0]} models, {frame.shape[1]:,} questions and {known:,} "
            "answers.",
            "",
            "| program | log loss (SE) | calibration error, points | no prediction | CPU s |",
            "|---|---:|---:|---:|---:|",
            *("| " + " | ".join(row) + " |" for row in rows(frame, side, options.peers)),
        ]
        blocks.append("\n".join(lines))
        TABLE.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
