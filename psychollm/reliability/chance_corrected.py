r"""Coefficients of agreement as functions of resampled questions.

With :math:`\bar a` the mean over questions of the agreement of two ratings, and :math:`\pi_c` the
mean over questions of the share of category c (q categories),

.. math:: \kappa_F = \frac{\bar a - \sum_c \pi_c^2}{1 - \sum_c \pi_c^2}, \qquad
          \mathrm{AC}_1 = \frac{\bar a - p_e}{1 - p_e}, \quad
          p_e = \frac{1}{q - 1} \sum_c \pi_c (1 - \pi_c).                                 \quad (1)

Krippendorff's coefficient takes the :math:`N_c` ratings of category c among all N that can be
paired, and squared distances :math:`\delta^2`,

.. math:: \alpha = 1 - \frac{(N - 1) \sum_u d_u}{\sum_{c, k} N_c N_k \delta^2_{ck}},      \quad (2)

where the distances are

.. math:: \delta^2_{ck} = \begin{cases} [c \ne k] & \text{nominal} \\
          (R_c - R_k)^2 & \text{ordinal: midranks among all ratings} \\
          (v_c - v_k)^2 & \text{interval} \\
          \left(\frac{v_c - v_k}{v_c + v_k}\right)^2 & \text{ratio.} \end{cases}          \quad (3)

For the interval distance the denominator of (2) is :math:`2 N \sum_c N_c (v_c - \bar v)^2`, and
midranks have the mean N/2.
"""

from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np

from psychollm._base.checks import check_choice
from psychollm._base.errors import CodeError, OptionError
from psychollm._base.types import FloatArray
from psychollm.kernels.agreement import rank_disagreement
from psychollm.reliability.ratings import Ratings, category_values
from psychollm.reliability.unit_table import UnitTable

Distance: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio"]

# a table and counts (resamples, questions) -> (resamples,)
Coefficient = Callable[[UnitTable, FloatArray], FloatArray]


def pairwise_agreement(table: UnitTable, counts: FloatArray) -> FloatArray:
    """Return the mean agreement of two ratings of a question (resamples,).

    Examples
    --------
    >>> from psychollm.reliability.unit_table import unit_tables
    >>> table = unit_tables(Ratings.from_table([[1, 1], [1, 2]]))[0]
    >>> pairwise_agreement(table, np.ones((1, 2)))
    array([0.5])
    """
    return _mean(table, counts, table.agreement)


def all_identical(table: UnitTable, counts: FloatArray) -> FloatArray:
    """Return the share of questions on which all ratings coincide (resamples,).

    Examples
    --------
    >>> from psychollm.reliability.unit_table import unit_tables
    >>> table = unit_tables(Ratings.from_table([[1, 1, 1], [1, 2, 1]]))[0]
    >>> all_identical(table, np.ones((1, 2)))
    array([0.5])
    """
    return _mean(table, counts, table.identical)


def fleiss(table: UnitTable, counts: FloatArray) -> FloatArray:
    """Return Fleiss' kappa (1) (resamples,); NaN where a single category occurs.

    Examples
    --------
    >>> from psychollm.reliability.unit_table import unit_tables
    >>> table = unit_tables(Ratings.from_table([[1, 1], [1, 2], [2, 2]]))[0]
    >>> fleiss(table, np.ones((1, 3))).round(4)
    array([0.3333])
    """
    chance = (category_shares(table, counts) ** 2).sum(axis=1)
    return _beyond(pairwise_agreement(table, counts), chance)


def gwet(table: UnitTable, counts: FloatArray) -> FloatArray:
    """Return Gwet's AC1 (1) (resamples,).

    Examples
    --------
    >>> from psychollm.reliability.unit_table import unit_tables
    >>> table = unit_tables(Ratings.from_table([[1, 1], [1, 2], [1, 1]]))[0]
    >>> gwet(table, np.ones((1, 3))).round(4)
    array([0.5385])
    """
    shares = category_shares(table, counts)
    # A scale of one category leaves nothing to chance correction: agreement is its own measure.
    chance = (shares * (1.0 - shares)).sum(axis=1) / max(table.n_categories - 1, 1)
    return _beyond(pairwise_agreement(table, counts), chance)


def category_shares(table: UnitTable, counts: FloatArray) -> FloatArray:
    """Return the mean over questions of the share of each category (resamples, categories).

    Examples
    --------
    >>> from psychollm.reliability.unit_table import unit_tables
    >>> table = unit_tables(Ratings.from_table([[1, 1, 1], [1, 2, None]]))[0]
    >>> category_shares(table, np.ones((1, 2)))
    array([[0.75, 0.25]])
    """
    own = table.number / table.size[table.owner()]
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = table.totals(counts, own) / _rated(table, counts)[:, None]
    return np.asarray(shares, dtype=np.float64)


def krippendorff(ratings: Ratings, metric: Distance) -> Coefficient:
    """Return Krippendorff's alpha (2) as a function of a table and counts.

    Parameters
    ----------
    ratings : Ratings
        Its categories have the distances (3).
    metric : {"nominal", "ordinal", "interval", "ratio"}
        Which distance.

    Raises
    ------
    OptionError
        If there is no such distance, or the categories have no order and need one.
    CodeError
        If categories must be numbers (not negative, for ratios) and are not.

    Examples
    --------
    >>> from psychollm.reliability.unit_table import unit_tables
    >>> ratings = Ratings.from_table([[1, 1], [1, 2], [2, 2]])
    >>> krippendorff(ratings, "interval")(unit_tables(ratings)[0], np.ones((1, 3))).round(4)
    array([0.4444])
    """
    check_choice("metric", metric, Distance)
    if metric == "nominal":
        return _nominal
    if metric == "ordinal":
        _check_ordered(ratings)
        return _ordinal
    values = category_values(ratings)
    if metric == "interval":
        return lambda table, counts: _interval(table, counts, values)
    squared = ratio_distances(values)
    return lambda table, counts: _ratio(table, counts, squared)


def ratio_distances(values: FloatArray) -> FloatArray:
    """Return squared ratio distances (3) of values (categories, categories).

    Raises
    ------
    CodeError
        If a value is negative.

    Examples
    --------
    >>> ratio_distances(np.array([0.0, 1.0, 3.0])).round(2)
    array([[0.  , 1.  , 1.  ],
           [1.  , 0.  , 0.25],
           [1.  , 0.25, 0.  ]])
    """
    if (values < 0).any():
        msg = (
            f'category {values.min():g} is negative, but metric="ratio" needs a true zero: use '
            '"interval"'
        )
        raise CodeError(msg)
    total = values[:, None] + values
    gap = values[:, None] - values
    return np.asarray((gap / np.where(total > 0, total, 1.0)) ** 2)


def _check_ordered(ratings: Ratings) -> None:
    if not ratings.ordered:
        msg = (
            f'metric="ordinal" needs an order of the categories {ratings.categories!r:.80}: pass '
            "categories= in increasing order"
        )
        raise OptionError(msg)


def _rated(table: UnitTable, counts: FloatArray) -> FloatArray:
    """Questions with at least two ratings in each resample (resamples,)."""
    return table.sums(counts, np.ones((table.size.size, 1)))[:, 0]


def _mean(table: UnitTable, counts: FloatArray, values: FloatArray) -> FloatArray:
    both = table.sums(counts, np.stack([values, np.ones_like(values)], axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(both[:, 0] / both[:, 1])


def _beyond(agreement: FloatArray, chance: FloatArray) -> FloatArray:
    """Agreement beyond chance; NaN where chance agreement is certain."""
    with np.errstate(invalid="ignore", divide="ignore"):
        found = 1.0 - (1.0 - agreement) / (1.0 - chance)
    # Shares add up to one but for rounding: what is left of 1 - 1 is no disagreement.
    return np.where(1.0 - chance > 1e-12, found, np.nan)


def _alpha(observed: FloatArray, expected: FloatArray, totals: FloatArray) -> FloatArray:
    """Return (2) from its sums; NaN where a single category occurs."""
    several = (totals > 0).sum(axis=1) > 1
    with np.errstate(invalid="ignore", divide="ignore"):
        found = 1.0 - (totals.sum(axis=1) - 1.0) * observed / expected
    return np.where(several, found, np.nan)


def _summed(table: UnitTable, counts: FloatArray, values: FloatArray) -> FloatArray:
    return table.sums(counts, values[:, None])[:, 0]


def _nominal(table: UnitTable, counts: FloatArray) -> FloatArray:
    totals = table.totals(counts, table.number)
    observed = _summed(table, counts, table.size * (1.0 - table.agreement))
    return _alpha(observed, totals.sum(axis=1) ** 2 - (totals**2).sum(axis=1), totals)


def _ordinal(table: UnitTable, counts: FloatArray) -> FloatArray:
    totals = table.totals(counts, table.number)
    total = totals.sum(axis=1)
    ranks = np.cumsum(totals, axis=1) - 0.5 * totals
    observed = np.empty(counts.shape[0])
    rank_disagreement(counts, table.start, table.category, table.number, ranks, observed)
    squares = (totals * (ranks - 0.5 * total[:, None]) ** 2).sum(axis=1)
    return _alpha(observed, 2.0 * total * squares, totals)


def _interval(table: UnitTable, counts: FloatArray, values: FloatArray) -> FloatArray:
    own = values[table.category]
    mean = table.summed(table.number * own) / np.maximum(table.size, 1.0)
    within = table.summed(table.number * (own - mean[table.owner()]) ** 2)
    observed = 2.0 * table.size * within / np.maximum(table.size - 1.0, 1.0)
    totals = table.totals(counts, table.number)
    total = totals.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        centre = (totals * values).sum(axis=1) / total
        squares = (totals * (values - centre[:, None]) ** 2).sum(axis=1)
    return _alpha(_summed(table, counts, observed), 2.0 * total * squares, totals)


def _ratio(table: UnitTable, counts: FloatArray, squared: FloatArray) -> FloatArray:
    dense = np.zeros((table.size.size, table.n_categories))
    dense[table.owner(), table.category] = table.number
    observed = ((dense @ squared) * dense).sum(axis=1) / np.maximum(table.size - 1.0, 1.0)
    totals = table.totals(counts, table.number)
    # Not a matrix product: the last bit of a row must not depend on how many rows there are.
    expected = np.einsum("rc,ck,rk->r", totals, squared, totals)
    return _alpha(_summed(table, counts, observed), expected, totals)
