"""What all tests share: where data lie, no network, reproducible examples, no windows."""

import os
import socket
from pathlib import Path

import hypothesis
import pytest

os.environ.setdefault("MPLBACKEND", "Agg")
# Set before NumPy loads: threads cost more than they save on matrices of a hundred models.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Compilation makes the first example of a test slow, whatever the example: no deadlines.
hypothesis.settings.register_profile("house", deadline=None, derandomize="CI" in os.environ)
hypothesis.settings.load_profile("house")

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def golden() -> Path:
    """Return the folder of reference values."""
    return ROOT / "tests" / "golden"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of data that may not be redistributed, or skip where it is absent."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("the folder of data that may not be redistributed is absent")
    return folder


_connect = socket.socket.connect


def _connect_to_this_machine(self: socket.socket, address: object) -> None:
    host = address[0] if isinstance(address, tuple) else "localhost"  # a path: a Unix socket
    if host not in {"localhost", "127.0.0.1", "::1"}:
        msg = f"a test tried to reach {address!r}: tests may only talk to this machine"
        raise RuntimeError(msg)
    _connect(self, address)  # type: ignore[arg-type]


def pytest_sessionstart() -> None:
    """Close the network for tests and doctests alike."""
    socket.socket.connect = _connect_to_this_machine  # type: ignore[method-assign,assignment]
