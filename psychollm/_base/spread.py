"""A function over pieces of work, on threads, processes or a cluster: the one door to joblib.

Threads share memory and get the function as it is. For anything else it is pickled once, with all
the data it holds, and handed over once: as a file mapped into memory (loky), or as the result of
a task of Dask. The latter matters. What is *scattered* on Dask's workers is lost with the worker
that holds it; what a task has computed, the scheduler computes again. So no worker holds the only
copy of anything, and a worker that dies costs the time of its blocks and nothing else.
"""

from __future__ import annotations

import io
import pickle
import warnings
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from typing import Any
from uuid import uuid4

import numpy as np

from psychollm._base.blas_threads import one_blas_thread
from psychollm._base.errors import OptionError

# More than this, and a piece travels as a task of its own.
LARGE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Workers:
    """Who does the work, as `n_jobs` and ``joblib.parallel_config`` say."""

    backend: Any
    n_jobs: int | None
    count: int
    shared: bool  # memory

    @property
    def serial(self) -> bool:
        """Whether everything runs here, one piece after another."""
        return self.shared and self.count == 1


def workers(n_jobs: int | None) -> Workers:
    """Return the workers: threads, unless ``joblib.parallel_config`` names another backend."""
    if n_jobs == 0:
        msg = "n_jobs=0 has no meaning: use 1 for serial work or -1 for all processors"
        raise OptionError(msg)
    if n_jobs == 1:
        return Workers(None, 1, 1, shared=True)
    from joblib.parallel import get_active_backend

    # Asked for threads, joblib forgets an n_jobs that was configured without a backend.
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
) -> Generator[Any]:
    """Yield ``function(piece)`` for each piece, in the order of the pieces."""
    with one_blas_thread():
        if who.serial:
            yield from map(function, pieces)
            return
        call = _Direct(function) if who.shared else _Parcels(function, who.backend)
        if waiting is None:
            ahead = "2*n_jobs" if _client(who.backend) is None else "all"
            yield from _taken(_parallel(who, ahead)(call(piece) for piece in pieces))
            return
        # joblib draws a piece whenever another is done, whether or not its result was taken.
        rest = iter(pieces)
        while wave := list(islice(rest, waiting * who.count)):
            yield from _taken(_parallel(who, "all")(call(piece) for piece in wave))


def _client(backend: Any) -> Any:
    """Return the client of Dask, or None on other backends."""
    return getattr(backend, "client", None)


def _taken(results: Any) -> Generator[Any]:
    """Yield results; whoever stops before the last has a reason, and needs no warning."""
    try:
        for found in results:  # noqa: UP028 - `yield from` would close them before we can
            yield found
    except GeneratorExit:
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
    """Calls where memory is shared."""

    function: Callable[[Any], Any]

    def __call__(self, piece: Any) -> Any:
        """Return the call for joblib to make."""
        from joblib import delayed

        return delayed(self.function)(piece)


class _Parcels:
    """Calls in other processes: the function is handed over once, and every piece with a call."""

    __slots__ = ("_client", "_payload", "_token")

    def __init__(self, function: Callable[[Any], Any], backend: Any) -> None:
        self._client = _client(backend)
        self._token = uuid4().hex
        data = _pickled(function)
        # joblib maps large arrays into memory.
        self._payload = self._task(data) if self._client else np.frombuffer(data, dtype=np.uint8)

    def __call__(self, piece: Any) -> Any:
        """Return the call for joblib to make."""
        from joblib import delayed

        # Bytes, for joblib leaves them in the call: arrays and frames it would scatter.
        data = _pickled(piece)
        large = self._client is not None and len(data) > LARGE_BYTES
        return delayed(_run)(self._token, self._payload, self._task(data) if large else data)

    def _task(self, data: bytes) -> Any:
        config = import_module("dask.config")
        # Large graphs are slow where tasks repeat their data; here it is sent once.
        with config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            return self._client.submit(_kept, data, key=f"psychollm-{uuid4().hex}")


def _kept(data: bytes) -> bytes:
    return data


def _run(token: str, payload: Any, piece: Any) -> Any:
    """Do one piece of work in another process."""
    function = _unpickled(token, payload)
    with one_blas_thread():
        return function(pickle.loads(_data(piece)))  # noqa: S301 - made by _pickled


def _data(sent: Any) -> Any:
    """Return what was sent: a cluster with one processor left is given none, joblib works here."""
    return sent.result() if hasattr(sent, "result") else sent


_LAST: dict[str, Any] = {}


def _unpickled(token: str, payload: Any) -> Any:
    """Return the function; a worker keeps the last one."""
    function = _LAST.get(token)
    if function is None:
        function = pickle.loads(_data(payload))  # noqa: S301 - made by _pickled
        _LAST.clear()
        _LAST[token] = function
    return function


def _pickled(function: Any) -> bytes:
    """Pickle a function with its data: closures by value, kernels by name."""
    # joblib brings it: as a requirement, or, before 1.6, within itself.
    name = "cloudpickle" if find_spec("cloudpickle") else "joblib.externals.cloudpickle"
    base: Any = import_module(name).Pickler

    class Pickler(base):  # type: ignore[misc]
        """Names compiled kernels: pickled by value, each worker would compile them again."""

        def reducer_override(self, obj: Any) -> Any:
            """Return how to restore an object, or leave it to cloudpickle."""
            plain = getattr(obj, "py_func", None)
            if plain is not None and plain.__module__.startswith("psychollm."):
                return _kernel, (plain.__module__, plain.__qualname__)
            return super().reducer_override(obj)

    stream = io.BytesIO()
    # In one stream: arrays that travel beside it all come back read-only.
    Pickler(stream).dump(function)
    return stream.getvalue()


def _kernel(module: str, name: str) -> Any:
    return getattr(import_module(module), name)
