"""References of methods: links for the running text, and entries of the reference list."""

import re
from collections.abc import Iterable
from functools import cache
from html import escape
from importlib.resources import files
from typing import NamedTuple

_LINK = re.compile(r'href="#ref-(\w+)"')


class Reference(NamedTuple):
    """Line of ``references.tsv``, which is in alphabetical order."""

    key: str
    name: str  # author and year, as printed in the text
    entry: str
    doi: str  # "" if the reference has no DOI


@cache
def known() -> dict[str, Reference]:
    """Return all references by key."""
    file = files("psychollm.estimates").joinpath("references.tsv")
    lines = file.read_text(encoding="utf-8").splitlines()
    return {line.partition("\t")[0]: Reference(*line.split("\t")) for line in lines}


def cite(*keys: str) -> str:
    """Return references for the running text, linked to their entries."""
    links = [f'<a href="#ref-{key}">{escape(known()[key].name)}</a>' for key in keys]
    return f"({'; '.join(links)})"


def cited(paragraphs: Iterable[str]) -> tuple[str, ...]:
    """Return the entries that paragraphs cite, in alphabetical order, with DOIs."""
    keys = set(_LINK.findall(" ".join(paragraphs)))
    return tuple(
        f'<span id="ref-{one.key}">{one.entry.replace(" & ", " &amp; ")}</span>'
        + (f' <a href="https://doi.org/{one.doi}">doi:{one.doi}</a>' if one.doi else "")
        for one in known().values()
        if one.key in keys
    )
