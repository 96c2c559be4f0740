"""One word for one thing: arguments of public functions against the table in docs/design.md."""

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import psychollm as psy

DESIGN = Path(__file__).resolve().parents[1] / "docs" / "design.md"
# Words that stand for something else where the table names them.
EXEMPT = {("draws", "estimates.max_t")}


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the public functions by name."""
    for room in psy._SUBMODULES:
        module = getattr(psy, room)
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if inspect.isfunction(value):
                yield f"{room}.{name}", value


def words() -> dict[str, tuple[str, ...]]:
    """Return the words of the table in docs/design.md, with those they stand for."""
    text = DESIGN.read_text(encoding="utf-8").partition("## Words of arguments")[2]
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|$", text, re.MULTILINE)
    return {word: tuple(re.findall(r"`(\w+)`", others)) for word, others in rows}


FUNCTIONS = dict(functions())
NAMES = {name: inspect.signature(value).parameters for name, value in FUNCTIONS.items()}


def test_there_is_something_to_read():
    assert len(FUNCTIONS) > 200
    assert len(words()) >= 8


@pytest.mark.parametrize("word", words())
def test_every_word_is_used(word):
    assert any(word in parameters for parameters in NAMES.values())


@pytest.mark.parametrize(
    ("word", "other"), [(word, other) for word, others in words().items() for other in others]
)
def test_no_other_word_for_the_same(word, other):
    wrong = [name for name, parameters in NAMES.items() if other in parameters]
    assert not [name for name in wrong if (other, name) not in EXEMPT], f"say {word}"


def test_level_is_coverage_and_alpha_the_size_of_a_test():
    for name, parameters in NAMES.items():
        if "level" in parameters and isinstance(parameters["level"].default, float):
            assert parameters["level"].default >= 0.5, name
        if "alpha" in parameters:
            assert parameters["alpha"].default <= 0.1, name


def test_who_resamples_takes_the_same_three_arguments():
    for name, parameters in NAMES.items():
        if "bootstrap" in parameters:
            assert "rng" in parameters, name
            assert not {"n_jobs", "progress", "n"} & set(parameters), name
