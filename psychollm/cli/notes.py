"""Warnings as one-line notes on standard error."""

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
