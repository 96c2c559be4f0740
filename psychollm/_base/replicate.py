"""Replicated work: nulls, bootstraps, simulations.

One function runs all of them. Each replicate owns a stream of random numbers keyed by its index,
and tasks are functions of the index alone: blocks of replicates may be cut anywhere, run anywhere
and run twice, and the answer is the same to the last bit for any number of jobs and any backend
of joblib: ``with joblib.parallel_config(backend="dask"): ...``.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from psychollm._base.checks import check_count, check_generator
from psychollm._base.errors import InterruptedWarning, OptionError
from psychollm._base.spread import Workers, one_blas_thread, progress_bar, spread, workers
from psychollm._base.types import AnyArray, RandomState, WordArray

Task = Callable[[WordArray], AnyArray]

# A block takes at least this long, so that handing it out costs little, to a thread or to another
# process; and blocks stay short enough for a progress bar to move and for a cluster to share.
BLOCK_SECONDS = 0.05
REMOTE_BLOCK_SECONDS = 0.2
MOST_BLOCKS = 2_000


def replicate_seeds(n: int, rng: RandomState) -> WordArray:
    """Return two seed words per replicate, shape (n, 2)."""
    # Words of replicate r are a function of the generator's draw and of r alone: the first r
    # replicates of a longer run are those of a shorter one.
    return _seeds(_root(rng), 0, n)


def _root(rng: RandomState) -> tuple[int, int]:
    words = check_generator(rng).integers(0, 2**63, size=2, dtype=np.uint64)
    return int(words[0]), int(words[1])


def _seeds(root: tuple[int, int], start: int, stop: int) -> WordArray:
    index = np.arange(start, stop, dtype=np.uint64)
    first = np.uint64(root[0]) ^ index
    return np.stack([first, np.full(index.size, root[1], dtype=np.uint64)], axis=1)


def n_workers(n_jobs: int | None) -> int:
    """Return the number of workers that `n_jobs` stands for (scikit-learn's meaning)."""
    if n_jobs is None:
        return 1
    if n_jobs == 0:
        msg = "n_jobs=0 has no meaning: use 1 for serial work or -1 for all processors"
        raise OptionError(msg)
    return n_jobs if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + n_jobs)


def replicate(
    task: Task,
    n: int,
    *,
    rng: RandomState = None,
    n_jobs: int | None = None,
    progress: bool = False,
    label: str = "replicates",
    at_once: int | None = None,
) -> AnyArray:
    """Run `task` over `n` replicates (in calls of seed words (m, 2)) and stack what it returns."""
    # `at_once` fixes how many replicates a call takes, for tasks whose rows depend on how many
    # there are: a product of matrices adds up in an order that depends on their shapes. After an
    # interrupt (Ctrl-C) there are fewer rows, with an `InterruptedWarning`.
    check_count("n", n)
    check_count("at_once", at_once or 1)
    run = _Run(task, _root(rng), at_once)
    who = workers(n_jobs)
    blocks = _timed(run, n, who) if at_once is None else _gridded(run, n, who)
    bar = progress_bar(show=progress, total=n, label=label)
    done: list[AnyArray] = []
    try:
        with one_blas_thread(), closing(blocks):
            for block in blocks:
                done.append(block)
                bar.update(len(block))
    except KeyboardInterrupt:
        if not done:
            raise
        finished = sum(map(len, done))
        msg = f"interrupted: {finished} of {n} {label} are done and returned"
        warnings.warn(msg, InterruptedWarning, stacklevel=2)
    finally:
        bar.close()
    return np.concatenate(done)


@dataclass(frozen=True, slots=True)
class _Run:
    """A task over a range of replicates."""

    task: Task
    root: tuple[int, int]
    at_once: int | None

    def __call__(self, piece: tuple[int, int]) -> AnyArray:
        """Return the results of replicates `start` to `stop`."""
        start, stop = piece
        seeds = _seeds(self.root, start, stop)
        if self.at_once is None or len(seeds) <= self.at_once:
            return self.task(seeds)
        rows = range(0, len(seeds), self.at_once)
        return np.concatenate([self.task(seeds[row : row + self.at_once]) for row in rows])


def _timed(run: _Run, n: int, who: Workers) -> Generator[AnyArray]:
    """Yield the blocks' results in order; the first replicate is timed to size the blocks."""
    first = 0.0
    # Twice: the first call may have compiled the kernels.
    for k in range(min(n, 2)):
        start = time.perf_counter()
        replicates = run((k, k + 1))
        first = max(time.perf_counter() - start, 1e-7)
        yield replicates
    rest = n - 2
    if rest > 0:
        size = int((BLOCK_SECONDS if who.shared else REMOTE_BLOCK_SECONDS) / first)
        size = max(1, min(size, -(-rest // who.count)))
        yield from _spread(run, range(2, n, size), n, who)


def _gridded(run: _Run, n: int, who: Workers) -> Generator[AnyArray]:
    """Yield the blocks' results in order; blocks hold whole calls."""
    calls = -(-n // (run.at_once or 1))
    size = (run.at_once or 1) * -(-calls // MOST_BLOCKS)
    yield from _spread(run, range(0, n, size), n, who)


def _spread(run: _Run, starts: range, n: int, who: Workers) -> Generator[AnyArray]:
    pieces = ((start, min(start + starts.step, n)) for start in starts)
    yield from spread(run, pieces, who)
