"""Lazy loading: subpackages import the module of a public name when the name is first used.

Type checkers and this module read the names from the stub ``__init__.pyi``, which has one line
``from module import name as name`` for each.
"""

import ast
import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Lazy(ModuleType):
    """A package that imports public names on first use."""

    _homes: dict[str, str]

    def __getattr__(self, name: str) -> Any:
        if name not in self._homes:
            names = import_module("psychollm._base.deprecation")
            rooms = sys.modules["psychollm"].__dict__["_SUBMODULES"]
            return names.renamed(self.__name__, name, {}, rooms=rooms)
        home = self._homes[name]
        if home == self.__name__:  # the name is a module of the package
            value = import_module(f"{home}.{name}")
        else:
            value = getattr(import_module(home), name)
            value = import_module("psychollm._base.entry").public(value)
        self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        # Importing a folder must not replace the public function of the same name.
        if name not in self._homes or not isinstance(value, ModuleType):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._homes})


def load_lazily(package: str) -> None:
    """Load each module of a package on the first use of a name that its stub lists."""
    module: Any = sys.modules[package]
    homes = names_in(module.__loader__.get_data(f"{module.__file__.removesuffix('c')}i").decode())
    module.__dict__.update(_homes=homes, __all__=list(homes))
    module.__class__ = _Lazy


def names_in(stub: str) -> dict[str, str]:
    """Map each name that a stub lists to its module.

    Examples
    --------
    >>> names_in("from psychollm.studies.comparison.study import compare as compare")
    {'compare': 'psychollm.studies.comparison.study'}
    """
    lines = ast.parse(stub).body
    return {
        name.name: str(line.module)
        for line in lines
        if isinstance(line, ast.ImportFrom)
        for name in line.names
    }
