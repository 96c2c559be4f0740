"""What all tests share: where data lie, no network, reproducible examples, no windows."""

import doctest
import os
import re
import socket
import tomllib
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.effort import load_profile

os.environ.setdefault("MPLBACKEND", "Agg")
# Set before NumPy loads: threads cost more than they save on matrices of a hundred models.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

load_profile()

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


class ExamplesOfExtras:
    """Skips the example of a docstring that needs an extra which is not installed."""

    def __init__(self) -> None:
        extras = tomllib.loads((ROOT / "tests/packaging/extras.toml").read_text(encoding="utf-8"))
        optional = {name for extra in extras.values() for name in extra["modules"]}
        self.absent = {name for name in optional if find_spec(name) is None}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, None, None]:
        try:
            yield
        except Exception as error:
            first = getattr(error, "failures", [error])[0]
            if isinstance(first, doctest.UnexpectedException):
                cause = first.exc_info[1]
                # pandas names what it lacks in words alone.
                named = {getattr(cause, "name", None), *re.findall(r"'(\w+)'", str(cause))}
                if isinstance(cause, ImportError) and named & self.absent:
                    pytest.skip(str(cause).splitlines()[0])
            raise


def pytest_configure(config: pytest.Config) -> None:
    """Register what concerns examples, which stand outside this folder."""
    config.pluginmanager.register(ExamplesOfExtras())


def pytest_sessionstart() -> None:
    """Close the network for tests and doctests alike."""
    socket.socket.connect = _connect_to_this_machine  # type: ignore[method-assign,assignment]
