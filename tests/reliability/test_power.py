"""Power of comparisons, what a pilot says, and variance between questions and answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import nctdtr

from psychollm._base.errors import LabelError, OptionError, ShapeError
from psychollm.estimates.reasons import Reason
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
from psychollm.reliability.means.score_differences import score_differences
from tests.effort import examples
from tests.oracles import clustered_slow as slow

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


def test_pairing_clusters_and_answers_move_the_number_as_they_should():
    paired = assumed_variance(0.7, 0.65, correlation=0.5)
    unpaired = assumed_variance(0.7, 0.65, correlation=0.5, design="unpaired")
    assert unpaired.between == pytest.approx(0.7 * 0.3 + 0.65 * 0.35)
    assert paired.between == pytest.approx(unpaired.between - np.sqrt(0.7 * 0.3 * 0.65 * 0.35))
    clustered = assumed_variance(
        0.7, 0.65, correlation=0.5, cluster_size=5, cluster_correlation=0.2
    )
    n = [questions_needed(0.05, v).n_questions for v in (paired, unpaired, clustered)]
    assert n[1] == pytest.approx(2 * n[0], rel=0.02)
    assert n[2] == pytest.approx(1.8 * n[0], rel=0.02)
    noisy = DifferenceVariance(between=0.1, within=0.2)
    assert noisy.standard_error(100, n_answers=4) == pytest.approx(np.sqrt(0.15 / 100))


@pytest.mark.parametrize("design", ["paired", "unpaired"])
@pytest.mark.parametrize("size", [None, 1, 5])
def test_a_pilot_predicts_its_own_standard_error(design, size):
    rng = np.random.default_rng(1)
    n = 150
    common = rng.normal(size=30).repeat(5)
    scores = (common + rng.normal(size=(2, n)) > np.array([[-0.2], [0.3]])).astype(float)
    scores[0] = np.where(rng.uniform(size=n) < 0.3, common > 0, scores[0])
    clusters = None if size is None else np.arange(n) // size
    variance = pilot_variance(scores, 0, 1, clusters=clusters, design=design)
    found = score_differences(scores, clusters=clusters)
    if design == "paired":
        expected = max(found.se[0], found.se_paired[0])
    else:
        one, two = (score_differences([row, 0 * row], clusters=clusters).se[0] for row in scores)
        expected = np.hypot(one, two)
    assert variance.standard_error(n) == pytest.approx(expected, rel=1e-9)
    assert variance.cluster_size == (5 if size == 5 else 1)


def test_a_pilot_with_several_answers_separates_their_noise():
    """Standard errors of both variances are about 0.01 with 4,000 questions."""
    rng = np.random.default_rng(2)
    chance = rng.beta(2, 1, (2, 4000))
    answers = (rng.uniform(size=(2, 4000, 4)) < chance[..., None]).astype(float)
    variance = pilot_variance(answers, 0, 1)
    assert variance.between == pytest.approx(2 / 18, abs=0.012)
    assert variance.within == pytest.approx(2 / 6, abs=0.02)


@given(st.integers(0, 10_000))
def test_variances_are_those_of_the_slow_twin(seed):
    rng = np.random.default_rng(seed)
    answers = rng.integers(0, 3, (2, 8, 4)).astype(float)
    answers[rng.uniform(size=answers.shape) < 0.3] = np.nan
    answers[:, 0] = [[0, 1, 0, 0]]
    answers[:, 1, :2] = 1
    found = answer_variance(answers, bootstrap=2, rng=0)
    for row in range(2):
        lists = [list(a[np.isfinite(a)]) for a in answers[row] if np.isfinite(a).any()]
        between, within = slow.answer_variances(lists)
        np.testing.assert_allclose(found.between.value[row], between, atol=1e-12)
        np.testing.assert_allclose(found.within.value[row], within, atol=1e-12)
        assert found.mean.value[row] == pytest.approx(np.mean([np.mean(a) for a in lists]))


def test_the_parts_add_up_to_the_squared_standard_error():
    rng = np.random.default_rng(3)
    chance = rng.uniform(size=(3, 100, 1))
    found = answer_variance(rng.uniform(size=(3, 100, 5)) < chance, bootstrap=50, rng=0)
    assert (found.between.value > 0).all()
    np.testing.assert_allclose(
        found.standard_error(n_questions=100, n_answers=5), found.mean.se, rtol=1e-12
    )
    assert (found.standard_error(n_questions=100, n_answers=50) < found.mean.se).all()
    assert found.to_frame().shape == (3, 13)


def test_every_flag_of_answer_variance():
    answers = np.full((4, 3, 2), np.nan)
    answers[1, :, 0] = [0, 1, 1]
    answers[2, 0] = [0, 1]
    answers[3] = [[0, 1], [1, 0], [0, 1]]
    found = answer_variance(answers, bootstrap=20, rng=0)
    assert found.between.flags == (
        Reason.NO_ANSWERS,
        Reason.ONE_SAMPLE,
        Reason.ONE_QUESTION,
        Reason.NEGATIVE_COMPONENT,
    )
    assert found.within.value[2] == 0.5
    assert found.between.value[3] == pytest.approx(-0.25)
    assert found.standard_error(n_questions=1, n_answers=1)[3] == pytest.approx(np.sqrt(0.5))


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
