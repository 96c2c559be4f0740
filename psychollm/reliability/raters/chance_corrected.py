r"""Coefficients of agreement, computed from sums over resampled questions.

Let :math:`\bar a` be the mean over questions of the agreement of two ratings, and :math:`\pi_c`
the mean over questions of the proportion of category c. For q categories, the coefficients are

.. math:: \kappa_F = \frac{\bar a - \sum_c \pi_c^2}{1 - \sum_c \pi_c^2}, \qquad
          \mathrm{AC}_1 = \frac{\bar a - p_e}{1 - p_e}, \quad
          p_e = \frac{1}{q - 1} \sum_c \pi_c (1 - \pi_c).                                 \quad (1)

Let :math:`N_c` be the number of ratings of category c among the N ratings of questions rated at
least twice. With squared distances :math:`\delta^2`, Krippendorff's coefficient is

.. math:: \alpha = 1 - \frac{(N - 1) \sum_u d_u}{\sum_{c, k} N_c N_k \delta^2_{ck}}.      \quad (2)

The squared distances between categories are

.. math:: \delta^2_{ck} = \begin{cases} [c \ne k] & \text{nominal} \\
          (R_c - R_k)^2 & \text{ordinal: midranks among all ratings} \\
          (v_c - v_k)^2 & \text{interval} \\
          \left(\frac{v_c - v_k}{v_c + v_k}\right)^2 & \text{ratio.} \end{cases}          \quad (3)

For the interval distance, the denominator in equation (2) is :math:`2 N \sum_c N_c (v_c - \bar
v)^2`. For the ordinal distance, midranks replace the values in the denominator; the mean of the
midranks is N/2.

The coefficients depend only on the number of ratings of each category for each question. With
:math:`n_{uc}` ratings of category c among the :math:`m_u` ratings of question u, two random
ratings of the question agree with probability

.. math:: a_u = \frac{\sum_c n_{uc} (n_{uc} - 1)}{m_u (m_u - 1)}.                         \quad (4)

Questions with only one rating carry no information about agreement and are omitted. Krippendorff's
disagreement of a question is

.. math:: d_u = \frac{1}{m_u - 1} \sum_{c, k} n_{uc} n_{uk} \delta^2_{ck}.                \quad (5)

For the nominal distance, the disagreement is :math:`m_u (1 - a_u)`. A resample changes only the
counts of questions, so every coefficient is computed from weighted sums of equations (4) and (5).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from psychollm._base.checks import check_choice
from psychollm._base.errors import CodeError, OptionError
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.data.labels import listed
from psychollm.kernels.agreement import rank_disagreement, sum_over_units
from psychollm.reliability.raters.ratings import Ratings, category_values


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitTable:
    """Counts of the ratings of one model, in compressed rows without zero counts."""

    start: IntArray  # (questions + 1,) first entry of each question
    category: IntArray  # (entries,)
    number: FloatArray  # (entries,) number of ratings of the category
    size: FloatArray  # (questions,) number of ratings, zero if fewer than two
    agreement: FloatArray  # (questions,) probability (4) that two ratings agree
    rated: bool  # whether the model has any ratings
    n_categories: int
    owner: IntArray = field(init=False)  # (entries,) question of each entry
    # (questions,) whether the question was rated at least twice
    paired: BoolArray = field(init=False)
    identical: FloatArray = field(init=False)  # (questions,) 1 if all ratings agree

    def __post_init__(self) -> None:
        each = np.diff(self.start)
        object.__setattr__(self, "owner", np.repeat(np.arange(self.size.size), each))
        object.__setattr__(self, "paired", self.size > 0)
        object.__setattr__(self, "identical", (each == 1).astype(np.float64))

    @property
    def n_given(self) -> int:
        """Number of categories that occur in questions rated at least twice."""
        return int(np.unique(self.category).size)

    @property
    def n_unusual(self) -> int:
        """Number of questions with an answer other than the most frequent answer."""
        totals = np.bincount(self.category, self.number, max(self.n_categories, 1))
        usual = self.summed(self.number * (self.category == totals.argmax()))
        return int((usual < self.size).sum())

    def summed(self, values: FloatArray) -> FloatArray:
        """Return sums over the entries of each question (questions,)."""
        return np.asarray(np.bincount(self.owner, values, self.size.size), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class UnitSums:
    """Sums over resampled questions, used to compute coefficients."""

    table: UnitTable
    counts: FloatArray  # (resamples, questions)
    paired: FloatArray  # (resamples,) number of questions rated at least twice
    agreement: FloatArray  # (resamples,) sums of (4)
    identical: FloatArray  # (resamples,)
    disagreement: FloatArray  # (resamples,) sums of (5)
    shares: FloatArray  # (resamples, categories) sums of the questions' proportions
    totals: FloatArray  # (resamples, categories) numbers of ratings


class Summation:
    """Arrays for computing the sums of one table in all resamples."""

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
        column += [np.full(here.size, 2 * q + extra) for extra in range(len(units))]
        value = [table.number / table.size[table.owner], table.number, *units]
        order = np.argsort(owner, kind="stable")
        self.table = table
        self._width = 2 * q + len(units)
        self._column = np.concatenate(column)[order]
        self._value = np.concatenate(value)[order]
        self._start = np.zeros(table.size.size + 1, dtype=np.int64)
        self._start[1:] = np.cumsum(np.bincount(owner, minlength=table.size.size))

    def of(self, counts: FloatArray) -> UnitSums:
        """Return sums over questions, weighted by `counts` (resamples, questions)."""
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
    """Return the table of rating counts of every model."""
    width = len(ratings.categories)
    return [_unit_table(codes, width) for codes in ratings.codes]


def _unit_table(codes: IntArray, width: int) -> UnitTable:
    """Return the rating counts of one model from category indices (questions, runs)."""
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


Distance: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio"]


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A coefficient of agreement as a function of sums over questions."""

    value: Callable[[UnitSums], FloatArray]  # (resamples,)
    # Whether chance agreement depends on category frequencies. If it does, the coefficient is
    # undefined for a single category.
    marginal: bool
    # Whether disagreements have different weights.
    graded: bool = False
    # A function that returns the disagreement of each question, for distances other than nominal;
    # `UnitSums` contains its sums.
    disagreement: Callable[[UnitTable], FloatArray] | None = None


def pairwise_agreement(sums: UnitSums) -> FloatArray:
    """Return the mean agreement of two ratings of a question (resamples,)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums.agreement / sums.paired)


def all_identical(sums: UnitSums) -> FloatArray:
    """Return the proportion of questions whose ratings are all identical (resamples,)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums.identical / sums.paired)


def fleiss(sums: UnitSums) -> FloatArray:
    """Return Fleiss' kappa by equation (1) (resamples,); NaN if only one category occurs."""
    return _beyond(pairwise_agreement(sums), (category_shares(sums) ** 2).sum(axis=1))


def gwet(sums: UnitSums) -> FloatArray:
    """Return Gwet's AC1, equation (1) (resamples,)."""
    shares = category_shares(sums)
    # With a single category, chance agreement is zero by definition, so AC1 equals the agreement.
    chance = (shares * (1.0 - shares)).sum(axis=1) / max(sums.table.n_categories - 1, 1)
    return _beyond(pairwise_agreement(sums), chance)


def category_shares(sums: UnitSums) -> FloatArray:
    """Return the mean proportion of each category over questions (resamples, categories)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums.shares / sums.paired[:, None])


PAIRWISE = Coefficient(pairwise_agreement, marginal=False)
IDENTICAL = Coefficient(all_identical, marginal=False)
FLEISS = Coefficient(fleiss, marginal=True)
GWET = Coefficient(gwet, marginal=False)


def krippendorff(ratings: Ratings, metric: Distance) -> Coefficient:
    """Return Krippendorff's alpha, equation (2), for the categories of some ratings."""
    check_choice("metric", metric, Distance)
    if metric == "nominal":
        return Coefficient(_nominal, marginal=True)
    if metric == "ordinal":
        if not ratings.ordered:
            msg = (
                f'metric="ordinal" needs an order of the categories {listed(ratings.categories)}: '
                "pass categories= in increasing order"
            )
            raise OptionError(msg)
        return Coefficient(_ordinal, marginal=True, graded=True)
    values = category_values(ratings)
    if metric == "interval":
        return Coefficient(
            lambda sums: _interval(sums, values),
            marginal=True,
            graded=True,
            disagreement=lambda table: _interval_units(table, values),
        )
    squared = ratio_distances(values)
    return Coefficient(
        lambda sums: _ratio(sums, squared),
        marginal=True,
        graded=True,
        disagreement=lambda table: _ratio_units(table, squared),
    )


def ratio_distances(values: FloatArray) -> FloatArray:
    """Return squared ratio distances between the values of categories, by equation (3)."""
    if (values < 0).any():
        msg = (
            f'category {values.min():g} is negative, but metric="ratio" needs a true zero: use '
            '"interval"'
        )
        raise CodeError(msg)
    total = values[:, None] + values
    gap = values[:, None] - values
    return np.asarray((gap / np.where(total > 0, total, 1.0)) ** 2)


def _beyond(agreement: FloatArray, chance: FloatArray) -> FloatArray:
    """Return chance-corrected agreement; NaN if chance agreement is 1."""
    with np.errstate(invalid="ignore", divide="ignore"):
        corrected = 1.0 - (1.0 - agreement) / (1.0 - chance)
    # Proportions sum to 1 only up to rounding errors, so a very small remainder counts as zero
    # disagreement.
    return np.where(1.0 - chance > 1e-12, corrected, np.nan)


def _alpha(observed: FloatArray, expected: FloatArray, totals: FloatArray) -> FloatArray:
    """Return alpha by equation (2) from its sums; NaN if only one category occurs."""
    several = (totals > 0).sum(axis=1) > 1
    with np.errstate(invalid="ignore", divide="ignore"):
        alpha = 1.0 - (totals.sum(axis=1) - 1.0) * observed / expected
    return np.where(several, alpha, np.nan)


def _nominal(sums: UnitSums) -> FloatArray:
    squares = (sums.totals**2).sum(axis=1)
    return _alpha(sums.disagreement, sums.totals.sum(axis=1) ** 2 - squares, sums.totals)


def _ordinal(sums: UnitSums) -> FloatArray:
    table, totals = sums.table, sums.totals
    total = totals.sum(axis=1)
    ranks = np.cumsum(totals, axis=1) - 0.5 * totals
    observed = np.empty(total.size)
    rank_disagreement(sums.counts, table.start, table.category, table.number, ranks, observed)
    squares = (totals * (ranks - 0.5 * total[:, None]) ** 2).sum(axis=1)
    return _alpha(observed, 2.0 * total * squares, totals)


def _interval(sums: UnitSums, values: FloatArray) -> FloatArray:
    totals = sums.totals
    total = totals.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        centre = (totals * values).sum(axis=1) / total
        squares = (totals * (values - centre[:, None]) ** 2).sum(axis=1)
    return _alpha(sums.disagreement, 2.0 * total * squares, totals)


def _interval_units(table: UnitTable, values: FloatArray) -> FloatArray:
    own = values[table.category]
    mean = table.summed(table.number * own) / np.maximum(table.size, 1.0)
    within = table.summed(table.number * (own - mean[table.owner]) ** 2)
    return 2.0 * table.size * within / np.maximum(table.size - 1.0, 1.0)


def _ratio(sums: UnitSums, squared: FloatArray) -> FloatArray:
    # A matrix product is avoided, because its rounding in a row may depend on the number of rows.
    expected = np.einsum("rc,ck,rk->r", sums.totals, squared, sums.totals)
    return _alpha(sums.disagreement, expected, sums.totals)


def _ratio_units(table: UnitTable, squared: FloatArray) -> FloatArray:
    dense = np.zeros((table.size.size, table.n_categories))
    dense[table.owner, table.category] = table.number
    products = ((dense @ squared) * dense).sum(axis=1)
    return np.asarray(products / np.maximum(table.size - 1.0, 1.0))
