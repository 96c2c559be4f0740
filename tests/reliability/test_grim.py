"""GRIM: exact arithmetic, digits, halves, the nearest rates, bad input."""

from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import CodeError, OptionError, ShapeError
from psychollm.reliability.grim import grim
from tests.oracles import consistency_slow as slow

REPORTS = st.tuples(st.integers(0, 1000), st.sampled_from([1, 2, 3]), st.integers(1, 400))


@given(REPORTS)
def test_every_count_is_tried_by_the_slow_twin(report):
    number, digits, n = report
    text = f"{number / 10**digits:.{digits}f}"
    for scale in (1, 100):
        expected = slow.grim(text, n, scale) if scale == 100 or float(text) <= 2 else None
        if expected is not None:
            assert grim([text], n, scale=scale).consistent[0] == expected


@given(st.integers(1, 500), st.integers(0, 500), st.integers(1, 4))
def test_what_was_counted_passes(n, count, digits):
    """Whichever way halves are rounded, as text and as a number."""
    exact = Decimal(min(count, n)) / Decimal(n)
    for rounding in (ROUND_HALF_UP, ROUND_HALF_EVEN):
        text = str(exact.quantize(Decimal(1).scaleb(-digits), rounding=rounding))
        assert grim([text], n).consistent[0]
        assert grim([float(text)], n, digits=digits).consistent[0]
        percent = str((100 * exact).quantize(Decimal(1).scaleb(-digits), rounding=rounding))
        assert grim([percent], n, scale=100).consistent[0]


def test_rates_that_cannot_repeat():
    """Thirty questions in three runs: alike in all runs, the pooled rate must be k / 30."""
    rates = [87.8, 67.8, 54.4, 44.4, 86.7]
    pooled, alike = grim(rates, 30 * 3, scale=100), grim(rates, 30, scale=100)
    assert pooled.consistent.all()
    assert alike.consistent.tolist() == [False] * 4 + [True]
    assert alike.lower.tolist() == [86.7, 66.7, 53.3, 43.3, 86.7]
    assert alike.upper.tolist() == [90.0, 70.0, 56.7, 46.7, 86.7]
    assert pooled.count.tolist() == [79, 61, 49, 40, 78]
    assert alike.power == pytest.approx([0.97] * 5)


def test_digits():
    assert grim(["0.50", "0.5"], 3).digits.tolist() == [2, 1]
    assert grim(["0.50", "0.5"], 3).consistent.tolist() == [False, False]
    assert grim(["0.3", "0.33", "0.30"], 3).consistent.tolist() == [True, True, False]
    # Numbers have lost their trailing zeros: they share the digits of the longest.
    assert grim([0.5, 0.25], 4).digits.tolist() == [2, 2]
    assert grim([1, 2.0], 4).digits.tolist() == [0, 0]
    assert grim([1e-3], 1000).digits.tolist() == [3]
    assert grim(0.5, 3, digits=0).consistent.tolist() == [True]


def test_more_cases_than_digits_prove_nothing():
    found = grim(["0.37", "0.374"], 200)
    assert found.power.tolist() == [0.0, 0.8]


def test_one_n_each():
    found = grim(["0.33", "0.33"], [3, 4])
    assert found.consistent.tolist() == [True, False]
    assert found.to_frame()["n"].tolist() == [3, 4]


def test_missing_rates():
    found = grim([None, np.nan, 0.5], 2)
    assert found.consistent.tolist() == [False, False, True]
    assert np.isnan(found.lower[:2]).all()
    assert np.isnan(found.upper[:2]).all()
    assert found.count.tolist() == [-1, -1, 1]


def test_rates_below_zero_have_no_count():
    found = grim(["-0.20"], 10)
    assert not found.consistent[0]
    assert np.isnan(found.lower[0])
    assert found.upper[0] == 0.0


@pytest.mark.parametrize(
    ("rate", "n", "options", "error"),
    [
        (["high"], 10, {}, CodeError),
        ([0.5], 0, {}, OptionError),
        ([0.5], 2.5, {}, OptionError),
        ([0.5], np.nan, {}, OptionError),
        ([0.5], "ten", {}, OptionError),
        ([0.5], 10, {"digits": -1}, OptionError),
        ([0.5], 10, {"scale": 0}, OptionError),
        ([0.5, 0.2, 0.1], [10, 20], {}, ShapeError),
    ],
)
def test_bad_input(rate, n, options, error):
    with pytest.raises(error):
        grim(rate, n, **options)
