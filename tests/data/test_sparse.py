"""Sparse tables beside dense ones: the same answers, whatever is done with them."""

import copy
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import psychollm as psy
from psychollm._base.errors import CodeError, LabelError, OptionError, ShapeError, SparseError
from psychollm.data import cells
from psychollm.data.cells import is_better_sparse
from psychollm.data.responses import Responses
from psychollm.data.screen import validity_screen

rng = np.random.default_rng(7)


def a_table(shape=(9, 60), share=0.4, highest=1):
    values = rng.integers(0, highest + 1, shape).astype(float)
    values[rng.random(shape) > share] = np.nan
    return Responses(values, models=[f"m{k}" for k in range(shape[0])])


TABLE = a_table()


def check(sparse, dense):
    assert isinstance(sparse, Responses)
    assert sparse.is_sparse
    assert not dense.is_sparse
    for name in ("models", "questions", "coding", "flipped"):
        assert getattr(sparse, name) == getattr(dense, name)
    np.testing.assert_array_equal(sparse.dense().codes, dense.codes)
    np.testing.assert_array_equal(sparse.dense().missing, dense.missing)
    np.testing.assert_array_equal(sparse.answered, dense.answered)
    assert sparse.answered.dtype == dense.answered.dtype
    assert (sparse.highest, sparse.n_answers) == (dense.highest, dense.n_answers)
    if dense.cuts is not None:
        np.testing.assert_array_equal(sparse.cuts, dense.cuts)


def test_what_a_table_says():
    check(TABLE.sparse(), TABLE)
    np.testing.assert_array_equal(TABLE.sparse().yes_rates, TABLE.yes_rates)
    assert repr(TABLE.sparse()) == repr(TABLE).replace("Responses", "Responses (sparse)")
    assert str(TABLE.sparse()) == repr(TABLE.sparse())
    assert "Responses (sparse)" in TABLE.sparse()._repr_html_()
    pd.testing.assert_frame_equal(TABLE.sparse().to_long(), TABLE.to_long())
    pd.testing.assert_frame_equal(TABLE.sparse().to_frame(), TABLE.to_long())
    assert TABLE.sparse().sparse().n_answers == TABLE.n_answers
    assert TABLE.dense() is TABLE
    answers = TABLE.sparse().to_dict()
    assert "codes" not in answers
    assert sum(answers["cells"]["codes"]) == TABLE.codes.sum()


@given(st.data())
def test_what_is_taken(data):
    models = data.draw(st.lists(st.sampled_from(TABLE.models), unique=True, min_size=1))
    questions = data.draw(st.lists(st.sampled_from(TABLE.questions), unique=True, min_size=1))
    table = TABLE.flip(TABLE.models[:3])
    chosen = {"models": models, "questions": questions}
    check(table.sparse().select(**chosen), table.select(**chosen))
    check(table.sparse().flip(models), table.flip(models))


def test_what_is_turned_and_ordered():
    check(TABLE.sparse().transpose(), TABLE.transpose())
    other = TABLE.select(models=TABLE.models[::-1], questions=TABLE.questions[::-1])
    check(TABLE.align(other.sparse()), TABLE)
    check(TABLE.sparse().align(other.sparse()), TABLE)
    assert not TABLE.sparse().align(other).is_sparse
    both = psy.data.align(TABLE.sparse(), other.select(models=["m1", "m2"]))
    check(both.first, TABLE.select(models=["m1", "m2"]))
    split = Responses(rng.random((3, 40)), threshold="model_median")
    check(split.sparse().select(models=[2, 0]), split.select(models=[2, 0]))


def test_copies_and_files(tmp_path):
    table = TABLE.flip(["m2"]).sparse()
    for again in (pickle.loads(pickle.dumps(table)), copy.copy(table), copy.deepcopy(table)):  # noqa: S301
        check(again, table.dense())
    check(psy.load(table.save(tmp_path / "a.psy")), table.dense())
    check(Responses.load(tmp_path / "a.psy"), table.dense())
    with pytest.raises(ValueError, match="read-only"):
        table.cells.codes[0] = 1


def test_tables_of_before(tmp_path):
    """A dense one, a sparse one and a scan, left by a version that had a class for each."""
    zipfile.ZipFile(Path(__file__).parents[1] / "golden" / "tables.zip").extractall(tmp_path)
    dense, sparse = (psy.load(tmp_path / f"{kind}.psy") for kind in ("dense", "sparse"))
    assert (dense.models, dense.flipped) == (("a", "b"), ("b",))
    check(sparse, dense)
    found = psy.data.Scan.open(tmp_path / "scan")
    assert (found.models, found.questions) == (("a", "b"), ("w", "x", "z", "y"))
    for table in (found, pickle.loads(pickle.dumps(found)), found.sparse()):  # noqa: S301
        np.testing.assert_array_equal(table.ordered(dense.models, dense.questions).dense().values,
                                      dense.values)  # fmt: skip
    assert np.diff(found.by_model.start).tolist() == dense.answered.tolist()


def test_a_scan_is_a_table(tmp_path):
    pytest.importorskip("pyarrow")
    scan = psy.data.scan(TABLE.to_long())
    dense, chosen = scan.dense(), {"models": scan.models[3::-1], "questions": scan.questions[::7]}
    check(scan, dense)
    check(scan.select(**chosen), dense.select(**chosen))
    check(scan.flip(scan.models[:2]), dense.flip(scan.models[:2]))
    check(scan.transpose(), dense.transpose())
    pd.testing.assert_frame_equal(scan.to_long(), dense.to_long())
    check(psy.load(scan.save(tmp_path / "scan.psy")), dense)
    for (codes, missing), (expected, gaps) in zip(scan.blocks(16), dense.blocks(16), strict=True):
        np.testing.assert_array_equal(codes, expected)
        np.testing.assert_array_equal(missing, gaps)


def test_labels_may_be_anything():
    table = Responses([[1, None], [None, 0]], models=[("a", 1), 2.5], questions=["x", 3])
    check(table.sparse(), table)


def test_what_needs_a_dense_table_says_so():
    sparse = a_table((300, 2000), 0.01).sparse()
    said = (
        r"300 models x 2,000 questions, .* % of them filled. Pass responses.dense\(\), .* 1.8 MB"
    )
    for need in (
        lambda: sparse.codes,
        lambda: sparse.missing,
        lambda: sparse.values,
        lambda: Responses(sparse),
        lambda: psy.polychoric(sparse),
    ):
        with pytest.raises(SparseError, match=said):
            need()
    with pytest.raises(AttributeError, match="has no attribute 'answers'"):
        _ = sparse.answers


def test_errors_are_those_of_dense_tables():
    graded = a_table(highest=4)
    for table in (graded, graded.sparse()):
        with pytest.raises(CodeError, match="flip needs binary answers, but the codes go up to 4"):
            table.flip()
        with pytest.raises(CodeError, match="yes_rates needs binary"):
            _ = table.yes_rates
        with pytest.raises(CodeError, match=r"model 'm\d', question \d+ has code [234], but"):
            psy.PairCounts.count(table)
        with pytest.raises(LabelError, match="model 'x' does not exist"):
            table.select(models=["x"])
    with pytest.raises(ShapeError, match="one model only"):
        psy.tetrachoric(TABLE.sparse().select(models=["m1"]))
    with pytest.raises(ShapeError, match="cells of 60 questions, but 2 labels"):
        Responses.of_cells(TABLE.by_question.cells, models=TABLE.models, questions=(1, 2))


def test_screen():
    right = a_table()
    screens = [
        validity_screen(says, correct, min_answers=5)
        for says in (TABLE, TABLE.sparse())
        for correct in (right, right.sparse())
    ]
    assert len({repr(screen.to_dict()) for screen in screens}) == 1
    assert np.isfinite(screens[0].auroc).any()


def test_counts_of_a_wide_table_come_block_by_block(monkeypatch):
    table = a_table((8, 1000))
    expected = psy.PairCounts.count(table)
    monkeypatch.setattr(cells, "BLOCK", 8 * 64)
    found = psy.PairCounts.count(table.sparse())
    for name in ("joint", "yes", "n", "squares"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize(
    ("shape", "answers", "better"),
    [
        ((1000, 333_000), 10_000, False),  # 0.999 GB
        ((1000, 334_000), 10_000, True),
        ((1000, 600_000), 199_000_000, True),
        ((1000, 600_000), 201_000_000, False),
    ],
)
def test_the_rule_of_size(shape, answers, better):
    assert is_better_sparse(*shape, answers) is better


LONG = TABLE.to_long()


def test_from_long():
    pytest.importorskip("pyarrow")
    for sparse in (True, False, None):
        found = Responses.from_long(LONG, sparse=sparse)
        assert found.is_sparse is (sparse is True)
        np.testing.assert_array_equal(found.dense().values, Responses(LONG).values)
    words = LONG.assign(value=LONG["value"].map({0: "no", 1: "yes"}))
    found = Responses.from_long(words, codes={"yes": 1, "no": 0}, sparse=True)
    np.testing.assert_array_equal(found.dense().values, Responses(LONG).values)


def test_an_answer_that_comes_twice():
    pytest.importorskip("pyarrow")
    twice = pd.concat([LONG, LONG.assign(value=1 - LONG["value"])])
    for which in ("first", "last"):
        found = Responses.from_long(twice, duplicates=which, sparse=True)
        expected = Responses(twice, duplicates=which)
        np.testing.assert_array_equal(found.dense().values, expected.values)
    with pytest.raises(LabelError, match="twice: aggregate first"):
        Responses.from_long(twice)
    with pytest.raises(OptionError, match="duplicates='all'"):
        Responses.from_long(twice, duplicates="all")


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("duplicates", ["first", "last"])
def test_large_files_are_kept_sparse(ending, duplicates, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    few = a_table(share=0.2).to_long()
    twice = pd.concat([few, few[3:5].assign(value=1 - few["value"][3:5])])
    path = tmp_path / f"a.{ending}"
    if ending == "csv":
        twice.to_csv(path, index=False)
    elif ending == "jsonl":
        twice.to_json(path, orient="records", lines=True)
    else:
        twice.to_parquet(path, index=False)
    expected = psy.read_responses(path, duplicates=duplicates)
    split = psy.read_responses(path, duplicates=duplicates, threshold=0.5)
    monkeypatch.setattr(cells, "LARGE", 0)
    assert psy.data.read_table(path, duplicates=duplicates).shape == expected.codes.shape
    check(psy.read_responses(path, duplicates=duplicates), expected)
    found = psy.read_responses(path, duplicates=duplicates, threshold=0.5)
    np.testing.assert_array_equal(found.dense().values, split.values)
    assert found.coding == "value > 0.5"
    with pytest.raises(OptionError, match="rules for each model"):
        psy.read_responses(path, duplicates=duplicates, threshold="model_median")
    check(psy.data.stream_responses(few), Responses(few))
