"""How many factors each rule counts, side by side."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.estimates.null import Null


def leading(observed: FloatArray, bar: FloatArray) -> int:
    """Count leading eigenvalues above their bar: the first that falls short ends the count.

    Examples
    --------
    >>> import numpy as np
    >>> leading(np.array([5.0, 1.2, 1.1]), np.array([2.0, 1.3, 1.0]))
    1
    """
    short = np.flatnonzero(~(observed > bar))
    return int(short[0]) if short.size else int(observed.size)


def count_factors(permutation: Null, one_factor: Null, *, tested: int) -> Mapping[str, int]:
    """Return the number of factors by each rule, from nulls of eigenvalues (k,).

    ``tested`` is the verdict of the rule-free test. The one-factor null says nothing about the
    first eigenvalue, which it reproduces by construction, so there the count starts at one.
    """
    observed = np.asarray(permutation.observed)
    top = one_factor.quantile(0.95)
    return {
        "rule-free residual test": tested,
        "one-factor null, 95 %": 1 + leading(observed[1:], top[1:]),
        "permutation null, 95 %": leading(observed, permutation.quantile(0.95)),
        "permutation null, mean": leading(observed, permutation.mean),
        "Kaiser (eigenvalue > 1)": int(np.sum(observed > 1.0)),
    }
