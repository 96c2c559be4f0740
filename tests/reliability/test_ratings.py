"""Ratings from tables, runs and long tables."""

import numpy as np
import pandas as pd
import pytest

from psychollm._base.errors import (
    CodeError,
    LabelError,
    OptionError,
    PsychollmWarning,
    ShapeError,
)
from psychollm.data.responses import Responses
from psychollm.reliability.raters.agreement import (
    agreement,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    percent_agreement,
)
from psychollm.reliability.raters.kappa import cohen_kappa
from psychollm.reliability.raters.rate_contrast import rate_contrast
from psychollm.reliability.raters.ratings import Ratings, as_ratings
from psychollm.reliability.raters.response_shares import response_shares
from psychollm.reliability.raters.retest import retest

QUICK = {"bootstrap": 5, "rng": 0}
NOMINAL = {**QUICK, "metric": "nominal"}

RUNS = [[[1, 0, 2], [0, 0, 1]], [[1, 1, 2], [0, np.nan, 1]]]


@pytest.mark.parametrize(
    "data",
    [
        np.array(RUNS),
        RUNS,
        [np.array(run) for run in RUNS],
        [pd.DataFrame(run) for run in RUNS],
        [Responses(run) for run in RUNS],
        tuple(np.ma.masked_invalid(run) for run in RUNS),
    ],
)
def test_one_panel_in_many_forms(data) -> None:
    found = as_ratings(data)
    assert found.codes.tolist() == [[[1, 1], [0, 1], [2, 2]], [[0, 0], [0, -1], [1, 1]]]
    assert found.categories == (0, 1, 2)
    assert found.runs == (1, 2)


@pytest.mark.parametrize(
    "data",
    [
        [["a", "b"], ["b", None]],
        np.array([["a", "b"], ["b", None]], dtype=object),
        pd.DataFrame([["a", "b"], ["b", np.nan]]),
        pd.DataFrame([["a", "b"], ["b", pd.NA]], dtype="string"),
        np.ma.array([["a", "b"], ["b", "b"]], mask=[[0, 0], [0, 1]]),
    ],
)
def test_one_table_in_many_forms(data) -> None:
    found = as_ratings(data)
    assert found.codes.tolist() == [[[0, 1], [1, -1]]]
    assert found.categories == ("a", "b")
    assert not found.ordered


def test_long_tables_are_the_runs_they_hold() -> None:
    rows = [
        (f"m{m}", f"q{q}", r, int(RUNS[r][m][q]))
        for m in range(2)
        for q in range(3)
        for r in range(2)
        if np.isfinite(RUNS[r][m][q])
    ]
    frame = pd.DataFrame(rows, columns=["model", "question", "run", "response"])
    found = Ratings.from_long(frame)
    assert found.codes.tolist() == as_ratings(RUNS).codes.tolist()
    assert (found.models, found.runs) == (("m0", "m1"), (0, 1))
    assert found.questions == ("q0", "q1", "q2")
    alone = Ratings.from_long(frame[frame["model"] == "m0"], model=None)
    assert alone.codes.tolist() == found.codes[:1].tolist()


def test_labelled_runs_are_aligned() -> None:
    first = pd.DataFrame(RUNS[0], index=["a", "b"], columns=["x", "y", "z"])
    second = pd.DataFrame(RUNS[1], index=["a", "b"], columns=["x", "y", "z"])
    found = as_ratings([first, second.iloc[::-1, ::-1]])
    assert found.codes.tolist() == as_ratings(RUNS).codes.tolist()
    assert found.questions == ("x", "y", "z")


def test_selection() -> None:
    found = as_ratings(RUNS).select(models=[1], questions=[2, 0], runs=[2])
    assert found.codes.tolist() == [[[1], [0]]]
    assert (found.models, found.questions, found.runs) == ((1,), (2, 0), (2,))
    with pytest.raises(LabelError, match="run 7 does not exist"):
        as_ratings(RUNS).select(runs=[7])


def test_scores() -> None:
    scores = as_ratings(RUNS).scores
    assert scores[0].tolist() == [[1.0, 1.0], [0.0, 1.0], [2.0, 2.0]]
    assert np.isnan(scores[1, 1, 1])


def test_numbers_are_in_order_and_words_in_that_given() -> None:
    assert as_ratings([[10, 9], [2.5, 9.0]]).categories == (2.5, 9, 10)
    assert as_ratings([[True, False], [True, True]]).categories == (0, 1)
    found = as_ratings([["mid", "low"]], categories=["low", "mid", "high"])
    assert (found.categories, found.ordered) == (("low", "mid", "high"), True)
    mixed = as_ratings(pd.DataFrame([["b", 1], ["a", (2, 3)]]))
    assert mixed.categories == (1, "a", "b", (2, 3))
    assert not mixed.ordered


def test_labels_of_runs() -> None:
    assert Ratings.from_runs(RUNS, labels=["x", "y"]).runs == ("x", "y")


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ([], ShapeError, "dimension"),
        ([[1, 2], [1]], ShapeError, "1 models x 1 questions, but 1 x 2 are needed"),
        (np.zeros(3), ShapeError, "dimension"),
        ([np.zeros((2, 3)), np.zeros((2, 4))], ShapeError, "2 models x 4 questions, but 2 x 3"),
        ([[1, np.inf]], CodeError, "question 1, run 1 holds infinity"),
        ([[{}, 1]], CodeError, "hashable"),
        ([pd.DataFrame([[1]], index=["a"]), pd.DataFrame([[1]], index=["b"])], LabelError, "'a'"),
    ],
)
def test_bad_input(data, error, message) -> None:
    with pytest.raises(error, match=message):
        agreement(data, bootstrap=5)


def test_bad_categories() -> None:
    with pytest.raises(CodeError, match=r"question 0, run 2 has 'c', which is not in"):
        as_ratings([["a", "b"], ["c", "a"]], categories=["a", "b"])
    with pytest.raises(LabelError, match="unique"):
        as_ratings([["a", "b"]], categories=["a", "b", "a"])
    with pytest.raises(OptionError, match=r"categories belong to the Ratings"):
        as_ratings(as_ratings([["a", "b"]]), categories=["a", "b"])


def test_bad_long_tables() -> None:
    frame = pd.DataFrame(
        {"model": ["m", "m"], "question": [1, 1], "run": [1, 1], "response": [0, 1]}
    )
    with pytest.raises(
        LabelError, match=r"model 'm', question 1, run 1 has more than one response"
    ):
        Ratings.from_long(frame)
    with pytest.raises(LabelError, match="no column 'item'"):
        Ratings.from_long(frame, question="item")
    with pytest.raises(ShapeError, match="empty"):
        Ratings.from_long(frame[:0])
    frame["run"] = [1.0, np.nan]
    with pytest.raises(LabelError, match="row 2 has no run"):
        Ratings.from_long(frame)


def test_no_runs() -> None:
    with pytest.raises(ShapeError, match="holds no run"):
        Ratings.from_runs([])


FUNCTIONS = [
    lambda data: agreement(data, **NOMINAL).krippendorff_alpha,
    lambda data: percent_agreement(data, **QUICK),
    lambda data: fleiss_kappa(data, **QUICK),
    lambda data: gwet_ac1(data, **QUICK),
    lambda data: krippendorff_alpha(data, **NOMINAL),
    lambda data: cohen_kappa(data, **QUICK),
    lambda data: retest(data, **QUICK).rate,
    lambda data: rate_contrast(data, list("aabb"), {"a": 1, "b": -1}, **QUICK),
    lambda data: response_shares(data),
]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("kind", [list, tuple, np.array, pd.Series])
def test_a_sequence_of_vectors_holds_runs(function, kind) -> None:
    first, second = [1, 0, 1, 1], [1, 0, 0, 1]
    table = np.column_stack([first, second])  # a row per question
    found, expected = function([kind(first), kind(second)]), function(table)
    assert found.value == pytest.approx(expected.value)
    assert found.n.tolist() == expected.n.tolist()
    assert len(found.labels) == 1


def test_vectors_with_labels_go_by_them() -> None:
    first = pd.Series([1, 2, 3], index=["x", "y", "z"])
    found = as_ratings([first, first.iloc[::-1]])
    assert found.questions == ("x", "y", "z")
    assert (found.codes[:, :, 0] == found.codes[:, :, 1]).all()


@pytest.mark.parametrize("function", [agreement, krippendorff_alpha])
def test_numbers_are_not_taken_for_names_without_a_word(function) -> None:
    five = [[1, 2, 3, 4, 5], [1, 2, 3, 5, 4]]
    with pytest.warns(PsychollmWarning, match=r'treats the 5 numbers .* metric="ordinal"'):
        function(five, **QUICK)
    for known in (five, [[1, 2, 1, 1, 2], [1, 2, 2, 1, 2]], [list("abcde"), list("abced")]):
        function(known, **(NOMINAL if known is five else QUICK))
    with pytest.raises(OptionError, match="level of measurement by metric="):
        function(five, level="ordinal")


def test_empty_text_is_no_category() -> None:
    first, second = ["a", "b", "", "a", "  "], ["a", "b", "", "b", ""]
    assert cohen_kappa(first, second, **QUICK).value[0] == pytest.approx(0.4)
    found = agreement([first, second], **QUICK)
    assert found.categories == ("a", "b")
    assert found.pairwise.n[0] == 3
    named = as_ratings([first, second], categories=["a", "b", "", "  "])
    assert (named.codes >= 0).all()


def test_a_row_per_rating_is_no_table_of_runs() -> None:
    long = pd.DataFrame({"essay": ["a", "a", "b"], "judge": ["x", "y", "x"], "mark": [1, 2, 2]})
    text = (
        "ratings: column 'essay' contains words and column 'mark' numbers: pass one column per "
        "run, or convert a table with a row per rating by Ratings.from_long"
    )
    gaps = long[["mark", "essay"]].assign(mark=pd.Series([1, None, 2], dtype=object))
    for wrong in (long, gaps):
        with pytest.raises(CodeError) as error:
            as_ratings(wrong)
        assert str(error.value) == text
    with pytest.raises(CodeError, match="column 'essay' contains words"):
        krippendorff_alpha(long, **QUICK)
    named = Ratings.from_long(long, model=None, question="essay", run="judge", value="mark")
    assert named.codes.tolist() == [[[0, 1], [1, -1]]]


def test_columns_of_words_and_numbers_are_allowed_where_they_may_be_meant() -> None:
    mixed = pd.DataFrame({"one": ["no", 1, ""], "other": [1, "no", None]})
    assert as_ratings(mixed).codes.tolist() == [[[1, 0], [0, 1], [-1, -1]]]
    given = pd.DataFrame({"one": [1, 1], "other": ["no", "no"]})
    assert Ratings.from_table(given, categories=["no", 1]).codes.tolist() == [[[1, 0], [1, 0]]]
    empty = pd.DataFrame({"one": [None, None], "other": ["no", "yes"]}, dtype=object)
    assert as_ratings(empty).codes.tolist() == [[[-1, 0], [-1, 1]]]
