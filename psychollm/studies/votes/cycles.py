r"""Are there more circles than chance? Three models of which each beats the next.

On the logit scale a pair has the difference :math:`\theta_i - \theta_j` and what its votes say
beyond it, :math:`e_{ij} = r_{ij} / I_{ij}` (residual over information). Around a triangle
strengths cancel: the curl :math:`c = e_{ij} + e_{jk} + e_{ki}` has mean 0 and the variance
:math:`1 / I_{ij} + 1 / I_{jk} + 1 / I_{ki}` whatever the strengths are. The statistic is the
largest :math:`|c|` in standard errors among triangles that circle, and its null distribution comes
from normal errors of the pairs about differences without a circle.
"""

from dataclasses import dataclass

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_count, check_generator
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, IntArray, RandomState
from psychollm.data.labels import Labels

_LEAST = 1.0  # information of a pair, about that of four to five votes
_MOST = 200_000  # triangles: of more, those with the most information


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cycles(Result):
    """Triangles of models that circle, and the test that there are none.

    Examples
    --------
    >>> from psychollm.studies.votes.study import bradley_terry
    >>> votes = [("a", "b", "left"), ("b", "c", "left"), ("c", "a", "left")] * 30
    >>> votes += [(b, a, "right") for a, b, _ in votes] + [(b, a, "left") for a, b, _ in votes[:9]]
    >>> found = bradley_terry(votes, rng=1).cycles(rng=1)
    >>> found.p_value < 0.05, found.n_triangles
    (True, 1)
    """

    p_value: float  # NaN where no triangle has enough votes
    statistic: float  # largest curl of a circle, in standard errors
    expected: float  # its median without circles
    n_triangles: int  # whose three pairs have enough votes
    first: Labels  # (circles,) beats second, second beats third, third beats first
    second: Labels  # (circles,)
    third: Labels  # (circles,)
    z: FloatArray  # (circles,) curl in standard errors, the largest first

    _AXES = Axes({}, "first", "second", "third", "z")


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
    """Return the circles among pairs (i < j), and their test."""
    check_count("n_draws", n_draws, low=100)
    source = check_generator(rng)
    kept = information >= _LEAST
    i, j, gap = i[kept], j[kept], gap[kept]
    variance = 1.0 / information[kept]
    error = residual[kept] * variance
    triangles = _triangles(i, j, len(labels), variance)
    if not len(triangles):
        return Cycles(
            p_value=np.nan, statistic=np.nan, expected=np.nan, n_triangles=0, first=(),
            second=(), third=(), z=np.empty(0),
        )  # fmt: skip
    root = np.sqrt(variance[triangles].sum(axis=1))
    z = _curls(gap, error, triangles, root)
    drawn = np.array(
        [
            np.abs(_curls(gap, one, triangles, root)).max()
            for one in source.standard_normal((n_draws, gap.size)) * np.sqrt(variance)
        ]
    )
    statistic = float(np.abs(z).max())
    circles = np.flatnonzero(z)
    circles = circles[np.argsort(-np.abs(z[circles]), kind="stable")][:1000]
    a, b = i[triangles[circles, 0]], j[triangles[circles, 0]]
    c = j[triangles[circles, 1]]
    forward = z[circles] > 0.0
    order = np.where(forward, (a, b, c), (a, c, b))
    names = [tuple(labels[row] for row in line) for line in order]
    return Cycles(
        p_value=float((1 + (drawn >= statistic).sum()) / (n_draws + 1)),
        statistic=statistic,
        expected=float(np.median(drawn)),
        n_triangles=len(triangles),
        first=names[0],
        second=names[1],
        third=names[2],
        z=np.abs(z[circles]),
    )


def _triangles(i: IntArray, j: IntArray, k: int, variance: FloatArray) -> IntArray:
    """Return the places of the pairs ab, bc and ac of each triangle (triangles, 3)."""
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


def _curls(
    gap: FloatArray, error: FloatArray, triangles: IntArray, root: FloatArray
) -> FloatArray:
    """Return the curl of each triangle in standard errors, 0 where it does not circle."""
    whole = gap + error
    ab, bc, ac = whole[triangles].T
    circles: BoolArray = ((ab > 0) & (bc > 0) & (ac < 0)) | ((ab < 0) & (bc < 0) & (ac > 0))
    e = error[triangles]
    return np.where(circles, (e[:, 0] + e[:, 1] - e[:, 2]) / root, 0.0)
