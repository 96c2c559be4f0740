"""Ladders of invariance: differences, nesting, levels."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from psychollm._base.errors import InputError, OptionError
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


@pytest.mark.parametrize("row", LAVAAN["differences"], ids=lambda row: row["smaller"])
def test_golden_difference(fits, row):
    found = fit_difference(fits[row["larger"]], fits[row["smaller"]])
    assert found.chi_square == pytest.approx(row["chisq"], rel=1e-4)
    assert found.df == row["df"]
    assert found.p_value == pytest.approx(row["p"], rel=1e-3, abs=1e-9)


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


def test_yes_no_items_and_questions_as_items():
    data, group = simulated(500, 4, cuts=(0.1,))
    ladder = measurement_invariance(polychoric_by_group(data, group), MODEL)
    assert ladder.levels == ("configural", "scalar", "strict")
    assert [step.df for step in ladder.differences] == [3, 5]
    turned = measurement_invariance(
        polychoric_by_group(data.T, group, of="questions"), {"F": list("vwxyz")}
    )
    assert turned.fits[1].fit.chi_square == pytest.approx(ladder.fits[1].fit.chi_square)


def test_nesting_is_checked():
    data, group = simulated(300, 6)
    free, equal = (
        confirmatory_groups(polychoric_by_group(data, group), MODEL, invariance=kind)
        for kind in ("configural", "scalar")
    )
    with pytest.raises(InputError, match="fewer parameters"):
        fit_difference(equal, free)
    other = confirmatory_groups(
        polychoric_by_group(data, np.roll(group, 7)), MODEL, invariance="scalar"
    )
    with pytest.raises(InputError, match="different data"):
        fit_difference(free, other)
    same = fit_difference(equal, equal)
    assert same.df == 0
    assert np.isnan(same.p_value)


def test_bad_levels():
    data, group = simulated(100, 8)
    for levels in ((), ("scalar", "metric"), ("scalar", "scalar")):
        with pytest.raises(OptionError, match="in this order"):
            measurement_invariance(polychoric_by_group(data, group), MODEL, levels=levels)


def test_fits_of_one_group_are_no_models_of_groups():
    from psychollm.correlation.polychoric import polychoric
    from psychollm.factor.confirmatory import confirmatory_factors

    rng = np.random.default_rng(0)
    answers = polychoric(np.digitize(rng.normal(size=300) + rng.normal(size=(4, 300)), [0]))
    fit = confirmatory_factors(answers, {"f": range(4)})
    with pytest.raises(InputError, match="larger is a ConfirmatoryFactors.*confirmatory_groups"):
        fit_difference(fit, fit)
