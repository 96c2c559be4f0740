r"""Which questions to ask: a random sample whose chances are known.

A question is drawn with a chance :math:`\pi_j` proportional to the size of the error expected when
its score is predicted, mixed with an equal share so that none is zero; this makes the variance of
the corrected prediction smallest. The sample is systematic: chances are laid end to end along an
order in which neighbours are alike, and one random start picks a point in every unit length. Each
part of the bank then has the share of the sample that it is due.
"""

import numpy as np

from psychollm._base.types import BoolArray, FloatArray, IntArray

_ROUNDS = 100


def chances(size: FloatArray, n: int) -> FloatArray:
    """Return chances (J,) proportional to size >= 0 and at most 1, with the sum n."""
    pi = np.zeros(size.size)
    sure = np.zeros(size.size, dtype=bool)
    for _ in range(_ROUNDS):
        rest = size[~sure].sum()
        if rest <= 0.0:
            break
        pi = np.where(sure, 1.0, size * ((n - sure.sum()) / rest))
        over = (pi >= 1.0) & ~sure
        if not over.any():
            break
        sure |= over
    return np.asarray(np.minimum(pi, 1.0))


def systematic(pi: FloatArray, order: IntArray, rng: np.random.Generator) -> IntArray:
    """Draw a systematic sample with chances pi (J,), whole in sum, in random order."""
    ends = np.cumsum(pi[order])
    n = round(float(ends[-1]))
    points = (rng.random() + np.arange(n)) * (ends[-1] / n)
    places = np.minimum(np.searchsorted(ends, points, side="right"), order.size - 1)
    return np.asarray(rng.permutation(order[np.unique(places)]))


def alike(features: FloatArray, groups: IntArray) -> IntArray:
    """Return an order of questions (J,) in which neighbours are alike, group by group."""
    return np.concatenate(
        [_halved(features, np.flatnonzero(groups == group)) for group in np.unique(groups)]
    )


def _halved(features: FloatArray, which: IntArray) -> IntArray:
    """Split at the median of the widest feature again and again, turning every other half."""
    if which.size <= 2:
        return which
    widest = int(np.ptp(features[which], axis=0).argmax())
    ordered = which[np.argsort(features[which, widest], kind="stable")]
    half = which.size // 2
    return np.concatenate(
        [_halved(features, ordered[:half]), _halved(features, ordered[half:])[::-1]]
    )


def mixed(size: FloatArray, left: BoolArray, n: int, *, equal_share: float) -> FloatArray:
    """Return the chances (J,) of drawing n of the questions left, by size and in part equally."""
    size = np.where(left, size, 0.0)
    share = (1.0 - equal_share) * size / size.sum() + equal_share * left / left.sum()
    return chances(share, n)
