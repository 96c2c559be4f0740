r"""Unbiased estimates of pass@k and pass^k of a question, from s successes in n attempts.

Among all subsets of k of the n attempts, pass@k is the proportion with at least one success, and
pass^k is the proportion with only successes:

.. math:: \text{pass@}k = 1 - \binom{n - s}{k} \Big/ \binom{n}{k}, \qquad
          \text{pass\^{}}k = \binom{s}{k} \Big/ \binom{n}{k}                              \quad (1)

Powers of s / n are biased estimates of pass^k. With four successes in five attempts, (s / n)^4 is
.41, but only one of the five subsets of four attempts has four successes, so pass^4 is .20.

References
----------
Chen, M., et al. (2021). Evaluating large language models trained on code. arXiv:2107.03374.

Yao, S., Shinn, N., Razavi, P., & Narasimhan, K. (2024). tau-bench: A benchmark for
tool-agent-user interaction in real-world domains. arXiv:2406.12045.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from psychollm._base.types import FloatArray


def _share_of_choices(chosen: FloatArray, n: FloatArray, k: int) -> FloatArray:
    """Return C(chosen, k) / C(n, k); NaN if there are fewer than k attempts."""
    share = np.ones(np.broadcast_shapes(np.shape(chosen), np.shape(n)))
    with np.errstate(invalid="ignore", divide="ignore"):
        for i in range(k):
            share = share * np.maximum(chosen - i, 0.0) / (n - i)
    return np.where(n >= k, share, np.nan)


def _at_least_one(successes: FloatArray, n: FloatArray, k: int) -> FloatArray:
    return 1.0 - _share_of_choices(n - successes, n, k)


@dataclass(frozen=True, slots=True)
class Quantity:
    """Definition of pass@k or pass^k."""

    name: str
    sign: str
    meaning: str
    of: Callable[[FloatArray, FloatArray, int], FloatArray]  # arguments: successes, attempts, k

    def called(self, k: int) -> str:
        """Return the name for a given k, such as pass@3."""
        return f"pass{self.sign}{k}"


AT_LEAST_ONE = Quantity("pass@k", "@", "at least one of k attempts succeeds", _at_least_one)
EVERY = Quantity("pass^k", "^", "all of k attempts succeed", _share_of_choices)
QUANTITIES = (AT_LEAST_ONE, EVERY)
