import gzip
import re
import sys

import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm._base.errors import (
    CodeError,
    InputError,
    LabelError,
    MissingPackageError,
    OptionError,
    ShapeError,
)
from psychollm.data.responses import Responses

pytest.importorskip("pyarrow")

WIDE = "model,q1,q2,q3\na,1,0,\nb,NA,1,0\n"
LONG = "model,item,keep\na,q1,1\na,q2,0\nb,q2,1\nb,q3,0\n"
VALUES = [[1, 0, np.nan], [np.nan, 1, 0]]


def check(made: Responses) -> None:
    assert made.models == ("a", "b")
    assert made.questions == ("q1", "q2", "q3")
    np.testing.assert_array_equal(made.values, VALUES)


# What is read


@pytest.mark.parametrize("text", [WIDE, LONG], ids=["wide", "long"])
@pytest.mark.parametrize("change", ["plain", "bom", "crlf", "quoted", "no last newline"])
def test_csv(write, text, change):
    changed = {
        "plain": text,
        "bom": "\ufeff" + text,
        "crlf": text.replace("\n", "\r\n"),
        "quoted": text.replace("a,", '"a",'),
        "no last newline": text.rstrip("\n"),
    }[change]
    check(psy.read_responses(write(changed)))


@pytest.mark.parametrize("text", [WIDE, LONG], ids=["wide", "long"])
def test_gzipped_csv(tmp_path, text):
    path = tmp_path / "table.csv.gz"
    with gzip.open(path, "wt") as file:
        file.write(text)
    check(psy.read_responses(path))
    check(psy.read_responses(str(path)))


@pytest.mark.parametrize("index", [True, False], ids=["stored index", "column"])
def test_wide_parquet(tmp_path, index):
    frame = pd.DataFrame(
        VALUES, index=pd.Index(["a", "b"], name="model"), columns=["q1", "q2", "q3"]
    )
    frame = frame if index else frame.reset_index()
    frame.to_parquet(tmp_path / "table.parquet", index=index)
    check(psy.read_responses(tmp_path / "table.parquet"))
    check(psy.read_responses(tmp_path / "table.parquet", model="model"))


def test_long_parquet(tmp_path):
    frame = pd.DataFrame(
        {
            "llm": pd.Categorical(["a", "a", "b", "b"]),
            "q": ["q1", "q2", "q2", "q3"],
            "keep": np.array([1, 0, 1, 0], dtype=np.int8),
            "text": "not read",
        }
    )
    frame.to_parquet(tmp_path / "table.parquet")
    check(psy.read_responses(tmp_path / "table.parquet", model="llm", question="q", value="keep"))


def test_labels_are_text_as_written(write):
    made = psy.read_responses(write("model,001,1.0\nNone,1,0\n007,0,1\n"))
    assert made.models == ("None", "007")
    assert made.questions == ("001", "1.0")
    made = psy.read_responses(write("model,item,x\nNone,001,1\n007,1.0,0\n"))
    assert made.models == ("None", "007")
    assert made.questions == ("001", "1.0")


def test_missing_words_and_truth(write):
    made = psy.read_responses(write("m,a,b,c,d,e,f,g\nx,,NaN,none,NULL,True,false, 1 \n"))
    np.testing.assert_array_equal(made.values, [[np.nan] * 4 + [1, 0, 1]])


@pytest.mark.parametrize(
    "text", ["m,a,b,c\nx,True,none,\n", "model,item,v\nx,a,True\nx,b,none\nx,c,\n"]
)
def test_words_with_a_meaning_keep_it(write, text):
    made = psy.read_responses(write(text), codes={"True": 0, "none": 1})
    np.testing.assert_array_equal(made.values, [[0, 1, np.nan]])


def test_model_column_by_name(write):
    made = psy.read_responses(write("q1,who,q2\n1,a,0\n"), model="who")
    assert made.questions == ("q1", "q2")
    assert made.models == ("a",)


def test_empty_lines_are_skipped(write):
    check(psy.read_responses(write(WIDE.replace("\nb", "\n\nb") + "\n")))


def test_confidence_from_a_file(write):
    made = psy.read_responses(write("model,q1,q2\na,80,20\n"), threshold=50)
    assert made.coding == "stated confidence > 50"
    assert made.codes.tolist() == [[1, 0]]


def test_duplicates_in_a_file(write):
    path = write(LONG + "a,q1,0\n")
    assert psy.read_responses(path, duplicates="last").codes[0, 0] == 0
    assert psy.read_responses(path, duplicates="first").codes[0, 0] == 1


# What is refused, and where it stands


@pytest.mark.parametrize(
    ("text", "options", "error", "message"),
    [
        ("", {}, ShapeError, "is empty: it needs a header"),
        ("model,q1\n", {}, ShapeError, "holds 0 models and 1 questions"),
        ("model\na\n", {}, ShapeError, "holds 1 models and 0 questions"),
        ("model|q1\na|1\n", {}, InputError, "line 1: only one column, 'model|q1'"),
        ("model,q1,q1\na,1,0\n", {}, LabelError, "line 1: column 'q1' occurs twice (again as 3)"),
        ("model,q1\na,1\na,0\n", {}, LabelError, "line 3: model 'a' already occurs in line 2"),
        ("model,q1\n,1\n", {}, LabelError, "line 2, column 'model': the model label is missing"),
        ("model,q1,q2\na,1\n", {}, ShapeError, "line 2: 2 cells, but the header has 3 columns"),
        (
            "model,q1,q2\na,1,0\n\nb,1,often\n",
            {},
            CodeError,
            "line 4, column 'q2' (model 'b', question 'q2') holds 'often', which is not a number",
        ),
        ("model,q1\na,7.5\n", {}, CodeError, "line 2, column 'q1' (model 'a', question 'q1')"),
        ("model,q1\na,inf\n", {"threshold": 1}, CodeError, "line 2, column 'q1'"),
        ("model,q1\na,1\n", {"model": "llm"}, LabelError, "line 1: column 'llm' does not exist"),
        ("model,q1\na,maybe\n", {"codes": {"yes": 1}}, CodeError, "not a key of codes="),
        (
            'model,item,note,keep\na,q1,"two\nlines",1\na,q2,x,never\n',
            {"value": "keep"},
            CodeError,
            "line 4, column 'keep' (model 'a', question 'q2') holds 'never'",
        ),
        (LONG + "a,q1,0\n", {}, LabelError, "line 2 and"),
        (LONG + "a,q1,0\n", {}, LabelError, "line 6: model 'a', question 'q1' is answered twice"),
        (LONG + ",q1,0\n", {}, LabelError, "line 6 has no model"),
        (
            "model,item,x,y\n",
            {},
            LabelError,
            "which column holds the answers? pass value=, one of",
        ),
        ("model,item\n", {}, LabelError, "no column is left for the answers"),
        (LONG, {"value": "bet"}, LabelError, "line 1: column 'bet' does not exist"),
        ("model,item,keep\n", {}, ShapeError, "holds a header but no answers"),
        (LONG + "a,q9,1,1,1\n", {}, ShapeError, "line 6: 5 cells, but the header has 3"),
        ("model,item,keep\na,q9,1,1\n", {}, ShapeError, "line 2: 4 cells"),
        (LONG + "a,q9\nb,q9,1\n", {}, ShapeError, "line 6: 2 cells"),
    ],
)
def test_bad_csv_is_named(write, text, options, error, message):
    path = write(text)
    with pytest.raises(error, match=re.escape(message)) as caught:
        psy.read_responses(path, **options)
    assert str(path) in str(caught.value)


def test_bad_parquet_is_named(tmp_path):
    path = tmp_path / "table.parquet"
    pd.DataFrame({"model": ["a", "b"], "q1": [1, 44]}).to_parquet(path)
    with pytest.raises(CodeError, match="row 2, column 'q1'.*holds 44"):
        psy.read_responses(path)
    with pytest.raises(LabelError, match="column 'llm' does not exist"):
        psy.read_responses(path, model="llm")
    path.write_bytes(b"PAR1 no")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        psy.read_responses(path)


def test_bad_files_are_named(tmp_path, write):
    with pytest.raises(InputError, match="absent.csv: no such file"):
        psy.read_responses(tmp_path / "absent.csv")
    (tmp_path / "table.xlsx").write_bytes(b"PK")
    with pytest.raises(InputError, match=r"supported formats are .csv, .*; convert it: python -c"):
        psy.read_responses(tmp_path / "table.xlsx")
    (tmp_path / "latin.csv").write_bytes("model,q1\né,1\n".encode("latin-1"))
    with pytest.raises(InputError, match="latin.csv is not a CSV file in UTF-8"):
        psy.read_responses(tmp_path / "latin.csv")
    with pytest.raises(InputError, match="is not a CSV file"):
        psy.read_responses(write(WIDE, "fake.csv.gz"))


def test_options_that_do_not_go_together(write):
    with pytest.raises(OptionError, match="exclude each other"):
        psy.read_responses(write(WIDE), codes={"yes": 1}, threshold=0.5)
    with pytest.raises(OptionError, match="layout='tall'"):
        psy.read_responses(write(WIDE), layout="tall")


def test_parquet_with_an_unnamed_index(tmp_path):
    frame = pd.DataFrame(VALUES, index=["a", "b"], columns=["q1", "q2", "q3"])
    frame.to_parquet(tmp_path / "table.parquet")
    check(psy.read_responses(tmp_path / "table.parquet"))


def test_layout_can_be_forced(write):
    made = psy.read_responses(write("model,item\na,1\n"), layout="wide")
    assert made.questions == ("item",)


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "table.parquet").write_bytes(b"")
    with pytest.raises(MissingPackageError, match=r'pip install "psychollm\[io\]"'):
        psy.read_responses(tmp_path / "table.parquet")


# Real files


def test_cacioli_wide_and_long_agree(shared):
    wide = psy.read_responses(shared / "data" / "cacioli_battery20_keep.csv.gz")
    path = shared / "data" / "cacioli_battery20_keep_withdraw_long.csv.gz"
    long = psy.read_responses(path, value="keep")
    assert (wide.n_models, wide.n_questions) == (20, 524)
    assert not wide.missing.any()
    np.testing.assert_array_equal(wide.align(long).codes, wide.codes)
    np.testing.assert_allclose(wide.yes_rates.mean(), 0.86, atol=0.01)
    # "keep" and "bet" are no names of scores, "correct" is.
    scores = psy.read_responses(path)
    np.testing.assert_array_equal(scores.codes, psy.read_responses(path, value="correct").codes)


def test_cacioli_words(shared):
    path = shared / "data" / "cacioli_battery20_keep_withdraw_long.csv.gz"
    with pytest.raises(CodeError, match=r"line \d+, column 'domain'"):
        psy.read_responses(path, value="domain")


def test_gastro_long(shared):
    path = shared / "data" / "gastro_confidence_correct_long.csv.gz"
    stated = psy.read_responses(path, value="confidence", threshold="model_balanced")
    assert (stated.n_models, stated.n_questions) == (48, 300)
    assert int((stated.answered >= 265).sum()) == 36
    assert int((stated.answered == 300).sum()) == 18
    correct = psy.read_responses(path, value="correct")
    assert stated.align(correct).models == stated.models
    np.testing.assert_array_equal(stated.yes_rates > 0, True)


def test_moore_parquet(shared):
    path = shared / "data" / "moore_lab_confidence_correct_long.parquet"
    made = psy.read_responses(
        path,
        model="llm",
        question=["qset", "question_id"],
        value="stated_confidence",
        threshold=0.8,
    )
    assert (made.n_models, made.n_questions) == (11, 6_706)
    assert int((made.missing.sum(axis=0) == 0).sum()) == 5_549


def test_mmlu_pro_blanks(shared):
    made = psy.read_responses(shared / "data" / "mmlu_pro_correct.csv.gz")
    assert (made.n_models, made.n_questions) == (29, 12_032)
    assert int(made.missing.sum()) == 1_713
