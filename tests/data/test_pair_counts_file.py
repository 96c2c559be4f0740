"""Long Parquet files, batch by batch, against the same table counted at once."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import psychollm as psy
from psychollm._base.errors import CodeError, InputError, LabelError, OptionError, ShapeError
from psychollm.data import pair_counts_blocks as module
from psychollm.data.pair_counts_blocks import read_pair_counts, stream_responses
from psychollm.kernels.pair_counts import fill_planes
from tests.effort import examples
from tests.oracles.bit_planes_slow import planes

pytest.importorskip("pyarrow")


def long_table(rng, k, n, share, *, shuffle=True):
    values = rng.integers(0, 2, (k, n)).astype(float)
    values[rng.random((k, n)) > share] = np.nan
    frame = pd.DataFrame(values, index=[f"m{i}" for i in range(k)], columns=range(n))
    long = frame.rename_axis("model").reset_index().melt("model", var_name="question")
    long = long.dropna()
    return long.sample(frac=1, random_state=int(rng.integers(99))) if shuffle else long


def check_equal(found, expected):
    assert found.labels == expected.labels
    for name in ("joint", "yes", "n", "squares"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize("batch", [70, 1 << 20])
@pytest.mark.parametrize("share", [1.0, 0.2])
@pytest.mark.parametrize("of", ["models", "questions"])
@pytest.mark.parametrize("labels", ["text", "number", "category"])
def test_counts_are_those_of_the_table(tmp_path, batch, share, of, labels):
    long = long_table(np.random.default_rng(1), 5, 90, share)
    if labels != "number":
        long["question"] = "q" + long["question"].astype(str)
    if labels == "category":
        long["model"] = pd.Categorical(long["model"], categories=[f"m{i}" for i in range(9)])
    long.to_parquet(tmp_path / "a.parquet", row_group_size=200)
    expected = psy.PairCounts.count(psy.Responses(long), of=of)
    found = read_pair_counts(tmp_path / "a.parquet", batch=batch, of=of)
    check_equal(found, expected)


@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(1, 90), st.integers(5, 60))
@examples(15)
def test_tables_are_those_of_the_frame(tmp_path_factory, seed, k, n, batch):
    long = long_table(np.random.default_rng(seed), k, n, 0.8)
    if long.empty:
        return
    path = tmp_path_factory.mktemp("long") / "a.parquet"
    long.to_parquet(path)
    found = stream_responses(path, batch=batch)
    expected = psy.Responses(long)
    assert (found.models, found.questions) == (expected.models, expected.questions)
    np.testing.assert_array_equal(found.values, expected.values)


def test_files_add_up(tmp_path):
    long = long_table(np.random.default_rng(2), 4, 80, 0.9)
    for i, part in enumerate(np.array_split(np.arange(len(long)), 3)):
        long.iloc[part].to_parquet(tmp_path / f"{i}.parquet")
    found = read_pair_counts(sorted(tmp_path.iterdir()))
    check_equal(found, psy.PairCounts.count(psy.Responses(long)))


def test_columns_thresholds_and_nulls(tmp_path):
    long = pd.DataFrame(
        {"llm": list("aabb"), "item": [1, 2, 1, 2], "sure": [0.5, 0.9, None, 0.1], "text": "x"}
    )
    long.to_parquet(tmp_path / "a.parquet")
    options = {"model": "llm", "question": "item", "value": "sure", "threshold": 0.5}
    found = stream_responses(tmp_path / "a.parquet", **options)
    np.testing.assert_array_equal(found.values, [[0, 1], [np.nan, 0]])
    assert found.coding == "value > 0.5"
    at_least = stream_responses(tmp_path / "a.parquet", strict=False, **options)
    np.testing.assert_array_equal(at_least.values, [[1, 1], [np.nan, 0]])
    assert at_least.coding == "value >= 0.5"


@pytest.mark.parametrize("kind", ["bool", "int8", "float32", "Int64"])
def test_kinds_of_answers(tmp_path, kind):
    long = pd.DataFrame({"model": list("aab"), "question": [1, 2, 1], "value": [1, 0, 1]})
    long.astype({"value": kind}).to_parquet(tmp_path / "a.parquet")
    np.testing.assert_array_equal(
        stream_responses(tmp_path / "a.parquet").values, [[1, 0], [1, np.nan]]
    )


LONG = pd.DataFrame({"model": list("aab"), "question": [1, 2, 1], "value": [1.0, 0.0, 1.0]})


@pytest.mark.parametrize(
    ("frame", "options", "error", "message"),
    [
        (LONG.assign(value=[1, 0, 7]), {}, CodeError, "parquet, row 3, column 'value' holds 7"),
        (
            LONG.assign(value="yes"),
            {},
            CodeError,
            "parquet, row 1, column 'value' .*'yes', which is not a number: pass numbers$",
        ),
        (LONG.assign(question=1), {}, LabelError, "'a' and 1 have a second answer: aggregate"),
        (LONG.assign(model=[None, "a", "b"]), {}, LabelError, "column 'model' has 1 empty cells"),
        (LONG, {"model": "llm"}, LabelError, "has no column 'llm': its columns are 'model'"),
        (LONG.iloc[:0], {}, InputError, "no answer was found in"),
        (LONG.assign(value=np.nan), {}, InputError, "no answer was found in"),
        (LONG, {"batch": 0}, OptionError, "batch=0"),
        (LONG, {"of": "rows"}, OptionError, "of='rows'"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path, frame, options, error, message):
    frame.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(error, match=message):
        read_pair_counts(tmp_path / "a.parquet", **options)


def test_a_second_answer_in_a_later_batch_is_found(tmp_path):
    pd.concat([LONG, LONG.iloc[:1]]).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(LabelError, match="rows 4 to 4: 'a' and 1 have a second answer"):
        read_pair_counts(tmp_path / "a.parquet", batch=1)


def test_files_that_are_none(tmp_path):
    path = tmp_path / "a.parquet"
    with pytest.raises(InputError, match=r"a.parquet cannot be read as Parquet"):
        read_pair_counts(path)
    path.write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(InputError, match=r"a.parquet cannot be read as Parquet"):
        read_pair_counts(path)


def test_too_many_rows_to_pair(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_ROWS", 1)
    LONG.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ShapeError, match="are rows and columns exchanged"):
        read_pair_counts(tmp_path / "a.parquet")


def test_planes_against_the_slow_twin():
    rng = np.random.default_rng(3)
    row, column = rng.integers(0, 5, 400), rng.integers(0, 130, 400)
    value = rng.integers(-1, 2, 400).astype(np.int8)
    yes, answered = np.zeros((2, 5, 3), dtype=np.uint64)
    repeated = np.full(1, -1)
    fill_planes(row, column, value, yes, answered, repeated)
    slow = planes(row.tolist(), column.tolist(), value.tolist(), 5, 3)
    assert yes.tolist() == slow[0]
    assert answered.tolist() == slow[1]
    assert repeated[0] == slow[2]


def test_progress_is_quiet_where_nobody_looks(tmp_path, capsys):
    pytest.importorskip("tqdm")
    LONG.to_parquet(tmp_path / "a.parquet")
    read_pair_counts(tmp_path / "a.parquet", progress=True)
    assert capsys.readouterr().out == ""


def test_more_rows_than_a_table_may_hold_are_counted(tmp_path, monkeypatch):
    long = long_table(np.random.default_rng(1), 3, 20, 1.0)
    long.to_parquet(tmp_path / "a.parquet")
    monkeypatch.setattr("psychollm.data.parquet.MAX_ROWS", 10)
    with pytest.raises(InputError, match="declares 60 rows"):
        psy.read_responses(tmp_path / "a.parquet")
    counted = read_pair_counts(tmp_path / "a.parquet")
    check_equal(counted, psy.PairCounts.count(psy.Responses(long)))
