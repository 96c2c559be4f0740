r"""Estimate correlations between the residuals of a model in several benchmarks.

A model that scores higher in one benchmark than its ability explains usually scores higher in
similar benchmarks too. Equation (1) is the standardised residual of model m in benchmark b.

.. math:: e_{mb} = (y_{mb} - p_{mb}) / \sqrt{\phi_b \, p_{mb} (1 - p_{mb})}              \quad (1)

Equation (2) estimates the correlation of benchmarks b and c, with :math:`u_{mbc}` the contribution
of the uncertainty of abilities to the product of two residuals.

.. math:: k_{bc} = \frac{\sum_m (e_{mb} e_{mc} + u_{mbc})}
                        {(N_{bc} + \kappa) \, s_b s_c}.                                   \quad (2)

The sum is over the :math:`N_{bc}` models with scores in both benchmarks, and :math:`s_b` is the
root mean square of the residuals. The constant :math:`\kappa`, which acts like additional models
without correlation, shrinks the estimate towards zero. Negative eigenvalues of the correlation
matrix are removed.

References
----------
Bonilla, E. V., Chai, K. M. A., & Williams, C. K. I. (2008). Multi-task Gaussian process
prediction. Advances in Neural Information Processing Systems, 20, 153-160.
"""

import numpy as np
from scipy.special import expit

from psychollm._base.types import FloatArray, IntArray
from psychollm.studies.stitching.scale import (
    FEW,
    Posterior,
    Scale,
    loadings,
    unit_variance,
)
from psychollm.studies.stitching.tables import ScoreTable

_UNRELATED = 10.0  # kappa in (2)
_LEAST = 0.02  # least eigenvalue of the correlations
_MOST = 3.0  # bound of standardised residuals


def related(scale: Scale, scores: ScoreTable, found: Posterior) -> FloatArray:
    """Return the correlations of residuals (benchmarks, benchmarks)."""
    known, loads = scores.known, loadings(scale.curves)
    p = expit(scale.abilities @ loads.T - scale.curves[:, 0])
    variance = unit_variance(p)
    sd = np.sqrt((scale.scatter + 1.0 / scores.items) * variance)
    residual = np.where(known, (scores.value - p) / sd, 0.0)
    # Derivatives of the expected scores with respect to abilities, in units of the residual SD.
    slopes = np.where(known, variance / sd, 0.0)[:, :, None] * loads
    products = residual.T @ residual
    for i in range(scale.n_abilities):
        for j in range(scale.n_abilities):
            own = found.abilities[:, i, j, None] * slopes[:, :, i]
            products += own.T @ slopes[:, :, j]
    counted = known.sum(axis=0)
    unit = np.sqrt((np.diagonal(products) + FEW) / (counted + FEW))
    both = known.astype(np.float64)
    correlation = products / (both.T @ both + _UNRELATED) / unit / unit[:, None]
    np.fill_diagonal(correlation, 1.0)
    values, vectors = np.linalg.eigh((correlation + correlation.T) / 2.0)
    positive = (vectors * np.maximum(values, _LEAST)) @ vectors.T
    unit = np.sqrt(np.diagonal(positive))
    return np.asarray(positive / unit / unit[:, None])


def carried(
    correlations: FloatArray, given: IntArray, of: IntArray, residual: FloatArray
) -> FloatArray:
    """Return expected residuals (draws, of), given the residuals in other benchmarks."""
    # A score in a benchmark of `given` is predicted as a new run of it, from the ability only.
    both = np.where(np.isin(of, given), 0.0, correlations[np.ix_(given, of)])
    share = np.linalg.solve(correlations[np.ix_(given, given)], both)
    return np.asarray(np.clip(residual, -_MOST, _MOST) @ share)
