"""The picture of the architecture, drawn from the imports of the source when the pages are built.

Each subpackage stands one row above the highest one that it imports. A line leads to what it
imports; what is imported on the way through another subpackage has no line of its own.
"""

import ast
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

PACKAGE = Path(__file__).resolve().parents[2] / "psychollm"
WIDTH, BOX, ROW, TOP = 860, (104, 40), 92, 16
Imports = Mapping[str, set[str]]


def imports() -> dict[str, set[str]]:
    """Return the subpackages that each subpackage imports."""
    rooms = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))
    return {room: set(_imported(room)) & set(rooms) - {room} for room in rooms}


def _imported(room: str) -> Iterator[str]:
    for path in (PACKAGE / room).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("psychollm."):
                yield str(node.module).split(".")[1]


def floors(below: Imports) -> dict[str, int]:
    """Return how many subpackages stand on top of each other below each."""
    level: dict[str, int] = {}
    while len(level) < len(below):
        ready = [room for room in below if room not in level and below[room] <= set(level)]
        if not ready:
            msg = f"subpackages import each other in a circle: {sorted(set(below) - set(level))}"
            raise ValueError(msg)
        level |= {room: 1 + max((level[one] for one in below[room]), default=-1) for room in ready}
    return level


def direct(below: Imports) -> dict[str, set[str]]:
    """Return the imports that do not go through another subpackage."""
    reach: dict[str, set[str]] = {}
    for room in sorted(below, key=floors(below).__getitem__):
        reach[room] = below[room].union(*(reach[one] for one in below[room]))
    return {
        room: {one for one in below[room] if not any(one in reach[via] for via in below[room])}
        for room in below
    }


def picture(below: Imports) -> str:
    """Return the drawing as SVG, in the colours of the page."""
    level = floors(below)
    rows = [
        sorted(room for room in below if level[room] == k) for k in range(max(level.values()) + 1)
    ]
    height = TOP + ROW * len(rows)
    centre = {
        room: (WIDTH * (i + 0.5) / len(row), height - ROW * (k + 0.5))
        for k, row in enumerate(rows)
        for i, room in enumerate(row)
    }
    parts = [
        f'<svg role="img" aria-label="Which subpackage imports which" viewBox="0 0 {WIDTH} '
        f'{height}" style="max-width:{WIDTH}px;width:100%" fill="none" stroke="currentColor">'
    ]
    for room, targets in direct(below).items():
        parts += [_line(centre[room], centre[one]) for one in sorted(targets)]
    for room, place in centre.items():
        parts.append(_box(room, place, below[room]))
    return "".join([*parts, "</svg>"])


def _line(start: tuple[float, float], end: tuple[float, float]) -> str:
    x, y, u, v = start[0], start[1] + BOX[1] / 2, end[0], end[1] - BOX[1] / 2
    bend = (v - y) / 2
    return (
        f'<path stroke-opacity=".35" d="M{x:.0f} {y:.0f}C{x:.0f} {y + bend:.0f} '
        f'{u:.0f} {v - bend:.0f} {u:.0f} {v:.0f}"/>'
    )


def _box(room: str, centre: tuple[float, float], below: set[str]) -> str:
    x, y = centre[0] - BOX[0] / 2, centre[1] - BOX[1] / 2
    title = f"{room} imports {', '.join(sorted(below)) or 'nothing'}"
    return (
        f"<g><title>{escape(title)}</title>"
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{BOX[0]}" height="{BOX[1]}" rx="6" '
        'style="fill:var(--pst-color-background,#fff)"/>'
        f'<text x="{centre[0]:.0f}" y="{centre[1] + 5:.0f}" text-anchor="middle" stroke="none" '
        f'fill="currentColor" font-size="14">{escape(room)}</text></g>'
    )


class Architecture(Directive):
    """``architecture``: the drawing, in the place of the directive."""

    def run(self) -> list[nodes.Node]:
        return [nodes.raw("", picture(imports()), format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("architecture", Architecture)
    return {"parallel_read_safe": True}
