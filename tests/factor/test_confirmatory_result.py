"""Results of confirmatory models: modification indices, residuals, tables, inadmissible ones."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from psychollm.correlation.polychoric import polychoric
from psychollm.factor.confirmatory import confirmatory_factors

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "psychometrics"
CHANGES = json.loads((GOLDEN / "lavaan_modification.json").read_text())["models"]
BIN12 = [f"B{i:02d}" for i in range(1, 13)]
HALVES = {"F": BIN12[:6], "G": BIN12[6:]}


@pytest.mark.parametrize(("name", "model"), [("one", {"F": BIN12}), ("two", HALVES)])
def test_golden_modification_indices(name, model):
    correlation = polychoric(pd.read_csv(GOLDEN / "synth_bin12.csv").T)
    found = confirmatory_factors(correlation, model)
    frame = found.modification_indices().to_frame()
    seen = 0
    for row in CHANGES[name]["mi"]:
        pair = (row["rhs"], row["lhs"])
        ends = [frozenset(ends) for ends in zip(frame["first"], frame["second"], strict=True)]
        mine = frame[np.array([end == frozenset(pair) for end in ends])]
        # lavaan counts n, not n - 1, here
        assert mine["index"].item() == pytest.approx(row["mi"], rel=3e-3, abs=1e-6)
        assert mine["change"].item() == pytest.approx(row["epc"], rel=3e-3, abs=1e-6)
        seen += 1
    assert seen == len(frame)
    np.testing.assert_allclose(found.residuals, CHANGES[name]["residual"], atol=1e-6)
    z = np.array(CHANGES[name]["z"], dtype=float)
    z *= np.sqrt(499 / 500)  # lavaan counts n here
    np.testing.assert_allclose(
        found.standardised_residuals, z, atol=5e-4
    )  # its optimiser stops early


def two_factors(n=1500, seed=0, cross=0.0):
    rng = np.random.default_rng(seed)
    factors = rng.multivariate_normal([0, 0], [[1, 0.4], [0.4, 1]], n).T
    L = np.kron(np.eye(2), np.full((4, 1), 0.7))
    L[0, 1] = cross
    rest = np.sqrt(1 - np.sum((L @ [[1, 0.4], [0.4, 1]]) * L, axis=1))
    latent = L @ factors + rest[:, None] * rng.normal(size=(8, n))
    return pd.DataFrame(np.digitize(latent, [-0.6, 0.4]), index=list("abcdefgh"))


MODEL = {"F": "abcd", "G": "efgh"}


def test_modification_indices_foretell_what_freeing_does():
    data = polychoric(two_factors(6000, cross=0.12))
    held = confirmatory_factors(data, MODEL)
    indices = held.modification_indices()
    assert (indices.kind[0], indices.first[0], indices.second[0]) == ("loading", "a", "G")
    freed = confirmatory_factors(data, {"F": "abcd", "G": "aefgh"})
    fall = held.standard_fit.chi_square - freed.standard_fit.chi_square
    assert indices.index[0] == pytest.approx(fall, rel=0.15)
    assert indices.change[0] == pytest.approx(freed.loadings[0, 1], rel=0.3)
    assert indices.scaled[0] == pytest.approx(indices.index[0] / held.scaling)
    assert indices.to_frame()["index"].is_monotonic_decreasing
    assert "'a' - 'G'" in repr(indices)
    assert len(indices.kind) == 8 + 28


def test_residuals_and_tables():
    found = confirmatory_factors(polychoric(two_factors(600, 4)), MODEL, correlated=False)
    assert found.factor_correlation[0, 1] == 0
    assert np.abs(found.standardised_residuals).max() > 3  # the factors do correlate
    np.testing.assert_allclose(found.residuals, found.residuals.T)
    frame = found.to_frame()
    assert len(frame) == 8
    correlated = confirmatory_factors(polychoric(two_factors(600, 4)), MODEL)
    assert correlated.to_frame()["kind"].tolist().count("correlation") == 1
    z = correlated.standardised_residuals[np.tril_indices(8, -1)]
    assert 0.5 < np.sqrt(np.mean(z**2)) < 1.6
    assert "2 factors ('F', 'G'), 8 variables" in repr(correlated)
    some = confirmatory_factors(polychoric(two_factors(600, 4)), {"F": "abcd"})
    assert some.labels == tuple("abcd")


def test_an_inadmissible_solution_is_named():
    R = np.array(
        [[1, 0.9, 0.9, 0.3], [0.9, 1, 0.5, 0.2], [0.9, 0.5, 1, 0.2], [0.3, 0.2, 0.2, 1.0]]
    )
    found = confirmatory_factors(R, {"F": range(4)}, covariance=np.eye(6) / 200, n=200)
    assert found.inadmissible == (0,)
    assert "Inadmissible" in found.summary()
