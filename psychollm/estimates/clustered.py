r"""Confidence intervals from few clusters of unequal size.

Questions about one passage are dependent: a thousand questions in five passages can carry as
little information as five independent questions. With :math:`h_g` the proportion of the total
weight in cluster g and :math:`r_g` the sum of the influences of its questions, the variance

.. math:: V = \sum_g \frac{r_g^2}{1 - h_g}                                                \quad (1)

is unbiased for independent questions and any cluster sizes ("CR2"). The estimated variance is
approximately proportional to a chi-squared variable with Satterthwaite's degrees of freedom,

.. math:: \nu = \Big[ \sum_g h_g^2 + \sum_{g \neq k} \frac{h_g^2}{1 - h_g}
                \frac{h_k^2}{1 - h_k} \Big]^{-1},                                        \quad (2)

which is G - 1 for G clusters of equal size. For five clusters, :math:`\nu` is below two if one
cluster has most questions. Intervals use Student's t with :math:`\nu` degrees of freedom. The
variance over resamples of clusters is equation (1) without the denominators, and the distribution
of resamples has normal tails. Percentiles are therefore taken at the level :math:`\lambda'` at
which a normal interval is as wide as the t interval,

.. math:: \lambda' = 2 \Phi\Big(t_{\nu,\, (1 + \lambda) / 2}
          \big/ \big(1 - \textstyle\sum_g h_g^2\big)^{1/2}\Big) - 1                      \quad (3)

Percentiles at the level :math:`\lambda'` are Hesterberg's expanded percentiles, generalised to
clusters of any size.

Clusters of equal size can differ in information. If few clusters contribute most of a variance,
the precision of the estimated variance depends on the number of such clusters. For estimates that
are sensitive to unequal information, the degrees of freedom are at most

.. math:: G_e = \Big( \sum_g r_g^2 \Big)^2 \Big/ \sum_g r_g^4,                            \quad (4)

the effective number of clusters. For other estimates, the limit is the degrees of freedom of a sum
of squares whose variance is estimated from the fourth powers of the sums,

.. math:: \nu' = 2 G_e \big/ (1 - G_e / G).                                              \quad (5)

If the sums are normal, :math:`G_e` is a third of the number of clusters. Some estimates, such as
chance-corrected agreement, are also skewed if few clusters contain rare categories. For skewed
estimates, the degrees of freedom are at most :math:`3 G_e / 2`, which is half of the number of
clusters for normal sums.

A pilot study predicts the precision of a later study. If the sums of its G clusters have excess
kurtosis :math:`\kappa`, the estimated variance has a relative variance of
:math:`2 / \nu + \kappa / G`. The corresponding degrees of freedom are

.. math:: \nu_0 = \frac{2}{2 / \nu + \max(0, \hat\kappa) / G}, \qquad
          \hat\kappa = \frac{G - 1}{(G - 2)(G - 3)} \big[(G + 1)(G / G_e - 3) + 6\big].   \quad (6)

References
----------
Bell, R. M., & McCaffrey, D. F. (2002). Bias reduction in standard errors for linear regression
with multi-stage samples. Survey Methodology, 28, 169-181.

Hesterberg, T. C. (2015). What teachers should know about the bootstrap: Resampling in the
undergraduate statistics curriculum. The American Statistician, 69, 371-386.
https://doi.org/10.1080/00031305.2015.1089789

Imbens, G. W., & Kolesár, M. (2016). Robust standard errors in small samples: Some practical
advice. Review of Economics and Statistics, 98, 701-712. https://doi.org/10.1162/REST_a_00552
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.estimates.reasons import Reason, first_reason

# Estimates with these reasons have no interval, so no flag for unreliable intervals is needed.
_WITHOUT_INTERVAL = (Reason.ONE_QUESTION, Reason.ONE_CLUSTER, Reason.NO_SPREAD)
_HIGHEST = 1.0 - 1e-12  # at this level the bounds are the most extreme resamples
FEW = 3.5  # five clusters of equal size have 4 degrees of freedom, four have 3


def satterthwaite(shares: FloatArray) -> FloatArray:
    """Return the degrees of freedom of variances by equation (2) from `shares` (..., clusters)."""
    # The share of a cluster without weight is 0. With a single cluster, the result is NaN.
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = shares**2 / (1.0 - shares)
        cross = ratio.sum(axis=-1) ** 2 - (ratio**2).sum(axis=-1)
        df = 1.0 / ((shares**2).sum(axis=-1) + cross)
    return np.asarray(np.where((shares >= 1.0).any(axis=-1), np.nan, df), dtype=np.float64)


def effective_shares(member: IntArray, correlation: FloatArray) -> FloatArray:
    """Return the weight of each unit, 1 / (1 + (m - 1) rho) in a cluster of m units."""
    # Shapes: member (units,); correlation rho (clusters,). For example, units are models, and
    # clusters are families.
    return np.asarray(1.0 / (1.0 + (np.bincount(member) - 1.0) * correlation)[member])


def corrected_sums(sums: FloatArray, shares: FloatArray) -> FloatArray:
    """Return cluster sums, scaled so that their squares sum to the variance in equation (1)."""
    # Shapes: sums, shares (..., clusters).
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(shares < 1.0, sums / np.sqrt(1.0 - shares), np.nan))


def telling_clusters(sums: FloatArray) -> FloatArray:
    """Return the effective number of clusters by equation (4), from `sums` (clusters, ...)."""
    squares = sums**2
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(squares.sum(axis=0) ** 2 / (squares**2).sum(axis=0))


def tail_freedom(sums: FloatArray) -> FloatArray:
    """Return the degrees of freedom of a variance by equation (5), from `sums` (clusters, ...)."""
    telling = telling_clusters(sums)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(2.0 * telling / np.maximum(1.0 - telling / len(sums), 0.0))


def skewed_freedom(sums: FloatArray) -> FloatArray:
    """Return 3/2 of the effective number of clusters (for normal sums, half of all clusters)."""
    return 1.5 * telling_clusters(sums)


def pilot_freedom(
    df: FloatArray, squares: FloatArray, fourths: FloatArray, count: FloatArray
) -> FloatArray:
    """Return the degrees of freedom of the variance of a pilot study, by equation (6).

    Parameters
    ----------
    df, squares, fourths, count : ndarray (k,)
        Degrees of freedom, sums over clusters of squares and of fourth powers, and numbers of
        clusters.

    Examples
    --------
    >>> four = np.array([[1.0, -1, 1, -1, 1, -1, 1, -1], [3.0, -3, 0, 0, 0, 0, 0, 0]])
    >>> sums = (four**2).sum(axis=1), (four**4).sum(axis=1)
    >>> pilot_freedom(np.full(2, 7.0), *sums, np.full(2, 8.0)).round(1)
    array([7. , 2.8])
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        excess = count * fourths / squares**2 - 3.0
        ratio = (count - 1.0) / ((count - 2.0) * (count - 3.0))
        kurtosis = ratio * ((count + 1.0) * excess + 6.0)
        known = np.isfinite(kurtosis) & (count > 3) & (kurtosis > 0.0)
        own = 2.0 / (2.0 / df + np.where(known, kurtosis, 0.0) / count)
    return np.asarray(np.where(known, own, df))


@dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """Degrees of freedom and reliability flags of estimates from clustered questions."""

    count: FloatArray  # (models,) number of clusters with answers
    df: FloatArray  # (models,) degrees of freedom (2)
    shortfall: FloatArray  # (models,) ratio of the variance of resamples to (1)

    @property
    def few(self) -> BoolArray:
        """Whether each model has too few clusters for a valid interval (models,)."""
        return few(self.df)

    def flagged(self, flags: Sequence[Reason], value: FloatArray) -> tuple[Reason, ...]:
        """Return flags (models,), with flags for few clusters where values have intervals."""
        own = first_reason(
            (np.isnan(value), Reason.NONE),
            (self.count == 1, Reason.ONE_CLUSTER),
            (self.few, Reason.FEW_CLUSTERS),
        )
        return tuple(
            flag if flag in _WITHOUT_INTERVAL else few or flag
            for few, flag in zip(own, flags, strict=True)
        )

    def tested(
        self, p_value: FloatArray, flags: Sequence[Reason]
    ) -> tuple[FloatArray, tuple[Reason, ...]]:
        """Return p-values (models,) and flags; NaN if clusters are too few for a valid test."""
        enough = (self.count > 1) & ~self.few
        own = first_reason(
            (np.isnan(p_value), Reason.NONE),
            (self.count == 1, Reason.ONE_CLUSTER),
            (~enough, Reason.NO_P_VALUE),
        )
        flagged = tuple(few or flag for few, flag in zip(own, flags, strict=True))
        return np.where(enough, p_value, np.nan), flagged

    def level(self, level: float) -> FloatArray:
        """Return the level at which percentiles are taken (models,), by equation (3)."""
        return expanded_level(level, self.df, self.shortfall)


def units_of(weights: FloatArray | BoolArray, clusters: IntArray | None) -> Units | None:
    """Return the `Units` of each model's questions; None if there are no clusters."""
    # Shapes: weights (models, questions); clusters (questions,).
    if clusters is None:
        return None
    total = np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
    shares = np.array([np.bincount(clusters, row) for row in weights / total])
    return Units(
        count=(shares > 0.0).sum(axis=1).astype(np.float64),
        df=satterthwaite(shares),
        shortfall=1.0 - (shares**2).sum(axis=1),
    )


def expanded_level(level: float, df: Any, shortfall: Any = None) -> FloatArray:
    """Return the level at which percentiles of resamples are taken, by equation (3)."""
    # Shapes: df (...); shortfall (...).
    finite = np.isfinite(df)
    freedom = np.where(finite, df, 1.0)
    share = freedom / (freedom + 1.0) if shortfall is None else np.where(finite, shortfall, 1.0)
    z = stdtrit(freedom, 0.5 + 0.5 * level) / np.sqrt(share)
    return np.asarray(np.where(finite, np.minimum(2.0 * ndtr(z) - 1.0, _HIGHEST), level))


def tail_of_t(p_value: Any, df: Any) -> FloatArray:
    """Convert two-sided p-values from resamples to Student's t, inverting equation (3)."""
    finite = np.isfinite(df)
    freedom = np.where(finite, df, 1.0)
    t = ndtri(0.5 * np.asarray(p_value)) * np.sqrt(freedom / (freedom + 1.0))
    return np.asarray(np.where(finite, 2.0 * stdtr(freedom, t), p_value), dtype=np.float64)


def few(df: Any) -> BoolArray:
    """Return a mask of degrees of freedom that are too low for a valid interval."""
    with np.errstate(invalid="ignore"):
        return np.asarray(df < FEW, dtype=np.bool_)
