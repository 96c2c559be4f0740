"""Statistics of items: alpha of the others, two items, many items."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from psychollm.estimates.reasons import Reason
from psychollm.reliability.omegas.omega import omega
from psychollm.reliability.scales.consistency import consistency
from psychollm.reliability.scales.item_statistics import item_statistics
from psychollm.reliability.scales.split_half import split_half
from tests.oracles import consistency_slow as slow

TABLES = st.tuples(st.integers(4, 9), st.integers(2, 5), st.integers(0, 10**6)).map(
    lambda size: np.random.default_rng(size[2]).integers(0, 5, size[:2]).astype(float)
)


def quick(scores, **options):
    return consistency(scores, bootstrap=0, **options)


@given(TABLES)
def test_alpha_without_an_item_is_alpha_of_the_others(scores):
    assume(scores.shape[1] > 2)
    found = item_statistics(scores).alpha_without.value
    for item in range(scores.shape[1]):
        others = quick(np.delete(scores, item, axis=1)).alpha.value[0]
        assert found[item] == pytest.approx(others, rel=1e-8, abs=1e-8, nan_ok=True)


def test_two_items_have_no_alpha_without_one():
    items = item_statistics([[1, 2], [2, 2], [3, 4]])
    assert items.alpha_without.flags == (Reason.ONE_QUESTION,) * 2
    assert np.isnan(items.alpha_without.value).all()
    assert items.item_rest.value == pytest.approx([np.sqrt(3) / 2] * 2)


def test_many_items_and_few_respondents_need_no_matrix():
    """Twenty models on five thousand questions: seconds, not the gigabytes of a matrix."""
    rng = np.random.default_rng(0)
    answers = (rng.random((20, 5000)) < rng.random((20, 1))).astype(float)
    found = consistency(answers, bootstrap=20, rng=0)
    assert found.alpha.value[0] == pytest.approx(slow.alpha_of_totals(answers), abs=1e-10)
    assert found.alpha.se[0] > 0


def test_items_whose_standardised_sum_does_not_vary_have_no_alpha_without():
    rng = np.random.default_rng(0)
    x, y, other = rng.normal(size=(3, 50))
    x = (x - x.mean()) / x.std()
    y = y - y.mean() - x * (x @ y) / 50
    y /= y.std()
    scores = np.column_stack([x, (np.sqrt(3) * y - x) / 2, (-np.sqrt(3) * y - x) / 2, other])
    found = item_statistics(scores)
    assert np.isnan(found.standardised_alpha_without[3])
    assert found.standardised_flags[3] is Reason.NO_REST_VARIANCE
    assert set(found.standardised_flags[:3]) == {Reason.NONE}
    halves = split_half(scores[:, :3]).split_half
    assert np.isnan(halves.value).all()
    one = omega(scores[:, :3], n_factors=1, flip=False, bootstrap=0)
    assert np.isnan(one.total.value).all()
    assert all(one.total.flags)
