r"""Integrals over an ability that is standard normal: uniform nodes, posteriors, their moments.

Sums over a uniform grid of spacing h converge exponentially for smooth integrands: for a normal
posterior of standard deviation s the relative error is about

.. math:: 2 \exp(-2 \pi^2 s^2 / h^2),                                                 \quad (1)

3e-9 at h = s and nothing at h = s/2. A grid is therefore fine enough once its spacing is half the
narrowest posterior, whatever its number of nodes; Gauss-Hermite rules of 15 to 61 nodes are not
where tests are long.

Second moments under the posteriors :math:`w_u(q)` of many respondents are sums over orthonormal
polynomials :math:`p_k` (Lanczos recursion): for any functions a and b of the ability

.. math:: \mathrm{Cov}_u(a, b) = \sum_{k \ge 1} E_u[a\,p_k]\,E_u[b\,p_k],             \quad (2)

of which few terms matter where posteriors are narrow.

References
----------
Trefethen, L. N., & Weideman, J. A. C. (2014). The exponentially convergent trapezoidal rule. SIAM
Review, 56(3), 385-458. https://doi.org/10.1137/130932132
"""

from collections.abc import Iterator

import numpy as np

from psychollm._base.types import FloatArray

SPARSE = 4
HALF_RANGE = 6.5  # outside lies a mass of 8e-11


def normal_grid(n: int) -> tuple[FloatArray, FloatArray]:
    """Return `n` uniform nodes and the logarithms of their weights under N(0, 1)."""
    nodes = np.linspace(-HALF_RANGE, HALF_RANGE, n)
    log_weights = -0.5 * nodes**2
    log_weights -= np.log(np.exp(log_weights).sum())
    return nodes, log_weights


def normalise_rows(joint: FloatArray) -> FloatArray:
    """Turn log joint densities (u, Q) into posteriors in place; return log marginals (u,)."""
    # What is subtracted before exponentials are taken need not be the exact maximum: within two
    # nodes of a peak a log density falls by a few units at most, so that every fourth node, and
    # the last, will do.
    top = np.maximum(joint[:, ::SPARSE].max(axis=1), joint[:, -1])
    joint -= top[:, None]
    np.exp(joint, out=joint)
    total = joint.sum(axis=1)
    joint *= (1.0 / total)[:, None]
    return np.asarray(np.log(total) + top, dtype=np.float64)


def weighted_polynomials(
    posterior: FloatArray, nodes: FloatArray, degree: int
) -> Iterator[FloatArray]:
    """Yield posterior times orthonormal polynomial, (u, Q), for degrees 1 to `degree`: (2)."""
    # A posterior that sits on fewer nodes than the degree asks for gives zeros.
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
