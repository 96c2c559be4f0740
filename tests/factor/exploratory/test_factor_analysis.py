"""`factor_analysis`: polished optima, printed fit, rotations, twins, invariances, bad input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import psychollm as psy
from psychollm._base.errors import (
    InputError,
    OptionError,
    PsychollmWarning,
    ShapeError,
)
from psychollm.factor.exploratory.factor_analysis import factor_analysis
from psychollm.factor.exploratory.minimum_rank import follow_barrier
from psychollm.factor.exploratory.weighted import weigh_each, weighted_factors
from tests.effort import examples
from tests.factor.golden_cases import SHIPPED, where
from tests.oracles import factor_analysis_slow as slow
from tests.oracles import factor_slow
from validation.extraction_minima import simulated_correlation

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
    assert "2 factors explain" in repr(found)
    assert found.to_dict()["method"] == "dwls"
    assert "rmsea_lower" in found.fit.to_frame()["index"].tolist()


@pytest.mark.parametrize(
    ("matrix", "m", "options", "error", "message"),
    [
        (np.eye(5), 3, {}, ShapeError, "5 rows can identify: use at most 2"),
        (np.eye(3), 4, {}, ShapeError, "3 rows can identify: use at most 1"),
        (np.eye(4), 0, {}, OptionError, "n_factors=0"),
        (np.eye(4), 1, {"method": "alpha"}, OptionError, "method='alpha'"),
        (np.eye(4), 1, {"rotation": "magic"}, OptionError, "method='magic'|rotation='magic'"),
        (np.eye(4), 1, {"n": 1}, OptionError, "n=1"),
        (np.eye(4), 1, {"weights": np.ones((4, 4))}, OptionError, "weights are for"),
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
            "singular, because there are fewer observations",
        ),
    ],
)
def test_bad_input(matrix, m, options, error, message):
    with pytest.raises(error, match=message):
        factor_analysis(matrix, m, **options)


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
            reached = [follow_barrier(R, start, m).objective for start in starts]
        several += found.extraction_minima > 1
        assert found.objective <= min(reached) + 1e-7
    assert several


def test_advice_on_a_singular_matrix_can_be_followed():
    rng = np.random.default_rng(5)
    matrix = np.corrcoef(rng.normal(size=(6, 6))) + rng.normal(0, 0.4, (6, 6))
    matrix = np.clip((matrix + matrix.T) / 2, -1, 1)
    np.fill_diagonal(matrix, 1)
    with pytest.warns(PsychollmWarning, match=r"smooth\(matrix, method='minimum_trace'\)"):
        psy.factor_analysis(matrix, 1, method="ml")
    # Smoothed to the edge, it is singular: to smooth it again would change nothing.
    with pytest.warns(PsychollmWarning, match="singular after smoothing.*before it was"):
        psy.factor_analysis(psy.smooth(matrix), 1, method="ml")
    psy.factor_analysis(psy.smooth(matrix, method="minimum_trace"), 1, method="ml")
