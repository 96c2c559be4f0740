"""Gates: the lowest threshold that keeps its promise, and who is let through."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, binom, norm, t

from psychollm._base.errors import CodeError, LabelError, OptionError, PsychollmWarning, ShapeError
from psychollm.calibration import confidence_gate
from psychollm.calibration.gates.guarantee import fewest_answers, steps_of


def by_hand(confidence, right, at_most=0.1, certainty=0.9):
    """Return threshold, coverage, error and upper bound by loops over thresholds."""
    found = None
    start = next(n for n in range(1, 9999) if binom.cdf(1, n, at_most) <= 1.0 - certainty)
    for threshold in sorted(set(confidence), reverse=True):
        given = [r for c, r in zip(confidence, right, strict=True) if c >= threshold]
        n, wrong = len(given), len(given) - sum(given)
        if n < start:
            continue
        upper = beta.ppf(certainty, wrong + 1, n - wrong) if wrong < n else 1.0
        if upper > at_most:
            break
        found = (threshold, n / len(right), wrong / n, upper)
    return found


@pytest.mark.parametrize("seed", range(6))
def test_threshold_is_that_of_plain_loops(seed):
    rng = np.random.default_rng(seed)
    confidence = rng.choice([0.5, 0.7, 0.8, 0.9, 0.95, 1.0], 300)
    right = (rng.random(300) < confidence + 0.02).astype(int)
    gate = confidence_gate(confidence, right)
    row = gate.to_frame().iloc[0]
    expected = by_hand(confidence.tolist(), right.tolist())
    if expected is None:
        assert not row["promised"]
        assert np.isnan(row["threshold"])
        assert row["coverage"] == 0.0
    else:
        assert row["promised"]
        np.testing.assert_allclose(
            row[["threshold", "coverage", "error", "upper"]].astype(float), expected
        )


def test_columns_are_those_that_other_programs_read():
    gate = confidence_gate([[0.9] * 40, [0.2] * 40], [[1] * 40, [0] * 40])
    frame = gate.to_frame()
    assert list(frame) == ["model", "group", "threshold", "coverage", "error", "upper", "promised"]
    assert frame["promised"].tolist() == [True, False]
    assert frame["promised"].dtype == bool


def test_order_of_answers_and_a_monotone_change_of_confidence_do_not_matter():
    rng = np.random.default_rng(3)
    confidence = rng.choice([0.6, 0.8, 0.9, 1.0], 200)
    right = (rng.random(200) < confidence).astype(int)
    order = rng.permutation(200)
    first = confidence_gate(confidence, right)
    again = confidence_gate(confidence[order], right[order])
    scaled = confidence_gate(10 * confidence, right)
    assert first.coverage == again.coverage == scaled.coverage
    assert first.threshold == again.threshold


def test_promise_of_simulated_sets_is_rarely_broken():
    rng = np.random.default_rng(1)
    levels, wrong = np.array([0.5, 0.8, 0.9, 1.0]), np.array([0.4, 0.14, 0.12, 0.07])
    place = rng.integers(0, 4, (300, 400))
    right = (rng.random(place.shape) >= wrong[place]).astype(int)
    gate = confidence_gate(levels[place], right)
    error = np.cumsum(wrong[::-1])[::-1] / np.arange(4, 0, -1)
    good = gate.promised[:, 0]
    at = np.searchsorted(levels, gate.threshold[good, 0])
    assert good.mean() > 0.3
    assert (error[at] > 0.1).sum() / 300 < 0.1
    assert (error[at] > 0.1).any()  # the test is not so careful that it never errs


def test_few_answers_promise_nothing_and_say_so():
    gate = confidence_gate([0.9] * 21, [1] * 21)
    assert gate.fewest == 22
    assert not gate.promised.any()
    assert gate.flags[0][0].name == "FEW_FOR_GUARANTEE"
    assert confidence_gate([0.9] * 22, [1] * 22).promised.all()
    assert "too few answers" in gate.summary()


@pytest.mark.parametrize("at_most", [0.001, 0.03, 0.1, 0.5])
@pytest.mark.parametrize("wrong", [0, 1])
def test_fewest_answers_by_trial(at_most, wrong):
    n = fewest_answers(at_most, 0.9, wrong)
    assert binom.cdf(wrong, n, at_most) <= 0.1 < binom.cdf(wrong, n - 1, at_most)


def test_gaps_and_empty_rows():
    confidence = pd.DataFrame(
        [[0.9] * 30 + [None] * 10, [None] * 40], index=["a", "b"], columns=range(40)
    )
    correct = pd.DataFrame([[True] * 25 + [False] * 15] * 2, index=["b", "a"], columns=range(40))
    gate = confidence_gate(confidence, correct.astype(float))
    frame = gate.to_frame().set_index("model")
    assert gate.n[[gate.labels.index("a"), gate.labels.index("b")], 0].tolist() == [30.0, 0.0]
    assert not frame.loc["b", "promised"]
    assert gate.flags[gate.labels.index("b")][0].name == "NO_ANSWERS"


def test_groups_have_gates_of_their_own_and_others_none():
    confidence, right = np.tile([0.9, 0.5], 200), np.tile([1, 0], 200)
    groups = pd.Series(np.repeat(["law", "art"], 200)).astype("category")
    right[:200] = np.random.default_rng(0).integers(0, 2, 200)
    gate = confidence_gate(confidence, right, groups=groups)
    assert gate.to_frame()["promised"].tolist() == [False, True]
    with pytest.warns(PsychollmWarning, match="'tax' is unknown to the gate"):
        said = gate.decide([0.9, 0.9, 0.9, np.nan], ["law", "art", "tax", "art"])
    assert said.tolist() == [False, True, False, False]
    with pytest.raises(OptionError, match="group='law'"):
        gate.decide(0.9)
    with pytest.raises(ShapeError, match="one each"):
        gate.decide([0.9, 0.9], ["art"])


def test_gate_without_groups_promises_no_group():
    gate = confidence_gate([0.9] * 50, [1] * 50)
    assert gate.decide(0.9).item()
    with pytest.warns(PsychollmWarning, match="no guarantee"):
        assert not gate.decide([0.9], "law").any()


def test_whose_confidence_it_is_must_be_said():
    gate = confidence_gate(
        pd.DataFrame([[0.9] * 50, [0.8] * 50], index=["a", "b"]),
        pd.DataFrame([[1] * 50, [1] * 50], index=["a", "b"]),
    )
    assert gate.decide([0.85], model="b").tolist() == [True]
    assert gate.decide([0.85], model="a").tolist() == [False]
    with pytest.raises(OptionError, match="model='a'"):
        gate.decide(0.9)
    with pytest.raises(LabelError, match="'c' is not in the gate"):
        gate.decide(0.9, model="c")


def test_confidence_on_another_scale_is_refused():
    gate = confidence_gate([0.9] * 50, [1] * 50)
    with pytest.raises(CodeError, match="same scale"):
        gate.decide(95)
    assert confidence_gate([9] * 50, [1] * 50).decide(10).item()


def test_single_precision_is_not_below_its_own_threshold():
    gate = confidence_gate(np.full(50, 0.95), np.ones(50))
    assert gate.decide(np.full(3, 0.95, dtype=np.float32)).all()
    gate = confidence_gate(np.full(50, 0.95, dtype=np.float32), np.ones(50))
    assert gate.decide(0.95).item()


def test_clusters_without_an_error_count_once():
    confidence, right = np.full(100, 0.9), np.ones(100, dtype=int)
    alone = confidence_gate(confidence, right)
    own = confidence_gate(confidence, right, clusters=np.arange(100))
    fives = confidence_gate(confidence, right, clusters=np.repeat(np.arange(20), 5))
    assert own.upper == alone.upper
    assert not fives.promised.any()  # twenty passages are fewer than 22 answers


def test_independent_answers_of_clusters_by_hand():
    rng = np.random.default_rng(2)
    confidence = rng.permutation(40) / 40
    member, wrong = rng.integers(0, 9, 40), (rng.random(40) < 0.3).astype(float)
    steps = steps_of(confidence, wrong, member, 0.9)
    for step, threshold in enumerate(steps.threshold):
        here = confidence >= threshold
        n = np.array([(member[here] == g).sum() for g in np.unique(member[here])])
        h = np.array([wrong[here & (member == g)].sum() for g in np.unique(member[here])])
        r, groups, kish = h.sum() / n.sum(), len(n), n.sum() ** 2 / (n**2).sum()
        size = kish
        if 0.0 < r < 1.0 and groups > 1:
            e = h - r * n
            telling = (e**2).sum() ** 2 / (e**4).sum()
            df = 2.0 * telling / max(1.0 - telling / groups, 1e-9)
            df = max(min(df, kish - 1.0), 1.0)
            seen = r * (1 - r) * (groups - 1) / groups * n.sum() ** 2 / (e**2).sum()
            size = np.sqrt(kish * min(seen * (norm.ppf(0.9) / t.ppf(0.9, df)) ** 2, n.sum()))
        if (n == 1).all():
            size = n.sum()
        np.testing.assert_allclose(steps.size[step], size, rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"at_most": 0.0}, "at_most"),
        ({"at_most": 1.0}, "at_most"),
        ({"certainty": 0.5}, "certainty"),
        ({"groups": ["a"]}, "groups holds 1 labels"),
        ({"groups": [None] * 30}, "groups"),
        ({"clusters": [1]}, "clusters"),
    ],
)
def test_bad_arguments_are_named(options, message):
    with pytest.raises((OptionError, LabelError, ShapeError), match=message):
        confidence_gate([0.9] * 30, [1] * 30, **options)


def test_correct_must_be_right_or_wrong():
    with pytest.raises(CodeError, match="correct"):
        confidence_gate([0.9] * 30, [2] * 30)


def test_curve_holds_all_steps():
    gate = confidence_gate([[0.9, 0.9, 0.5], [0.3, 0.2, 0.1]], [[1, 0, 0], [1, 1, 0]])
    curve = gate.curve()
    assert curve["threshold"].tolist() == [0.9, 0.5, 0.3, 0.2, 0.1]
    np.testing.assert_allclose(curve["error"], [0.5, 2 / 3, 0.0, 0.0, 1 / 3])
    np.testing.assert_allclose(curve["coverage"], [2 / 3, 1.0, 1 / 3, 2 / 3, 1.0])
    assert gate.tables()["gates"]["flag"].tolist() == ["too few answers to guarantee any risk"] * 2
