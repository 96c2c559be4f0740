r"""Local dependence: pairs of items that are dependent given the ability.

* Q3 (Yen, 1984) is the correlation of two items' residuals at the posterior means of abilities.
  Residuals are computed for codes or, in the nominal model, for the slopes of the answers. Q3 is
  about -1/(J-1) for independent answers to J items.
* Chen and Thissen's X2 compares each pair's table with its expectation under the model.
  X2 is also given as Cramer's V (phi for binary items), :math:`\pm\sqrt{X^2/(n (C - 1))}`, with
  the sign of the excess correlation. C is the smaller of the two items' numbers of answer
  categories.

References
----------
Yen, W. M. (1984). Effects of local item dependence on the fit and equating performance of the
three-parameter logistic model. Applied Psychological Measurement, 8(2), 125-145.
https://doi.org/10.1177/014662168400800201

Chen, W.-H., & Thissen, D. (1997). Local dependence indexes for item pairs using item response
theory. Journal of Educational and Behavioral Statistics, 22(3), 265-289.
https://doi.org/10.3102/10769986022003265
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.errors import ShapeError
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.data.labels import Labels
from psychollm.data.responses import ResponsesLike
from psychollm.irt.fit import codes_for
from psychollm.irt.fit_statistics.residuals import answer_residuals
from psychollm.irt.likelihood import grid_for
from psychollm.irt.result import IRTFit

if TYPE_CHECKING:
    import pandas as pd


MOST_ITEMS = 3000  # with more items, the tables of all pairs exceed 900 MB


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LocalDependence(Result):
    """Local dependence of item pairs.

    Attributes
    ----------
    q3 : ndarray of shape (items, items)
        Residual correlations (Q3), 1 on the diagonal.
    x2 : ndarray of shape (items, items)
        Chen and Thissen's X2, with about `df` degrees of freedom; NaN on the diagonal.
    signed : ndarray of shape (items, items)
        Signed Cramér's V, sqrt(X2 / (n (C - 1))), where C is the smaller of the two numbers of
        answer categories. Values are positive if the two items correlate more than expected, and
        NaN on the diagonal.
    df : ndarray of shape (items, items)
        Degrees of freedom: product of the two items' numbers of answer categories, each minus one.
    labels : tuple
        Names of the items.
    """

    q3: FloatArray  # (J, J)
    x2: FloatArray  # (J, J)
    signed: FloatArray  # (J, J)
    df: FloatArray  # (J, J)
    labels: Labels  # J

    _AXES = Axes({"item": "labels", "other": "labels"}, "q3", "x2", "signed", pairs="upper")

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair, with the most dependent pairs first."""
        return Result.to_frame(self).sort_values(
            "q3", ascending=False, key=np.abs, ignore_index=True
        )


def local_dependence(fit: IRTFit, responses: ResponsesLike) -> LocalDependence:
    """Compute Q3 and Chen and Thissen's X2 of all pairs of items.

    Parameters
    ----------
    fit : IRTFit
        Fitted model.
    responses : Responses or table
        The answers used in the fit.

    Returns
    -------
    LocalDependence
        Q3, X2 and signed Cramér's V of each pair of items.

    Raises
    ------
    ShapeError
        If the items differ from the items of the fit, or if there are more than 3,000 items.

    References
    ----------
    Yen, W. M. (1984). Effects of local item dependence on the fit and equating performance of the
    three-parameter logistic model. Applied Psychological Measurement, 8(2), 125-145.
    https://doi.org/10.1177/014662168400800201

    Chen, W.-H., & Thissen, D. (1997). Local dependence indexes for item pairs using item response
    theory. Journal of Educational and Behavioral Statistics, 22(3), 265-289.
    https://doi.org/10.3102/10769986022003265

    Examples
    --------
    >>> from psychollm.irt.fit import fit_irt
    >>> answers = np.random.default_rng(3).random((600, 5)) < [0.2, 0.4, 0.5, 0.6, 0.8]
    >>> local_dependence(fit_irt(answers, model="rasch"), answers).q3.shape
    (5, 5)
    """
    keep = fit.fitted
    steps = fit.has_answer[keep].sum(axis=1) - 1
    if keep.sum() > MOST_ITEMS:
        msg = (
            f"fit has {int(keep.sum())} items, whose pairs need too much memory: pass at "
            f"most {MOST_ITEMS}, for example by responses.select(questions=...)"
        )
        raise ShapeError(msg)
    table = answer_residuals(fit, responses)
    x2, signed = _pair_tables(fit, codes_for(fit, responses), steps)
    np.fill_diagonal(x2, np.nan)
    np.fill_diagonal(signed, np.nan)
    return LocalDependence(
        q3=_square(_correlations(table.residual, table.answered), keep),
        x2=_square(x2, keep),
        signed=_square(signed, keep),
        df=_square(np.outer(steps, steps).astype(np.float64), keep),
        labels=fit.labels,
    )


def _square(values: FloatArray, keep: BoolArray) -> FloatArray:
    """Expand a square table of fitted items to all items."""
    full = np.full((keep.size, keep.size), np.nan)
    full[np.ix_(keep, keep)] = values
    return full


def _correlations(residual: FloatArray, answered: BoolArray) -> FloatArray:
    """Return correlations of residuals over the respondents that answered both items."""
    seen = answered.astype(np.float64)
    n = seen.T @ seen
    first = residual.T @ seen
    square = (residual**2).T @ seen
    with np.errstate(divide="ignore", invalid="ignore"):
        covariance = residual.T @ residual - first * first.T / n
        variance = square - first**2 / n
        table = covariance / np.sqrt(variance * variance.T)
    return np.asarray(table)


def _pair_tables(fit: IRTFit, codes: IntArray, steps: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return X2 and signed Cramer's V of all pairs, given the items' numbers of steps."""
    parameters = fit.parameters[fit.fitted]
    grid = grid_for(fit.family, parameters)
    answers = range(fit.n_categories)
    logs = fit.family.log_probabilities(parameters, grid.nodes)
    curves = [np.exp(logs[:, c]) for c in answers]
    given = [(codes == c).astype(np.float64) for c in answers]
    weights, scores = np.exp(grid.log_weights), fit.family.answer_scores(parameters)
    n = ((codes >= 0).astype(np.float64)).T @ (codes >= 0)
    x2 = np.zeros_like(n)
    moments = np.zeros((2, 5, *n.shape))  # moments of observed and expected tables
    for i in answers:
        for j in answers:
            tables = given[i].T @ given[j], n * ((curves[i] * weights) @ curves[j].T)
            x2 += (tables[0] - tables[1]) ** 2 / np.maximum(tables[1], 1e-300)
            a, b = scores[:, i, None], scores[None, :, j]
            for k, table in enumerate(tables):
                moments[k] += [table * a, table * b, table * a * a, table * b * b, table * a * b]
    surplus = _correlation(moments[0], n) - _correlation(moments[1], n)
    with np.errstate(divide="ignore", invalid="ignore"):
        return x2, np.sign(surplus) * np.sqrt(x2 / (n * np.minimum(steps, steps[:, None])))


def _correlation(moments: FloatArray, n: FloatArray) -> FloatArray:
    """Return correlations from sums of scores, their squares and products (5, J, J)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        one, two, square_one, square_two, product = moments / n
        spread = np.sqrt((square_one - one**2) * (square_two - two**2))
        return np.asarray(np.nan_to_num((product - one * two) / spread))
