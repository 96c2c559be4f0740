"""The only door to Numba.

* ``error_model="numpy"``: a division by zero gives inf or NaN, not an exception in mid-statistic.
* ``nogil=True``: replicates run in threads.
* ``cache=True``, with a fallback where no cache can be written (a read-only site-packages without
  a home directory): Numba raises while decorating, and we compile in memory instead.
* ``no_cfunc_wrapper=True``: C code calls no kernel, and a tenth of the time to compile goes into
  being callable from it.
* never ``fastmath``: it removes NaN tests; never ``parallel=True``: the threading layers abort
  when called from several threads and kill forked children.

* a kernel that Python calls and other kernels call too returns no array, it fills one: where a
  caller was loaded from the cache first, Numba 0.68 has lost the array's type by the time it is
  handed to Python ("'descr' is NULL").

* a kernel returns at most one array to Python: an interrupt during one that returns several would
  become a SystemError.

Numba's cache does not see changes in functions of other files: a kernel inlines only what stands
in its own file or in files that change rarely; tests run against a cold cache in CI.
"""

from collections.abc import Callable
from typing import Any

import numba
from numba.core import event


def njit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` lazily with the options of the house."""
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # "cannot cache function ...: no locator available"
        return numba.njit(**options)(function)


def on_compilation(note: Callable[[str], None]) -> Any:
    """Return a context that calls `note` with the name of each kernel that is compiled."""

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:
            function = event.data["dispatcher"].py_func
            if function.__module__.startswith("psychollm."):
                note(f"{function.__module__}.{function.__qualname__}")

        def on_end(self, event: Any) -> None:
            """Nothing more is known at the end."""

    return event.install_listener("numba:compile", Listener())
