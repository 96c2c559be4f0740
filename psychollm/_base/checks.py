"""Checks of recurrent arguments: one function per kind of argument."""

from collections.abc import Sequence
from numbers import Real
from typing import Any, get_args

import numpy as np

from psychollm._base.arrays import float_array
from psychollm._base.errors import InputError, LabelError, OptionError
from psychollm._base.types import FloatArray, RandomState


def check_choice(name: str, value: object, literal: object) -> None:
    """Raise `OptionError` unless `value` is one of the strings of a ``Literal``."""
    choices = get_args(literal)
    if value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        msg = f"{name}={value!r} is not an option: use one of {listed}"
        raise OptionError(msg)


def check_fraction(name: str, value: float, *, low: float = 0.0, high: float = 1.0) -> float:
    """Return `value` as a float if it lies strictly between `low` and `high`."""
    if not isinstance(value, Real) or not low < value < high:
        msg = f"{name}={value!r} must be a number between {low:g} and {high:g} (both excluded)"
        raise OptionError(msg)
    return float(value)


def check_count(name: str, value: int, *, low: int = 1) -> int:
    """Return `value` as an int if it is a whole number of at least `low`."""
    whole = isinstance(value, Real) and not isinstance(value, bool) and value % 1 == 0
    if not whole or value < low:
        msg = f"{name}={value!r} must be a whole number of at least {low}"
        raise OptionError(msg)
    return int(value)


def check_generator(rng: RandomState) -> np.random.Generator:
    """Return a NumPy generator from a generator, a seed or None (SPEC 7)."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        msg = f"rng={rng!r} must be a numpy.random.Generator, a seed (0, 1, ...) or None"
        raise OptionError(msg) from error


def check_unique(kind: str, labels: Sequence[Any]) -> None:
    """Raise `LabelError` naming the first duplicated labels."""
    seen: set[Any] = set()
    repeated = [label for label in labels if label in seen or seen.add(label)]  # type: ignore[func-returns-value]
    if repeated:
        shown = ", ".join(repr(label) for label in dict.fromkeys(repeated[:5]))
        msg = (
            f"{kind} labels must be unique, but {shown} occurs more than once: rename or aggregate"
        )
        raise LabelError(msg)


def check_weights(weights: object, n: int) -> FloatArray:
    """Return question weights scaled to mean one."""
    try:
        array = float_array(weights, "weights")
    except InputError as error:
        raise OptionError(str(error)) from error
    if array.shape != (n,):
        msg = f"weights must hold one number per question ({n}), got shape {array.shape}"
        raise OptionError(msg)
    bad = np.flatnonzero(~np.isfinite(array) | (array < 0))
    if bad.size:
        msg = f"weights[{bad[0]}] = {array[bad[0]]}: weights must be finite and not negative"
        raise OptionError(msg)
    total = array.sum()
    if total <= 0:
        msg = "weights sum to zero: at least one question needs a positive weight"
        raise OptionError(msg)
    return np.asarray(array * (n / total), dtype=np.float64)
