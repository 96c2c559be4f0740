r"""Likelihoods of abilities: sums over items of functions of the ability, for many respondents.

All functions take codes (N, J), -1 where missing, and parameters (J, p) of the fitted items.
With :math:`P' = dP/d\theta` the score of an answer is :math:`(y - P) P' / (P (1 - P))`.
"""

from dataclasses import dataclass

import numpy as np

from psychollm._base.types import FloatArray, IntArray
from psychollm.kernels.response_models import slope_of_curve, yes_no

BLOCK = 2_000_000  # cells of a (respondents, items) table worked on at once


@dataclass(frozen=True, slots=True)
class Curves:
    """Curves of items at each respondent's ability, all (n, J)."""

    p: FloatArray
    q: FloatArray
    first: FloatArray
    second: FloatArray


def curves(parameters: FloatArray, abilities: FloatArray, link: str) -> Curves:
    """Return P, 1 - P, P' and P'' of each item at each ability (n,)."""
    p, q = yes_no(parameters, abilities, link)
    first, second = slope_of_curve(parameters, abilities, link)
    return Curves(p.T, q.T, first.T, second.T)


def blocks(n: int, items: int) -> list[slice]:
    """Return slices of respondents whose (respondents, items) tables fit the memory."""
    step = max(1, BLOCK // max(items, 1))
    return [slice(low, min(low + step, n)) for low in range(0, n, step)]


def test_information(parameters: FloatArray, abilities: FloatArray, link: str) -> FloatArray:
    """Return the expected information of all items (n,)."""
    at = curves(parameters, abilities, link)
    return np.asarray((at.first**2 / (at.p * at.q)).sum(axis=1))


@dataclass(frozen=True, slots=True)
class AbilitySlope:
    """Derivatives of each respondent's log-likelihood by its ability, (n,)."""

    gradient: FloatArray
    information: FloatArray  # expected
    observed: FloatArray  # minus the second derivative
    skew: FloatArray  # sum of P' P'' / (P (1 - P)), for Warm's correction


def ability_slope(
    parameters: FloatArray, abilities: FloatArray, codes: IntArray, link: str
) -> AbilitySlope:
    """Return the derivatives at each respondent's own ability (n,)."""
    at = curves(parameters, abilities, link)
    answered = codes >= 0
    residual = np.where(answered, (codes == 1) - at.p, 0.0)
    spread = at.p * at.q
    weight = np.where(answered, at.first / spread, 0.0)
    information = (weight * at.first).sum(axis=1)
    change = at.second / spread - at.first**2 * (at.q - at.p) / spread**2
    observed = information - (residual * np.where(answered, change, 0.0)).sum(axis=1)
    return AbilitySlope(
        gradient=(residual * weight).sum(axis=1),
        information=information,
        observed=observed,
        skew=(weight * at.second).sum(axis=1),
    )
