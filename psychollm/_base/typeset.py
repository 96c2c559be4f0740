"""A table of text, typeset: as Markdown, and as LaTeX with the rules of booktabs."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from psychollm._base.errors import OptionError
from psychollm._base.numbers import ABSENT

_TAG = re.compile(r"<(?=[A-Za-z/!?])")  # what Markdown would take for HTML
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
    """Cells as text, with a heading and a side for each column."""

    headings: tuple[str, ...]
    numeric: tuple[bool, ...]  # to the right
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        """Return a pipe table, padded so that it can be read as it stands."""
        cells = [
            [_TAG.sub(r"\\<", _one_line(cell)).replace("|", "\\|") for cell in row]
            for row in self._all()
        ]
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
        """Return a tabular of booktabs, in a table environment where it has a caption."""
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

    def _all(self) -> tuple[tuple[str, ...], ...]:
        return (self.headings, *self.rows)

    def _latex_row(self, row: Sequence[str], *, heading: bool) -> str:
        cells = [
            latex_text(cell) if heading or not right else latex_text(cell).replace("-", "$-$")
            for cell, right in zip(row, self.numeric, strict=True)
        ]
        # An en dash is two hyphens, and no two minus signs.
        cells = [cell.replace("$-$$-$", "--") for cell in cells]
        # After a line's end LaTeX takes a bracket or a star for an option of it.
        first = "{}" + cells[0] if cells[0].startswith(("[", "*")) else cells[0]
        return " & ".join([first, *cells[1:]]) + " \\\\"


def latex_text(text: str) -> str:
    """Return text that LaTeX prints as it stands."""
    return "".join(_LATEX.get(letter, letter) for letter in _one_line(text))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _padded(cell: str, width: int, right: bool) -> str:  # noqa: FBT001 -- goes to map
    return cell.rjust(width) if right else cell.ljust(width)
