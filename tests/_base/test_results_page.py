"""The page on results: what it says of classes is so."""

import re
from pathlib import Path

from psychollm._base.result import Result

PAGE = Path(__file__).resolve().parents[2] / "docs" / "results.md"


def test_the_page_lists_every_result_with_named_dimensions(made: dict[str, list[Result]]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    listed = set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`[^|]+) \|", text, re.M))))
    named = {
        name
        for name, results in made.items()
        if getattr(results[-1]._axes(), "arrays", {})
        or type(results[-1]).to_xarray is not Result.to_xarray
    }
    assert named <= listed, sorted(named - listed)
