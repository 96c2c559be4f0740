"""Remedies are worded for the command line, and the table of them does not go stale."""

from pathlib import Path

import pytest

import psychollm
from psychollm.cli.notes import _OPTIONS, in_options

PACKAGE = Path(psychollm.__file__).parent


@pytest.fixture(scope="module")
def library() -> str:
    """The source that raises errors, adjacent string literals joined."""
    files = [path for path in PACKAGE.rglob("*.py") if "cli" not in path.parts]
    text = " ".join(path.read_text(encoding="utf-8") for path in files)
    joined = " ".join(text.split())
    for seam in ('" "', '" f"', "' '", "\" '", "' \""):
        joined = joined.replace(seam, "")
    return joined


@pytest.mark.parametrize("argument", [argument for argument, *_ in _OPTIONS])
def test_the_library_still_says_it(argument: str, library: str) -> None:
    assert argument in library


def test_no_python_is_left() -> None:
    text = (
        "which column holds the answers? pass value=, one of 'a', 'b'; leave one of them out with "
        "responses.select(models=...)"
    )
    assert "=" not in in_options(text)
    assert "--leave-out MODEL" in in_options(text)
