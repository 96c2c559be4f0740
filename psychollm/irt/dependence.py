r"""Residual correlations between respondents of known or unknown families.

Models that are derived from one another have correlated residuals. If the standardised residuals r
of an item have correlation :math:`\rho_f` between members of family f, its :math:`m_f` members
carry the information of

.. math:: m_f / (1 + (m_f - 1) \rho_f)                                                   \quad (1)

independent respondents. When items are estimated, each member therefore has the weight
:math:`1 / (1 + (m_f - 1) \rho_f)`. A fitted item absorbs part of the true residuals e of its
respondents. Let X be the derivatives of an item's standardised expectations with respect to the
item's parameters, C the covariance of these parameters, :math:`\delta` their deviations from the
prior mean, and W the weights of respondents. Then

.. math:: r = M (e + X \delta), \qquad M = 1 - X C X^\top W, \qquad
          \operatorname{Cov}(\delta) = (C^{-1} - X^\top W X)^{-1}.                        \quad (2)

The expected sums of products of residuals within families are therefore linear in all
:math:`\rho_f`, which are estimated by solving linear equations.
"""

from dataclasses import replace
from typing import TypeAlias

import numpy as np
from scipy.special import ndtri

from psychollm._base.types import FloatArray, IntArray
from psychollm.data.labels import Labels
from psychollm.irt.answers import Patterns
from psychollm.irt.result import IRTFit

Residuals: TypeAlias = tuple[FloatArray, FloatArray]  # r (J, N), X (J, p, N)

CELLS = 2**21  # entries of pair tables in memory at a time
FEWEST = 50  # fewest items for a search of all pairs
MOST = 1_000  # most respondents for a search of all pairs
LIKELY = 0.01  # probability that any pair is named if all respondents are independent
ALIKE = 0.15  # smallest residual correlation of a named pair


def residuals_of(fit: IRTFit, codes: IntArray, abilities: FloatArray) -> Residuals:
    """Return standardised residuals and derivatives, 0 where an answer is missing."""
    keep = fit.fitted
    parameters = np.nan_to_num(fit.parameters[keep])
    chance = np.exp(fit.family.log_probabilities(parameters, abilities))  # (J, C, N)
    credit = np.arange(fit.n_categories)[:, None]
    mean = (credit * chance).sum(axis=1)
    size = np.sqrt(np.maximum((credit**2 * chance).sum(axis=1) - mean**2, 1e-12))
    scores = fit.family.scores(parameters, abilities)  # (J, C, p, N)
    slopes = np.einsum("jcn,jcpn->jpn", credit * chance, scores) / size[:, None]
    own = codes[:, keep].T
    seen = own >= 0
    return np.where(seen, (own - mean) / size, 0.0), slopes * seen[:, None]


def family_correlations(
    fit: IRTFit, found: Residuals, member: IntArray, weights: FloatArray
) -> FloatArray:
    """Return each family's residual correlation by equation (2); 0 for one-member families."""
    n_families, n = int(member.max()) + 1, member.size
    inside = np.eye(n_families)[member]  # (N, F)
    own, slopes = found
    covariance = np.nan_to_num(fit.covariance[fit.fitted])
    bend, turn = np.zeros((n, n)), np.zeros((n_families, n, n))
    step = max(1, CELLS // n**2)
    for low in range(0, len(own), step):
        x, known = slopes[low : low + step], covariance[low : low + step]
        there = (np.abs(x).max(axis=1) > 0.0).astype(np.float64)
        hat = x.transpose(0, 2, 1) @ known @ x
        left = (np.eye(n) * there[:, None] - hat * weights) * there[:, :, None]
        bend += hat.sum(axis=0) - _squares(hat * np.sqrt(weights)) + _squares(left)
        for f in range(n_families):
            part = left[:, :, member == f]
            total = part.sum(axis=2)
            turn[f] += total.T @ total - _squares(part)
    seen = (inside.T @ own.T) ** 2 - inside.T @ own.T**2  # (F, J)
    rest = seen.sum(axis=1) - _between_members(bend, inside)
    matrix = np.stack([_between_members(one, inside) for one in turn], axis=1)
    alone = np.bincount(member) < 2
    matrix[alone, alone], rest[alone] = 1.0, 0.0
    return np.asarray(np.clip(np.linalg.solve(matrix, rest), 0.0, 1.0))


def _squares(tables: FloatArray) -> FloatArray:
    """Return the sum of A A^T over matrices A of the array `tables` (J, n, m)."""
    flat = tables.transpose(1, 0, 2).reshape(tables.shape[1], -1)
    return np.asarray(flat @ flat.T)


def _between_members(square: FloatArray, inside: FloatArray) -> FloatArray:
    """Return sums of a table (N, N) over pairs of different members of each family (F,)."""
    every = np.einsum("nf,nm,mf->f", inside, square, inside)
    return np.asarray(every - inside.T @ np.diagonal(square))


def weighted(patterns: Patterns, weights: FloatArray | None) -> Patterns:
    """Return patterns with frequencies from the weights of their respondents (N,)."""
    if weights is None:
        return patterns
    return replace(
        patterns, frequency=np.bincount(patterns.of_respondent, weights).astype(np.float64)
    )


def alike(found: Residuals, labels: Labels) -> tuple[Labels, ...]:
    """Return groups of respondents that are linked by correlated residuals."""
    own, n = found[0], len(labels)
    if not 2 < n <= MOST or len(own) < FEWEST:
        return ()
    square = own**2
    product, size = own.T @ own, np.sqrt(square.T @ square)
    seen = (own != 0.0).astype(np.float64)
    lengths = np.sqrt((square.T @ seen) * (seen.T @ square))
    likely = -ndtri(LIKELY / (n * (n - 1)))
    linked = np.triu((product > likely * size) & (product > ALIKE * lengths), 1)
    group = np.arange(n)
    for i, k in np.argwhere(linked):
        group[group == group[k]] = group[i]
    groups = [np.flatnonzero(group == g) for g in dict.fromkeys(group.tolist())]
    return tuple(tuple(labels[i] for i in rows) for rows in groups if rows.size > 1)
