"""Tables of a page: columns of text, with footnotes for undefined values."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

from psychollm._base.names import short_names
from psychollm._base.numbers import ABSENT, count, interval, number, p_value

if TYPE_CHECKING:
    from psychollm.estimates.estimate import Estimate

# Widths, in characters, of a line, of the gap between columns, of a small character, and of
# unwrapped text.
_LINE, _GAP, _SMALL, _WORDS = 112.0, 1.3, 0.88, 18


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """Column of a table, with heading, cells, and reasons for undefined cells."""

    heading: str
    cells: tuple[str, ...]
    reasons: tuple[str, ...] = ()  # one reason per cell, or an empty tuple
    details: tuple[str, ...] = ()  # printed in small type after each cell, such as intervals
    numeric: bool = True
    whole: tuple[str, ...] = ()  # full names of shortened cells

    @property
    def width(self) -> float:
        """Width in characters; headings and long texts wrap to a second line."""
        details = self.details or ("",) * len(self.cells)
        cells = (
            len(text) + _SMALL * (len(detail) + 1) * bool(detail)
            for text, detail in zip(self.cells, details, strict=True)
        )
        widest = max((*cells, *map(len, self.heading.split())), default=0.0)
        return widest if self.numeric or self.whole else min(widest, _WORDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Cell of a table, ready for the template."""

    text: str
    detail: str
    mark: str  # letter of the cell's footnote, or ""
    numeric: bool
    whole: str  # full name of a shortened text, or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Table with its caption, ready for the template."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    footnotes: tuple[tuple[str, str], ...]
    emphasised: tuple[bool, ...] = field(default=())  # rows set in bold

    @property
    def tight(self) -> bool:
        """Whether the columns exceed the page width, so that intervals are printed below values.

        Examples
        --------
        >>> wide = interval_column("effect", [0.123], [[0.101, 0.145]], digits=3)
        >>> [Table.of([wide] * n, caption="").tight for n in (4, 9)]
        [False, True]
        """
        return sum(one.width + _GAP for one in self.columns) > _LINE

    @classmethod
    def of(
        cls, columns: Sequence[Column], *, caption: str, emphasised: Iterable[Any] = ()
    ) -> "Table":
        """Combine columns into a table, with a footnote for each distinct reason."""
        marks: dict[str, str] = {}
        rows = tuple(
            tuple(_cell(column, i, marks) for column in columns)
            for i in range(len(columns[0].cells))
        )
        bold = tuple(bool(flag) for flag in emphasised)
        return cls(
            caption=caption,
            columns=tuple(columns),
            rows=rows,
            footnotes=tuple((mark, reason) for reason, mark in marks.items()),
            emphasised=bold or (False,) * len(rows),
        )


def _cell(column: Column, i: int, marks: dict[str, str]) -> Cell:
    reason = column.reasons[i] if column.reasons else ""
    if reason and reason not in marks:
        marks[reason] = _letter(len(marks))
    return Cell(
        text=column.cells[i],
        detail=column.details[i] if column.details else "",
        mark=marks.get(reason, ""),
        numeric=column.numeric,
        whole=column.whole[i] if column.whole and column.whole[i] != column.cells[i] else "",
    )


def _letter(k: int) -> str:
    """Return the footnote letters a, b, ..., z, aa, ab, ... for the numbers 0, 1, ..."""
    first, last = divmod(k, 26)
    return (ascii_lowercase[first - 1] if first else "") + ascii_lowercase[last]


def text_column(heading: str, values: Iterable[Any]) -> Column:
    """Return a column of words, set flush left."""
    return Column(heading=heading, cells=tuple(str(v) for v in values), numeric=False)


def name_column(heading: str, names: Iterable[Any]) -> Column:
    """Return a column of names, with long names shortened and shown in full on hover."""
    whole = tuple(str(name) for name in names)
    return Column(heading=heading, cells=tuple(short_names(whole)), numeric=False, whole=whole)


def number_column(heading: str, values: Iterable[float], *, digits: int = 2) -> Column:
    """Return a column of numbers, or of counts if `digits` is zero."""
    cells = (number(float(v), digits) if digits else count(float(v)) for v in values)
    return Column(heading=heading, cells=tuple(cells))


def p_column(heading: str, values: Iterable[float], *, reasons: Iterable[Any] = ()) -> Column:
    """Return a column of p-values."""
    cells = tuple(p_value(float(v)) for v in values)
    return Column(heading=heading, cells=cells, reasons=_where_absent(cells, reasons))


def interval_column(
    heading: str,
    values: Iterable[float],
    bounds: Iterable[Any],
    *,
    digits: int = 2,
    reasons: Iterable[Any] = (),
) -> Column:
    """Return a column of numbers with their intervals."""
    cells = tuple(number(float(v), digits) for v in values)
    texts = [interval(pair, digits) for pair in bounds]
    both = list(zip(cells, texts, strict=True))
    return Column(
        heading=heading,
        cells=cells,
        details=tuple("" if cell == ABSENT else text for cell, text in both),
        # A value without an interval also has a reason.
        reasons=_where_absent([ABSENT if ABSENT in pair else pair[0] for pair in both], reasons),
    )


def estimate_column(heading: str, estimate: "Estimate", *, digits: int = 2) -> Column:
    """Return a column with the values of an estimate and their intervals."""
    return interval_column(
        heading, estimate.value, estimate.interval, digits=digits, reasons=estimate.flags
    )


def _where_absent(cells: Sequence[str], reasons: Iterable[Any]) -> tuple[str, ...]:
    """Return the reasons why cells are undefined, and "" for defined cells."""
    given = tuple(str(reason) for reason in reasons)
    if not any(given):
        return ()
    return tuple(
        reason if cell == ABSENT else "" for cell, reason in zip(cells, given, strict=True)
    )
