import pickle
import re

import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm._base.errors import CodeError, InputError, LabelError, OptionError, ShapeError
from psychollm.data.responses import Responses, as_responses

xr = pytest.importorskip("xarray")


@pytest.fixture
def table() -> Responses:
    return Responses([[1, 0, 1], [0, None, 1]], models=["a", "b"], questions=["x", "y", "z"])


# What may be passed


@pytest.mark.parametrize(
    "values",
    [
        np.array([[1, 0], [0, 1]]),
        np.array([[1, 0], [0, 1]], dtype=np.uint8),
        np.array([[1.0, 0.0], [0.0, 1.0]]),
        np.array([[True, False], [False, True]]),
        np.array([[1, 0.0], [False, True]], dtype=object),
        [[1, 0], [0, 1]],
        np.asfortranarray(np.array([[1, 0], [0, 1]])),
    ],
    ids=["int", "uint8", "float", "bool", "object", "list", "fortran"],
)
def test_kinds_of_numbers(values):
    made = as_responses(values)
    assert made.codes.dtype == np.int16
    assert made.codes.tolist() == [[1, 0], [0, 1]]
    assert not made.missing.any()
    assert made.coding == "binary"
    assert made.models == (0, 1) == made.questions


@pytest.mark.parametrize(
    "values",
    [
        np.array([[1, np.nan]]),
        np.array([[1, None]], dtype=object),
        np.array([[1, pd.NA]], dtype=object),
        np.ma.MaskedArray([[1, 7777]], mask=[[False, True]]),
        np.ma.MaskedArray([[1.0, np.inf]], mask=[[False, True]]).filled(np.nan),
        np.ma.MaskedArray(np.array([[1, "?"]], dtype=object), mask=[[False, True]]),
        pd.DataFrame([[1, pd.NA]], dtype="Int64"),
        pd.DataFrame([[True, pd.NA]], dtype="boolean"),
        pd.DataFrame({0: [1], 1: [None]}),
    ],
    ids=["nan", "none", "na", "masked", "inf", "masked text", "Int64", "boolean", "object"],
)
def test_kinds_of_missing(values):
    made = as_responses(values)
    assert made.codes.tolist() == [[1, 0]]
    assert made.missing.tolist() == [[False, True]]


def test_graded_codes():
    made = as_responses([[0, 15], [3, None]])
    assert made.coding == "graded"
    assert not made.is_binary
    with pytest.raises(CodeError, match="yes_rates needs binary answers"):
        _ = made.yes_rates
    with pytest.raises(CodeError, match="model 0, question 1 has code 15.*threshold="):
        as_responses(made, binary=True)


def test_words_need_an_explicit_meaning():
    words = [["yes", "no", None], ["no", "yes", "yes"]]
    for codes in (["yes"], {"yes": "one"}):
        with pytest.raises(OptionError, match="must map each value to a number"):
            Responses(words, codes=codes)
    with pytest.raises(CodeError, match="model 0, question 0 holds 'yes'.*codes="):
        as_responses(words)
    made = Responses(words, codes={"yes": 1, "no": 0})
    assert made.codes.tolist() == [[1, 0, 0], [0, 1, 1]]
    assert made.missing.tolist() == [[False, False, True], [False, False, False]]


def test_codes_must_name_every_value():
    with pytest.raises(CodeError, match="model 1, question 0 holds 'maybe'.*add it"):
        Responses([["yes"], ["maybe"]], codes={"yes": 1, "no": 0})


def test_meanings_must_be_codes():
    with pytest.raises(CodeError, match=r"holds -1\.0"):
        Responses([["no"]], codes={"no": -1})


def test_the_input_is_not_touched_and_not_shared():
    values = np.array([[1.0, np.nan]])
    mask = np.ma.MaskedArray([[1.0, 0.0]], mask=[[False, True]])
    codes = np.array([[1, 0]], dtype=np.int16)
    for given in (values, mask, codes):
        before = given.copy()
        made = as_responses(given)
        assert given.flags.writeable
        np.testing.assert_array_equal(given, before)
        assert not made.codes.flags.writeable
        assert not np.shares_memory(made.codes, given)


def test_frame_keeps_labels():
    frame = pd.DataFrame({"x": [1, 0], "y": [0, None]}, index=["a", "b"])
    made = as_responses(frame)
    assert made.models == ("a", "b")
    assert made.questions == ("x", "y")
    assert made.missing.tolist() == [[False, False], [False, True]]


def test_a_long_table_is_known_by_its_columns():
    long = pd.DataFrame({"item": ["x", "y", "x"], "model": ["a", "a", "b"], "right": [1, 0, 0]})
    for data in (long, long.rename(columns={"right": "value"}).assign(run=1)):
        made = Responses(data)
        assert (made.models, made.questions) == (("a", "b"), ("x", "y"))
        assert repr(made.values.tolist()) == "[[1.0, 0.0], [0.0, nan]]"
        assert repr(as_responses(data).values) == repr(made.values)
    with pytest.raises(
        LabelError, match="which column holds the answers.*'right' and 'run'|'right', 'run'"
    ):
        Responses(long.assign(run=1))
    with pytest.raises(InputError, match="responses is a list: pass a DataFrame with a row for"):
        Responses([[1, 0]], value="right")


def test_labels_of_models_in_a_named_column():
    wide = pd.DataFrame({"x": [1, 0], "llm": ["a", "b"]})
    made = Responses(wide, model="llm")
    assert (made.models, made.questions, made.codes.tolist()) == (("a", "b"), ("x",), [[1], [0]])
    with pytest.raises(LabelError, match="has no column 'lm': its columns are 'x', 'llm'"):
        Responses(wide, model="lm")


def test_a_table_made_of_another():
    first = Responses([[1, 9], [2, 3]], threshold=[5, 2.5], models=["a", "b"]).flip(["b"])
    same = Responses(first, questions=["x", "y"])
    assert (same.coding, same.flipped, same.questions) == (first.coding, ("b",), ("x", "y"))
    assert (same.codes == first.codes).all()
    assert same.cuts.tolist() == [5, 2.5]
    assert Responses(first, models=["c", "d"]).flipped == ("d",)
    graded = Responses([[0, 3, 2]])
    assert Responses(graded, threshold=1).coding == "stated confidence > 1"


@pytest.mark.parametrize("labels", [{"Model": [7, 8]}, {"name": ["gpt", "phi"]}])
def test_labels_left_in_the_first_column_are_labels(labels):
    made = as_responses(pd.DataFrame({**labels, "x": [1, None], "y": [0, 1]}))
    assert (made.models, made.questions) == (tuple(*labels.values()), ("x", "y"))


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"x": [1, 0], "model": ["gpt", "phi"]}),
        pd.DataFrame({"x": ["yes", "no"], "y": ["no", "no"]}),
        pd.DataFrame({"x": ["yes", "no"], "y": [1, 0]}, index=["gpt", "phi"]),
    ],
)
def test_words_in_other_columns_are_answers(frame):
    with pytest.raises(CodeError, match="is not a number.*set_index"):
        as_responses(frame)


@pytest.mark.parametrize("dims", [("models", "questions"), ("llm", "item"), ("model", "models_")])
def test_xarray_first_dimension_holds_models(dims):
    array = xr.DataArray([[1, 0]], dims=dims, coords={dims[0]: ["a"], dims[1]: ["x", "y"]})
    made = as_responses(array)
    assert made.models == ("a",)
    assert made.questions == ("x", "y")


@pytest.mark.parametrize("dims", [("questions", "models"), ("questions", "m"), ("q", "models")])
def test_xarray_named_dimensions_are_obeyed(dims):
    array = xr.DataArray([[1, 0], [1, 1]], dims=dims, coords={dims[1]: ["a", "b"]})
    made = as_responses(array)
    assert made.models == ("a", "b")
    assert made.codes.tolist() == [[1, 1], [0, 1]]


def test_responses_pass_through(table):
    assert as_responses(table) is table
    assert Responses(table).codes.tolist() == table.codes.tolist()


# What may not be passed


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (np.zeros((0, 3)), ShapeError, "responses is empty (0 models, 3 questions)"),
        (np.zeros((2, 0)), ShapeError, "responses is empty (2 models, 0 questions)"),
        (pd.DataFrame(), ShapeError, "responses is empty"),
        ([], ShapeError, "1 dimension(s)"),
        ([1, 0], ShapeError, "one model is a table of one row"),
        (np.zeros((1, 1, 1)), ShapeError, "3 dimension(s)"),
        ([[1, 0], [1]], ShapeError, "rows of different lengths"),
        ([[1, 2, -1]], CodeError, "model 0, question 2 holds -1, which is not a code"),
        ([[1, 16]], CodeError, "model 0, question 1 holds 16"),
        ([[1, 0.5]], CodeError, "question 1 holds 0.5"),
        ([[1, 1e30]], CodeError, "holds 1e+30"),
        ([[1, np.inf]], CodeError, "holds inf, which is infinity: leave unknown answers missing"),
        ([["1", "0"]], CodeError, "holds '1', which is not a number"),
        ([[1, "yes"]], CodeError, "is not a number"),
        ([[1 + 2j, 0]], CodeError, "holds (1+2j)"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), CodeError, "not a number"),
        (None, OptionError, "responses=None is not a table"),
        ("table.csv", OptionError, "read_responses"),
        (xr.DataArray([1, 0], dims="models"), ShapeError, "two are needed"),
    ],
)
def test_bad_values_are_named(values, error, message):
    with pytest.raises(error, match=re.escape(message)):
        as_responses(values)


def test_the_argument_is_named():
    with pytest.raises(CodeError, match="correctness: model 0, question 0 holds 3.5"):
        as_responses([[3.5]], argument="correctness")


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        ({"models": ["a", "a"]}, LabelError, "model labels must be unique, but 'a' occurs"),
        ({"questions": ["x", "y", "x"]}, LabelError, "question labels must be unique, but 'x'"),
        ({"models": ["a"]}, ShapeError, "models holds 1 labels for 2 models"),
        ({"models": ["a", None]}, LabelError, "model number 2 is missing"),
        ({"models": [1.5, float("nan")]}, LabelError, "model number 2 is missing (nan)"),
        ({"models": [pd.NA, "b"]}, LabelError, "model number 1 is missing"),
        ({"models": [["a"], ["b"]]}, LabelError, "hashable"),
        ({"models": "ab"}, LabelError, "one string"),
    ],
)
def test_bad_labels_are_named(labels, error, message):
    with pytest.raises(error, match=re.escape(message)):
        Responses([[1, 0, 1], [0, 1, 1]], **labels)


def test_duplicated_labels_of_a_frame():
    frame = pd.DataFrame([[1, 0]], columns=["x", "x"])
    with pytest.raises(LabelError, match="question labels must be unique, but 'x'"):
        as_responses(frame)


def test_plain_constructor_checks_shapes():
    with pytest.raises(ShapeError, match=r"\(models, questions\) = \(1, 3\)"):
        Responses.from_codes(
            codes=np.zeros((1, 2), dtype=np.int16),
            missing=np.zeros((1, 2), dtype=bool),
            models=("a",),
            questions=("x", "y", "z"),
        )


@pytest.mark.parametrize(
    ("values", "of", "message"),
    [
        ([[1, 0]], "models", "one model only (0): a correlation of models needs at least two"),
        ([[1], [0]], "questions", "one question only (0)"),
    ],
)
def test_one_row_cannot_be_correlated(values, of, message):
    with pytest.raises(ShapeError, match=re.escape(message)):
        as_responses(values, of=of)


def test_correlatable_of_what():
    with pytest.raises(OptionError, match="of='rows'"):
        as_responses([[1, 0]], of="rows")


# What it holds


def test_properties(table):
    assert (table.n_models, table.n_questions) == (2, 3)
    assert table.answered.tolist() == [3, 2]
    np.testing.assert_allclose(table.yes_rates, [2 / 3, 1 / 2])
    np.testing.assert_array_equal(table.values, [[1, 0, 1], [0, np.nan, 1]])
    assert table.is_binary


def test_yes_rate_is_undefined_without_answers():
    rates = as_responses([[None, None], [1, 0]]).yes_rates
    np.testing.assert_array_equal(rates, [np.nan, 0.5])


def test_a_table_without_any_answer_prints():
    assert "2 (100.0 %)" in repr(as_responses([[None, None]]))


def test_a_million_questions():
    codes = np.tile(np.array([[0, 1], [1, 0]], dtype=np.int8), (1, 500_000))
    made = Responses(codes, questions=range(1_000_000))
    assert made.n_questions == 1_000_000
    assert made.questions[-1] == 999_999
    np.testing.assert_array_equal(made.yes_rates, [0.5, 0.5])
    assert len(repr(made)) < 500


def test_rows_are_contiguous(table):
    columns = np.asfortranarray(np.eye(3, dtype=np.int16))
    for made in (table.transpose(), table.select(questions=["z", "x"]), as_responses(columns)):
        assert made.codes.flags.c_contiguous
        assert made.missing.flags.c_contiguous


def test_pickle_and_dict(table):
    again = pickle.loads(pickle.dumps(table))  # noqa: S301
    assert again.models == table.models
    np.testing.assert_array_equal(again.codes, table.codes)
    assert table.to_dict()["codes"] == [[1, 0, 1], [0, 0, 1]]


# What it becomes


def test_select_by_label_and_mask(table):
    assert table.select(models=["b", "a"]).codes.tolist() == [[0, 0, 1], [1, 0, 1]]
    assert table.select(questions=np.array([False, True, True])).questions == ("y", "z")
    assert table.select().codes.tolist() == table.codes.tolist()


def test_select_keeps_cuts_and_flips():
    made = Responses([[1, 2], [30, 40]], threshold=[1.5, 35]).flip([1])
    kept = made.select(models=[1])
    assert kept.cuts.tolist() == [35]
    assert kept.flipped == (1,)
    assert made.select(models=[0]).flipped == ()


@pytest.mark.parametrize(
    ("chosen", "error", "message"),
    [
        ({"models": ["A"]}, LabelError, "model 'A' does not exist"),
        ({"models": ["a", "a"]}, LabelError, "'a' occurs more than once"),
        ({"models": []}, ShapeError, "no models are selected"),
        ({"models": "a"}, LabelError, "pass a list, ['a']"),
        ({"questions": np.array([True])}, ShapeError, "the mask of questions has shape (1,)"),
    ],
)
def test_bad_selections_are_named(table, chosen, error, message):
    with pytest.raises(error, match=re.escape(message)):
        table.select(**chosen)


def test_unknown_labels_bring_similar_ones():
    made = Responses([[1], [0]], models=["llama-70b", "gpt-5"])
    with pytest.raises(LabelError, match=r"did you mean 'llama-70b'\?"):
        made.select(models=["llama70b"])


def test_flip(table):
    flipped = table.flip(["b"])
    np.testing.assert_array_equal(flipped.values, [[1, 0, 1], [1, np.nan, 0]])
    assert flipped.flipped == ("b",)
    assert flipped.codes[1, 1] == 0  # missing stays coded 0
    assert table.flip().flipped == ("a", "b")
    with pytest.raises(CodeError, match="flip needs binary"):
        as_responses([[2]]).flip()


def test_transpose(table):
    turned = table.transpose()
    assert turned.models == ("x", "y", "z")
    np.testing.assert_array_equal(turned.values, table.values.T)
    assert Responses([[1, 9]], threshold=5).transpose().cuts is None


def test_align_reorders_the_other(table):
    other = table.select(models=["b", "a"], questions=["z", "x", "y"])
    aligned = table.align(other)
    assert aligned.models == table.models
    assert aligned.questions == table.questions
    np.testing.assert_array_equal(aligned.values, table.values)


def test_align_names_what_differs():
    first = Responses([[1]] * 6, models=list("abcdef"))
    second = Responses([[1]] * 3, models=["a", "y", "z"])
    with pytest.raises(LabelError) as caught:
        first.align(second)
    message = str(caught.value)
    assert "only the first has 'b', 'c', 'd' and 2 more" in message
    assert "only the second has 'y', 'z'" in message
    assert "align(first, second)" in message


def test_to_frame_and_back(table):
    again = as_responses(table.to_frame())
    assert again.models == table.models
    np.testing.assert_array_equal(again.values, table.values)
    complete = table.select(questions=["x"]).to_frame()
    assert complete.dtypes.tolist() == [np.dtype(np.int64)]


def test_tuples_are_labels():
    made = Responses([[1, 0]], models=[("a", 1)], questions=[("x", 1), ("y", 2)])
    again = as_responses(made.to_frame())
    assert again.models == made.models
    assert again.questions == made.questions


def test_input_errors_are_value_errors():
    assert issubclass(InputError, ValueError)
    with pytest.raises(psy.errors.PsychollmError):
        as_responses([[0.5]])
