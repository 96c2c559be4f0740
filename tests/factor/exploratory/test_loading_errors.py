"""`loading_errors`: against simulation, against the bootstrap, alignment, bad input."""

import numpy as np
import pytest

from psychollm._base.errors import OptionError, ShapeError
from psychollm.correlation.polychoric import polychoric
from psychollm.correlation.smoothing import smooth
from psychollm.factor.exploratory.criteria import geomin
from psychollm.factor.exploratory.factor_analysis import factor_analysis
from psychollm.factor.exploratory.loading_errors import align, loading_errors, normal_covariance
from psychollm.factor.number_of_factors.ordered_design import resampled_correlations

L = np.kron(np.eye(2), np.array([[0.8], [0.7], [0.6], [0.5]]))
PHI = np.array([[1, 0.4], [0.4, 1]])
R = L @ PHI @ L.T
np.fill_diagonal(R, 1.0)
N = 500


def samples(count, seed=0):
    rng = np.random.default_rng(seed)
    root = np.linalg.cholesky(R)
    return np.array([np.corrcoef(root @ rng.normal(size=(8, N))) for _ in range(count)])


@pytest.mark.parametrize("rotation", ["oblimin", "varimax", "geomin", "none"])
@pytest.mark.parametrize("method", ["minres", "ml"])
def test_simulation(rotation, method):
    # Standard deviations of 120 samples are within 6.5 % of the truth: four of them are 26 %.
    solution = factor_analysis(R, 2, method=method, rotation=rotation, n=N)
    found = loading_errors(solution)
    boot = loading_errors(solution, replicates=samples(120))
    np.testing.assert_allclose(boot.se, found.se, rtol=0.27)
    assert np.mean(boot.se / found.se) == pytest.approx(1, abs=0.08)
    if rotation in ("oblimin", "geomin"):
        assert boot.factor_correlation_se[0, 1] == pytest.approx(
            found.factor_correlation_se[0, 1], rel=0.27
        )
    assert boot.congruence.shape == (120, 2)
    assert boot.congruence.min() > 0.9


def test_bootstrap_aligns_what_comes_in_another_order():
    solution = factor_analysis(R, 2, n=N)
    stack = samples(30)
    plain = loading_errors(solution, replicates=stack)
    turned = loading_errors(solution.permuted([1, 0], [-1, 1]), replicates=stack)
    np.testing.assert_allclose(turned.se, plain.se[:, [1, 0]], atol=1e-6)
    np.testing.assert_allclose(plain.factor_correlation_se[0, 0], 0, atol=1e-12)
    moved, crossed, size = align(L[:, [1, 0]] * [-1, 1], PHI * [[1, -1], [-1, 1]], L)
    np.testing.assert_allclose(moved, L)
    np.testing.assert_allclose(crossed, PHI)
    np.testing.assert_allclose(size, 1)


def test_normal_covariance_of_one_pair():
    C = normal_covariance(R, N)
    pairs = np.stack(np.tril_indices(8, -1), axis=1)
    for p, (i, j) in enumerate(pairs):
        assert C[p, p] == pytest.approx((1 - R[i, j] ** 2) ** 2 / N)
    observed = np.cov([S[np.tril_indices(8, -1)] for S in samples(400)], rowvar=False)
    assert np.abs(observed - C).max() < 6 * C.max() / np.sqrt(400)


def test_polychoric_correlations_are_less_sure_than_normal_ones():
    rng = np.random.default_rng(1)
    latent = np.linalg.cholesky(R) @ rng.normal(size=(8, 1000))
    correlation = polychoric((latent > 0.3).astype(int))
    solution = factor_analysis(correlation, 2)
    wide = loading_errors(solution, covariance=correlation.covariance())
    plain = factor_analysis(correlation.matrix, 2, n=1000)
    assert np.mean(wide.se / loading_errors(plain).se) > 1.3
    assert list(wide.to_frame().columns) == ["model", "factor", "se", "lower", "upper"]
    assert "LoadingErrors (delta) of 8 x 2" in repr(wide)
    inside = (wide.interval[:, :, 0] < solution.loadings) & (
        solution.loadings < wide.interval[:, :, 1]
    )
    assert inside.all()


def test_resampled_units_give_the_errors_of_the_delta_method():
    rng = np.random.default_rng(2)
    answers = (np.linalg.cholesky(R) @ rng.normal(size=(8, 2000)) > 0.2).astype(int)
    correlation = polychoric(answers)
    solution = factor_analysis(correlation, 2)
    stack = resampled_correlations(answers, bootstrap=150, rng=1)
    delta = loading_errors(solution, covariance=correlation.covariance())
    boot = loading_errors(solution, replicates=stack)
    assert boot.se / delta.se == pytest.approx(np.ones((8, 2)), abs=0.25)
    spread = stack.std(axis=0)[np.tril_indices(8, -1)]
    assert spread == pytest.approx(correlation.se[np.tril_indices(8, -1)], rel=0.25)
    again = resampled_correlations(answers.T, of="questions", bootstrap=150, rng=1)
    np.testing.assert_allclose(again, stack, atol=1e-12)


def test_criteria_of_ones_own_can_be_repeated():
    solution = factor_analysis(R, 2, rotation=geomin(0.05), n=N)
    found = loading_errors(solution, criterion=geomin(0.05))
    assert np.isfinite(found.se).all()


def test_one_factor():
    S = np.full((5, 5), 0.49) + 0.51 * np.eye(5)
    for rotation in ("none", "oblimin"):
        found = loading_errors(factor_analysis(S, 1, rotation=rotation, n=N))
        np.testing.assert_allclose(found.se, found.se[0, 0], rtol=1e-6)


@pytest.mark.parametrize(
    ("options", "given", "error", "message"),
    [
        ({"rotation": "promax", "n": N}, {}, OptionError, "rotation='promax' cannot be repeated"),
        ({}, {}, OptionError, "number of observations is not known"),
        ({"n": N, "method": "minimum_rank"}, {}, OptionError, "method='minimum_rank'"),
        ({"n": N}, {"covariance": np.eye(3)}, ShapeError, r"\(28, 28\)"),
        ({"n": N}, {"level": 2}, OptionError, "level=2"),
    ],
)
def test_bad_input(options, given, error, message):
    solution = factor_analysis(R, 2, **options)
    with pytest.raises(error, match=message):
        loading_errors(solution, **given)


def opposite_thresholds(seed=0):
    rng = np.random.default_rng(seed)
    latent = 0.7 * rng.normal(size=1000) + np.sqrt(0.51) * rng.normal(size=(8, 1000))
    return (latent > np.tile([1.5, -1.5], 4)[:, None]).astype(int)


def test_bias_of_empty_cells_is_named():
    answers = opposite_thresholds()
    correlation = polychoric(answers)
    solution = factor_analysis(correlation, 1)
    assert solution.adjusted_pairs == np.sum(np.tril(correlation.status == 2, -1)) > 0
    found = loading_errors(solution, covariance=correlation.covariance())
    assert found.reason.startswith(f"biased: {solution.adjusted_pairs} of 28 correlations")
    assert "pairwise_likelihood and full_information" in repr(found)
    smoothed = factor_analysis(smooth(correlation), 1)
    assert smoothed.adjusted_pairs == solution.adjusted_pairs
    stack = resampled_correlations(answers, bootstrap=5, rng=1)
    assert loading_errors(solution, replicates=stack).reason == found.reason


def test_no_bias_is_named_without_empty_cells():
    assert loading_errors(factor_analysis(R, 2, n=N)).reason == ""
