import numpy as np
import pytest
from scipy.stats import norm

import psychollm as psy
from psychollm._base.errors import OptionError, ShapeError

# Simulated rates must lie within four standard errors: a false alarm in 16,000 checks; seeded.


def within(observed, expected, n, sigmas=4.0):
    se = np.sqrt(expected * (1 - expected) / n)
    np.testing.assert_array_less(np.abs(observed - expected), sigmas * se)


def test_yes_rates_follow_the_thresholds():
    tau = np.linspace(-2, 2, 9)
    made = psy.simulate_factor(loadings=[0.8] * 9, thresholds=tau, n_questions=20_000, rng=5)
    within(made.responses.yes_rates, norm.sf(tau), 20_000)
    assert made.responses.coding == "binary (simulated)"


def test_pairs_follow_the_loadings():
    """At threshold 0 both say yes at the rate 1/4 + arcsin(rho) / (2 pi)."""
    loadings = np.array([0.9, 0.7, 0.3, -0.6])
    made = psy.simulate_factor(loadings=loadings, thresholds=[0] * 4, n_questions=40_000, rng=6)
    codes = made.responses.codes.astype(float)
    joint = codes @ codes.T / 40_000
    expected = 0.25 + np.arcsin(made.correlation) / (2 * np.pi)
    within(joint, expected, 40_000)
    np.testing.assert_allclose(made.correlation[0, 3], -0.54)
    assert made.scores.shape == (40_000, 1)


def test_correlated_factors():
    loadings = [[0.8, 0], [0.8, 0], [0, 0.7], [0, 0.7]]
    phi = [[1, 0.5], [0.5, 1]]
    made = psy.simulate_factor(
        loadings=loadings, thresholds=[0] * 4, n_questions=40_000, factor_correlation=phi, rng=7
    )
    np.testing.assert_allclose(made.correlation[0, [1, 2]], [0.64, 0.28])
    codes = made.responses.codes.astype(float)
    within(codes @ codes.T / 40_000, 0.25 + np.arcsin(made.correlation) / (2 * np.pi), 40_000)
    np.testing.assert_allclose(np.corrcoef(made.scores.T)[0, 1], 0.5, atol=0.02)  # se .004


def test_missing_at_random_and_by_mask():
    made = psy.simulate_factor(
        loadings=[0.5] * 3, thresholds=[0, 0, 1], n_questions=10_000, missing=0.2, rng=8
    )
    within(made.responses.missing.mean(axis=1), np.full(3, 0.2), 10_000)
    assert not made.responses.codes[made.responses.missing].any()
    mask = np.zeros((3, 50), dtype=bool)
    mask[1, 7] = True
    made = psy.simulate_factor(
        loadings=[0.5] * 3, thresholds=[0] * 3, n_questions=50, missing=mask, rng=8
    )
    np.testing.assert_array_equal(made.responses.missing, mask)


def test_a_seed_repeats():
    options = {"loadings": [0.6, 0.7], "thresholds": [0, 0], "n_questions": 200}
    first = psy.simulate_factor(**options, rng=9).responses.codes
    second = psy.simulate_factor(**options, rng=np.random.default_rng(9)).responses.codes
    np.testing.assert_array_equal(first, second)
    assert (first != psy.simulate_factor(**options, rng=10).responses.codes).any()


def test_a_perfect_loading_and_infinite_thresholds():
    made = psy.simulate_factor(
        loadings=[1, 1, 0.5, 0.5], thresholds=[0, 0, np.inf, -np.inf], n_questions=100, rng=1
    )
    codes = made.responses.codes
    np.testing.assert_array_equal(codes[0], codes[1])
    assert made.responses.yes_rates[2:].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"thresholds": [0]}, ShapeError, "loadings"),
        ({"loadings": []}, ShapeError, "loadings"),
        ({"loadings": [0.9, 1.2]}, OptionError, "model 1 explain 1.44"),
        ({"loadings": [0.9, np.nan]}, OptionError, "must be numbers"),
        ({"n_questions": 0}, OptionError, "n_questions=0"),
        ({"missing": 1.0}, OptionError, "missing=1.0"),
        ({"missing": np.zeros((1, 5), dtype=bool)}, ShapeError, "a bool mask"),
        ({"missing": [[0, 1]]}, ShapeError, "a bool mask"),
        ({"factor_correlation": np.eye(2)}, ShapeError, "loadings hold 1 factors"),
        ({"factor_correlation": [[2.0]]}, OptionError, "unit diagonal"),
    ],
)
def test_bad_parameters_are_named(change, error, message):
    options = {"loadings": [0.5, 0.5], "thresholds": [0, 0], "n_questions": 5, **change}
    with pytest.raises(error, match=message):
        psy.simulate_factor(**options)


# A whole study
