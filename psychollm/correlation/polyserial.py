"""`polyserial` and `biserial`: correlations of scores with ordered or binary answers."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_fraction
from psychollm._base.errors import ShapeError
from psychollm._base.result import Result
from psychollm._base.types import AnyArray, Axis, FloatArray, IntArray
from psychollm.correlation.polychoric import ordered_codes
from psychollm.correlation.tetrachoric import PairStatus, delta_interval, status_names
from psychollm.data.correlated import check_axis
from psychollm.data.labels import order_of
from psychollm.data.responses import (
    Responses,
    ResponsesLike,
    as_responses,
    turned,
)
from psychollm.data.table import numbers, one_model
from psychollm.kernels.polychoric import margin_cuts
from psychollm.kernels.polyserial import correlate_serial

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SerialCorrelation(Result):
    """Correlations of scores (rows) with the latent variables of answers (columns).

    Attributes
    ----------
    matrix : ndarray of shape (s, k)
        Correlations; NaN where `status` is ``PairStatus.UNDEFINED``.
    se : ndarray of shape (s, k)
        Standard errors that account for the estimation of thresholds, means and SDs; NaN for
        correlations at a bound.
    se_fixed_thresholds : ndarray of shape (s, k)
        Standard errors as if thresholds, means and SDs were known.
    n : ndarray of shape (s, k)
        Number of units with both a score and an answer.
    status : ndarray of shape (s, k)
        `PairStatus` of each pair.
    residual : ndarray of shape (s, k)
        Last Newton step.
    iterations : ndarray of shape (s, k)
        Number of iterations.
    scores, labels : tuple
        Names of the s rows of scores and the k rows of answers.
    method : str
        "polyserial" or "biserial".
    """

    matrix: FloatArray  # (s, k)
    se: FloatArray  # (s, k)
    se_fixed_thresholds: FloatArray  # (s, k)
    n: IntArray  # (s, k)
    status: AnyArray  # (s, k)
    residual: FloatArray  # (s, k)
    iterations: IntArray  # (s, k)
    scores: tuple[Hashable, ...]  # s
    labels: tuple[Hashable, ...]  # k
    method: str

    _AXES = Axes(
        {"score": "scores", "answers": "labels"},
        "n",
        "correlation=matrix",
        "se",
        ("status", status_names),
        "residual",
        "iterations",
    )

    def interval(self, *, level: float = 0.95) -> FloatArray:
        """Return Fisher-z confidence intervals by the delta method, shape (s, k, 2).

        Parameters
        ----------
        level : float
            Nominal coverage, between 0 and 1.
        """
        check_fraction("level", level)
        return delta_interval(self.matrix, self.se, level)

    def __repr__(self) -> str:
        span = "all undefined"
        if np.isfinite(self.matrix).any():
            span = f"{np.nanmin(self.matrix):.3f} to {np.nanmax(self.matrix):.3f}"
        return (
            f"SerialCorrelation ({self.method}) of {len(self.scores)} scores with "
            f"{len(self.labels)} rows of answers: {span}\n"
            f"  undefined {int(np.sum(self.status == PairStatus.UNDEFINED))}, "
            f"at bound {int(np.sum(self.status == PairStatus.AT_BOUND))}"
        )


def polyserial(
    scores: ArrayLike | pd.DataFrame, answers: ResponsesLike, *, of: Axis = "models"
) -> SerialCorrelation:
    """Compute polyserial correlations of continuous scores with ordered answers.

    The model is a bivariate normal distribution of the score and a latent variable; thresholds
    divide the latent variable into answers. Thresholds, mean and SD are estimated from units with
    a score and an answer. The correlation maximises the likelihood of the answers given the
    scores.

    Parameters
    ----------
    scores : array_like (units,) or (s, units), or DataFrame
        Finite scores; NaN marks a missing score.
    answers : Responses, DataFrame or array of shape (k, units)
        Answers as ordered codes from 0 to 15; missing answers are omitted pair by pair. Each row
        of answers gives one column of the result.
    of : {"models", "questions"}
        Axis of `answers` that is correlated with the scores: its rows ("models") or its columns
        ("questions"). The other axis contains the units.

    Returns
    -------
    SerialCorrelation
        Correlations; a correlation is undefined if all scores or all answers of the pair are
        equal.

    Raises
    ------
    ShapeError
        If scores and answers differ in their number of units.
    CodeError
        If a score is infinite or not numeric, or if an answer is not a code.

    References
    ----------
    Olsson, U., Drasgow, F., & Dorans, N. J. (1982). The polyserial correlation coefficient.
    Psychometrika, 47(3), 337-347. https://doi.org/10.1007/BF02294164

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> score = rng.normal(size=4000)
    >>> answer = np.digitize(0.6 * score + 0.8 * rng.normal(size=4000), [-1, 0.5])
    >>> polyserial(score, answer[None], of="models").matrix.round(2)
    array([[0.59]])
    """
    table = as_responses(answers, argument="answers")
    check_axis(table, of, "answers")
    return _serial(scores, turned(table, of, "answers"), "polyserial")


def biserial(
    scores: ArrayLike | pd.DataFrame, answers: ResponsesLike, *, of: Axis = "models"
) -> SerialCorrelation:
    """Compute biserial correlations of continuous scores with binary answers.

    Parameters
    ----------
    scores : array_like (units,) or (s, units), or DataFrame
        Finite scores; NaN marks a missing score.
    answers : Responses, DataFrame or array of shape (k, units)
        Binary answers, 1 and 0; missing answers are omitted pair by pair. Each row of answers
        gives one column of the result.
    of : {"models", "questions"}
        Axis of `answers` that is correlated with the scores: its rows ("models") or its columns
        ("questions"). The other axis contains the units.

    Returns
    -------
    SerialCorrelation
        Correlations; a correlation is undefined if all scores or all answers of the pair are
        equal.

    Raises
    ------
    CodeError
        If an answer is not 0 or 1.
    ShapeError
        If scores and answers differ in their number of units.

    Notes
    -----
    The result is the maximum-likelihood estimate. The classical estimate from group means can
    exceed one and has a larger standard error.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> score = rng.normal(size=4000)
    >>> answer = 0.6 * score + 0.8 * rng.normal(size=4000) > 0.5
    >>> biserial(score, answer[None], of="models").matrix.round(2)
    array([[0.6]])
    """
    table = as_responses(answers, argument="answers", binary=True)
    check_axis(table, of, "answers")
    return _serial(scores, turned(table, of, "answers"), "biserial")


def _serial(scores: Any, table: Responses, method: str) -> SerialCorrelation:
    given = one_model(scores, argument="scores")
    if given.values.shape[1] != table.n_questions:
        msg = (
            f"scores hold {given.values.shape[1]} units, answers {table.n_questions}: both need "
            "one column per unit"
        )
        raise ShapeError(msg)
    z = numbers(given, argument="scores")
    units = given.questions if given.named[1] else None
    order = order_of("unit", units, table.questions, argument="scores")
    z = z if order is None else z[:, order]
    codes, _ = ordered_codes(table, "models")
    shape = (len(z), len(codes))
    estimates, steps = np.full((*shape, 5), np.nan), np.zeros(shape, dtype=np.int64)
    n = np.zeros(shape, dtype=np.int64)
    estimates[:, :, 4] = PairStatus.UNDEFINED
    for i, j in np.ndindex(shape):
        both = np.isfinite(z[i]) & (codes[j] >= 0)
        n[i, j] = both.sum()
        steps[i, j] = _pair(z[i, both], codes[j, both], estimates[i, j])
    return SerialCorrelation(
        matrix=estimates[:, :, 0],
        se=estimates[:, :, 1],
        se_fixed_thresholds=estimates[:, :, 2],
        n=n,
        status=estimates[:, :, 4].astype(np.int8),
        residual=estimates[:, :, 3],
        iterations=steps,
        scores=given.models,
        labels=table.models,
        method=method,
    )


def _pair(z: FloatArray, codes: AnyArray, out: FloatArray) -> int:
    """Write the estimate of one pair into `out`, unless a variable has no variance."""
    used, ranks = np.unique(codes, return_inverse=True)
    if used.size < 2 or np.ptp(z) == 0.0:
        return 0
    cuts = np.empty(used.size + 1)
    margin_cuts(np.bincount(ranks).astype(np.float64), cuts)
    standard = (z - z.mean()) / z.std()
    start = np.arcsin(np.clip(1.1 * np.corrcoef(standard, ranks)[0, 1], -0.95, 0.95))
    return int(correlate_serial(standard, ranks.astype(np.int8), cuts, float(start), out))
