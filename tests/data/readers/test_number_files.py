"""Tables of numbers and clusters of questions, from CSV and Parquet."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from psychollm._base.errors import CodeError, InputError, LabelError, OptionError
from psychollm.data.readers import read_clusters, read_table

LONG = pd.DataFrame(
    {
        "model": ["b", "b", "a", "a"],
        "item": ["q1", "q2", "q1", "q2"],
        "sure": [80.0, np.nan, 30.0, 100.0],
        "right": ["yes", "no", "no", "yes"],
        "text": ["t", "u", "t", "u"],
    }
)


@pytest.fixture(params=["csv", "parquet"])
def long(request, tmp_path: Path) -> Path:
    path = tmp_path / f"long.{request.param}"
    if request.param == "csv":
        LONG.to_csv(path, index=False)
    else:
        pytest.importorskip("pyarrow")
        LONG.assign(text=LONG["text"].astype("category")).to_parquet(path)
    return path


def test_numbers_keep_their_labels_and_order(long: Path) -> None:
    table = read_table(long, value="sure", scale=100)
    assert table.index.tolist() == ["b", "a"]
    assert table.columns.tolist() == ["q1", "q2"]
    assert np.array_equal(table, [[0.8, np.nan], [0.3, 1.0]], equal_nan=True)
    assert np.array_equal(read_table(long, value="sure"), 100 * table, equal_nan=True)


def test_words_have_the_meaning_they_are_given(long: Path) -> None:
    table = read_table(long, value="right", codes={"yes": 1, "no": 0})
    assert np.array_equal(table, [[1, 0], [0, 1]])
    with pytest.raises(CodeError, match="not a number"):
        read_table(long, value="right")
    with pytest.raises(CodeError, match="not a key"):
        read_table(long, value="right", codes={"yes": 1})


def test_a_wide_file_has_a_row_per_model(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("model,q1,q2\na,0.25,\nb,true,na\n")
    assert np.array_equal(read_table(path), [[0.25, np.nan], [1.0, np.nan]], equal_nan=True)


def test_a_number_beyond_the_scale_is_named(long: Path) -> None:
    with pytest.raises(CodeError, match=r"(line 2|row 1).*holds 80, .* scale=10"):
        read_table(long, value="sure", scale=10)


@pytest.mark.parametrize("scale", [0, -1, np.nan, np.inf])
def test_a_scale_is_positive(long: Path, scale: float) -> None:
    with pytest.raises(OptionError, match="must be a positive number"):
        read_table(long, value="sure", scale=scale)
    with pytest.raises(OptionError, match="exclude each other"):
        read_table(long, value="sure", scale=10, codes={"a": 1})


def test_clusters_of_a_long_file_are_those_all_answers_name(long: Path) -> None:
    assert read_clusters(long, column="text").to_dict() == {"q1": "t", "q2": "u"}
    with pytest.raises(LabelError, match=r"question 'q1' has several clusters, 80\.0, 30\.0"):
        read_clusters(long, column="sure")
    with pytest.raises(LabelError, match="column 'page' does not exist"):
        read_clusters(long, column="page")


def test_clusters_of_a_list(tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    path.write_text("question,page\nq1,7\nq2,\n")
    found = read_clusters(path)
    assert found.index.tolist() == ["q1", "q2"]
    assert found.iloc[0] == 7
    assert np.isnan(found.iloc[1])
    path.write_text("question,page,book\nq1,7,x\n")
    with pytest.raises(LabelError, match="two columns"):
        read_clusters(path)
    path.write_text("question,page\nq1,7\nq1,8\n")
    with pytest.raises(LabelError, match="label 'q1' already occurs in line 2, but such a list"):
        read_clusters(path)
    path.write_text("question,page,model\nq1,7,a\nq2,8,a\n")
    with pytest.raises(LabelError, match="label 'a' already occurs .* pass column="):
        read_clusters(path)


def test_files_that_are_not_there() -> None:
    with pytest.raises(InputError, match="no such file"):
        read_table("none.csv")
    with pytest.raises(InputError, match="no such file"):
        read_clusters("none.xlsx")


def test_a_scale_that_no_value_reaches_is_refused(tmp_path):
    path = tmp_path / "confidence.csv"
    path.write_text("model,a,b\nm,0.9,0.4\n", encoding="utf-8")
    with pytest.raises(CodeError, match=r"no value is above 0\.9.*leave scale out"):
        read_table(path, scale=100)


def test_two_columns_that_could_identify_the_question_are_named(tmp_path):
    path = tmp_path / "long.csv"
    rows = "\n".join(["m,1,Is it?,1", "m,2,Is it?,0"])
    path.write_text(f"model,item_id,question,value\n{rows}\n", encoding="utf-8")
    with pytest.raises(LabelError, match="'item_id' or 'question'.*pass question="):
        read_table(path)
    assert read_table(path, question="item_id").to_numpy().tolist() == [[1.0, 0.0]]
