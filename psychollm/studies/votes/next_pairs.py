r"""Which pairs to ask next: those that say most about the tiers.

A vote on the pair (a, b) adds the information I to the difference of its strengths, and lowers the
variance of the difference d of any other pair by

.. math:: \frac{I \, (d' C q)^2}{1 + I \, q' C q},                                        \quad (1)

q being the contrast of a and b and C the covariance of the strengths. Pairs are chosen one after
the other. Each time the reductions (1), in shares of the variance, are summed over the differences
that are open and may soon be shown: weights fall with the votes that it would take.
"""

from dataclasses import dataclass

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_count
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray
from psychollm.data.labels import Labels
from psychollm.studies.votes.davidson import chances

_TARGETS = 400  # differences that count: those that are open and nearest to being shown


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NextPairs(Result):
    """Pairs to ask, the most telling first.

    Examples
    --------
    >>> from psychollm.studies.votes.study import bradley_terry
    >>> votes = [("a", "b", "left")] * 30 + [("b", "c", "left"), ("c", "b", "left")] * 10
    >>> bradley_terry(votes, rng=1).next_pairs(3).to_frame()[["left", "right"]].shape
    (3, 2)
    """

    left: Labels  # (n,)
    right: Labels  # (n,)
    gain: FloatArray  # (n,) share of the open variance that the vote is expected to remove

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
    """Return the next n pairs."""
    check_count("n", n)
    k = len(labels)
    i, j = np.triu_indices(k, 1)
    gap = value[i] - value[j]
    left, _, right = chances(gap, np.full(gap.size, np.log(max(tie, 1e-30))))
    information = 0.25 * (left + right - (left - right) ** 2)
    # Pairs that nothing connects come first: nothing is known of their differences.
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
            best, gain = _best(i, j, gap, variance, c, information, multiple)
            gains.append(gain)
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


def _best(
    i: IntArray,
    j: IntArray,
    gap: FloatArray,
    variance: FloatArray,
    c: FloatArray,
    information: FloatArray,
    multiple: float,
) -> tuple[int, float]:
    """Return the pair whose vote removes most of the variance of open differences."""
    # How many times the votes so far it takes to show a difference.
    needed = variance * multiple**2 / np.maximum(gap**2, 0.25 * variance)
    open_ = np.flatnonzero(needed > 1.0)
    if not open_.size:
        open_ = np.arange(needed.size)
    open_ = open_[np.argsort(needed[open_], kind="stable")[:_TARGETS]]
    weight = 1.0 / needed[open_]
    columns = c[:, i] - c[:, j]
    across = columns[i[open_]] - columns[j[open_]]
    reduced = information * across**2 / (1.0 + information * variance)
    gain = (weight[:, None] * reduced / variance[open_, None]).sum(axis=0) / weight.sum()
    best = int(np.argmax(gain))
    return best, float(gain[best])
