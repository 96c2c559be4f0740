"""Conversion of a text table to plain text, HTML, Markdown, or LaTeX with booktabs."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate, islice

from psychollm._base.errors import OptionError
from psychollm._base.numbers import ABSENT
from psychollm._base.shown import visible

WIDEST_CELL = 44  # largest number of characters of a cell on a screen
# Characters that Markdown may parse as HTML, entities, links, code, emphasis or cell borders.
_MARKDOWN = re.compile(
    r"<(?=[A-Za-z/!?])|&(?=#?\w+;)|\](?=[(\[:])|(?<=[A-Za-z]):(?=//)|(?<=www)\.|[`*~|]"
    r"|\\(?=[!-/:-@\[-`{-~])|(?<![^\W_])_|_(?![^\W_])|^(?:[#>]|[-+](?=\s))"
)
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    ABSENT: "--",
    "∞": r"$\infty$",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}


@dataclass(frozen=True, slots=True)
class Table:
    """Table of text cells, with a heading and an alignment for each column."""

    headings: tuple[str, ...]
    numeric: tuple[bool, ...]  # whether a column is right-aligned
    rows: tuple[tuple[str, ...], ...]

    def without_gaps(self) -> "Table":
        """Return the table without empty columns."""
        columns = zip(*self.rows, strict=True)
        return self._of(k for k, cells in enumerate(columns) if not {*cells} <= {ABSENT, ""})

    def split(self, headings: re.Pattern[str]) -> "tuple[Table, Table]":
        """Return the columns whose headings do not match a pattern, then the matching columns."""
        matching = [k for k, name in enumerate(self.headings) if headings.search(name)]
        others = [k for k in range(len(self.headings)) if k not in matching]
        return self._of(others), self._of(matching)

    def narrowed(self, width: int, most: int | None = None) -> "tuple[Table, int]":
        """Shorten long cells; return the columns that fit a width, and the number of others."""
        headings, *rows = (tuple(map(_shortened, row)) for row in self._all())
        table = Table(headings, self.numeric, tuple(rows))
        ends = accumulate(one + 2 for one in table._widths())
        n = max(1, sum(end - 2 <= width for end in islice(ends, most)))
        return table._of(range(n)), len(headings) - n

    def text(self) -> list[str]:
        """Return lines of plain text with right-aligned numbers."""
        widths = self._widths()
        return [
            "  ".join(map(_padded, map(_one_line, row), widths, self.numeric)).rstrip()
            for row in self._all()
        ]

    def html(self) -> str:
        """Return an HTML table."""
        head, *rows = (
            "".join(
                f"<{tag} class={'r' if right else 'l'}>{escape(cell)}</{tag}>"
                for cell, right in zip(row, self.numeric, strict=True)
            )
            for tag, row in zip(("th", *("td" for _ in self.rows)), self._all(), strict=True)
        )
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def markdown(self) -> str:
        """Return a Markdown pipe table, padded so that its source is readable."""
        cells = [[markdown_text(_one_line(cell)) for cell in row] for row in self._all()]
        widths = [max(3, *map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "| " + " | ".join(map(_padded, row, widths, self.numeric)) + " |" for row in cells
        ]
        rules = [
            "-" * (width + 1) + ":" if right else ":" + "-" * (width + 1)
            for width, right in zip(widths, self.numeric, strict=True)
        ]
        return "\n".join([lines[0], "|" + "|".join(rules) + "|", *lines[1:]])

    def latex(self, *, caption: str | None = None, label: str | None = None) -> str:
        """Return a tabular with booktabs, in a table environment if it has a caption."""
        if label is not None and caption is None:
            msg = f"label={label!r} needs a caption to refer to: pass caption="
            raise OptionError(msg)
        lines = [self._latex_row(row, heading=k == 0) for k, row in enumerate(self._all())]
        sides = "".join("r" if right else "l" for right in self.numeric)
        body = [
            f"\\begin{{tabular}}{{{sides}}}",
            "\\toprule",
            lines[0],
            "\\midrule",
            *lines[1:],
            "\\bottomrule",
            "\\end{tabular}",
        ]
        if caption is None:
            return "\n".join(body)
        head = ["\\begin{table}", "\\centering", f"\\caption{{{latex_text(caption)}}}"]
        head += [f"\\label{{{label}}}"] if label is not None else []
        return "\n".join([*head, *body, "\\end{table}"])

    def _of(self, columns: Iterable[int]) -> "Table":
        kept = tuple(columns)
        return Table(
            tuple(self.headings[k] for k in kept),
            tuple(self.numeric[k] for k in kept),
            tuple(tuple(row[k] for k in kept) for row in self.rows),
        )

    def _widths(self) -> list[int]:
        return [max(map(len, map(_one_line, column))) for column in zip(*self._all(), strict=True)]

    def _all(self) -> tuple[tuple[str, ...], ...]:
        return (self.headings, *self.rows)

    def _latex_row(self, row: Sequence[str], *, heading: bool) -> str:
        cells = [
            latex_text(cell) if heading or not right else latex_text(cell).replace("-", "$-$")
            for cell, right in zip(row, self.numeric, strict=True)
        ]
        # Restore en dashes: LaTeX writes them as two hyphens, which have become minus signs.
        cells = [cell.replace("$-$$-$", "--") for cell in cells]
        # LaTeX would parse a bracket or star at the start of a row as an option of the line break.
        first = "{}" + cells[0] if cells[0].startswith(("[", "*")) else cells[0]
        return " & ".join([first, *cells[1:]]) + " \\\\"


def markdown_text(text: str) -> str:
    """Return text that Markdown prints literally."""
    return _MARKDOWN.sub(r"\\\g<0>", text)


def latex_text(text: str) -> str:
    """Return text that LaTeX prints literally."""
    return "".join(_LATEX.get(letter, letter) for letter in _one_line(text))


def _one_line(text: str) -> str:
    return visible(" ".join(text.split()))


def _shortened(cell: str) -> str:
    return cell if len(cell) <= WIDEST_CELL else cell[: WIDEST_CELL - 1] + "…"


def _padded(cell: str, width: int, right: bool) -> str:  # noqa: FBT001 -- goes to map
    return cell.rjust(width) if right else cell.ljust(width)
