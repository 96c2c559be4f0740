"""Commands as classes whose fields declare the options.

The type of a field defines how the option is parsed, and the default of the field is used if the
option is omitted. `option` declares the help and other properties. The parser, help, shell
completion and command object are derived from the fields. Conditions on several options are
checked in ``__post_init__``.
"""

import argparse
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from difflib import get_close_matches
from importlib import import_module
from inspect import cleandoc, signature
from pathlib import Path
from types import ModuleType, NoneType, UnionType
from typing import (
    Any,
    ClassVar,
    Literal,
    NoReturn,
    Self,
    Union,
    get_args,
    get_origin,
)

from psychollm._base.errors import OptionError
from psychollm._base.record import as_json

METAVARS: dict[Any, str] = {int: "N", float: "X", str: "TEXT", Path: "FILE"}
# Options whose names differ from the arguments that they set. If several are listed, the first one
# that the command defines is used.
_CALLED = {
    "value": ("--value-column", "--confidence-column or --correctness-column"),
    "model": ("--model-column", "--columns model=COLUMN"),
    "question": ("--question-column", "--columns question=COLUMN"),
    "missing_values": ("--missing",),
    "match": ("--by-label",),
    "models": ("--leave-out MODEL",),
    "align": ("--common",),
    "screen": ("--drop-unusable",),
}
# Analyses without a command of their own, and how to request them.
_WITHIN = {
    "attempts": "'psychollm compare LOG --attempts 1,3'",
    "votes": "'psychollm compare VOTES.csv'",
}
_ENTRY = re.compile(r"(?m)^(\w+(?:, \w+)*) : .*\n((?:[ ]{4}.*\n?)+)")


def option(
    help: str,  # noqa: A002 -- the name in argparse
    metavar: str | None = None,
    *,
    default: Any = MISSING,
    parse: Callable[[str], Any] | None = None,
    choices: Callable[[], Sequence[str]] | None = None,
    group: str = "",
    positional: bool = False,
) -> Any:
    """Declare a field of a command.

    Parameters
    ----------
    help : str
        Description of the option; the default value is appended to it in the help.
    metavar : str, optional
        Placeholder for the value in the help.
    default : object, optional
        Default value, or a function that returns it. An option without a default is required.
    parse : callable, optional
        Parser of the value, if the type of the field does not define one.
    choices : callable, optional
        Function that returns the choices; it is called only if the choices are needed.
    group : str
        Heading of the option in the help.
    positional : bool
        Whether the option is a positional argument.
    """
    metadata = {
        "help": help,
        "metavar": metavar,
        "parse": parse,
        "choices": choices,
        "group": group,
        "positional": positional,
    }
    if callable(default):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


class Command(ABC):
    """Subcommand of the program."""

    NAME: ClassVar[str]
    HELP: ClassVar[str]  # description in the list of commands
    DESCRIPTION: ClassVar[str | None] = None
    EPILOG: ClassVar[str | None] = None
    USAGE: ClassVar[str | None] = None
    # Public functions whose kernels another process compiles in the first run on a machine
    AHEAD: ClassVar[tuple[str, ...]] = ()
    json: bool = False
    quiet: bool = False

    @classmethod
    def add_to(cls, parser: argparse.ArgumentParser) -> None:
        """Add the options to a parser."""
        add_options(parser, cls)

    @classmethod
    def chosen_by(cls, typed: argparse.Namespace) -> "type[Command]":
        """Return the class of the typed command: this class or the class of a subcommand."""
        return cls

    @classmethod
    def arguments(cls) -> dict[str, str]:
        """Map arguments of functions to this command's options, for error messages."""
        fields = [one.name for one in declared_by(cls) if not one.about.get("positional")]
        options = {name: f"--{name.replace('_', '-')}" for name in fields}
        known = set(options.values())
        for argument, called in _CALLED.items():
            options.pop(argument, None)
            for option in reversed(called):
                if set(re.findall(r"--[a-z-]+", option)) <= known:
                    options[argument] = option
        return {"": "", **options}

    @classmethod
    def of(cls, typed: argparse.Namespace) -> Self:
        """Return the command with the values of the parsed arguments."""
        return cls(**typed_values(cls, typed))

    @abstractmethod
    def run(self) -> int:
        """Run the command, and return the exit code."""

    def noting(self, *, quiet: bool | None = None) -> AbstractContextManager[None]:
        """Print warnings as notes that name this command's options."""
        from psychollm.cli.notes import as_notes

        return as_notes(self.arguments(), quiet=self.quiet if quiet is None else quiet)

    def say(self, results: Mapping[str, Any], *words: str) -> None:
        """Print the result, as JSON if requested and otherwise as lines of text unless quiet."""
        if self.json:
            print(as_json(results))
        elif not self.quiet:
            print(*words, sep="\n")


def in_studies() -> list[ModuleType]:
    """Return the modules ``command.py`` in the folders of studies."""
    files = sorted((Path(__file__).parents[1] / "studies").glob("*/command.py"))
    return [import_module(f"psychollm.studies.{file.parent.name}.command") for file in files]


class CommandHelp(argparse.RawDescriptionHelpFormatter):
    """Help formatter that puts descriptions next to command names of any length."""

    def add_argument(self, action: argparse.Action) -> None:
        """Add an action; the column width includes the indentation of the action's subcommands."""
        super().add_argument(action)
        below = [len(one.dest) for one in getattr(action, "_choices_actions", [])]
        longest = self._current_indent + self._indent_increment + max(below, default=0)
        self._action_max_length = max(self._action_max_length, longest)


class Parser(argparse.ArgumentParser):
    """Parser that reports errors in one line."""

    def error(self, message: str) -> NoReturn:
        """Raise an error with a suggestion and a pointer to the help."""
        meant = self._meant(message)
        if meant:
            message = f"{message.partition(' (choose from')[0]}; did you mean {meant[0]}?"
        msg = f"{message} (see '{self.prog} --help')"
        raise OptionError(msg)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments; errors about unknown arguments refer to this parser's help."""
        typed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return typed, unknown

    def _meant(self, message: str) -> list[str]:
        """Return the command, choice or option that is most similar to the typed one."""
        wrong = re.search(r"invalid choice: '(.*?)'|unrecognized arguments:.*?(--[\w-]+)", message)
        if wrong is None:
            return []
        if wrong[1] in _WITHIN:
            return [_WITHIN[wrong[1]]]
        known = [
            str(name)
            for action in self._actions
            for name in (action.choices or () if wrong[1] else action.option_strings)
        ]
        return get_close_matches(wrong[1] or wrong[2], known, n=1)


@dataclass(frozen=True, slots=True)
class Declared:
    """Option that a class or a function declares."""

    name: str
    type: Any
    default: Any  # MISSING if the option is required, None if a function returns the default
    about: Mapping[str, Any]

    @property
    def needed(self) -> bool:
        """Whether the option is required, because it has no default."""
        return self.default is MISSING


# Settings of every parser.
PARSING: dict[str, Any] = {"formatter_class": CommandHelp, "allow_abbrev": False}


def declared_by(kind: Callable[..., Any]) -> list[Declared]:
    """Return the fields of a dataclass, or the keyword-only parameters of a function."""
    if is_dataclass(kind):
        return [
            Declared(
                one.name,
                one.type,
                one.default if one.default_factory is MISSING else None,
                one.metadata,
            )
            for one in fields(kind)
            if one.init
        ]
    return [
        Declared(
            one.name, one.annotation, MISSING if one.default is one.empty else one.default, {}
        )
        for one in signature(kind).parameters.values()
        if one.kind is one.KEYWORD_ONLY
    ]


def add_options(parser: argparse.ArgumentParser, kind: Callable[..., Any]) -> None:
    """Add an option for each field or parameter whose value can be typed on a command line.

    The options are the fields of a dataclass, or the keyword-only parameters of a function. A
    description that `option` does not declare is taken from the docstring of `kind`.

    Examples
    --------
    >>> @dataclass
    ... class Wait:
    ...     seconds: int = 3
    ...     forms: tuple[Literal["a", "b"], ...] = ("a", "b")
    ...     aloud: bool = False
    >>> parser = argparse.ArgumentParser()
    >>> add_options(parser, Wait)
    >>> Wait(**typed_values(Wait, parser.parse_args(["--forms", "b", "--aloud"])))
    Wait(seconds=3, forms=('b',), aloud=True)
    """
    helps = parameter_helps(kind)
    groups: dict[str, Any] = {"": parser}
    for one in declared_by(kind):
        form = _form(one)
        if form is None:
            continue
        heading = one.about.get("group", "")
        if heading not in groups:
            groups[heading] = parser.add_argument_group(heading)
        settings = _settings(one, form)
        text = one.about.get("help") or helps.get(one.name, "")
        settings["help"] = (text + _shown_default(one, form)).replace("%", "%%")
        settings.setdefault("default", argparse.SUPPRESS)
        groups[heading].add_argument(settings.pop("flag"), **settings)


def typed_values(kind: Callable[..., Any], typed: argparse.Namespace) -> dict[str, Any]:
    """Return the values of the options that a user has typed, by field or parameter."""
    names = [one.name for one in declared_by(kind) if hasattr(typed, one.name)]
    values = {name: getattr(typed, name) for name in names}
    return {name: _flat(one) if isinstance(one, list) else one for name, one in values.items()}


def parameter_helps(kind: Callable[..., Any]) -> dict[str, str]:
    """Return the first sentence about each parameter from the docstring of a class or function.

    Examples
    --------
    >>> class Wait:
    ...     '''Wait.
    ...
    ...     Parameters
    ...     ----------
    ...     low, high : int
    ...         Limits of the time. In seconds.
    ...     '''
    >>> parameter_helps(Wait)
    {'low': 'limits of the time', 'high': 'limits of the time'}
    """
    _, _, section = cleandoc(kind.__doc__ or "").partition("Parameters\n----------\n")
    helps: dict[str, str] = {}
    for names, text in _ENTRY.findall(section.partition("\n\n")[0] + "\n"):
        sentence = re.split(r"(?<=[.:;])\s", " ".join(text.split()) + " ")[0].rstrip(".:;")
        helps |= dict.fromkeys(names.split(", "), sentence[:1].lower() + sentence[1:])
    return helps


@dataclass(frozen=True, slots=True)
class _Form:
    """Format in which the value of a field is typed on the command line."""

    scalar: type
    choices: tuple[str, ...] = ()
    several: bool = False


def _form(one: Declared) -> _Form | None:
    """Return the format of a field on the command line; None if the field cannot be typed."""
    if not one.about.get("typed", True):
        return None
    if one.about.get("parse"):
        return _Form(str)
    return _Form(Path) if "read" in one.about else _form_of_type(one.type)


def _form_of_type(hint: Any) -> _Form | None:
    origin, inside = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        forms = [_form_of_type(one) for one in inside if one is not NoneType]
        return next((form for form in forms if form is not None), None)
    if origin is Literal:
        return _Form(str, choices=tuple(map(str, inside)))
    if origin is tuple and len(inside) == 2 and inside[1] is Ellipsis:
        form = _form_of_type(inside[0])
        return None if form is None else _Form(form.scalar, form.choices, several=True)
    return _Form(hint) if hint is bool or hint in METAVARS else None


def _settings(one: Declared, form: _Form) -> dict[str, Any]:
    """Return the arguments of `add_argument` for a field."""
    positional = one.about.get("positional", "read" in one.about and one.needed)
    flag = one.name if positional else f"--{one.name.replace('_', '-')}"
    if form.scalar is bool:
        switch = argparse.BooleanOptionalAction if one.default is True else "store_true"
        return {"flag": flag, "action": switch}
    offered = one.about.get("choices")
    choices = form.choices or (tuple(offered()) if offered else ())
    shown = one.about.get("metavar") or (one.name.upper() if positional else None)
    parse = one.about.get("parse")
    read = _read_by(parse, flag) if parse else form.scalar
    settings: dict[str, Any] = {"flag": flag, "type": read}
    if form.several and choices:
        settings |= {"type": _listed(choices), "action": "append"}
        settings["metavar"] = shown or f"{'|'.join(choices)},..."
        return settings | ({} if positional else {"required": one.needed})
    if parse and not positional:
        settings |= {"type": _with_text(read), "action": _Joined}
    settings |= {"choices": choices or None, "metavar": shown}
    if not shown and not choices:
        settings["metavar"] = METAVARS[form.scalar]
    if not positional:
        action = {"action": "append"} if form.several else {}
        return settings | {"required": one.needed} | action
    if form.several:
        return settings | {"nargs": "+" if one.needed else "*"}
    # Give the default, because argparse would convert its constant SUPPRESS to a path.
    return settings if one.needed else settings | {"nargs": "?", "default": one.default}


class _Joined(argparse.Action):
    """Action that reads a list in several parts; a repeated option adds values to the list."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option: Any = None
    ) -> None:
        """Add the value to earlier values of the option, unless it is a single number or word."""
        typed = f"{self.dest} as typed"
        before = getattr(namespace, typed, None)
        if before is not None and not isinstance(values[1], str | int | float):
            read: Any = self.type
            values = read(f"{before},{values[0]}")
        setattr(namespace, typed, values[0])
        setattr(namespace, self.dest, values[1])


class Steps(Command):
    """Command with one subcommand per step."""

    STEPS: ClassVar[tuple[type[Command], ...]]

    @classmethod
    def add_to(cls, parser: argparse.ArgumentParser) -> None:
        """Add the subcommands with their options."""
        names = parser.add_subparsers(metavar="STEP", title="steps", dest="step", required=True)
        for step in cls.STEPS:
            below = names.add_parser(
                step.NAME,
                usage=step.USAGE,
                help=step.HELP,
                description=step.DESCRIPTION or f"{step.HELP[0].upper()}{step.HELP[1:]}.",
                **PARSING,
            )
            add_options(below, step)

    @classmethod
    def chosen_by(cls, typed: argparse.Namespace) -> type[Command]:
        """Return the typed subcommand."""
        return next(one for one in cls.STEPS if typed.step == one.NAME)


def _read_by(parse: Callable[[str], Any], flag: str) -> Callable[[str], Any]:
    """Return a parser of values whose error messages begin with the name of the option."""

    def read(text: str) -> Any:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentError(None, f"{flag} {text}: {error}") from error

    return read


def _with_text(read: Callable[[str], Any]) -> Callable[[str], tuple[str, Any]]:
    """Return a parser of texts and their values."""
    return lambda text: (text, read(text))


def _listed(choices: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    """Return a function that splits text at commas; "none" gives an empty tuple."""

    def split(text: str) -> tuple[str, ...]:
        if text == "none" and "none" not in choices:
            return ()
        return tuple(part.strip() for part in text.split(",") if part.strip())

    return split


def _flat(typed: list[Any]) -> tuple[Any, ...]:
    parts = (one if isinstance(one, tuple) else (one,) for one in typed)
    return tuple(each for part in parts for each in part)


def _shown_default(one: Declared, form: _Form) -> str:
    default = one.default
    if default is True:
        return " (default: yes)"
    if isinstance(default, tuple) and default:
        every = len(form.choices) > 1 and default == form.choices
        return f" (default: {'all' if every else ','.join(map(str, default))})"
    known = isinstance(default, int | float | str) and default != "" and default is not False
    return f" (default: {default})" if known else ""


def pairs(value: Callable[[str], Any], like: str) -> Callable[[str], dict[str, Any]]:
    """Return a parser of ``name=value,name=value``; error messages show the example `like`."""

    def read(text: str) -> dict[str, Any]:
        values = {}
        for part in text.split(","):
            name, _, typed = (piece.strip() for piece in part.rpartition("="))
            try:
                values[name] = value(typed)
            except ValueError:
                name = ""
            if not (name and typed):
                msg = f"write it as {like}"
                raise ValueError(msg)
        return values

    return read


def words(text: str) -> tuple[str, ...]:
    """Split text at commas."""
    return tuple(part.strip() for part in text.split(","))


def whole_numbers(text: str) -> tuple[int, ...]:
    """Convert a list of whole numbers separated by commas."""
    return tuple(int(part) for part in text.split(","))
