"""Coding schemes: categories of behaviour in a trace, and the words that indicate them.

Every scheme is a TOML file, including the schemes of the library. The scheme "five" contains the
five kinds of metacognitive control by which Kargupta et al. (2025) code reasoning. The scheme
"rationalist" contains habits of careful argument that have been proposed as teachable skills. The
scheme "stance" describes how a model writes about itself when it rates its efficacy: assertion and
anthropomorphism, as coded by Jackson et al. (2025). The scheme "skills" contains checking,
reviewing open conclusions, arguing the other side and weighing importance. The definitions of the
categories were written for this project.

Categories may have cues, which are patterns of words. Each cue has a name, so every code can be
traced to the words on which it is based. A strong cue names the behaviour; a weak cue often occurs
with the behaviour. A cue marked as deniable does not count if its clause negates it ("no need to
check"). The patterns of the library are English; {i} and {me} stand for first-person pronouns.

References
----------
Jackson, D. N., Jensen, M., Hussain, S., & Sezgin, E. (2025). Simulated self-assessment in large
language models: A psychometric approach to AI self-efficacy. arXiv:2511.19872.

Kargupta, P., et al. (2025). Cognitive foundations for reasoning and their manifestation in LLMs.
arXiv:2511.16660.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from psychollm._base.checks import check_choice
from psychollm._base.errors import InputError
from psychollm.instruments.readers.clauses import clause_before, denied

SchemeName: TypeAlias = Literal["five", "rationalist", "stance", "skills"]

_ROLE = (
    "You code transcripts of reasoning. You look for what the writer does about its own thinking, "
    "not for whether the thinking is right."
)
_NEEDLESS = re.compile(r"(?i)\b(?:no (?:need|reason|point|use)|without|needless|unnecessary)\b")


@dataclass(frozen=True, slots=True)
class Cue:
    """Pattern of words that indicates a category."""

    name: str
    pattern: re.Pattern[str]
    strong: bool = False
    deniable: bool = False

    def places(self, text: str, start: int, end: int) -> list[tuple[int, int]]:
        """Return the spans of the cue between two positions of a text; omit negated cues."""
        spans = (match.span() for match in self.pattern.finditer(text, start, end))
        return [span for span in spans if not (self.deniable and _idle(text, span[0]))]


def _idle(text: str, start: int) -> bool:
    before = clause_before(text, start)
    return denied(text, start) or _NEEDLESS.search(before) is not None


@dataclass(frozen=True, slots=True)
class Category:
    """One kind of behaviour, with the cues that indicate it."""

    name: str
    meaning: str  # completes "the writer ..."
    cues: tuple[Cue, ...] = ()  # empty if only a judge can code it


@dataclass(frozen=True, slots=True)
class Scheme:
    """Categories of a coding scheme.

    Examples
    --------
    >>> RATIONALIST.names[-1]
    'steelman'
    """

    name: str
    categories: tuple[Category, ...]
    role: str = _ROLE  # role that the prompt assigns to a judge

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the categories."""
        return tuple(one.name for one in self.categories)


_FIRST = {
    "{i}": r"(?:i|we)",
    "{me}": r"(?:let me|let's|let us|i'll|i will|we'll|i should|i need to|i must|we should"
    r"|we need to)",
}


def read_scheme(path: str | PathLike[str]) -> Scheme:
    r"""Read a scheme from a TOML file.

    Parameters
    ----------
    path : path
        A UTF-8 file. The file may have a ``name`` (the file name by default) and the ``role`` of a
        judge. Tables ``[[category]]`` have a ``name`` and a ``meaning``, which completes a
        sentence that begins "the writer ...". Coding by rules needs tables ``[[category.cue]]``
        with ``name``, ``pattern`` (a case-insensitive regular expression that begins at a word),
        ``strong`` and ``deniable``.

    Returns
    -------
    Scheme

    Raises
    ------
    InputError
        If the file cannot be read, lacks a field or has an unknown field; the message names the
        file and the location.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "own.toml"
    ...     _ = path.write_text('[[category]]\nname = "wit"\nmeaning = "jokes"\n'
    ...                         '[[category.cue]]\nname = "pun"\npattern = "no pun intended"')
    ...     scheme = read_scheme(path)
    >>> scheme.name, scheme.names, scheme.categories[0].cues[0].strong
    ('own', ('wit',), False)
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{path}: cannot be read as UTF-8 text: {error}"
        raise InputError(msg) from error
    return _scheme(text, path.stem, path.name)


def _scheme(text: str, name: str, where: str) -> Scheme:
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        msg = f"{where}: it is not valid TOML: {error}"
        raise InputError(msg) from error
    given = _fields(table, {"name": str, "role": str, "category": list}, ("category",), where)
    categories = [_category(one, where) for one in _tables(given["category"], "category", where)]
    _check_names("category", [one.name for one in categories], where)
    return Scheme(str(given.get("name", name)), tuple(categories), str(given.get("role", _ROLE)))


def _category(table: Mapping[str, Any], where: str) -> Category:
    kinds = {"name": str, "meaning": str, "cue": list}
    given = _fields(table, kinds, ("name", "meaning"), f"{where}: category")
    where = f"{where}: category {given['name']!r}"
    cues = [_cue(one, where) for one in _tables(given.get("cue", []), "cue", where)]
    _check_names("cue", [one.name for one in cues], where)
    return Category(given["name"], given["meaning"].rstrip("."), tuple(cues))


def _cue(table: Mapping[str, Any], where: str) -> Cue:
    kinds = {"name": str, "pattern": str, "strong": bool, "deniable": bool}
    given = _fields(table, kinds, ("name", "pattern"), f"{where}: cue")
    words = given["pattern"]
    for mark, persons in _FIRST.items():
        words = words.replace(mark, persons)
    try:
        pattern = re.compile(rf"(?i)\b(?:{words})")
    except re.error as error:
        msg = f"{where}: the pattern of cue {given['name']!r} is not a regular expression: {error}"
        raise InputError(msg) from error
    if (found := pattern.search("a b")) and not found[0]:
        msg = f"{where}: the pattern of cue {given['name']!r} matches the empty text"
        raise InputError(msg)
    return Cue(given["name"], pattern, given.get("strong", False), given.get("deniable", False))


def _fields(
    table: Mapping[str, Any], kinds: Mapping[str, type], needed: tuple[str, ...], where: str
) -> Mapping[str, Any]:
    """Return a table after checking that it has the required fields and no other fields."""
    for name in table:
        if name not in kinds:
            msg = f"{where}: unknown field {name!r}: fields are {', '.join(kinds)}"
            raise InputError(msg)
        blank = isinstance(table[name], str) and not table[name].strip()
        if not isinstance(table[name], kinds[name]) or blank:
            what = {str: "text", bool: "true or false", list: "tables"}[kinds[name]]
            msg = f"{where}: {name}={table[name]!r:.60} must be {what}"
            raise InputError(msg)
    for name in needed:
        if not table.get(name):
            msg = f"{where}: {name!r} is missing"
            raise InputError(msg)
    return table


def _tables(values: list[Any], name: str, where: str) -> list[dict[str, Any]]:
    for one in values:
        if not isinstance(one, dict):
            msg = f"{where}: {name} must be tables, [[...{name}]], not {one!r:.60}"
            raise InputError(msg)
    return values


def _check_names(what: str, names: list[str], where: str) -> None:
    alike = [name.casefold() for name in names]
    for name in names:
        fault = "" if name.isprintable() else f"{what} {name!r} must be one line"
        if alike.count(name.casefold()) > 1:
            fault = f"{what} {name!r} occurs twice"
        if fault:
            msg = f"{where}: {fault}"
            raise InputError(msg)


def _shipped(name: str) -> Scheme:
    file = files("psychollm.instruments.coding").joinpath(f"{name}.toml")
    return _scheme(file.read_text(encoding="utf-8"), name, file.name)


SCHEMES: Mapping[str, Scheme] = {name: _shipped(name) for name in get_args(SchemeName)}
FIVE, RATIONALIST, STANCE, SKILLS = SCHEMES.values()


def as_scheme(scheme: SchemeName | str | PathLike[str] | Scheme) -> Scheme:
    """Return a scheme, given its name, its file or the scheme itself."""
    if isinstance(scheme, Scheme):
        return scheme
    if isinstance(scheme, PathLike) or str(scheme).endswith(".toml"):
        return read_scheme(scheme)
    check_choice("scheme", scheme, SchemeName)
    return SCHEMES[scheme]
