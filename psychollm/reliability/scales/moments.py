r"""Variances of items and covariances with the total score, over resamples.

With complete scores :math:`x_{ij}` of rows i on items j, totals :math:`T_i = \sum_j x_{ij}` and
resampling counts :math:`w_i` of rows, all coefficients of internal consistency are functions of

.. math:: s_j^2 = \operatorname{cov}(x_j, x_j), \quad c_j = \operatorname{cov}(x_j, T), \quad
          \sum_j c_j = s_T^2, \quad
          \sum_{jk} r_{jk} = \operatorname{var}\Big(\sum_j x_j / s_j\Big).               \quad (1)

The moments, equation (1), are sums over rows and require no items-by-items matrix, so the cost is
proportional to the number of answers. If scores are missing, each covariance is computed from the
rows with scores on both items,

.. math:: c_{jk} = \frac{1}{n_{jk} - 1} \Big(\sum w x_j x_k
                   - \frac{\sum w x_j \sum w x_k}{n_{jk}}\Big).                          \quad (2)

All sums in equation (2) are over the rows with scores on both items. With missing scores, the
covariance matrix is computed once per resample.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from psychollm._base.types import BoolArray, FloatArray
from psychollm.kernels.item_moments import resampled_moments

Incomplete: TypeAlias = Literal["pairwise", "listwise"]

# A variance counts as zero if it is below this proportion of its scale.
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ItemMoments:
    """Variances and covariances in each resample, for computing internal consistency."""

    variance: FloatArray  # (resamples, items)
    with_total: FloatArray  # (resamples, items) covariance with the total score
    correlation_sum: FloatArray  # (resamples,) sum over all items that vary
    varying: FloatArray  # (resamples,) number of items that vary

    @property
    def total_variance(self) -> FloatArray:
        """Variance of the total score (resamples,); values within rounding error are zero."""
        # The variance may be negative, because pairwise covariances need not form a positive
        # semidefinite matrix.
        total = self.with_total.sum(axis=1)
        items = self.variance.sum(axis=1)
        return np.where(np.abs(total) <= ROUNDING * self.variance.shape[1] * items, 0.0, total)


def item_moments(values: FloatArray, counts: FloatArray) -> ItemMoments:
    """Return the moments, equation (1), of scores in resamples of rows."""
    centred = centred_items(values)
    if complete_rows(values).all():
        return _complete_moments(centred, counts)
    parts = [matrix_moments(centred_covariance(centred, row)) for row in counts]
    return ItemMoments(
        variance=np.concatenate([part.variance for part in parts]),
        with_total=np.concatenate([part.with_total for part in parts]),
        correlation_sum=np.concatenate([part.correlation_sum for part in parts]),
        varying=np.concatenate([part.varying for part in parts]),
    )


def covariance(values: FloatArray, counts: FloatArray) -> FloatArray:
    """Return covariances of items in a resample of rows, by equation (2) if scores are missing."""
    # Covariances of a zero-variance item are 0; covariances of items with fewer than two common
    # rows are NaN.
    return centred_covariance(centred_items(values), counts)


def correlation(matrix: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return the correlations of the items that vary, and the mask of these items.

    Parameters
    ----------
    matrix : ndarray (items, items)
        Covariances.

    Returns
    -------
    ndarray (varying, varying), bool ndarray (items,)
        Correlations, and mask of the items with non-zero variance.

    Examples
    --------
    >>> correlation(np.array([[4.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]))
    (array([[1. , 0.5],
           [0.5, 1. ]]), array([ True,  True, False]))
    """
    variance = np.diagonal(matrix)
    varies = np.asarray(~(variance <= 0.0), dtype=np.bool_)
    sd = np.sqrt(variance[varies])
    correlations = matrix[np.ix_(varies, varies)] / np.outer(sd, sd)
    np.fill_diagonal(correlations, np.where(np.isfinite(sd), 1.0, np.nan))
    return np.asarray(correlations), varies


def constant_items(values: FloatArray) -> BoolArray:
    """Return a mask of items with zero variance or without scores (items,)."""
    present = np.isfinite(values)
    low = np.where(present, values, np.inf).min(axis=0, initial=np.inf)
    high = np.where(present, values, -np.inf).max(axis=0, initial=-np.inf)
    return np.asarray(low >= high, dtype=np.bool_)


def centred_items(values: FloatArray) -> FloatArray:
    """Return scores minus the mean of the item; scores of a zero-variance item become zero."""
    present = np.isfinite(values)
    count = np.maximum(present.sum(axis=0), 1)
    centred = values - np.where(present, values, 0.0).sum(axis=0) / count
    return np.where(present & constant_items(values), 0.0, centred)


def _complete_moments(centred: FloatArray, counts: FloatArray) -> ItemMoments:
    """Return the moments of equation (1) for scores without missing values."""
    shape = (len(counts), centred.shape[1])
    moments = ItemMoments(
        variance=np.empty(shape),
        with_total=np.empty(shape),
        correlation_sum=np.empty(len(counts)),
        varying=np.empty(len(counts)),
    )
    resampled_moments(
        np.ascontiguousarray(centred),
        _nil(centred),
        np.ascontiguousarray(counts),
        moments.variance,
        moments.with_total,
        moments.correlation_sum,
        moments.varying,
    )
    return moments


def matrix_moments(matrix: FloatArray) -> ItemMoments:
    """Return item moments computed from a covariance matrix, in the form of a single resample."""
    correlations, varies = correlation(matrix)
    return ItemMoments(
        variance=np.diagonal(matrix)[None].copy(),
        with_total=matrix.sum(axis=0)[None],
        correlation_sum=np.array([correlations.sum()]),
        varying=np.array([float(varies.sum())]),
    )


def centred_covariance(centred: FloatArray, counts: FloatArray) -> FloatArray:
    """Return the result of `covariance` for scores that are already centred."""
    present = np.isfinite(centred)
    scores = np.where(present, centred, 0.0)
    weighted = counts[:, None] * scores
    if present.all():
        n, sums = np.full((1, 1), counts.sum()), weighted.sum(axis=0)[:, None]
        sums = np.broadcast_to(sums, (scores.shape[1], scores.shape[1]))
    else:
        known = present.astype(np.float64)
        n, sums = (counts[:, None] * known).T @ known, weighted.T @ known
    with np.errstate(invalid="ignore", divide="ignore"):
        covariances = (weighted.T @ scores - sums * sums.T / n) / np.where(n > 1, n - 1.0, np.nan)
    covariances = 0.5 * (covariances + covariances.T)
    variance = np.diagonal(covariances)
    variance = np.where(variance <= _nil(centred), 0.0, variance)
    flat = variance == 0.0
    covariances[flat] = np.where(np.isnan(covariances[flat]), np.nan, 0.0)
    covariances[:, flat] = covariances[flat].T
    np.fill_diagonal(covariances, variance)
    return np.asarray(covariances)


def _nil(centred: FloatArray) -> FloatArray:
    """Return, for each item, the largest variance that counts as zero (items,)."""
    largest = np.where(np.isfinite(centred), centred**2, 0.0).max(axis=0, initial=0.0)
    return np.asarray(ROUNDING * largest)


def complete_rows(values: FloatArray) -> BoolArray:
    """Return the mask of rows without missing scores (rows,)."""
    return np.asarray(np.isfinite(values).all(axis=1), dtype=np.bool_)
