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
    """Return what an old name of a module stands for, with a warning.

    Parameters
    ----------
    module : str
        The module that is asked, in its ``__getattr__``.
    name : str
        The name that it does not have.
    table : mapping of str to (str, str)
        Its ``_RENAMED``: old name to the dotted path of what replaces it, and the version that
        drops the old one.

    Raises
    ------
    AttributeError
        If the name never existed.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     value = renamed("math", "fabsolute", {"fabsolute": ("math.fabs", "0.4")})
    >>> value(-2.0)
    2.0
    """
    if name not in table:
        msg = f"module {module!r} has no attribute {name!r}"
        raise AttributeError(msg)
    new, gone = table[name]
    msg = f"{module}.{name} is {new} now; version {gone} drops the old name"
    warnings.warn(msg, RenamedWarning, stacklevel=3)
    home, _, attribute = new.rpartition(".")
    return getattr(import_module(home), attribute)


def renamed_argument(value: T, old: str, new: str, *, gone: str) -> T:
    """Return what was passed under an old keyword, with a warning to whoever called the function.

    Parameters
    ----------
    value : object
        What was passed.
    old, new : str
        The argument's names.
    gone : str
        The version that drops the old one.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     renamed_argument(50, "n_boot", "n_bootstrap", gone="0.4")
    50
    """
    msg = f"the argument {old} is {new} now; version {gone} drops the old name"
    warnings.warn(msg, RenamedWarning, stacklevel=3)
    return value
