r"""Residuals of answers at each respondent's ability, from which fit statistics are computed.

The score of an answer is its code (0 for no, 1 for yes), or its slope in the nominal model, whose
answers have no order. With curves :math:`P_c` at the posterior mean of the ability and scores
:math:`s_c`, each answer has

.. math:: E = \sum_c P_c s_c, \quad W = \sum_c P_c (s_c - E)^2, \quad
          K = \sum_c P_c (s_c - E)^4.                                                    \quad (1)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.data.labels import Labels
from psychollm.data.responses import ResponsesLike
from psychollm.irt.ability import ability
from psychollm.irt.fit import codes_for
from psychollm.irt.result import IRTFit
from psychollm.irt.scoring import blocks


@dataclass(frozen=True, slots=True)
class AnswerResiduals:
    """Moments of answers at EAP abilities (respondents, fitted items), 0 if missing."""

    answered: BoolArray
    residual: FloatArray  # s - E
    variance: FloatArray  # W
    fourth: FloatArray  # K
    surprise: FloatArray  # log P of the answer minus its expectation
    surprise_variance: FloatArray
    labels: Labels


def answer_residuals(fit: IRTFit, responses: ResponsesLike) -> AnswerResiduals:
    """Return answers with their moments at the posterior mean of each ability."""
    codes = codes_for(fit, responses)
    found = ability(fit, responses)
    at = np.where(np.isfinite(found.ability), found.ability, 0.0) / fit.ability_sd
    parameters = fit.parameters[fit.fitted]
    tables = np.zeros((5, *codes.shape))
    for block in blocks(codes.shape[0], parameters.shape[0] * fit.n_categories):
        tables[:, block] = _moments(fit, parameters, at[block], codes[block])
    tables[:, codes < 0] = 0.0
    residual, variance, fourth, surprise, surprise_variance = tables
    return AnswerResiduals(
        answered=codes >= 0,
        residual=residual,
        variance=variance,
        fourth=fourth,
        surprise=surprise,
        surprise_variance=surprise_variance,
        labels=found.labels,
    )


def _moments(fit: IRTFit, parameters: FloatArray, at: FloatArray, codes: IntArray) -> FloatArray:
    """Return terms of equation (1), and residual and variance of the log probability (5, n, J)."""
    logs = fit.family.log_probabilities(parameters, at)  # (J, C, n)
    p = np.exp(logs)
    scores = fit.family.answer_scores(parameters)[:, :, None]
    gap = scores - (p * scores).sum(axis=1, keepdims=True)
    above = logs - (p * logs).sum(axis=1, keepdims=True)
    place = np.maximum(codes, 0).T[:, None]
    return np.stack(
        [
            np.take_along_axis(gap, place, axis=1)[:, 0].T,
            (p * gap**2).sum(axis=1).T,
            (p * gap**4).sum(axis=1).T,
            np.take_along_axis(above, place, axis=1)[:, 0].T,
            (p * above**2).sum(axis=1).T,
        ]
    )


@dataclass(frozen=True, slots=True)
class MeanSquares:
    """Mean squares with their standardised forms, and Zh, along one axis."""

    infit: FloatArray
    outfit: FloatArray
    z_infit: FloatArray
    z_outfit: FloatArray
    zh: FloatArray


def mean_squares(table: AnswerResiduals, axis: int) -> MeanSquares:
    """Return infit, outfit and Zh over respondents (axis 0) or items (axis 1)."""
    # Outfit is the mean of (s - E)^2 / W, and infit is this mean weighted by W. z-scores use
    # Wilson and Hilferty's cube root. Zh is the standardised log-likelihood, which is negative for
    # unlikely answers.
    w, square = table.variance, table.residual**2
    n = table.answered.sum(axis=axis).astype(np.float64)
    known = table.answered & (w > 0.0)
    ratio = np.divide(square, w, out=np.zeros_like(w), where=known)
    kurtosis = np.divide(table.fourth, w**2, out=np.zeros_like(w), where=known)
    with np.errstate(divide="ignore", invalid="ignore"):
        outfit = ratio.sum(axis=axis) / n
        infit = square.sum(axis=axis) / w.sum(axis=axis)
        spread_out = np.sqrt(kurtosis.sum(axis=axis) / n**2 - 1.0 / n)
        spread_in = np.sqrt((table.fourth - w**2).sum(axis=axis)) / w.sum(axis=axis)
        zh = table.surprise.sum(axis=axis) / np.sqrt(table.surprise_variance.sum(axis=axis))
    return MeanSquares(
        infit, outfit, _cube_root(infit, spread_in), _cube_root(outfit, spread_out), zh
    )


def _cube_root(mean_square: FloatArray, spread: FloatArray) -> FloatArray:
    """Return Wilson and Hilferty's normal score, with SDs limited to sqrt(2)."""
    spread = np.minimum(spread, np.sqrt(2.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((np.cbrt(mean_square) - 1.0) * (3.0 / spread) + spread / 3.0)
