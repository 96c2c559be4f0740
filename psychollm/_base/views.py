"""How a result finds the functions that draw and report it, which live on floors above it.

A result offers ``plot()`` and ``report(path)``; what draws and writes is loaded when they are
called, so that computing needs no plotting package.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any


def view(module: str, name: str) -> Callable[..., Any]:
    """Return a function of a module of psychollm by name, importing the module."""
    function: Callable[..., Any] = getattr(import_module(f"psychollm.{module}"), name)
    return function
