"""Murphy's parts of the Brier score: golden values, slow twin, laws, intervals, bad input."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import stdtrit

from psychollm._base.errors import CodeError, OptionError, ShapeError
from psychollm.calibration.scores.murphy import MURPHY, murphy, murphy_metric
from psychollm.calibration.scores.noise_interval import (
    noise_of_bins,
    noise_of_squares,
    uncertainty_bounds,
)
from psychollm.calibration.stated import stated_answers
from psychollm.calibration.tally import tallies
from psychollm.estimates.intervals import percentile_interval
from psychollm.estimates.reasons import Reason
from tests.calibration.test_proper_scores import CASES, FEW, PAIRS, case
from tests.oracles import proper_scores_slow as slow

PLAIN = ("reliability", "resolution", "uncertainty")
FIELDS = (*PLAIN, *(f"{name}_corrected" for name in PLAIN))


def parts(confidence, correct, **options):
    """Return the six parts of one model."""
    found = murphy(confidence, correct, **FEW, **options)
    return np.array([getattr(found, name).value[0] for name in FIELDS])


@pytest.mark.parametrize(("name", "model"), CASES)
def test_golden(golden, name, model):
    confidence, correct, first, _ = case(golden, name, model)
    found = parts(confidence, correct, bins="discrete")[:3]
    expected = [first[key] for key in ("murphy_rel", "murphy_res", "murphy_unc")]
    np.testing.assert_allclose(found, expected, atol=1e-7)


@given(PAIRS)
def test_parts_are_those_of_the_slow_twin(pair):
    confidence = pair[0]
    found, expected = parts(*pair), np.array(slow.murphy(*pair, bins=list(confidence)))
    if np.unique(confidence).size == confidence.size:
        assert np.isnan(found[3:]).all()
        expected = expected[:3]
        found = found[:3]
    np.testing.assert_allclose(found, expected, atol=1e-13)


@given(PAIRS, st.integers(1, 6))
def test_bins_are_those_of_the_slow_twin(pair, n_bins):
    confidence = pair[0]
    labels = np.maximum(np.ceil(np.round(confidence * n_bins, 9)), 1)
    found = parts(*pair, bins="width", n_bins=n_bins)
    expected = slow.murphy(*pair, bins=list(labels))
    np.testing.assert_allclose(found[:3], expected[:3], atol=1e-13)


@given(PAIRS)
def test_parts_sum_to_the_score(pair):
    found = murphy(*pair, **FEW)
    plain = [getattr(found, name).value[0] for name in PLAIN]
    assert plain[0] - plain[1] + plain[2] == pytest.approx(found.brier.value[0], abs=1e-14)
    corrected = [getattr(found, f"{name}_corrected").value[0] for name in PLAIN]
    if np.isfinite(corrected).all():
        total = corrected[0] - corrected[1] + corrected[2]
        assert total == pytest.approx(found.brier.value[0], abs=1e-14)
    assert min(plain) >= 0.0


def test_what_varies_within_bins_is_left_over():
    rng = np.random.default_rng(0)
    confidence = rng.uniform(size=400)
    correct = (rng.uniform(size=400) < confidence).astype(float)
    found = murphy(confidence, correct, bins="width", n_bins=5, **FEW)
    labels = np.ceil(confidence * 5)
    left = 0.0
    for label in np.unique(labels):
        f, y = confidence[labels == label], correct[labels == label]
        left += f.size / 400 * (f.var() - 2 * np.cov(f, y, ddof=0)[0, 1])
    assert found.within_bins[0] == pytest.approx(left, abs=1e-14)


@given(PAIRS)
def test_label_flip_and_duplication(pair):
    confidence, correct = pair
    flipped = parts(1 - confidence, 1 - correct)
    np.testing.assert_allclose(flipped, parts(*pair), atol=1e-13)
    twice = parts(np.tile(confidence, 2), np.tile(correct, 2))
    np.testing.assert_allclose(twice[:3], parts(*pair)[:3], atol=1e-13)


@given(PAIRS, st.randoms(use_true_random=False))
def test_shuffling_questions_changes_nothing(pair, random):
    confidence, correct = pair
    order = random.sample(range(correct.size), correct.size)
    np.testing.assert_array_equal(parts(*pair), parts(confidence[order], correct[order]))


def test_the_correction_removes_the_bias():
    """Mean over 500 calibrated samples of 60 answers at six levels: true reliability is zero."""
    rng = np.random.default_rng(5)
    confidence = np.tile(np.linspace(0.2, 0.9, 6), (500, 10))
    correct = (rng.uniform(size=confidence.shape) < confidence).astype(float)
    found = murphy(confidence, correct, bootstrap=0, rng=0)
    assert found.reliability.value.mean() > 0.01
    spread = found.reliability_corrected.value.std() / np.sqrt(500)
    assert abs(found.reliability_corrected.value.mean()) < 4 * spread
    true = confidence[0].var()
    spread = found.resolution_corrected.value.std() / np.sqrt(500)
    assert abs(found.resolution_corrected.value.mean() - true) < 4 * spread


def test_intervals_of_a_calibrated_model_reach_zero():
    rng = np.random.default_rng(3)
    confidence = rng.choice(np.linspace(0.1, 0.9, 9), size=(100, 200))
    correct = (rng.uniform(size=confidence.shape) < confidence).astype(float)
    found = murphy(confidence, correct, bootstrap=300, rng=0).reliability
    # Nominally 97.5 of 100; fewer than 90 once in some ten thousand runs.
    assert (found.interval[:, 0] == 0.0).sum() >= 90
    assert (found.interval[:, 1] < 0.05).all()
    assert found.method == "t less noise"


@pytest.mark.parametrize("score", ["brier", "log"])
@pytest.mark.parametrize("clusters", [None, [0, 1, 1, 2, 0, 2, 1, 2, 0, 1, 2, 2]])
def test_noise_is_that_of_the_slow_twin(clusters, score):
    confidence = np.array([0.2, 0.2, 0.2, 0.2, 0.6, 0.6, 0.6, 0.6, 0.9, 0.9, 0.9, 0.9])
    correct = np.array([0, 1, 0, 0, 1, 1, 0, 1, 1, 1, 1, 1.0])
    weights = np.array([1, 2, 1, 3, 1, 1, 2, 1, 1, 1, 1, 2.0])
    bins = np.array([0, 1, 1])
    answers = stated_answers(confidence, correct, clusters=clusters, weights=weights)
    (tally,) = tallies(answers)
    found = noise_of_squares(noise_of_bins(tally, bins), score, fitted=False)
    groups = np.arange(12) if clusters is None else np.array(clusters)
    expected = slow.noise_of_bins(
        np.repeat([0, 1], [4, 8]), correct, answers.weights, groups, score=score
    )
    assert (found.most, found.variance) == pytest.approx(expected, abs=1e-14)


def test_a_sample_without_a_gap_proves_no_calibration():
    found = murphy([0.5] * 20, [0, 1] * 10, bootstrap=2).reliability
    low, high = found.interval[0]
    assert low == 0.0
    # A bin of twenty answers with chance one half strays by a variance of 1/76.
    assert high == pytest.approx(1 / 76 * (np.sqrt(2) * stdtrit(19, 0.975) - 1))


def test_uncertainty_is_largest_at_one_half():
    shares = np.linspace(0.4, 0.7, 1001)
    whole, half = percentile_interval(shares, 0.999), percentile_interval(shares + 0.2, 0.5)
    assert uncertainty_bounds(whole)[1] == 0.25
    assert uncertainty_bounds(whole, score="log")[1] == pytest.approx(np.log(2))
    assert uncertainty_bounds(half)[1] < 0.25


def test_degenerate_models():
    nan = np.nan
    confidence = [[nan] * 5, [0.5] * 5, [0.1, 0.2, 0.3, 0.4, 0.5], [0.2, 0.2, 0.8, 0.8, 0.8]]
    correct = [[1, 0, 1, 0, 1], [1, 0, 1, 0, 1], [1, 0, 1, 0, 1], [1, 1, 1, 1, 1]]
    found = murphy(confidence, correct, **FEW)
    named = {name: [flag.name for flag in getattr(found, name).flags] for name in FIELDS}
    assert named["reliability"] == ["NO_ANSWERS", "ONE_BIN", "NONE", "NONE"]
    assert named["resolution"] == ["NO_ANSWERS", "ONE_BIN", "NONE", "NO_WRONG"]
    assert named["reliability_corrected"] == ["NO_ANSWERS", "ONE_BIN", "SPARSE_BINS", "NONE"]
    assert found.reliability_corrected.value[1] < found.reliability_corrected.interval[1, 0]
    assert np.isnan(found.reliability_corrected.value[2])
    assert found.resolution.value[[1, 3]].tolist() == [0.0, 0.0]
    assert found.uncertainty.value[3] == 0.0
    one = murphy([0.4], [1], **FEW)
    assert one.reliability.value[0] == pytest.approx(0.36)
    assert np.isnan(one.reliability.interval).all()
    assert one.reliability.flags[0] in {Reason.ONE_BIN, Reason.ONE_QUESTION}


def test_weights_are_counts():
    confidence, correct = np.array([0.2, 0.4, 0.4, 0.9]), np.array([0.0, 1.0, 0.0, 1.0])
    weighted = parts(confidence, correct, weights=[1, 2, 1, 4])[:3]
    repeated = np.repeat([confidence, correct], [1, 2, 1, 4], axis=1)
    np.testing.assert_allclose(weighted, parts(*repeated)[:3], atol=1e-14)


def test_clusters_are_named_in_the_method():
    found = murphy([0.2, 0.4, 0.4, 0.9], [0, 1, 0, 1], clusters=[0, 0, 1, 1], **FEW)
    assert found.reliability.method == "t less noise, sums over clusters"


def test_tables():
    frame = murphy([[0.2, 0.4, 0.4, 0.9]], [[0, 1, 0, 1]], **FEW).to_frame()
    assert {"brier", "resolution_upper", "reliability_corrected_lower"} <= set(frame.columns)


@pytest.mark.parametrize(
    "options", [{"bins": "sweep"}, {"bins": 10}, {"n_bins": 0}, {"closed": 1}]
)
def test_bins_that_do_not_exist_are_refused(options):
    with pytest.raises(OptionError):
        murphy([0.5, 0.6], [0, 1], **options)


def test_bad_tables_are_refused():
    with pytest.raises(CodeError, match="confidence"):
        murphy([1.5, 0.6], [0, 1])
    with pytest.raises(ShapeError, match="correctness has"):
        murphy([[0.5, 0.6]], [[0, 1, 1]])


@given(PAIRS, st.integers(0, 2**31))
def test_a_resample_is_a_sample(pair, seed):
    """Columns of a resampled tally are those of its answers written out."""
    confidence, correct = pair
    counts = np.random.default_rng(seed).integers(0, 3, confidence.size)
    assume(counts.sum() > 1)
    (tally,) = tallies(stated_answers(*pair))
    drawn = tally.resampled(counts[None].astype(float))
    again = np.repeat([confidence, correct], counts, axis=1)
    metric = murphy_metric("discrete")
    found = metric.compute(metric.shared(tally), *drawn)[0, :3]
    np.testing.assert_allclose(found, slow.murphy(*again, bins=list(again[0]))[:3], atol=1e-13)
    assert metric.names == MURPHY.names


def test_the_corrected_uncertainty_of_lone_answers_says_why_it_is_undefined() -> None:
    parts = murphy([[0.1, 0.4, 0.8, 0.9]], [[0, 1, 1, 0]], bootstrap=20, rng=0)
    assert np.isnan(parts.uncertainty_corrected.value[0])
    assert parts.uncertainty_corrected.flags == (Reason.SPARSE_BINS,)


def test_weights_of_any_size_count_by_their_ratios() -> None:
    said, right = [[0.2, 0.2, 0.9, 0.9, 0.9]], [[0, 1, 1, 0, 1]]
    plain = murphy(said, right, weights=[1, 2, 1, 1, 1], bootstrap=20, rng=0)
    tiny = murphy(said, right, weights=np.array([1, 2, 1, 1, 1]) * 5e-324, bootstrap=20, rng=0)
    for name in ("brier", "reliability", "resolution", "uncertainty_corrected"):
        assert getattr(tiny, name).value == pytest.approx(getattr(plain, name).value)
