"""Each extra has tests of its own; the oldest versions tested are those declared."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OPTIONAL: dict[str, list[str]] = PROJECT["optional-dependencies"]
EXTRAS = tomllib.loads((ROOT / "tests/packaging/extras.toml").read_text(encoding="utf-8"))
FOR_DEVELOPERS = {"all", "test-core", "test", "docs", "lint", "bench", "dev"}
MODULES = {"scikit-learn": "sklearn", "inspect-ai": "inspect_ai"}


def requirement(text: str) -> tuple[str, str]:
    """Return the name and the lower bound of ``name>=bound``."""
    name, _, bound = text.partition(">=")
    assert bound, f"{text} has no lower bound"
    assert re.fullmatch(r"[\d.]+", bound), f"{text} has more than a lower bound"
    return re.sub(r"\[.*\]", "", name), bound


def of_others(extra: str) -> list[tuple[str, str]]:
    return [requirement(text) for text in OPTIONAL[extra] if not text.startswith("psychollm[")]


def release(version: str) -> tuple[int, ...]:
    numbers = [int(part) for part in version.partition("+")[0].split(".")]
    return tuple(numbers + [0] * (4 - len(numbers)))


def test_every_extra_has_tests() -> None:
    assert set(EXTRAS) == set(OPTIONAL) - FOR_DEVELOPERS
    for extra, entry in EXTRAS.items():
        assert entry["tests"], extra
        assert [path for path in entry["tests"] if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_modules_of_an_extra_are_those_of_its_requirements(extra: str) -> None:
    required = {MODULES.get(name, name) for name, _ in of_others(extra)}
    assert set(EXTRAS[extra]["modules"]) == required


@pytest.mark.parametrize("extra", EXTRAS)
def test_what_skips_without_an_extra_runs_with_it(extra: str) -> None:
    """A test that asks for a module that one extra alone brings is a test of that extra."""
    owned = {
        module
        for module in EXTRAS[extra]["modules"]
        if not any(module in EXTRAS[other]["modules"] for other in EXTRAS if other != extra)
    }
    known = [*EXTRAS[extra]["tests"], *EXTRAS[extra].get("with_others", [])]
    forgotten = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        asked = re.findall(r"importorskip\(\s*\"([\w]+)", path.read_text(encoding="utf-8"))
        name = path.relative_to(ROOT).as_posix()
        tested = any(name == one or name.startswith(f"{one}/") for one in known)
        if owned.intersection(asked) and not tested:
            forgotten.append(name)
    assert forgotten == []


def test_nothing_is_capped() -> None:
    for extra in OPTIONAL:
        of_others(extra)
    for text in PROJECT["dependencies"]:
        requirement(text)


def test_the_oldest_versions_tested_are_those_declared() -> None:
    lines = (ROOT / "constraints" / "minimum.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    declared = dict(requirement(text) for text in PROJECT["dependencies"])
    for extra in EXTRAS:
        declared.update(of_others(extra))
    assert set(pinned) == set(declared)
    for name, bound in declared.items():
        assert release(pinned[name]) == release(bound), name
