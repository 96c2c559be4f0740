"""Tables in groups: those that lavaan fitted, what it printed, and simulated ones."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from psychollm.correlation.by_group import polychoric_by_group
from psychollm.factor.invariance.fit import sample_of
from tests.oracles import muthen_slow

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "psychometrics"
LAVAAN = json.loads((GOLDEN / "lavaan_groups.json").read_text())
MODELS = {
    "poly": {"F": ["x1", "x2", "x3", "x4"], "G": ["x5", "x6", "x7", "x8"]},
    "bin": {"F": [f"x{i}" for i in range(1, 8)]},
}
MODEL = {"F": "vwxyz"}


def table(name):
    frame = pd.read_csv(GOLDEN / f"synth_groups_{name}.csv", dtype=str)
    codes = np.array([[int(code) for code in answers] for answers in frame["answers"]]).T
    labels = [f"x{i}" for i in range(1, len(codes) + 1)]
    return pd.DataFrame(codes, index=labels), frame["group"].to_numpy()


def as_lavaan(name):
    """Return moments whose covariance is lavaan's: Hessians from products of scores."""
    data, groups = table(name)
    sample, pattern = sample_of(polychoric_by_group(data, groups), MODELS[name])
    k, t = len(data), sample.n_thresholds
    gamma = []
    for row, group, n in zip(sample.observed, sample.groups, sample.n, strict=True):
        R = np.eye(k)
        R[np.tril_indices(k, -1)] = row[t:]
        R = R + np.tril(R, -1).T
        codes = data.to_numpy()[:, groups == group]
        gamma.append(n * muthen_slow.covariance(codes, row[:t].reshape(k, -1), R))
    return replace(sample, gamma=np.stack(gamma)), pattern


def simulated(n=600, seed=0, shift=0.0, cuts=(-0.6, 0.5)):
    rng = np.random.default_rng(seed)
    group = np.repeat(["a", "b"], n)
    f = rng.normal(size=2 * n) * np.where(group == "a", 1.0, 0.8) + 0.3 * (group == "b")
    loads = np.array([0.8, 0.7, 0.6, 0.75, 0.65])[:, None]
    latent = loads * f + np.sqrt(1 - loads**2) * rng.normal(size=(5, 2 * n))
    latent[2] -= shift * (group == "b")
    steps = np.linspace(-0.5, 0.5, 5)
    codes = np.stack(
        [np.digitize(row, np.add(cuts, s)) for row, s in zip(latent, steps, strict=True)]
    )
    return pd.DataFrame(codes, index=list("vwxyz")), group
