"""Parts of a report, and functions that write it to one file."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from html import escape
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

from psychollm._base.errors import InputError
from psychollm._base.numbers import typeset
from psychollm._base.optional import require
from psychollm._base.shown import visible
from psychollm._base.version import __version__
from psychollm.estimates.layout import Fact
from psychollm.estimates.listing import Table
from psychollm.estimates.provenance import with_imports
from psychollm.estimates.references import cited
from psychollm.reports.figure import Figure

_TEMPLATES = "psychollm.reports"

# Matches tags, and elements without prose; only the text between the matches is typeset.
_MARKUP = re.compile(r"(<(svg|script|style|pre|code)\b.*?</\2>|<[^>]*>)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A section with a question, a verbal answer, figures and tables."""

    title: str
    key: str
    paragraphs: tuple[str, ...] = ()  # may contain markup
    body: str = ""  # markup of a finding
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    folded: tuple[Table, ...] = ()  # long tables, which are shown on demand and in print


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Contents of a report."""

    title: str
    subtitle: str
    verdict: str
    lead: str = ""
    facts: tuple[Fact, ...] = ()
    notices: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    methods: tuple[str, ...] = ()
    call: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    simulated: str = ""
    models: tuple[str, ...] = ()  # models whose marks can be highlighted, by index
    version: str = field(default=__version__)

    @property
    def references(self) -> tuple[str, ...]:
        """References cited by the methods."""
        return cited(self.methods)


def render(page: Page) -> str:
    """Return a page as HTML without external resources."""
    # The page is complete without its script, which only highlights the marks of a model in all
    # figures, moves between marks with the arrow keys, and sorts tables.
    folder = files(_TEMPLATES).joinpath("templates")
    style, script = (
        folder.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js")
    )
    page = replace(_numbered(page), call=with_imports(page.call))
    return visible(_typeset(_template().render(page=page, style=style, script=script)))


@cache
def _template() -> Any:
    """Compile the template, which takes longer than filling it."""
    jinja2: Any = require("jinja2", extra="plot", purpose="a report")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(_TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template("page.html.jinja")


def _typeset(text: str) -> str:
    written, end = [], 0
    for markup in _MARKUP.finditer(text):
        written += [typeset(text[end : markup.start()]), markup[0]]
        end = markup.end()
    return "".join([*written, typeset(text[end:])])


def write_text(path: str | PathLike[str], text: Callable[[], str]) -> Path:
    """Write a page to a file, creating its folder, and return the path."""
    file = Path(path)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text(), encoding="utf-8")
    except OSError as error:
        msg = f"{file}: the report cannot be written there ({error.strerror})"
        raise InputError(msg) from error
    return file


def _numbered(page: Page) -> Page:
    """Return the page with its figures numbered from 1."""
    number = 0
    sections = []
    for section in page.sections:
        figures = [replace(f, number=number + i) for i, f in enumerate(section.figures, start=1)]
        number += len(figures)
        sections.append(replace(section, figures=tuple(figures)))
    return replace(page, sections=tuple(sections))


def named_versions(versions: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the official names and the versions of packages."""
    proper = {"python": "Python", "numpy": "NumPy", "scipy": "SciPy", "numba": "Numba"}
    return tuple((proper.get(name, escape(name)), escape(v)) for name, v in versions.items())
