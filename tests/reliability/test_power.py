"""Power of comparisons, what a pilot says, and variance between questions and answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import nctdtr

from psychollm._base.errors import LabelError, OptionError, ShapeError
from psychollm.reliability.means.answer_variance import answer_variance
from psychollm.reliability.means.difference_variance import (
    DifferenceVariance,
    assumed_variance,
    pilot_variance,
)
from psychollm.reliability.means.power import (
    comparison_power,
    minimum_detectable_difference,
    questions_needed,
)
from tests.effort import examples

VARIANCES = st.builds(
    DifferenceVariance,
    between=st.floats(0.01, 1),
    within=st.floats(0, 0.5),
    cluster_size=st.floats(1, 10),
    cluster_correlation=st.floats(-0.2, 1),
    design=st.sampled_from(["paired", "unpaired"]),
)


@given(VARIANCES, st.integers(25, 5000), st.floats(0.01, 0.3), st.integers(1, 5))
def test_power_is_that_of_the_noncentral_t(variance, n, difference, k):
    plan = comparison_power(difference, n, variance, n_answers=k)
    bound, centre = stats.t.ppf(0.975, plan.df), difference / plan.se
    expected = 1 - nctdtr(plan.df, centre, bound) + nctdtr(plan.df, centre, -bound)
    if np.isfinite(expected):  # SciPy's function is NaN for some arguments
        assert plan.power == pytest.approx(expected, abs=1e-8)
    assert 0.05 <= plan.power <= 1.0 + 1e-12


@given(VARIANCES, st.integers(25, 5000), st.sampled_from([0.5, 0.8, 0.95]))
@examples(40)
def test_the_smallest_difference_has_that_power_and_needs_these_questions(variance, n, target):
    plan = minimum_detectable_difference(n, variance, target=target)
    assert plan.power == pytest.approx(target, abs=1e-8)
    needed = questions_needed(plan.difference * (1 + 1e-9), variance, target=target)
    assert needed.n_questions in {n, n + 1}
    fewer = comparison_power(plan.difference, n - 1, variance)
    assert fewer.power < target


def test_many_questions_give_millers_formula():
    variance = DifferenceVariance(between=0.25)
    plan = minimum_detectable_difference(100_000, variance)
    z = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
    assert plan.difference == pytest.approx(z * np.sqrt(0.25 / 100_000), rel=1e-4)


def test_power_by_simulation():
    """4,000 comparisons; 0.03 is four standard errors of a share of 0.75."""
    rng = np.random.default_rng(0)
    variance = DifferenceVariance(between=1.0, cluster_size=4.0, cluster_correlation=0.3)
    plan = comparison_power(0.65, 48, variance)
    common = rng.normal(size=(4000, 12)).repeat(4, axis=1) * np.sqrt(0.3)
    gaps = 0.65 + common + rng.normal(size=common.shape) * np.sqrt(0.7)
    means = gaps.reshape(4000, 12, 4).mean(axis=2)
    t = means.mean(axis=1) / (means.std(axis=1, ddof=1) / np.sqrt(12))
    assert (np.abs(t) > stats.t.ppf(0.975, 11)).mean() == pytest.approx(plan.power, abs=0.03)


def test_bad_input():
    variance = DifferenceVariance(between=0.2, cluster_size=10)
    with pytest.raises(OptionError, match="fewer than two clusters"):
        comparison_power(0.1, 10, variance)
    with pytest.raises(OptionError, match="too small"):
        questions_needed(0.0, variance)
    with pytest.raises(OptionError, match="finite number"):
        questions_needed(np.nan, variance)
    with pytest.raises(OptionError, match="target"):
        minimum_detectable_difference(100, variance, target=0.01)
    with pytest.raises(OptionError, match="between=-1"):
        DifferenceVariance(between=-1)
    with pytest.raises(OptionError, match="'unpaired'"):
        DifferenceVariance(between=1, design="crossed")
    with pytest.raises(OptionError, match=r"correlate between .* and 0\.655"):
        assumed_variance(0.7, 0.5, correlation=0.9)
    with pytest.raises(OptionError, match="first=1.2"):
        assumed_variance(1.2, 0.5)
    with pytest.raises(LabelError, match="no model 'x'"):
        pilot_variance([[1, 0], [0, 1]], "x", 0)
    with pytest.raises(ShapeError, match="fewer than two questions"):
        pilot_variance([[1, np.nan], [0, 1]], 0, 1)
    with pytest.raises(ShapeError, match="4 dimension"):
        answer_variance(np.zeros((2, 3, 2, 2)))


def test_a_difference_is_at_most_the_range_of_the_pilot():
    """Three points were once a difference of 300 points: two questions were said to detect it."""
    right = np.random.default_rng(0).integers(0, 2, (2, 40))
    for variance in (pilot_variance(right, 0, 1), assumed_variance(0.6, 0.7)):
        for call in (
            lambda by=variance: questions_needed(3, by),
            lambda by=variance: comparison_power(-3, 100, by),
        ):
            with pytest.raises(OptionError, match="difference=3.0 .* at most 1: 3 points"):
                call()
        assert minimum_detectable_difference(3, variance).difference > 1.0
    graded = pilot_variance(1 + 9 * right, 0, 1)
    assert graded.span == 9.0
    assert (
        questions_needed(3, graded).n_questions
        == questions_needed(3 / 9, pilot_variance(right, 0, 1)).n_questions
    )
