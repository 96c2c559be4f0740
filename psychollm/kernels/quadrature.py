r"""Integrals over a standard normal ability: uniform nodes, posteriors and their moments.

Sums over a uniform grid of spacing h converge exponentially for smooth integrands: for a normal
posterior of standard deviation s the relative error is about

.. math:: 2 \exp(-2 \pi^2 s^2 / h^2),                                                 \quad (1)

which is 5e-9 at h = s and negligible at h = s/2. A grid is therefore fine enough if its spacing is
at most half the standard deviation of the narrowest posterior, regardless of its number of nodes.
Gauss-Hermite rules of 15 to 61 nodes are too coarse for long tests.

Second moments under the posteriors :math:`w_u(q)` of many respondents are sums over orthonormal
polynomials :math:`p_k` (Lanczos recursion): for any functions a and b of the ability

.. math:: \mathrm{Cov}_u(a, b) = \sum_{k \ge 1} E_u[a\,p_k]\,E_u[b\,p_k],             \quad (2)

and only a few of these terms matter if posteriors are narrow.

References
----------
Trefethen, L. N., & Weideman, J. A. C. (2014). The exponentially convergent trapezoidal rule. SIAM
Review, 56(3), 385-458. https://doi.org/10.1137/130932132
"""

from collections.abc import Iterator

import numpy as np

from psychollm._base.types import FloatArray

SPARSE = 4
HALF_RANGE = 6.5  # the normal probability outside this range is 8e-11


def normal_grid(n: int) -> tuple[FloatArray, FloatArray]:
    """Return `n` uniform nodes and the logarithms of their weights under N(0, 1)."""
    nodes = np.linspace(-HALF_RANGE, HALF_RANGE, n)
    log_weights = -0.5 * nodes**2
    log_weights -= np.log(np.exp(log_weights).sum())
    return nodes, log_weights


def normalise_rows(joint: FloatArray) -> FloatArray:
    """Turn log joint densities (u, Q) into posteriors in place; return log marginals (u,)."""
    # The value that is subtracted before taking exponentials need not be the exact maximum. Within
    # two nodes of its peak, a log density falls by at most a few units, so a search over every
    # fourth node and the last one suffices.
    top = np.maximum(joint[:, ::SPARSE].max(axis=1), joint[:, -1])
    joint -= top[:, None]
    np.exp(joint, out=joint)
    total = joint.sum(axis=1)
    joint *= (1.0 / total)[:, None]
    return np.asarray(np.log(total) + top, dtype=np.float64)


def weighted_polynomials(
    posterior: FloatArray, nodes: FloatArray, degree: int
) -> Iterator[FloatArray]:
    """Yield the posterior times each polynomial of equation (2), up to `degree` (u, Q)."""
    # If a posterior is concentrated on too few nodes for a degree, the result is zero.
    root = np.sqrt(posterior)
    before, current = np.zeros_like(root), root
    for _ in range(degree):
        after = current * nodes
        after -= np.einsum("uq,uq->u", after, current)[:, None] * current
        after -= np.einsum("uq,uq->u", after, before)[:, None] * before
        size = np.sqrt(np.einsum("uq,uq->u", after, after))
        after *= np.divide(1.0, size, out=np.zeros_like(size), where=size > 1e-12)[:, None]
        before, current = current, after
        yield root * current
