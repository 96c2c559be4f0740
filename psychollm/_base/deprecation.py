"""Deprecated names, which work with a warning for two minor versions and are then removed.

``docs/versions.md`` describes the policy; ``tests/_base/test_deprecation.py`` fails if a version
still has a name that it should have dropped.
"""

import re
import sys
import warnings
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from psychollm._base.elsewhere import names_here
from psychollm._base.errors import RenamedWarning

T = TypeVar("T")
_NONE: Mapping[str, str] = MappingProxyType({})


def renamed(
    module: str, name: str, table: Mapping[str, tuple[str, str]], rooms: Mapping[str, str] = _NONE
) -> Any:
    """Return the object that an old name refers to, and issue a warning.

    For an unknown name, the error lists the subpackages in `rooms` that export it.
    """
    if name not in table:
        msg = f"module {module!r} has no attribute {name!r}"
        private = name.startswith("_")
        if homes := [] if private else _homes(name, rooms):
            msg = f"{msg}: it is {' or '.join(homes)}"
        elif here := [] if private else names_here(name):
            msg = f"{msg}: see {' or '.join(here)}"
        raise AttributeError(msg, name=name, obj=sys.modules.get(module))
    new, gone = table[name]
    msg = f"{module}.{name} is {new} now; version {gone} drops the old name"
    warnings.warn(msg, RenamedWarning, stacklevel=3)
    home, _, attribute = new.rpartition(".")
    return getattr(import_module(home), attribute)


def _homes(name: str, rooms: Mapping[str, str]) -> list[str]:
    """Return the full names under which subpackages export `name`, without importing them."""
    homes = []
    for room in rooms.values():
        spec = find_spec(room)
        if spec is None or spec.origin is None:
            continue
        source = Path(spec.origin)
        exported = source.read_text(encoding="utf-8").partition("__all__ = [")[2].partition("]")[0]
        # The names of a lazy subpackage are listed only in its stub.
        if not exported and source.with_suffix(".pyi").exists():
            exported = source.with_suffix(".pyi").read_text(encoding="utf-8")
        if re.search(rf"\"{re.escape(name)}\"|\bas {re.escape(name)}\b", exported):
            homes.append(f"{room}.{name}")
    return homes


def renamed_argument(value: T, old: str, new: str, *, gone: str) -> T:
    """Return the value passed under an old keyword, and warn the caller."""
    msg = f"the argument {old} is {new} now; version {gone} drops the old name"
    warnings.warn(msg, RenamedWarning, stacklevel=3)
    return value
