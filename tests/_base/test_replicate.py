"""Replication: same bits for any number of jobs, and an interrupt that keeps what is done."""

import numpy as np
import pytest

from psychollm._base.errors import InterruptedWarning, OptionError
from psychollm._base.replicate import n_workers, replicate, replicate_seeds


def echo(seeds):
    return seeds[:, 0].astype(np.float64)


def test_seeds_do_not_depend_on_how_many_are_drawn():
    assert np.array_equal(replicate_seeds(10, 3), replicate_seeds(50, 3)[:10])
    assert not np.array_equal(replicate_seeds(10, 3), replicate_seeds(10, 4))


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
@pytest.mark.parametrize("n", [1, 2, 3, 500])
def test_order_and_bits(n_jobs, n):
    expected = replicate_seeds(n, 5)[:, 0].astype(np.float64)
    assert np.array_equal(replicate(echo, n, rng=5, n_jobs=n_jobs), expected)


def test_processes_give_the_same_bits():
    joblib = pytest.importorskip("joblib")
    with joblib.parallel_config(backend="loky", n_jobs=2):
        spread = replicate(echo, 300, rng=5)
    assert np.array_equal(spread, replicate(echo, 300, rng=5))


def test_interrupt_returns_what_is_done():
    calls = []

    def task(seeds):
        calls.append(len(seeds))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return echo(seeds)

    with pytest.warns(InterruptedWarning, match="1 of 100 replicates are done"):
        draws = replicate(task, 100, rng=5, n_jobs=1)
    assert len(draws) == 1


def test_interrupt_before_anything_is_done_is_passed_on():
    def task(seeds):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replicate(task, 10, n_jobs=1)


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
