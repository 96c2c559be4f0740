"""Smooth calibration error: golden values, the exact kernel, and what must not matter."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import OptionError
from psychollm.calibration.errors.smooth import SMOOTH_ECE, smooth_calibration_error, smooth_metric
from psychollm.calibration.metric import draw
from psychollm.calibration.stated import stated_answers
from psychollm.calibration.tally import tallies
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap, Resampling
from tests.effort import examples
from tests.oracles import binned_slow as slow

CASES = ("gradconf_a", "gradconf_b")
MODELS = ("calibrated", "overconf", "underconf", "noisy")
QUICK = {"bootstrap": 60, "n_null": 60, "rng": 0}


def error(confidence, correct, sigma=None, **given) -> float:
    """The smooth error of the sample, without resamples."""
    metric = smooth_metric(sigma)
    (tally,) = tallies(stated_answers(confidence, correct, **given))
    found = metric.compute(metric.shared(tally), tally.correct[None], tally.wrong[None])
    return float(found[0, 0])


def simulated(n: int, seed: int, decimals: int = 9, slope: float = 1.0):
    rng = np.random.default_rng(seed)
    confidence = np.round(rng.beta(4, 2, n), decimals)
    return confidence, (rng.random(n) < confidence**slope).astype(float)


@pytest.fixture(scope="module")
def gold(golden: Path):
    @cache
    def read(case: str, model: str):
        folder = golden / "metacognition"
        data = pd.read_csv(folder / f"{case}.csv")
        blocks = json.loads((folder / f"{case}.expected.json").read_text())["blocks"]
        data = data[data.model == model]
        values = blocks[2]["values"][model]
        return data.confidence.to_numpy(), data.correct.to_numpy(dtype=float), values

    return read


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("sigma", [None, 0.02, 0.05, 0.1])
def test_relplot_agrees(gold, case, model, sigma) -> None:
    # relplot sums over a mesh, both ends whole, and gives answers at exactly 0 or 1 half their
    # weight; with that weight the difference is its mesh, less than the tolerance of 1e-3.
    confidence, correct, expected = gold(case, model)
    key = "smece_relplot" if sigma is None else f"smece_sigma_{sigma}"
    weights = np.where((confidence == 0) | (confidence == 1), 0.5, 1.0)
    assert error(confidence, correct, sigma, weights=weights) == pytest.approx(
        expected[key], abs=1e-3
    )
    mesh = slow.relplot_smooth_error(confidence, correct, sigma or expected["smece_relplot_sigma"])
    assert mesh == pytest.approx(expected[key], abs=1e-4 if sigma else 1e-3)


@pytest.mark.parametrize("model", MODELS)
def test_bandwidth_of_relplot(gold, model) -> None:
    # Ten halvings of (0, 1]: theirs is the upper end of an interval 2^-10 wide.
    confidence, correct, expected = gold("gradconf_a", model)
    found = smooth_calibration_error(confidence, correct, **QUICK)
    assert found.bandwidth[0] == found.value.value[0]
    assert found.bandwidth[0] == pytest.approx(expected["smece_relplot_sigma"], abs=1e-3)


@pytest.mark.parametrize("sigma", [0.01, 0.03, 0.1, 0.5])
@pytest.mark.parametrize(("n", "decimals"), [(150, 9), (150, 2), (150, 1), (5, 1)])
def test_exact_kernel(sigma, n, decimals) -> None:
    confidence, correct = simulated(n, n + decimals, decimals)
    expected = slow.smooth_error(confidence, correct, sigma)
    assert error(confidence, correct, sigma) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(("n", "decimals"), [(60, 9), (60, 1), (30, 2), (4, 1)])
@pytest.mark.parametrize("slope", [1.0, 3.0])
def test_fixed_point(n, decimals, slope) -> None:
    confidence, correct = simulated(n, 2 * n, decimals, slope)
    found = error(confidence, correct)
    assert found == pytest.approx(slow.smooth_fixed_point(confidence, correct), abs=2e-5)
    assert error(confidence, correct, found) == pytest.approx(found, abs=2e-5)


def test_resamples_are_computed_as_samples_are() -> None:
    # The grid is that of the sample; the error of a resample may ask for a finer one.
    confidence, correct = simulated(400, 5)
    answers = stated_answers(confidence, correct)
    (tally,) = tallies(answers)
    counts = np.random.default_rng(1).multinomial(400, np.full(400, 1 / 400), size=20)
    found = SMOOTH_ECE.compute(SMOOTH_ECE.shared(tally), *tally.resampled(counts * 1.0))[:, 0]
    alone = [error(np.repeat(confidence, row), np.repeat(correct, row)) for row in counts]
    assert found == pytest.approx(alone, abs=5e-5)


def test_curve_encloses_the_error() -> None:
    confidence, correct = simulated(400, 6, 9, 1.2)
    found = smooth_calibration_error(confidence, correct, **QUICK)
    curve, sigma = found.curve, float(found.bandwidth[0])
    residual, density = slow.smooth_parts(confidence, correct, sigma, curve.confidence)
    assert curve.density[0] == pytest.approx(density, abs=1e-3)
    near = np.isfinite(curve.accuracy[0])
    assert (near == (2 * np.sqrt(np.pi) * sigma * 400 * density >= 1)).all()
    expected = np.clip(curve.confidence + residual / density, 0, 1)
    assert curve.accuracy[0, near] == pytest.approx(expected[near], abs=2e-3)
    between = np.abs(curve.accuracy[0] - curve.confidence) * curve.density[0]
    area = np.trapezoid(np.nan_to_num(between), curve.confidence)
    assert area == pytest.approx(found.value.value[0], abs=2e-3)
    lower, upper = curve.interval[0, near].T
    assert (lower <= upper).all()
    assert ((lower <= expected[near]) & (expected[near] <= upper)).mean() > 0.9
    assert len(curve.to_frame()) == 101


def test_interval_covers() -> None:
    # 150 data sets: 88 % or less would be seen once in 3,000 times at a coverage of 95 %.
    rng = np.random.default_rng(12)
    confidence = rng.beta(4, 2, (150, 200))
    for factor in (1.0, 0.7):
        correct = (rng.random(confidence.shape) < factor * confidence).astype(float)
        drawn = draw([SMOOTH_ECE], stated_answers(confidence, correct), Resampling(n=200, rng=2))
        lower, upper = drawn.estimates(SMOOTH_ECE)[0].interval.T
        truth = (1 - factor) * 4 / 6
        assert ((lower <= truth) & (truth <= upper)).mean() > 0.88


@pytest.mark.parametrize("slope", [1.0, 3.0])
def test_corrected_error(slope) -> None:
    confidence, correct = simulated(200, 5, 9, slope)
    options = QUICK | {"bootstrap": 500}
    found = smooth_calibration_error(confidence, correct, **options)
    corrected = found.corrected
    bounds = np.quantile(corrected.draws[:, 0], [0.025, 0.975])
    assert corrected.interval[0] == pytest.approx(bounds, abs=4e-3)
    assert (corrected.draws[:, 0] <= corrected.value[0]).mean() == pytest.approx(0.5, abs=0.01)
    assert corrected.value[0] < found.value.value[0] + 2e-3


def test_expectation_under_calibration() -> None:
    rng = np.random.default_rng(2)
    confidence, _ = simulated(120, 8)
    found = smooth_calibration_error(confidence, confidence > 0.5, bootstrap=10, n_null=400, rng=1)
    again = [error(confidence, (rng.random(120) < confidence) * 1.0) for _ in range(400)]
    # Four standard errors of the difference: a false alarm in 16,000 runs of other seeds.
    allowed = 4 * np.sqrt(2) * found.expected.se[0]
    assert abs(found.expected.value[0] - np.mean(again)) < allowed


cases = st.lists(st.tuples(st.integers(0, 40), st.booleans()), min_size=1, max_size=30).map(
    lambda rows: (np.array([k / 40 for k, _ in rows]), np.array([1.0 * y for _, y in rows]))
)


@examples(50)
@given(cases, st.randoms(use_true_random=False))
def test_what_does_not_matter(case, random) -> None:
    confidence, correct = case
    found = error(confidence, correct)
    order = list(range(confidence.size))
    random.shuffle(order)
    assert error(confidence[order], correct[order]) == found
    doubled = error(np.tile(confidence, 2), np.tile(correct, 2))
    assert doubled == pytest.approx(found, abs=1e-4)  # another grid
    assert error(1 - confidence, 1 - correct) == pytest.approx(found, abs=1e-6)
    assert abs(confidence.mean() - correct.mean()) - 1e-6 <= found <= 1.0


@examples(50)
@given(cases, st.floats(0.02, 0.5))
def test_smoothing_more_never_adds(case, sigma) -> None:
    assert error(*case, sigma * 1.5) <= error(*case, sigma) + 5e-5


def test_continuous_where_bins_jump() -> None:
    confidence, correct = simulated(100, 3, 1)
    for step in (1e-3, 1e-5):
        moved = np.clip(confidence - step, 0, 1)
        assert abs(error(moved, correct) - error(confidence, correct)) < 1.5 * step + 1e-6


def test_degenerate_input() -> None:
    constant = smooth_calibration_error([0.6] * 10, [1] * 8 + [0] * 2, **QUICK)
    assert constant.value.value[0] == pytest.approx(0.2, abs=1e-6)
    assert constant.value.flags[0] is Reason.CONSTANT
    perfect = smooth_calibration_error([1.0] * 4 + [0.0] * 4, [1] * 4 + [0] * 4, **QUICK)
    assert perfect.value.value[0] == perfect.expected.value[0] == 0.0
    assert perfect.corrected.interval[0].tolist() == [0.0, 0.0]
    assert perfect.p_value.value[0] == 1.0
    single = smooth_calibration_error([0.3], [1], **QUICK)
    assert single.value.value[0] == pytest.approx(0.7, abs=1e-6)
    assert np.isnan(single.value.interval).all()
    balanced = smooth_calibration_error([0.5] * 10, [1, 0] * 5, **QUICK)
    assert balanced.value.value[0] == pytest.approx(0.0, abs=1e-12)
    assert balanced.corrected.value[0] == pytest.approx(0.0, abs=1e-12)
    assert balanced.corrected.interval[0, 1] > 0.1


def test_nothing_answered() -> None:
    found = smooth_calibration_error([[np.nan, 0.5], [0.5, 0.5]], [[1, np.nan], [1, 0]], **QUICK)
    assert found.value.flags[0] is Reason.NO_ANSWERS
    assert np.isnan(found.value.value[0])
    assert np.isnan(found.p_value.value[0])
    assert np.isnan(found.curve.accuracy[0]).all()


def test_given_bandwidth() -> None:
    found = smooth_calibration_error(*simulated(50, 1), sigma=0.05, **QUICK)
    assert found.bandwidth.tolist() == [0.05]
    assert found.value.name == "smECE (sigma 0.05)"


@pytest.mark.parametrize("sigma", [0.0, -0.1, 1.0, 1e-4, np.nan, "wide"])
def test_bad_bandwidth(sigma) -> None:
    with pytest.raises(OptionError, match="sigma="):
        smooth_calibration_error([0.5], [1], sigma=sigma)


def test_jobs_do_not_matter() -> None:
    confidence, correct = simulated(80, 1)
    one = smooth_calibration_error(confidence, correct, **QUICK)
    shared = QUICK | {"bootstrap": Bootstrap(60, n_jobs=2)}
    two = smooth_calibration_error(confidence, correct, **shared)
    assert np.array_equal(one.value.interval, two.value.interval)
    assert np.array_equal(one.curve.interval, two.curve.interval, equal_nan=True)
    assert np.array_equal(one.expected.value, two.expected.value)


def test_nothing_left_over_is_zero_everywhere():
    found = smooth_calibration_error([[1.0] * 40], [[1] * 40], bootstrap=50, rng=0)
    assert found.value.value[0] == 0
    assert (found.value.interval[0] >= 0).all()
    assert found.curve.accuracy[0, -1] == 1
