"""Answers from files, frames and engines into a folder of cells."""

import gc
import pickle
import sys
import warnings
from decimal import Decimal

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
    SparseError,
)
from psychollm.data.cells import FolderCells
from psychollm.data.scan import Scan, scan

pa = pytest.importorskip("pyarrow")


def long_answers(seed=1, *, text=True):
    rng = np.random.default_rng(seed)
    model, question = np.nonzero(rng.random((12, 300)) < 0.2)
    order = rng.permutation(model.size)
    return pd.DataFrame(
        {
            "model": [f"m{k}" if text else k * 7 - 3 for k in model[order]],
            "question": question[order] * 1_000_000_007,
            "value": rng.integers(0, 2, model.size),
            "seconds": rng.random(model.size),
        }
    )


LONG = long_answers()
EXPECTED = psy.Responses(LONG, question="question", value="value")


def check(found, expected=EXPECTED):
    assert (found.models, found.questions) == (expected.models, expected.questions)
    for sparse in (True, False):
        table = found.responses(sparse=sparse)
        assert table.is_sparse is sparse
        np.testing.assert_array_equal(table.dense().values, expected.values)
    transposed = found.by_model.read(0, found.n_models)
    assert np.diff(transposed.start).tolist() == expected.answered.tolist()
    np.testing.assert_array_equal(found.answered, expected.answered)
    np.testing.assert_allclose(found.yes_rates, expected.yes_rates)
    assert found.answers_per_question.tolist() == (~expected.missing).sum(axis=0).tolist()
    assert (found.n_answers, found.coding) == (int(expected.answered.sum()), "binary")


def copied(made):
    return pickle.loads(pickle.dumps(made))  # noqa: S301 - our own


@pytest.fixture
def files(tmp_path):
    """The answers as one file of Parquet, and in a folder of three."""
    LONG.to_parquet(tmp_path / "whole.parquet", row_group_size=100)
    folder = tmp_path / "parts" / "deep"
    folder.mkdir(parents=True)
    for k, part in enumerate(np.array_split(np.arange(len(LONG)), 3)):
        LONG.iloc[part].to_parquet(folder / f"{k}.parquet")
    return tmp_path


@pytest.mark.parametrize("text", [True, False])
@pytest.mark.parametrize("batch", [37, 1 << 20])
def test_frames(text, batch):
    long = long_answers(text=text)
    expected = psy.Responses(long, question="question", value="value")
    table = pa.Table.from_pandas(long)
    for source in (
        long,
        long.convert_dtypes(),
        long.astype({"model": "category", "value": bool}),
        table,
        table.to_batches()[0],
        table.to_reader(),
        [long[:100], table.slice(100)],
        (part for part in (long[:1], long[1:])),
    ):
        check(scan(source, batch=batch), expected)


def test_files(files):
    from pyarrow.dataset import dataset

    parts = sorted((files / "parts" / "deep").iterdir())
    for source in (files / "whole.parquet", str(files / "parts"), parts, dataset(parts)):
        check(scan(source))
    check(scan(files / "whole.parquet", batch=50, n_jobs=2))
    check(scan([parts[0], LONG.iloc[len(pd.read_parquet(parts[0])) :]]))


def test_polars(files):
    polars = pytest.importorskip("polars")
    frame = polars.from_pandas(LONG)
    check(scan(frame))
    check(scan(polars.scan_parquet(files / "whole.parquet"), batch=100))
    lazy = (
        frame.lazy().with_columns(value=1 - polars.col("value")).filter(polars.col("seconds") > 2)
    )
    with pytest.raises(InputError, match="no answer was found in the table"):
        scan(lazy)


def test_duckdb(files):
    duckdb = pytest.importorskip("duckdb")
    path = files / "answers.duckdb"
    with duckdb.connect(str(path)) as database:
        database.read_parquet(f"{files}/whole.parquet").create("runs")
    check(scan(path))
    with duckdb.connect(str(path)) as database:
        check(scan(database.sql('SELECT value, model, question, seconds AS "a ""b" FROM runs')))
        database.sql("CREATE TABLE others AS SELECT 1 AS model")
    check(scan(path, table="runs"))
    sums = "SELECT model, question, sum(value) AS value FROM runs GROUP BY ALL"
    table = scan(path, query=sums).responses()  # sums are decimals of 128 bits
    np.testing.assert_array_equal(
        table.select(models=EXPECTED.models, questions=EXPECTED.questions).values, EXPECTED.values
    )
    for options, error, said in [
        ({}, OptionError, r"which table holds the answers\? .* 'others', 'runs'"),
        ({"table": "runs", "query": sums}, OptionError, "exclude each other"),
        ({"table": "absent"}, InputError, "answers.duckdb: .*absent"),
        ({"query": "SELECT nothing FROM runs"}, InputError, "nothing"),
        ({"query": ""}, OptionError, "query='' selects no rows"),
        ({"query": 5}, OptionError, "query=5 must be text"),
        ({"table": 5}, OptionError, "table=5 must be text"),
        ({"table": "others"}, LabelError, "has no column 'question': its columns are 'model'"),
    ]:
        with pytest.raises(error, match=said):
            scan(path, **options)
    with pytest.raises(CodeError) as kept:  # and with it its frames
        scan(path, query="SELECT model, question, 99 AS value FROM runs")
    with duckdb.connect(str(path)) as database:  # to write: nobody reads it any more
        database.sql("DROP TABLE others")
    assert "row 1, " in str(kept.value)
    with pytest.raises(OptionError, match="whole.parquet is not a DuckDB database file"):
        scan(files / "whole.parquet", table="runs")
    with pytest.raises(OptionError, match="filter the source itself"):
        scan(LONG, query=sums)


def test_dask(files):
    frame = pytest.importorskip("dask.dataframe")
    check(scan(frame.from_pandas(LONG, npartitions=4, sort=False)))
    with pytest.raises(LabelError, match="the Dask dataframe has no column 'answer'"):
        scan(frame.from_pandas(LONG, npartitions=2), value="answer")


def test_graded_split_and_words():
    long = LONG.assign(value=np.arange(len(LONG)) % 16)
    graded = scan(long)
    assert (graded.coding, graded.highest, graded.is_binary) == ("graded", 15, False)
    expected = psy.Responses(long[["model", "question", "value"]])
    np.testing.assert_array_equal(graded.responses().values, expected.values)
    with pytest.raises(CodeError, match="yes_rates needs .* but the codes go up to 15"):
        _ = graded.yes_rates
    split = scan(long, threshold=7)
    assert split.coding == "value > 7"
    np.testing.assert_array_equal(
        split.responses().values, np.where(expected.missing, np.nan, expected.codes > 7)
    )
    words = long.assign(value=np.where(LONG["value"], "yes", "no"))
    check(scan(words, codes={"yes": 1, "no": 0}))


def test_missing_answers_are_no_cells():
    long = LONG.assign(value=LONG["value"].astype(float).where(LONG.index % 3 > 0))
    expected = psy.Responses(long[["model", "question", "value"]])
    check(scan(long), expected)


@pytest.mark.parametrize(
    ("long", "options", "error", "said"),
    [
        (pd.concat([LONG, LONG[5:6]]), {}, LabelError, r"model 'm\d+' answers question \d+ twice"),
        (LONG, {"value": "seconds"}, CodeError, "table, row 1, column 'seconds' holds 0"),
        (LONG, {"model": "llm"}, LabelError, "the DataFrame has no column 'llm': its columns are"),
        (LONG.assign(model=None), {}, LabelError, "column 'model' has 7.. empty cells"),
        (LONG.assign(model=LONG["model"].shift(-1)), {}, LabelError, "the first in row 7..$"),
        (LONG.assign(value=LONG.index // 6 * 16), {"batch": 5}, CodeError, "table, row 7, .* 16:"),
        (LONG, {"model": "question"}, OptionError, "column 'question' is named twice"),
        (pd.concat([LONG, LONG[["model"]]], axis=1), {}, LabelError, "has 2 columns 'model'"),
        (LONG, {"threshold": np.nan}, OptionError, "threshold=nan must be a finite number"),
        (LONG, {"codes": ["yes", "no"]}, OptionError, "must map each value to a number"),
        (LONG, {"n_jobs": "x"}, OptionError, "n_jobs='x' is invalid"),
        (LONG, {"n_jobs": 0}, OptionError, "n_jobs=0 is invalid"),
        (LONG, {"folder": 5}, OptionError, "folder=5 must be a path"),
        (LONG.assign(value=np.nan), {}, InputError, "no answer was found in the table"),
        (LONG[:0], {}, InputError, "no answer was found in the table"),
        (LONG.assign(value="no"), {}, CodeError, "column 'value' .*'no'"),
        (LONG.assign(value=["1", "0", "yes"] + ["1"] * (len(LONG) - 3)), {}, CodeError,
         "row 3, column 'value' cannot hold 'yes', which is not a number: .* codes={\"yes\": 1, "),
        (LONG.assign(value="no"), {"threshold": 0.5}, CodeError, "'no', .* pass numbers$"),
        *[
            (LONG.assign(value=[cell] * len(LONG)), {}, CodeError, "row 1, .* cannot hold")
            for cell in (pd.Timestamp("2020"), pd.Timedelta(1), [1], {"a": 1})
        ],
        (LONG.assign(value=[[1]] * len(LONG)), {"codes": {"a": 1}}, CodeError, "cannot be read"),
        *[
            (LONG.assign(question=[cell] * len(LONG)), {}, LabelError, "'question' holds")
            for cell in ([1], (1, 2), pd.Timestamp("2020"), b"a", Decimal(1))
        ],
        ([LONG, LONG.assign(model="x", question="1")], {}, LabelError,
         "block 2, rows 1 to 7.. cannot be read as columns: the label '1' is of type str, and"),
        ([LONG, LONG.assign(model="x", question=True)], {}, LabelError, "label True is of ty"),
        (LONG.assign(model=[1, *["a"] * (len(LONG) - 1)]), {}, InputError, "rows 1 to 7.. cannot"),
        (LONG, {"threshold": "model_median"}, OptionError, "must be a finite number"),
        (LONG, {"batch": 0}, OptionError, "batch"),
        (3, {}, InputError, "the table is a int: pass a Parquet file"),
        ([3], {}, InputError, "block 1 is a int"),
        ({}, {}, InputError, "the table is a dict"),
        ([], {}, InputError, "no answer was found in these blocks"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(long, options, error, said, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(error, match=said):
        scan(long, **options)
    assert list(tmp_path.iterdir()) == []  # no folder is left behind


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_files_whose_labels_differ_by_type(tmp_path, n_jobs):
    LONG.to_parquet(tmp_path / "0.parquet")
    LONG.assign(question=LONG["question"].astype(str)).to_parquet(tmp_path / "1.parquet")
    with pytest.raises(
        LabelError, match=r"1.parquet, rows 1 to .* is of type str, and \d+ before"
    ):
        scan(tmp_path, n_jobs=n_jobs)
    for name in ("x", 1.5, True):
        with pytest.raises(OptionError, match=f"n_jobs={name!r} is invalid"):
            scan(tmp_path, n_jobs=name)


def test_errors_of_engines_are_named(files, tmp_path):
    def stopped():
        yield LONG
        raise KeyError("mine")

    frame = pytest.importorskip("dask.dataframe").from_pandas(LONG, npartitions=2)
    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    table = polars.from_pandas(LONG)
    rows = duckdb.read_parquet(f"{files}/whole.parquet")
    for source, said in [
        (frame.map_partitions(lambda part: 1 / 0 and part, meta=LONG[:0]), "the table: division"),
        (rows.project("model::INT AS model, question, value"), "the table: Conversion Error"),
        (
            table.lazy().with_columns(polars.col("model").cast(polars.Int64)),
            "the table: conversion",
        ),
        (polars.scan_parquet(tmp_path / "absent.parquet"), "the table: .*absent.parquet"),
        (table["value"], "the table: .*schema"),
        (stopped(), "these blocks: 'mine'"),
    ]:
        with pytest.raises(InputError, match=f"^{said}"):
            scan(source)


def test_a_relation_needs_pyarrow(files, monkeypatch):
    duckdb = pytest.importorskip("duckdb")
    rows = duckdb.read_parquet(f"{files}/whole.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingPackageError, match=r'needs pyarrow: pip install "psychollm\[io\]"'):
        scan(rows)


def test_paths_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match=r"holds no \*\.parquet files"):
        scan(tmp_path)
    (tmp_path / "a.csv").write_text("model,question,value\n")
    with pytest.raises(InputError, match=r"a.csv cannot be read as Parquet"):
        scan(tmp_path / "a.csv")
    with pytest.raises(InputError, match=r"b.parquet cannot be read as Parquet"):
        scan(tmp_path / "b.parquet")


def test_a_named_folder_is_opened_again(tmp_path):
    made = scan(LONG, folder=tmp_path / "cells")
    check(Scan.open(tmp_path / "cells"))
    check(copied(made))
    assert len(pickle.dumps(made)) < 300 + len(str(tmp_path))  # the path alone
    del made
    gc.collect()
    check(Scan.open(tmp_path / "cells"))
    with pytest.raises(OptionError, match=r"cells already holds a scan: open it with Scan.open"):
        scan(LONG, folder=tmp_path / "cells")
    with pytest.raises(OptionError, match="is not empty"):
        scan(LONG, folder=tmp_path)
    with pytest.raises(InputError, match="does not hold a finished scan"):
        Scan.open(tmp_path)
    with pytest.raises(OptionError, match="folder=None must be a path"):
        Scan.open(None)


def test_a_folder_is_after_an_error_as_it_was(tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    for folder in (empty, tmp_path / "new"):
        with pytest.raises(CodeError):
            scan(LONG, value="seconds", folder=folder)
    assert list(tmp_path.iterdir()) == [empty]
    assert list(empty.iterdir()) == []


def test_folders_that_cannot_be_written(tmp_path, monkeypatch):
    def refused(*_, **__):
        raise PermissionError(13, "denied")

    made = scan(LONG, folder=tmp_path / "cells")
    (tmp_path / "file.csv").touch()
    with pytest.raises(InputError, match="file.csv/sub cannot be written"):
        scan(LONG, folder=tmp_path / "file.csv" / "sub")
    monkeypatch.setattr(FolderCells, "transposed", refused)
    with pytest.raises(InputError, match="cells cannot be written: .*denied"):
        _ = made.by_model
    (tmp_path / "empty").mkdir()
    monkeypatch.setattr("psychollm.data.cells.Path.mkdir", refused)
    for name in ("empty", "new"):
        with pytest.raises(InputError, match=f"{name} cannot be written: .*denied"):
            scan(LONG, folder=tmp_path / name)
    assert (tmp_path / "empty").is_dir()


def test_a_temporary_folder_goes_with_the_scan():
    made = scan(LONG)
    other = copied(made)
    folder = made.folder
    del other
    gc.collect()
    assert folder.exists()
    del made
    gc.collect()
    assert not folder.exists()


def test_what_it_shows():
    shown = repr(scan(LONG))
    assert shown.splitlines()[0] == f"Scan: 12 models x {EXPECTED.n_questions} questions, binary"
    assert f"answers    {len(LONG):,} (21.5 % of the cells)" in shown
    assert "'m" in shown


def test_progress(capsys):
    pytest.importorskip("tqdm")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of notebooks without widgets
        scan(LONG, progress=True)
    assert f"answers:   0%|          | 0/{len(LONG)}" in capsys.readouterr().err


@pytest.mark.parametrize("of", ["models", "questions"])
@pytest.mark.parametrize("weighted", [True, False])
def test_counts_of_pairs(of, weighted, monkeypatch):
    from psychollm.data import cells, pair_counts

    monkeypatch.setattr(cells, "BLOCK", 12 * 64)
    monkeypatch.setattr(pair_counts, "PLANE", 300)
    n = EXPECTED.n_questions if of == "models" else EXPECTED.n_models
    weights = np.random.default_rng(4).random(n) if weighted else None
    expected = psy.PairCounts.count(EXPECTED, of=of, weights=weights)
    made = scan(LONG)
    for table in (made, made.responses(sparse=True)):
        found = psy.PairCounts.count(table, of=of, weights=weights)
        assert (found.labels, found.of) == (expected.labels, of)
        for name in ("joint", "yes", "n", "squares"):
            np.testing.assert_allclose(
                getattr(found, name), getattr(expected, name), rtol=1e-12, atol=1e-12
            )


def test_counts_of_a_relation(files):
    duckdb = pytest.importorskip("duckdb")
    found = psy.data.read_pair_counts(duckdb.read_parquet(f"{files}/whole.parquet"))
    np.testing.assert_array_equal(found.joint, psy.PairCounts.count(EXPECTED).joint)


def test_tetrachoric():
    made = scan(LONG)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", psy.errors.EmptyCellWarning)
        found, expected = psy.tetrachoric(made), psy.tetrachoric(EXPECTED)
    np.testing.assert_array_equal(found.matrix, expected.matrix)
    graded = scan(LONG.assign(value=2))
    with pytest.raises(CodeError, match="has code 2, but yes/no answers"):
        psy.tetrachoric(graded)


def test_what_needs_a_table_says_so():
    with pytest.raises(SparseError, match=r"21.5 % of them filled. Pass responses.dense\(\)"):
        psy.polychoric(scan(LONG))
    with pytest.raises(AttributeError, match="'Scan' object has no attribute 'answers'"):
        _ = scan(LONG).answers


def test_numbers_of_other_types():
    long = LONG.assign(value=[Decimal(int(one)) for one in LONG["value"]])
    check(scan(long))
