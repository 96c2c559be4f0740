import numpy as np
import pandas as pd
import pytest

from psychollm._base.errors import LabelError, OptionError, ShapeError
from psychollm.data.responses import Responses


@pytest.fixture
def long() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "model": ["b", "b", "a", "a"],
            "question": ["x", "y", "y", "z"],
            "value": [1, 0, 1, np.nan],
        }
    )


def test_labels_keep_the_order_of_first_occurrence(long):
    made = Responses(long)
    assert made.models == ("b", "a")
    assert made.questions == ("x", "y", "z")
    np.testing.assert_array_equal(made.values, [[1, 0, np.nan], [np.nan, 1, np.nan]])


@pytest.mark.parametrize("column", ["model", "question"])
def test_categories_without_rows_do_not_appear(long, column):
    long[column] = pd.Categorical(long[column], categories=["unused", "a", "b", "x", "y", "z"])
    assert "unused" not in Responses(long).models
    assert "unused" not in Responses(long).questions


@pytest.mark.parametrize(("keep", "code"), [("first", 1), ("last", 0)])
def test_duplicates(long, keep, code):
    twice = pd.concat([long, long.iloc[[0]].assign(value=0)])
    with pytest.raises(LabelError, match="row 1 and row 5: model 'b', question 'x' is answered"):
        Responses(twice)
    assert Responses(twice, duplicates=keep).codes[0, 0] == code


def test_unknown_rule_for_duplicates(long):
    with pytest.raises(OptionError, match="duplicates='mean'"):
        Responses(long, duplicates="mean")


def test_missing_column_is_named(long):
    with pytest.raises(
        LabelError, match="responses: column 'item' does not exist; the columns are 'model'"
    ):
        Responses(long, question="item")


def test_missing_label_is_named(long):
    long.loc[2, "model"] = None
    with pytest.raises(LabelError, match="row 3 has no model"):
        Responses(long)


def test_empty_table(long):
    with pytest.raises(ShapeError, match="responses is empty: it needs a row for each answer"):
        Responses(long.iloc[:0])


def test_several_question_columns_are_joined():
    long = pd.DataFrame(
        {"model": "a", "set": ["s", "s", "t"], "id": [1, 2, 1], "value": [1, 0, 1]}
    )
    made = Responses(long, question=["set", "id"])
    assert made.questions == ("s/1", "s/2", "t/1")
    assert made.codes.tolist() == [[1, 0, 1]]


def test_ambiguous_joins_are_refused():
    long = pd.DataFrame({"model": "a", "p": ["s/1", "s"], "q": ["2", "1/2"], "value": [1, 0]})
    with pytest.raises(LabelError, match="'s/1/2' occurs more than once"):
        Responses(long, question=["p", "q"])


def test_words_and_confidence():
    long = pd.DataFrame({"model": "a", "question": [1, 2], "value": ["yes", "no"]})
    assert Responses(long, codes={"yes": 1, "no": 0}).codes.tolist() == [[1, 0]]
    long["value"] = [80, 20]
    made = Responses(long, threshold=50)
    assert made.codes.tolist() == [[1, 0]]
    assert made.coding == "stated confidence > 50"
