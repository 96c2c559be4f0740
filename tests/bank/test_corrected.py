"""The correction is right on average whatever is predicted, and its variance is the stated one."""

import numpy as np
import pytest

from psychollm.bank.design import alike, chances, mixed, systematic
from psychollm.estimates.corrected import Block, answered, corrected


def test_chances_sum_and_never_exceed_one() -> None:
    pi = chances(np.array([100.0, 1.0, 1.0, 2.0, 0.5]), 3)
    assert pi.sum() == pytest.approx(3.0)
    assert pi[0] == 1.0
    np.testing.assert_allclose(pi[1:] / pi[1], [1.0, 1.0, 2.0, 0.5])


def test_samples_have_their_chances() -> None:
    rng = np.random.default_rng(1)
    size = rng.random(40)
    pi = mixed(size, np.ones(40, dtype=bool), 12, equal_share=0.1)
    order = alike(rng.normal(size=(40, 2)), np.repeat([0, 1], 20))
    assert sorted(order) == list(range(40))
    assert set(order[:20]) == set(range(20))
    drawn = np.zeros(40)
    for _ in range(4000):
        items = systematic(pi, order, rng)
        assert items.size == 12
        drawn[items] += 1
        # Every half of the order has the share of the sample that it is due.
        assert abs((items < 20).sum() - pi[:20].sum()) < 1.0
    np.testing.assert_allclose(drawn / 4000, pi, atol=4 * 0.5 / np.sqrt(4000))


def test_unbiased_for_any_prediction() -> None:
    # Two blocks, the second with chances that depend on the first, answered whole or in part.
    rng = np.random.default_rng(2)
    y, predicted = rng.random(50), rng.random(50)
    expected = rng.uniform(0.05, 0.3, 50)
    order, found = np.arange(50), []
    for _ in range(4000):
        blocks, left = [], np.ones(50, dtype=bool)
        for _ in range(2):
            size = rng.random(50) if not blocks else np.abs(y - y[blocks[0].items].mean())
            pi = mixed(size, left, 12, equal_share=0.2)
            blocks.append(Block(systematic(pi, order, rng), pi))
            left[blocks[-1].items] = False
        values = []
        for asked in (12, 7):
            there = np.concatenate([blocks[0].items, blocks[1].items[:asked]])
            scores = np.full(50, np.nan)
            scores[there] = y[there]
            values.append(corrected(predicted, expected, answered(blocks, scores), scores).value)
        found.append(values)
    error = np.std(found, axis=0) / np.sqrt(len(found))
    assert (np.abs(np.mean(found, axis=0) - y.mean()) < 4 * error).all()


def test_variance_is_that_of_independent_draws() -> None:
    # Poisson samples are what (2) describes: its variance with phi is that of repeated samples.
    rng = np.random.default_rng(3)
    j = 300
    p = rng.uniform(0.1, 0.9, j)
    y = (rng.random(j) < p).astype(float)
    pi = mixed(np.sqrt(p * (1 - p)), np.ones(j, dtype=bool), 90, equal_share=0.1)
    values, variances = [], []
    for _ in range(4000):
        items = np.flatnonzero(rng.random(j) < pi)
        scores = np.full(j, np.nan)
        scores[items] = y[items]
        one = corrected(p, p * (1 - p), [Block(items, pi)], scores)
        values.append(one.value)
        variances.append(one.variance * one.phi)
    assert np.mean(variances) == pytest.approx(np.var(values), rel=0.06)


def test_everything_asked_leaves_nothing_to_chance() -> None:
    y = np.random.default_rng(4).random(30)
    one = corrected(np.full(30, 0.5), np.full(30, 0.2), [Block(np.arange(30), np.ones(30))], y)
    assert one.value == pytest.approx(y.mean())
    assert one.variance == 0.0
    assert np.isnan(one.phi)
