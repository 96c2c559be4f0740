"""Warnings as one-line notes on standard error, and who is there to see progress."""

import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from psychollm._base.errors import InterruptedWarning, PsychollmWarning


@contextmanager
def as_notes(*, quiet: bool) -> Iterator[None]:
    """Print the library's warnings as notes; an interrupt ends the command.

    The library returns what is done when a replication is interrupted. At the command line,
    Ctrl-C means stop.
    """
    from psychollm.cli import complain

    def show(message: Warning | str, category: type[Warning], *place: Any) -> None:
        complain(f"note: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if quiet else "default", PsychollmWarning)
        warnings.simplefilter("error", InterruptedWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        try:
            yield
        except InterruptedWarning as stopped:
            raise KeyboardInterrupt from stopped


def watched(*, quiet: bool) -> bool:
    """Whether to show bars: to a person at a terminal who has tqdm, and to nobody else."""
    from importlib.util import find_spec

    return at_terminal() and not quiet and find_spec("tqdm") is not None


def at_terminal() -> bool:
    """Whether somebody sees standard error."""
    return sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def busy(doing: str, *, quiet: bool, after: float = 1.0) -> Iterator[None]:
    """Say at a terminal what takes longer than a second, and take it away when it is done.

    For work that has no parts to count. Elsewhere nothing is written.
    """
    if quiet or not at_terminal():
        yield
        return
    shown = threading.Event()

    def show() -> None:
        shown.set()
        print(f"psychollm: {doing} ...", end="", file=sys.stderr, flush=True)

    timer = threading.Timer(after, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if shown.is_set():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def computing(*, quiet: bool) -> AbstractContextManager[None]:
    """Say that something is computed, where there are no bars to show it."""
    doing = 'computing (bars come with pip install "psychollm[progress]")'
    return busy(doing, quiet=quiet or watched(quiet=quiet))
