"""Over- and underconfidence: golden values, slow twin, laws, intervals, bad input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import CodeError, OptionError, ShapeError
from psychollm.calibration.decisions.confusion import confusion
from psychollm.calibration.scores.noise_interval import noise_of_bins, noise_of_one_sign
from psychollm.calibration.scores.overconfidence import (
    MISCALIBRATION,
    OVERCONFIDENCE,
    miscalibration_metric,
    overconfidence,
)
from psychollm.calibration.stated import stated_answers
from psychollm.calibration.tally import tallies
from psychollm.estimates.reasons import Reason
from tests.calibration.test_proper_scores import CASES, FEW, PAIRS, case
from tests.oracles import proper_scores_slow as slow


@pytest.mark.parametrize(("name", "model"), CASES)
def test_golden(golden, name, model):
    confidence, correct, first, second = case(golden, name, model)
    found = overconfidence(confidence, correct, **FEW)
    assert found.difference.value[0] == pytest.approx(first["overconfidence"], abs=1e-7)
    for block, tolerance in ((first, 1e-7), (second, 1e-6)):
        assert found.mean_confidence[0] == pytest.approx(block["mean_conf"], abs=tolerance)
        assert found.accuracy[0] == pytest.approx(block["acc"], abs=tolerance)
    assert found.difference.n[0] == first["n"]


@given(PAIRS)
def test_parts_are_those_of_the_slow_twin(pair):
    confidence, correct = pair
    found = overconfidence(*pair, **FEW)
    over, under = slow.gaps(*pair, bins=list(confidence))
    assert found.over.value[0] == pytest.approx(over, abs=1e-14)
    assert found.under.value[0] == pytest.approx(under, abs=1e-14)
    difference = confidence.mean() - correct.mean()
    assert found.difference.value[0] == pytest.approx(difference, abs=1e-14)
    assert over - under == pytest.approx(difference, abs=1e-14)


@given(PAIRS, st.integers(1, 6))
def test_bins_are_those_of_the_slow_twin(pair, n_bins):
    labels = np.maximum(np.ceil(np.round(pair[0] * n_bins, 9)), 1)
    found = overconfidence(*pair, bins="width", n_bins=n_bins, **FEW)
    over, under = slow.gaps(*pair, bins=list(labels))
    assert found.over.value[0] == pytest.approx(over, abs=1e-13)
    assert found.under.value[0] == pytest.approx(under, abs=1e-13)


@given(PAIRS)
def test_label_flip_exchanges_the_parts(pair):
    confidence, correct = pair
    found = overconfidence(*pair, **FEW)
    flipped = overconfidence(1 - confidence, 1 - correct, **FEW)
    assert flipped.over.value[0] == pytest.approx(found.under.value[0], abs=1e-14)
    np.testing.assert_allclose(
        flipped.difference.interval[0], -found.difference.interval[0, ::-1], atol=1e-12
    )


@given(PAIRS, st.randoms(use_true_random=False))
def test_order_and_duplication_of_questions(pair, random):
    confidence, correct = pair
    order = random.sample(range(correct.size), correct.size)
    found = overconfidence(*pair, **FEW)
    shuffled = overconfidence(confidence[order], correct[order], **FEW)
    twice = overconfidence(np.tile(confidence, 2), np.tile(correct, 2), **FEW)
    for field in ("difference", "over", "under"):
        value = getattr(found, field).value
        np.testing.assert_array_equal(getattr(shuffled, field).value, value)
        np.testing.assert_allclose(getattr(twice, field).value, value, atol=1e-14)


def test_noise_of_one_sign_is_that_of_normal_gaps():
    """The mean of max(d + e, 0) - max(d, 0) over normal e, bin by bin; near gaps may be zero."""
    rng = np.random.default_rng(6)
    confidence = np.repeat([0.2, 0.5, 0.9], [20, 30, 50])
    correct = (rng.uniform(size=100) < np.repeat([0.25, 0.5, 0.6], [20, 30, 50])).astype(float)
    (tally,) = tallies(stated_answers(confidence, correct))
    found = noise_of_one_sign(noise_of_bins(tally, np.arange(3)))
    e = rng.standard_normal(400_000)
    least = most = variance = 0.0
    for u, n in ((0.2, 20), (0.5, 30), (0.9, 50)):
        share = correct[confidence == u].mean()
        error = np.sqrt(share * (1 - share) / (n - 1))
        gap = abs(u - share)
        own = n / 100 * (np.maximum(gap + error * e, 0).mean() - gap)
        least += own
        most += own if gap >= 2 * error else n / 100 * np.maximum(error * e, 0).mean()
        if gap < 2 * error:
            variance += (n / 100) ** 2 * np.maximum(error * e, 0).var()
    assert found.least == pytest.approx(least, rel=0.02)
    assert found.most == pytest.approx(most, rel=0.02)
    assert found.variance == pytest.approx(variance, rel=0.02)


def test_yes_and_no_are_confidences_of_one_and_zero():
    rng = np.random.default_rng(0)
    yes, correct = (rng.uniform(size=(2, 3, 80)) < [[[0.7]], [[0.5]]]).astype(float)
    table = confusion(yes, correct).overconfidence
    found = overconfidence(yes, correct, **FEW).difference
    np.testing.assert_allclose(found.value, table.value)
    np.testing.assert_allclose(found.interval, table.interval, atol=0.02)


def test_intervals_hold_the_truth():
    """800 samples of 50 answers: 95 %, a share in [93, 97] % but one time in a hundred."""
    rng = np.random.default_rng(1)
    confidence = rng.beta(4, 2, size=(800, 50))
    correct = (rng.uniform(size=confidence.shape) < 0.8 * confidence).astype(float)
    low, high = overconfidence(confidence, correct, bootstrap=2, rng=0).difference.interval.T
    truth = 0.2 * 4 / 6
    assert 0.93 <= np.mean((low <= truth) & (truth <= high)) <= 0.97


def test_clustered_intervals_hold_the_truth():
    """800 samples of 30 clusters of 5 with one outcome each; the same bounds."""
    rng = np.random.default_rng(2)
    confidence = np.repeat(rng.beta(4, 2, size=(800, 30)), 5, axis=1)
    right = np.repeat(rng.uniform(size=(800, 30)), 5, axis=1)
    correct = (right < confidence).astype(float)
    found = overconfidence(
        confidence, correct, clusters=np.arange(150) // 5, bootstrap=2, rng=0
    ).difference
    low, high = found.interval.T
    assert 0.93 <= np.mean((low <= 0.0) & (high >= 0.0)) <= 0.97
    assert found.method == "sandwich, Fisher z"


def test_a_model_that_is_always_right_keeps_an_interval():
    found = overconfidence([0.9] * 20, [1] * 20, **FEW).difference
    assert found.value[0] == pytest.approx(-0.1)
    assert found.interval[0, 0] == pytest.approx(-0.1)
    assert found.interval[0, 1] == pytest.approx(0.9 - 20 / (20 + 1.959963984540054**2))


@pytest.mark.parametrize("stated", [0.6, 1.0])
@pytest.mark.parametrize("n", [2, 10, 200])
def test_bounds_of_parts_of_a_model_that_is_always_wrong_are_in_order(stated, n):
    found = overconfidence([stated] * n, [0] * n, **FEW)
    for part in (found.over, found.under):
        assert part.interval[0, 0] <= part.interval[0, 1]


def test_parts_of_a_calibrated_model_reach_zero():
    rng = np.random.default_rng(3)
    confidence = rng.choice(np.linspace(0.1, 0.9, 9), size=(60, 300))
    correct = (rng.uniform(size=confidence.shape) < confidence).astype(float)
    found = overconfidence(confidence, correct, bootstrap=300, rng=0)
    for part in (found.over, found.under):
        assert (part.interval[:, 0] == 0.0).sum() >= 50
        assert (part.value > 0.0).all()


def test_degenerate_models():
    confidence = [[np.nan] * 3, [0.5] * 3, [0.2, 0.4, 0.9]]
    found = overconfidence(confidence, [[1, 0, 1], [1, 1, 1], [0, 0, 0]], **FEW)
    assert found.difference.flags == (Reason.NO_ANSWERS, Reason.NONE, Reason.NONE)
    assert np.isnan([found.mean_confidence[0], found.accuracy[0], found.over.value[0]]).all()
    one = overconfidence([0.4], [1], **FEW).difference
    assert one.flags == (Reason.ONE_QUESTION,)
    assert np.isnan(one.interval).all()
    cluster = overconfidence([0.4, 0.9], [1, 0], clusters=["a", "a"], **FEW).difference
    assert cluster.flags == (Reason.ONE_CLUSTER,)
    assert np.isnan(cluster.interval).all()


def test_chances_of_being_correct():
    found = overconfidence([0.4, 0.9, 0.7], [0.5, 1, 0.25], **FEW).difference
    assert found.value[0] == pytest.approx((2.0 - 1.75) / 3)
    assert found.method == "sandwich, Fisher z"


def test_tables_and_names():
    frame = overconfidence([[0.4, 0.9]], [[1, 0]], **FEW).to_frame()
    assert {"mean_confidence", "difference_lower", "over", "under_upper"} <= set(frame.columns)
    assert OVERCONFIDENCE.names == ("overconfidence",)
    assert MISCALIBRATION.names == miscalibration_metric("discrete").names


@pytest.mark.parametrize("options", [{"bins": "sweep"}, {"n_bins": 0}, {"closed": "both"}])
def test_bins_that_do_not_exist_are_refused(options):
    with pytest.raises(OptionError):
        overconfidence([0.5, 0.6], [0, 1], **options)


def test_bad_tables_are_refused():
    with pytest.raises(CodeError, match="confidence"):
        overconfidence([1.5, 0.6], [0, 1])
    with pytest.raises(ShapeError, match="correctness has"):
        overconfidence([[0.5, 0.6]], [[0, 1, 1]])


def test_a_sentence_per_model():
    lines = (
        overconfidence([[0.4, 0.8, 0.9], [np.nan] * 3], [[1, 0, 1]] * 2, **FEW)
        .summary()
        .split("\n")
    )
    assert lines[0].startswith("0: ")
    assert lines[-1].endswith("undefined, no question has both confidence and correctness.")
