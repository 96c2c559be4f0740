"""Rules that count factors: what other programs print, twins, indefinite matrices."""

import json
from pathlib import Path

import numpy as np
import pytest

from psychollm.factor.exploratory.extract import extract
from psychollm.factor.number_of_factors.rules import (
    empirical_kaiser,
    hull,
    minimum_average_partial,
    sampling_adequacy,
    very_simple_structure,
)
from tests.oracles import retention_slow as slow

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "psychometrics"
SHARED = Path(__file__).resolve().parents[4] / "shared" / "golden" / "psychometrics"
INPUTS = GOLDEN / "fa_inputs.json"


def rows(folder, inputs):
    if not (folder / "vss_map_kmo.json").is_file():
        return {}
    matrices = {row["id"]: row for row in json.loads(inputs.read_text())["rows"]}
    found = json.loads((folder / "vss_map_kmo.json").read_text())["rows"]
    return {row["id"]: (row, matrices[row["id"]]) for row in found}


ROWS = rows(SHARED, SHARED / "data" / "fa_inputs.json") | rows(GOLDEN, INPUTS)
CASES = [pytest.param(row, given, id=name) for name, (row, given) in ROWS.items()]


@pytest.mark.parametrize(("row", "given"), CASES)
def test_golden_rules(row, given):
    R = np.array(given["R"])
    partial = minimum_average_partial(R, len(row["map"]))
    np.testing.assert_allclose(partial[1:], row["map"], atol=1e-10)
    possible = [d for d in row["dof"] if d >= 0]
    simple = very_simple_structure(R, len(possible))
    same = np.array([one_start_is_enough(R, m) for m in range(1, len(possible) + 1)])
    # psych's varimax stops early, which moves these by up to 1e-3.
    expected = np.array([row["vss1"], row["vss2"]])[:, : len(possible)]
    np.testing.assert_allclose(simple[same, 0], expected[0, same], atol=1e-3)
    same[0] = False
    np.testing.assert_allclose(simple[same, 1], expected[1, same], atol=1e-3)
    adequacy = sampling_adequacy(R, n=given["n"])
    assert adequacy.kmo == pytest.approx(row["KMO"], abs=1e-10)
    np.testing.assert_allclose(adequacy.of_each, row["MSAi"], atol=1e-10)
    np.testing.assert_allclose(adequacy.squared_multiple, row["smc"], atol=1e-10)
    assert adequacy.chi_square == pytest.approx(row["bartlett"]["chisq"], rel=1e-10)
    assert adequacy.df == row["bartlett"]["df"]
    assert adequacy.p_value == pytest.approx(row["bartlett"]["p"], rel=1e-6, abs=1e-300)


@pytest.mark.parametrize(("row", "given"), CASES)
def test_fit_by_number_of_factors(row, given):
    for m, chi in enumerate(row["chisq"], start=1):
        if row["dof"][m - 1] < 0 or (row["id"] == "harman8" and m > 2):
            continue
        if not one_start_is_enough(given["R"], m):
            continue
        fit = psy_fit(given, m)
        assert fit.chi_square == pytest.approx(chi, rel=2e-3)
        assert fit.bic == pytest.approx(row["BIC"][m - 1], abs=0.4)
        assert fit.rmsea == pytest.approx(row["RMSEA"][m - 1], abs=3e-4)
        assert fit.srmr == pytest.approx(row["SRMR"][m - 1], abs=2e-4)


def one_start_is_enough(R, m):
    """Psych starts once, and ends higher where the discrepancy has several minima."""
    return extract(R, n_factors=m).objective > extract(R, n_factors=m, n_starts=1).objective - 1e-9


def psy_fit(given, m):
    from psychollm.factor.exploratory.factor_analysis import factor_analysis

    return factor_analysis(given["R"], m, rotation="none", n=given["n"]).fit


def random_matrix(k, seed):
    return np.corrcoef(np.random.default_rng(seed).normal(size=(k, 40)))


@pytest.mark.parametrize("seed", range(3))
def test_twins(seed):
    R = random_matrix(7, seed)
    expected = [slow.average_partial(R, m) for m in range(5)]
    np.testing.assert_allclose(minimum_average_partial(R, 4), expected, rtol=1e-10)
    values = np.linalg.eigvalsh(R)[::-1]
    bars, count = slow.empirical_kaiser(values, 40)
    found, number = empirical_kaiser(R, 40)
    np.testing.assert_allclose(found, bars)
    assert number == count
    bent = hull(R, 3)
    points = slow.on_upper_hull(bent.parameters, bent.fit)
    assert set(np.flatnonzero(np.isfinite(bent.bend))) == set(points[1:-1])


def test_an_indefinite_matrix_has_a_hull_and_no_adequacy():
    # Blocks that correlate: a single factor of unrelated ones takes the second block alone, and
    # the hull, which does not rise from there, counts one.
    R = 0.6 * np.kron(np.eye(2), np.ones((4, 4))) + 0.3 + 0.1 * np.eye(8)
    R[0, 3] = R[3, 0] = -0.5
    assert np.linalg.eigvalsh(R)[0] < -0.1
    assert np.isnan(sampling_adequacy(R, n=100).kmo)
    bent = hull(R, 3)
    assert np.isfinite(bent.fit[:3]).all()
    assert bent.n_factors == 2
