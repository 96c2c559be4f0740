"""Answers with respondents in rows, and distinct answer patterns with their frequencies."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from psychollm._base.checks import check_choice
from psychollm._base.errors import ShapeError
from psychollm._base.types import AnyArray, BoolArray, FloatArray, IntArray
from psychollm.data.labels import Labels, listed, order_of
from psychollm.data.responses import Responses, as_responses
from psychollm.data.table import as_table
from psychollm.estimates.reasons import Reason, first_reason

Respondents: TypeAlias = Literal["models", "questions"]

CELLS = 600_000  # cells of a (patterns, nodes) table per block
MISSING = -1
NOTHING = "responses: no item varies, so nothing can be fitted: see the `reasons`"


class Sides(Protocol):
    """Protocol of answers with labels of respondents and items."""

    @property
    def respondents(self) -> Labels:
        """Labels of the respondents, whose abilities are integrated out."""

    @property
    def items(self) -> Labels:
        """Labels of the items."""

    @property
    def reading(self) -> Respondents:
        """Whether the models are the respondents or the items."""


@dataclass(frozen=True, slots=True)
class Oriented:
    """Codes (respondents, items), -1 where missing, with labels of respondents and items."""

    codes: IntArray
    respondents: Labels
    items: Labels
    reading: Respondents

    @property
    def n_categories(self) -> int:
        """Number of different codes."""
        return int(self.codes.max()) + 1

    @property
    def per_item(self) -> float:
        """Median number of answers per item."""
        return float(np.median((self.codes != MISSING).sum(axis=0)))

    @property
    def given(self) -> BoolArray:
        """Mask of the codes that occur among the answers to each item (items, C)."""
        codes = range(max(self.n_categories, 1))
        return np.stack([(self.codes == c).any(axis=0) for c in codes], axis=1)

    @property
    def rarest(self) -> float:
        """Smallest number of answers outside the most frequent code, over items with variance."""
        codes = range(max(self.n_categories, 1))
        counts = np.stack([(self.codes == c).sum(axis=0) for c in codes])
        beside = counts.sum(axis=0) - counts.max(axis=0, initial=0)
        return float(min(beside[beside > 0].tolist(), default=np.inf))

    def reasons(self) -> tuple[Reason, ...]:
        """Return for each item the reason why it cannot be fitted."""
        different = self.given.sum(axis=1)
        return first_reason(
            (different == 0, Reason.UNANSWERED), (different == 1, Reason.CONSTANT_ITEM)
        )


def code_range(given: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the lowest and highest code of each item from a mask of its codes (items, C)."""
    # If all answers to an item are equal, its range is from 0 to that answer, or from 0 to 1 if
    # that answer is 0.
    high = given.shape[1] - 1 - given[:, ::-1].argmax(axis=1)
    low = np.where(given.sum(axis=1) > 1, given.argmax(axis=1), 0)
    return low, np.maximum(high, 1)


def code_shares(given: BoolArray) -> FloatArray:
    """Return codes (items, C) rescaled to 0 for an item's lowest answer and 1 for its highest."""
    low, high = code_range(given)
    return np.asarray((np.arange(given.shape[1]) - low[:, None]) / (high - low)[:, None])


def orient(table: Responses, reading: Respondents) -> Oriented:
    """Return the codes with respondents in rows."""
    check_choice("respondents", reading, Respondents)
    codes = table.codes.astype(np.int64)
    codes[table.missing] = MISSING
    if reading == "questions":
        return Oriented(codes.T, table.questions, table.models, reading)
    return Oriented(codes, table.models, table.questions, reading)


def answers_to(responses: Any, items: Labels, reading: Respondents) -> Oriented:
    """Return answers to the items of a fit, in the order of the fit."""
    table = as_table(responses)
    axis = 1 if reading == "models" else 0
    own = table.questions if axis else table.models
    if len(own) != len(items) and not (table.named[axis] and set(own) & set(items)):
        msg = (
            f"responses have {len(own)} items ({listed(own)}), the fit has {len(items)} "
            f"({listed(items)}): pass the same items"
        )
        raise ShapeError(msg)
    labels = own if table.named[axis] else None
    order = order_of("item", labels, items, argument="responses", counted=False)
    answers = orient(as_responses(responses), reading)
    codes = answers.codes if order is None else np.ascontiguousarray(answers.codes[:, order])
    return replace(answers, codes=codes, items=items)


@dataclass(frozen=True, slots=True)
class Patterns:
    """Distinct rows of answers: indicator columns, frequencies, and the row of each respondent."""

    # `indicator` has one column per item and answer. Without missing data, answer 0 is redundant
    # and has no column.

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
        """Yield slices of patterns whose posteriors fit in the cache."""
        step = max(16, CELLS // n_nodes)
        for low in range(0, self.frequency.size, step):
            yield slice(low, low + step)


def patterns_of(codes: IntArray, n_categories: int) -> Patterns:
    """Collect the distinct rows of `codes` (N, J)."""
    if not codes.size:
        raise ShapeError(NOTHING)
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
    """Return the first index of each distinct row, the inverse index, and counts of rows."""
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
    """Return one sortable key per row of bytes: an integer if 64 bits suffice."""
    rows, width = packed.shape
    if width > 8:
        return np.ascontiguousarray(packed).view(np.dtype((np.void, width))).ravel()
    words = np.zeros((rows, 8), dtype=np.uint8)
    words[:, :width] = packed
    return words.view(np.uint64).ravel()


def spread(values: FloatArray, keep: BoolArray) -> FloatArray:
    """Expand values of the items in `keep` to all items, with NaN for items not in `keep`."""
    full = np.full((keep.size, *values.shape[1:]), np.nan)
    full[keep] = values
    return full
