"""Which columns of a file mean what."""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from psychollm._base.errors import InputError, LabelError
from psychollm.data.labels import listed
from psychollm.data.long import Duplicates

Layout: TypeAlias = Literal["auto", "wide", "long"]

_QUESTION_NAMES = ("question", "item")
_QUESTION_IDS = ("item_id", "question_id", "prompt_id", "sample_id", "qid")


@dataclass(frozen=True, slots=True)
class Columns:
    """What the caller said about the columns of a file."""

    model: str | None = None
    question: str | Sequence[str] | None = None
    value: str | None = None
    duplicates: Duplicates = "error"
    words: Container[Any] = ()  # texts that the caller gives a meaning


@dataclass(frozen=True, slots=True, kw_only=True)
class LongColumns:
    """The columns of a long file, all known."""

    model: str
    question: tuple[str, ...]
    value: str

    @property
    def names(self) -> list[str]:
        """All columns to read."""
        return [self.model, *self.question, self.value]


def is_long(layout: Layout, header: Sequence[str], columns: Columns) -> bool:
    """Tell a long file from a wide one."""
    # With "auto" a file is long if a column is named, or if its header holds "model" and
    # "question" (or "item").
    if layout != "auto":
        return layout == "long"
    if columns.question is not None or columns.value is not None:
        return True
    return "model" in header and any(name in header for name in _QUESTION_NAMES)


def long_columns(path: Path, header: Sequence[str], columns: Columns) -> LongColumns:
    """Fill in the columns that the caller left open."""
    model = columns.model or "model"
    question = _question_columns(path, header, columns)
    rest = [name for name in header if name not in {model, *question}]
    if columns.value is None and len(rest) != 1 and "value" not in rest:
        msg = (
            f"{path}: which column holds the answers? pass value=, one of {listed(rest)}"
            if rest
            else f"{path}: no column is left to hold the answers besides {listed(header)}"
        )
        raise LabelError(msg)
    value = columns.value or ("value" if "value" in rest else rest[0])
    found = LongColumns(model=model, question=question, value=value)
    for name in found.names:
        if name not in header:
            msg = f"{path}, line 1: there is no column {name!r}; its columns are {listed(header)}"
            raise LabelError(msg)
    return found


def _question_columns(path: Path, header: Sequence[str], columns: Columns) -> tuple[str, ...]:
    if columns.question is None:
        known = [name for name in header if name in {*_QUESTION_NAMES, *_QUESTION_IDS}]
        if len(known) > 1:
            msg = (
                f"{path}: which column identifies the question, {' or '.join(map(repr, known))}? "
                "the same text may stand for several questions: pass question="
            )
            raise LabelError(msg)
        return (known[0] if known else "question",)
    return (columns.question,) if isinstance(columns.question, str) else tuple(columns.question)


def check_header(path: Path, header: Sequence[str]) -> None:
    """Refuse a header that repeats a column, or that was split at the wrong character."""
    if len(header) == 1 and any(mark in header[0] for mark in ";\t|"):
        msg = (
            f"{path}, line 1: one column only, {header[0]!r}: columns must be separated by commas"
        )
        raise InputError(msg)
    seen: set[str] = set()
    for place, name in enumerate(header, start=1):
        if name in seen:
            msg = f"{path}, line 1: column {name!r} occurs twice (again as {place}): rename it"
            raise LabelError(msg)
        seen.add(name)
