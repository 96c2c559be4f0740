"""Differences of sets of questions: regressions on indicators, Welch, every flag."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from psychollm.estimates.reasons import Reason
from psychollm.reliability.means.set_difference import set_difference
from tests.oracles import clustered_slow as slow

CLUSTERED = st.integers(0, 100_000).map(np.random.default_rng)


@given(CLUSTERED)
def test_difference_of_sets_is_the_regression_on_their_indicators(rng):
    n = 20
    y = rng.normal(size=n)
    sets = rng.permutation(["A"] * 9 + ["C"] * 11)
    clusters = rng.permutation(np.arange(n) % 6)
    found = set_difference(y, sets == "C", sets == "A", clusters=clusters)
    x = slow.design(sets, np.ones(n, bool))
    value, se, df = slow.regression(
        y, x, np.ones(n), clusters.tolist(), np.array([-1.0, 1.0]), "cr2"
    )
    np.testing.assert_allclose([found.value[0], found.se[0]], [value, se], rtol=1e-9)
    margin = np.diff(found.interval[0])[0] / 2 / found.se[0]
    assert margin == pytest.approx(stats.t.ppf(0.975, df), rel=1e-8)


def test_without_clusters_the_sets_are_welchs_samples():
    rng = np.random.default_rng(0)
    y = rng.normal(size=30)
    found = set_difference(y, range(12), range(12, 30))
    welch = np.sqrt(y[:12].var(ddof=1) / 12 + y[12:].var(ddof=1) / 18)
    assert found.se[0] == pytest.approx(welch, rel=1e-12)


def test_every_flag_of_sets():
    scores = [[np.nan, np.nan, 1, 0], [1, np.nan, 1, 0], [1, 1, 0, 0], [1, 0, 0, 1]]
    found = set_difference(scores, [0, 1], [2, 3])
    assert found.flags == (
        Reason.NO_SCORES,
        Reason.ONE_QUESTION,
        Reason.NO_SPREAD,
        Reason.NONE,
    )
    one = set_difference(scores, [0, 1], [2, 3], clusters=[0, 0, 1, 2])
    assert one.flags[3] is Reason.ONE_CLUSTER
    assert np.isnan(one.interval).all()
