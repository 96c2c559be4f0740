"""Probabilities of left, tie and right, with voters' effects integrated out."""

from itertools import product

import numpy as np

from psychollm._base.types import FloatArray, IntArray
from psychollm.studies.votes.davidson import chances

_NODES = 5
_MANY = 200_000  # number of pairs above which fewer nodes are used


def expected_chances(
    delta: FloatArray,
    added: FloatArray,
    nu: float,
    *,
    spread: FloatArray,
    effects: FloatArray,
    roots: FloatArray,
    voter: IntArray,
) -> FloatArray:
    """Return the probabilities (n, 3) of left, tie and right for pairs.

    Discrimination multiplies `delta` (n,); `added` (n,) is added to the log odds; `spread` (n,) is
    the standard error of `delta`. The array `roots` has the roots of the covariances of effects
    (voters, 3); `voter` (n,) is the index of each vote's voter.
    """
    m = _NODES if delta.size <= _MANY else 3
    x, w = np.polynomial.hermite_e.hermegauss(m)
    w = w / w.sum()
    found = np.zeros((3, delta.size))
    used = [places if np.abs(roots[:, places]).any() else (0,) for places in range(3)]
    lines = [x if isinstance(one, int) else np.zeros(1) for one in used]
    weights = [w if line.size > 1 else np.ones(1) for line in lines]
    error, error_weight = np.polynomial.hermite_e.hermegauss(3)
    error_weight = error_weight / error_weight.sum()
    for places in product(*(range(line.size) for line in lines)):
        node = np.array([line[place] for line, place in zip(lines, places, strict=True)])
        weight = np.prod([one[place] for one, place in zip(weights, places, strict=True)])
        s, t, alpha = (effects + roots @ node)[voter].T
        slope = np.exp(alpha)
        for one, share in zip(error, error_weight, strict=True):
            eta = slope * (delta + one * spread) + added + s
            found += weight * share * np.stack(chances(eta, nu + t))
    return found.T
