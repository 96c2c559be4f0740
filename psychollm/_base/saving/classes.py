"""Which classes a file may name: results, frozen dataclasses, named tuples, enumerations.

A file never has a module imported because it says so. The sources of the package are searched for
the class first; only a module that defines it is imported, and what is found must be of one of the
four kinds. A class that moved to another module is found by its name, as long as that is unique.
"""

import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from importlib import import_module
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from psychollm._base.errors import InputError
from psychollm._base.result import Result

PACKAGE = "psychollm"
_CLASS = re.compile(r"^class (\w+)\b", re.MULTILINE)


def is_record(kind: type) -> bool:
    """Return whether a class only holds its fields: result, frozen dataclass or named tuple."""
    if is_dataclass(kind):
        return bool(kind.__dataclass_params__.frozen)  # type: ignore[attr-defined]
    return issubclass(kind, Result) or (issubclass(kind, tuple) and hasattr(kind, "_fields"))


def find_class(module: str, name: str) -> type[Any]:
    """Return a class of the package that a file may name."""
    homes = _homes().get(name, ())
    if module not in homes and len(homes) != 1:
        msg = f"this version of psychollm has no class {name} in {module}"
        raise InputError(msg)
    home = module if module in homes else homes[0]
    held = getattr(import_module(home), name, None)
    if not isinstance(held, type) or not (is_record(held) or issubclass(held, Enum)):
        msg = f"{home}.{name} is no result, record or enumeration"
        raise InputError(msg)
    return held


@cache
def _homes() -> dict[str, tuple[str, ...]]:
    """Return the modules that define each class, by the name of the class."""
    homes: dict[str, list[str]] = {}
    for module, source in _sources(files(PACKAGE), PACKAGE):
        for name in _CLASS.findall(source):
            homes.setdefault(name, []).append(module)
    return {name: tuple(modules) for name, modules in homes.items()}


def _sources(folder: Traversable, package: str) -> Iterator[tuple[str, str]]:
    """Yield each module below a folder, with its source."""
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.name.startswith("__"):
            yield from _sources(entry, f"{package}.{entry.name}")
        elif entry.name.endswith(".py") and not entry.name.startswith("__"):
            yield f"{package}.{entry.name.removesuffix('.py')}", entry.read_text("utf-8")
