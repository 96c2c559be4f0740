"""Rules that count factors: printed values, twins, nulls with the margins, what is planted."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm._base.errors import CodeError, OptionError, ShapeError
from psychollm.factor.exploratory.extract import extract
from psychollm.factor.number_of_factors.ordered_design import ordered_design
from psychollm.factor.number_of_factors.parallel import parallel_analysis
from psychollm.factor.number_of_factors.retention import retention
from psychollm.factor.number_of_factors.rules import (
    empirical_kaiser,
    hull,
    minimum_average_partial,
    sampling_adequacy,
    very_simple_structure,
)
from psychollm.kernels.ordered_nulls import shuffle_answers
from psychollm.kernels.random import new_stream
from tests.oracles import retention_slow as slow

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "psychometrics"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "golden" / "psychometrics"
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
        data, of="questions", scheme=scheme, n=100, rng=3, empty_cells="add_half"
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
    found = parallel_analysis(data, of="questions", eigenvalues="factors", n=5, rng=0)
    np.testing.assert_allclose(found.observed, row["observed_fa"], atol=1e-3)
    assert found.draws.shape == (5, 12)


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


def planted(m, n=1200, seed=0, cuts=(-0.4, 0.7)):
    rng = np.random.default_rng(seed)
    L = np.kron(np.eye(m), np.full((4, 1), 0.75))
    latent = L @ rng.normal(size=(m, n)) + np.sqrt(1 - 0.75**2) * rng.normal(size=(4 * m, n))
    return np.digitize(latent, cuts)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_what_is_planted_is_counted(m):
    found = retention(planted(m), n=30, rng=0)
    weak = ("very simple structure 1", "parallel analysis, other margin")
    assert {count for rule, count in found.counts.items() if rule not in weak} == {m}
    assert found.comparison.shape[1] == 30
    assert "rules" in found.summary().lower()
    assert len(found.to_frame()) == len(found.counts)
    assert "comparison data" in repr(found)
    json.dumps(found.to_dict())


def test_the_same_numbers_for_any_number_of_jobs():
    data = planted(1, 200)
    first = parallel_analysis(data, n=12, rng=5)
    second = parallel_analysis(data, n=12, rng=5, n_jobs=2)
    np.testing.assert_array_equal(first.draws, second.draws)
    assert first.n_factors == 1
    assert "1 above their 95% bar" in repr(first)
    assert first.to_frame()["p_value"].iloc[0] == pytest.approx(1 / 13)


@pytest.mark.parametrize("by_row", [True, False])
def test_shuffling_keeps_margins_and_gaps(by_row):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, (5, 30)).astype(np.int8)
    codes[rng.random(codes.shape) < 0.2] = -1
    out = np.empty_like(codes)
    shuffle_answers(new_stream(np.array([1, 2], dtype=np.uint64)), codes, by_row, out)
    assert (out != codes).any()
    np.testing.assert_array_equal(out < 0, codes < 0)
    axis = 1 if by_row else 0
    np.testing.assert_array_equal(np.sort(out, axis=axis), np.sort(codes, axis=axis))


def test_drawn_tables_have_the_factors_and_the_margins():
    data = planted(1, 4000)
    design = ordered_design(data, of="models", empty_cells="none", missing="pairwise")
    matrix, cuts = design.observed()
    loadings = np.full((4, 1), 0.75)
    seeds = np.arange(40, dtype=np.uint64).reshape(20, 2)
    drawn = design.drawn(seeds, loadings, cuts)
    off = ~np.eye(4, dtype=bool)
    assert np.mean(drawn[:, off]) == pytest.approx(0.5625, abs=0.01)
    assert np.abs(matrix[off] - 0.5625).max() < 0.08
    assert design.n == pytest.approx(4000)


@pytest.mark.parametrize(
    ("function", "data", "options", "error", "message"),
    [
        (parallel_analysis, [[1, 1, 1], [0, 1, 1]], {}, CodeError, "models 0 gave one answer"),
        (parallel_analysis, [[1, 0, 1]], {}, ShapeError, "one model only"),
        (parallel_analysis, planted(1, 50), {"scheme": "magic"}, OptionError, "scheme='magic'"),
        (parallel_analysis, planted(1, 50), {"quantile": 1}, OptionError, "quantile=1"),
        (parallel_analysis, planted(1, 50), {"eigenvalues": "x"}, OptionError, "eigenvalues='x'"),
        (retention, planted(1, 50)[:3], {}, ShapeError, "at least four"),
        (retention, planted(1, 50), {"max_factors": 0}, OptionError, "max_factors=0"),
    ],
)
def test_bad_input(function, data, options, error, message):
    with pytest.raises(error, match=message):
        function(data, **options)


def test_takes_responses_with_gaps():
    codes = planted(1, 300).astype(float)
    codes[0, :40] = np.nan
    found = retention(psy.Responses.from_array(codes), n=10, rng=1)
    assert found.n == pytest.approx(1 / np.mean([1 / 260] * 3 + [1 / 300] * 3))


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
