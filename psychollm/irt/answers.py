"""Answers as the fit sees them: respondents in rows, distinct patterns with frequencies."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from psychollm._base.checks import check_choice
from psychollm._base.errors import ShapeError
from psychollm._base.types import AnyArray, BoolArray, FloatArray, IntArray
from psychollm.data.labels import Labels
from psychollm.data.responses import Responses
from psychollm.estimates.reasons import Reason, first_reason

Respondents: TypeAlias = Literal["models", "questions"]

CELLS = 600_000  # of a (patterns, nodes) table worked on at once
MISSING = -1


@dataclass(frozen=True, slots=True)
class Oriented:
    """Codes (respondents, items), -1 where missing, with the labels of both."""

    codes: IntArray
    respondents: Labels
    items: Labels
    reading: Respondents

    @property
    def n_categories(self) -> int:
        """Number of different codes."""
        return int(self.codes.max()) + 1

    def reasons(self, n_categories: int = 2) -> tuple[Reason, ...]:
        """Return why an item cannot be fitted, for each item."""
        answered = self.codes != MISSING
        low = np.where(answered, self.codes, np.iinfo(self.codes.dtype).max).min(axis=0)
        high = self.codes.max(axis=0)
        used = np.sum([(self.codes == c).any(axis=0) for c in range(n_categories)], axis=0)
        return first_reason(
            (~answered.any(axis=0), Reason.UNANSWERED),
            (low == high, Reason.CONSTANT_ITEM),
            (used < n_categories, Reason.UNUSED_ANSWER),
        )


def orient(table: Responses, reading: Respondents) -> Oriented:
    """Return the codes with respondents in rows.

    Examples
    --------
    >>> orient(Responses.from_array([[1, 0, None]]), "questions").codes.tolist()
    [[1], [0], [-1]]
    """
    check_choice("respondents", reading, Respondents)
    codes = table.codes.astype(np.int64)
    codes[table.missing] = MISSING
    if reading == "questions":
        return Oriented(codes.T, table.questions, table.models, reading)
    return Oriented(codes, table.models, table.questions, reading)


@dataclass(frozen=True, slots=True)
class Patterns:
    """Distinct rows of answers: indicator columns, frequencies, and whose row is which.

    `indicator` holds one column per item and answer; where nothing is missing, answer 0 is what
    remains and has no column.
    """

    codes: IntArray  # (U, J)
    indicator: FloatArray  # (U, J * (C - 1)) if complete, else (U, J * C)
    frequency: FloatArray  # (U,)
    of_respondent: IntArray  # (N,)
    complete: bool
    n_categories: int

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.codes.shape[1])

    @property
    def n_respondents(self) -> float:
        """Number of respondents."""
        return float(self.frequency.sum())

    def blocks(self, n_nodes: int) -> Iterator[slice]:
        """Yield slices of patterns whose tables of posteriors stay in the cache."""
        step = max(16, CELLS // n_nodes)
        for low in range(0, self.frequency.size, step):
            yield slice(low, low + step)


def patterns_of(codes: IntArray, n_categories: int) -> Patterns:
    """Collect the distinct rows of `codes` (N, J).

    Raises
    ------
    ShapeError
        If there is no row.

    Examples
    --------
    >>> patterns_of(np.array([[1, 0], [1, 0], [0, 0]]), 2).frequency
    array([1., 2.])
    """
    if not codes.size:
        msg = "responses: no item varies, so there is nothing to fit: look at the `reasons`"
        raise ShapeError(msg)
    first, inverse, frequency = _distinct(codes, n_categories)
    rows = codes[first]
    complete = bool(rows.min() >= 0)
    answers = np.arange(1 if complete else 0, n_categories)
    if complete and n_categories == 2:
        indicator = rows.astype(np.float64)
    else:
        indicator = (rows[:, :, None] == answers).reshape(rows.shape[0], -1).astype(np.float64)
    return Patterns(
        codes=rows,
        indicator=indicator,
        frequency=frequency.astype(np.float64),
        of_respondent=inverse,
        complete=complete,
        n_categories=n_categories,
    )


def _distinct(codes: IntArray, n_categories: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return first places, inverse and counts of distinct rows."""
    flags = codes == 1 if n_categories == 2 else None
    if flags is None or codes.min() < 0:
        packed = np.ascontiguousarray(codes, dtype=np.int8).view(np.uint8)
    else:
        packed = np.packbits(flags, axis=1)
    keys = _keys(packed)
    _, first, inverse, frequency = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    return first, inverse.ravel(), frequency


def _keys(packed: AnyArray) -> AnyArray:
    """Return one sortable key per row of bytes: a word where 64 bits suffice."""
    rows, width = packed.shape
    if width > 8:
        return np.ascontiguousarray(packed).view(np.dtype((np.void, width))).ravel()
    words = np.zeros((rows, 8), dtype=np.uint8)
    words[:, :width] = packed
    return words.view(np.uint64).ravel()


def spread(values: FloatArray, keep: BoolArray) -> FloatArray:
    """Put values of the items to `keep` among all items, NaN elsewhere.

    Examples
    --------
    >>> spread(np.array([2.0]), np.array([False, True]))
    array([nan,  2.])
    """
    full = np.full((keep.size, *values.shape[1:]), np.nan)
    full[keep] = values
    return full
