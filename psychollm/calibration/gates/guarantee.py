r"""The lowest threshold of confidence with a guaranteed error rate.

Let :math:`R(t)` be the error rate among answers with a confidence of at least t, in the population
of questions. Of n observed answers with a confidence of at least t, e are wrong. The hypothesis
:math:`R(t) > \alpha` is rejected if the upper Clopper-Pearson bound of equation (1) is at most
:math:`\alpha`.

.. math:: U(e, n) = B^{-1}(1 - \delta;\ e + 1,\ n - e) \le \alpha.                        \quad (1)

Here B is the beta distribution, and :math:`1 - \delta` is the certainty. Thresholds are tested
from high to low, and testing stops at the first threshold that fails. The last threshold that
passed is used (Learn then Test with a fixed sequence). A threshold between two observed
confidences accepts the same answers as the higher confidence. The sequence therefore covers all
real thresholds and does not depend on the data. Given n, the number e of wrong answers has a
binomial distribution at each threshold. The first threshold with :math:`R(t) > \alpha` therefore
passes with probability at most :math:`\delta`, for any number of tests and any ties.

The sequence begins at the first threshold with enough answers to pass even if one answer is wrong.
For :math:`\alpha = \delta = .1`, 22 answers pass if none of them is wrong. A sequence that began
with 22 answers would often end after a single wrong answer. The start of the sequence depends only
on the confidences. If the error rate is not monotone in confidence, the start of the sequence may
skip a short range of thresholds that are too low. `validation/gate_guarantees.py` simulates error
rates that are not monotone in confidence.

Clustered answers are dependent. Let each cluster g of G clusters have :math:`n_g` answers at or
above t, of which :math:`h_g` are wrong, and let r = e / n. The number of independent answers is
estimated in two ways.

.. math:: n_K = \Big(\sum_g n_g\Big)^2 \Big/ \sum_g n_g^2, \qquad
          n_V = r (1 - r) \frac{(G - 1)\, n^2}{G \sum_g (h_g - r n_g)^2}
                \left(\frac{z}{t_\nu}\right)^2.                                           \quad (2)

The number :math:`n_K` assumes the worst case, in which all answers within a cluster are equal
(Kish). The number :math:`n_V` is estimated from the observed variance (Korn and Graubard), with
the quantiles z and :math:`t_\nu` of :math:`1 - \delta`. The degrees of freedom :math:`\nu` are
computed from fourth powers (`psychollm.estimates.clustered`). Bounds from :math:`n_K` are too
conservative. The number :math:`n_V` is too large if large clusters happen to contain no errors.
The geometric mean of :math:`n_K` and :math:`n_V` therefore replaces n in equation (1). In
simulations with the geometric mean, the error rate exceeded its bound in up to 7.1 % of data sets
(nominal 10 %). With :math:`n_V` alone, the error rate exceeded its bound in up to 17 % of data
sets. If there are no wrong answers, :math:`n_K` is used.

References
----------
Angelopoulos, A. N., Bates, S., Candès, E. J., Jordan, M. I., & Lei, L. (2025). Learn then test:
Calibrating predictive algorithms to achieve risk control. Annals of Applied Statistics, 19,
1641-1662. https://doi.org/10.1214/24-AOAS1998

Bauer, P. (1991). Multiple testing in clinical trials. Statistics in Medicine, 10, 871-890.
https://doi.org/10.1002/sim.4780100609

Kish, L. (1965). Survey sampling. Wiley.

Korn, E. L., & Graubard, B. I. (1998). Confidence intervals for proportions with small expected
number of positive counts estimated from survey data. Survey Methodology, 24, 193-201.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr, ndtri, stdtrit

from psychollm._base.types import FloatArray, IntArray
from psychollm.estimates.intervals import clopper_pearson
from psychollm.estimates.reasons import Reason


@dataclass(frozen=True, slots=True)
class Steps:
    """Statistics of each threshold, in order of decreasing confidence."""

    threshold: FloatArray  # (steps,) distinct confidences
    coverage: FloatArray  # (steps,) proportion of answers at or above the threshold
    error: FloatArray  # (steps,) proportion of these answers that are wrong
    upper: FloatArray  # (steps,) bound (1)
    size: FloatArray  # (steps,) effective number of independent answers (2)


def fewest_answers(at_most: float, certainty: float, wrong: int = 0) -> int:
    """Return the smallest number of answers that passes with a given number of wrong answers."""
    low, high = wrong, wrong + 1
    while bdtr(wrong, high, at_most) > 1.0 - certainty:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        passes = bdtr(wrong, middle, at_most) <= 1.0 - certainty
        low, high = (low, middle) if passes else (middle, high)
    return high


def steps_of(
    confidence: FloatArray, wrong: FloatArray, clusters: IntArray | None, certainty: float
) -> Steps:
    """Return the statistics of all thresholds of one model, from its answers (n,)."""
    order = np.argsort(-confidence, kind="stable")
    values, errs = confidence[order], wrong[order]
    last = np.flatnonzero(np.append(values[1:] < values[:-1], values.size > 0))
    n = np.arange(1.0, values.size + 1.0)
    size = n if clusters is None else _independent(errs, clusters[order], certainty)
    error, size = (np.cumsum(errs) / n)[last], size[last]
    upper = clopper_pearson(error * size, size, level=2.0 * certainty - 1.0)[..., 1]
    return Steps(values[last], n[last] / max(values.size, 1), error, upper, size)


def _independent(wrong: FloatArray, member: IntArray, certainty: float) -> FloatArray:
    """Return effective numbers of independent answers among the first 1, 2, ... answers."""
    n = np.arange(1.0, wrong.size + 1.0)
    inside = _running(np.ones(wrong.size), member)
    errors = _running(wrong, member)
    before = inside - 1.0, errors - wrong

    def total(a: int, b: int) -> FloatArray:
        """Return, by threshold, the sum over clusters of (wrong answers)^a (answers)^b."""
        return np.cumsum(errors**a * inside**b - before[1] ** a * before[0] ** b)

    r = np.cumsum(wrong) / n
    worst = n**2 / total(0, 2)
    groups = np.cumsum(inside == 1.0)
    square = total(2, 0) - 2.0 * r * total(1, 1) + r**2 * total(0, 2)
    fourth = (
        total(4, 0)
        - 4.0 * r * total(3, 1)
        + 6.0 * r**2 * total(2, 2)
        - 4.0 * r**3 * total(1, 3)
        + r**4 * total(0, 4)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        telling = square**2 / fourth
        df = 2.0 * telling / np.maximum(1.0 - telling / groups, 1e-9)
        df = np.maximum(np.fmin(df, worst - 1.0), 1.0)
        narrow = ndtri(certainty) / stdtrit(df, certainty)
        seen = r * (1.0 - r) * (groups - 1.0) * n**2 / (groups * square) * narrow**2
    known = (r > 0.0) & (r < 1.0) & np.isfinite(seen) & (groups > 1)
    size = np.where(known, np.sqrt(worst * np.minimum(seen, n)), worst)
    return np.where(groups == n, n, size)


def _running(values: FloatArray, member: IntArray) -> FloatArray:
    """Return, for each answer, the sum of its cluster's values up to this answer (n,)."""
    order = np.argsort(member, kind="stable")
    ordered, sums = member[order], np.cumsum(values[order])
    first = np.searchsorted(ordered, ordered)
    found = np.empty(values.size)
    found[order] = sums - (sums - values[order])[first]
    return found


def guaranteed_step(steps: Steps, at_most: float, certainty: float) -> tuple[int, Reason]:
    """Return the index of the lowest threshold that meets the guarantee, or -1 with a reason."""
    if not steps.size.size:
        return -1, Reason.NO_ANSWERS
    if steps.size.max() < fewest_answers(at_most, certainty):
        return -1, Reason.FEW_FOR_GUARANTEE
    start = min(fewest_answers(at_most, certainty, wrong=1), float(steps.size.max()))
    first = int(np.argmax(steps.size >= start))
    fails = np.append(steps.upper[first:] > at_most, True)
    passed = int(np.argmax(fails))
    return (first + passed - 1, Reason.NONE) if passed else (-1, Reason.NO_THRESHOLD)
