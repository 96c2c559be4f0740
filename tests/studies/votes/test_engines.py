"""Votes in Parquet, DuckDB, Arrow and polars."""

import numpy as np
import pytest

import psychollm as psy
from psychollm._base.errors import InputError, LabelError
from psychollm.data import engines
from psychollm.studies.votes import ballot
from tests.studies.votes.tables import drawn

duckdb = pytest.importorskip("duckdb")
parquet = pytest.importorskip("pyarrow.parquet")
pl = pytest.importorskip("polars")


@pytest.fixture(scope="module")
def votes():
    return drawn()


def test_tables_read_in_batches_keep_only_the_required_columns(votes, tmp_path, monkeypatch):
    monkeypatch.setattr(engines, "BATCH", 37)  # several batches, whose categories differ
    size = np.random.default_rng(3).normal(size=len(votes))
    more = votes.assign(
        conversation=[[{"content": f"text {i}"}] for i in range(len(votes))],
        reply=[f"a long reply {i}" for i in range(len(votes))],
        length_left=size,
        length_right=np.roll(size, 1),
        many=np.arange(len(votes)) % 3 + 1,
    )
    options = {"covariates": "length", "weights": "many", "n_draws": 100, "rng": 1}
    wanted = psy.bradley_terry(more, **options)
    path = tmp_path / "votes.parquet"
    more.to_parquet(path, index=False)
    arrow = parquet.read_table(path)
    with duckdb.connect() as connection:
        lazy = pl.scan_parquet(path)
        for table in (path, arrow, lazy, connection.read_parquet(str(path))):
            assert set(engines.header_in(table)) == set(more)
            got = psy.bradley_terry(table, **options)
            np.testing.assert_allclose(got.strengths.value, wanted.strengths.value, atol=1e-9)
            np.testing.assert_allclose(got.covariates.value, wanted.covariates.value, atol=1e-9)
            assert got.labels == wanted.labels
            assert got.voters.labels == wanted.voters.labels
    read = []
    monkeypatch.setattr(ballot, "read_columns", lambda _, names: read.extend(names) or more)
    psy.bradley_terry(arrow, **options)
    assert not {"conversation", "reply"} & {*read}


def test_messages_name_all_columns(tmp_path):
    path = tmp_path / "unknown.parquet"
    pl.DataFrame({"one": ["a"], "other": ["b"], "best": ["a"]}).write_parquet(path)
    with pytest.raises(LabelError, match="'one', 'other', 'best'"):
        psy.bradley_terry(path)
    with pytest.raises(LabelError, match="no column of winners found among 'one'"):
        psy.bradley_terry(path, left="one", right="other")


def test_a_database_with_several_tables_is_an_error(tmp_path):
    path = tmp_path / "several.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE one (a INT); CREATE TABLE two (b INT)")
    with pytest.raises(InputError, match="DuckDB database with one table"):
        psy.bradley_terry(path)
