"""Later models from three scores, by other predictors than one scale: docs/one_scale.md.

``python -m validation.stitch_peers --write SCORES.csv.gz`` rewrites
``docs/one_scale_peers_tables.md`` from Epoch's scores (as in `validation.stitch_rates`). Models
released within 150 days after a date are predicted from three of their scores, drawn four times,
and the scores of earlier models. Predictors are the mean of the benchmark's latest eight scores; a
weighted mean of models with similar scores; a normal distribution of log odds with a shrunk
covariance; Epoch's model, fitted by penalised least squares; and `stitch_benchmarks`. In the last
table, models of 2025 are held out at random, so that their contemporaries are known. Takes three
minutes.
"""

import argparse
import re
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import least_squares
from scipy.special import expit, logit

import psychollm as psy
from validation.attempts_rates import markdown
from validation.stitch_rates import GIVEN, LEVEL, NAMES

OUT = Path(__file__).parents[1] / "docs" / "one_scale_peers_tables.md"
CUTS = ("2023-11-01", "2024-02-01", "2024-05-01", "2024-08-01",
        "2024-10-01", "2025-01-01", "2025-02-20", "2025-04-01")  # fmt: skip
SPAN, TIMES, LATEST, FOLDS, PERIOD = 150, 4, 8, 6, "2025-01-01"
NEAR, EDGE, NOISE, RIDGE = 0.15, 0.02, 0.05, 0.3


def cases(rest, held, rng):
    """Return the given scores and the other scores of each held-out model, for each draw."""
    held = held[held["benchmark"].isin(set(rest["benchmark"]))]
    found = []
    for _, rows in held.groupby("model"):
        for _ in range(TIMES if len(rows) > GIVEN else 0):
            scores = rows.iloc[rng.permutation(len(rows))].set_index("benchmark")["performance"]
            found.append((scores.iloc[:GIVEN], scores.iloc[GIVEN:]))
    return found


def latest(rest):
    """Return a predictor: the mean of the latest scores of a benchmark."""
    last = rest.sort_values("date", kind="stable").groupby("benchmark").tail(LATEST)
    mean = last.groupby("benchmark")["performance"].mean()
    return lambda _, of: mean[of].to_numpy()


def nearest(rest):
    """Return a predictor: the mean of other models, weighted by the similarity of scores."""
    wide = rest.pivot_table(index="model", columns="benchmark", values="performance")
    mean = wide.mean()

    def predict(given, of):
        away = (wide[given.index] - given).abs()
        gap = away.sum(axis=1) + NEAR * away.isna().sum(axis=1)
        weight = np.exp(-gap / NEAR) * away.notna().any(axis=1)
        other = wide[of]
        total = other.notna().mul(weight, axis=0).sum()
        return ((other.mul(weight, axis=0).sum() + NOISE * mean[of]) / (total + NOISE)).to_numpy()

    return predict


def normal(rest):
    """Return a predictor: a normal distribution of log odds, its covariance shrunk, by EM."""
    wide = rest.pivot_table(index="model", columns="benchmark", values="performance")
    z = logit(np.clip(wide.to_numpy(), EDGE, 1.0 - EDGE))
    size = z.shape[1]
    mean, cover = np.nanmean(z, axis=0), 0.5 * np.eye(size) + 1.2

    def told(row, known, over):
        inner = cover[np.ix_(known, known)] + NOISE * np.eye(len(known))
        gain = np.linalg.solve(inner, cover[np.ix_(known, over)]).T
        return mean[over] + gain @ (row - mean[known]), gain

    every = np.arange(size)
    for _ in range(40):
        filled, square = np.empty_like(z), np.zeros_like(cover)
        for at, row in enumerate(z):
            known = np.flatnonzero(np.isfinite(row))
            filled[at], gain = told(row[known], known, every)
            off = filled[at] - mean
            square += cover - gain @ cover[known] + np.outer(off, off)
        mean = (filled.sum(axis=0) + 2.0 * filled.mean()) / (len(z) + 2.0)
        own = np.trace(square) / size / len(z)
        both = (square.sum() - np.trace(square)) / (size * (size - 1)) / len(z)
        target = both + (own - both) * np.eye(size)
        cover = (square + RIDGE * size * target) / (len(z) + RIDGE * size)

    def predict(given, of):
        known, over = (wide.columns.get_indexer(names) for names in (given.index, of))
        return expit(told(logit(np.clip(given.to_numpy(), EDGE, 1.0 - EDGE)), known, over)[0])

    return predict


def epoch(rest):
    """Return a predictor: Epoch's sigmoid of ability, by penalised least squares."""
    model, models = pd.factorize(rest["model"])
    column, names = pd.factorize(rest["benchmark"])
    score, n, size = rest["performance"].to_numpy(), len(models), len(names)

    def residuals(x):
        able, hard, slope = np.split(x, [n, n + size])
        p = expit(np.exp(slope[column]) * (able[model] - hard[column]))
        return np.concatenate([p - score, 0.03 * able, 0.03 * hard, 0.05 * slope])

    found = least_squares(residuals, np.zeros(n + 2 * size), max_nfev=60).x
    _, hard, slope = np.split(found, [n, n + size])
    grid = np.linspace(-8.0, 8.0, 801)
    index = pd.Index(names)

    def predict(given, of):
        at, over = index.get_indexer(given.index), index.get_indexer(of)
        p = expit(np.exp(slope[at]) * (grid[:, None] - hard[at]))
        able = grid[np.argmin(((p - given.to_numpy()) ** 2).sum(axis=1) + (0.03 * grid) ** 2)]
        return expit(np.exp(slope[over]) * (able - hard[over]))

    return predict


def one_scale(rest):
    """Return a predictor: `stitch_benchmarks`."""
    scale = psy.stitch_benchmarks(rest, **NAMES, rng=1)

    def predict(given, of):
        found = scale.predict("new", given=given.to_dict(), level=LEVEL)
        return found.set_index("benchmark").loc[of, "value"].to_numpy()

    return predict


PREDICTORS = {"latest eight": latest, "similar models": nearest, "normal log odds": normal,
              "Epoch's model": epoch, "one scale": one_scale}  # fmt: skip


def squares(rest, held, rng, predictors):
    """Return squared errors of each predictor."""
    drawn = cases(rest, held, rng)
    found = {}
    for name, make in predictors.items():
        predict = make(rest)
        found[name] = np.concatenate(
            [(other.to_numpy() - predict(given, other.index)) ** 2 for given, other in drawn]
        )
    return found


def later(frame):
    """Return rows: number of scores and errors by date."""
    rows = []
    for cut in CUTS:
        end = str((pd.Timestamp(cut) + pd.Timedelta(days=SPAN)).date())
        rest = frame[frame["date"] < cut]
        held = frame[(frame["date"] >= cut) & (frame["date"] < end)]
        found = squares(rest, held, np.random.default_rng(1), PREDICTORS)
        errors = [f"{np.sqrt(one.mean()):.3f}" for one in found.values()]
        rows.append([cut, str(len(found["one scale"]) // TIMES), *errors])
        print(rows[-1], flush=True)
    return rows


def contemporary(frame):
    """Return a row: number of scores and error for models of one period, held out at random."""
    # Variants of a model, such as reasoning efforts, are held out together.
    stem = frame["model"].map(lambda name: re.sub("_.*", "", name))
    late = np.array(sorted(set(stem[frame["date"] >= PERIOD])))
    rng = np.random.default_rng(1)
    fold = dict(zip(rng.permutation(late), np.arange(len(late)) % FOLDS, strict=True))
    number, parts = stem.map(fold), []
    for one in range(FOLDS):
        rest, held = frame[number != one], frame[number == one]
        parts.append(squares(rest, held, rng, {"one scale": one_scale})["one scale"])
    both = np.concatenate(parts)
    return [f"from {PERIOD} on", str(len(both) // TIMES), f"{np.sqrt(both.mean()):.3f}"]


def main():
    """Print the tables, or write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scores", help="Epoch's scores, a CSV file")
    parser.add_argument("--write", action="store_true", help=f"write {OUT.name}")
    options = parser.parse_args()
    frame = pd.read_csv(options.scores).astype({"model": object, "benchmark": object})
    text = "\n\n".join([
        "<!-- Made by validation/stitch_peers.py. -->",
        "## Later models from three scores, other predictors",
        "The numbers are errors (RMSE) for models of the 150 days after a date.",
        markdown(["after", "scores", *PREDICTORS], later(frame), 3),
        "Models of the same period, held out at random:",
        markdown(["models", "scores", "one scale"], [contemporary(frame)], 3),
    ]) + "\n"  # fmt: skip
    print(text)
    if options.write:
        OUT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
