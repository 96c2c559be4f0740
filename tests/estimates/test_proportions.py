"""Proportions: intervals against SciPy and their limits."""

import numpy as np
import pytest
from scipy.stats import binomtest

from psychollm.estimates.proportions import (
    clopper_pearson,
    normal_multiplier,
    paired_difference,
    paired_difference_se,
    proportion,
    proportion_se,
    wilson,
)
from psychollm.estimates.reasons import Reason


def test_errors_of_proportions() -> None:
    assert round(normal_multiplier(0.95), 4) == 1.96
    assert float(proportion_se(50, 100)) == 0.05
    assert round(float(paired_difference_se(10, 4, 50)), 4) == 0.0729


@pytest.mark.parametrize(("interval", "method"), [(wilson, "wilson"), (clopper_pearson, "exact")])
@pytest.mark.parametrize("hits", [0, 1, 7, 20])
def test_intervals_are_those_of_scipy(interval, method: str, hits: int) -> None:
    expected = binomtest(hits, 20).proportion_ci(0.9, method)
    np.testing.assert_allclose(interval(hits, 20, level=0.9), expected, rtol=1e-9, atol=1e-12)


def test_nothing_seen_is_no_proportion() -> None:
    for interval in (wilson, clopper_pearson):
        assert np.isnan(interval(0, 0)).all()
    assert np.isnan(paired_difference(0, 0, 0)).all()
    nothing = np.zeros(1)
    found = proportion("x", nothing, nothing, level=0.9, labels=("m",))
    assert found.flags == (Reason.NO_ANSWERS,)


def test_paired_differences_are_mirrored() -> None:
    low, high = paired_difference(10, 4, 50)
    np.testing.assert_allclose(paired_difference(4, 10, 50), [-high, -low], rtol=1e-12)
