r"""Choose the pairs of models that determine the boundaries of tiers with the fewest votes.

A tier ends before the first model that is significantly weaker than the tier's best model.
Therefore, only the differences between the best model of a tier and the models of the next tier
determine the tiers. A difference d is expected to become significant when the number of votes is
:math:`m_d` times the current number.

.. math:: m_d = \Bigl(\frac{c \, \mathrm{se}_d}{d}\Bigr)^2                               \quad (1)

Here, c is the number of standard errors in a simultaneous margin of error. The target tiers are
the tiers expected with three times the current number of votes. If these tiers are already
established, the target tiers are the tiers expected with six times the current number, and so on.
A vote on the pair (a, b) adds the information I to the difference between a and b, and lowers the
variance of another difference by the amount in equation (2).

.. math:: \frac{I \, (d' C q)^2}{1 + I \, q' C q}.                                        \quad (2)

Here, q is the contrast of a and b, d the contrast of the other difference, and C the covariance of
the strengths. Pairs are chosen sequentially, each with the covariance C expected after the votes
on the previously chosen pairs. The criterion is the reduction, by equation (2), of the sum of
:math:`m_d` over the inconclusive differences at the boundaries. Every third pair is instead the
pair whose difference in strength gains most precision from a vote, because a boundary may be
misplaced by chance.
"""

from dataclasses import dataclass

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_count
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray
from psychollm.data.labels import Labels
from psychollm.studies.comparison.ranks import tiers
from psychollm.studies.votes.davidson import chances

_AHEAD = 3.0  # multiple of the current number of votes at which tier boundaries are predicted
_EVERY = 3  # every third pair is chosen for the precision of its own difference
_MOST = 1e6
_TARGETS = 400  # number of targets, which are the differences nearest to significance


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NextPairs(Result):
    """Pairs to vote on next, the most informative first.

    Examples
    --------
    >>> from psychollm.studies.votes.study import bradley_terry
    >>> votes = [("a", "b", "left")] * 30 + [("b", "c", "left"), ("c", "b", "left")] * 10
    >>> bradley_terry(votes, rng=1).next_pairs(3).to_frame()[["left", "right"]].shape
    (3, 2)
    """

    left: Labels  # (n,)
    right: Labels  # (n,)
    gain: FloatArray  # (n,) proportion of the needed votes that a vote on the pair saves

    _AXES = Axes({}, "left", "right", "gain")


def next_pairs_of(
    value: FloatArray,
    covariance: FloatArray,
    half: FloatArray,
    se: FloatArray,
    component: IntArray,
    tie: float,
    labels: Labels,
    n: int,
) -> NextPairs:
    """Return the n pairs of models to vote on next."""
    check_count("n", n)
    k = len(labels)
    i, j = np.triu_indices(k, 1)
    gap = value[i] - value[j]
    left, _, right = chances(gap, np.full(gap.size, np.log(max(tie, 1e-30))))
    information = 0.25 * (left + right - (left - right) ** 2)
    # Pairs of unconnected models come first, because their differences are undetermined.
    apart = component[i] != component[j]
    c = covariance.copy()
    multiple = np.nanmax(np.append(half / se, 1.0)) if np.isfinite(half).any() else 3.0
    chosen: list[int] = []
    gains: list[float] = []
    for _ in range(n):
        if apart.any():
            best = int(np.flatnonzero(apart)[np.argmax(information[apart])])
            joined = component == component[j[best]]
            component = np.where(joined, component[i[best]], component)
            apart = component[i] != component[j]
            gains.append(np.nan)
        else:
            variance = c[i, i] + c[j, j] - 2.0 * c[i, j]
            gain = _gains(i, j, gap, variance, c, information, multiple, component)
            wide = len(chosen) % _EVERY == _EVERY - 1
            best = int(np.argmax(information * variance if wide else gain))
            gains.append(float(gain[best]))
        chosen.append(best)
        q = c[:, i[best]] - c[:, j[best]]
        own = q[i[best]] - q[j[best]]
        c = c - information[best] * np.outer(q, q) / (1.0 + information[best] * own)
    sides = [(i[one], j[one]) if t % 2 == 0 else (j[one], i[one]) for t, one in enumerate(chosen)]
    return NextPairs(
        left=tuple(labels[a] for a, _ in sides),
        right=tuple(labels[b] for _, b in sides),
        gain=np.array(gains),
    )


def _gains(
    i: IntArray,
    j: IntArray,
    gap: FloatArray,
    variance: FloatArray,
    c: FloatArray,
    information: FloatArray,
    multiple: float,
    part: IntArray,
) -> FloatArray:
    """Return, for each pair, the proportion of needed votes that one vote on the pair saves."""
    needed = variance * multiple**2 / np.maximum(gap**2, 1e-3 * variance)
    open_ = _open(i, j, needed, part)
    weight = needed[open_]
    columns = c[:, i] - c[:, j]
    across = columns[i[open_]] - columns[j[open_]]
    reduced = information * across**2 / (1.0 + information * variance)
    gain = (weight[:, None] * reduced / variance[open_, None]).sum(axis=0) / weight.sum()
    return np.asarray(gain)


def _open(i: IntArray, j: IntArray, needed: FloatArray, part: IntArray) -> IntArray:
    """Return the indices of the inconclusive differences at boundaries of tiers."""
    k = part.size
    ahead, known = _AHEAD, np.zeros(0, dtype=np.int64)
    while ahead < _MOST:
        better = np.zeros((k, k), dtype=np.bool_)
        better[i, j] = needed <= ahead
        tier = tiers(better, np.ones(k, dtype=np.bool_), part)
        first = np.ones(k, dtype=np.bool_)
        first[1:] = (np.diff(tier) != 0) | (np.diff(part) != 0)
        at = first[i] & (tier[j] == tier[i] + 1) & (part[i] == part[j])
        known = np.flatnonzero(at & (needed > 1.0))
        if known.size:
            break
        ahead *= 2.0
    if not known.size:
        known = np.flatnonzero(part[i] == part[j])
    return known[np.argsort(needed[known], kind="stable")[:_TARGETS]]
