r"""Sample questions with known inclusion probabilities.

Question j is drawn with a probability :math:`\pi_j` proportional to the expected size of its
prediction error. These probabilities minimise the variance of the corrected prediction. Mixing the
inclusion probabilities with equal probabilities ensures that none is zero. The sample is
systematic. Questions are sorted so that neighbours are similar, and one question is selected per
unit of the cumulative inclusion probability, from a random start. Each group of similar questions
is therefore sampled in proportion to its total inclusion probability.
"""

import numpy as np

from psychollm._base.types import BoolArray, FloatArray, IntArray

_ROUNDS = 100


def chances(size: FloatArray, n: int) -> FloatArray:
    """Return inclusion probabilities (J,) with sum n, proportional to `size` but at most 1."""
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
    """Return a systematic sample with inclusion probabilities `pi` (J,), in random order."""
    ends = np.cumsum(pi[order])
    n = round(float(ends[-1]))
    points = (rng.random() + np.arange(n)) * (ends[-1] / n)
    places = np.minimum(np.searchsorted(ends, points, side="right"), order.size - 1)
    return np.asarray(rng.permutation(order[np.unique(places)]))


def alike(features: FloatArray, groups: IntArray) -> IntArray:
    """Return an order of questions (J,) in which neighbours are similar, group by group."""
    return np.concatenate(
        [_halved(features, np.flatnonzero(groups == group)) for group in np.unique(groups)]
    )


def _halved(features: FloatArray, which: IntArray) -> IntArray:
    """Order questions by repeated splits at the median of the feature with the largest range."""
    if which.size <= 2:
        return which
    widest = int(np.ptp(features[which], axis=0).argmax())
    ordered = which[np.argsort(features[which, widest], kind="stable")]
    half = which.size // 2
    return np.concatenate(
        [_halved(features, ordered[:half]), _halved(features, ordered[half:])[::-1]]
    )


def mixed(size: FloatArray, left: BoolArray, n: int, *, equal_share: float) -> FloatArray:
    """Return the inclusion probabilities (J,) for drawing n of the remaining questions."""
    size = np.where(left, size, 0.0)
    share = (1.0 - equal_share) * size / size.sum() + equal_share * left / left.sum()
    return chances(share, n)
