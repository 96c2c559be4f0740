"""Figures as inline SVG, without external references or duplicate identifiers."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Any

from psychollm._base.optional import require
from psychollm._base.result import view
from psychollm.estimates.exhibits import Drawing
from psychollm.plots.canvas import on_paper
from psychollm.reports.marks import overlay

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

# Text is not converted to outlines, so that it can be read aloud, searched, and set in the fonts
# of the page.
_SETTINGS = {
    "svg.fonttype": "none",
    # Every text looks up all families of this list. The first one comes with Matplotlib.
    "font.sans-serif": ["DejaVu Sans"],
    "svg.hashsalt": "psychollm",
    "figure.dpi": 100.0,
    "text.parse_math": False,  # a dollar sign in a label is not a formula
}
_RASTER_DPI = 150


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure with its caption, ready for the template."""

    svg: str
    caption: str = ""
    number: int = 0
    width: float = 0.0  # width in inches
    answers: bool = False  # whether the figure has interactive marks


@contextmanager
def house_style() -> Iterator[None]:
    """Within the context, draw figures with fixed settings instead of the user's settings."""
    matplotlib: Any = require("matplotlib", extra="plot", purpose="a report")
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        yield


def draw_figure(drawing: Drawing, models: Sequence[Any] = ()) -> Figure:
    """Convert a drawing to inline SVG with its marks, given the `models` on the page."""
    svg = written(drawn_by(drawing), key=drawing.key, title=drawing.title, models=models)
    return replace(svg, caption=drawing.caption)


@house_style()
def drawn_by(drawing: Drawing) -> "Canvas":
    """Draw a figure without pyplot, at the size that the plot requires."""
    module, _, name = drawing.plot.rpartition(".")
    own = module.startswith("studies.")
    plot = view(module if own else f"plots.{module}".removesuffix("."), name)
    with on_paper():
        shown = plot(drawing.of, **drawing.options)
    figure: Canvas = getattr(shown, "figure", None) or shown
    return figure


@house_style()
def written(figure: "Canvas", *, key: str, title: str, models: Sequence[Any] = ()) -> Figure:
    """Convert a drawn figure to inline SVG with the marks of its axes."""
    # Screen readers read `title`. `key` is unique on the page and is the prefix of all names in
    # the SVG.
    text = StringIO()
    # `savefig` would draw the figure twice, the first time for its layout.
    backend: Any = require("matplotlib.backends.backend_svg", extra="plot", purpose="a report")
    canvas = backend.FigureCanvasSVG(figure)
    figure.dpi = _RASTER_DPI
    layout = figure.get_layout_engine()
    if layout is not None:
        layout.execute(figure)
        figure.set_layout_engine("none")
    canvas.print_svg(text, metadata={"Date": None})
    laid = overlay(figure, models)
    svg = inline_svg(text.getvalue(), title=title, key=key)
    if laid:
        svg = f"{svg.removesuffix('</svg>')}{laid}\n</svg>"
    return Figure(svg=svg, width=float(figure.get_figwidth()), answers=bool(laid))


def inline_svg(text: str, *, title: str, key: str) -> str:
    """Convert the text of an SVG file to an HTML page element."""
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
    """Prefix every identifier in the SVG with the key, and number repeated identifiers."""
    seen: Counter[str] = Counter()

    def named(match: "re.Match[str]") -> str:
        name = match[1]
        seen[name] += 1
        again = f"-{seen[name]}" if seen[name] > 1 else ""
        return f'id="{key}-{name}{again}"'

    return re.sub(r'\bid="([^"]*)"', named, text)


# Remove fonts and line joins from the elements, because the page sets them for all figures.
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
