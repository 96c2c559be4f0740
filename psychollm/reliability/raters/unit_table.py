r"""How often each category was given to each question: all that coefficients of agreement need.

With :math:`n_{uc}` ratings of category c among the :math:`m_u` of question u, two of its ratings
drawn at random coincide with probability

.. math:: a_u = \frac{\sum_c n_{uc} (n_{uc} - 1)}{m_u (m_u - 1)}.                         \quad (1)

Questions rated once say nothing about agreement and are left out throughout. Krippendorff's
disagreement of a question is

.. math:: d_u = \frac{1}{m_u - 1} \sum_{c, k} n_{uc} n_{uk} \delta^2_{ck},                \quad (2)

for the nominal distance :math:`m_u (1 - a_u)`. A resample changes how often each question counts
and nothing else: every coefficient is computed from sums over questions of these numbers.
"""

from dataclasses import dataclass, field

import numpy as np

from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.kernels.agreement import sum_over_units
from psychollm.reliability.raters.ratings import Ratings


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitTable:
    """The table of one model, in compressed rows: only categories that were given."""

    start: IntArray  # (questions + 1,) first entry of each question
    category: IntArray  # (entries,)
    number: FloatArray  # (entries,) how often it was given
    size: FloatArray  # (questions,) ratings, zero where fewer than two
    agreement: FloatArray  # (questions,) of two ratings drawn at random (1)
    rated: bool  # whether anything was rated at all
    n_categories: int
    owner: IntArray = field(init=False)  # (entries,) question of each entry
    paired: BoolArray = field(init=False)  # (questions,) rated at least twice
    identical: FloatArray = field(init=False)  # (questions,) 1 where all ratings coincide

    def __post_init__(self) -> None:
        each = np.diff(self.start)
        object.__setattr__(self, "owner", np.repeat(np.arange(self.size.size), each))
        object.__setattr__(self, "paired", self.size > 0)
        object.__setattr__(self, "identical", (each == 1).astype(np.float64))

    @property
    def n_given(self) -> int:
        """Categories that were given to questions rated at least twice."""
        return int(np.unique(self.category).size)

    @property
    def n_unusual(self) -> int:
        """Questions that hold any but the most frequent answer."""
        totals = np.bincount(self.category, self.number, max(self.n_categories, 1))
        usual = self.summed(self.number * (self.category == totals.argmax()))
        return int((usual < self.size).sum())

    def summed(self, values: FloatArray) -> FloatArray:
        """Return sums of values per entry over each question (questions,)."""
        return np.asarray(np.bincount(self.owner, values, self.size.size), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class UnitSums:
    """Sums over the questions of resamples, from which coefficients are computed."""

    table: UnitTable
    counts: FloatArray  # (resamples, questions)
    paired: FloatArray  # (resamples,) questions rated at least twice
    agreement: FloatArray  # (resamples,) of (1)
    identical: FloatArray  # (resamples,)
    disagreement: FloatArray  # (resamples,) of (2)
    shares: FloatArray  # (resamples, categories) of each question's shares
    totals: FloatArray  # (resamples, categories) of ratings


class Summation:
    """How the sums of one table are formed: laid out once, for any number of resamples."""

    __slots__ = ("_column", "_start", "_value", "_width", "table")

    def __init__(self, table: UnitTable, disagreement: FloatArray | None = None) -> None:
        q, here = table.n_categories, np.flatnonzero(table.paired)
        nominal = table.size * (1.0 - table.agreement)
        units = [
            np.ones(here.size),
            table.agreement[here],
            table.identical[here],
            (nominal if disagreement is None else disagreement)[here],
        ]
        owner = np.concatenate([table.owner, table.owner, *[here] * len(units)])
        column = [table.category, q + table.category]
        column += [np.full(here.size, 2 * q + place) for place in range(len(units))]
        value = [table.number / table.size[table.owner], table.number, *units]
        order = np.argsort(owner, kind="stable")
        self.table = table
        self._width = 2 * q + len(units)
        self._column = np.concatenate(column)[order]
        self._value = np.concatenate(value)[order]
        self._start = np.zeros(table.size.size + 1, dtype=np.int64)
        self._start[1:] = np.cumsum(np.bincount(owner, minlength=table.size.size))

    def of(self, counts: FloatArray) -> UnitSums:
        """Return the sums for counts of questions (resamples, questions)."""
        q = self.table.n_categories
        out = np.empty((counts.shape[0], self._width))
        sum_over_units(counts, self._start, self._column, self._value, out)
        paired, agreement, identical, disagreement = out[:, 2 * q :].T
        return UnitSums(
            table=self.table,
            counts=counts,
            paired=paired,
            agreement=agreement,
            identical=identical,
            disagreement=disagreement,
            shares=out[:, :q],
            totals=out[:, q : 2 * q],
        )


def unit_tables(ratings: Ratings) -> list[UnitTable]:
    """Return the table of every model."""
    width = len(ratings.categories)
    return [_unit_table(codes, width) for codes in ratings.codes]


def _unit_table(codes: IntArray, width: int) -> UnitTable:
    """Return the table of one model from places among categories (questions, runs)."""
    n_questions = codes.shape[0]
    given = codes >= 0
    size = given.sum(axis=1).astype(np.float64)
    usable = given & (size > 1)[:, None]
    question, run = np.nonzero(usable)
    cell, number = np.unique(question * max(width, 1) + codes[question, run], return_counts=True)
    owner, category = cell // max(width, 1), cell % max(width, 1)
    start = np.zeros(n_questions + 1, dtype=np.int64)
    start[1:] = np.cumsum(np.bincount(owner, minlength=n_questions))
    size = np.where(size > 1, size, 0.0)
    pairs = np.bincount(owner, number * (number - 1.0), n_questions)
    return UnitTable(
        start=start,
        category=category.astype(np.int64),
        number=number.astype(np.float64),
        size=size,
        agreement=pairs / np.maximum(size * (size - 1.0), 1.0),
        rated=bool(given.any()),
        n_categories=width,
    )
