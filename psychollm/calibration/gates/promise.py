r"""The lowest threshold on confidence whose errors are promised to be rare.

Let :math:`R(t)` be the share of wrong answers among those with a confidence of at least t, in the
population of questions. Of n answers at or above t, e were wrong. The hypothesis
:math:`R(t) > \alpha` is rejected where the upper Clopper-Pearson bound keeps to it,

.. math:: U(e, n) = B^{-1}(1 - \delta;\ e + 1,\ n - e) \le \alpha,                        \quad (1)

with B the beta distribution and :math:`1 - \delta` the certainty. Thresholds are tested from high
to low and the last before the first failure is the gate's (Learn then Test with a fixed sequence).
A threshold between two confidences that occurred has the answers of the upper one, so that the
sequence is one of all numbers, fixed before the data: given n, e is binomial at each of them, and
the first threshold that is too low passes with a chance of at most :math:`\delta`, however many
are tested and however confidences tie.

The sequence begins where one wrong answer may still pass: with n as small as 22 (for
:math:`\alpha = \delta = .1`) the first wrong answer would end it. That place depends on the
confidences alone. With a share of errors that rises and falls again as confidence does, it may
pass over a short stretch of thresholds that are too low; `validation/gate_promises.py` tries that.

Answers of one cluster count as

.. math:: \tilde n = \Big(\sum_g n_g\Big)^2 \Big/ \sum_g n_g^2                            \quad (2)

independent ones, with :math:`n_g` answers of cluster g at or above t (Kish): as if all answers of
a cluster were right or wrong together. No correlation within clusters is estimated, so that none
is estimated too low.

References
----------
Angelopoulos, A. N., Bates, S., Candès, E. J., Jordan, M. I., & Lei, L. (2025). Learn then test:
Calibrating predictive algorithms to achieve risk control. Annals of Applied Statistics, 19,
1641-1662. https://doi.org/10.1214/24-AOAS1998

Bauer, P. (1991). Multiple testing in clinical trials. Statistics in Medicine, 10, 871-890.
https://doi.org/10.1002/sim.4780100609

Kish, L. (1965). Survey sampling. Wiley.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from psychollm._base.types import FloatArray, IntArray
from psychollm.estimates.intervals import clopper_pearson
from psychollm.estimates.reasons import Reason


@dataclass(frozen=True, slots=True)
class Steps:
    """What is known of each threshold, from the highest confidence down."""

    threshold: FloatArray  # (steps,) distinct confidences
    coverage: FloatArray  # (steps,) share of answers at or above each
    error: FloatArray  # (steps,) share of these that are wrong
    upper: FloatArray  # (steps,) bound (1)
    size: FloatArray  # (steps,) independent answers (2)


def fewest_answers(at_most: float, certainty: float, wrong: int = 0) -> int:
    """Return the fewest answers that keep the promise with so many wrong ones among them."""
    low, high = wrong, wrong + 1
    while binom.cdf(wrong, high, at_most) > 1.0 - certainty:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        passes = binom.cdf(wrong, middle, at_most) <= 1.0 - certainty
        low, high = (low, middle) if passes else (middle, high)
    return high


def steps_of(
    confidence: FloatArray, wrong: FloatArray, clusters: IntArray | None, certainty: float
) -> Steps:
    """Return the steps of one model, from its answers (n,)."""
    order = np.argsort(-confidence, kind="stable")
    values = confidence[order]
    last = np.flatnonzero(np.append(values[1:] < values[:-1], values.size > 0))
    n = np.arange(1.0, values.size + 1.0)
    size = n
    if clusters is not None:
        size = n**2 / np.cumsum(2.0 * _earlier(clusters[order]) + 1.0)
    error, size = (np.cumsum(wrong[order]) / n)[last], size[last]
    upper = clopper_pearson(error * size, size, level=2.0 * certainty - 1.0)[..., 1]
    return Steps(values[last], n[last] / max(values.size, 1), error, upper, size)


def _earlier(member: IntArray) -> FloatArray:
    """Return how many answers of its cluster stand before each (n,)."""
    order = np.argsort(member, kind="stable")
    ordered = member[order]
    first = np.searchsorted(ordered, ordered)
    earlier = np.empty(member.size)
    earlier[order] = np.arange(member.size) - first
    return earlier


def promised_step(steps: Steps, at_most: float, certainty: float) -> tuple[int, Reason]:
    """Return the step of the lowest threshold that keeps the promise, -1 with a reason if none."""
    if not steps.size.size:
        return -1, Reason.NO_ANSWERS
    if steps.size.max() < fewest_answers(at_most, certainty):
        return -1, Reason.FEW_FOR_PROMISE
    start = min(fewest_answers(at_most, certainty, wrong=1), float(steps.size.max()))
    first = int(np.argmax(steps.size >= start))
    fails = np.append(steps.upper[first:] > at_most, True)
    passed = int(np.argmax(fails))
    return (first + passed - 1, Reason.NONE) if passed else (-1, Reason.NO_THRESHOLD)
