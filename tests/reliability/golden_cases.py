"""Golden cases of reliability that several files compare, and scores that several make up."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from psychollm.reliability.components.generalizability import generalizability
from psychollm.reliability.means.repeated_scores import RepeatedScores
from psychollm.reliability.scales.consistency import consistency
from psychollm.reliability.scales.item_statistics import item_statistics

PSYCHOMETRICS = Path(__file__).resolve().parents[1] / "golden" / "psychometrics"
CATEGORICAL = {
    "omega_ordinal_scale_green_yang": "total",
    "alpha_ordinal_scale": "alpha",
    "omega_latent_response": "latent",
    "alpha_latent_response": "latent_alpha",
    "AVE": "average_variance",
}


def rows_of(path):
    return {row["id"]: row for row in json.loads(path.read_text())["rows"]}


def blocks_of(golden, case):
    return json.loads((golden / "metacognition" / f"{case}.expected.json").read_text())["blocks"]


def quick(scores, **options):
    return consistency(scores, bootstrap=0, **options)


def repeated(n_models=12, n_runs=3, seed=0, noise=0.3):
    """Scores of models in runs that repeat each other closely, and who made each row."""
    rng = np.random.default_rng(seed)
    models = rng.normal(size=(n_models, 1)) + rng.normal(size=(n_models, 5))
    scores = np.repeat(models, n_runs, axis=0)
    scores = scores + noise * rng.normal(size=scores.shape)
    return scores, [f"m{place // n_runs}" for place in range(len(scores))]


def check_block(frame, known, tolerance):
    """One block by R: alpha, its errors and its intervals, items."""
    found = quick(frame)
    by_se = quick(frame, interval="duhachek").alpha
    items = item_statistics(frame)
    single = {
        "n": found.alpha.n[0],
        "k": found.n_items,
        "raw_alpha": found.alpha.value[0],
        "std_alpha": found.standardised.value[0],
        "average_r": found.mean_correlation.value[0],
        "ase": by_se.se[0],
        "sem": found.sem.value[0],
    }
    for name, value in single.items():
        assert value == pytest.approx(known[name], abs=tolerance), name
    feldt = (known["feldt"]["lower"], known["feldt"]["upper"])
    assert tuple(found.alpha.interval[0]) == pytest.approx(feldt, abs=tolerance)
    assert found.alpha.se[0] == by_se.se[0]
    assert by_se.interval[0].tolist() == pytest.approx(known["duhachek_ci"], abs=tolerance)
    assert items.alpha_without.value == pytest.approx(known["alpha_drop"], abs=tolerance)
    assert items.item_rest.value == pytest.approx(known["item_rest_r"], abs=tolerance)
    assert items.mean == pytest.approx(known["item_means"], abs=tolerance)
    return found, items


def categorical_answers(name):
    if name == "bin12":
        return np.loadtxt(PSYCHOMETRICS / "synth_bin12.csv", delimiter=",", skiprows=1)
    patterns = np.loadtxt(PSYCHOMETRICS / "lsat7_patterns.csv", delimiter=",", skiprows=1)
    return np.repeat(patterns[:, :5], patterns[:, 5].astype(int), axis=0)


def categorical_row(name, folder=PSYCHOMETRICS):
    rows = json.loads((folder / "omega_categorical.json").read_text())["rows"]
    return next(row for row in rows if row["id"] == name)


def check_categorical(found, row, tolerance):
    for key, name in CATEGORICAL.items():
        assert getattr(found, name).value[0] == pytest.approx(row[key], abs=tolerance), key


def runs_case(golden, case):
    folder = golden / "metacognition"
    frame = pd.read_csv(folder / f"{case}.csv")
    scores = RepeatedScores.from_long(frame, model="person", question="item")
    return scores, json.loads((folder / f"{case}.expected.json").read_text())["blocks"][0]


def study_of(scores, **options):
    return generalizability(scores, bootstrap=options.pop("bootstrap", 20), rng=0, **options)


def gses(golden, case):
    folder = golden / "metacognition"
    frame = pd.read_csv(folder / f"{case}.csv")
    frame["total"] = frame.filter(regex="^i").sum(axis=1)
    blocks = json.loads((folder / f"{case}.expected.json").read_text())["blocks"]
    return frame, blocks[0]["values"][".global"], blocks[1]["values"][".global"]


def clusters_case(golden, case):
    folder = golden / "metacognition"
    frame = pd.read_csv(folder / f"{case}.csv")
    wide = frame.pivot_table(index="model", columns=["cluster", "item"], values="score")
    blocks = json.loads((folder / f"{case}.expected.json").read_text())["blocks"]
    clusters = wide.columns.get_level_values("cluster").to_numpy()
    return wide.to_numpy(), clusters, list(wide.index), blocks
