"""One-line notes on standard error that name command options, and progress messages."""

import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from psychollm._base.errors import PsychollmWarning
from psychollm._base.shown import on_screen
from psychollm._base.wording import Text


def complain(text: str) -> None:
    """Write one line to standard error."""
    line = " ".join(text.split())
    print(on_screen(f"psychollm: {line}", sys.stderr), file=sys.stderr)


@contextmanager
def as_notes(options: Mapping[str, str], *, quiet: bool) -> Iterator[None]:
    """Print each of the library's warnings once, as a note that names command options."""
    noted: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
        note = str(getattr(message, "text", Text(str(message))).told(options))
        if note not in noted:
            noted.add(note)
            complain(f"note: {note}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if quiet else "default", PsychollmWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield


def watched(*, quiet: bool) -> bool:
    """Return whether to show progress bars; they require a terminal and tqdm."""
    from importlib.util import find_spec

    return at_terminal() and not quiet and find_spec("tqdm") is not None


def at_terminal() -> bool:
    """Return whether standard error is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def busy(doing: str, *, quiet: bool, after: float = 1.0) -> Iterator[None]:
    """Show a message at a terminal if work takes more than `after` seconds, and clear it later."""
    # A progress bar requires a known number of steps, which this computation does not have.
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


@contextmanager
def computing(*, quiet: bool, bars: bool = False) -> Iterator[None]:
    """Show that a computation or its compilation is running, unless progress bars are shown."""
    hint = ' (bars come with pip install "psychollm[progress]")' if bars else ""
    shown = bars and watched(quiet=quiet)
    with compilation(tell=not quiet), busy(f"computing{hint}", quiet=quiet or shown):
        yield


@contextmanager
def compilation(*, tell: bool = False) -> Iterator[list[str]]:
    """Collect the names of compiled kernels; if `tell` is set, report the first compilation."""
    # Compilation may take half a minute. It is reported even without a terminal, so that a log
    # explains the delay.
    from psychollm.kernels.compilation import LISTENERS

    kernels: list[str] = []

    def note(kernel: str) -> None:
        kernels.append(kernel)
        if tell and len(kernels) == 1:
            complain(
                f"compiling {kernel.removeprefix('psychollm.')} and related code; this "
                "happens once on a machine and takes up to a minute ('psychollm warm' compiles "
                "everything)"
            )

    LISTENERS.append(note)
    try:
        yield kernels
    finally:
        LISTENERS.remove(note)
