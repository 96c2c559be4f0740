"""The picture of the architecture, drawn from the imports of the source when the pages are built.

Each subpackage stands one row above the highest one that it imports. A line leads to what it
imports; what is imported on the way through another subpackage has no line of its own.
"""

import ast
from collections.abc import Iterator, Mapping
from html import escape
from itertools import pairwise
from pathlib import Path
from statistics import fmean

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

PACKAGE = Path(__file__).resolve().parents[2] / "psychollm"
# Files of a study's folder that belong to a higher layer, as in tests/test_architecture.py.
HIGHER = {"figures.py": "plots", "command.py": "cli"}
WIDTH, BOX, ROW, TOP = 860, (104, 40), 92, 16
Imports = Mapping[str, set[str]]
Place = tuple[str, str]  # a subpackage, and what passes its row on the way to another


def imports() -> dict[str, set[str]]:
    """Return the subpackages that each subpackage imports."""
    rooms = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))
    found: dict[str, set[str]] = {room: set() for room in rooms}
    for path in (path for room in rooms for path in (PACKAGE / room).rglob("*.py")):
        own = path.relative_to(PACKAGE).parts[0]
        room = HIGHER.get(path.name, own) if own == "studies" else own
        found[room] |= set(_imported(path)) & set(rooms) - {room}
    return found


def _imported(path: Path) -> Iterator[str]:
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


def lines(below: Imports) -> list[list[Place]]:
    """Return each direct import as the places that it passes, one in each row."""
    level = floors(below)
    return [
        [
            (room, ""),
            *((room, f"{one}{k}") for k in range(level[room] - 1, level[one], -1)),
            (one, ""),
        ]
        for room, targets in direct(below).items()
        for one in sorted(targets)
    ]


def rows(below: Imports) -> list[list[Place]]:
    """Return the places of each row from the left: boxes, and lines that pass between them.

    Places are moved to the mean position of their neighbours, up and down in turn, so that few
    lines cross (Sugiyama, Tagawa and Toda, 1981).
    """
    level = floors(below)
    row_of: dict[Place, int] = {(room, ""): level[room] for room in sorted(below)}
    beside: dict[Place, set[Place]] = {place: set() for place in row_of}
    for line in lines(below):
        for above, place in pairwise(line):
            row_of.setdefault(place, row_of[above] - 1)
            beside.setdefault(place, set()).add(above)
            beside[above].add(place)
    order: list[list[Place]] = [[] for _ in range(max(level.values()) + 1)]
    for place, k in row_of.items():
        order[k].append(place)
    for sweep in range(24):
        last = {place: _across(i, row) for row in order for i, place in enumerate(row)}
        step = 1 if sweep % 2 else -1
        for k, row in enumerate(order):
            fixed = order[k + step] if 0 <= k + step < len(order) else []
            means = {p: fmean([last[q] for q in beside[p] & set(fixed)] or [last[p]]) for p in row}
            row.sort(key=means.__getitem__)
            last |= {place: _across(i, row) for i, place in enumerate(row)}
    return order


def _across(i: int, row: list[Place]) -> float:
    """Return where the middle of the place ``i`` of a row is: lines need a quarter of a box."""
    widths = [0.25 if passing else 1 for _, passing in row]
    return WIDTH * (sum(widths[:i]) + widths[i] / 2) / sum(widths)


def picture(below: Imports) -> str:
    """Return the drawing as SVG, in the colours of the page."""
    order = rows(below)
    height = TOP + ROW * len(order)
    centre = {
        place: (_across(i, row), height - ROW * (k + 0.5))
        for k, row in enumerate(order)
        for i, place in enumerate(row)
    }
    parts = [
        f'<svg role="img" aria-label="Which subpackage imports which" viewBox="0 0 {WIDTH} '
        f'{height}" style="max-width:{WIDTH}px;width:100%" fill="none" stroke="currentColor">'
    ]
    parts += [_line([centre[place] for place in line]) for line in lines(below)]
    parts += [_box(room, centre[room, ""], below[room]) for room in below]
    return "".join([*parts, "</svg>"])


def _line(points: list[tuple[float, float]]) -> str:
    """Return a curve that leaves one box below, passes between others and ends above the last."""
    x, y = points[0]
    path = f"M{x:.0f} {y:.0f}V{y + BOX[1] / 2:.0f}"
    for (x, y), (u, v) in pairwise(points):
        start, end = y + BOX[1] / 2, v - BOX[1] / 2
        middle = (start + end) / 2
        path += f"C{x:.0f} {middle:.0f} {u:.0f} {middle:.0f} {u:.0f} {end:.0f}"
        path += f"V{v + BOX[1] / 2:.0f}" if (u, v) != points[-1] else ""
    return f'<path stroke-opacity=".35" d="{path}"/>'


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
