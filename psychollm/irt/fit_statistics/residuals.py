"""Answers against their expectation at each respondent's ability: what fit statistics rest on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.types import BoolArray, FloatArray
from psychollm.data.labels import Labels
from psychollm.irt.ability import ability
from psychollm.irt.fit import codes_for
from psychollm.irt.result import IRTFit
from psychollm.irt.scoring import curves

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

    from psychollm.data.responses import Responses


@dataclass(frozen=True, slots=True)
class AnswerResiduals:
    """Answers and their probabilities at the EAP ability, all (respondents, fitted items)."""

    answered: BoolArray
    yes: FloatArray
    p: FloatArray
    q: FloatArray
    labels: Labels

    @property
    def residual(self) -> FloatArray:
        """Y - P, 0 where missing."""
        return np.where(self.answered, self.yes - self.p, 0.0)

    @property
    def variance(self) -> FloatArray:
        """P (1 - P), 0 where missing."""
        return np.where(self.answered, self.p * self.q, 0.0)


def answer_residuals(
    fit: IRTFit, responses: Responses | pd.DataFrame | ArrayLike
) -> AnswerResiduals:
    """Return answers with their probabilities at the posterior mean of each ability."""
    codes = codes_for(fit, responses)
    scores = ability(fit, responses)
    at = np.where(np.isfinite(scores.ability), scores.ability, 0.0) / fit.ability_sd
    there = curves(fit.parameters[fit.fitted], at, fit.link)
    return AnswerResiduals(
        answered=codes >= 0,
        yes=(codes == 1).astype(np.float64),
        p=np.ascontiguousarray(there.p),
        q=np.ascontiguousarray(there.q),
        labels=scores.labels,
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
    r"""Return infit, outfit and Zh over respondents (axis 0) or items (axis 1).

    Outfit is the mean of :math:`(y-P)^2 / (P Q)`, infit the same weighted by P Q; z scores are
    Wilson and Hilferty's cube roots. Zh is the log-likelihood minus its expectation over its
    standard deviation, large and negative where answers surprise.
    """
    w, square = table.variance, table.residual**2
    n = table.answered.sum(axis=axis).astype(np.float64)
    fourth = w * (1.0 - 3.0 * w)  # E (y - P)^4 = P Q (1 - 3 P Q)
    ratio = np.divide(square, w, out=np.zeros_like(w), where=table.answered)
    kurtosis = np.divide(fourth, w**2, out=np.zeros_like(w), where=table.answered)
    odds = np.where(table.answered, np.log(table.p) - np.log(table.q), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        outfit = ratio.sum(axis=axis) / n
        infit = square.sum(axis=axis) / w.sum(axis=axis)
        spread_out = np.sqrt(kurtosis.sum(axis=axis) / n**2 - 1.0 / n)
        spread_in = np.sqrt((fourth - w**2).sum(axis=axis)) / w.sum(axis=axis)
        # l - E l = (y - P) log(P / Q) for each answer
        surprise = (table.residual * odds).sum(axis=axis)
        zh = surprise / np.sqrt((w * odds**2).sum(axis=axis))
    return MeanSquares(
        infit, outfit, _cube_root(infit, spread_in), _cube_root(outfit, spread_out), zh
    )


def _cube_root(mean_square: FloatArray, spread: FloatArray) -> FloatArray:
    """Return Wilson and Hilferty's normal score; spreads above sqrt(2) count as that."""
    spread = np.minimum(spread, np.sqrt(2.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((np.cbrt(mean_square) - 1.0) * (3.0 / spread) + spread / 3.0)
