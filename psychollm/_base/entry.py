"""Wrappers that make public functions ignore underflow and warn at the caller's line."""

import sys
import warnings
from types import FunctionType
from typing import Any

import numpy as np

from psychollm._base.errors import PsychollmWarning

_NOT_THE_CALLERS = ("psychollm.", "numpy.")  # `warn` skips stack frames of these modules


def public(value: Any) -> Any:
    """Return a public object; functions are wrapped, and replaced in their module for pickling."""
    if isinstance(value, FunctionType):
        value = entry(value)
        setattr(sys.modules[value.__module__], value.__name__, value)
    return value


def entry(function: Any) -> Any:
    """Return a version of the function that ignores underflow even if ``np.seterr`` raises errors.

    Probabilities underflow to zero in most functions, which is harmless. Other floating-point
    errors follow the caller's setting; our functions avoid them or handle them where they arise.
    """
    if not hasattr(function, "entered"):
        entered = np.errstate(under="ignore")(function)
        function.entered = entered.entered = entered
    return function.entered


def warn(message: str, category: type[Warning] = PsychollmWarning) -> None:
    """Issue a warning that points to the line that called the library."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and str(frame.f_globals.get("__name__")).startswith(_NOT_THE_CALLERS):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
