"""Every parameter is described where it stands, as in SciPy: help() shows one docstring."""

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import psychollm as psy

LISTS = ("Parameters", "Other Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns")
# "As in `brier`", "As `brier`", "Forms as in `agreement`", "As of the other".
POINTER = re.compile(
    r"^(As|Like|See)\b(?! (an?|they)\b)|\b[Aa]s (in|by|for|with) (`(?!`)|the module)"
)


def documented() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield public functions, classes and methods by name."""
    for room in psy._SUBMODULES:
        module = getattr(psy, room)
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if inspect.isfunction(value):
                yield f"{room}.{name}", value
            elif inspect.isclass(value) and value.__module__.startswith("psychollm."):
                yield f"{room}.{name}", value
                for method, function in inspect.getmembers(value, inspect.isroutine):
                    if not method.startswith("_") and method in vars(value):
                        yield f"{room}.{name}.{method}", function


DOCUMENTED = dict(documented())


def entries(docstring: str, *sections: str) -> Iterator[tuple[str, str]]:
    """Yield the head ("clusters, weights : array_like") and the text of each entry of a list."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", inspect.cleandoc(docstring), flags=re.MULTILINE)
    for section, body in zip(parts[1::2], parts[2::2], strict=True):
        if section in sections:
            for entry in re.split(r"\n(?=\S)", body.strip()):
                head, _, text = entry.partition("\n")
                yield head, " ".join(text.split())


def described(docstring: str) -> list[str]:
    """Return the names of the parameters in a docstring."""
    heads = [head for head, _ in entries(docstring, "Parameters", "Other Parameters")]
    return [name.strip(" *") for head in heads for name in head.split(" : ")[0].split(",")]


def test_what_points_elsewhere_is_found():
    head = "Return.\n\nParameters\n----------\n"
    text = f"{head}level, rng\n    As in `brier`.\nn : int\n    How many.\n"
    assert [head for head, text in entries(text, *LISTS) if POINTER.search(text)] == ["level, rng"]
    assert described(text) == ["level", "rng", "n"]


@pytest.mark.parametrize("name", sorted(DOCUMENTED))
def test_no_entry_points_to_another_docstring(name):
    listed = entries(DOCUMENTED[name].__doc__ or "", *LISTS)
    assert not [(head, text) for head, text in listed if POINTER.search(text)], "describe it here"


@pytest.mark.parametrize("name", sorted(DOCUMENTED))
def test_every_parameter_is_described(name):
    value = DOCUMENTED[name]
    listed = list(entries(value.__doc__ or "", "Parameters"))
    assert not [head for head, text in listed if not text], "say what it is"
    if listed and not inspect.isclass(value):
        known = [p for p in inspect.signature(value).parameters if p not in {"self", "cls"}]
        names = described(value.__doc__ or "")
        assert not set(known) - set(names)
        assert [name for name in names if name in known] == known, "in the order of the call"
