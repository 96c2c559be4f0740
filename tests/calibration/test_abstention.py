"""Abstention: golden values, the slow twin, missing verdicts and grades, groups, coverage."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import CodeError, LabelError, ShapeError
from psychollm.calibration.selection.abstention import STATISTICS, abstention, abstention_by
from psychollm.estimates.reasons import Reason
from tests.oracles import association_slow as slow

KEYS = {
    "abst_precision": "precision",
    "abst_recall": "recall",
    "abst_f1": "f1",
    "over_abstention_rate": "over_abstention",
    "coverage": "coverage",
    "selective_accuracy_answerable_attempted": "selective_accuracy",
    "accuracy_answerable_all": "accuracy",
    "mcc": "phi",
}
MAYBE = st.sampled_from([0, 1, None])
ROWS = st.lists(st.tuples(MAYBE, MAYBE, MAYBE), min_size=1, max_size=14)


def golden_case(golden, case):
    folder = golden / "metacognition"
    frame = pd.read_csv(folder / f"{case}.csv")
    block = json.loads((folder / f"{case}.expected.json").read_text())["blocks"][0]
    columns = ["should_abstain", "abstained", "correct"]
    wide = {
        column: frame.pivot_table(
            index="model", columns="item", values=column, dropna=False, aggfunc="first"
        )
        for column in columns
    }
    return *wide.values(), block


@pytest.mark.parametrize("case", ["abstention_a", "abstention_b"])
@pytest.mark.parametrize("key", KEYS)
def test_golden(golden, case, key):
    should, made, right, block = golden_case(golden, case)
    found = getattr(abstention(made, should, right, bootstrap=0), KEYS[key])
    for row, model in enumerate(found.labels):
        assert set(block["values"][model]) == set(KEYS)
        expected = block["values"][model][key]
        if key == "mcc" and model == "never":
            # scikit-learn gives 0 where a margin of the table is empty; it is undefined.
            assert (expected, found.flags[row]) == (0.0, Reason.NEVER_ABSTAINS)
            expected = None
        wanted = np.nan if expected is None else expected
        np.testing.assert_allclose(found.value[row], wanted, atol=block["tol"])


@given(ROWS)
def test_values_are_those_of_the_slow_twin(rows):
    should, made, right = zip(*rows, strict=True)
    expected = slow.abstention(should, made, right)
    tables = [np.array([row], dtype=float) for row in (made, should, right)]
    found = abstention(*tables, bootstrap=0)
    for name, value in expected.items():
        own = getattr(found, name)
        own = own.value if name in STATISTICS else own
        np.testing.assert_allclose(own[0], value, atol=1e-12, err_msg=name)


@given(ROWS)
def test_what_is_undefined_has_a_reason_and_no_interval(rows):
    should, made, right = (np.array([row], dtype=float) for row in zip(*rows, strict=True))
    found = abstention(made, should, right, bootstrap=0)
    for name in STATISTICS:
        estimate = getattr(found, name)
        if np.isnan(estimate.value[0]):
            assert estimate.flags[0], name
            assert np.isnan(estimate.interval).all()
        else:
            low, high = estimate.interval[0]
            assert low - 1e-12 <= estimate.value[0] <= high + 1e-12, name


@given(ROWS, st.randoms(use_true_random=False))
def test_order_of_questions_changes_nothing(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    results = []
    for some in (rows, shuffled):
        should, made, right = (np.array([row], dtype=float) for row in zip(*some, strict=True))
        results.append(abstention(made, should, right, bootstrap=0))
    for name in STATISTICS:
        np.testing.assert_array_equal(*(getattr(each, name).value for each in results))


def test_reasons():
    made = [[1, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]]
    none_due = abstention(made, [0, 0, 0, 0], [[1, 1, 1, 1]] * 3, bootstrap=0)
    for name in ("precision", "recall", "f1", "phi"):
        estimate = getattr(none_due, name)
        assert estimate.flags == (Reason.NO_UNANSWERABLE,) * 3
        assert np.isnan(estimate.value).all()
    assert none_due.selective_accuracy.flags[2] is Reason.NOTHING_ATTEMPTED
    assert none_due.accuracy.value.tolist() == [0.5, 1.0, 0.0]
    all_due = abstention(made, [1, 1, 1, 1], [[1, 1, 1, 1]] * 3, bootstrap=0)
    for name in ("over_abstention", "phi", "selective_accuracy", "accuracy"):
        assert getattr(all_due, name).flags == (Reason.NO_ANSWERABLE,) * 3
    some = abstention(made, [1, 0, 1, 0], [[1, 1, 1, 1]] * 3, bootstrap=0)
    assert some.precision.flags[1] is Reason.NEVER_ABSTAINS
    assert (some.f1.value[1], some.f1.flags[1]) == (0.0, Reason.NEVER_ABSTAINS)
    assert [flag.name for flag in some.phi.flags] == [
        "NONE",
        "NEVER_ABSTAINS",
        "NOTHING_ATTEMPTED",
    ]


def test_missing_verdicts_and_grades_are_counted():
    made = [[0, 0, np.nan, 1], [0, 0, 0, 1], [0, 0, 0, 1]]
    right = [[1, np.nan, 1, np.nan], [np.nan, np.nan, np.nan, np.nan], [1, 0, 0, np.nan]]
    found = abstention(made, [0, 0, 0, 1], right, bootstrap=0)
    assert found.unjudged.tolist() == [1, 0, 0]
    assert found.ungraded.tolist() == [1, 3, 0]
    assert found.n.tolist() == [3, 4, 4]
    assert [flag.name for flag in found.coverage.flags] == ["UNJUDGED", "NONE", "NONE"]
    assert [f.name for f in found.selective_accuracy.flags] == ["NO_GRADES", "NO_GRADES", "NONE"]
    np.testing.assert_array_equal(found.selective_accuracy.value, [1.0, np.nan, 1 / 3])
    np.testing.assert_array_equal(found.accuracy.value, [0.5, np.nan, 1 / 3])
    without = abstention(made, [0, 0, 0, 1], bootstrap=0)
    assert np.isnan(without.accuracy.value).all()
    assert set(without.accuracy.flags) == {Reason.NO_GRADES}


def test_grades_count_only_where_an_answerable_question_was_attempted():
    first = abstention([[1, 0, 0]], [0, 0, 1], [[1, 1, 0]], bootstrap=0)
    assert first.selective_accuracy.value[0] == 1.0
    assert first.accuracy.value[0] == 0.5


def test_labels_are_matched():
    made = pd.DataFrame([[1, 0, 0], [0, 1, 0]], index=["b", "a"], columns=["x", "y", "z"])
    should = pd.Series({"z": 0, "x": 1, "y": 0})
    right = pd.DataFrame([[1, 0, 0], [1, 1, 1]], index=["a", "b"], columns=["z", "y", "x"])
    found = abstention(made, should, right, bootstrap=0)
    assert found.labels == ("b", "a")
    assert found.recall.value.tolist() == [1.0, 0.0]
    assert found.accuracy.value.tolist() == [1.0, 0.5]


def test_groups():
    rng = np.random.default_rng(0)
    made, should = rng.integers(0, 2, size=(2, 2, 60)).astype(float)
    right = rng.integers(0, 2, size=(2, 60)).astype(float)
    groups = np.array(["old", "new", "odd"])[rng.integers(0, 3, size=60)]
    found = abstention_by(groups, made, should, right, bootstrap=0)
    assert set(found.groups) == {"old", "new", "odd"}
    for group in found.groups:
        here = groups == group
        alone = abstention(made[:, here], should[:, here], right[:, here], bootstrap=0)
        for name in STATISTICS:
            expected = getattr(alone, name)
            own = getattr(found[group], name)
            np.testing.assert_array_equal(own.value, expected.value)
            np.testing.assert_array_equal(own.interval, expected.interval)
    frame = found.to_frame()
    assert frame.groupby("group")["n"].sum().sum() == 120
    with pytest.raises(LabelError, match="'recent' is not a group"):
        found["recent"]


def test_groups_carry_weights_and_clusters():
    made, should = [[1, 0, 1, 0, 1, 0]], [1, 0, 0, 1, 1, 0]
    found = abstention_by(
        list("aaabbb"),
        made,
        should,
        clusters=[1, 1, 2, 3, 3, 4],
        weights=[1, 2, 3, 1, 1, 1],
        bootstrap=10,
        rng=0,
    )
    assert found["a"].recall.method == "sandwich, proportion"
    assert found["a"].over_abstention.value[0] == pytest.approx(3 / 5)


def test_differences_are_paired_and_clusters_widen():
    rng = np.random.default_rng(1)
    should = np.repeat(rng.integers(0, 2, size=30), 8).astype(float)
    made = np.where(np.repeat(rng.uniform(size=30), 8) < 0.7, should, 1 - should)
    other = made.copy()
    other[:4] = 1 - other[:4]
    tables = np.stack([made, other])
    plain = abstention(tables, should, bootstrap=0)
    found = abstention(tables, should, clusters=np.arange(240) // 8, rng=0, bootstrap=200)
    for name in ("recall", "f1", "phi"):
        assert getattr(found, name).se[0] > 2 * getattr(plain, name).se[0]
        assert getattr(found, name).difference(0, 1).se < 0.5 * getattr(found, name).se[0]


def test_coverage():
    # 600 data sets of 80 questions, half to be abstained from; recall .7, over-abstention .2:
    # precision .778, F1 .737, phi .503, selective accuracy .8, accuracy .64. Nominal 95 %,
    # standard error .9 %.
    rng = np.random.default_rng(2)
    should = rng.uniform(size=(600, 80)) < 0.5
    made = rng.uniform(size=should.shape) < np.where(should, 0.7, 0.2)
    right = rng.uniform(size=should.shape) < 0.8
    found = abstention(*(table.astype(float) for table in (made, should, right)), bootstrap=0)
    truth = {"precision": 7 / 9, "recall": 0.7, "f1": 1.4 / 1.9, "over_abstention": 0.2}
    truth |= {"coverage": 0.55, "appropriate": 0.75, "selective_accuracy": 0.8, "accuracy": 0.64}
    truth["phi"] = (0.35 * 0.4 - 0.1 * 0.15) / np.sqrt(0.45 * 0.55 * 0.25)
    for name, value in truth.items():
        low, high = getattr(found, name).interval.T
        assert 0.92 < np.mean((low <= value) & (value <= high)) < 0.98, name


def test_tables_of_results():
    found = abstention([[1, 0]], [1, 0], [[None, 1]], bootstrap=0)
    frame = found.to_frame()
    assert frame.loc[0, ["tp", "tn", "ungraded"]].tolist() == [1, 1, 0]
    assert frame.loc[0, "precision"] == 1.0
    assert found.to_dict()["phi"]["value"] == [1.0]


def test_bad_input():
    with pytest.raises(CodeError, match="should_abstain: model 0, question 1 holds 2"):
        abstention([[1, 0]], [1, 2])
    with pytest.raises(CodeError, match="abstained"):
        abstention([[1, 3]], [1, 0])
    with pytest.raises(CodeError, match="correctness"):
        abstention([[1, 0]], [1, 0], [[0.5, 1]])
    with pytest.raises(
        ShapeError, match="should_abstain must hold one number for each of the 2 questions"
    ):
        abstention([[1, 0]], [1, 0, 1])
    with pytest.raises(ShapeError, match="clusters holds 1"):
        abstention([[1, 0]], [1, 0], clusters=["a"])
