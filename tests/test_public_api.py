"""The public surface: every name resolves, the two tables agree, no signature changes unseen.

Regenerate the snapshot with
``PSYCHOLLM_UPDATE_GOLDEN=1 python -m pytest tests/test_public_api.py`` and read the difference.
Annotations are left out: their text depends on the versions of Python and
NumPy, and the type checker watches them.
"""

import ast
import inspect
import os
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import psychollm as psy

STUB = Path(psy.__file__).with_suffix(".pyi")
ROOMS = sorted(set(psy._SUBMODULES) - {"errors"})


def stub_table() -> dict[str, str]:
    """Return what ``__init__.pyi`` promises: name to the module it is imported from."""
    table = {}
    for node in ast.parse(STUB.read_text(encoding="utf-8")).body:
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            assert alias.asname == alias.name, "only 'X as X' re-exports from a stub"
            table[alias.name] = str(node.module)
    return table


def signature(value: object) -> str:
    """Return the parameters of a callable, without annotations."""
    plain = inspect.signature(value)  # type: ignore[arg-type]
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in plain.parameters.values()]
    return str(plain.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def members(cls: type) -> Iterator[str]:
    """Yield one line per public field, property and method, those of our base classes included."""
    names = [field.name for field in fields(cls)] if is_dataclass(cls) else []
    yield from (f"    .{name}" for name in names if not name.startswith("_"))
    ours = [base for base in cls.__mro__ if base.__module__.startswith("psychollm")]
    found = {name: value for base in reversed(ours) for name, value in vars(base).items()}
    for name, value in sorted(found.items()):
        if name.startswith("_") or name in names:
            continue
        if isinstance(value, property):
            yield f"    .{name}  (property)"
        elif isinstance(value, classmethod | staticmethod):
            yield f"    .{name}{signature(getattr(cls, name))}  (class)"
        elif callable(value):
            yield f"    .{name}{signature(value)}"
        elif isinstance(value, cls):
            yield f"    .{name}  (member)"


def describe(name: str, value: object) -> Iterator[str]:
    """Yield the lines of the snapshot for one public name."""
    if isinstance(value, ModuleType):
        yield f"{name}  (module)"
    elif inspect.isclass(value):
        yield f"{name}  (class)"
        yield from members(value)
    elif callable(value):
        yield f"{name}{signature(value)}"
    else:
        yield name


def surface() -> str:
    lines = []
    for name in sorted(psy.__all__):
        lines += describe(f"psychollm.{name}", getattr(psy, name))
    top = {id(getattr(psy, name)) for name in psy._NAMES}
    for room in ROOMS:
        module = import_module(f"psychollm.{room}")
        for name in sorted(module.__all__):
            value = getattr(module, name)
            if id(value) not in top:
                lines += describe(f"psychollm.{room}.{name}", value)
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", sorted(psy.__all__))
def test_name_resolves_and_is_documented(name: str) -> None:
    value = getattr(psy, name)
    assert name in dir(psy)
    assert name == "__version__" or inspect.getdoc(value)


def test_stub_equals_table() -> None:
    names = {"__version__": "psychollm._base.version", **psy._NAMES}
    modules = {name: path.rpartition(".")[0] for name, path in psy._SUBMODULES.items()}
    assert stub_table() == {**names, **modules}


@pytest.mark.parametrize("name", sorted(psy._NAMES))
def test_rooms_export_what_the_package_exports(name: str) -> None:
    _, room, _ = psy._NAMES[name].split(".", 2)
    if room.startswith("_"):
        return  # what no room owns
    assert getattr(import_module(f"psychollm.{room}"), name) is getattr(psy, name)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'tetrachorik'"):
        _ = psy.tetrachorik


@pytest.mark.parametrize("name", sorted(psy._NAMES))
def test_options_are_keyword_only(name: str) -> None:
    value = getattr(psy, name)
    if inspect.isclass(value):
        return
    optional = [
        p for p in inspect.signature(value).parameters.values() if p.default is not p.empty
    ]
    positional = [p.name for p in optional if p.kind is not p.KEYWORD_ONLY]
    # A further table may be left out, and is passed by position where it is not.
    assert set(positional) <= {"correctness", "key", "other", "models", "questions"}, positional


def test_surface_is_the_one_on_record(golden: Path) -> None:
    path = golden / "public_api.txt"
    if "PSYCHOLLM_UPDATE_GOLDEN" in os.environ:
        path.write_text(surface(), encoding="utf-8")
    assert surface() == path.read_text(encoding="utf-8")
