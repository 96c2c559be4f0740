"""What all tests share: where data lie, no network, reproducible examples, no windows."""

import doctest
import gc
import os
import re
import socket
import tomllib
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.effort import load_profile

os.environ.setdefault("MPLBACKEND", "Agg")
# Set before NumPy loads: threads cost more than they save on matrices of a hundred models.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

load_profile()

# Modules, tests and syntax trees are many objects that are never garbage, so collect less often.
gc.set_threshold(50_000)

ROOT = Path(__file__).resolve().parents[1]

# Files that share what is dear to set up, for one process to run: workers in other processes;
# results of all classes, which compile all kernels; studies that a whole folder reads.
TOGETHER = {
    "processes": (
        "tests/_base/test_replicate.py",
        "tests/cluster/",
        "tests/data/test_pair_counts_blocks.py",
        "tests/nulls/test_permutation.py",
    ),
    "results": ("tests/_base/",),
    "reports": ("tests/reports/",),
    "shared confidence": ("tests/studies/shared_confidence/",),
    "steering match": ("tests/studies/steering_match/",),
}
# What one process runs first, while another compiles: these need next to no kernels.
MEANWHILE = (
    "tests/collect/",
    "tests/instruments/",
    "tests/packaging/",
    "tests/steering/",
    "tests/data/",
    "tests/test_architecture.py",
    "tests/test_doc",
    "tests/test_import.py",
    "tests/test_words.py",
)
# The longest, which would keep others waiting at the end.
LONG = (
    "processes",
    "reports",
    "shared confidence",
    "tests/collect/test_real_model.py",
    "tests/test_every",
    "tests/cli/test_kit.py",
)


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


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the figures of pages empty: half of the time of a page; tests/reports draws all."""
    from psychollm.reports import sections
    from psychollm.reports.figure import Figure

    def empty(drawing: Any, models: object = ()) -> Figure:
        return Figure(svg='<svg viewBox="0 0 1 1"></svg>', caption=drawing.caption)

    monkeypatch.setattr(sections, "draw_figure", empty)


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


def one_process(nodeid: str) -> str:
    """Return what one process runs as a whole: a file, or files that share their set-up."""
    file = nodeid.partition("::")[0]
    return next((name for name, files in TOGETHER.items() if file.startswith(files)), file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hand out tests by files: tests of a file share fixtures, and the kernels they compile."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return one_process(nodeid)

    config.option.loadscopereorder = False  # the order is that of the collection
    return Scheduling(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put what is handed out first in front: no two processes should compile the same kernels."""

    def rank(item: pytest.Item) -> int:
        whole = one_process(item.nodeid)
        if whole == "results":
            return 0
        if whole.startswith(LONG):
            return 2
        return 1 if whole.startswith(MEANWHILE) else 3

    if hasattr(config, "workerinput"):
        items.sort(key=rank)


def pytest_collection_finish() -> None:
    """Look for garbage among what tests make, not among the thousands of modules and tests."""
    gc.collect()
    gc.freeze()


def pytest_sessionstart() -> None:
    """Close the network for tests and doctests alike."""
    socket.socket.connect = _connect_to_this_machine  # type: ignore[method-assign,assignment]
