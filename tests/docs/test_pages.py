"""The pages as built: ``PSYCHOLLM_HTML=docs/_build/html pytest tests/docs`` (``nox -s docs``)."""

import os
import re
import sys
import zlib
from functools import cache
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

pytest.importorskip("sphinx")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs" / "_ext"))
from names import Names, Place

if "PSYCHOLLM_HTML" not in os.environ:
    pytest.skip("no pages were built", allow_module_level=True)
HTML = Path(os.environ["PSYCHOLLM_HTML"]).resolve()
_TAG = re.compile(r"<[^>]+>")
_LINK = re.compile(r"<a [^>]*>.*?</a>", re.DOTALL)
_CODE = re.compile(r'<code class="[^"]*literal[^"]*">(.*?)</code>', re.DOTALL)
_LINKED = re.compile(r'<a class="reference [^>]*><code class="[^"]*literal')
_PARAMETER = re.compile(
    r'<em class="sig-param">.*?<span class="n"><span class="pre">(\w+)', re.DOTALL
)


@cache
def pages() -> dict[str, str]:
    return {
        path.relative_to(HTML).with_suffix("").as_posix(): path.read_text(encoding="utf-8")
        for path in HTML.rglob("*.html")
        if not {"_modules", "_static"} & set(path.parts)
    }


@cache
def article(page: str) -> str:
    """Return what is on the page itself, without headings, columns and programs."""
    found = re.search(r'<article class="bd-article">(.*)</article>', pages()[page], re.DOTALL)
    text = found[1] if found else ""
    return re.sub(r"<(h[1-6]|pre|dt)\b.*?</\1>", "", text, flags=re.DOTALL)


@cache
def inventory() -> dict[str, tuple[str, str]]:
    """Return what each documented Python name is, and the page where it is."""
    lines = zlib.decompress((HTML / "objects.inv").read_bytes().split(b"\n", 4)[4]).decode()
    entries = [line.split(" ", 4) for line in lines.splitlines()]
    return {
        name: (kind, uri.partition(".html")[0])
        for name, kind, priority, uri, _ in entries
        if kind.startswith("py:") and priority != "-1"
    }


def test_names_in_the_text_are_linked() -> None:
    modules = {name for name, (kind, _) in inventory().items() if kind == "py:module"}
    names = Names(set(inventory()) - modules, modules)
    unlinked = []
    for page in pages():
        place = Place(page, parameters=frozenset(_PARAMETER.findall(pages()[page])))
        for code in _CODE.findall(_LINK.sub("", article(page))):
            text = unescape(_TAG.sub("", code))
            kind, target = names.find(text, place) or ("", "")
            if target and page != (target if kind == "doc" else inventory()[target][1]):
                unlinked.append((page, text, target))
    assert unlinked == []
    assert sum(len(_LINKED.findall(article(page))) for page in pages()) > 1800


def test_the_reference_leads_to_every_name() -> None:
    linked = {
        unquote(urlsplit(href).fragment).removeprefix("module-")
        for page in pages()
        if page.startswith("api/")
        for href in re.findall(r'href="([^"]+)"', article(page))
    }
    own = {name for name, (_, page) in inventory().items() if page == f"generated/{name}"}
    assert len(own) > 480
    assert sorted(own - linked) == []


def test_no_link_is_broken() -> None:
    files = {path.relative_to(HTML).as_posix() for path in HTML.rglob("*") if path.is_file()}
    anchors = {
        f"{page}.html": {unescape(one) for one in re.findall(r'\bid="([^"]+)"', text)}
        for page, text in pages().items()
    }
    broken, followed = [], 0
    for page, text in pages().items():
        for link in set(re.findall(r'(?:href|src)="([^"]+)"', text)):
            url = urlsplit(unescape(link))
            if url.scheme or url.netloc or link == "#":
                continue
            here = HTML / f"{page}.html"
            target = (here.parent / unquote(url.path)).resolve() if url.path else here
            name = target.relative_to(HTML).as_posix() if target.is_relative_to(HTML) else ""
            followed += 1
            if name not in files or (
                url.fragment and name in anchors and unquote(url.fragment) not in anchors[name]
            ):
                broken.append((page, link))
    assert followed > 10_000
    assert sorted(broken) == []


@pytest.mark.parametrize(
    "page", ["index", "guide", "api/index", "generated/psychollm.tetrachoric"]
)
def test_navigation_has_five_entries_and_hides_none(page: str) -> None:
    header = re.search(r'<ul class="bd-navbar-elements.*?</ul>', pages()[page], re.DOTALL)[0]
    entries = [" ".join(_TAG.sub(" ", one).split()) for one in _LINK.findall(header)]
    assert entries == ["Start", "Guide", "Examples", "Reference", "Validation"]
