"""Prediction errors of one scale, and coverage of its intervals: docs/one_scale.md.

``python -m validation.stitch_rates --write [SCORES.csv.gz]`` rewrites
``docs/one_scale_tables.md``. SCORES are Epoch's (columns model, date, benchmark, performance;
github.com/epoch-research/benchmark-stitching, MIT): cells are left out in five random folds, and
models later than a date are predicted from three of their scores, drawn six times. Simulated
tables have normal abilities, residual noise of each benchmark, and in some cases a second ability
or heavy tails. Takes ten minutes.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit

import psychollm as psy

OUT = Path(__file__).parents[1] / "docs" / "one_scale_tables.md"
NAMES = {"model": "model", "benchmark": "benchmark", "score": "performance"}
CUTS = ("2024-10-01", "2025-01-01", "2025-02-20", "2025-04-01")
SEEDS = (1, 2, 3)
LEVEL, FOLDS, GIVEN, TIMES = 0.9, 5, 3, 6
WORLDS = {
    "one ability, 40 models, 12 benchmarks, half filled": {"shape": (40, 12), "filled": 0.5},
    "one ability, 120 models, 30 benchmarks, 20 % filled": {"shape": (120, 30), "filled": 0.2},
    "two abilities, 120 models, 30 benchmarks, 20 % filled": {
        "shape": (120, 30), "filled": 0.2, "second": 0.6,
    },
    "heavy tails, 120 models, 30 benchmarks, 20 % filled": {
        "shape": (120, 30), "filled": 0.2, "heavy": True,
    },
    "12 models, 6 benchmarks, all filled": {"shape": (12, 6), "filled": 1.0},
}  # fmt: skip
# These small tables have few scores, so that more tables are drawn.
SMALL, MORE = 100, 8


def told(parts):
    """Return error and coverage of score, value, lower and upper in four rows."""
    score, value, lower, upper = np.hstack(parts)
    inside = (lower - 1e-9 <= score) & (score <= upper + 1e-9)
    return (
        score.size,
        np.sqrt(np.mean((score - value) ** 2)),
        100 * inside.mean(),
        np.mean(upper - lower),
    )


def cells(frame, seed, **options):
    """Return predictions of left-out cells, in random folds, and the benchmark means."""
    fold = np.random.default_rng(seed).permutation(np.arange(len(frame)) % FOLDS)
    parts, plain = [], []
    for one in range(FOLDS):
        rest, held = frame[fold != one], frame[fold == one]
        scale = psy.stitch_benchmarks(rest, **NAMES, rng=seed, **options)
        means = rest.groupby("benchmark")["performance"].mean()
        for model, rows in held.groupby("model"):
            rows = rows[rows["benchmark"].isin(means.index)]
            if model not in scale.labels or not len(rows):
                continue
            found = scale.predict(model, level=LEVEL).set_index("benchmark").loc[rows["benchmark"]]
            parts.append(np.vstack([rows["performance"], found.T]))
            plain.append(
                (rows["performance"].to_numpy() - means[rows["benchmark"]].to_numpy()) ** 2
            )
    return parts, np.concatenate(plain)


def later(frame, cut, seed=1, **options):
    """Return predictions of models later than a date, from three scores."""
    rest, held = frame[frame["date"] < cut], frame[frame["date"] >= cut]
    scale = psy.stitch_benchmarks(rest, **NAMES, rng=seed, **options)
    held = held[held["benchmark"].isin(scale.data.benchmarks)]
    rng, parts = np.random.default_rng(seed), []
    for model, rows in held.groupby("model"):
        for _ in range(TIMES if len(rows) > GIVEN else 0):
            rows = rows.iloc[rng.permutation(len(rows))]
            given = rows.iloc[:GIVEN].set_index("benchmark")["performance"].to_dict()
            found = scale.predict(model, given=given, level=LEVEL).set_index("benchmark")
            other = rows.iloc[GIVEN:]
            parts.append(np.vstack([other["performance"], found.loc[other["benchmark"]].T]))
    return parts


def drawn(rng, shape, filled, second=0.0, heavy=False):
    """Return a long table and the abilities behind it."""
    n, b = shape
    able, other = rng.normal(size=(2, n))
    hard, slope = rng.normal(0.2, 1.2, b), np.exp(rng.normal(0.0, 0.4, b))
    scatter = 0.15 * np.exp(rng.normal(0.0, 0.4, b))
    p = expit(slope * (able[:, None] - hard) + second * other[:, None] * rng.normal(size=b))
    noise = rng.standard_t(3, (n, b)) / np.sqrt(3) if heavy else rng.normal(size=(n, b))
    score = np.clip(p + noise * scatter * np.sqrt(4 * p * (1 - p)) / 2, 0.0, 1.0)
    rows, columns = np.nonzero(rng.random(shape) < filled)
    frame = pd.DataFrame(
        {"model": rows, "benchmark": columns, "performance": score[rows, columns]}
    )
    return frame, able


def simulated(world, n_tables):
    """Return coverage of abilities, and error and coverage of left-out scores."""
    rng = np.random.default_rng(1)
    covered, parts, two = [], [], []
    for table in range(n_tables):
        frame, able = drawn(rng, **world)
        held = rng.random(len(frame)) < 0.15
        scale = psy.stitch_benchmarks(frame[~held], **NAMES, rng=table)
        truth = able[list(scale.labels)]
        truth = (truth - truth.mean()) / truth.std()
        lower, upper = scale.ability.interval.T
        covered.append((lower <= truth) & (truth <= upper))
        two.append(scale.n_abilities == 2)
        for model, rows in frame[held].groupby("model"):
            rows = rows[rows["benchmark"].isin(scale.data.benchmarks)]
            if model in scale.labels and len(rows):
                found = scale.predict(model, level=LEVEL).set_index("benchmark")
                parts.append(np.vstack([rows["performance"], found.loc[rows["benchmark"]].T]))
    return 100 * np.concatenate(covered).mean(), told(parts), 100 * np.mean(two)


def real(path):
    """Yield the lines on Epoch's scores."""
    frame = pd.read_csv(path)
    yield "## Epoch's scores"
    yield ""
    yield (f"The data are {len(frame)} scores of {frame.model.nunique()} models in "
           f"{frame.benchmark.nunique()} benchmarks. Intervals are 90 % intervals.")  # fmt: skip
    yield ""
    yield "| held-out scores | number | error (RMSE) | benchmark mean | covered, % | width |"
    yield "|---|---:|---:|---:|---:|---:|"
    for seed in SEEDS:
        parts, squares = cells(frame, seed)
        n, error, covers, width = told(parts)
        numbers = f"{n} | {error:.3f} | {np.sqrt(squares.mean()):.3f} | {covers:.1f} | {width:.2f}"
        yield f"| single scores, folds {seed} | {numbers} |"
    for cut in CUTS:
        n, error, covers, width = told(later(frame, cut))
        numbers = f"{n} | {error:.3f} | | {covers:.1f} | {width:.2f}"
        yield f"| models from {cut} on, three scores known | {numbers} |"
    yield ""


def lines(path, n_tables):
    """Yield the lines of the page."""
    yield "<!-- Made by validation/stitch_rates.py. -->"
    yield ""
    if path is not None:
        yield from real(path)
    yield "## Simulated tables"
    yield ""
    yield "15 % of the scores are held out. Intervals are 90 % intervals."
    yield ""
    yield ("| tables | number | scores | abilities covered, % | error (RMSE) | held-out scores "
           "covered, % | two abilities chosen, % |")  # fmt: skip
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for name, world in WORLDS.items():
        n, b = world["shape"]
        n_drawn = n_tables * (MORE if n * b < SMALL else 1)
        able, (n_cells, error, covers, _), two = simulated(world, n_drawn)
        numbers = f"{n_drawn} | {n_cells} | {able:.1f} | {error:.3f} | {covers:.1f} | {two:.0f}"
        yield f"| {name} | {numbers} |"


def main():
    """Print the tables, or write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scores", nargs="?", help="Epoch's scores, a CSV file")
    parser.add_argument("--tables", type=int, default=8, help="simulated tables of each kind")
    parser.add_argument("--write", action="store_true", help=f"write {OUT.name}")
    options = parser.parse_args()
    if options.write:
        OUT.write_text("\n".join(lines(options.scores, options.tables)) + "\n", encoding="utf-8")
        return
    for line in lines(options.scores, options.tables):
        print(line, flush=True)


if __name__ == "__main__":
    main()
