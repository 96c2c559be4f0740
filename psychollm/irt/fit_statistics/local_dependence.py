r"""Pairs of items that depend on each other beyond the ability.

* Q3 (Yen, 1984): correlation of residuals y - P at the posterior means; about -1/(J-1) where
  answers are independent.
* Chen and Thissen's X2 of the 2 x 2 table of each pair against its expectation under the model,
  with the sign of the surplus, also as :math:`\pm\sqrt{X^2/n}`.

References
----------
Yen, W. M. (1984). Effects of local item dependence on the fit and equating performance of the
three-parameter logistic model. Applied Psychological Measurement, 8(2), 125-145.

Chen, W.-H., & Thissen, D. (1997). Local dependence indexes for item pairs using item response
theory. Journal of Educational and Behavioral Statistics, 22(3), 265-289.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.data.labels import Labels
from psychollm.irt.fit import codes_for
from psychollm.irt.fit_statistics.residuals import answer_residuals
from psychollm.irt.likelihood import grid_for
from psychollm.irt.result import IRTFit

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

    from psychollm.data.responses import Responses


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LocalDependence(Result):
    """Dependence of item pairs.

    Attributes
    ----------
    q3 : ndarray of shape (items, items)
        Correlations of residuals, 1 on the diagonal.
    x2 : ndarray of shape (items, items)
        Chen and Thissen's statistic (one degree of freedom, roughly), NaN on the diagonal.
    signed : ndarray of shape (items, items)
        Its square root over n with the sign of the surplus, NaN on the diagonal.
    labels : tuple
        Names of the items.
    """

    q3: FloatArray  # (J, J)
    x2: FloatArray  # (J, J)
    signed: FloatArray  # (J, J)
    labels: Labels  # J

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair, the most dependent first."""
        import pandas as pd

        i, j = np.triu_indices(len(self.labels), 1)
        table = pd.DataFrame(
            {
                "item": [self.labels[k] for k in i],
                "other": [self.labels[k] for k in j],
                "q3": self.q3[i, j],
                "x2": self.x2[i, j],
                "signed": self.signed[i, j],
            }
        )
        return table.sort_values("q3", ascending=False, key=np.abs, ignore_index=True)


def local_dependence(
    fit: IRTFit, responses: Responses | pd.DataFrame | ArrayLike
) -> LocalDependence:
    """Return Q3 and Chen and Thissen's X2 of all pairs of items.

    Raises
    ------
    ShapeError
        If the items are not those of the fit.

    Examples
    --------
    >>> from psychollm.irt.fit import fit_irt
    >>> answers = np.random.default_rng(3).random((600, 5)) < [0.2, 0.4, 0.5, 0.6, 0.8]
    >>> local_dependence(fit_irt(answers, model="rasch"), answers).q3.shape
    (5, 5)
    """
    keep = fit.fitted
    table = answer_residuals(fit, responses)
    x2, signed = _pair_tables(fit, codes_for(fit, responses))
    np.fill_diagonal(x2, np.nan)
    np.fill_diagonal(signed, np.nan)
    return LocalDependence(
        q3=_square(_correlations(table.residual, table.answered), keep),
        x2=_square(x2, keep),
        signed=_square(signed, keep),
        labels=fit.labels,
    )


def _square(values: FloatArray, keep: BoolArray) -> FloatArray:
    """Put a square table of fitted items among all items."""
    full = np.full((keep.size, keep.size), np.nan)
    full[np.ix_(keep, keep)] = values
    return full


def _correlations(residual: FloatArray, answered: BoolArray) -> FloatArray:
    """Return correlations of residuals over the respondents that answered both."""
    seen = answered.astype(np.float64)
    n = seen.T @ seen
    first = residual.T @ seen
    square = (residual**2).T @ seen
    with np.errstate(divide="ignore", invalid="ignore"):
        covariance = residual.T @ residual - first * first.T / n
        variance = square - first**2 / n
        table = covariance / np.sqrt(variance * variance.T)
    return np.asarray(table)


def _pair_tables(fit: IRTFit, codes: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return X2 and its signed root for all pairs."""
    parameters = fit.parameters[fit.fitted]
    grid = grid_for(fit.family, parameters)
    logs = fit.family.log_probabilities(parameters, grid.nodes)
    curves = [np.exp(logs[:, answer]) for answer in (0, 1)]
    answers = [(codes == answer).astype(np.float64) for answer in (0, 1)]
    weights = np.exp(grid.log_weights)
    n = ((codes >= 0).astype(np.float64)).T @ (codes >= 0)
    x2, observed, expected = np.zeros_like(n), {}, {}
    for i in (0, 1):
        for j in (0, 1):
            observed[i, j] = answers[i].T @ answers[j]
            expected[i, j] = n * ((curves[i] * weights) @ curves[j].T)
            x2 += (observed[i, j] - expected[i, j]) ** 2 / expected[i, j]
    surplus = _phi(observed) - _phi(expected)
    with np.errstate(divide="ignore", invalid="ignore"):
        return x2, np.sign(surplus) * np.sqrt(x2 / n)


def _phi(table: dict[tuple[int, int], FloatArray]) -> FloatArray:
    """Return the phi coefficients of 2 x 2 tables."""
    a, b, c, d = table[1, 1], table[1, 0], table[0, 1], table[0, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        phi = (a * d - b * c) / np.sqrt((a + b) * (c + d) * (a + c) * (b + d))
    return np.asarray(np.nan_to_num(phi))
