"""Type-2 d' and c: golden values, the slow twin, symmetries, coverage, degenerate models."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import CodeError, LabelError
from psychollm.calibration.decisions.signal_detection import CRITERION, D_PRIME, signal_detection
from psychollm.calibration.decisions.two_by_two import Cells
from psychollm.estimates.reasons import Reason
from tests.calibration.test_confusion import golden_case
from tests.oracles import association_slow as slow

COUNTS = st.tuples(*[st.integers(0, 12)] * 4).filter(any)


def answers(tp, fp, fn, tn):
    said = [1] * tp + [1] * fp + [0] * fn + [0] * tn
    right = [1] * tp + [0] * fp + [1] * fn + [0] * tn
    return np.array([said], float), np.array([right], float)


def cells(*counts):
    return Cells(*np.array(counts, dtype=float)[:, None])


@pytest.mark.parametrize("case", ["binconf_a", "binconf_b", "binconf_degenerate_a"])
def test_golden(golden, case):
    said, right, block = golden_case(golden, case)
    found = signal_detection(said.values, right.values, bootstrap=0)
    for row, model in enumerate(said.models):
        expected = block["values"][model]
        for estimate, key in (
            (found.sensitivity, "d2_loglinear"),
            (found.criterion, "c2_loglinear"),
        ):
            wanted = np.nan if expected[key] is None else expected[key]
            np.testing.assert_allclose(estimate.value[row], wanted, atol=1e-9)


@given(COUNTS)
def test_values_and_errors_are_those_of_the_slow_twin(counts):
    sensitivity, criterion, error = slow.type2(*counts)
    found = signal_detection(*answers(*counts), bootstrap=0)
    np.testing.assert_allclose(found.sensitivity.value[0], sensitivity, atol=1e-12)
    np.testing.assert_allclose(found.criterion.value[0], criterion, atol=1e-12)
    if found.sensitivity.n[0] > 1:
        np.testing.assert_allclose(found.sensitivity.se[0], error, atol=1e-12)
        np.testing.assert_allclose(found.criterion.se[0], error / 2, atol=1e-12)


@pytest.mark.parametrize("statistic", [D_PRIME, CRITERION])
def test_derivatives_are_those_of_differences(statistic):
    counts = np.array([7.0, 4.0, 3.0, 9.0])
    found = statistic.gradient(cells(*counts))[:, 0]
    for place in range(4):
        step = np.eye(4)[place] * 1e-5
        up, down = (statistic.value(cells(*(counts + s)))[0] for s in (step, -step))
        assert found[place] == pytest.approx((up - down) / 2e-5, abs=1e-8)


@given(COUNTS)
def test_symmetries(counts):
    tp, fp, fn, tn = counts
    first = signal_detection(*answers(tp, fp, fn, tn), bootstrap=0)
    # No for yes: both change their sign. Correct for wrong: d' does, c stays.
    other = signal_detection(*answers(fn, tn, tp, fp), bootstrap=0)
    third = signal_detection(*answers(fp, tp, tn, fn), bootstrap=0)
    for name, no, wrong in (("sensitivity", -1, -1), ("criterion", -1, 1)):
        own = getattr(first, name).value
        np.testing.assert_allclose(getattr(other, name).value, no * own, atol=1e-12)
        np.testing.assert_allclose(getattr(third, name).value, wrong * own, atol=1e-12)


def test_rates_are_shares_of_correct_and_of_wrong_answers():
    found = signal_detection(*answers(6, 3, 2, 9), bootstrap=0)
    assert found.hit_rate.value[0] == pytest.approx(6 / 8)
    assert found.false_alarm_rate.value[0] == pytest.approx(3 / 12)


def test_graded_confidence_is_cut():
    stated = [[0.9, 0.5, 0.51, 0.2, 0.7]]
    right = [[1, 1, 0, 0, 1]]
    cut = signal_detection([[1, 0, 1, 0, 1]], right, bootstrap=0)
    for above, same in ((0.5, True), (0.6, False)):
        found = signal_detection(stated, right, yes_above=above, bootstrap=0)
        assert (found.hit_rate.value == cut.hit_rate.value).all()
        assert (found.false_alarm_rate.value == cut.false_alarm_rate.value).all() == same


def test_degenerate_models_have_reasons():
    said = [[1, 1, 1, 1], [0, 0, 0, 0], [1, 0, 1, 0], [1, 0, 1, 0], [1, 1, 0, 0], [np.nan] * 4]
    right = [[1, 1, 0, 1], [1, 1, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0]]
    found = signal_detection(said, right, bootstrap=0)
    names = ["CORRECTED", "CORRECTED", "NO_WRONG", "NO_CORRECT", "CORRECTED", "NO_ANSWERS"]
    for estimate in (found.sensitivity, found.criterion):
        assert [flag.name for flag in estimate.flags] == names
        np.testing.assert_array_equal(np.isnan(estimate.value), [0, 0, 1, 1, 0, 1])
    # All yes with more correct than wrong answers: a trace of the correction, and flagged.
    assert 0.0 < abs(found.sensitivity.value[0]) < 0.5
    assert found.criterion.value[0] < 0.0 < found.criterion.value[1]
    assert found.to_frame()["flag"].tolist()[2] == "never wrong"


def test_coverage():
    # 4,000 tables of 60 answers, hit rate .8, false-alarm rate .3: d' 1.366, c -.159. Nominal
    # 95 %, standard error .35 %.
    rng = np.random.default_rng(0)
    counts = rng.multinomial(60, [0.6 * 0.8, 0.4 * 0.3, 0.6 * 0.2, 0.4 * 0.7], size=4000)
    tables = Cells(*counts.T.astype(float))
    for statistic, truth in ((D_PRIME, 1.36602), (CRITERION, -0.15861)):
        low, high = statistic.closed_form(tables, 0.95)[1].T
        assert 0.94 < np.mean((low <= truth) & (truth <= high)) < 0.98


def test_coverage_with_clusters():
    # 300 data sets of 40 clusters of 5, answers of a cluster alike. Hit rate .7, false alarms .4:
    # d' .778. Nominal 95 %, standard error 1.3 %; independent answers would cover about 80 %.
    rng = np.random.default_rng(1)
    right = np.repeat(rng.uniform(size=(300, 40)) < 0.6, 5, axis=1)
    copied = rng.uniform(size=(300, 200)) < 0.7
    draw = np.where(
        copied, np.repeat(rng.uniform(size=(300, 40)), 5, axis=1), rng.uniform(size=(300, 200))
    )
    said = draw < np.where(right, 0.7, 0.4)
    found = signal_detection(
        said.astype(float), right.astype(float), clusters=np.arange(200) // 5, bootstrap=0
    )
    low, high = found.sensitivity.interval.T
    assert 0.90 < np.mean((low <= 0.7777) & (high >= 0.7777)) < 0.99
    assert found.sensitivity.method == "sandwich, real"


def test_differences_are_paired():
    rng = np.random.default_rng(2)
    right = (rng.uniform(size=300) < 0.6).astype(float)
    said = np.where(rng.uniform(size=300) < 0.75, right, 1 - right)
    other = said.copy()
    other[:5] = 1 - other[:5]
    found = signal_detection(np.stack([said, other]), np.stack([right] * 2), rng=0, bootstrap=200)
    assert found.sensitivity.difference(0, 1).se < 0.5 * found.sensitivity.se[0]


def test_one_cluster_has_no_interval():
    found = signal_detection([[1, 0, 1, 0]], [[1, 0, 0, 1]], clusters=["a"] * 4, bootstrap=0)
    assert found.sensitivity.flags == (Reason.ONE_CLUSTER,)
    assert np.isnan(found.sensitivity.interval).all()


def test_bad_input():
    with pytest.raises(CodeError, match="divide by 100"):
        signal_detection([[50, 99]], [[1, 0]])
    with pytest.raises(LabelError, match="question 1 has no label"):
        signal_detection([[1, 0]], [[1, 0]], clusters=["a", None])


def test_clusters_that_show_no_false_alarm_hide_its_variance() -> None:
    # 20 wrong answers, false alarms in one of ten: 12 % of samples have none, and .84 of all
    # intervals held before.
    rng = np.random.default_rng(1)
    right = rng.random((300, 200)) < 0.9
    yes = rng.random((300, 200)) < np.where(right, 0.9, 0.1)
    found = signal_detection(yes * 1.0, right * 1.0, clusters=np.arange(200) // 5, bootstrap=0)
    for estimate, truth in ((found.sensitivity, 2.5631), (found.criterion, 0.0)):
        low, high = estimate.interval.T
        assert ((low <= truth) & (truth <= high)).mean() > 0.92
