"""`parallel_analysis`: what psych prints, the same numbers for any number of jobs."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from psychollm.factor.number_of_factors.parallel import parallel_analysis, spectra

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "psychometrics"


@pytest.mark.parametrize("row_id", ["bin12", "llm200"])
@pytest.mark.parametrize(
    ("scheme", "key"),
    [
        ("within_question", "column_permutation_tet_pc"),
        ("within_model", "row_permutation_tet_pc"),
    ],
)
def test_golden_parallel(row_id, scheme, key):
    # Our 100 draws against 200: with 10 or 12 eigenvalues and 4.5 standard errors a false alarm
    # in fewer than 1 of 10,000 runs.
    found = json.loads((GOLDEN / "parallel.json").read_text())["rows"]
    row = next((row for row in found if row["id"] == row_id), None)
    if row is None:
        pytest.skip("not among the open rows")
    name = {"bin12": "synth_bin12", "llm200": "synth_llm200x10"}[row_id]
    data = pd.read_csv(GOLDEN / f"{name}.csv").to_numpy()
    result = parallel_analysis(
        data, of="questions", scheme=scheme, n_null=100, rng=3, empty_cells="add_half"
    )
    np.testing.assert_allclose(result.observed, row["observed_pc"], atol=1e-3)
    spread = np.array(row[key]["sd"])
    error = spread * np.sqrt(1 / 100 + 1 / row[key]["nrep"])
    assert (np.abs(result.draws.mean(axis=0) - row[key]["mean"]) < 4.5 * error + 2e-3).all()
    expected = {
        "within_model": row["ncomp_by_row_perm"],
        "within_question": row["ncomp_by_col_perm"],
    }
    assert result.n_factors == expected[scheme]


def test_golden_reduced_eigenvalues():
    row = json.loads((GOLDEN / "parallel.json").read_text())["rows"][0]
    data = pd.read_csv(GOLDEN / "synth_bin12.csv").to_numpy()
    found = parallel_analysis(data, of="questions", eigenvalues="factors", n_null=5, rng=0)
    np.testing.assert_allclose(found.observed, row["observed_fa"], atol=1e-3)
    assert found.draws.shape == (5, 12)


def planted(m, n=1200, seed=0, cuts=(-0.4, 0.7)):
    rng = np.random.default_rng(seed)
    L = np.kron(np.eye(m), np.full((4, 1), 0.75))
    latent = L @ rng.normal(size=(m, n)) + np.sqrt(1 - 0.75**2) * rng.normal(size=(4 * m, n))
    return np.digitize(latent, cuts)


def test_the_same_numbers_for_any_number_of_jobs():
    data = planted(1, 200)
    first = parallel_analysis(data, n_null=12, rng=5)
    second = parallel_analysis(data, n_null=12, rng=5, n_jobs=2)
    np.testing.assert_array_equal(first.draws, second.draws)
    assert first.n_factors == 1
    assert "1 eigenvalues exceed their 95 % quantile" in repr(first)
    assert first.to_frame()["p_value"].iloc[0] == pytest.approx(1 / 13)


def test_eigenvalues_fall():
    found = spectra(np.array([[[1.0, 0.5], [0.5, 1.0]]]), "components")
    np.testing.assert_allclose(found, [[1.5, 0.5]])
