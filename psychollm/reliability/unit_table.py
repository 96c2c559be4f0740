r"""How often each category was given to each question: all that coefficients of agreement need.

With :math:`n_{uc}` ratings of category c among the :math:`m_u` of question u, two of its ratings
drawn at random coincide with probability

.. math:: a_u = \frac{\sum_c n_{uc} (n_{uc} - 1)}{m_u (m_u - 1)}.                         \quad (1)

Questions rated once say nothing about agreement and are left out throughout. Krippendorff's
disagreement of a question is

.. math:: d_u = \frac{1}{m_u - 1} \sum_{c, k} n_{uc} n_{uk} \delta^2_{ck},                \quad (2)

for the nominal distance :math:`m_u (1 - a_u)`.
"""

from dataclasses import dataclass

import numpy as np

from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.kernels.agreement import sum_over_units
from psychollm.reliability.ratings import Ratings


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitTable:
    """The table of one model, in compressed rows: only categories that were given.

    Examples
    --------
    >>> table = unit_tables(Ratings.from_table([[1, 1, 2], [1, None, None]]))[0]
    >>> table.agreement.round(3), table.paired
    (array([0.333, 0.   ]), array([ True, False]))
    """

    start: IntArray  # (questions + 1,) first entry of each question
    category: IntArray  # (entries,)
    number: FloatArray  # (entries,) how often it was given
    size: FloatArray  # (questions,) ratings, zero where fewer than two
    agreement: FloatArray  # (questions,) of two ratings drawn at random (1)
    rated: bool  # whether anything was rated at all
    n_categories: int

    @property
    def paired(self) -> BoolArray:
        """Questions rated at least twice (questions,)."""
        return np.asarray(self.size > 0)

    @property
    def identical(self) -> FloatArray:
        """1 where all ratings of a question coincide (questions,)."""
        return np.asarray(self.paired & (np.diff(self.start) == 1), dtype=np.float64)

    @property
    def n_given(self) -> int:
        """Categories that were given to questions rated at least twice."""
        return int(np.unique(self.category).size)

    def owner(self) -> IntArray:
        """Return the question of each entry (entries,)."""
        return np.repeat(np.arange(self.size.size), np.diff(self.start))

    def summed(self, values: FloatArray) -> FloatArray:
        """Return sums of values per entry over each question (questions,)."""
        return np.asarray(np.bincount(self.owner(), values, self.size.size), dtype=np.float64)

    def totals(self, counts: FloatArray, values: FloatArray) -> FloatArray:
        """Return sums of values per entry over resampled questions (resamples, categories).

        Examples
        --------
        >>> table = unit_tables(Ratings.from_table([[1, 1], [1, 2]]))[0]
        >>> table.totals(np.array([[1.0, 3.0]]), table.number)
        array([[5., 3.]])
        """
        out = np.empty((counts.shape[0], self.n_categories))
        sum_over_units(counts, self.start, self.category, values, out)
        return out

    def sums(self, counts: FloatArray, values: FloatArray) -> FloatArray:
        """Return sums of columns of values (questions, columns): (resamples, columns).

        Examples
        --------
        >>> table = unit_tables(Ratings.from_table([[1, 1], [1, 2]]))[0]
        >>> table.sums(np.array([[1.0, 3.0]]), table.agreement[:, None])
        array([[1.]])
        """
        here = np.flatnonzero(self.paired)
        width = values.shape[1]
        start = np.zeros(self.size.size + 1, dtype=np.int64)
        start[1:] = width * np.cumsum(self.paired)
        out = np.empty((counts.shape[0], width))
        column = np.tile(np.arange(width), here.size)
        sum_over_units(counts, start, column, np.ravel(values[here]), out)
        return out


def unit_tables(ratings: Ratings) -> list[UnitTable]:
    """Return the table of every model.

    Examples
    --------
    >>> unit_tables(Ratings.from_table([["a", "b"], ["a", "a"]]))[0].identical
    array([0., 1.])
    """
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
