r"""How much a review says about whether the answer is right.

With :math:`h` the share of wrong answers that it faults and :math:`f` that of right ones,

.. math:: J = h - f                                                                      \quad (1)

is Youden's index: 0 for a review that faults alike, or always. Its interval joins Wilson's of both
shares (Newcombe, 1998). The mutual information of verdict and correctness, in bits, says how much
of the uncertainty about the answer the verdict removes; its plug-in value is too large by about
:math:`1 / (2 n \ln 2)` (Miller and Madow), which is taken off and not below zero.

References
----------
Newcombe, R. G. (1998). Interval estimation for the difference between independent proportions:
Comparison of eleven methods. Statistics in Medicine, 17, 873-890.
"""

from dataclasses import dataclass

import numpy as np

from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.estimates.proportions import wilson
from psychollm.estimates.repeated_share import effective_size


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Informativeness(Result):
    """How well reviews tell wrong answers from right ones."""

    youden: float  # share of wrong answers faulted minus that of right ones (1)
    interval: FloatArray  # (2,)
    bits: float  # mutual information of verdict and correctness, corrected for bias
    entropy: float  # of correctness, in bits: as much as there is to be said
    n_wrong: int
    n_right: int
    level: float


def informativeness(
    wrong: FloatArray, faulted: FloatArray, units: tuple[str, ...], *, level: float = 0.95
) -> Informativeness:
    """Compare verdicts with what they are about; arrays are (answers,), NaN where unknown."""
    # Several answers to one question count by the effective size.
    known = np.isfinite(wrong) & np.isfinite(faulted)
    parts = []
    codes = np.unique(np.asarray(units, dtype=str), return_inverse=True)[1]
    for value in (1.0, 0.0):
        here = known & (wrong == value)
        n = np.bincount(codes[here], minlength=1).astype(np.float64)
        hits = np.bincount(codes[here], weights=faulted[here], minlength=1).astype(np.float64)
        size = effective_size(hits, n)
        rate = float(hits.sum() / n.sum()) if n.sum() else np.nan
        parts.append((rate, wilson(np.nan_to_num(rate) * size, size, level=level)))
    (h, among_wrong), (f, among_right) = parts
    spread_low = np.hypot(h - among_wrong[0], among_right[1] - f)
    spread_high = np.hypot(among_wrong[1] - h, f - among_right[0])
    table = np.array(
        [[np.sum(known & (wrong == a) & (faulted == b)) for b in (0.0, 1.0)] for a in (0.0, 1.0)]
    )
    bits, entropy = _information(table.astype(np.float64))
    return Informativeness(
        youden=h - f,
        interval=np.array([h - f - spread_low, h - f + spread_high]),
        bits=bits,
        entropy=entropy,
        n_wrong=int(table[1].sum()),
        n_right=int(table[0].sum()),
        level=level,
    )


def _information(table: FloatArray) -> tuple[float, float]:
    """Return mutual information, corrected, and the entropy of the rows, in bits."""
    n = float(table.sum())
    if n == 0.0:
        return np.nan, np.nan
    rows, columns = _entropy(table.sum(axis=1) / n), _entropy(table.sum(axis=0) / n)
    found = rows + columns - _entropy(table.ravel() / n)
    both = np.count_nonzero(table.sum(axis=0)) > 1 and np.count_nonzero(table.sum(axis=1)) > 1
    return max(float(found - both / (2.0 * n * np.log(2.0))), 0.0), rows


def _entropy(shares: FloatArray) -> float:
    there = shares[shares > 0]
    return float(-(there * np.log2(there)).sum())
