"""Linear algebra on one thread while replicates run.

Sums that are split among threads are added in another order: from about a hundred models on, the
last bit of an eigenvalue depends on how many threads the library of linear algebra (BLAS) uses,
and that differs between a notebook, a child process and a worker of a cluster. With one thread
each they agree; and workers side by side do not start threads of their own by the dozen.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import Lock
from typing import Any


class _Limit:
    """One limit for the whole process, however many blocks run in it at once."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._limit: Any = None

    def enter(self) -> None:
        """Set the limit, if this is the first to enter."""
        with self._lock:
            if not self._inside:
                found = import_module("threadpoolctl").ThreadpoolController()
                self._limit = found.limit(limits=1, user_api="blas")
            self._inside += 1

    def leave(self) -> None:
        """Restore the number of threads, if this is the last to leave."""
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._limit.restore_original_limits()


_LIMIT = _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread."""
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()
