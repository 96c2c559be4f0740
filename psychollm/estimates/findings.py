"""Findings of a study, worded once and rendered as text, Markdown, HTML or JSON.

A `Finding` answers one question. A `Finding` has a statement, optional lines about single models
or conditions, and the numbers from which the answer is derived. The outcome is the conclusion from
the numbers (`psychollm.estimates.verdict`). The reason explains a missing answer.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from textwrap import fill
from typing import TYPE_CHECKING, Any

from psychollm._base.errors import LabelError
from psychollm._base.numbers import count, typeset
from psychollm._base.record import plain_data
from psychollm._base.result import view
from psychollm._base.shown import in_lines, on_screen
from psychollm._base.typeset import markdown_text
from psychollm.estimates.verdict import SMALLEST, Outcome, SmallestEffects, Verdicts

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    import pandas as pd

    from psychollm.estimates.estimate import Estimate
    from psychollm.estimates.exhibits import Exhibit

WIDTH = 96
MAX_LINES = 24  # number of lines of a printed summary
VERDICT = "verdict"
MORE = "more in the report"  # end of a shortened list


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Answer to one question of a study.

    Attributes
    ----------
    key : str
        Short name of the question; by default "verdict".
    question : str
        Question that the finding answers, or topic of its rows.
    statement : str
        Answer in sentences; may be empty if there are rows.
    rows : tuple of str
        One line per model, condition or control.
    explanation : str
        Explanation of the answer, shown on pages only.
    numbers : mapping
        Numbers and results from which the answer is derived, by name.
    outcome : Outcome, Verdicts or None
        Conclusion from the interval on which the answer is based, or from one interval per model.
    reason : str
        Reason for a missing answer; empty if there is an answer.
    exhibits : tuple of Drawing or Listing
        Figures and tables for a page; not part of ``to_dict``.

    Examples
    --------
    >>> found = Finding(key="bias", question="Overconfident?", statement="No model is.")
    >>> print(found.text())
    Overconfident? No model is.
    """

    key: str = VERDICT
    question: str = ""
    statement: str = ""
    rows: tuple[str, ...] = ()
    explanation: str = ""
    numbers: Mapping[str, Any] = field(default_factory=dict)
    outcome: Outcome | Verdicts | None = None
    reason: str = ""
    exhibits: tuple["Exhibit", ...] = field(default=(), repr=False, metadata={"data": False})

    def __post_init__(self) -> None:
        # Labels may contain line breaks, which would break the layout.
        for name in ("question", "statement", "rows", "explanation", "reason"):
            object.__setattr__(self, name, in_lines(getattr(self, name)))

    @property
    def alone(self) -> "Findings":
        """`Findings` that contain only the given finding."""
        return Findings(items=(self,))

    def text(self) -> str:
        """Return the finding in lines of plain text."""
        lines = [_filled(f"{self.question} {self.statement}".strip(), "", "  ")]
        lines += [_filled(row, "  ", "    ") for row in self.rows]
        return on_screen("\n".join(lines))

    def to_markdown(self) -> str:
        """Return the finding as Markdown: a heading, a paragraph and a list."""
        parts = [f"### {markdown_text(self.question)}"] if self.question else []
        parts += [markdown_text(one) for one in (self.statement, self.explanation) if one]
        parts += ["\n".join(f"- {markdown_text(row)}" for row in self.rows)] if self.rows else []
        return "\n\n".join(parts)

    def to_html(self) -> str:
        """Return the finding as HTML: a heading, a paragraph and a list.

        Examples
        --------
        >>> Finding(key="a", statement="A < B by -0.1.").to_html()
        '<p>A &lt; B by −0.1.</p>'
        """
        parts = [f"<h3>{_markup(self.question)}</h3>"] if self.question else []
        return "\n".join([*parts, self.body_html()])

    def body_html(self) -> str:
        """Return the answer as HTML, without the question."""
        texts = (self.statement, self.explanation)
        parts = [f"<p>{_markup(text)}</p>" for text in texts if text]
        if self.rows:
            rows = "".join(f"<li>{_markup(row)}</li>" for row in self.rows)
            parts.append(f"<ul>{rows}</ul>")
        return "\n".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Findings:
    """Findings of a study, with the verdict first.

    Examples
    --------
    >>> first = Finding(key="verdict", statement="One common factor.")
    >>> found = Findings(items=(first, Finding(key="left", question="Residuals?")))
    >>> found.verdict, found["left"].question, len(found)
    ('One common factor.', 'Residuals?', 2)
    >>> print(found.to_json()[:44])
    {"items": [{"key": "verdict", "question": ""
    """

    items: tuple[Finding, ...]
    head: str = ""  # first line: title, data and design

    @property
    def verdict(self) -> str:
        """Verdict of the study."""
        return self.items[0].statement

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, key: str) -> Finding:
        """Return the finding with the given key.

        Raises
        ------
        LabelError
            If no finding has the given key.
        """
        for one in self.items:
            if one.key == key:
                return one
        known = ", ".join(repr(one.key) for one in self.items)
        msg = f"finding {key!r} does not exist: use one of {known}"
        raise LabelError(msg)

    def text(self, *, max_lines: int | None = None) -> str:
        """Return the findings as plain text, with lines of at most 96 characters.

        Parameters
        ----------
        max_lines : int, optional
            Maximum number of lines. If the text is longer than the maximum, rows of the longest
            list are omitted one after another, and the number of omitted rows is printed instead,
            with a reference to the report. At least one row of each list remains. By default, all
            rows are printed.
        """
        items = list(self.items)
        kept = [len(one.rows) for one in items]
        while max_lines is not None and sum(map(_lines, items), bool(self.head)) > max_lines:
            # The first step omits two rows, because one line is needed to state the number of
            # omitted rows.
            rest = [n - 1 - (n == len(one.rows)) for n, one in zip(kept, self.items, strict=True)]
            sizes = [_lines(one) * (n > 0) for one, n in zip(items, rest, strict=True)]
            if not any(sizes):
                break
            at = sizes.index(max(sizes))
            kept[at], rows = rest[at], self.items[at].rows
            more = f"and {len(rows) - rest[at]} {MORE}"
            items[at] = replace(items[at], rows=(*rows[: rest[at]], more))
        return self._text(items)

    def _text(self, items: Sequence[Finding]) -> str:
        head = [_filled(self.head, "", "")] if self.head else []
        return on_screen("\n".join([*head, *(one.text() for one in items)]))

    def to_markdown(self) -> str:
        """Return the findings as Markdown."""
        head = [markdown_text(self.head)] if self.head else []
        return "\n\n".join([*head, *(one.to_markdown() for one in self.items)])

    def to_html(self) -> str:
        """Return the findings as an HTML fragment."""
        head = [f"<p>{_markup(self.head)}</p>"] if self.head else []
        return "\n".join([*head, *(one.to_html() for one in self.items)])

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as JSON-compatible values, with NaN as None."""
        return dict(plain_data(self))

    def to_json(self) -> str:
        """Return the findings as JSON, with undefined values as null."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def to_frame(self) -> "pd.DataFrame":
        """Return one row per finding, with key, question, statement, outcome and reason."""
        import pandas as pd

        columns = ("key", "question", "statement", "reason")
        frame = pd.DataFrame(
            {name: [getattr(one, name) for one in self.items] for name in columns}
        )
        frame.insert(3, "outcome", [_strength(one.outcome) for one in self.items])
        return frame

    def _repr_html_(self) -> str:
        return self.to_html()

    def __repr__(self) -> str:
        return self.text()


class Study(ABC):
    """Base class of results with findings."""

    __slots__ = ()

    @abstractmethod
    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return one finding per question of the study.

        Parameters
        ----------
        smallest : SmallestEffects
            Smallest effects of interest.

        Returns
        -------
        Findings
            Findings, with the methods `text()`, `to_markdown()`, `to_html()`, `to_json()` and
            `to_frame()`.
        """

    def tables(self) -> "dict[str, pd.DataFrame]":
        """Return the tables of the study by name; commands use the names as file names."""
        return {"table": self.to_frame()}  # type: ignore[attr-defined]

    @property
    def verdict(self) -> str:
        """Verdict of the study, for the default smallest effects of interest."""
        return self.findings().verdict

    def summary(self, *, smallest: SmallestEffects = SMALLEST) -> str:
        """Return the findings as plain text, with long lists shortened to fit 24 lines.

        ``findings().text()`` contains all rows.

        Parameters
        ----------
        smallest : SmallestEffects
            Smallest effects of interest.
        """
        return self.findings(smallest=smallest).text(max_lines=MAX_LINES)

    def report(
        self,
        path: "str | PathLike[str]",
        *,
        source: str = "",
        smallest: SmallestEffects = SMALLEST,
    ) -> "Path":
        """Write one HTML page with `psychollm.reports.write_report`; needs the extra ``plot``.

        Parameters
        ----------
        path : str or Path
            File to write.
        source : str
            Python code that creates the data, shown on the page with the call of the study.
        smallest : SmallestEffects
            Smallest effects of interest, used in the conclusions.

        Returns
        -------
        Path
            Path of the written file.
        """
        write = view("reports.study", "write_report")
        written: Path = write(self, path, source=source, smallest=smallest)
        return written


def folder_of(result: Any) -> str:
    """Return the package of a result's class, such as "studies.comparison", or ""."""
    home, _, place = type(result).__module__.partition(".")
    return place.rpartition(".")[0] if home == "psychollm" else ""


def exhibit(
    found: Findings, result: Any, smallest: SmallestEffects, *, by: str = "exhibits"
) -> Findings:
    """Return the findings with figures and tables from the study's module `exhibits`."""
    # The module imports the class of the result, so it is imported here by name to avoid a
    # circular import.
    shown = view(f"{folder_of(result)}.exhibits", by)(result, smallest)
    given = {key: tuple(one for one in held if one) for key, held in shown.items()}
    items = [replace(one, exhibits=given.get(one.key, ())) for one in found.items]
    people = getattr(result, "people", None)  # human reference group of the study
    if people is not None:
        items.append(people.beside(smallest))
    return replace(found, items=tuple(items))


def first_rows(
    rows: Sequence[int], text: Callable[[int], str], *, most: int, table: str
) -> tuple[str, ...]:
    """Return the text of the first rows, and the number of further rows."""
    more = len(rows) - most
    rest = (further(more, table),) if more > 0 else ()
    return (*map(text, rows[:most]), *rest)


def further(more: int, table: str) -> str:
    """Return the sentence that refers to further rows; `table` is the plural noun for the rows."""
    words = f"more {table[:-1]} is" if more == 1 else f"more {table} are"
    return f"{count(more)} {words} in the table of {table}"


def estimate_rows(
    estimate: "Estimate", digits: int = 2, *, signed: bool = True
) -> tuple[str, ...]:
    """Return one line per value of an estimate."""
    return tuple(
        f"{label}: {estimate.text(row, digits, signed=signed)}"
        for row, label in enumerate(estimate.labels)
    )


def sentence(text: str) -> str:
    """Return the text with an initial capital and, at the end, a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?")) else ".")


def sentence_list(items: Sequence[Any], *, most: int = 6) -> str:
    """Join the first items as in a sentence, and count the others."""
    words = [str(item) for item in items[:most]]
    if len(items) > most:
        words.append(f"{len(items) - most} more")
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def in_words(name: Any) -> str:
    """Return a name such as self_awareness with spaces instead of underscores."""
    return str(name).replace("_", " ")


def _strength(outcome: Outcome | Verdicts | None) -> str:
    if isinstance(outcome, Verdicts):
        pairs = zip(outcome.labels, outcome.outcomes, strict=True)
        return "; ".join(f"{label}: {one}" for label, one in pairs)
    return str(outcome or "")


def _lines(item: Finding) -> int:
    return item.text().count("\n") + 1


def _filled(text: str, first: str, later: str) -> str:
    lines = text.splitlines() or [""]
    return "\n".join(
        fill(
            line,
            WIDTH,
            initial_indent=first,
            subsequent_indent=later,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in lines
    )


def _markup(text: str) -> str:
    return typeset(escape(text, quote=False))
