"""Results of models of groups: score tests of equalities."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from psychollm.correlation.by_group import polychoric_by_group
from psychollm.factor.invariance.fit import confirmatory_groups, fit_sample
from psychollm.factor.invariance.ladder import fit_difference, measurement_invariance
from psychollm.factor.invariance.sample import sample_of
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


@pytest.fixture(scope="module")
def fits():
    samples = {name: as_lavaan(name) for name in MODELS}
    found = {}
    for key, row in LAVAAN["fits"].items():
        name = key.split("_")[0]
        sample, pattern = samples[name]
        free = (row["free"],) if row["free"] else ()
        kinds = (row["level"], free, "scaled_shifted")
        found[key] = fit_sample(sample, pattern, tuple(MODELS[name]), *kinds)
    return found


@pytest.mark.parametrize("key", list(LAVAAN["scores"]))
def test_golden_score_tests(fits, key):
    frame = fits[key].score_tests(of="parameters").to_frame()
    groups = fits[key].groups
    for row in LAVAAN["scores"][key]:
        loading = row["op"] == "=~"
        item = row["rhs"] if loading else row["lhs"]
        detail = row["lhs"] if loading else int(row["rhs"][1:])
        kind = "loading" if loading else "threshold"
        which = (frame["item"] == item) & (frame["detail"] == detail) & (frame["kind"] == kind)
        one = frame[which & (frame["group"] == groups[row["group"] - 1])]
        # lavaan counts n, not n - 1, of each group here
        assert one["index"].item() == pytest.approx(row["X2"], rel=5e-3, abs=2e-3)


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


def test_the_broken_item_is_found_and_freed():
    data, group = simulated(800, 2, shift=0.4)
    ladder = measurement_invariance(polychoric_by_group(data, group), MODEL)
    assert ladder.levels == ("configural", "metric", "scalar", "strict")
    assert ladder.holds == "metric"
    tests = ladder.fits[2].score_tests()
    assert tests.item[0] == "x"
    assert tests.adjusted[0] < 1e-3 < tests.adjusted[1]
    single = ladder.fits[2].score_tests(of="parameters", adjustment="bh")
    assert (single.kind[0], single.item[0], single.group[0]) == ("intercept", "x", "b")
    assert single.change[0] == pytest.approx(-0.4, abs=0.12)
    partial = measurement_invariance(polychoric_by_group(data, group), MODEL, free=["x"])
    assert partial.holds == "strict"
    assert partial.fits[-1].free == ("x",)
    assert partial.fits[-1].factor_means[1, 0] == pytest.approx(0.3, abs=0.15)
    frame = partial.to_frame()
    assert list(frame["invariance"]) == list(ladder.levels)
    assert "No step is rejected" in partial.summary()
    assert "The scalar model is rejected" in repr(ladder)
    whole = partial.fits[-1].to_frame()
    assert set(whole["status"]) == {"fixed", "shared", "own"}
    assert "Factor means of 'b'" in repr(partial.fits[-1])
    assert len(partial.differences[0].to_frame()) == 1


def test_score_test_foretells_the_difference():
    data, group = simulated(2000, 3, shift=0.15)
    equal = confirmatory_groups(polychoric_by_group(data, group), MODEL, invariance="scalar")
    freed = confirmatory_groups(
        polychoric_by_group(data, group), MODEL, invariance="scalar", free=["x"]
    )
    tests = equal.score_tests()
    difference = fit_difference(freed, equal)
    assert tests.item[0] == "x"
    assert tests.df[0] == difference.df
    assert tests.statistic[0] == pytest.approx(difference.chi_square, rel=0.25)
    assert "item x: chi-square" in repr(tests)
