"""Parallel replication and mapping on threads, processes or a cluster.

One function serves all backends. Each replicate has its own stream of random numbers, determined
only by the seed and the replicate's index. Blocks of replicates may therefore have any size, run
on any worker and be run repeatedly. The result is bitwise identical for any number of jobs and any
backend of joblib, such as ``with joblib.parallel_config(backend="dask"): ...``.

Threads share memory and receive the function itself. Other workers receive the pickled function
and its data once, as a memory-mapped file (loky) or as the result of a Dask task. Data that are
*scattered* on Dask's workers are lost with their worker, whereas Dask recomputes the result of a
task. If a worker is lost, only its blocks are run again.
"""

from __future__ import annotations

import io
import os
import pickle
import sys
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from numbers import Real
from threading import Lock
from typing import Any, Protocol
from uuid import uuid4

import numpy as np

from psychollm._base.checks import check_count, check_generator
from psychollm._base.errors import OptionError, PsychollmError
from psychollm._base.optional import require
from psychollm._base.types import AnyArray, RandomState, WordArray

# The data of a piece are sent to Dask as a separate task if they exceed this size.
LARGE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Workers:
    """The workers that `n_jobs` and ``joblib.parallel_config`` select."""

    backend: Any
    n_jobs: int | None
    count: int
    shared: bool  # whether workers share the caller's memory

    @property
    def serial(self) -> bool:
        """Whether all pieces run one after another in the caller's thread."""
        return self.shared and self.count == 1


def check_jobs(n_jobs: int | None) -> int | None:
    """Return `n_jobs` as None or an int; raise an error if it is not a valid number of workers."""
    if n_jobs is None:
        return None
    if not isinstance(n_jobs, Real) or isinstance(n_jobs, bool) or n_jobs % 1 or not n_jobs:
        msg = f"n_jobs={n_jobs!r} is invalid: use 1 for serial work or -1 for all processors"
        raise OptionError(msg)
    return int(n_jobs)


def workers(n_jobs: int | None) -> Workers:
    """Return the workers, which are threads unless ``joblib.parallel_config`` is used."""
    n_jobs = check_jobs(n_jobs)
    if n_jobs == 1:
        return Workers(None, 1, 1, shared=True)
    from joblib.parallel import get_active_backend

    # If threads are requested, joblib ignores an n_jobs that was configured without a backend.
    _, configured = get_active_backend()
    backend, _ = get_active_backend(prefer="threads")
    wanted = configured if n_jobs is None else n_jobs
    count = backend.effective_n_jobs(1 if wanted is None else wanted)
    shared = bool(getattr(backend, "supports_sharedmem", False))
    return Workers(backend, wanted, count, shared=shared)


def spread(
    function: Callable[[Any], Any],
    pieces: Iterable[Any],
    who: Workers,
    *,
    waiting: int | None = None,
    parcels: int | None = None,
) -> Generator[Any]:
    """Yield ``function(piece)`` for each piece, in the order of the pieces.

    If `waiting` is given, pieces are drawn in batches of `waiting` per worker, each batch after
    the previous batch is done. Without shared memory, pieces are sent in `parcels` groups per
    worker, or one by one if `parcels` is None.
    """
    if parcels is not None and not who.shared:
        every = list(pieces)
        size = max(1, -(-len(every) // (parcels * who.count)))
        together = [every[i : i + size] for i in range(0, len(every), size)]
        with closing(spread(partial(_each, function), together, who)) as lists:
            for results in lists:
                yield from results
        return
    with one_blas_thread():
        if who.serial:
            yield from map(function, pieces)
            return
        call = _Direct(function) if who.shared else _Parcels(function, who.backend)
        if waiting is None:
            ahead = "2*n_jobs" if _client(who.backend) is None else "all"
            yield from _taken(_parallel(who, ahead)(call(piece) for piece in pieces))
            return
        # Iterate over the pieces here, because joblib would generate a new piece after each result
        # even if no result is consumed.
        rest = iter(pieces)
        while wave := list(islice(rest, waiting * who.count)):
            yield from _taken(_parallel(who, "all")(call(piece) for piece in wave))


def _each(function: Callable[[Any], Any], pieces: list[Any]) -> list[Any]:
    return [function(piece) for piece in pieces]


def in_turn(
    function: Callable[[Any], Any], pieces: Iterable[Any], who: Workers, *, waiting: int
) -> Generator[Any]:
    """Yield results as `spread` does, but raise an error only after all earlier results."""
    with closing(spread(partial(_or_error, function), pieces, who, waiting=waiting)) as results:
        for result in results:
            if isinstance(result, PsychollmError):
                raise result
            yield result


def _or_error(function: Callable[[Any], Any], piece: Any) -> Any:
    try:
        return function(piece)
    except PsychollmError as error:
        return error


def _client(backend: Any) -> Any:
    """Return Dask's client, or None for other backends."""
    return getattr(backend, "client", None)


def _taken(results: Any) -> Generator[Any]:
    """Yield results, and suppress joblib's warnings if the caller stops early."""
    try:
        for result in results:  # noqa: UP028 - `yield from` would close them before we can
            yield result
    except GeneratorExit:
        if isinstance(results, Generator):
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "(?s).*tasks .*have been", UserWarning)
                results.close()
        raise


def _parallel(who: Workers, ahead: str) -> Any:
    from joblib import Parallel

    generator = getattr(who.backend, "supports_return_generator", True)
    return Parallel(
        n_jobs=who.n_jobs,
        prefer="threads",
        return_as="generator" if generator else "list",
        pre_dispatch=ahead,
    )


@dataclass(frozen=True, slots=True)
class _Direct:
    """Callable that creates joblib calls for workers that share the caller's memory."""

    function: Callable[[Any], Any]

    def __call__(self, piece: Any) -> Any:
        """Return a delayed call of the function for joblib."""
        from joblib import delayed

        return delayed(self.function)(piece)


class _Parcels:
    """Callable that creates joblib calls for other processes; each receives the function once."""

    __slots__ = ("_client", "_payload", "_token")

    def __init__(self, function: Callable[[Any], Any], backend: Any) -> None:
        self._client = _client(backend)
        self._token = uuid4().hex
        data = _pickled(function)
        # joblib maps large arrays into memory, and Dask sends arrays without a copy.
        self._payload = self._task(data) if self._client else np.frombuffer(data, dtype=np.uint8)

    def __call__(self, piece: Any) -> Any:
        """Return a delayed call of the function for joblib."""
        from joblib import delayed

        # Send bytes, because joblib would scatter arrays and frames.
        data = _pickled(piece)
        large = self._client is not None and len(data) > LARGE_BYTES
        return delayed(_run)(self._token, self._payload, self._task(data) if large else data)

    def _task(self, data: bytes) -> Any:
        config = import_module("dask.config")
        # The data are sent once, because Dask graphs are slow if each task contains the data. Dask
        # warns about this large task nevertheless.
        with config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            array = np.frombuffer(data, dtype=np.uint8)
            return self._client.submit(_kept, array, key=f"psychollm-{uuid4().hex}")


def _kept(data: AnyArray) -> AnyArray:
    return data


def _run(token: str, payload: Any, piece: Any) -> Any:
    """Run one piece of work in another process."""
    function = _unpickled(token, payload)
    with one_blas_thread():
        return function(pickle.loads(_data(piece)))  # noqa: S301 - made by _pickled


def _data(sent: Any) -> Any:
    """Return the data; resolve the Dask future that is sent if joblib runs a piece locally."""
    return sent.result() if hasattr(sent, "result") else sent


_LAST: dict[str, Any] = {}


def _unpickled(token: str, payload: Any) -> Any:
    """Return the unpickled function; a worker caches the last one."""
    function = _LAST.get(token)
    if function is None:
        function = pickle.loads(_data(payload))  # noqa: S301 - made by _pickled
        _LAST.clear()
        _LAST[token] = function
    return function


def _pickled(function: Any) -> bytes:
    """Pickle a function with its data: closures by value, kernels by name."""
    # joblib requires cloudpickle; versions of joblib before 1.6 contain it.
    name = "cloudpickle" if find_spec("cloudpickle") else "joblib.externals.cloudpickle"
    base: Any = import_module(name).Pickler

    class Pickler(base):  # type: ignore[misc]
        """Pickler that stores compiled kernels by name, so workers need not recompile them."""

        def reducer_override(self, obj: Any) -> Any:
            """Return how to restore a compiled kernel; leave other objects to cloudpickle."""
            plain = getattr(obj, "py_func", None)
            if plain is not None and plain.__module__.startswith("psychollm."):
                return _kernel, (plain.__module__, plain.__qualname__)
            return super().reducer_override(obj)

    stream = io.BytesIO()
    # Keep arrays in one stream, because arrays in separate buffers are read-only.
    Pickler(stream).dump(function)
    return stream.getvalue()


def _kernel(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


# The order of sums depends on the number of threads of the linear algebra library (BLAS), which
# differs between a notebook, a child process and a cluster worker. With about a hundred models or
# more, this changes the last bit of eigenvalues. With one BLAS thread everywhere, results agree,
# and parallel workers do not start dozens of threads.
class _Limit:
    """Limit on BLAS threads for the whole process, shared by all blocks that run concurrently."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._limit: Any = None
        self._pools: Any = None
        self._modules = 0  # number of loaded modules at the last search for BLAS

    def enter(self) -> None:
        """Limit the number of threads unless another block has already done so."""
        with self._lock:
            if not self._inside:
                # Searching takes milliseconds, and only new modules can load another BLAS library.
                if self._modules != len(sys.modules):
                    self._pools = import_module("threadpoolctl").ThreadpoolController()
                    self._modules = len(sys.modules)
                self._limit = self._pools.limit(limits=1, user_api="blas")
            self._inside += 1

    def leave(self) -> None:
        """Restore the number of threads when the last block ends."""
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._limit.restore_original_limits()


_LIMIT = _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Within the context, limit BLAS to one thread."""
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()


class Progress(Protocol):
    """Protocol of a progress bar."""

    def update(self, n: int) -> object:
        """Advance the progress bar by `n` units."""

    def close(self) -> None:
        """Release the terminal line of the progress bar."""


class _Silent:
    """A progress bar that draws nothing."""

    def update(self, n: int) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def progress_bar(*, show: bool, total: int | None, label: str) -> Progress:
    """Return a progress bar of `total` units (None if unknown), or one that shows nothing."""
    if not show:
        return _Silent()
    tqdm = require("tqdm.auto", extra="progress", purpose="progress=True")
    bar: Progress = tqdm.tqdm(total=total, desc=label, leave=False)
    return bar


Task = Callable[[WordArray], AnyArray]

# Target duration of a block in seconds: long blocks reduce the overhead of dispatch, and short
# ones keep the progress bar moving and let a cluster balance the load.
BLOCK_SECONDS = 0.05
REMOTE_BLOCK_SECONDS = 0.2
LONG_SECONDS = 2.0  # duration above which blocks are not doubled
HARDLY_LONGER = 1.5
MOST_BLOCKS = 2_000


def replicate_seeds(n: int, rng: RandomState) -> WordArray:
    """Return two seed words per replicate, shape (n, 2)."""
    # The seed words of replicate r depend only on one draw of the generator and on r, so that a
    # longer run begins with the replicates of a shorter one.
    return _seeds(_root(rng), 0, n)


def _root(rng: RandomState) -> tuple[int, int]:
    words = check_generator(rng).integers(0, 2**63, size=2, dtype=np.uint64)
    return int(words[0]), int(words[1])


def generators(seeds: WordArray) -> Iterator[np.random.Generator]:
    """Yield a generator for each seed; use each one before the next is requested."""
    # One bit generator gets one key after another. A new one for each seed would take three times
    # as long, because it first collects entropy from the system.
    bits = np.random.Philox(key=0)
    generator, state = np.random.Generator(bits), bits.state
    for seed in seeds:
        state["state"]["key"] = seed
        bits.state = state
        yield generator


def _seeds(root: tuple[int, int], start: int, stop: int) -> WordArray:
    index = np.arange(start, stop, dtype=np.uint64)
    first = np.uint64(root[0]) ^ index
    return np.stack([first, np.full(index.size, root[1], dtype=np.uint64)], axis=1)


def n_workers(n_jobs: int | None) -> int:
    """Return the number of workers for `n_jobs`, interpreted as in scikit-learn."""
    n_jobs = check_jobs(n_jobs)
    if n_jobs is None:
        return 1
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
    """Call `task` on blocks of m replicates, with seed words (m, 2), and stack all `n` results."""
    # `at_once` fixes the number of replicates per call. Tasks with matrix products require it,
    # because the order of their sums depends on the shapes of the matrices.
    n = check_count("n", n)
    at_once = at_once and check_count("at_once", at_once)
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
    """Yield block results in order; block sizes depend on the time of the first blocks."""
    done, took = 0, 0.0
    # Time two replicates, because the first call may compile kernels.
    for _ in range(min(n, 2)):
        replicates, took = _clocked(run, done, 1)
        yield replicates
        done += 1
    size = max(1, int((BLOCK_SECONDS if who.shared else REMOTE_BLOCK_SECONDS) / took))
    took *= size
    # A call has a fixed cost, which is most of the time of one replicate of many models. Blocks
    # are doubled as long as two blocks in one call take hardly longer than one.
    while took < LONG_SECONDS and 2 * size * who.count <= n - done:
        replicates, longer = _clocked(run, done, 2 * size)
        yield replicates
        done += 2 * size
        if longer > HARDLY_LONGER * took:
            break
        size, took = 2 * size, longer
    if done < n:
        size = min(size, -(-(n - done) // who.count))
        yield from _spread(run, range(done, n, size), n, who)


def _clocked(run: _Run, start: int, size: int) -> tuple[AnyArray, float]:
    """Return the results of `size` replicates and the time that they took in seconds."""
    began = time.perf_counter()
    replicates = run((start, start + size))
    return replicates, max(time.perf_counter() - began, 1e-7)


def _gridded(run: _Run, n: int, who: Workers) -> Generator[AnyArray]:
    """Yield results in order, from blocks that each consist of a whole number of task calls."""
    calls = -(-n // (run.at_once or 1))
    size = (run.at_once or 1) * -(-calls // MOST_BLOCKS)
    yield from _spread(run, range(0, n, size), n, who)


def _spread(run: _Run, starts: range, n: int, who: Workers) -> Generator[AnyArray]:
    pieces = ((start, min(start + starts.step, n)) for start in starts)
    yield from spread(run, pieces, who)
