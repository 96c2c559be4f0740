"""Listeners to the compilation of kernels, which can be added without importing the compiler."""

from collections.abc import Callable

LISTENERS: list[Callable[[str], None]] = []


def compiling(kernel: str) -> None:
    """Tell all listeners that the compilation of a kernel begins."""
    for note in tuple(LISTENERS):
        note(kernel)
