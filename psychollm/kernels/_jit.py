"""The decorator that compiles all kernels.

The options of the compiler are:

* ``error_model="numpy"``: a division by zero gives inf or NaN instead of an exception.
* ``nogil=True``: kernels release the global interpreter lock, so that replicates run in threads.
* ``cache=True``: compiled kernels are stored on disk if possible.
* ``no_cfunc_wrapper=True``: no wrapper for calls from C is compiled, because no C code calls
  kernels.

If no cache can be written, for example in a read-only installation without a home directory, Numba
raises an error in the decorator, and the kernel is compiled in memory. Compiling the wrapper for
calls from C would take a tenth of the compilation time. ``fastmath`` is never used, because it
removes tests for NaN. ``parallel=True`` is never used, because its threading layers abort when
called from several threads, and kill forked child processes.

Two restrictions of Numba determine what kernels return. A kernel that is called both from Python
and from other kernels fills an array instead of returning one. Otherwise, if a calling kernel is
loaded from the cache first, Numba 0.68 loses the type of the returned array before passing it to
Python ("'descr' is NULL"). A kernel returns at most one array to Python, because an interrupt
during a call that returns several arrays would become a SystemError.

Numba would compile a kernel anew for each literal number that another kernel passes to it: for
0 and for 1, besides the version for any integer. `njit` therefore passes only the types of
literals on, which saves a twelfth of the time of compiling all kernels.

Numba's cache does not detect changes in functions of other files. A kernel therefore inlines only
functions of its own file or of files that change rarely, and CI runs the tests with a cold cache.
"""

from collections.abc import Callable
from typing import Any

import numba
from numba import types
from numba.core import event

from psychollm.kernels.compilation import compiling


def njit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` lazily with the options of all kernels."""
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    try:
        kernel = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # "cannot cache function ...: no locator available"
        kernel = numba.njit(**options)(function)
    resolve = kernel.get_call_template
    kernel.get_call_template = lambda args, kws: resolve(tuple(map(types.unliteral, args)), kws)
    return kernel


class _Listener(event.Listener):
    """Listener that reports the compilation of kernels to `compiling`."""

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"].py_func
        if function.__module__.startswith("psychollm."):
            compiling(f"{function.__module__}.{function.__qualname__}")

    def on_end(self, event: Any) -> None:
        """Do nothing; the end of a compilation is not reported."""


event.register("numba:compile", _Listener())  # type: ignore[no-untyped-call]
