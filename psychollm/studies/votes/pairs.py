"""Residuals of the votes on each pair of models."""

import numpy as np

from psychollm._base.types import FloatArray, IntArray
from psychollm.studies.votes.fit import Fit
from psychollm.studies.votes.marginal import here, taken_by_vote
from psychollm.studies.votes.result import Pairs
from psychollm.studies.votes.table import Votes


def pairs_of(votes: Votes, fit: Fit, first: IntArray) -> Pairs:
    """Return residuals of pairs, and the information on each pair, net of voters' effects."""
    k = votes.k
    place = np.empty(k, dtype=np.int64)
    place[first] = np.arange(k)
    one, other = place[votes.left], place[votes.right]
    sign = np.where(one < other, 1.0, -1.0)
    kinds, where = np.unique(
        np.minimum(one, other) * k + np.maximum(one, other), return_inverse=True
    )
    sums = [np.bincount(where, each) for each in (votes.n, sign * fit.scores[0], fit.weight)]
    n, residual, information = (np.asarray(each, np.float64) for each in sums)
    if votes.n_voters:
        mean = fit.mean_discrimination(votes)  # scores are means over the discrimination
        information = np.asarray(np.bincount(where, mean**2 * fit.weight), np.float64)
        information = information - _taken(votes, fit, where, sign * mean, kinds.size)
    return Pairs(i=kinds // k, j=kinds % k, n=n, residual=residual, information=information)


def _taken(
    votes: Votes, fit: Fit, where: IntArray, factor: FloatArray, n_pairs: int
) -> FloatArray:
    """Return, for each pair, the information that voters' effects remove (pairs,)."""
    found = np.zeros(n_pairs)
    for part in votes.parts:
        table, state = part.table, fit.state.of(part)
        at = here(table, state)
        cell, of = np.unique(table.voter * n_pairs + where[part.votes], return_inverse=True)
        for line in taken_by_vote(table, state, at):
            sums = np.bincount(of, factor[part.votes] * at.slope * line)
            found += np.bincount(cell % n_pairs, sums**2, minlength=n_pairs)
    return found
