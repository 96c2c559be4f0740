"""Programs in a process of their own, forked from one that has imported what they need.

Tests that kill and interrupt need a process; importing everything anew would take each of them
two seconds of processor time. Without a fork server, a program imports everything itself.
"""

import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from multiprocessing.context import BaseContext
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any

IMPORTED = [
    "pandas",
    "scipy.stats",
    "httpx",
    "psychollm.bank.item_bank",
    "psychollm.cli.run",
    "psychollm.collect.client",
    "psychollm.collect.plan",
    "psychollm.collect.store",
]


@cache
def _context() -> BaseContext:
    method = "forkserver"
    if method not in multiprocessing.get_all_start_methods():
        method = "spawn"
    context = multiprocessing.get_context(method)
    context.set_forkserver_preload(IMPORTED)
    return context


class _Descriptor:
    """A descriptor that is duplicated when it is sent to a process."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __reduce__(self) -> tuple[Callable[[Any], int], tuple[Any]]:
        return _received, (DupFd(self.number),)


def _received(sent: Any) -> int:
    return int(sent.detach())


def _run(program: list[str], cwd: str, to: list[int]) -> None:
    for number, file in enumerate(to, start=1):
        os.dup2(file, number)
        os.close(file)
    os.chdir(cwd)
    if program[0] == "-m":
        sys.argv = program[1:]
        sys.path.insert(0, cwd)
        runpy.run_module(program[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = program
        sys.path.insert(0, str(Path(program[0]).parent))
        runpy.run_path(program[0], run_name="__main__")


class Started:
    """A running program: the path of a script or ``-m`` and a module, and its arguments.

    It has what tests use of `subprocess.Popen`. `out` and `err` are descriptors that it writes to;
    without them, `communicate` returns what it wrote.
    """

    def __init__(
        self, program: Sequence[str], cwd: Path, *, out: int | None = None, err: int | None = None
    ) -> None:
        self._written = [
            tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 -- `communicate` closes
            for _ in range(2)
        ]
        files = zip((out, err), self._written, strict=True)
        to = [_Descriptor(file.fileno() if given is None else given) for given, file in files]
        self._process = _context().Process(target=_run, args=(list(program), str(cwd), to))
        self._process.start()

    @property
    def returncode(self) -> int | None:
        """The exit code, or None while it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, if it still runs."""
        if self.poll() is None and self._process.pid is not None:
            os.kill(self._process.pid, number)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float = 300.0) -> tuple[str, str]:
        """Wait for its end, and return what it wrote."""
        self._process.join(timeout)
        if self.poll() is None:
            self.kill()
            raise subprocess.TimeoutExpired(str(self._process.pid), timeout)
        written = []
        for file in self._written:
            file.seek(0)
            written.append(file.read())
            file.close()
        return written[0], written[1]
