"""`factor_analysis`: polished optima, printed fit, rotations, twins, invariances, bad input."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import psychollm as psy
from benchmarks.extraction_minima import simulated_correlation
from psychollm._base.errors import (
    InputError,
    LabelError,
    OptionError,
    PsychollmWarning,
    ShapeError,
)
from psychollm.correlation.polychoric import polychoric
from psychollm.factor.exploratory.criteria import (
    CRITERIA,
    bifactor,
    crawford_ferguson,
    geomin,
    target,
)
from psychollm.factor.exploratory.factor_analysis import factor_analysis
from psychollm.factor.exploratory.loading_errors import loading_errors
from psychollm.factor.exploratory.minimum_rank import follow_barrier
from psychollm.factor.exploratory.procrustes import procrustes
from psychollm.factor.exploratory.rotate import rotate
from psychollm.factor.exploratory.weighted import weigh_each, weighted_factors
from psychollm.factor.newton import descend
from psychollm.factor.number_of_factors.rules import sampling_adequacy
from psychollm.factor.robust_test import quadratic_test
from tests.effort import examples
from tests.oracles import factor_analysis_slow as slow
from tests.oracles import factor_slow

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "psychometrics"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "golden" / "psychometrics"
ROTATIONS = [
    "oblimin",
    "quartimin",
    "geomin",
    "promax",
    "varimax",
    "quartimax",
    "equamax",
    "parsimax",
    "bifactor",
    "none",
]


def cases(folder, inputs):
    if not (folder / "fa.json").is_file():
        return []
    matrices = {row["id"]: row for row in json.loads(inputs.read_text())["rows"]}
    rows = json.loads((folder / "fa.json").read_text())["rows"]
    # The polished optimum of this row is a local one: `test_extract` compares it from one start.
    local = ("bin12_tet", 3, ("ml", "truth_ml"))
    rows = [r for r in rows if (r["R"], r["nfactors"]) != local[:2] or r["fm"] not in local[2]]
    return [(row["id"], row, matrices[row["R"]]) for row in rows]


SHIPPED = cases(GOLDEN, GOLDEN / "fa_inputs.json")
NAMES = {name for name, _, _ in SHIPPED}
ALL = SHIPPED + [c for c in cases(SHARED, SHARED / "data" / "fa_inputs.json") if c[0] not in NAMES]


def where(test):
    return [pytest.param(row, given, id=name) for name, row, given in ALL if test(row)]


@pytest.mark.parametrize(
    ("row", "given"), where(lambda row: row["fm"].startswith("truth") and not row["heywood"])
)
def test_polished_optima(row, given):
    method = {"truth_uls": "minres", "truth_ml": "ml"}[row["fm"]]
    found = factor_analysis(given["R"], row["nfactors"], method=method, rotation="none")
    expected = np.array(row["loadings"])
    loadings = factor_slow.aligned(found.loadings, expected)[0]
    np.testing.assert_allclose(loadings, expected, rtol=0, atol=1e-10)
    assert found.objective == pytest.approx(row["objective"], abs=1e-12)
    assert found.gradient <= 1e-10
    assert found.heywood_cases == ()


@pytest.mark.parametrize(
    ("row", "given"), where(lambda row: row["fm"] in ("minres", "ml") and row["RMSEA"])
)
def test_printed_fit(row, given):
    found = factor_analysis(
        given["R"], row["nfactors"], method=row["fm"], rotation="none", n=given["n"]
    )
    fit = found.fit
    loose = "harman8_f3" in row["id"]  # psych stops at a uniqueness of .005 by another path
    assert fit.chi_square == pytest.approx(row["STATISTIC"], rel=3e-3 if loose else 1e-5)
    assert fit.p_value == pytest.approx(row["PVAL"], rel=1e-2, abs=1e-6)
    assert fit.srmr == pytest.approx(row["rms"], abs=1e-5)
    assert fit.tli == pytest.approx(row["TLI"], abs=1e-5)
    # psych takes T / (d n) - 1 / (n - 1) under the root, and Steiger n in both places.
    mixed = max(fit.chi_square / (fit.df * fit.n) - 1 / (fit.n - 1), 0.0) ** 0.5
    assert mixed == pytest.approx(row["RMSEA"][0], abs=1e-5)
    assert fit.rmsea == pytest.approx(row["RMSEA"][0], abs=2e-4)
    np.testing.assert_allclose(fit.rmsea_interval, row["RMSEA"][1:3], atol=8e-4)
    assert fit.bic == pytest.approx(row["BIC"], rel=1e-4, abs=0.02)
    assert fit.sabic == pytest.approx(row["SABIC"], rel=1e-4, abs=0.02)
    assert fit.df == found.degrees_of_freedom == row["dof"]
    assert fit.baseline_chi_square == pytest.approx(row["null.chisq"])
    assert fit.baseline_df == row["null.dof"]


@pytest.mark.parametrize(
    ("row", "given"),
    where(lambda row: row["fm"] in ("minres", "ml") and row["rotate"] == "oblimin"),
)
def test_printed_oblimin(row, given):
    found = factor_analysis(given["R"], row["nfactors"], method=row["fm"])
    expected = np.array(row["loadings"])
    loadings, order, signs = factor_slow.aligned(found.loadings, expected)
    np.testing.assert_allclose(loadings, expected, atol=1e-3)
    turned = found.permuted(list(order), list(signs))
    np.testing.assert_allclose(turned.factor_correlation, row["Phi"], atol=1e-3)
    np.testing.assert_allclose(turned.structure, row["Structure"], atol=1e-3)
    np.testing.assert_allclose(turned.communalities, row["communality"], atol=1e-3)
    np.testing.assert_allclose(turned.complexity, row["complexity"], atol=2e-2)
    np.testing.assert_allclose(turned.variance_explained, row["Vaccounted"][0], atol=2e-3)


def random_correlation(k, m, seed, n=200):
    rng = np.random.default_rng(seed)
    L = rng.uniform(-0.2, 0.9, (k, m)) / np.sqrt(m)
    data = rng.normal(size=(n, m)) @ L.T + rng.normal(size=(n, k)) * 0.6
    return np.corrcoef(data, rowvar=False)


def asymptotic_covariance(R, n=200):
    """A positive definite covariance of the correlations, as large as theirs."""
    p = len(R) * (len(R) - 1) // 2
    A = np.random.default_rng(0).normal(size=(p, 5 * p))
    return A @ A.T / (5 * p) / n


@examples(15)
@given(seed=st.integers(0, 10_000), rotation=st.sampled_from(ROTATIONS))
def test_rotation_and_order_leave_what_is_reproduced(seed, rotation):
    R = random_correlation(9, 2, seed)
    plain = factor_analysis(R, 2, rotation="none")
    found = factor_analysis(R, 2, rotation=rotation, n_starts=4)
    common = plain.loadings @ plain.loadings.T
    np.testing.assert_allclose(
        found.loadings @ found.factor_correlation @ found.loadings.T, common, atol=1e-10
    )
    order = np.random.default_rng(seed).permutation(9)
    other = factor_analysis(R[np.ix_(order, order)], 2, rotation=rotation, n_starts=4)
    np.testing.assert_allclose(
        other.loadings @ other.factor_correlation @ other.loadings.T,
        common[np.ix_(order, order)],
        atol=1e-6,
    )
    turned = found.permuted([1, 0], [1, -1])
    np.testing.assert_allclose(turned.model_matrix, found.model_matrix, atol=1e-12)
    np.testing.assert_allclose(turned.residuals, found.residuals, atol=1e-12)
    assert turned.factors == ("factor_2", "factor_1")


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_weighted_twins(seed, m):
    R = random_correlation(7, m, seed)
    rng = np.random.default_rng(seed)
    W = rng.uniform(0.2, 2.0, (7, 7))
    W = W + W.T
    found = factor_analysis(R, m, method="dwls", weights=W, rotation="none")
    L = np.array(found.loadings)
    assert found.gradient <= 1e-10
    assert found.objective == pytest.approx(slow.weighted(R, W, L), abs=1e-13)
    assert slow.search(lambda x: slow.weighted(R, W, x), L + 0.02) >= found.objective - 1e-12
    C = asymptotic_covariance(R)
    joint = factor_analysis(R, m, method="wls", covariance=C, n=200, rotation="none")
    inverse = np.linalg.inv(200 * C)
    L = np.array(joint.loadings)
    assert joint.gradient <= 1e-10
    assert joint.objective == pytest.approx(slow.jointly_weighted(R, inverse, L), abs=1e-12)
    if not joint.heywood_cases:  # the search knows no bound
        least = slow.search(lambda x: slow.jointly_weighted(R, inverse, x), L + 0.02)
        assert least >= joint.objective - 1e-12
    assert joint.fit.chi_square == pytest.approx(2 * 199 * joint.objective)
    assert joint.fit.test == "weighted least squares"


def test_equal_weights_are_minres():
    R = random_correlation(8, 2, 3)
    plain = factor_analysis(R, 2)
    equal = factor_analysis(R, 2, method="dwls", weights=np.ones((8, 8)))
    np.testing.assert_allclose(equal.loadings, plain.loadings, atol=1e-9)


def test_a_weighted_heywood_case_stops_at_its_bound():
    R = np.array(next(given["R"] for _, _, given in SHIPPED if len(given["R"]) == 8))
    found = factor_analysis(R, 3, method="dwls", weights=np.ones((8, 8)))
    bounded = factor_analysis(R, 3)
    assert found.heywood_cases == bounded.heywood_cases != ()
    assert found.uniquenesses.min() == pytest.approx(0.005, abs=1e-9)
    # Minres fits the diagonal too, where a bound keeps it from being exact.
    np.testing.assert_allclose(found.model_matrix, bounded.model_matrix, atol=1e-4)
    assert "Heywood case" in found.summary()


@pytest.mark.parametrize("m", [1, 2])
def test_minimum_rank_leaves_the_least(m):
    R = random_correlation(8, m, 1)
    found = factor_analysis(R, m, method="minimum_rank")
    psi = np.array(found.uniquenesses)
    least, smallest = slow.last_eigenvalues(R, psi, 8)
    rng = np.random.default_rng(0)
    for _ in range(300):
        near = np.abs(psi + rng.normal(0, 0.02, 8))
        total, lowest = slow.last_eigenvalues(R, near, m)
        assert lowest < 0 or total >= found.objective - 1e-8
    L = np.array(found.loadings)
    assert np.linalg.eigvalsh(R - np.diag(1 - np.sum(L**2, 1)))[0] > -1.0
    assert found.convergence.converged
    assert smallest <= least + 1e-9


@pytest.mark.parametrize(
    ("criterion", "twin"),
    [
        (crawford_ferguson(0.3), lambda L: slow.crawford_ferguson(L, 0.3)),
        (CRITERIA["equamax"], lambda L: slow.crawford_ferguson(L, 3 / 12)),
        (CRITERIA["parsimax"], lambda L: slow.crawford_ferguson(L, 2 / 7)),
        (geomin(0.02), lambda L: slow.geomin(L, 0.02)),
        (bifactor(), lambda L: factor_slow.quartimin(L[:, 1:])),
        (
            target(np.where(np.arange(18).reshape(6, 3) % 4 == 0, 0.0, np.nan)),
            lambda L: slow.target(L, np.where(np.arange(18).reshape(6, 3) % 4 == 0, 0.0, np.nan)),
        ),
    ],
    ids=["crawford_ferguson", "equamax", "parsimax", "geomin", "bifactor", "target"],
)
def test_criteria(criterion, twin):
    L = np.random.default_rng(2).uniform(-0.9, 0.9, (6, 3))
    values, gradients = criterion.evaluate(L[None])
    assert values[0] == pytest.approx(twin(L), rel=1e-12)
    for i in range(6):
        for j in range(3):
            move = np.zeros((6, 3))
            move[i, j] = 1e-5
            slope = (twin(L + move) - twin(L - move)) / 2e-5
            assert gradients[0, i, j] == pytest.approx(slope, abs=1e-8)


def test_a_bifactor_structure_is_found():
    rng = np.random.default_rng(0)
    general = rng.uniform(0.4, 0.8, (12, 1))
    groups = np.kron(np.eye(3), np.ones((4, 1))) * rng.uniform(0.3, 0.5, (12, 1))
    truth = np.hstack([general, groups])
    R = truth @ truth.T
    np.fill_diagonal(R, 1.0)
    found = factor_analysis(R, 4, rotation="bifactor", n_starts=30)
    np.testing.assert_allclose(found.loadings[:, :1], general, atol=1e-5)
    np.testing.assert_allclose(factor_slow.aligned(found.loadings, truth)[0], truth, atol=1e-5)


def test_a_target_keeps_order_and_signs():
    simple = np.kron(np.eye(2), np.array([[0.8], [0.7], [0.6], [0.5]]))
    wanted = np.where(simple > 0, np.nan, 0.0)
    wanted[0, 0], wanted[4, 1] = -0.8, 0.8
    found = rotate(simple @ np.array([[0.6, 0.8], [-0.8, 0.6]]), method=target(wanted))
    np.testing.assert_allclose(found.loadings, simple * [-1, 1], atol=1e-7)


def test_procrustes():
    rng = np.random.default_rng(3)
    A, H = rng.normal(size=(6, 2)), rng.normal(size=(6, 2))
    found = procrustes(A, H)
    assert found.criterion == pytest.approx(slow.best_orthogonal(A, H), rel=1e-5)
    np.testing.assert_allclose(found.factor_correlation, np.eye(2), atol=1e-12)
    oblique = procrustes(A, H, oblique=True)
    assert oblique.criterion <= found.criterion
    np.testing.assert_allclose(np.diagonal(oblique.factor_correlation), 1.0)
    frame = factor_analysis(random_correlation(6, 2, 0), 2)
    again = procrustes(frame, frame)
    np.testing.assert_allclose(again.loadings, frame.loadings, atol=1e-9)
    with pytest.raises(ShapeError, match=r"\(5, 2\)"):
        procrustes(A, H[:5])
    named = factor_analysis(
        pd.DataFrame(random_correlation(6, 2, 0), list("abcdef"), list("abcdef")), 1
    )
    with pytest.raises(LabelError, match="rows that loadings have not"):
        procrustes(named, factor_analysis(random_correlation(6, 1, 0), 1))


def test_robust_traces():
    rng = np.random.default_rng(5)
    D, A = rng.normal(size=(8, 3)), rng.normal(size=(8, 20))
    W, G = np.diag(rng.uniform(0.5, 2, 8)), A @ A.T / 20
    found = quadratic_test(rng.normal(size=8), D, np.diagonal(W).copy(), G, 100)
    first, second = slow.robust_traces(D, W, G)
    assert found.trace == pytest.approx(first)
    assert found.trace_squared == pytest.approx(second)
    assert found.df == 5
    full = quadratic_test(rng.normal(size=8), D, np.linalg.inv(G), G, 100)
    assert full.trace == pytest.approx(5)
    assert full.trace_squared == pytest.approx(5)


def test_descend_leaves_a_saddle_and_flat_directions():
    found = descend(
        lambda x: (0.25 * x[0] ** 4 - 0.5 * x[0] ** 2, np.array([x[0] ** 3 - x[0], 0])),
        np.array([0.01, 3.0]),
    )
    np.testing.assert_allclose(found.x, [1.0, 3.0], atol=1e-10)
    assert found.converged


def test_an_indefinite_matrix_is_shrunk_for_likelihood():
    R = np.full((5, 5), 0.9)
    R[0, 1] = R[1, 0] = -0.5
    np.fill_diagonal(R, 1.0)
    for method in ("ml", "minimum_rank"):
        with pytest.warns(PsychollmWarning, match=r"not positive definite .* were shrunk by"):
            found = factor_analysis(R, 1, method=method, n=100)
        assert found.shrinkage > 0
        assert np.linalg.eigvalsh(found._matrix)[0] == pytest.approx(0.01)
        assert "not positive definite" in found.summary()
    plain = factor_analysis(R, 1, n=100)
    assert plain.shrinkage == 0
    assert np.isnan(plain.fit.chi_square)
    assert plain.fit.srmr > 0


def test_takes_correlations_with_their_precision():
    answers = psy.load_example("shared_confidence").confidence
    correlation = psy.tetrachoric(answers)
    found = factor_analysis(correlation, 2, method="dwls")
    assert found.n == pytest.approx(float(np.asarray(correlation.n)[0, 1]), rel=0.2)
    assert found.labels == correlation.labels
    assert found.gradient <= 1e-10
    table = found.to_frame()
    assert list(table.columns) == [
        "model",
        "factor_1",
        "factor_2",
        "communality",
        "uniqueness",
        "complexity",
        "heywood",
    ]
    assert psy.congruence(found, found).order.tolist() == [0, 1]
    assert "2 factors of 19 variables" in repr(found)
    assert found.to_dict()["method"] == "dwls"
    assert "rmsea_lower" in found.fit.to_frame()["index"].tolist()


def test_a_large_covariance_of_correlations_scales_the_test():
    R = random_correlation(8, 1, 0)
    C = asymptotic_covariance(R)
    once = factor_analysis(R, 1, method="dwls", covariance=C, n=200).fit
    twice = factor_analysis(R, 1, method="dwls", covariance=2 * C, n=200).fit
    assert once.test == "scaled and shifted"
    assert twice.chi_square < once.chi_square
    assert factor_analysis(R, 1, covariance=C, n=200).fit.test == "scaled and shifted"


@pytest.mark.parametrize(
    ("matrix", "m", "options", "error", "message"),
    [
        (np.eye(5), 3, {}, ShapeError, "5 rows can identify: ask for at most 2"),
        (np.eye(3), 4, {}, ShapeError, "3 rows can identify: ask for at most 1"),
        (np.eye(4), 0, {}, OptionError, "n_factors=0"),
        (np.eye(4), 1, {"method": "alpha"}, OptionError, "method='alpha'"),
        (np.eye(4), 1, {"rotation": "magic"}, OptionError, "method='magic'|rotation='magic'"),
        (np.eye(4), 1, {"n": 1}, OptionError, "n=1"),
        (np.eye(4), 1, {"weights": np.ones((4, 4))}, OptionError, "weights belong to"),
        (np.eye(4), 1, {"method": "dwls"}, OptionError, "needs precisions"),
        (np.eye(4), 1, {"method": "wls"}, OptionError, "needs the covariance"),
        (
            np.eye(4),
            1,
            {"method": "dwls", "weights": -np.ones((4, 4))},
            InputError,
            "not negative",
        ),
        (np.eye(4), 1, {"covariance": np.eye(6)}, OptionError, "pass n"),
        (np.eye(4), 1, {"covariance": np.zeros((6, 6)), "n": 9}, InputError, "positive diagonal"),
        (
            np.eye(4),
            1,
            {"method": "wls", "covariance": np.ones((6, 6)), "n": 9},
            InputError,
            "singular: there are fewer observations",
        ),
    ],
)
def test_bad_input(matrix, m, options, error, message):
    with pytest.raises(error, match=message):
        factor_analysis(matrix, m, **options)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: geomin(0.0), OptionError, "epsilon=0.0"),
        (lambda: crawford_ferguson(2.0), OptionError, "kappa=2.0"),
        (lambda: target([1.0, 2.0]), ShapeError, r"\(2,\)"),
        (lambda: target([[np.nan]]), InputError, "at least one number"),
        (
            lambda: rotate(np.eye(4)[:, :2], method=target(np.ones((3, 2)))),
            ShapeError,
            r"target has shape \(3, 2\)",
        ),
    ],
)
def test_criteria_refuse(make, error, message):
    with pytest.raises(error, match=message):
        make()


def minimum_rank_of(seed):
    R, m = simulated_correlation(np.random.default_rng(seed), weak=True)
    return R, factor_analysis(R, m, method="minimum_rank", rotation="none")


@pytest.mark.parametrize("seed", range(4))
def test_minimum_rank_gives_its_own_uniquenesses(seed):
    R, found = minimum_rank_of(seed)
    m = len(found.factors)
    values = np.linalg.eigvalsh(R - np.diag(found.uniquenesses))[::-1]
    assert values[-1] > -1e-9
    assert (found.uniquenesses > 0).all()
    np.testing.assert_allclose(found.communalities, 1 - found.uniquenesses)
    share = values[:m].sum() / values.sum()
    assert found.explained_common_variance == pytest.approx(share, abs=1e-8)
    assert found.objective == pytest.approx(values[m:].sum(), abs=1e-8)
    assert share < 0.999
    assert f"That is {share:.1%} of the common variance" in found.summary()


def test_others_explain_all_common_variance():
    R, m = simulated_correlation(np.random.default_rng(0), weak=False)
    for method in ("minres", "ml", "principal_axis"):
        assert factor_analysis(R, m, method=method).explained_common_variance == pytest.approx(1)


def test_minima_of_extraction_are_said():
    R = np.array(json.loads((GOLDEN / "harman_political.json").read_text())["R"])
    found = factor_analysis(R, 2, method="ml", n=147)
    assert found.extraction_minima == 2
    assert "The extraction has 2 local minima; the lowest is shown." in found.summary()
    assert "local minima" not in factor_analysis(R, 2, n=147).summary()


@pytest.mark.parametrize(
    ("method", "numbers"), [("dwls", range(6)), ("minimum_rank", (1, 27, 28))]
)
def test_no_single_start_ends_lower(method, numbers):
    # From one start, 1 in 10 of such weighted fits and 1 in 20 of the others end higher.
    several = 0
    for number in numbers:
        rng = np.random.default_rng(number)
        R, m = simulated_correlation(rng, weak=True)
        if method == "dwls":
            weights = np.tril(np.exp(rng.normal(size=R.shape)), -1)
            weights += weights.T
            found = factor_analysis(R, m, method="dwls", weights=weights, rotation="none")
            reached = [
                weighted_factors(R, weigh_each(weights), start[None], 0.005).objective
                for start in rng.uniform(-0.7, 0.7, (10, len(R), m))
            ]
        else:
            found = factor_analysis(R, m, method=method, rotation="none")
            shapes = rng.uniform(0.0, 1.0, (10, len(R)))
            scaled = R / np.sqrt(shapes[:, :, None] * shapes[:, None, :])
            starts = 0.9 * np.linalg.eigvalsh(scaled)[:, :1] * shapes
            reached = [follow_barrier(R, start, m).unexplained for start in starts]
        several += found.extraction_minima > 1
        assert found.objective <= min(reached) + 1e-7
    assert several


def test_ordered_answers_have_no_normal_theory_test():
    answers = psy.load_example("shared_confidence").confidence
    poly = polychoric(answers)
    for correlation in (psy.tetrachoric(answers), poly, psy.smooth(poly)):
        found = factor_analysis(correlation, 2, n=500)
        numbers = found.fit.to_frame().set_index("index")["value"]
        tested = ["chi_square", "p_value", "baseline_chi_square", "rmsea", "rmsea_lower"]
        tested += ["close_fit_p_value", "cfi", "tli", "bic", "sabic"]
        assert numbers[tested].isna().all()
        assert found.fit.srmr > 0
        assert "chi-square(" not in found.summary()
        assert "no chi-square: normal theory does not hold, pass covariance" in found.summary()
        assert np.isnan(sampling_adequacy(correlation, n=500).chi_square)
        with pytest.raises(OptionError, match=r"too small .* ordered answers: pass covariance"):
            loading_errors(found)
    robust = factor_analysis(poly, 2, covariance=poly.covariance())
    assert "chi-square(134)" in robust.summary()
    assert "scaled and shifted" in robust.summary()
    # Of a bare matrix nothing is known but what the caller says.
    R = simulated_correlation(np.random.default_rng(0), weak=False)[0]
    assert "chi-square(" in factor_analysis(R, 1, n=500).summary()
    assert "observations: pass n" in factor_analysis(R, 1).summary()
