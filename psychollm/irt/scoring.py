r"""Derivatives of log-likelihoods of abilities, for many respondents.

All functions take codes (N, J), -1 where missing, and parameters (J, p) of the fitted items. Let
:math:`P_c` be the curve of answer c of an item, and ' the derivative with respect to the ability.
An answer y contributes the terms

.. math:: \frac{P_y'}{P_y}, \qquad I = \sum_c \frac{P_c'^2}{P_c}, \qquad
          \Big(\frac{P_y'}{P_y}\Big)^2 - \frac{P_y''}{P_y}, \qquad
          J = \sum_c \frac{P_c' P_c''}{P_c}                                             \quad (1)

to the gradient, the expected and the observed information, and Warm's correction. For binary items
the gradient is :math:`(y - P) P' / (P (1 - P))`.
"""

from dataclasses import dataclass

import numpy as np

from psychollm._base.types import FloatArray, IntArray
from psychollm.irt.families import Dichotomous, Family
from psychollm.irt.mixed import NEVER
from psychollm.kernels.response_models import slope_of_curve, yes_no

BLOCK = 2_000_000  # cells of a (respondents, items) table per block


@dataclass(frozen=True, slots=True)
class Curves:
    """Curves of items at each respondent's ability; all arrays have the shape (n, J)."""

    p: FloatArray
    q: FloatArray
    first: FloatArray
    second: FloatArray


def curves(parameters: FloatArray, abilities: FloatArray, link: str) -> Curves:
    """Return P, 1 - P, P' and P'' of each item at each ability (n,)."""
    p, q = yes_no(parameters, abilities, link)
    first, second = slope_of_curve(parameters, abilities, link)
    return Curves(p.T, q.T, first.T, second.T)


def drawn_answers(
    family: Family, parameters: FloatArray, abilities: FloatArray, rng: np.random.Generator
) -> IntArray:
    """Draw answers (n, J) for given abilities (n,)."""
    logs = family.log_probabilities(parameters, abilities)
    reached = np.exp(logs).cumsum(axis=1)[:, :-1].transpose(2, 0, 1)  # (n, J, C - 1)
    # The last cumulative probability is omitted, because rounding may keep it below 1.
    last = (logs[:, 1:] > NEVER)[:, ::-1].cumsum(axis=1)[:, ::-1].transpose(2, 0, 1) > 0
    uniform = rng.random(reached.shape[:2])
    return np.asarray(((uniform[:, :, None] >= reached) & last).sum(axis=2))


def blocks(n: int, items: int) -> list[slice]:
    """Return slices of respondents whose (respondents, items) tables fit in memory."""
    step = max(1, BLOCK // max(items, 1))
    return [slice(low, min(low + step, n)) for low in range(0, n, step)]


@dataclass(frozen=True, slots=True)
class AbilitySlope:
    """Sums in equation (1), (n,) each: gradient, information and Warm's correction."""

    gradient: FloatArray
    information: FloatArray  # expected information
    observed: FloatArray  # observed information
    skew: FloatArray  # J of (1), for Warm's correction


def ability_slope(
    family: Family, parameters: FloatArray, abilities: FloatArray, codes: IntArray
) -> AbilitySlope:
    """Return log-likelihood derivatives, each at the respondent's own ability (n,)."""
    if isinstance(family, Dichotomous):
        return _yes_no_slope(parameters, abilities, codes, family.link)
    curve, first, second = family.by_ability(parameters, abilities)
    answered = codes >= 0
    place = np.maximum(codes, 0).T[:, None]

    def given(values: FloatArray) -> FloatArray:
        return np.asarray(np.take_along_axis(values, place, axis=1)[:, 0].T)

    p = given(curve)
    score = np.where(answered, given(first) / p, 0.0)
    bend = np.where(answered, given(second) / p, 0.0)
    information = (first**2 / curve).sum(axis=1).T
    skew = (first * second / curve).sum(axis=1).T
    return AbilitySlope(
        gradient=score.sum(axis=1),
        information=np.where(answered, information, 0.0).sum(axis=1),
        observed=(score**2 - bend).sum(axis=1),
        skew=np.where(answered, skew, 0.0).sum(axis=1),
    )


def _yes_no_slope(
    parameters: FloatArray, abilities: FloatArray, codes: IntArray, link: str
) -> AbilitySlope:
    """Return `ability_slope` for binary items, from the curve of one of the two answers."""
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
