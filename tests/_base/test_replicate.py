"""Replication and work handed out: same bits for any number of jobs; what an interrupt keeps."""

import os
import sys
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
import threadpoolctl

from psychollm._base.errors import MissingPackageError, OptionError
from psychollm._base.replicate import (
    _pickled,
    _run,
    _unpickled,
    generators,
    n_workers,
    one_blas_thread,
    progress_bar,
    replicate,
    replicate_seeds,
    spread,
    workers,
)
from psychollm.kernels.pair_counts import fill_planes


def echo(seeds):
    return seeds[:, 0].astype(np.float64)


def test_seeds_do_not_depend_on_how_many_are_drawn():
    assert np.array_equal(replicate_seeds(10, 3), replicate_seeds(50, 3)[:10])
    assert not np.array_equal(replicate_seeds(10, 3), replicate_seeds(10, 4))


def test_generators_are_those_of_their_seeds():
    seeds = replicate_seeds(3, 0)
    for seed, generator in zip(seeds, generators(seeds), strict=True):
        own = np.random.Generator(np.random.Philox(key=seed))
        # An odd number of 32-bit draws leaves half a word, which the next seed must not receive.
        assert (
            generator.integers(9, size=5, dtype=np.int32)
            == own.integers(9, size=5, dtype=np.int32)
        ).all()
        assert generator.random() == own.random()


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
@pytest.mark.parametrize("n", [1, 2, 3, 500])
def test_order_and_bits(n_jobs, n):
    expected = replicate_seeds(n, 5)[:, 0].astype(np.float64)
    assert np.array_equal(replicate(echo, n, rng=5, n_jobs=n_jobs), expected)


@pytest.mark.parametrize(
    ("fixed", "expected"),
    [
        (0.0, [1, 1, 10, *[5] * 6]),
        (0.3, [1, 1, 2, 4, 8, 16, 32, 64, *[32] * 8, 16]),
    ],
)
def test_blocks_grow_where_a_call_has_a_fixed_cost(monkeypatch, fixed, expected):
    clock, sizes = [0.0], []

    def task(seeds):
        sizes.append(len(seeds))
        clock[0] += fixed + 0.01 * len(seeds)
        return echo(seeds)

    monkeypatch.setattr(
        "psychollm._base.replicate.time", SimpleNamespace(perf_counter=lambda: clock[0])
    )
    n = sum(expected)
    assert np.array_equal(replicate(task, n, rng=5, n_jobs=1), echo(replicate_seeds(n, 5)))
    assert sizes == expected


def test_processes_give_the_same_bits():
    joblib = pytest.importorskip("joblib")
    with joblib.parallel_config(backend="loky", n_jobs=2):
        spread = replicate(echo, 300, rng=5)
    assert np.array_equal(spread, replicate(echo, 300, rng=5))


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("done", [0, 1, 3])
def test_an_interrupt_is_passed_on(done, n_jobs):
    calls = []

    def task(seeds):
        calls.append(len(seeds))
        if len(calls) > done:
            raise KeyboardInterrupt
        return echo(seeds)

    with pytest.raises(KeyboardInterrupt):
        replicate(task, 10, at_once=1, n_jobs=n_jobs)


def test_workers():
    assert n_workers(None) == 1
    assert n_workers(3) == 3
    assert n_workers(-1) >= 1
    with pytest.raises(OptionError, match="n_jobs=0"):
        n_workers(0)


def test_progress_bar_reaches_the_end(capsys):
    pytest.importorskip("tqdm")
    replicate(echo, 40, progress=True, label="forty")
    assert "forty" in capsys.readouterr().err


def blas_threads():
    return [
        one["num_threads"] for one in threadpoolctl.threadpool_info() if one["user_api"] == "blas"
    ]


def test_who_works():
    assert workers(1).serial
    assert workers(None).serial
    assert workers(3).count == 3
    with joblib.parallel_config(n_jobs=2):
        assert workers(None).count == 2
        assert workers(1).serial
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert not workers(None).shared
        assert not workers(None).serial
        assert workers(1).serial
    with pytest.raises(OptionError, match="n_jobs=0"):
        workers(0)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_order(n_jobs):
    assert list(spread(abs, range(-40, 0), workers(n_jobs))) == list(range(40, 0, -1))


def process(piece):
    return piece, os.getpid()


@pytest.mark.parametrize(("parcels", "together"), [(1, 5), (2, 3), (9, 1)])
def test_parcels(parcels, together):
    """Nine pieces for two processes: those of a parcel go to one of them, in order."""
    with joblib.parallel_config(backend="loky", n_jobs=2):
        found = list(spread(process, range(9), workers(None), parcels=parcels))
    assert [piece for piece, _ in found] == list(range(9))
    by = [pid for _, pid in found]
    assert all(len(set(by[i : i + together])) == 1 for i in range(0, 9, together))
    assert os.getpid() not in by


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_a_piece_that_cannot_be_drawn_comes_after_the_waves_before(backend):
    def pieces():
        yield from range(6)
        raise OSError("no further piece")

    found = []
    with (
        joblib.parallel_config(backend=backend, n_jobs=2),
        pytest.raises(OSError, match="no further"),
    ):
        found.extend(piece for piece, _ in spread(process, pieces(), workers(None), waiting=2))
    assert found == [0, 1, 2, 3]


def test_one_thread_of_linear_algebra_until_the_last_has_left():
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with one_blas_thread(), one_blas_thread():
            assert set(blas_threads()) == {1}
        assert blas_threads() == before
        inside = replicate(lambda seeds: np.full(len(seeds), max(blas_threads())), 9, n_jobs=2)
        assert set(inside) == {1}
        assert blas_threads() == before


@pytest.mark.parametrize("writable", [True, False])
def test_kernels_are_pickled_by_name_and_arrays_as_they_are(writable):
    """Read-only arrays are another type to Numba, and writable ones may be needed."""
    data = np.arange(5.0)
    data.flags.writeable = writable

    def closure():
        return fill_planes, data

    kernel, array = _unpickled(f"writable {writable}", _pickled(closure))()
    assert kernel is fill_planes
    assert array.flags.writeable is writable


def test_a_worker_keeps_the_last_function():
    payload = _pickled([1])
    assert _unpickled("one", payload) is _unpickled("one", payload)
    first = _unpickled("one", payload)
    _unpickled("two", payload)
    assert _unpickled("one", payload) is not first


class Promise:
    """What Dask hands over: the workers see the data, whoever is left alone sees the promise."""

    def __init__(self, data):
        self.data = data

    def result(self):
        return self.data


def test_when_the_workers_are_gone_joblib_works_here():
    assert _run("here", Promise(_pickled(abs)), Promise(_pickled(-3))) == 3


@pytest.mark.parametrize("n", [1, 9, 10, 25])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_calls_of_a_fixed_size(n, n_jobs):
    """Where rows depend on the size of a call, the clock must not decide it."""
    sizes = replicate(lambda seeds: np.full(len(seeds), len(seeds)), n, at_once=10, n_jobs=n_jobs)
    assert sizes.tolist() == [10] * (n // 10 * 10) + [n % 10] * (n % 10)


def test_more_calls_than_blocks(monkeypatch):
    monkeypatch.setattr("psychollm._base.replicate.MOST_BLOCKS", 3)
    sizes = replicate(lambda seeds: np.full(len(seeds), len(seeds)), 75, at_once=10)
    assert sizes.tolist() == [10] * 70 + [5] * 5


def test_silent(capsys: pytest.CaptureFixture[str]) -> None:
    bar = progress_bar(show=False, total=3, label="replicates")
    bar.update(3)
    bar.close()
    assert capsys.readouterr() == ("", "")


def test_drawn_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    bar = progress_bar(show=True, total=3, label="replicates")
    bar.update(3)
    bar.close()
    out, err = capsys.readouterr()
    assert out == ""
    assert "replicates" in err


def test_without_tqdm_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(MissingPackageError, match=r"psychollm\[progress\]"):
        progress_bar(show=True, total=1, label="replicates")


def test_libraries_are_looked_for_once_more_where_modules_have_come(monkeypatch):
    with one_blas_thread():
        pass
    looked, pools = [], threadpoolctl.ThreadpoolController
    monkeypatch.setattr(
        threadpoolctl, "ThreadpoolController", lambda: looked.append("once") or pools()
    )
    with one_blas_thread():
        assert not looked
    monkeypatch.setitem(sys.modules, "another library", sys)
    with one_blas_thread():
        assert looked == ["once"]
