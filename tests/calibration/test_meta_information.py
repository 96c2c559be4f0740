"""Meta-information: statConfR, the slow twins, bounds, chance, degenerate input, coverage."""

import json

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
from psychollm.calibration.two_choice.meta_information_trials import (
    gaussian_meta_information,
    meta_information,
)
from psychollm.data.simulate import simulate_meta_d
from psychollm.estimates.reasons import Reason
from psychollm.kernels.meta_information import table_information
from tests.effort import examples
from tests.oracles import meta_d_slow as slow

FIELDS = {
    "meta_I": "meta_i",
    "meta_Ir1": "meta_i1",
    "meta_Ir1_acc": "meta_i1_accuracy",
    "meta_Ir2": "meta_i2",
    "RMI": "rmi",
}


@pytest.mark.parametrize("case", ["metad_trials_a", "metad_trials_b"])
def test_golden_statconfr(golden, case):
    folder = golden / "metacognition"
    frame = pd.read_csv(folder / f"{case}.csv")
    block = json.loads((folder / f"{case}.expected.json").read_text())["blocks"][1]
    columns = ("stimulus", "response", "rating")
    wide = [frame.pivot_table(index="model", columns="trial", values=name) for name in columns]
    found = meta_information(*wide, definition="report", corrected=False, bootstrap=2, rng=0)
    for i, peer in enumerate(block["values"]["statConfR_metaI"]):
        assert set(peer) == {"participant", *FIELDS}
        for key, field in FIELDS.items():
            # They sum a grid of 5,000 points: far closer than the block's tolerance.
            assert getattr(found, field).value[i] == pytest.approx(peer[key], abs=1e-9)


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


@pytest.mark.parametrize("d", [0.1, 1.0, 2.5, 5.0])
def test_gaussian_observer(d):
    found = float(gaussian_meta_information(d))
    assert found == pytest.approx(slow.gaussian_meta_information(d), abs=2e-6)


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


DEFINITIONS = ["confidence", "added", "report"]


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_definitions_by_the_letter(definition):
    made = simulate_meta_d(d_prime=[1.2], criterion=0.4, n_questions=300, rng=5)
    found = meta_information(
        made.stimulus,
        made.response,
        made.rating,
        definition=definition,
        corrected=False,
        bootstrap=2,
        rng=0,
    )
    stimulus, response = list(made.stimulus), list(made.response[0])
    rating, correct = list(made.rating[0]), list(made.correct[0])
    report = list(zip(response, rating, strict=True))
    if definition == "confidence":
        truth = slow.information(correct, rating)
    elif definition == "added":
        truth = slow.information(stimulus, report) - slow.information(stimulus, response)
    else:
        best = 0
        for value in set(report):
            ones = sum(s for s, r in zip(stimulus, report, strict=True) if r == value)
            best += max(ones, report.count(value) - ones)
        bound = slow.entropy([sum(stimulus), 300 - sum(stimulus)]) - slow.entropy(
            [best, 300 - best]
        )
        truth = slow.information(stimulus, report) - bound
    assert found.meta_i.value[0] == pytest.approx(truth, abs=1e-12)
    accuracy = sum(correct) / 300
    if definition != "report":
        assert found.meta_i2.value[0] == pytest.approx(
            truth / slow.entropy([sum(correct), 300 - sum(correct)])
        )
        most = slow.entropy([sum(correct), 300 - sum(correct)]) - 2 * (1 - accuracy)
        assert found.rmi.value[0] == pytest.approx(truth / most)


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_degenerate_trials(definition):
    stimulus = np.tile([0, 1], 40)
    rating = np.tile([1, 1, 2, 2, 3, 3], 14)[:80]
    right = stimulus.copy()
    some = np.where(np.arange(80) % 5 == 0, 1 - stimulus, stimulus)
    below = 1 - some
    response = np.stack([right, 1 - right, some, some, below])
    ratings = np.stack([rating, rating, rating, np.full(80, 2), rating])
    found = meta_information(
        stimulus, response, ratings, definition=definition, bootstrap=10, rng=0
    )
    assert found.meta_i2.flags[0] == Reason.NO_WRONG
    assert found.meta_i.flags[1] == Reason.NO_CORRECT
    assert found.meta_i1.flags[2] == Reason.NONE
    assert found.meta_i.flags[3] == Reason.CONSTANT
    assert found.meta_i.value[3] == pytest.approx(0.0, abs=1e-12)
    if definition != "report":  # there a best guess is never below chance
        assert found.rmi.flags[4] == found.meta_i1.flags[4] == Reason.LOW_SENSITIVITY
    for field in FIELDS.values():
        estimate = getattr(found, field)
        for value, flag in zip(estimate.value, estimate.flags, strict=True):
            assert np.isfinite(value) == (flag in {Reason.NONE, Reason.CONSTANT, Reason.UNSTABLE})
    assert list(found.to_frame()["model"]) == [0, 1, 2, 3, 4]


def test_trials_options():
    made = simulate_meta_d(d_prime=[1.5, 1.5], m_ratio=[1.0, 0.2], n_questions=600, rng=6)
    trials = made.stimulus, made.response, made.rating
    plain = meta_information(*trials, bootstrap=100, rng=0)
    assert plain.meta_i.difference(0, 1).p_value < 0.05
    assert plain.meta_i.method == "normal, standard error from the bootstrap over questions"
    raw = meta_information(*trials, corrected=False, bootstrap=100, rng=0)
    assert (raw.meta_i.value > plain.meta_i.value).all()
    alone = meta_information(*trials, clusters=["a"] * 600, bootstrap=5, rng=0)
    assert alone.meta_i.flags == (Reason.ONE_CLUSTER,) * 2
    assert np.isnan(alone.rmi.interval).all()
    doubled = [np.concatenate([values, values], axis=-1) for values in trials]
    pairs = np.tile(np.arange(600), 2)
    twice = meta_information(*doubled, corrected=False, clusters=pairs, bootstrap=100, rng=0)
    np.testing.assert_allclose(twice.meta_i.draws, raw.meta_i.draws, atol=1e-9)
    with pytest.raises(OptionError, match="'confidence', 'added', 'report'"):
        meta_information(*trials, definition="dayan")
