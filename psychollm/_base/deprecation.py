"""Old names: they work for two minor versions, say what to write instead, then are gone.

The policy stands in ``docs/versions.md``; ``tests/_base/test_deprecation.py`` fails once a version
is reached that should have dropped one.
"""

import warnings
from collections.abc import Mapping
from importlib import import_module
from typing import Any, TypeVar

from psychollm._base.errors import RenamedWarning

T = TypeVar("T")


def renamed(module: str, name: str, table: Mapping[str, tuple[str, str]]) -> Any:
    """Return what an old name of a module stands for, with a warning."""
    if name not in table:
        msg = f"module {module!r} has no attribute {name!r}"
        raise AttributeError(msg)
    new, gone = table[name]
    msg = f"{module}.{name} is {new} now; version {gone} drops the old name"
    warnings.warn(msg, RenamedWarning, stacklevel=3)
    home, _, attribute = new.rpartition(".")
    return getattr(import_module(home), attribute)


def renamed_argument(value: T, old: str, new: str, *, gone: str) -> T:
    """Return what was passed under an old keyword, with a warning to the caller."""
    msg = f"the argument {old} is {new} now; version {gone} drops the old name"
    warnings.warn(msg, RenamedWarning, stacklevel=3)
    return value
