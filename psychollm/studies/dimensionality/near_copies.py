"""Near copies: models that agree beyond the shared factor, as relatives and clones do."""

from collections.abc import Hashable

import numpy as np
from scipy.special import ndtri

from psychollm.data.pair_counts import PairCounts
from psychollm.factor.one_factor.pairwise_likelihood import kernel_counts
from psychollm.factor.one_factor.residuals import MAX_STEPS, TOLERANCE
from psychollm.kernels.pairwise_likelihood import fit_pairwise, residuals, start_loadings

TRIMS = 10
STANDING_OUT = 2.0  # times the largest residual outside of such groups


def near_copies(counts: PairCounts, alpha: float) -> tuple[tuple[Hashable, ...], ...]:
    """Return groups of models in which each pair agrees more than the shared factor makes it."""
    # Near copies pull the factor to themselves: pairs that agree too much are set aside, and the
    # factor is fitted to the others, until the same pairs are left.
    cells, tau, rate = kernel_counts(counts)
    k = len(tau)
    pairs = np.isfinite(tau) & np.tri(k, k=-1, dtype=np.bool_)
    highest = float(ndtri(1.0 - 0.5 * alpha / max(pairs.sum(), 1)))
    above, z, loadings = np.zeros((k, k), dtype=np.bool_), np.empty((k, k)), np.empty(k)
    for _ in range(TRIMS):
        kept = np.where(above, np.nan, tau)
        start_loadings(cells, kept, loadings)
        fit_pairwise(cells, kept, rate, loadings, TOLERANCE, MAX_STEPS)
        residuals(cells, tau, rate, loadings[:, None], z)
        before, above = above, z > highest
        if (above == before).all() or np.tril(above).sum() > 0.5 * pairs.sum():
            break
    groups, left = [], set(range(k))
    for first, second in np.argwhere(np.tril(above))[np.argsort(-z[np.tril(above)])]:
        if not {int(first), int(second)} <= left:
            continue
        group = [int(first), int(second)]
        for other in sorted(left - set(group), key=lambda m: -float(z[m, group].min())):
            if above[other, group].all():
                group.append(other)
        left -= set(group)
        groups.append(group)
    outside = np.tril(np.abs(z), -1)
    for group in groups:
        outside[np.ix_(group, group)] = 0.0
    # A factor of many models makes residuals everywhere; those of near copies stand out.
    named = []
    for group in groups:
        mean = float(z[np.ix_(group, group)].sum() / (len(group) ** 2 - len(group)))
        if 2 * len(group) < k and mean > STANDING_OUT * outside.max():
            named.append(tuple(counts.labels[m] for m in sorted(group)))
    return tuple(named)
