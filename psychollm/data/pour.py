"""Functions that read long tables of any size, in batches, into a container of answers."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from psychollm._base.errors import InputError, LabelError
from psychollm._base.replicate import progress_bar
from psychollm._base.types import AnyArray
from psychollm.data.batches import Numbered
from psychollm.data.engines import Batches

Made = TypeVar("Made", covariant=True)


@dataclass(frozen=True, slots=True)
class Batch:
    """The answers of a batch, with labels numbered in order of first occurrence."""

    row: AnyArray  # (n,) number of each answer's row label
    column: AnyArray  # (n,) number of each answer's column label
    code: AnyArray  # (n,) or (2, n), as returned by the source's rule
    rows: list[Any]  # row labels so far
    columns: list[Any]
    where: str


class Sink(Protocol[Made]):
    """Receiver of the answers of a long table, which returns a result at the end."""

    @property
    def n_answers(self) -> int:
        """Number of answers so far, not counting missing answers."""

    def add(self, batch: Batch) -> None:
        """Add a batch."""

    def finished(self, rows: list[Any], columns: list[Any]) -> Made:
        """Return the result for all answers, given all labels."""


def pour(batches: Batches, sink: Sink[Made], *, progress: bool, of: str = "answer") -> Made:
    """Read all batches into a container, and return its result.

    Raises
    ------
    InputError
        If there are no answers.
    """
    rows, columns = Numbered(), Numbered()
    bar = progress_bar(show=progress, total=batches.total, label="answers")
    with closing(batches.stream) as stream:
        for coded in stream:
            row, column = coded.numbered(rows, columns)
            code, where = coded.code, coded.where
            sink.add(Batch(row, column, code, rows.labels, columns.labels, where))
            bar.update(code.shape[-1])
    bar.close()
    if not sink.n_answers:
        msg = f"no {of} was found in {batches.name}"
        raise InputError(msg)
    return sink.finished(rows.labels, columns.labels)


def answered_twice(model: object, question: object) -> LabelError:
    """Return the error to raise if a model answered a question twice."""
    return LabelError(
        f"model {model!r} answers question {question!r} twice: aggregate first, with one row for "
        "each model and question"
    )
