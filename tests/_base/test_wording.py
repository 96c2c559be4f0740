"""Messages name arguments in Python's words, or in those of a command."""

import ast
import inspect
import pickle
import warnings
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import psychollm
from psychollm._base import errors
from psychollm._base.entry import warn
from psychollm._base.errors import CodeError, ValidityWarning
from psychollm._base.wording import Text, parameter
from psychollm.cli.bank import Bank
from psychollm.cli.options import _CALLED
from psychollm.cli.parser import COMMANDS
from tests.test_words import FUNCTIONS, NAMES

KINDS = [*COMMANDS.values(), *Bank.STEPS]
MEANT = {"threshold": "--right-above"}


@cache
def named() -> frozenset[str]:
    """The arguments that messages of the library name."""
    found: set[str] = set()
    for file in Path(psychollm.__file__).parent.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "parameter(" in text else ():
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "parameter":
                name = node.args[0]
                found |= {str(name.value)} if isinstance(name, ast.Constant) else set()
    return frozenset(found - {""})


def test_what_a_message_names_is_a_public_function_or_a_parameter_of_one() -> None:
    known = {name.rpartition(".")[2] for name in FUNCTIONS}
    known |= {one for parameters in NAMES.values() for one in parameters}
    known |= set(inspect.signature(psychollm.Responses).parameters)
    assert len(named()) > 10
    assert named() <= known


@pytest.mark.parametrize("argument", sorted(named()))
def test_some_command_has_an_option_for_it(argument: str) -> None:
    if argument in {
        "keep",
        "prompts",
    }:  # the option that names what is kept; a store holds prompts
        return
    assert any(argument in kind.arguments() for kind in KINDS)


def test_what_is_called_otherwise_is_named_by_a_message() -> None:
    assert set(_CALLED) <= named()


@pytest.mark.parametrize("command", KINDS)
def test_a_command_names_options_that_it_has(command) -> None:
    options = " ".join(command.arguments().values())
    offered = {f"--{name.replace('_', '-')}" for name in command.__dataclass_fields__}
    assert {word for word in options.split() if word.startswith("--")} <= offered


def test_an_error_has_both_wordings() -> None:
    error = CodeError(f"split them with {parameter('threshold', 0.5)}")
    assert str(error) == "split them with threshold=0.5"
    assert repr(error) == "CodeError('split them with threshold=0.5')"
    assert error.told(MEANT) == "split them with --right-above 0.5"
    assert error.told({}) == str(error)


@pytest.mark.parametrize(
    ("value", "python", "typed"),
    [
        ("a b", "'a b'", "'a b'"),
        ({"yes": 1, "no": 0}, "{'yes': 1, 'no': 0}", "yes=1,no=0"),
        ([9, "."], "[9, '.']", "9,."),
        ((), "()", "none"),
        ("{}", "'{}'", "'{}'"),
    ],
)
def test_values_are_written_as_they_are_typed(value, python: str, typed: str) -> None:
    text = Text(parameter("threshold", value))
    assert text == f"threshold={python}"
    assert text.told(MEANT) == f"--right-above {typed}"


def test_an_error_within_another_keeps_its_arguments() -> None:
    inner = CodeError(f"split with {parameter('threshold')}")
    outer = CodeError(f"a.csv: {inner.text.marked}")
    assert (str(outer), outer.told(MEANT)) == (
        "a.csv: split with threshold=",
        "a.csv: split with --right-above",
    )
    again = pickle.loads(pickle.dumps(outer))  # noqa: S301 -- made here
    assert again.told(MEANT) == outer.told(MEANT)


def test_one_value_may_have_an_option_of_its_own() -> None:
    text = Text(f"{parameter('keep', 'a')}, {parameter('keep', 'b')}")
    assert text.told({"keep='a'": "--by"}) == "--by a, keep='b'"
    assert text.told({"keep='a'": "--by"}).told({"keep": "--domains"}) == "--by a, --domains b"


def test_warnings_have_both_wordings() -> None:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warn(f"is {parameter('threshold')} meant?", ValidityWarning)
    assert str(found[0].message) == "is threshold= meant?"
    assert found[0].message.told(MEANT) == "is --right-above meant?"


def test_a_command_without_the_option_has_words_of_its_own() -> None:
    text = Text(parameter("threshold", python="Responses(threshold=...)", without="split scores"))
    assert text == text.told({}) == "Responses(threshold=...)"
    assert text.told({"": ""}) == "split scores"
    assert text.told({"": "", **MEANT}) == "--right-above"


def test_labels_that_look_like_arguments_stay() -> None:
    error = CodeError(f"model '{{threshold}} threshold=': {parameter('threshold')}")
    assert error.told(MEANT) == "model '{threshold} threshold=': --right-above"


def test_errors_are_importable_by_filters_of_warnings() -> None:
    offered = import_module("psychollm.errors")
    assert offered is psychollm.errors
    kinds = {one for one in vars(errors).values() if isinstance(one, type)}
    defined = {one.__name__ for one in kinds if one.__module__ == errors.__name__}
    assert defined == {name for name in vars(offered) if not name.startswith("_")}
