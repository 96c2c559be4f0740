"""Blocks counted in other processes."""

import joblib
import numpy as np
import pytest

import psychollm as psy
from psychollm._base import replicate
from psychollm.data.pair_counts_blocks import count_blocks, read_pair_counts

pytest.importorskip("pyarrow")

ARRAYS = ("joint", "yes", "n", "squares")


@pytest.fixture(scope="module")
def tables():
    """Six sparse tables of 20 models, each with questions of its own."""
    rng = np.random.default_rng(7)
    found = []
    for part in range(6):
        values = rng.integers(0, 2, (20, 200)).astype(float)
        values[rng.random(values.shape) > 0.1] = np.nan
        questions = [f"q{part}-{i}" for i in range(200)]
        models = [f"m{i}" for i in rng.permutation(20)]
        found.append(psy.Responses(values, models=models, questions=questions))
    return found


@pytest.fixture(scope="module")
def files(tables, tmp_path_factory):
    folder = tmp_path_factory.mktemp("blocks")
    for place, table in enumerate(tables):
        table.to_long().dropna().to_parquet(folder / f"{place}.parquet")
    return sorted(folder.iterdir())


def check_equal(found, expected):
    assert found.labels == expected.labels
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize("kind", ["tables", "files"])
def test_blocks_on_a_cluster(cluster, request, kind, monkeypatch):
    monkeypatch.setattr(replicate, "LARGE_BYTES", 1000)  # tables then travel as tasks of their own
    blocks = request.getfixturevalue(kind)
    with joblib.parallel_config(backend="dask"):
        found = count_blocks(blocks)
    check_equal(found, count_blocks(blocks, n_jobs=1))


def test_row_groups_on_a_cluster(cluster, files):
    with joblib.parallel_config(backend="dask"):
        found = read_pair_counts(files, batch=300)
    check_equal(found, read_pair_counts(files, n_jobs=1))
