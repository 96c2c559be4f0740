"""Findings: one answer as text, Markdown, HTML, JSON and a table."""

import json

import pytest

from psychollm._base.errors import LabelError
from psychollm.estimates.estimate import proportion
from psychollm.estimates.findings import Finding, Findings, estimate_rows, sentence
from psychollm.estimates.verdict import Outcome, Verdicts


def test_lines_of_findings() -> None:
    rate = proportion("rate", [1.0], [4.0], level=0.95, labels=("a",))
    assert estimate_rows(rate, signed=False) == ("a: 0.25 [0.05, 0.70]",)
    assert sentence("one factor") == "One factor."


def study() -> Findings:
    first = Finding(key="verdict", statement="One signal < two.")
    second = Finding(
        key="own",
        question="Whose is it?",
        statement="Its own.",
        rows=("a: -0.10", "b: 0.20"),
        numbers={"share": float("nan")},
        outcome=Verdicts(("a", "b"), (Outcome.BELOW, Outcome.OPEN)),
    )
    return Findings(items=(first, second), head="Two models.")


def test_findings_say_the_same_in_every_form() -> None:
    found = study()
    assert (found.verdict, len(found)) == ("One signal < two.", 2)
    assert found["own"].question == "Whose is it?"
    assert found.text().splitlines()[0] == "Two models."
    assert "- a: -0.10" in found.to_markdown()
    assert "<li>a: −0.10</li>" in found.to_html()
    assert "One signal &lt; two." in found.to_html()
    assert json.loads(found.to_json())["items"][1]["numbers"] == {"share": None}
    row = found.to_frame().iloc[1]
    assert (row["key"], row["outcome"]) == ("own", "a: below; b: inconclusive")


def test_unknown_findings_are_named() -> None:
    with pytest.raises(
        LabelError, match="finding 'x' does not exist: use one of 'verdict', 'own'"
    ):
        study()["x"]


def test_strength_stands_in_the_table() -> None:
    one = Finding(key="a", statement="A.", outcome=Outcome.ABOVE)
    several = Finding(
        key="b",
        statement="B.",
        outcome=Verdicts(outcomes=(Outcome.SMALL, Outcome.OPEN), labels=("x", "y")),
    )
    table = Findings(items=(one, several, Finding(key="c", statement="C."))).to_frame()
    assert table["outcome"].tolist() == [
        str(Outcome.ABOVE),
        f"x: {Outcome.SMALL}; y: {Outcome.OPEN}",
        "",
    ]


def test_long_lists_are_cut_and_counted() -> None:
    rows = tuple(f"model {i}" for i in range(9))
    long = Finding(key="long", question="Which?", rows=rows)
    short = Finding(key="short", question="Why?", rows=("a", "b", "c"))
    found = Findings(items=(long, short), head="Nine models.")
    assert found.text(max_lines=15) == found.text()
    lines = found.text(max_lines=14).splitlines()
    assert lines[7:10] == ["  model 5", "  model 6", "  and 2 more in the report"]
    assert len(lines) == 14
    assert found.text(max_lines=2).splitlines() == [
        "Nine models.",
        "Which?",
        "  model 0",
        "  and 8 more in the report",
        "Why?",
        "  a",
        "  and 2 more in the report",
    ]
