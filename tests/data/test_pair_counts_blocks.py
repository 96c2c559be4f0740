"""Blocks counted side by side, against all of it counted at once."""

import itertools

import joblib
import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm._base.errors import CodeError, InputError, LabelError
from psychollm.data import batches
from psychollm.data.pair_counts_blocks import count_blocks, read_pair_counts, stream_responses

pytest.importorskip("pyarrow")


def panel(share, k=12, n=300, seed=1):
    """Return a long table in random order; with few answers, some models answer no block."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2, (k, n)).astype(float)
    values[rng.random((k, n)) > share] = np.nan
    frame = pd.DataFrame(
        values, index=[f"m{i}" for i in range(k)], columns=[f"q{i}" for i in range(n)]
    )
    long = frame.rename_axis("model").reset_index().melt("model", var_name="question").dropna()
    return long.sample(frac=1, random_state=seed)


def check_equal(found, expected):
    assert found.labels == expected.labels
    for name in ("joint", "yes", "n", "squares"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
        assert getattr(found, name).dtype == np.float64


def in_files(long, folder, by="question", files=7):
    """Write all answers to a question to one file."""
    place = pd.factorize(long[by])[0] % files
    for i in range(files):
        long[place == i].to_parquet(folder / f"{i}.parquet", row_group_size=40)
    return [folder / f"{i}.parquet" for i in range(files)]


@pytest.mark.parametrize("share", [1.0, 0.1])
@pytest.mark.parametrize("of", ["models", "questions"])
def test_files_of_whole_questions(tmp_path, share, of):
    long = panel(share)
    by = "question" if of == "models" else "model"
    files = in_files(long, tmp_path, by=by)
    streamed = read_pair_counts(files, of=of)
    table = psy.Responses(pd.concat([pd.read_parquet(path) for path in files]))
    expected = psy.PairCounts.count(table, of=of)
    for n_jobs in (None, 2, 8):
        found = count_blocks(files, of=of, n_jobs=n_jobs)
        check_equal(found, streamed)
        check_equal(found, expected)


@pytest.mark.parametrize("share", [1.0, 0.1])
def test_row_groups_side_by_side(tmp_path, share):
    """Answers in any order, and as many batches as do not fit into one wave."""
    path = tmp_path / "a.parquet"
    panel(share).to_parquet(path, row_group_size=60)
    counts, expected = read_pair_counts(path), stream_responses(path)
    for n_jobs, batch in itertools.product((2, 8), (64, 500)):
        check_equal(read_pair_counts(path, n_jobs=n_jobs, batch=batch), counts)
        table = stream_responses(path, n_jobs=n_jobs, batch=batch)
        assert (table.models, table.questions) == (expected.models, expected.questions)
        np.testing.assert_array_equal(table.values, expected.values)


def test_row_groups_in_processes(tmp_path):
    path = tmp_path / "a.parquet"
    panel(0.5).to_parquet(path, row_group_size=60)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        check_equal(read_pair_counts(path, batch=100), read_pair_counts(path, n_jobs=1))


def test_long_row_groups_are_streamed(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    panel(0.5).to_parquet(path)
    monkeypatch.setattr(batches, "in_turn", None)
    check_equal(read_pair_counts(path, n_jobs=2, batch=10), read_pair_counts(path))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_tables(n_jobs):
    rng = np.random.default_rng(3)
    parts = []
    for start in (0, 40, 90):
        values = rng.integers(0, 2, (4, 40)).astype(float)
        values[rng.random(values.shape) > 0.6] = np.nan
        columns = [f"q{start + i}" for i in range(40)]
        parts.append(pd.DataFrame(values, index=rng.permutation(list("abcd")), columns=columns))
    found = count_blocks([parts[0], psy.Responses(parts[1]), parts[2]], n_jobs=n_jobs)
    whole = pd.concat([part.loc[parts[0].index] for part in parts], axis=1)
    check_equal(found, psy.PairCounts.count(whole))


def test_what_cannot_be_added_is_named(tmp_path):
    table = psy.Responses([[1, 0], [0, 1]], models=["a", "b"], questions=["x", "y"])
    with pytest.raises(LabelError, match=r"question 'x' is in block 1 and in block 2: pairs of"):
        count_blocks([table, table])
    with pytest.raises(LabelError, match=r"model 'a' is in block 1 and in block 2"):
        count_blocks([table, table], of="questions")
    with pytest.raises(InputError, match="blocks is empty"):
        count_blocks([])
    with pytest.raises(InputError, match=r"b.parquet cannot be read as Parquet"):
        count_blocks([table, tmp_path / "b.parquet"], n_jobs=2)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_complaints_come_in_the_order_of_the_file(tmp_path, n_jobs):
    long = panel(1.0)
    long.iloc[150, long.columns.get_loc("value")] = 7
    long.iloc[2000, long.columns.get_loc("value")] = 8
    path = tmp_path / "a.parquet"
    long.to_parquet(path, row_group_size=100)
    with pytest.raises(CodeError, match="parquet, row 151, column 'value' holds 7"):
        read_pair_counts(path, batch=100, n_jobs=n_jobs)


def test_progress(tmp_path, capsys):
    pytest.importorskip("tqdm")
    count_blocks(in_files(panel(0.5), tmp_path), progress=True)
    read_pair_counts(tmp_path / "1.parquet", progress=True)
    written = capsys.readouterr()
    assert written.out == ""
    assert "blocks" in written.err
    assert "answers" in written.err
