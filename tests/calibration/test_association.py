"""Rank statistics: golden values, slow twins, ties, weights, clusters, degenerate models."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from psychollm._base.errors import CodeError, OptionError, ShapeError
from psychollm.calibration.discrimination.association import gamma, point_biserial, somers_d, tau_b
from psychollm.calibration.discrimination.ranking import (
    NAMES,
    RANKING,
    auroc,
    average_precision,
    gradients,
    rank_statistics,
    scored_answers,
)
from psychollm.calibration.metric import estimate_all
from psychollm.calibration.tally import tallies
from psychollm.data.responses import Responses
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Resampling
from tests.oracles import association_slow as slow

CLOSED = Resampling(n=0)

ANSWERS = st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 1)), min_size=4, max_size=25).map(
    lambda rows: np.array(rows, dtype=float).T
)

# Keys of the golden cases, and the function and block they test.
KEYS = [
    (0, "auroc", "auroc2"),
    (0, "average_precision", "average_precision"),
    (0, "of errors", "average_precision_error"),
    (0, "somers_d", "somers_d"),
    (0, "point_biserial", "pointbiserial"),
    (0, "tau_b", "kendall_tau_b"),
    (1, "auroc", "auc"),
    (1, "gamma", "gamma"),
    (1, "somers_d", "somers_dxy"),
    (1, "tau_b", "kendall_tau_b"),
    (1, "point_biserial", "pearson"),
]
FUNCTIONS = {
    "auroc": auroc,
    "gamma": gamma,
    "somers_d": somers_d,
    "tau_b": tau_b,
    "point_biserial": point_biserial,
    "average_precision": average_precision,
    "of errors": lambda *data, bootstrap: average_precision(
        *data, of="errors", bootstrap=bootstrap
    ),
}


def all_of(scores, correct, *, clusters=None, weights=None, options=CLOSED):
    answers = scored_answers(scores, correct, clusters=clusters, weights=weights)
    return estimate_all([RANKING], answers, options)


def values_of(scores, correct, weights=None):
    return np.array(
        [each.value[0] for each in all_of(scores[None], correct[None], weights=weights)]
    )


def golden_case(golden, case):
    folder = golden / "metacognition"
    frame = pd.read_csv(folder / f"{case}.csv")
    blocks = json.loads((folder / f"{case}.expected.json").read_text())["blocks"]
    return frame, blocks


@pytest.mark.parametrize("case", ["gradconf_a", "gradconf_b"])
@pytest.mark.parametrize(("block", "name", "key"), KEYS)
def test_golden(golden, case, block, name, key):
    frame, blocks = golden_case(golden, case)
    wide = frame.pivot_table(index="model", columns="item", values=["confidence", "correct"])
    found = FUNCTIONS[name](wide["confidence"], wide["correct"], bootstrap=0)
    for row, model in enumerate(found.labels):
        expected = blocks[block]["values"][model][key]
        assert found.value[row] == pytest.approx(expected, abs=blocks[block]["tol"])


@pytest.mark.parametrize("case", ["gradconf_a", "gradconf_b"])
def test_golden_delong(golden, case):
    frame, blocks = golden_case(golden, case)
    wide = frame.pivot_table(index="model", columns="item", values=["confidence", "correct"])
    found = auroc(wide["confidence"], wide["correct"], bootstrap=0)
    for row, model in enumerate(found.labels):
        expected = blocks[1]["values"][model]
        assert found.se[row] == pytest.approx(expected["auc_se"], abs=blocks[1]["tol"])
        # pROC's interval is symmetric on the scale of the area itself, ours on that of log odds.
        step = 1.959963984540054 * found.se[row]
        wald = found.value[row] + np.array([-step, step])
        np.testing.assert_allclose(wald, expected["auc_ci_delong"], atol=blocks[1]["tol"])


@pytest.mark.parametrize("case", ["binconf_a", "binconf_b", "binconf_degenerate_a"])
def test_golden_yes_no(golden, case):
    frame, blocks = golden_case(golden, case)
    said = Responses(frame, model="model", question="item", value="yes")
    right = Responses(frame, model="model", question="item", value="correct")
    yule, area = gamma(said, right, bootstrap=0), auroc(said, right, bootstrap=0)
    for row, model in enumerate(yule.labels):
        expected = blocks[0]["values"][model]
        for found, key in ((yule, "yule_q_gamma"), (area, "auroc2_binary")):
            wanted = np.nan if expected[key] is None else expected[key]
            np.testing.assert_allclose(found.value[row], wanted, atol=1e-9)
            assert np.isfinite(wanted) or found.flags[row]


@pytest.mark.parametrize("case", ["metad_trials_a", "metad_trials_b"])
@pytest.mark.parametrize(("function", "key"), [(auroc, "auroc2"), (gamma, "gamma")])
def test_golden_ratings(golden, case, function, key):
    frame, blocks = golden_case(golden, case)
    wide = frame.pivot_table(index="model", columns="trial", values=["rating", "correct"])
    found = function(wide["rating"], wide["correct"], bootstrap=0)
    for row, model in enumerate(found.labels):
        assert found.value[row] == pytest.approx(blocks[0]["values"][model][key], abs=1e-9)


@given(ANSWERS)
def test_values_are_those_of_the_slow_twins(data):
    scores, correct = data
    assume(0 < correct.sum() < correct.size and np.ptp(scores) > 0)
    expected = [slow.STATISTICS[name](scores, correct) for name in NAMES]
    np.testing.assert_allclose(values_of(scores, correct), expected, atol=1e-12)


@given(ANSWERS, st.data())
def test_weights_count_answers(data, draw):
    scores, correct = data
    assume(0 < correct.sum() < correct.size and np.ptp(scores) > 0)
    n = correct.size
    weights = np.array(draw.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)), float)
    expected = [slow.STATISTICS[name](scores, correct, weights) for name in NAMES]
    np.testing.assert_allclose(values_of(scores, correct, weights), expected, atol=1e-12)
    rows = np.repeat(np.arange(n), weights.astype(int))
    np.testing.assert_allclose(values_of(scores[rows], correct[rows]), expected, atol=1e-12)


@given(ANSWERS)
def test_counting_all_answers_twice_changes_nothing(data):
    scores, correct = data
    assume(0 < correct.sum() < correct.size and np.ptp(scores) > 0)
    twice = values_of(np.tile(scores, 2), np.tile(correct, 2))
    np.testing.assert_allclose(twice, values_of(scores, correct), atol=1e-12)


@given(ANSWERS, st.randoms(use_true_random=False))
def test_order_of_questions_changes_nothing_to_the_last_bit(data, random):
    scores, correct = data
    assume(0 < correct.sum() < correct.size)
    order = list(range(correct.size))
    random.shuffle(order)
    np.testing.assert_array_equal(
        values_of(scores, correct), values_of(scores[order], correct[order])
    )


@given(ANSWERS)
def test_reversed_scores_and_reversed_classes(data):
    scores, correct = data
    assume(0 < correct.sum() < correct.size and np.ptp(scores) > 0)
    found = values_of(scores, correct)
    for flipped in (values_of(-scores, correct), values_of(scores, 1 - correct)):
        assert flipped[0] == pytest.approx(1 - found[0], abs=1e-12)
        for i in (1, 2, 3, 6):
            assert flipped[i] == pytest.approx(-found[i], abs=1e-12)
    both = values_of(-scores, 1 - correct)
    assert both[4] == pytest.approx(found[5], abs=1e-12)


@given(ANSWERS)
def test_values_lie_inside_their_bounds_and_intervals(data):
    scores, correct = data
    assume(2 <= correct.sum() <= correct.size - 2 and np.ptp(scores) > 0)
    for name, each in zip(NAMES, all_of(scores[None], correct[None]), strict=True):
        low, high = each.interval[0]
        least = 0.0 if name.startswith(("AUROC", "average")) else -1.0
        assert least - 1e-12 <= low <= each.value[0] + 1e-12, name
        assert each.value[0] - 1e-12 <= high <= 1.0 + 1e-12, name


def test_derivatives_are_those_of_differences():
    rng = np.random.default_rng(0)
    scores = np.round(rng.uniform(size=30), 1)
    correct = (rng.uniform(size=30) < scores).astype(float)
    tally = tallies(scored_answers(scores, correct))[0]
    for kind in (0, 1):
        for group in range(tally.values.size):
            moved = []
            for step in (1e-5, -1e-5):
                counts = [tally.correct[None].copy(), tally.wrong[None].copy()]
                counts[kind][0, group] += step
                moved.append(rank_statistics(tally.values, *counts)[0])
            slopes = (moved[0] - moved[1]) / 2e-5
            found = [gradient[kind][group] for gradient in gradients(tally)]
            np.testing.assert_allclose(found, slopes, atol=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_standard_errors_with_clusters_are_those_of_the_slow_twin(name):
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 6, size=24).astype(float)
    correct = (rng.uniform(size=24) < (1 + scores) / 7).astype(float)
    clusters = list(np.arange(24) % 7)
    found = all_of(scores[None], correct[None], clusters=clusters)[NAMES.index(name)]
    expected = slow.sandwich_se(slow.STATISTICS[name], scores, correct, clusters)
    assert found.se[0] == pytest.approx(expected, rel=1e-6)
    assert found.method.startswith("sandwich")


def test_gamma_has_the_standard_error_of_goodman_and_kruskal():
    # 4 (P + Q)^-2 sqrt(sum n (Q A - P D)^2) over cells, P and Q counting each pair twice.
    scores = np.repeat([1.0, 2.0, 3.0], [6, 8, 6])
    correct = np.array([1.0] * 1 + [0.0] * 5 + [1.0] * 4 + [0.0] * 4 + [1.0] * 5 + [0.0])
    p = q = 0
    parts = []
    for s, y in zip(scores, correct, strict=True):
        agree = np.sum((scores > s) & (correct > y)) + np.sum((scores < s) & (correct < y))
        against = np.sum((scores > s) & (correct < y)) + np.sum((scores < s) & (correct > y))
        p, q = p + agree, q + against
        parts.append((agree, against))
    expected = 4 / (p + q) ** 2 * np.sqrt(sum((q * a - p * d) ** 2 for a, d in parts))
    found = gamma(scores[None], correct[None], bootstrap=0)
    # Ours has n / (n - 1) below the root.
    assert found.se[0] == pytest.approx(expected * np.sqrt(20 / 19), rel=1e-12)


def test_differences_are_paired():
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(2, 300))
    correct = np.tile((scores[0] + rng.normal(size=300) > 0).astype(float), (2, 1))
    scores[1] = scores[0] + 0.05 * rng.normal(size=300)
    for function in (auroc, gamma, tau_b):
        found = function(scores, correct, rng=0, bootstrap=200)
        difference = found.difference(0, 1)
        assert difference.se < 0.3 * found.se[0]
        assert difference.value == found.value[0] - found.value[1]


def test_without_resamples_there_is_no_difference():
    found = auroc([[1, 2, 3, 4]] * 2, [[0, 1, 0, 1]] * 2, bootstrap=0)
    assert np.isfinite(found.interval).all()
    with pytest.raises(OptionError, match="without resamples"):
        found.difference(0, 1)


def test_degenerate_models_have_reasons():
    scores = [[1, 2, 3, 4]] * 4 + [[2, 2, 2, 2], [np.nan] * 4, [1, 2, 2, 3], [1, 2, 3, 4]]
    right = [
        [1, 1, 1, 1],
        [0, 0, 0, 0],
        [0, 0, 1, 1],
        [1, 0, 0, 0],
        [1, 0, 1, 0],
        [1, 0, 1, 0],
        [0, 0, 1, 1],
        [0, 1, 0, 0],
    ]
    found = dict(zip(NAMES, all_of(scores, right), strict=True))
    flags = {
        "AUROC": "NO_WRONG NO_CORRECT PERFECT PERFECT CONSTANT NO_ANSWERS FEW_VARY TOO_FEW",
        "gamma": "NO_WRONG NO_CORRECT PERFECT PERFECT CONSTANT NO_ANSWERS AT_BOUND TOO_FEW",
    }
    for name, expected in flags.items():
        assert [flag.name for flag in found[name].flags] == expected.split()
    undefined = {
        "AUROC": [0, 1, 5],
        "gamma": [0, 1, 4, 5],
        "Somers' d": [0, 1, 5],
        "tau-b": [0, 1, 4, 5],
        "average precision": [1, 5],
        "average precision of errors": [0, 5],
        "point-biserial correlation": [0, 1, 4, 5],
    }
    for name, rows in undefined.items():
        assert np.flatnonzero(np.isnan(found[name].value)).tolist() == rows, name
        assert all(found[name].flags[row] for row in rows)
    np.testing.assert_array_equal(found["Somers' d"].interval[4], [0.0, 0.0])
    assert found["AUROC"].value[2] == 1.0 > found["AUROC"].interval[2, 0] > 0.0


def test_one_cluster_has_no_interval():
    found = auroc([[1, 2, 3, 4]], [[0, 1, 0, 1]], clusters=["a"] * 4, bootstrap=0)
    assert found.flags == (Reason.ONE_CLUSTER,)
    assert np.isnan(found.interval).all()
    assert np.isnan(found.se).all()


def test_a_vector_is_one_model_and_a_series_follows_its_labels():
    assert auroc([0.1, 0.9], [0, 1], bootstrap=0).value.tolist() == [1.0]
    right = pd.DataFrame([[1, 0, 1], [0, 1, 1]], columns=list("xyz"))
    shared = pd.Series({"z": 0.9, "x": 0.2, "y": 0.1})
    np.testing.assert_array_equal(
        auroc(shared, right, bootstrap=0).value, auroc([0.2, 0.1, 0.9], right).value
    )


def test_bad_input():
    with pytest.raises(OptionError, match="of='best'"):
        average_precision([[1.0, 2.0]], [[1, 0]], of="best")
    with pytest.raises(ShapeError, match="one (number for each of the|value per model and)"):
        gamma([[1.0, 2.0]], [[1, 0, 1]])
    with pytest.raises(CodeError, match="infinity"):
        tau_b([[1.0, np.inf]], [[1, 0]])
    with pytest.raises(OptionError, match="weights"):
        somers_d([[1.0, 2.0]], [[1, 0]], weights=[1.0, np.inf])
    with pytest.raises(OptionError, match="bootstrap"):
        point_biserial([[1.0, 2.0]], [[1, 0]], bootstrap=1)


def test_coverage():
    # 400 data sets of 80 answers; truths from two million answers. Nominal 95 %, standard error
    # 1.1 %: fails by chance once in some thousand runs.
    rng = np.random.default_rng(3)

    def drawn(n):
        confidence = np.round(rng.beta(2, 1.3, size=n), 2)
        return confidence, (rng.uniform(size=n) < confidence).astype(float)

    tally = tallies(scored_answers(*drawn((1, 2_000_000))))[0]
    truth = rank_statistics(tally.values, tally.correct[None], tally.wrong[None])[0]
    for value, each in zip(truth, all_of(*drawn((400, 80))), strict=True):
        low, high = each.interval.T
        assert 0.91 < np.mean((low <= value) & (value <= high)) < 0.985, each.name
