"""Leave-one-out from importance weights, smoothed and trusted or not."""

import numpy as np
import pytest

from psychollm.irt.bayes.pareto import fit_pareto, leave_one_out, smooth_ratios


def test_smoothing_leaves_even_ratios_and_names_wild_ones():
    weights, k = smooth_ratios(np.zeros(1_000))
    assert k == -np.inf
    np.testing.assert_allclose(np.exp(weights), 1e-3)
    rng = np.random.default_rng(0)
    _, k = smooth_ratios(np.log(rng.pareto(1.0, 4_000)))
    assert 0.8 < k < 1.2


def test_leave_one_out_of_a_normal_mean():
    """Known: y ~ N(mu, 1), flat prior, posterior N(mean, 1/n)."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=50)
    mu = rng.normal(y.mean(), 1 / np.sqrt(50), 20_000)
    log_likelihood = -0.5 * (y - mu[:, None]) ** 2 - 0.5 * np.log(2 * np.pi)
    loo = leave_one_out(log_likelihood, np.arange(50), tuple(range(50)))
    others = (y.sum() - y) / 49
    variance = 1 + 1 / 49
    exact = -0.5 * (y - others) ** 2 / variance - 0.5 * np.log(2 * np.pi * variance)
    assert loo.elpd == pytest.approx(exact.sum(), abs=0.05)
    assert loo.n_bad == 0


def test_pareto_of_ordered_excesses():
    u = (np.arange(2000) + 0.5) / 2000
    k, scale = fit_pareto(((1 - u) ** -0.3 - 1) / 0.3)
    assert (round(k, 2), round(scale, 2)) == (0.3, 1.0)
