"""Figures as SVG that stands inside a page: no outside references, no clashing names."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Any

from psychollm._base.optional import require
from psychollm.reports.marks import Marks, overlay

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

# Words stay words: they can be read aloud, searched and set in the fonts of the page.
_SETTINGS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "psychollm",
    "figure.dpi": 100.0,
    "text.parse_math": False,  # a dollar in a label is no formula
}
_RASTER_DPI = 150


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure with its caption, ready for the template."""

    svg: str
    caption: str
    number: int = 0
    width: float = 0.0  # inches
    answers: bool = False  # whether marks lie over it


def on_axes(draw: Callable[["Axes"], object]) -> Callable[["Canvas"], object]:
    """Return what draws on a figure from what draws on axes."""
    return lambda figure: draw(figure.subplots())


def draw_figure(
    draw: Callable[["Canvas"], object],
    *,
    size: tuple[float, float],
    caption: str,
    title: str,
    key: str,
    marks: Marks | None = None,
) -> Figure:
    """Draw on a new figure, which may hold many axes, and return it as inline SVG."""
    # The caption may hold markup; `title` is for those who cannot see the figure; `key` is
    # the prefix of all names inside the SVG, unique on the page.
    matplotlib: Any = require("matplotlib", extra="plot", purpose="a report")
    figures: Any = require("matplotlib.figure", extra="plot", purpose="a report")
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # whatever the user has set: the same report everywhere
        matplotlib.rcParams.update(_SETTINGS)
        figure = figures.Figure(figsize=size, layout="constrained")
        draw(figure)
        written = StringIO()
        figure.savefig(written, format="svg", dpi=_RASTER_DPI, metadata={"Date": None})
        laid = "" if marks is None else overlay(figure, marks(figure))
    svg = inline_svg(written.getvalue(), title=title, key=key)
    if laid:
        svg = f"{svg.removesuffix('</svg>')}{laid}\n</svg>"
    return Figure(svg=svg, caption=caption, width=size[0], answers=bool(laid))


def inline_svg(text: str, *, title: str, key: str) -> str:
    """Return an SVG file as an element of a page."""
    text = text[text.index("<svg") :]
    for pattern, new in _REPLACEMENTS:
        text = pattern.sub(new, text)
    text = _with_unique_names(text, key)
    text = re.sub(r'\bhref="#', f'href="#{key}-', text)
    text = text.replace("url(#", f"url(#{key}-")
    text = text.replace("<svg", f'<svg role="img" aria-labelledby="{key}-title"', 1)
    opening = text.index(">") + 1
    name = f'<title id="{key}-title">{escape(title)}</title>'
    return (text[:opening] + name + text[opening:]).strip()


def _with_unique_names(text: str, key: str) -> str:
    """Put the key before every name; a name that panels share is counted from the second on."""
    seen: Counter[str] = Counter()

    def named(match: "re.Match[str]") -> str:
        name = match[1]
        seen[name] += 1
        again = f"-{seen[name]}" if seen[name] > 1 else ""
        return f'id="{key}-{name}{again}"'

    return re.sub(r'\bid="([^"]*)"', named, text)


# The page sets fonts and line joins for all its figures; what repeats in each text goes.
_REPLACEMENTS = (
    (re.compile(r"<metadata>.*?</metadata>", re.DOTALL), ""),
    (re.compile(r"<defs>\s*<style.*?</style>\s*</defs>", re.DOTALL), ""),
    (re.compile(r' xmlns(:\w+)?="[^"]*"'), ""),
    (re.compile(r"xlink:href"), "href"),
    (re.compile(r'(?<=<svg)([^>]*?) width="[\d.]+pt"'), r"\1"),
    (re.compile(r'(?<=<svg)([^>]*?) height="[\d.]+pt"'), r"\1"),
    (re.compile(r"font: (?:bold|700) ([\d.]+)px [^;\"]*"), r"font-weight: 700; font-size: \1px"),
    (re.compile(r"font: ([\d.]+)px [^;\"]*"), r"font-size: \1px"),
    (re.compile(r"; font-family: [^;\"]*"), ""),
    (re.compile(r' transform="rotate\(-?0 [^"]*"'), ""),
    (re.compile(r"\s*\n\s*"), "\n"),
)
