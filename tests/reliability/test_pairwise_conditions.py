"""Pairs of conditions: signed ranks against slow twins and SciPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from psychollm.reliability.contrasts.pairwise_conditions import pairwise_conditions
from tests.oracles import conditions_slow as slow


@given(st.lists(st.integers(-4, 4), min_size=2, max_size=9).filter(any))
def test_signed_rank_is_exact_with_ties(gaps):
    n = len(gaps)
    scores = [*gaps, *[0] * n]
    found = pairwise_conditions(scores, ["a"] * n + ["b"] * n, models=[*range(n), *range(n)])
    assert found.p_value[0] == pytest.approx(slow.signed_rank(gaps), abs=1e-12)


def test_signed_rank_without_ties_is_scipys():
    gaps = np.random.default_rng(0).normal(0.3, size=25)
    for size in (8, 25):
        scores, names = [*gaps[:size], *[0.0] * size], ["a"] * size + ["b"] * size
        found = pairwise_conditions(scores, names, models=[*range(size), *range(size)])
        test = stats.wilcoxon(gaps[:size], method="exact")
        assert found.p_value[0] == pytest.approx(test.pvalue, rel=1e-12)
