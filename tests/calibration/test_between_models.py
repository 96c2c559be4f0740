"""Confidence against accuracy between models: SciPy, golden values, small and degenerate cases."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from psychollm.calibration.consensus.between_models import (
    between_models,
    between_models_of,
    least_squares,
)
from psychollm.calibration.decisions.confusion import confusion
from psychollm.estimates.reasons import Reason
from tests.calibration.test_confusion import golden_case

POINTS = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=4, max_size=10).map(
    lambda rows: np.array(rows, dtype=float).T / 20
)


def with_rates(confidence, accuracy, n=20):
    """Answers with the given rates."""
    position = (np.arange(n) + 0.5) / n
    return position < confidence[:, None], position < accuracy[:, None]


def test_golden(golden):
    said, right, block = golden_case(golden, "binconf_a")
    expected = block["values"][".between_model"]
    found = between_models(said, right, rng=0)
    line = found.confidence_on_accuracy
    for name, value in (
        ("slope", line.slope),
        ("intercept", line.intercept),
        ("se", line.slope_se),
        ("p", line.p_value),
    ):
        assert value == pytest.approx(expected["conf_on_acc"][name], rel=1e-10)
    assert found.pearson == pytest.approx(expected["pearson"], rel=1e-12)
    assert found.spearman == pytest.approx(expected["spearman"], rel=1e-12)


@given(POINTS)
def test_line_is_that_of_scipy(points):
    x, y = points
    assume(np.ptp(x) > 0 and np.ptp(y) > 0)
    line, wanted = least_squares(x, y), stats.linregress(x, y)
    assert line.slope == pytest.approx(wanted.slope, abs=1e-9)
    assert line.intercept == pytest.approx(wanted.intercept, abs=1e-9)
    assume(line.residual_sd > 1e-6)
    assert line.slope_se == pytest.approx(wanted.stderr, rel=1e-6)
    assert line.intercept_se == pytest.approx(wanted.intercept_stderr, rel=1e-6)
    assert line.p_value == pytest.approx(wanted.pvalue, rel=1e-6)
    t = stats.t.ppf(0.975, len(x) - 2)
    np.testing.assert_allclose(
        line.slope_interval, [wanted.slope - t * wanted.stderr, wanted.slope + t * wanted.stderr]
    )


@given(POINTS)
def test_rank_correlation_is_that_of_scipy(points):
    x, y = points
    assume(np.ptp(x) > 0 and np.ptp(y) > 0)
    found = between_models(*with_rates(y, x), n_null=1, rng=0)
    assert found.spearman == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    low, high = found.spearman_interval
    assert -1.0 <= low <= found.spearman <= high <= 1.0


def test_permutation_p_is_exact_for_few_models():
    rng = np.random.default_rng(1)
    x, y = rng.permutation(6) / 10, rng.permutation(6) / 10
    found = between_models(*with_rates(y, x), rng=0)

    def statistic(values):
        return abs(stats.spearmanr(x, values).statistic)

    wanted = stats.permutation_test(
        (y,), statistic, permutation_type="pairings", n_resamples=np.inf, alternative="greater"
    )
    assert found.exact
    assert found.permutations == 720
    assert found.spearman_p == pytest.approx(wanted.pvalue, abs=1e-12)


def test_permutation_p_by_chance_for_many_models():
    rng = np.random.default_rng(2)
    x, y = rng.random(15).round(2), rng.random(15).round(2)
    found = between_models(*with_rates(y, x, n=100), n_null=4999, rng=3)
    assert not found.exact
    # The t approximation is good at 15 models; Monte Carlo error of the p-value is .007.
    assert found.spearman_p == pytest.approx(stats.spearmanr(x, y).pvalue, abs=0.03)


def test_identity_is_tested_by_nested_models():
    rng = np.random.default_rng(3)
    x = rng.random(12)
    y = 0.2 + 0.5 * x + 0.1 * rng.normal(size=12)
    line = least_squares(x, y)
    design = np.column_stack([np.ones(12), x])
    full = np.linalg.lstsq(design, y, rcond=None)[1][0]
    wanted = ((np.sum((y - x) ** 2) - full) / 2) / (full / 10)
    assert line.identity_f == pytest.approx(wanted, rel=1e-10)
    assert line.identity_p == pytest.approx(stats.f.sf(wanted, 2, 10), rel=1e-10)


def test_false_alarms_at_small_n():
    # 8 models; accuracy fixed, confidence = accuracy + noise: y = x holds. Nominal 5 % for the
    # identity test, and for the slope where confidence is pure noise. 2,000 draws: +-1 %.
    rng = np.random.default_rng(4)
    x = np.linspace(0.3, 0.7, 8)
    identity = [least_squares(x, x + 0.05 * rng.normal(size=8)).identity_p for _ in range(2000)]
    slope = [least_squares(x, rng.normal(size=8)).p_value for _ in range(2000)]
    assert 0.035 < np.mean(np.array(identity) < 0.05) < 0.065
    assert 0.035 < np.mean(np.array(slope) < 0.05) < 0.065


def test_bands():
    rng = np.random.default_rng(5)
    x = rng.random(10)
    y = x + 0.1 * rng.normal(size=10)
    line = least_squares(x, y)
    band = line.band([x.mean(), 2.0])
    t = stats.t.ppf(0.975, 8)
    assert band["upper"][0] - band["fit"][0] == pytest.approx(t * line.residual_sd / np.sqrt(10))
    assert (band["predicted_upper"] > band["upper"]).all()
    assert band["upper"][1] - band["fit"][1] > band["upper"][0] - band["fit"][0]


def test_exactly_calibrated_models():
    x = np.array([0.2, 0.4, 0.5, 0.9])
    found = between_models(*with_rates(x, x), rng=0)
    line = found.confidence_on_accuracy
    assert line.slope == pytest.approx(1.0)
    assert line.identity_p == 1.0
    assert found.pearson == pytest.approx(1.0)


@pytest.mark.parametrize("k", [1, 2])
def test_too_few_models(k):
    x = np.linspace(0.2, 0.8, k)
    found = between_models(*with_rates(x, x), rng=0)
    assert found.reason is Reason.TOO_FEW
    assert found.confidence_on_accuracy.reason is Reason.TOO_FEW
    assert np.isnan([found.spearman, found.spearman_p, found.confidence_on_accuracy.slope]).all()


def test_equal_rates():
    found = between_models(*with_rates(np.full(5, 0.5), np.linspace(0.1, 0.9, 5)), rng=0)
    assert found.reason is Reason.CONSTANT
    assert found.confidence_on_accuracy.slope == 0.0
    assert found.accuracy_on_confidence.reason is Reason.CONSTANT
    assert np.isnan(found.accuracy_on_confidence.slope)


def test_models_without_answers_do_not_count():
    said, right = (
        part.astype(float) for part in with_rates(np.linspace(0.1, 0.8, 5), np.full(5, 0.5))
    )
    right[:, 3] = 1 - right[:, 3]
    right[2] = np.nan
    found = between_models(said, right, rng=0)
    assert found.n == 4
    assert np.isnan(found.accuracy[2])
    assert confusion(said, right).n[2] == 0
    assert len(found.to_frame()) == 4


def answers_at(yes, right, n, rng):
    """Return answers of models with given yes rates and accuracies."""
    draw = rng.random((2, len(yes), n))
    return [
        (one < np.asarray(rate)[:, None]).astype(int)
        for one, rate in zip(draw, (yes, right), strict=True)
    ]


def test_every_model_or_models_on_average() -> None:
    """Ten models say yes far too often, nine far too rarely: no line shows it, each model does."""
    rng = np.random.default_rng(1)
    right = np.full(19, 0.5) + np.linspace(-0.05, 0.05, 19)
    off = np.where(np.arange(19) % 2 == 0, 0.35, -0.35)
    found = between_models(*answers_at(right + off, right, 500, rng), rng=0)
    assert found.confidence_on_accuracy.identity_p > 0.3
    assert found.equal_p < 1e-10
    clusters = np.repeat(np.arange(50), 10)
    table = confusion(
        *answers_at(right + off, right, 500, rng), clusters=clusters, bootstrap=200, rng=1
    )
    assert between_models_of(table, rng=0).equal_p < 1e-6


def test_equality_of_every_model_alarms_at_its_level() -> None:
    rng = np.random.default_rng(2)
    right = np.linspace(0.02, 0.9, 12)
    alarms = [
        between_models(*answers_at(right, right, 200, rng), n_null=1, rng=0).equal_p < 0.05
        for _ in range(150)
    ]
    assert np.mean(alarms) < 0.08  # 5 % at most, and two standard errors
    same = np.tile([1, 0, 1], (3, 1))
    assert between_models(same, same, rng=0).equal_p == 1.0
