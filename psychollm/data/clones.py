"""Models that answer alike: agreement of each pair beyond chance."""

import numpy as np

from psychollm._base.types import BoolArray, FloatArray
from psychollm.data.pair_counts import PairCounts
from psychollm.data.responses import Responses


def agreement_beyond_chance(
    said: Responses, eligible: BoolArray, min_answers: int
) -> tuple[FloatArray, FloatArray]:
    """Return Cohen's kappa of each pair of models, and how many questions both answered."""
    counts = PairCounts.count(said)
    n, own = counts.n, counts.yes
    other = own.T
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = (n - own - other + 2.0 * counts.joint) / n
        expected = (own * other + (n - own) * (n - other)) / n**2
        kappa = (observed - expected) / (1.0 - expected)
    compared = eligible[:, None] & eligible & (n >= min_answers)
    np.fill_diagonal(compared, val=False)
    return np.where(compared, kappa, np.nan), n
