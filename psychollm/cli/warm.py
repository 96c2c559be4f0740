"""``psychollm warm``: compile all kernels in advance."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager, suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from tempfile import TemporaryDirectory
from typing import Any

from psychollm._base.errors import OptionError
from psychollm.cli.options import Command, option

DESCRIPTION = """\
Compile all kernels by running the examples of the documentation. The compiled code is cached on
disk. Run this once per machine, for example while building an image; it takes minutes.
"""
# The examples of these subpackages require a model, a server or a figure, but no compiled kernel.
WITHOUT_KERNELS = frozenset({"errors", "plots", "reports", "collect", "steering", "instruments"})


@dataclass(frozen=True, kw_only=True)
class Warm(Command):
    """Command `psychollm warm`."""

    NAME = "warm"
    HELP = "compile everything now; needed once per machine"
    DESCRIPTION = DESCRIPTION

    functions: tuple[str, ...] = option(
        "functions whose kernels are compiled, such as nulls.permutation_null; all by default",
        "FUNCTION",
        default=(),
        positional=True,
    )
    json: bool = option("print only JSON", default=False)
    quiet: bool = option("print no progress", default=False)

    def run(self) -> int:
        """Compile all kernels, and print the number of kernels and the time."""
        from psychollm._base.replicate import progress_bar
        from psychollm.cli.doctor import machine
        from psychollm.cli.notes import compilation, watched

        began = time.process_time()
        functions = chosen(self.functions)
        skipped = []
        shown = watched(quiet=self.quiet or self.json)
        bar = progress_bar(show=shown, total=len(functions), label="examples")
        with compilation() as kernels, TemporaryDirectory() as folder, chdir(folder):
            for name, function in functions.items():
                if not example_runs(function):
                    skipped.append(name)
                bar.update(1)
        bar.close()
        seconds, kept = time.process_time() - began, machine()["compiled code"]
        done = {"compiled": len(kernels), "seconds": seconds, "kept": kept}
        lines = [f"{len(kernels)} kernels compiled, {seconds:.0f} s of processor time; {kept}"]
        if skipped:
            names = ", ".join(skipped)
            lines.append(f"Examples that need an extra or a file did not run: {names}")
        examples = {"examples": len(functions) - len(skipped), "skipped": skipped}
        replace(self, quiet=False).say({**done, **examples}, *lines)
        return 0


def public_functions() -> dict[str, Callable[..., Any]]:
    """Map names to the public functions and classes of subpackages with compiled kernels."""
    from importlib import import_module

    functions: dict[str, Callable[..., Any]] = {}
    for name in sorted(set(import_module("psychollm")._SUBMODULES) - WITHOUT_KERNELS):
        module = import_module(f"psychollm.{name}")
        functions |= {f"{name}.{one}": getattr(module, one) for one in module.__all__}
    return functions


def chosen(names: Sequence[str]) -> dict[str, Callable[..., Any]]:
    """Map the given names to public functions and classes; without names, return all."""
    functions = public_functions()
    for name in names:
        if name not in functions:
            near = get_close_matches(name, functions, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            msg = f"{name!r} is not a public function with compiled kernels{hint}"
            raise OptionError(msg)
    return {name: functions[name] for name in names or functions}


@contextmanager
def compiling_ahead(functions: Sequence[str]) -> Iterator[None]:
    """Within the context, compile kernels of `functions` in another process if any are compiled.

    Both processes save compiled kernels on disk and load those of the other, so that a first call
    takes less time on two cores.
    """
    from psychollm.kernels.compilation import LISTENERS

    helpers: list[subprocess.Popen[bytes]] = []
    command = [sys.executable, "-m", "psychollm", "warm", "--quiet", *functions]

    def start(_: str) -> None:
        LISTENERS.remove(start)
        with suppress(OSError):  # without another process, all kernels are compiled in this one
            helpers.append(
                subprocess.Popen(  # noqa: S603 our own command
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            )

    if functions and (os.cpu_count() or 1) > 1:
        LISTENERS.append(start)
    try:
        yield
    finally:
        if start in LISTENERS:
            LISTENERS.remove(start)
        for helper in helpers:
            helper.kill()
            helper.wait()


def example_runs(documented: Callable[..., Any]) -> bool:
    """Run the examples of a docstring; return False if one raises an error."""
    import doctest
    import io
    import sys
    import warnings
    from contextlib import redirect_stdout

    names = dict(vars(sys.modules[documented.__module__]))
    for test in doctest.DocTestFinder().find(documented, globs=names):
        for line in test.examples:
            if line.exc_msg is not None:
                continue
            try:
                with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
                    warnings.simplefilter("ignore")
                    exec(compile(line.source, test.name, "single"), test.globs)  # noqa: S102 our own
            except Exception:  # noqa: BLE001 a failed example must not stop the others
                return False
    return True
