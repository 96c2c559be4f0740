"""The false alarms of every function that tests something are simulated."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

import psychollm.reliability
import psychollm.studies
from psychollm._base.result import Result

ROOT = Path(__file__).parents[1]
P_VALUE = re.compile(r"(^|_)p($|_)|p_value")
# Functions whose p-values have no result around them.
BARE = {"mcnemar", "compare_all", "Estimate.difference"}


def results(parent: type = Result) -> dict[str, type]:
    """Return all results by name."""
    found = {one.__name__: one for one in parent.__subclasses__()}
    for one in list(found.values()):
        found |= results(one)
    return found


def named(annotation: object, known: dict[str, type]) -> Iterator[type]:
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    text = f"{text} {annotation}".replace(".", " ")
    yield from (known[word] for word in re.findall(r"\w+", text) if word in known)


def has_p_value(cls: type, known: dict[str, type], seen: set[type]) -> bool:
    """Return whether a result, or one inside of it, has a p-value."""
    if cls in seen or not is_dataclass(cls):
        return False
    seen.add(cls)
    own = [field.name for field in fields(cls)] + list(vars(cls))
    if any(P_VALUE.search(name) for name in own if not name.startswith("_")):
        return True
    inner = (one for field in fields(cls) for one in named(field.type, known))
    return any(has_p_value(one, known, seen) for one in inner)


def functions_with_p_values() -> set[str]:
    """Return the public functions of reliability and studies that return a p-value."""
    packages = (psychollm.reliability, psychollm.studies)
    for package in packages:
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    known, found = results(), set(BARE)
    for package in packages:
        for name in package.__all__:
            function = getattr(package, name)
            if inspect.isfunction(function):
                returned = named(inspect.signature(function).return_annotation, known)
                if any(has_p_value(cls, known, set()) for cls in returned):
                    found.add(name)
    return found


TESTS = sorted(functions_with_p_values())


def test_tests_are_found() -> None:
    assert {"friedman", "monitoring_link", "shared_confidence", "steering_match"} <= set(TESTS)
    assert "cohen_kappa" not in TESTS


@pytest.mark.parametrize("name", TESTS)
def test_false_alarms_are_simulated(name: str) -> None:
    benchmark = (ROOT / "validation" / "replication_rates.py").read_text()
    assert re.search(rf'yield f?"{re.escape(name)}\b', benchmark)


def test_rows_of_the_guide_are_those_of_the_benchmark() -> None:
    benchmark = (ROOT / "validation" / "replication_rates.py").read_text()
    guide = (ROOT / "docs" / "reliability.md").read_text()
    rows = re.findall(r"^\| ([\w. ]+).*\| [\d,]+ \|", guide, flags=re.MULTILINE)
    assert len(rows) > 50
    for row in rows:
        assert f'"{row.strip()}' in benchmark, row
