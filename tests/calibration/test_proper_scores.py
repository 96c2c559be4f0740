"""Proper scores and Spiegelhalter's test: golden values, slow twins, laws, degenerate input."""

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from psychollm._base.errors import CodeError, OptionError, ShapeError
from psychollm.calibration.scores.proper_scores import brier, brier_skill, log_score
from psychollm.calibration.scores.spiegelhalter import spiegelhalter
from psychollm.estimates.reasons import Reason
from tests.oracles import proper_scores_slow as slow

CASES = [
    (case, model)
    for case in ("gradconf_a", "gradconf_b")
    for model in ("calibrated", "overconf", "underconf", "noisy")
]
PAIRS = st.lists(st.tuples(st.integers(0, 10), st.integers(0, 1)), min_size=2, max_size=30).map(
    lambda rows: (np.array(rows).T[0] / 10, np.array(rows, float).T[1])
)
FEW = {"bootstrap": 20, "rng": 0}


@cache
def case(golden, name, model):
    """Confidence, correctness and the blocks of expected values of one model."""
    folder = golden / "metacognition"
    frame = pd.read_csv(folder / f"{name}.csv")
    frame = frame[frame.model == model]
    blocks = json.loads((folder / f"{name}.expected.json").read_text())["blocks"]
    expected = [block["values"][model] for block in blocks[:2]]
    return frame.confidence.to_numpy(), frame.correct.to_numpy(float), *expected


@pytest.mark.parametrize(("name", "model"), CASES)
def test_golden(golden, name, model):
    confidence, correct, first, second = case(golden, name, model)
    score = brier(confidence, correct, **FEW).value[0]
    assert score == pytest.approx(first["brier"], abs=1e-7)
    assert score == pytest.approx(second["brier"], abs=1e-6)
    logarithmic = log_score(confidence, correct, clip=second["clip_eps"], **FEW).value[0]
    assert logarithmic == pytest.approx(first["log_loss_clip1e3"], abs=1e-7)
    skill = brier_skill(confidence, correct, **FEW).value[0]
    assert skill == pytest.approx(first["brier_skill"], abs=1e-7)
    test = spiegelhalter(confidence, correct)
    assert test.statistic[0] == pytest.approx(first["spiegelhalter_z"], abs=1e-7)


@pytest.mark.parametrize(("name", "model"), CASES)
def test_golden_of_clipped_confidence(golden, name, model):
    """val.prob was given confidences inside [0.001, 0.999]."""
    confidence, correct, _, second = case(golden, name, model)
    inside, expected = np.clip(confidence, 0.001, 0.999), second["val_prob"]
    assert brier(inside, correct, **FEW).value[0] == pytest.approx(expected["Brier"], abs=1e-6)
    test = spiegelhalter(inside, correct)
    assert test.statistic[0] == pytest.approx(expected["S:z"], abs=1e-6)
    assert test.p_value[0] == pytest.approx(expected["S:p"], abs=1e-6)


@pytest.mark.parametrize(("name", "model"), CASES)
def test_indices_of_the_log_likelihood(golden, name, model):
    """val.prob's D and Nagelkerke's R2 compare the log score with that of the base rate."""
    confidence, correct, _, second = case(golden, name, model)
    n, share = correct.size, correct.mean()
    base = -(share * np.log(share) + (1 - share) * np.log(1 - share))
    gain = 2 * n * (base - log_score(confidence, correct, **FEW).value[0])
    expected = second["val_prob"]
    assert gain == pytest.approx(expected["D:Chi-sq"], abs=1e-6, rel=1e-6)
    assert (gain - 1) / n == pytest.approx(expected["D"], abs=1e-6)
    r2 = (1 - np.exp(-gain / n)) / (1 - np.exp(-2 * base))
    assert r2 == pytest.approx(expected["R2"], abs=1e-6)


@given(PAIRS)
def test_scores_are_those_of_the_slow_twin_and_of_sklearn(pair):
    confidence, correct = pair
    score, logarithmic = brier(*pair, **FEW).value[0], log_score(*pair, clip=0.01, **FEW).value[0]
    assert score == pytest.approx(slow.brier(*pair), abs=1e-14)
    assert logarithmic == pytest.approx(slow.log_score(*pair, 0.01), abs=1e-13)
    inside = np.clip(confidence, 0.01, 0.99)
    metrics = pytest.importorskip("sklearn.metrics")
    sklearn = metrics.log_loss(correct, np.column_stack([1 - inside, inside]), labels=[0, 1])
    assert logarithmic == pytest.approx(sklearn, abs=1e-13)
    assert 0.0 <= score <= 1.0


@given(PAIRS)
def test_skill_is_relative_to_a_constant(pair):
    confidence, correct = pair
    assume(0 < correct.sum() < correct.size)
    share = correct.mean()
    own = 1 - slow.brier(confidence, correct) / (share * (1 - share))
    assert brier_skill(*pair, **FEW).value[0] == pytest.approx(own, abs=1e-12)
    half = 1 - 4 * slow.brier(confidence, correct)
    found = brier_skill(*pair, reference=0.5, **FEW)
    assert found.value[0] == pytest.approx(half, abs=1e-12)


@given(PAIRS)
def test_label_flip(pair):
    confidence, correct = pair
    flipped = (1 - confidence, 1 - correct)
    for score in (brier, log_score):
        assert score(*pair, **FEW).value[0] == pytest.approx(score(*flipped, **FEW).value[0])


@given(PAIRS, st.randoms(use_true_random=False))
def test_order_and_duplication_of_questions_change_nothing(pair, random):
    confidence, correct = pair
    order = random.sample(range(correct.size), correct.size)
    for score in (brier, log_score, brier_skill):
        once = score(*pair, **FEW).value
        np.testing.assert_array_equal(score(confidence[order], correct[order], **FEW).value, once)
        twice = score(np.tile(confidence, 2), np.tile(correct, 2), **FEW).value
        np.testing.assert_allclose(twice, once, rtol=1e-13)


def test_no_constant_beats_the_truth_on_average():
    """A score is proper: stating the probability loses least."""
    chance = 0.3
    stated = np.linspace(0.05, 0.95, 19)
    for loss in (
        lambda f: chance * (1 - f) ** 2 + (1 - chance) * f**2,
        lambda f: -(chance * np.log(f) + (1 - chance) * np.log(1 - f)),
    ):
        assert stated[np.argmin([loss(f) for f in stated])] == pytest.approx(chance)


def test_degenerate_models():
    nothing = np.full(4, np.nan)
    confidence = [nothing, [0.9, 0.8, 0.7, 0.6], [0.9, 0.8, 0.7, 0.6], [0.0, 1.0, 0.5, 0.5]]
    correct = [[1, 0, 1, 0], [1, 1, 1, 1], [0, 0, 0, 0], [1, 1, 0, 0]]
    skill = brier_skill(confidence, correct, **FEW)
    assert skill.flags == (Reason.NO_ANSWERS, Reason.NO_WRONG, Reason.NO_CORRECT, Reason.NONE)
    assert np.isnan(skill.value[:3]).all()
    constant = brier_skill(confidence, correct, reference=0.5, **FEW)
    assert np.isfinite(constant.value[1:]).all()
    logarithmic = log_score(confidence, correct, **FEW)
    assert [flag.name for flag in logarithmic.flags] == ["NO_ANSWERS", "NONE", "NONE", "CLIPPED"]
    test = spiegelhalter(confidence, correct)
    assert test.flags[0] is Reason.NO_ANSWERS
    assert test.flags[3] is Reason.NO_TEST_VARIANCE
    assert list(test.to_frame().columns) == ["model", "statistic", "p_value", "n", "flag"]


@pytest.mark.parametrize("clip", [0.0, 0.5, -1, "x"])
def test_a_clip_outside_its_range_is_refused(clip):
    with pytest.raises(OptionError, match="clip"):
        log_score([0.5, 0.6], [0, 1], clip=clip)


@pytest.mark.parametrize("reference", [0.0, 1.0, "mean"])
def test_a_reference_that_is_no_probability_is_refused(reference):
    with pytest.raises(OptionError, match="reference"):
        brier_skill([0.5, 0.6], [0, 1], reference=reference)


@pytest.mark.parametrize("function", [brier, log_score, brier_skill, spiegelhalter])
def test_bad_tables_are_refused(function):
    with pytest.raises(CodeError, match=r"confidence.*divide by 100"):
        function([50.0, 60.0], [0, 1])
    with pytest.raises(ShapeError, match="correctness has"):
        function([[0.5, 0.6]], [[0, 1, 1]])
    with pytest.raises(OptionError, match="weights"):
        function([0.5, 0.6], [0, 1], weights=[1.0, np.inf])
