"""Warnings as one-line notes on standard error, and who is there to see progress."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
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

    at_terminal = sys.stderr is not None and sys.stderr.isatty()
    return at_terminal and not quiet and find_spec("tqdm") is not None
