r"""Test whether strengths are additive around triangles of models, or whether votes are cyclic.

On the logit scale, votes on a pair deviate from the difference :math:`\theta_i - \theta_j` by
:math:`e_{ij} = r_{ij} / I_{ij}` (residual over information). The differences of strengths around a
triangle sum to zero. Equation (1) defines the curl of a triangle and its variance.

.. math:: c_{ijk} = e_{ij} + e_{jk} - e_{ik}, \qquad
          \operatorname{var} c_{ijk} = 1 / I_{ij} + 1 / I_{jk} + 1 / I_{ik}.          \quad (1)

The curl has mean 0 for any additive strengths (Jiang and others 2011). The test includes every
triangle; selecting cyclic triangles would bias the null distribution. The statistic is the mean of
the squared curls, each divided by its variance in equation (1). The expected value of the
statistic is 1 for additive strengths. For a single triangle, :math:`|c|` in units of its standard
error is compared with the maximum over all triangles. The null distributions of the statistic and
of the maximum come from a parametric bootstrap of the fitted model. Residuals of pairs are sums
over many votes, so they are drawn from a normal distribution. The variance of the normal
distribution is the model's variance :math:`I_{ij}` after elimination of each voter's effects on
side, ties and discrimination.

References
----------
Jiang, X., Lim, L.-H., Yao, Y., & Ye, Y. (2011). Statistical ranking and combinatorial Hodge
theory. Mathematical Programming, 127, 203-244. https://doi.org/10.1007/s10107-010-0419-x
"""

from dataclasses import dataclass

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_count, check_generator
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, IntArray, RandomState
from psychollm.data.labels import Labels

_LEAST = 1.0  # minimum information on a pair, about that in four to five votes
_MOST = 200_000  # largest number of triangles; those with the most information are tested
_LISTED = 1000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cycles(Result):
    """Test of additive strengths around triangles, and the triangles that deviate most.

    Examples
    --------
    >>> from psychollm.studies.votes.study import bradley_terry
    >>> votes = [("a", "b", "left"), ("b", "c", "left"), ("c", "a", "left")] * 30
    >>> votes += [(b, a, "right") for a, b, _ in votes] + [(b, a, "left") for a, b, _ in votes[:9]]
    >>> found = bradley_terry(votes, rng=1).cycles(rng=1)
    >>> found.p_value < 0.05, found.n_triangles, bool(found.circles[0])
    (True, 1, True)
    """

    p_value: float  # p-value of additive strengths in all triangles; NaN without enough votes
    statistic: float  # mean squared curl in units of its variance; 1 is expected
    n_triangles: int  # number of triangles whose three pairs have enough votes
    first: Labels  # (triangles,) preferred to second, second to third, third to first,
    second: Labels  # (triangles,) each more often than their strengths explain
    third: Labels  # (triangles,)
    curl: FloatArray  # (triangles,) curl in logits
    z: FloatArray  # (triangles,) curl in standard errors, the largest first
    adjusted: FloatArray  # (triangles,) p-values, adjusted for all triangles
    circles: BoolArray  # (triangles,) whether the majorities are also cyclic

    _AXES = Axes(
        {"triangle": None}, "first", "second", "third", "curl", "z", "adjusted", "circles"
    )


def cycles_of(
    i: IntArray,
    j: IntArray,
    gap: FloatArray,
    residual: FloatArray,
    information: FloatArray,
    labels: Labels,
    *,
    n_draws: int,
    rng: RandomState,
) -> Cycles:
    """Return the curls of triangles of pairs (i < j), and their test."""
    check_count("n_draws", n_draws, low=100)
    source = check_generator(rng)
    kept = information >= _LEAST
    i, j, gap = i[kept], j[kept], gap[kept]
    variance = 1.0 / information[kept]
    error = residual[kept] * variance
    triangles = _triangles(i, j, len(labels), variance)
    if not len(triangles):
        none = np.empty(0)
        return Cycles(
            p_value=np.nan, statistic=np.nan, n_triangles=0, first=(), second=(), third=(),
            curl=none, z=none, adjusted=none, circles=none.astype(np.bool_),
        )  # fmt: skip
    root = np.sqrt(variance[triangles].sum(axis=1))
    curl = _curls(error, triangles)
    z = np.abs(curl) / root
    statistic = float((z**2).mean())
    means, largest = np.empty(n_draws), np.empty(n_draws)
    for draw in range(n_draws):
        drawn = source.standard_normal(gap.size) * np.sqrt(variance)
        squares = (_curls(drawn, triangles) / root) ** 2
        means[draw], largest[draw] = squares.mean(), np.sqrt(squares.max())
    listed = np.argsort(-z, kind="stable")[:_LISTED]
    a, b = i[triangles[listed, 0]], j[triangles[listed, 0]]
    c = j[triangles[listed, 1]]
    forward = curl[listed] > 0.0
    order = np.where(forward, (a, b, c), (a, c, b))
    names = [tuple(labels[row] for row in line) for line in order]
    whole = np.where(forward, 1.0, -1.0) * (gap + error)[triangles[listed]].T
    above = np.searchsorted(np.sort(largest), z[listed])
    return Cycles(
        p_value=float((1 + (means >= statistic).sum()) / (n_draws + 1)),
        statistic=statistic,
        n_triangles=len(triangles),
        first=names[0],
        second=names[1],
        third=names[2],
        curl=np.abs(curl[listed]),
        z=z[listed],
        adjusted=(1.0 + n_draws - above) / (n_draws + 1),
        circles=(whole[0] > 0.0) & (whole[1] > 0.0) & (whole[2] < 0.0),
    )


def _triangles(i: IntArray, j: IntArray, k: int, variance: FloatArray) -> IntArray:
    """Return the indices of the three pairs ab, bc and ac of each triangle (triangles, 3)."""
    place = np.full((k, k), -1, dtype=np.int64)
    place[i, j] = np.arange(i.size)
    found = []
    for a in range(k):
        after = np.flatnonzero(place[a] >= 0)
        b, c = np.triu_indices(after.size, 1)
        b, c = after[b], after[c]
        closed = place[b, c] >= 0
        b, c = b[closed], c[closed]
        found.append(np.stack([place[a, b], place[b, c], place[a, c]], axis=1))
    triangles = np.concatenate(found) if found else np.empty((0, 3), dtype=np.int64)
    if len(triangles) > _MOST:
        least = np.argsort(variance[triangles].sum(axis=1), kind="stable")[:_MOST]
        triangles = triangles[least]
    return triangles


def _curls(error: FloatArray, triangles: IntArray) -> FloatArray:
    """Return the curl of each triangle, by equation (1)."""
    ab, bc, ac = error[triangles].T
    return np.asarray(ab + bc - ac)
