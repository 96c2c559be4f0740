"""One factor over groups of questions: found where there is one, not where each has its own."""

import numpy as np
import pytest

from psychollm._base.errors import CodeError, ShapeError
from psychollm.estimates.verdict import Outcome
from psychollm.factor import common_loadings
from psychollm.factor.one_factor.pairwise_likelihood import pairwise_likelihood

LOADINGS = np.array([0.85, 0.8, 0.7, 0.6, 0.5, 0.4, 0.75, 0.65])


def drawn(loadings, n, seed, *, mean=0.0, sd=1.0, cuts=0.0):
    """Return answers (models, n) of one factor with this mean and spread."""
    rng = np.random.default_rng(seed)
    own = np.asarray(loadings)[:, None]
    factor = mean + sd * rng.normal(size=n)
    latent = own / np.sqrt(1 - own**2) * factor + rng.normal(size=(own.size, n))
    return (latent > np.broadcast_to(cuts, own.size)[:, None]).astype(float)


def test_one_factor_of_another_mean_spread_and_other_thresholds_is_one():
    cuts = np.linspace(-0.6, 0.6, 8)
    first = drawn(LOADINGS, 3000, 1)
    second = drawn(LOADINGS, 3000, 2, mean=-0.4, sd=1.4, cuts=cuts)
    found = common_loadings({"facts": first, "code": second}, n_null=59, rng=1)
    assert found.test.p_value > 0.05
    assert found.outcome() is Outcome.SMALL
    assert found.scale == pytest.approx([1.0, 1.4], abs=0.12)
    assert found.df == 7


def test_a_factor_in_each_group_is_found():
    groups = {"facts": drawn(LOADINGS, 600, 1), "code": drawn(LOADINGS[::-1], 600, 2)}
    found = common_loadings(groups, n_null=59, rng=1)
    assert found.outcome() is Outcome.ABOVE
    assert found.rmsea > 0.05


def test_a_model_that_turns_round_is_another_factor():
    turned = LOADINGS * np.where(np.arange(8) == 2, -1, 1)
    groups = {"facts": drawn(LOADINGS, 600, 1), "code": drawn(turned, 600, 2)}
    assert common_loadings(groups, n_null=59, rng=1).test.p_value < 0.05


def test_the_distance_is_the_minimum_of_its_definition():
    from scipy.optimize import minimize

    groups = {"a": drawn(LOADINGS, 400, 1), "b": drawn(LOADINGS[::-1], 400, 2)}
    found = common_loadings(groups, n_null=19, rng=1)
    fits = [pairwise_likelihood(one) for one in groups.values()]
    a = np.array([one.loadings / np.sqrt(1 - one.loadings**2) for one in fits])
    se = np.array([one.se / (1 - one.loadings**2) ** 1.5 for one in fits])

    def q(x):
        return (((a - np.array([[1.0], [x[0]]]) * x[1:]) / se) ** 2).sum()

    best = minimize(q, np.r_[1.0, a.mean(axis=0)], method="BFGS")
    assert float(found.test.observed) * found.df == pytest.approx(best.fun, rel=1e-5)


def test_gaps_and_models_of_one_group_alone():
    first, second = drawn(LOADINGS, 500, 1), drawn(LOADINGS, 500, 2)
    first[np.random.default_rng(0).random(first.shape) < 0.2] = np.nan
    second[0] = 1.0  # says yes throughout
    found = common_loadings({"a": first, "b": second}, n_null=19, rng=1)
    assert found.labels == tuple(range(1, 8))
    assert set(found.estimates()) == {"a", "b"}


def test_what_cannot_be_tested_is_refused():
    one = drawn(LOADINGS, 50, 1)
    with pytest.raises(ShapeError, match="two or more"):
        common_loadings({"a": one})
    with pytest.raises(ShapeError, match="0 models vary"):
        common_loadings({"a": one, "b": np.ones((8, 30))})
    with pytest.raises(CodeError):
        common_loadings({"a": one, "b": one + 1})
