"""Meta-information: statConfR, the slow twins, bounds, chance, degenerate input, coverage."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from psychollm._base.errors import CodeError, OptionError
from psychollm.calibration.discrimination.meta_information import (
    confidence_information,
    information_metric,
)
from psychollm.estimates.reasons import Reason
from psychollm.kernels.meta_information import table_information
from tests.effort import examples
from tests.oracles import meta_d_slow as slow

LABELS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3)), min_size=2, max_size=9)


def kernel(labels, groups, n_groups=4):
    first, second = np.zeros((1, n_groups)), np.zeros((1, n_groups))
    for label, group in zip(labels, groups, strict=True):
        (first if label else second)[0, group] += 1
    out = np.empty((1, 3))
    table_information(first, second, np.arange(n_groups + 1), out)
    return out[0]


@given(LABELS)
def test_kernel_is_the_slow_twin(pairs):
    labels, groups = [list(column) for column in zip(*pairs, strict=True)]
    told, chance, entropy = kernel(labels, groups)
    assert told == pytest.approx(slow.information(labels, groups), abs=1e-12)
    assert chance == pytest.approx(slow.mean_information(labels, groups), abs=1e-12)
    assert entropy == pytest.approx(slow.entropy([sum(labels), len(labels) - sum(labels)]))


def test_chance_of_large_tables():
    # 4,000 answers, ten ratings: the mean over permutations is that of a chi-square with nine
    # degrees of freedom, to first order.
    rng = np.random.default_rng(0)
    groups, labels = rng.integers(0, 10, 4000), rng.integers(0, 2, 4000)
    told, chance, _ = kernel(list(labels), list(groups), 10)
    assert chance == pytest.approx(9 / (2 * 4000 * np.log(2)), rel=2e-3)
    assert 0 < told < 4 * chance


ANSWERS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1)), min_size=4, max_size=40).map(
    lambda rows: np.array(rows, dtype=float).T
)


@examples(60)
@given(ANSWERS)
def test_bounds_and_symmetries(data):
    confidence, correct = data[0] / 4, data[1]
    assume(0 < correct.sum() < correct.size)
    plain = confidence_information(confidence, correct, corrected=False, bootstrap=0)
    bits, share = plain.bits.value[0], plain.share.value[0]
    assert -1e-12 <= bits <= 1 + 1e-12
    assert -1e-12 <= share <= 1 + 1e-12
    assert bits == pytest.approx(slow.information(list(correct), list(confidence)), abs=1e-12)
    # Right and wrong exchanged, the scale turned round or stretched: the same information.
    for other in (
        confidence_information(confidence, 1 - correct, corrected=False, bootstrap=0),
        confidence_information(1 - confidence, correct, corrected=False, bootstrap=0),
        confidence_information(confidence**2, correct, corrected=False, bootstrap=0),
    ):
        assert other.bits.value[0] == pytest.approx(bits, abs=1e-12)
        assert other.bits.se[0] == pytest.approx(plain.bits.se[0], abs=1e-12)
    # Everything seen twice: the same, as long as nothing is subtracted.
    doubled = confidence_information(
        np.tile(confidence, 2), np.tile(correct, 2), corrected=False, bootstrap=0
    )
    assert doubled.bits.value[0] == pytest.approx(bits, abs=1e-12)
    order = np.random.default_rng(0).permutation(correct.size)
    again = confidence_information(confidence[order], correct[order], bootstrap=0)
    first = confidence_information(confidence, correct, bootstrap=0)
    np.testing.assert_array_equal(again.bits.value, first.bits.value)


def test_many_confidences_are_pooled_with_their_ties():
    rng = np.random.default_rng(1)
    confidence = np.round(rng.random(400), 2)
    correct = (rng.random(400) < confidence).astype(float)
    found = confidence_information(confidence, correct, bootstrap=0)
    coarse = pd.Series(confidence).rank(method="average").to_numpy()
    groups = np.floor(10 * (coarse - 0.5) / 400)
    same = confidence_information(groups / 9, correct, bootstrap=0)
    np.testing.assert_allclose(found.bits.value, same.bits.value, atol=1e-12)
    np.testing.assert_allclose(found.bits.se, same.bits.se, atol=1e-12)
    raw = confidence_information(confidence, correct, n_bins=101, corrected=False, bootstrap=0)
    assert raw.bits.value[0] > found.bits.value[0] + 0.1  # what the correction is for
    shuffled = rng.permutation(400)
    again = confidence_information(confidence[shuffled], correct[shuffled], bootstrap=0)
    np.testing.assert_array_equal(again.bits.value, found.bits.value)


def test_random_order_tells_nothing():
    # The mean of 400 corrected values, each with a standard deviation of .02: |z| < 4.
    rng = np.random.default_rng(2)
    confidence, correct = rng.random((400, 100)), rng.integers(0, 2, (400, 100))
    bits = confidence_information(confidence, correct, bootstrap=0).bits.value
    assert abs(bits.mean()) < 4 * bits.std() / 20


def test_degenerate():
    confidence = [
        [0.9, 0.9, 0.9],
        [0.1, 0.5, 0.9],
        [0.1, 0.5, 0.9],
        [np.nan] * 3,
        [0.4, 0.5, np.nan],
    ]
    correct = [[1, 0, 1], [1, 1, 1], [0, 0, 0], [1, 0, 1], [np.nan, 1, 1]]
    found = confidence_information(confidence, correct, bootstrap=20, rng=0)
    assert found.bits.flags == (
        Reason.CONSTANT,
        Reason.NO_WRONG,
        Reason.NO_CORRECT,
        Reason.NO_ANSWERS,
        Reason.NO_WRONG,
    )
    assert found.bits.value[0] == found.share.value[0] == 0.0
    assert np.isnan(found.bits.value[1:]).all()
    assert np.isnan(found.share.interval[1:]).all()
    with pytest.raises(CodeError, match="confidence"):
        confidence_information([[1.5, 0.5]], [[1, 0]])
    with pytest.raises(OptionError, match="n_bins"):
        confidence_information([[0.5, 0.5]], [[1, 0]], n_bins=1)


def test_weights_clusters_and_chances():
    rng = np.random.default_rng(3)
    confidence = rng.integers(0, 5, (2, 300)) / 4
    correct = (rng.random((2, 300)) < 0.2 + 0.6 * confidence).astype(float)
    plain = confidence_information(confidence, correct, bootstrap=60, rng=0)
    single = confidence_information(
        confidence, correct, clusters=np.arange(300), bootstrap=60, rng=0
    )
    assert single.bits.method == "sandwich"
    np.testing.assert_allclose(single.bits.se, plain.bits.se * np.sqrt(300 / 299), rtol=1e-3)
    half = confidence_information(
        confidence, correct, weights=np.r_[np.ones(150), np.zeros(150)], bootstrap=0
    )
    first = confidence_information(
        confidence[:, :150], correct[:, :150], corrected=False, bootstrap=0
    )
    double = confidence_information(
        confidence,
        correct,
        weights=np.r_[np.ones(150), np.zeros(150)],
        corrected=False,
        bootstrap=0,
    )
    np.testing.assert_allclose(double.bits.value, first.bits.value, atol=1e-12)
    assert (half.bits.value < double.bits.value).all()
    chances = confidence_information(confidence, 0.2 + 0.6 * confidence, bootstrap=0)
    assert chances.bits.defined.all()
    assert plain.bits.difference(0, 1).n_resamples == 60
    frame = plain.to_frame()
    assert {"value", "share", "lower_share"} <= set(frame.columns)
    assert information_metric().names == ("meta-I", "relative meta-I")


def test_coverage():
    # 800 data sets of 200 answers at five confidences: at 95 % the number covered lies in
    # [737, 780] with probability .999.
    rng = np.random.default_rng(4)
    chance = 1 / (1 + np.exp(-(0.6 + np.linspace(-1, 1, 5))))
    groups = rng.integers(0, 5, (800, 200))
    correct = (rng.random((800, 200)) < chance[groups]).astype(float)
    found = confidence_information(groups / 4, correct, bootstrap=0)

    def entropy(p):
        return -(p * np.log2(p) + (1 - p) * np.log2(1 - p))

    truth = entropy(chance.mean()) - entropy(chance).mean()
    for estimate, value in ((found.bits, truth), (found.share, truth / entropy(chance.mean()))):
        low, high = estimate.interval.T
        assert 737 <= ((low <= value) & (value <= high)).sum() <= 780
