r"""Probabilities of left, tie and right, and the likelihood of one vote.

Equation (1) gives the probabilities, with :math:`\eta` the log odds of left against right and
:math:`\nu` the log of Davidson's tie parameter.

.. math:: P(\text{left}) : P(\text{tie}) : P(\text{right}) =
          e^{\eta / 2} : e^{\nu} : e^{-\eta / 2}.                                         \quad (1)

Between equally strong models, a tie has probability :math:`e^\nu / (2 + e^\nu)`. Without ties, the
model is the Bradley-Terry model.

References
----------
Davidson, R. R. (1970). On extending the Bradley-Terry model to accommodate ties in paired
comparison experiments. Journal of the American Statistical Association, 65, 317-328.
https://doi.org/10.1080/01621459.1970.10481082
"""

from typing import NamedTuple

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.kernels.voters import FURTHEST

NEVER = -60.0  # log tie parameter if ties do not occur


class Terms(NamedTuple):
    """Log-likelihood of votes, its derivatives, and the expected information."""

    likelihood: FloatArray  # (...)
    eta: FloatArray  # (...) derivative in the log odds
    nu: FloatArray  # (...) derivative in the log tie parameter
    eta_eta: FloatArray  # (...) information
    eta_nu: FloatArray
    nu_nu: FloatArray


def chances(eta: FloatArray, nu: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the probabilities of left, tie and right, by equation (1)."""
    left = np.exp(0.5 * np.clip(eta, -FURTHEST, FURTHEST))
    right = 1.0 / left
    tie = np.exp(nu)
    total = left + right + tie
    return left / total, tie / total, right / total


def terms(eta: FloatArray, nu: FloatArray, wins: FloatArray, n: FloatArray) -> Terms:
    """Return likelihood terms of votes with weights `wins` (3, votes) that sum to `n` (votes,)."""
    left, tie, right = chances(eta, nu)
    gap = left - right
    with np.errstate(divide="ignore"):
        log_tie = np.log(tie)
    likelihood = (wins[0] - wins[2]) * 0.5 * np.clip(eta, -FURTHEST, FURTHEST)
    likelihood += n * (log_tie - nu) + wins[1] * nu
    return Terms(
        likelihood,
        0.5 * (wins[0] - wins[2] - n * gap),
        wins[1] - n * tie,
        0.25 * n * (left + right - gap**2),
        -0.5 * n * tie * gap,
        n * tie * (1.0 - tie),
    )
