"""Functions that are called before a kernel is compiled; adding one imports no compiler."""

from collections.abc import Callable

LISTENERS: list[Callable[[str], None]] = []


def compiling(kernel: str) -> None:
    """Notify all listeners that compilation of a kernel is starting."""
    for note in tuple(LISTENERS):
        note(kernel)
