"""What the documents promise: commands that CI runs, programs that run, names that exist."""

import doctest
import re
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pytest

import psychollm as psy
from psychollm.cli import main

ROOT = Path(__file__).resolve().parents[1]
ROOMS = sorted(set(psy._SUBMODULES) - {"errors"})


def test_the_programs_of_the_readme_run() -> None:
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, tried = doctest.testfile(
        str(ROOT / "README.md"), module_relative=False, optionflags=options
    )
    assert tried > 0
    assert failed == 0


@pytest.mark.parametrize("command", ["psychollm study --example", "python -m pytest"])
def test_ci_runs_the_commands_of_the_readme(command: str) -> None:
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8").replace('"', "").replace("$bin/", "")
    assert command in (ROOT / "README.md").read_text(encoding="utf-8")
    assert command in ci


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_links_lead_somewhere(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!http)([^)#]+)", text)
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_the_reference_lists_every_public_name() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs/api").glob("*.md"))
    listed = set(re.findall(r"^   ~?([\w.]+)$", pages, re.MULTILINE))
    top = set(psy._NAMES)
    rooms = {
        f"{room}.{name}"
        for room in ROOMS
        for name in import_module(f"psychollm.{room}").__all__
        if name not in top
    }
    assert listed == top | rooms
    assert set(re.findall(r"autoexception:: (\w+)$", pages, re.MULTILINE)) == {
        name for name, one in vars(psy.errors).items() if isinstance(one, type)
    }


def test_the_version_is_one() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {psy.__version__}\n" in citation


def test_names_that_synonyms_lead_to_exist() -> None:
    """A row for every name of the field; each leads to something that is there."""
    text = (ROOT / "psychollm" / "_base" / "elsewhere.md").read_text(encoding="utf-8")
    named = re.findall(r"`psychollm\.([\w.]+)`", text)
    assert named
    assert [name for name in named if not callable(attrgetter(name)(psy))] == []


SOURCES = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")


def test_names_in_the_table_of_sources_exist() -> None:
    named = set(re.findall(r"`psychollm\.([\w.]+)`", SOURCES))
    assert len(named) > 80
    for name in named:
        attrgetter(name)(psy)  # raises where there is none


@pytest.mark.parametrize("line", sorted(set(re.findall(r"`psychollm ([^`]+)`", SOURCES))))
def test_commands_in_the_table_of_sources_exist(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = line.split()
    command = [word for word in words if not word.startswith("--")]
    names = command[:2] if command[0] in {"instrument", "stage", "kit"} else command[:1]
    with pytest.raises(SystemExit) as left:
        main([*names, "--help"])
    assert left.value.code == 0
    options = capsys.readouterr().out
    for option in set(words) - set(command):
        assert re.search(rf"{option}\b", options), option


def test_the_table_of_sources_counts_its_rows() -> None:
    rows = re.findall(r"^\| (\d+) \|.*\| (done|in part|not done)\b[^|]*\|$", SOURCES, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, len(rows) + 1))
    states = [state for _, state in rows]
    counted = [len(rows), *(states.count(state) for state in ("done", "in part", "not done"))]
    assert f"| all | {' | '.join(map(str, counted))} |" in SOURCES


def test_the_first_pages_answer_how_many_questions_are_needed() -> None:
    """README has one row with a command and a call; the front page and the guide lead there."""
    rows = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    (row,) = [row for row in rows if row.startswith("| How many questions do I need?")]
    assert "psychollm compare" in row
    assert "questions_needed(" in row
    for page in ("index.md", "choose.md"):
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        assert "compare.md#how-many-questions-decide" in text
