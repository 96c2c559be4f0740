"""Areas under the ROC curve: pROC, the slow twin, ties, one class, coverage."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from psychollm._base.errors import CodeError, LabelError, ShapeError
from psychollm.calibration.discrimination.ranking import auroc
from psychollm.data.responses import Responses
from psychollm.estimates.reasons import Reason
from tests.oracles import calibration_slow as slow

LEVELS = st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 1)), min_size=4, max_size=25).map(
    lambda rows: np.array(rows, dtype=float).T
)


def test_golden(golden):
    folder = golden / "metacognition"
    frame = pd.read_csv(folder / "gradconf_a.csv")
    block = json.loads((folder / "gradconf_a.expected.json").read_text())["blocks"][1]
    wide = frame.pivot_table(index="model", columns="item", values=["confidence", "correct"])
    found = auroc(wide["confidence"], wide["correct"])
    for row, model in enumerate(found.labels):
        assert found.value[row] == pytest.approx(block["values"][model]["auc"], abs=1e-12)
        assert found.se[row] == pytest.approx(block["values"][model]["auc_se"], abs=1e-12)


@given(LEVELS)
def test_area_and_error_are_those_of_the_slow_twin(data):
    scores, correct = data
    assume(2 <= correct.sum() <= correct.size - 2 and np.ptp(scores) > 0)
    found = auroc(scores[None], correct[None], bootstrap=0)
    assert found.value[0] == pytest.approx(slow.area(scores, correct), abs=1e-12)
    assert found.se[0] == pytest.approx(slow.delong_se(scores, correct), abs=1e-12)
    low, high = found.interval[0]
    assert 0.0 <= low <= found.value[0] <= high <= 1.0


@given(LEVELS)
def test_reversed_scores_and_reversed_classes(data):
    scores, correct = data
    assume(0 < correct.sum() < correct.size and np.ptp(scores) > 0)
    value = auroc(scores[None], correct[None], bootstrap=0).value[0]
    assert auroc(-scores[None], correct[None], bootstrap=0).value[0] == pytest.approx(
        1 - value, abs=1e-12
    )
    assert auroc(scores[None], 1 - correct[None], bootstrap=0).value[0] == pytest.approx(
        1 - value, abs=1e-12
    )


@given(LEVELS)
def test_only_the_order_of_the_scores_matters(data):
    scores, correct = data
    first, second = (
        auroc(x[None], correct[None], bootstrap=0).value for x in (scores, np.exp(scores) + 3)
    )
    np.testing.assert_array_equal(first, second)


def test_undefined_and_degenerate():
    scores = np.array([[1.0, 2, 3], [1, 2, 3], [1, 1, 1], [1, 2, 3], [np.nan] * 3, [1, 2, 3]])
    right = [[1, 1, 1], [0, 0, 0], [1, 0, 1], [0, 0, 1], [1, 0, 1], [1, 0, 0]]
    found = auroc(scores, right)
    assert found.flags == (
        Reason.NO_WRONG,
        Reason.NO_CORRECT,
        Reason.CONSTANT,
        Reason.PERFECT,
        Reason.NO_ANSWERS,
        Reason.PERFECT,
    )
    assert np.isnan(found.value[[0, 1, 4]]).all()
    np.testing.assert_array_equal(found.interval[2], [0.5, 0.5])
    assert found.value[3] == 1.0
    assert 0.0 < found.interval[3, 0] < 1.0 == found.interval[3, 1]
    assert found.interval[5, 0] == 0.0 < found.interval[5, 1]


def test_coverage():
    # Normal scores one standard deviation apart: area .760. 30 and 20 of each; nominal 95 %,
    # standard error .7 %.
    rng = np.random.default_rng(3)
    truth, right = 0.7602499389, np.repeat([1, 0], [30, 20])
    scores = rng.normal(size=(1000, 50)) + right
    low, high = auroc(scores, np.tile(right, (1000, 1)), bootstrap=0).interval.T
    assert 0.935 < np.mean((low <= truth) & (truth <= high)) < 0.97


def test_one_score_for_all_models_and_labelled_scores():
    right = Responses([[1, 0, 1], [0, 0, 1]], models=["a", "b"], questions=list("xyz"))
    shared = auroc([0.2, 0.1, 0.9], right)
    assert shared.labels == ("a", "b")
    frame = pd.DataFrame([[0.9, 0.2, 0.1]] * 2, index=["b", "a"], columns=list("zxy"))
    np.testing.assert_array_equal(auroc(frame, right).value, shared.value)


def test_bad_input():
    with pytest.raises(ShapeError, match="one (number for each of the|value per model and)"):
        auroc([[1.0, 2.0]], [[1, 0, 1]])
    with pytest.raises(LabelError, match="'q'"):
        auroc(pd.DataFrame([[1.0]], columns=["q"]), pd.DataFrame([[1]], columns=["r"]))
    with pytest.raises(CodeError, match="correctness"):
        auroc([[1.0, 2.0]], [[2, 0]])
