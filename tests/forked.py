"""Programs in a process of their own, forked from one that has imported what they need.

Tests that kill and interrupt need a process; importing everything anew would take each of them
two seconds of processor time. Where forking is not safe, a program imports everything itself.
"""

import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IMPORTED = (
    "numba",
    "numpy",
    "pandas",
    "scipy.optimize",
    "scipy.special",
    "scipy.stats",
    "httpx",
    "psychollm.bank.item_bank",
    "psychollm.cli.run",
    "psychollm.collect.client",
    "psychollm.collect.plan",
    "psychollm.collect.store",
)


class Forked:
    """A running program, with what tests use of `subprocess.Popen`.

    `out` and `err` are descriptors that it writes to; without them, `communicate` returns what it
    wrote.
    """

    def __init__(
        self, program: Sequence[str], cwd: Path, *, out: int | None = None, err: int | None = None
    ) -> None:
        kept = tempfile.TemporaryFile
        self._written = [kept("w+", encoding="utf-8"), kept("w+", encoding="utf-8")]
        to = [
            file.fileno() if given is None else given
            for file, given in zip(self._written, (out, err), strict=True)
        ]
        reader, writer = os.pipe()
        told = json.dumps([list(program), str(cwd)]).encode()
        socket.send_fds(_server(), [told], [*to, writer])
        os.close(writer)
        self._status = os.fdopen(reader, "rb", buffering=0)
        self.pid = int(self._status.readline())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        if self.returncode is None and select.select([self._status], [], [], 0)[0]:
            self.returncode = int(self._status.readline())
            self._status.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float = 300.0) -> tuple[str, str]:
        """Wait for its end, and return what it wrote."""
        end = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > end:
                self.kill()
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            select.select([self._status], [], [], max(0.0, end - time.monotonic()))
        written = []
        for file in self._written:
            file.seek(0)
            written.append(file.read())
            file.close()
        return written[0], written[1]


def started(
    program: Sequence[str], cwd: Path, *, out: int | None = None, err: int | None = None
) -> "Forked | subprocess.Popen[str]":
    """Start a Python program: the path of a script or ``-m`` and a module, and its arguments."""
    if sys.platform == "linux":
        return Forked(program, cwd, out=out, err=err)
    return subprocess.Popen(
        [sys.executable, *program],
        cwd=cwd,
        env=_environment(),
        stdout=subprocess.PIPE if out is None else out,
        stderr=subprocess.PIPE if err is None else err,
        text=True,
    )


def _environment() -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "MPLBACKEND": "Agg",
        "OPENBLAS_NUM_THREADS": "1",
    }


_SERVERS: list[subprocess.Popen[bytes]] = []  # not waited for: it ends when this process does


@cache
def _server() -> socket.socket:
    """Start the process that forks."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server = subprocess.Popen(
        [sys.executable, __file__, str(theirs.fileno())],
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
        env=_environment(),
    )
    _SERVERS.append(server)
    theirs.close()
    return ours


def _next_program(requests: socket.socket) -> tuple[list[str], str]:
    """Fork for each request; return, in the fork, what it runs."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # watchers are not waited for
    while True:
        told, files, _, _ = socket.recv_fds(requests, 1 << 16, 3)
        if not told:
            os._exit(0)
        if os.fork():
            for file in files:
                os.close(file)
            continue
        # The watcher: it says who was started, waits, and says how it ended.
        requests.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        out, err, status = files
        child = os.fork()
        if child:
            os.write(status, b"%d\n" % child)
            _, ended = os.waitpid(child, 0)
            os.write(status, b"%d\n" % os.waitstatus_to_exitcode(ended))
            os._exit(0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        os.closerange(3, 1 + max(files))
        program, cwd = json.loads(told)
        return program, cwd


if __name__ == "__main__":
    sys.path.pop(0)  # this folder
    for module in IMPORTED:
        if find_spec(module.partition(".")[0]) is not None:
            import_module(module)
    (first, *others), folder = _next_program(socket.socket(fileno=int(sys.argv[1])))
    os.chdir(folder)
    sys.path.insert(0, folder if first == "-m" else str(Path(first).parent))
    if first == "-m":
        sys.argv = others
        runpy.run_module(others[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = [first, *others]
        runpy.run_path(first, run_name="__main__")
