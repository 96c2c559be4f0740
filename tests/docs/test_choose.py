"""Each figure of the pages that help to choose stands in the table that it is quoted from."""

import ast
import inspect
import re
from functools import cache
from pathlib import Path

import pytest

import psychollm as psy

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = "\n".join(
    (DOCS / page).read_text(encoding="utf-8") for page in ("choose.md", "choose_tests.md")
)
QUOTED = [
    (figure, page, section, " ".join(place.split()))  # a title may be wrapped
    for figure, page, section, place in re.findall(
        r'\[([\d.]+(?: %)?)\]\(([\w.]+)(?:#([\w-]+))?\s+"([^"]+)"\)', PAGE
    )
]
CALLS = [
    node
    for line in re.findall(r"^`(\w.*)`\\?$", PAGE, re.MULTILINE)
    for node in ast.walk(ast.parse(line))
    if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("psy.")
]


@cache
def text(page: str) -> str:
    """Return a page with what it includes."""
    return re.sub(
        r"```\{include\} (\S+)\n(?::.*\n)*```",
        lambda found: (DOCS / found[1]).read_text(encoding="utf-8"),
        (DOCS / page).read_text(encoding="utf-8"),
    )


def cells(page: str, section: str) -> dict[str, str]:
    """Return the cells of the tables of a section: ``row, column`` and what stands there."""
    found: dict[str, str] = {}
    headings: list[str] = []
    columns: list[str] = []
    for line in text(page).splitlines():
        if heading := re.match(r"(#+) (.*)", line):
            slug = re.sub(r"[^\w -]", "", heading[2].lower()).replace(" ", "-")
            headings = [*headings[: len(heading[1]) - 1], slug]
        if not line.startswith("|"):
            columns = []
        elif not section or section in headings:
            row = [one.strip(" `*") for one in line.strip("|").split("|")]
            columns = columns or row
            for k in range(1, len(row)):
                for name, cell in zip(columns[k:], row[k:], strict=False):
                    found.setdefault(f"{', '.join(row[:k])}, {name}", cell)
    return found


def test_there_are_figures_and_calls() -> None:
    assert len(CALLS) > 20
    assert len(QUOTED) > 20
    assert len(QUOTED) == len(re.findall(r"\[\d", PAGE))


@pytest.mark.parametrize(("figure", "page", "section", "place"), QUOTED)
def test_a_figure_stands_in_its_table(figure: str, page: str, section: str, place: str) -> None:
    cell = cells(page, section)[place]
    assert cell.split(" ±")[0].strip("* ") == figure


@pytest.mark.parametrize("call", CALLS, ids=lambda call: ast.unparse(call.func))
def test_a_call_fits_its_function(call: ast.Call) -> None:
    function = psy
    for name in ast.unparse(call.func).split(".")[1:]:
        function = getattr(function, name)
    given = {word.arg: None for word in call.keywords}
    inspect.signature(function).bind(*call.args, **given)
