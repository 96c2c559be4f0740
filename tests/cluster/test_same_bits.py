"""Nulls and bootstraps: one answer, to the last bit, wherever the replicates run."""

import os
import signal
import time
from contextlib import nullcontext
from functools import cache, partial
from itertools import count
from threading import Timer

import joblib
import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm.estimates.resampling import Bootstrap, Resampling, bootstrap_draws
from psychollm.irt.streamed import posterior
from psychollm.nulls.one_factor import one_factor_null
from psychollm.nulls.permutation import permutation_null


@cache
def answers():
    rng = np.random.default_rng(1)
    values = (0.7 * rng.normal(size=120) + rng.normal(size=(12, 120)) > 0.2).astype(float)
    values[rng.random(values.shape) < 0.1] = np.nan
    return psy.Responses(values)


def permuted(n_jobs=None):
    return permutation_null(answers(), n_null=150, rng=3, n_jobs=n_jobs).draws


def one_factor(n_jobs=None):
    return one_factor_null(answers(), n_null=150, rng=3, n_jobs=n_jobs).draws


def panel(n_jobs=None):
    rng = np.random.default_rng(2)
    confidence = rng.random((3, 60))
    right = rng.random((3, 60)) < confidence
    weights = rng.random(60)
    found = psy.calibration_panel(
        confidence, right, weights=weights, bootstrap=Bootstrap(250, n_jobs=n_jobs), rng=4
    )
    return found.to_frame().select_dtypes("number").to_numpy()


def products(n_jobs=None):
    """Sums that round by the number of rows in a product of matrices."""
    table = np.random.default_rng(5).random((700, 13))
    return bootstrap_draws(
        lambda counts: counts @ table, 700, Resampling(430, rng=6, n_jobs=n_jobs)
    )


@cache
def scanned():
    """Answers in a folder that workers on this machine see."""
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(8)
    model, question = np.nonzero(rng.random((60, 4_000)) < 0.3)
    value = rng.random(model.size) < 1.0 / (1.0 + np.exp(-rng.normal(size=60)[model]))
    frame = pd.DataFrame({"model": model, "question": question, "value": value.astype(int)})
    return psy.data.scan(frame)


def streamed(n_jobs=None):
    fit = psy.fit_irt(scanned(), n_jobs=n_jobs)
    return np.column_stack([fit.parameters, fit.se_slope, fit.se_intercept])


WORK = [permuted, one_factor, panel, products, streamed]
serial = cache(lambda work: work(n_jobs=1))


@pytest.mark.parametrize("work", WORK)
@pytest.mark.parametrize("jobs", [None, 2, 8])
def test_threads(work, jobs, monkeypatch):
    monkeypatch.setattr(posterior, "LEAST_SHARED", 0)
    assert np.array_equal(work(n_jobs=jobs), serial(work), equal_nan=True)


@pytest.mark.parametrize("work", WORK)
def test_processes(work):
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert np.array_equal(work(), serial(work), equal_nan=True)


@pytest.mark.parametrize("work", WORK)
def test_dask(cluster, work):
    with joblib.parallel_config(backend="dask"):
        assert np.array_equal(work(), serial(work), equal_nan=True)


@pytest.mark.parametrize("work", [permuted, products])
def test_a_cluster_of_one(cluster, work, monkeypatch):
    """Then joblib works in the client, with Dask's futures in its hands."""
    backend = pytest.importorskip("joblib._dask").DaskDistributedBackend
    monkeypatch.setattr(backend, "effective_n_jobs", lambda self, n_jobs: 1)
    with joblib.parallel_config(backend="dask"):
        assert np.array_equal(work(), serial(work), equal_nan=True)


calls = count()


def lethal(matrix, victims=frozenset()):
    """Return the largest eigenvalue, or kill the process that computes it, in mid-block."""
    time.sleep(0.005)
    if os.getpid() in victims and next(calls) == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return np.linalg.eigvalsh(matrix)[-1]


@cache
def unharmed():
    return permutation_null(answers(), statistic=lethal, n_null=300, rng=3, n_jobs=1).draws


@pytest.mark.parametrize("deaths", [1, 2])
def test_workers_that_die_lose_nothing(cluster, deaths):
    """With two deaths, every worker that held the data is gone."""
    pids = cluster.run(os.getpid)
    victims = frozenset(sorted(pids.values())[:deaths])
    statistic = partial(lethal, victims=victims)
    with joblib.parallel_config(backend="dask"):
        found = permutation_null(answers(), statistic=statistic, n_null=300, rng=3).draws
    assert victims.isdisjoint(cluster.run(os.getpid).values())
    assert np.array_equal(found, unharmed())


def test_a_fit_outlives_a_worker(cluster):
    """A worker is killed while the answers are read; readings of its ranges are done again."""
    expected = serial(streamed)
    victim = next(iter(cluster.run(os.getpid).values()))
    Timer(0.5, os.kill, (victim, signal.SIGKILL)).start()
    with joblib.parallel_config(backend="dask"):
        found = streamed()
    assert victim not in cluster.run(os.getpid).values()
    assert np.array_equal(found, expected, equal_nan=True)


class Counted:
    """Data that know how often they were pickled."""

    def __init__(self, values):
        self.values, self.times = values, 0

    def __reduce__(self):
        self.times += 1
        return Counted, (self.values,)


@pytest.mark.parametrize("backend", ["loky", "dask"])
def test_data_travel_once(request, backend):
    """Sixteen megabytes, more than joblib would scatter or Dask would send without a warning."""
    if backend == "dask":
        request.getfixturevalue("cluster")
    data = Counted(np.ones((2, 1_000_000)))

    def statistic(counts):
        assert data.values.flags.writeable
        return data.values[0, : counts.shape[0]] * counts.sum()

    with joblib.parallel_config(backend=backend, n_jobs=2):
        draws = bootstrap_draws(statistic, 5, Resampling(450, rng=1))
    assert data.times == 1
    assert draws.shape == (450,)


@pytest.mark.parametrize("backend", [None, "threading", "loky"])
def test_configured_workers_without_and_with_a_backend(backend):
    named = {} if backend is None else {"backend": backend}
    with joblib.parallel_config(n_jobs=2, **named):
        assert np.array_equal(products(), serial(products))
    with nullcontext():
        assert np.array_equal(products(), serial(products))


def cell(seed, n_jobs=None):
    """One cell of a grid of simulations: a table, and a null of its own."""
    table = np.random.default_rng(seed).random((8, 100)) < 0.5
    return permutation_null(table.astype(int), n_null=30, rng=seed, n_jobs=n_jobs).p_value


@pytest.mark.parametrize("inner", [1, None])
def test_grids_of_simulations(cluster, inner):
    """Work within work: each cell by itself, or with its replicates on the cluster as well."""
    expected = [cell(seed, n_jobs=1) for seed in range(4)]
    with joblib.parallel_config(backend="dask"):
        found = joblib.Parallel()(joblib.delayed(cell)(seed, inner) for seed in range(4))
    assert np.array_equal(found, expected)
