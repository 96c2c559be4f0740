"""The only door to Numba.

* ``error_model="numpy"``: a division by zero gives inf or NaN, not an exception in mid-statistic.
* ``nogil=True``: replicates run in threads.
* ``cache=True``, with a fallback where no cache can be written (a read-only site-packages without
  a home directory): Numba raises while decorating, and we compile in memory instead.
* never ``fastmath``: it removes NaN tests; never ``parallel=True``: the threading layers abort
  when called from several threads and kill forked children.

Numba's cache does not see changes in functions of other files: a kernel inlines only what stands
in its own file or in files that change rarely; tests run against a cold cache in CI.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def njit(function: Function) -> Function:
    """Compile `function` lazily with the options of the house."""
    options = {"nogil": True, "error_model": "numpy"}
    try:
        compiled: Function = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # "cannot cache function ...: no locator available"
        compiled = numba.njit(**options)(function)
    return compiled
