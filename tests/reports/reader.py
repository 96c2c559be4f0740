"""A page taken apart: tags, attributes and words, and what every page must keep to."""

import re
from html import unescape
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "img", "hr", "input"}


class Reader(HTMLParser):
    """Collects tags, attributes and words, and checks that what opens is closed."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    assert reader.open == []
    return reader


def assert_self_contained(text: str) -> None:
    """Nothing is loaded from elsewhere, and what runs is the page's own."""
    script = script_of(text)
    for word in ("fetch", "XMLHttp", "WebSocket", "import", "eval", "http", "innerHTML", "src"):
        assert word not in script
    for tag, attributes in read(text).tags:
        assert tag not in {"iframe", "link", "object", "embed", "base"}
        assert tag != "script" or not attributes
        assert not any(name.startswith("on") for name in attributes)
        for name in ("src", "srcset", "href", "data", "action", "poster"):
            target = attributes.get(name)
            inside = ("#", "https://doi.org/") if tag == "a" else ("#", "data:image/png;base64,")
            assert target is None or target.startswith(inside)
    style = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert all("@import" not in rules and "url(" not in rules for rules in style)


def script_of(text: str) -> str:
    """Return the one script of a page."""
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    return str(script)


def without_figures(text: str) -> str:
    """Return a page without its figures and its script."""
    return re.sub(r"<(svg|script)\b.*?</\1>", "", text, flags=re.DOTALL)


def marks_of(text: str, key: str) -> list[tuple[str, str, str]]:
    """Return shape, places of models and words of the marks of one figure."""
    (group,) = re.findall(
        rf'aria-labelledby="{key}-title".*?(?:<g class="marks">(.*?)</g>)?\s*</svg>',
        text,
        re.DOTALL,
    )
    found = re.findall(r'<(\w+)(?: data-m="([\d ]+)")?[^>]*><title>(.*?)</title>', group)
    return [(shape, whose, unescape(words)) for shape, whose, words in found]


def assert_names_unique_and_found(text: str) -> None:
    """Every name stands once, and every link inside the page leads to one."""
    names = [attributes["id"] for _, attributes in read(text).tags if "id" in attributes]
    assert len(names) == len(set(names))
    targets = set(re.findall(r'href="#([^"]+)"', text)) | set(re.findall(r"url\(#([^)]+)\)", text))
    assert targets <= set(names)


def decimals_of(text: str) -> dict[str, set[int]]:
    """Return how many decimals the numbers have below each heading of the tables of a page."""
    decimals: dict[str, set[int]] = {}
    for table in re.findall(r'<table(?: class="tight")?>.*?</table>', text, re.DOTALL):
        headings = re.findall(r'<th scope="col" class="n">(.*?)</th>', table)
        for row in re.findall(r"<tr>\s*<th scope=\"row\".*?</tr>", table, re.DOTALL):
            cells = re.findall(r'<t[dh][^>]*class="n">(.*?)</t[dh]>', row, re.DOTALL)
            for heading, cell in zip(headings, cells, strict=True):
                numbers = re.findall(r"\d*\.?\d+", re.sub(r"<.*?>", "", cell))
                digits = {len(one.partition(".")[2]) for one in numbers}
                decimals.setdefault(unescape(heading), set()).update(digits)
    return decimals
