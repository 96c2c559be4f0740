r"""Standard errors that allow for clusters and weights of questions.

For an estimate that solves :math:`\sum_i w_i s_i = 0` with scores s and weights w, the sums of
:math:`w_i s_i` over clusters vary independently of each other, whatever happens inside a cluster;
their cross-products, corrected for the share of each cluster (`estimates.clustered`), stand in
for the variance of the sum. Where questions have weights but no clusters, each is a cluster.

References
----------
Liang, K.-Y., & Zeger, S. L. (1986). Longitudinal data analysis using generalized linear models.
Biometrika, 73, 13-22.
"""

import numpy as np
from scipy.special import stdtrit

from psychollm._base.types import FloatArray
from psychollm.calibration.tally import Tally
from psychollm.estimates.clustered import corrected_sums


def cluster_sums(tally: Tally, scores: FloatArray) -> FloatArray:
    """Return sums of scores over clusters, weighted; over single questions without clusters."""
    # Shapes: scores (n, k); returns (clusters, k).
    weighted = tally.weight[:, None] * scores
    if tally.cluster is None:
        return weighted
    return np.stack([np.bincount(tally.cluster, column) for column in weighted.T], axis=1)


def cluster_shares(tally: Tally) -> FloatArray:
    """Return the share of each cluster, or question, in all weight (clusters,); may be empty."""
    if not tally.n:
        return np.empty(0)
    sizes = cluster_sums(tally, np.ones((tally.n, 1)))[:, 0]
    return np.asarray(sizes / sizes.sum(), dtype=np.float64)


def spread_of_sum(sums: FloatArray, shares: FloatArray) -> FloatArray:
    """Return the covariance of the total of cluster sums (clusters, k); NaN for one cluster."""
    corrected = corrected_sums(sums, shares[:, None])
    return np.asarray(corrected.T @ corrected, dtype=np.float64)


def student_multiplier(level: float, df: float) -> float:
    """Return the quantile of t that bounds an interval; NaN without degrees of freedom."""
    return float(stdtrit(df, 0.5 + 0.5 * level)) if df > 0 else float("nan")
