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
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from psychollm._base.checks import check_choice
from psychollm._base.errors import CodeError, OptionError
from psychollm._base.types import FloatArray
from psychollm.kernels.agreement import rank_disagreement
from psychollm.reliability.raters.ratings import Ratings, category_values
from psychollm.reliability.raters.unit_table import UnitSums, UnitTable

Distance: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio"]


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A coefficient of agreement as a function of sums over questions."""

    value: Callable[[UnitSums], FloatArray]  # (resamples,)
    # What chance agreement rests on: nothing, or how often each category occurs, where a single
    # one leaves the coefficient undefined.
    marginal: bool
    # Whether some disagreements weigh more than others.
    graded: bool = False
    # Disagreement of each question where it is not nominal: it goes into the sums.
    disagreement: Callable[[UnitTable], FloatArray] | None = None


def pairwise_agreement(sums: UnitSums) -> FloatArray:
    """Return the mean agreement of two ratings of a question (resamples,)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums.agreement / sums.paired)


def all_identical(sums: UnitSums) -> FloatArray:
    """Return the share of questions on which all ratings coincide (resamples,)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums.identical / sums.paired)


def fleiss(sums: UnitSums) -> FloatArray:
    """Return Fleiss' kappa (1) (resamples,); NaN where a single category occurs."""
    return _beyond(pairwise_agreement(sums), (category_shares(sums) ** 2).sum(axis=1))


def gwet(sums: UnitSums) -> FloatArray:
    """Return Gwet's AC1 (1) (resamples,)."""
    shares = category_shares(sums)
    # A scale of one category leaves nothing to chance correction: agreement is its own measure.
    chance = (shares * (1.0 - shares)).sum(axis=1) / max(sums.table.n_categories - 1, 1)
    return _beyond(pairwise_agreement(sums), chance)


def category_shares(sums: UnitSums) -> FloatArray:
    """Return the mean over questions of the share of each category (resamples, categories)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums.shares / sums.paired[:, None])


PAIRWISE = Coefficient(pairwise_agreement, marginal=False)
IDENTICAL = Coefficient(all_identical, marginal=False)
FLEISS = Coefficient(fleiss, marginal=True)
GWET = Coefficient(gwet, marginal=False)


def krippendorff(ratings: Ratings, metric: Distance) -> Coefficient:
    """Return Krippendorff's alpha (2) for the categories of some ratings."""
    check_choice("metric", metric, Distance)
    if metric == "nominal":
        return Coefficient(_nominal, marginal=True)
    if metric == "ordinal":
        _check_ordered(ratings)
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
    """Return squared ratio distances (3) of values (categories, categories)."""
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
    # Not a matrix product: the last bit of a row must not depend on how many rows there are.
    expected = np.einsum("rc,ck,rk->r", sums.totals, squared, sums.totals)
    return _alpha(sums.disagreement, expected, sums.totals)


def _ratio_units(table: UnitTable, squared: FloatArray) -> FloatArray:
    dense = np.zeros((table.size.size, table.n_categories))
    dense[table.owner, table.category] = table.number
    products = ((dense @ squared) * dense).sum(axis=1)
    return np.asarray(products / np.maximum(table.size - 1.0, 1.0))
