"""The page on results: its programs run, and what it says of classes is so."""

import doctest
import re
from pathlib import Path

import pytest

from psychollm._base.result import Result
from tests._base.every_result import every_class

# One worker makes all results.
pytestmark = pytest.mark.xdist_group("results")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "results.md"


def test_the_programs_of_the_page_run() -> None:
    pytest.importorskip("xarray")
    failed, tried = doctest.testfile(
        str(PAGE),
        module_relative=False,
        optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE,
    )
    assert tried > 5
    assert failed == 0


def test_the_page_lists_every_result_with_named_dimensions() -> None:
    text = PAGE.read_text(encoding="utf-8")
    listed = set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`[^|]+) \|", text, re.M))))
    named = {
        name
        for name, kind in every_class().items()
        if hasattr(kind, "_DIMS") or kind.to_xarray is not Result.to_xarray
    }
    assert named <= listed, sorted(named - listed)
