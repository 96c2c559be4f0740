"""Minimum rank factor analysis: what is left is least."""

import numpy as np
import pytest

from psychollm.factor.exploratory.factor_analysis import factor_analysis
from tests.oracles import factor_analysis_slow as slow
from validation.extraction_minima import simulated_correlation


def random_correlation(k, m, seed, n=200):
    rng = np.random.default_rng(seed)
    L = rng.uniform(-0.2, 0.9, (k, m)) / np.sqrt(m)
    data = rng.normal(size=(n, m)) @ L.T + rng.normal(size=(n, k)) * 0.6
    return np.corrcoef(data, rowvar=False)


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
    assert f" {100 * share:.1f} % of common variance" in found.summary()
