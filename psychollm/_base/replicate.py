"""Replicated work: nulls, bootstraps, simulations.

One function runs all of them. Each replicate owns a stream of random numbers keyed by its index,
so that the answer is the same to the last bit for any number of jobs, chunking and backend.
Tasks are plain functions over a block of replicates; joblib's context manager moves them to other
backends: ``with joblib.parallel_config(backend="dask"): ...``.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np

from psychollm._base.checks import check_count, check_generator
from psychollm._base.errors import InterruptedWarning, OptionError
from psychollm._base.progress import progress_bar
from psychollm._base.types import AnyArray, RandomState, WordArray

Task = Callable[[WordArray], AnyArray]

# A block takes at least this long, so that handing it out costs little; and blocks stay short
# enough for a progress bar to move.
BLOCK_SECONDS = 0.05


def replicate_seeds(n: int, rng: RandomState) -> WordArray:
    """Return two seed words per replicate, shape (n, 2).

    Words of replicate r are a function of the generator's draw and of r alone: the first r
    replicates of a longer run are those of a shorter one.
    """
    root = check_generator(rng).integers(0, 2**63, size=2, dtype=np.uint64)
    index = np.arange(n, dtype=np.uint64)
    return np.stack([root[0] ^ index, np.full(n, root[1], dtype=np.uint64)], axis=1)


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
    at_once: int = 1,
) -> AnyArray:
    """Run `task` over `n` replicates and stack what it returns.

    Parameters
    ----------
    task : callable
        Takes seed words of shape (m, 2) and returns an array of shape (m, ...). It must release
        the GIL for threads to help.
    n : int
        Number of replicates.
    rng : Generator, int or None
        Source of the seeds.
    n_jobs : int or None
        Workers; None is one (or what `joblib.parallel_config` says), -1 all processors.
    progress : bool
        Show a progress bar (needs tqdm).
    label : str
        Text in front of the bar.
    at_once : int
        Fewest replicates handed to `task` together. A vectorised task has a cost per call that
        hardly grows with the number of replicates: timing one says nothing about a block.

    Returns
    -------
    ndarray of shape (n, ...)
        Fewer rows after an interrupt (Ctrl-C), with an `InterruptedWarning`.
    """
    check_count("n", n)
    workers = n_workers(n_jobs)
    seeds = replicate_seeds(n, rng)
    bar = progress_bar(show=progress, total=n, label=label)
    done: list[AnyArray] = []
    try:
        for block in _results(task, seeds, n_jobs, workers, at_once):
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


def _results(
    task: Task, seeds: WordArray, n_jobs: int | None, workers: int, at_once: int
) -> Iterator[AnyArray]:
    """Yield the blocks' results in order; the first replicate is timed to size the blocks."""
    start = time.perf_counter()
    yield task(seeds[:1])
    first = max(time.perf_counter() - start, 1e-7)
    rest = seeds[1:]
    if len(rest) == 0:
        return
    if len(rest) > 1:  # the first call may have compiled the kernels: time again
        start = time.perf_counter()
        yield task(rest[:1])
        first = max(time.perf_counter() - start, 1e-7)
        rest = rest[1:]
    size = max(int(BLOCK_SECONDS / first), at_once)
    size = max(1, min(size, -(-len(rest) // max(workers, 1))))
    blocks = [rest[lo : lo + size] for lo in range(0, len(rest), size)]
    if workers == 1 and n_jobs is not None:
        yield from map(task, blocks)
        return
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    yield from parallel(delayed(task)(block) for block in blocks)
