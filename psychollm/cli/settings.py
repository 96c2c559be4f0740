"""Options in a table of a plan, with their names in Python.

The type of a dataclass's field or of a function's keyword defines the valid values. If a field is
read from a file, its value is the path of the file, relative to the plan. The table that names a
file also contains the options for reading the file.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Iterable as AnyIterable
from contextlib import contextmanager
from dataclasses import MISSING
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from psychollm._base.errors import OptionError, PsychollmError
from psychollm.cli.options import declared_by

_WORDS: dict[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    dict: "a table",
    list: "a list",
}


def settings(
    kind: Callable[..., Any], table: Mapping[str, Any], where: str, folder: Path
) -> dict[str, Any]:
    """Return the arguments of a dataclass or function from a table.

    Parameters
    ----------
    kind : type or callable
        Dataclass or function that is called with the arguments.
    table : mapping
        Table as parsed from TOML.
    where : str
        Location of the table, for error messages.
    folder : Path
        Folder of the files that the table names.

    Raises
    ------
    OptionError
        If an option is unknown, missing or invalid.

    Examples
    --------
    >>> from psychollm.instruments.rule_world import RuleWorld
    >>> settings(RuleWorld, {"n": 8, "types": ["A", "C"]}, "[study.rule_world]", Path())
    {'n': 8, 'types': ('A', 'C')}
    >>> settings(RuleWorld, {"sede": 1}, "[study]", Path())
    Traceback (most recent call last):
    psychollm._base.errors.OptionError: [study]: 'sede' is not known; did you mean 'seed'?
    """
    fields = {one.name: one for one in declared_by(kind) if _settable(one.type, one.about)}
    reads = {name: one.about["read"] for name, one in fields.items() if "read" in one.about}
    inner = {each.name: each.type for read in reads.values() for each in declared_by(read)}
    known = {name: one.type for name, one in fields.items()} | inner
    for name in table:
        if name not in known:
            meant = get_close_matches(name, known, n=1)
            end = f"did you mean {meant[0]!r}?" if meant else f"known: {', '.join(known)}"
            msg = f"{where}: {name!r} is not known; {end}"
            raise OptionError(msg)
    missing = [
        name for name, one in fields.items() if one.default is MISSING and name not in table
    ]
    if missing:
        msg = f"{where}: {', '.join(missing)} missing"
        raise OptionError(msg)
    given: dict[str, Any] = {}
    for name, value in table.items():
        wanted = str if name in reads else known[name]
        if not _fits(value, wanted):
            msg = f"{where}: {name} = {value!r:.80} must be {_described(wanted)}"
            raise OptionError(msg)
        given[name] = _frozen(value)
    for name, read in reads.items():
        options = {each.name: given.pop(each.name) for each in declared_by(read)
                   if each.name in given}  # fmt: skip
        if name in given:
            given[name] = read(folder / given[name], **options)
    for name, value in given.items():
        if name == "scheme" and str(value).endswith(".toml"):
            given[name] = folder / value
    return given


def _settable(hint: Any, about: Mapping[str, Any]) -> bool:
    return about.get("typed", True) and ("read" in about or any(True for _ in _plain(hint)))


def _plain(hint: Any) -> Iterator[Any]:
    """Yield the parts of a type that TOML can represent."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        for one in inside:
            yield from _plain(one)
    elif origin is Literal or hint in (bool, int, float, str):
        yield hint
    elif origin is PathLike or hint is Path:
        yield str
    elif origin in (tuple, Sequence, AnyIterable):
        if all(any(True for _ in _plain(one)) for one in inside if one is not Ellipsis):
            yield hint
    elif origin in (Mapping, dict):
        yield dict


def _fits(value: Any, hint: Any) -> bool:
    return any(_is(value, one) for one in _plain(hint))


def _is(value: Any, hint: Any) -> bool:
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Literal:
        return value in inside
    if origin in (tuple, Sequence, AnyIterable):
        if not isinstance(value, list):
            return False
        if origin is tuple and Ellipsis not in inside:
            return len(value) == len(inside) and all(map(_fits, value, inside))
        return all(_fits(one, inside[0]) for one in value)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, hint) and (hint is bool or not isinstance(value, bool))


def _described(hint: Any) -> str:
    """Return a description of valid values."""
    parts = []
    for one in _plain(hint):
        origin, inside = get_origin(one), get_args(one)
        if origin is Literal:
            parts.append(f"one of {', '.join(map(str, inside))}")
        elif origin in (tuple, Sequence, AnyIterable):
            parts.append(f"a list ({_described(inside[0])})")
        else:
            parts.append(_WORDS[one])
    return " or ".join(dict.fromkeys(parts))


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


@contextmanager
def at(where: str) -> Iterator[None]:
    """Add the location in the plan to error messages about an option."""
    try:
        yield
    except PsychollmError as error:
        if str(error).startswith(where):
            raise
        msg = f"{where}: {error.text.marked}"
        raise type(error)(msg) from error
