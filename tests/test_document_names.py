"""Functions that the guides name exist under that name."""

import re
from pathlib import Path

import pytest

import psychollm
from psychollm import calibration, data, estimates, factor, reliability

DOCS = Path(__file__).resolve().parents[1] / "docs"
# Arguments, fields and extras that the guides speak of.
OTHER = {
    "bayes",
    "both",
    "both_minus_shared",
    "confidence",
    "correctness",
    "difference",
    "flags",
    "hierarchical",
    "item",
    "max_t",
    "method",
    "reason",
    "residual",
}


@pytest.mark.parametrize("page", ["calibration.md", "reliability.md", "coverage.md"])
def test_names_exist(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z][a-z0-9_]*)(?:\(\))?`", text))
    public = {
        name for room in (calibration, reliability, estimates, data, factor) for name in dir(room)
    }
    known = public | set(calibration.metric_keys()) | OTHER
    assert sorted(named - known) == []


def test_names_that_synonyms_lead_to_exist():
    """A row for every name of the field; each leads to something that is there."""
    text = (DOCS / "synonyms.md").read_text(encoding="utf-8")
    named = re.findall(r"`(psychollm(?:\.\w+)+)`", text)
    assert named
    assert [name for name in named if not callable(_public(name))] == []


def _public(path: str) -> object:
    found = psychollm
    for name in path.split(".")[1:]:
        found = getattr(found, name, None)
    return found
