r"""Fit of single items: S-X2, infit, outfit, Zh.

S-X2 (Orlando & Thissen, 2000) compares, at every sum score s that is neither 0 nor full, the share
of yes with the model's

.. math:: E_{js} = \frac{\int P_j(\theta) f_{(j)}(s - 1 | \theta)\,d\Phi}
                        {\int f(s | \theta)\,d\Phi},                                  \quad (1)

f the distribution of sum scores (Lord & Wingersky's recursion) with and without the item. Scores
are merged until no expected count is below 1. It rests on complete rows.

References
----------
Orlando, M., & Thissen, D. (2000). Likelihood-based item-fit indices for dichotomous item response
theory models. Applied Psychological Measurement, 24(1), 50-64.
https://doi.org/10.1177/01466216000241003
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray
from psychollm.data.labels import Labels
from psychollm.irt.answers import spread
from psychollm.irt.fit import codes_for
from psychollm.irt.fit_statistics.residuals import answer_residuals, mean_squares
from psychollm.irt.likelihood import grid_for
from psychollm.irt.result import IRTFit

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

    from psychollm.data.responses import Responses

SMALLEST = 1.0  # expected count


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ItemFit(Result):
    """How well each item fits.

    Attributes
    ----------
    s_x2, df, p_value, rmsea : ndarray of shape (items,)
        S-X2 with its degrees of freedom; NaN where no degree is left.
    infit, outfit, z_infit, z_outfit, zh : ndarray of shape (items,)
        Mean squares (1 = as expected) at the posterior means of abilities, their normal scores,
        and the standardised log-likelihood. Abilities estimated from the same answers make mean
        squares smaller than 1 on the whole.
    n_complete : int
        Respondents that S-X2 rests on.
    labels : tuple
        Names of the items.
    """

    s_x2: FloatArray  # (J,)
    df: FloatArray  # (J,)
    p_value: FloatArray  # (J,)
    rmsea: FloatArray  # (J,)
    infit: FloatArray  # (J,)
    outfit: FloatArray  # (J,)
    z_infit: FloatArray  # (J,)
    z_outfit: FloatArray  # (J,)
    zh: FloatArray  # (J,)
    n_complete: int
    labels: Labels  # J

    def to_frame(self) -> pd.DataFrame:
        """Return one row per item."""
        import pandas as pd

        names = ["s_x2", "df", "p_value", "rmsea", "infit", "outfit", "z_infit", "z_outfit", "zh"]
        return pd.DataFrame(
            {"item": list(self.labels)} | {name: getattr(self, name) for name in names}
        )


def item_fit(fit: IRTFit, responses: Responses | pd.DataFrame | ArrayLike) -> ItemFit:
    """Return S-X2, infit, outfit and Zh of every item.

    Parameters
    ----------
    fit : IRTFit
        The fitted model.
    responses : Responses or table
        The answers that were fitted.

    Raises
    ------
    ShapeError
        If the items are not those of the fit.

    Examples
    --------
    >>> from psychollm.irt.fit import fit_irt
    >>> answers = np.random.default_rng(3).random((600, 5)) < [0.2, 0.4, 0.5, 0.6, 0.8]
    >>> item_fit(fit_irt(answers, model="rasch"), answers).df
    array([2., 2., 2., 2., 2.])
    """
    from scipy.stats import chi2

    keep = fit.fitted
    squares = mean_squares(answer_residuals(fit, responses), axis=0)
    codes = codes_for(fit, responses)
    complete = codes[(codes >= 0).all(axis=1)]
    statistic, df = _s_x2(fit, complete)
    with np.errstate(divide="ignore", invalid="ignore"):
        p_value = np.where(df > 0, chi2.sf(statistic, df), np.nan)
        rmsea = np.sqrt(np.maximum(statistic - df, 0.0) / (df * max(complete.shape[0] - 1, 1)))
    return ItemFit(
        s_x2=spread(np.where(df > 0, statistic, np.nan), keep),
        df=spread(df, keep),
        p_value=spread(p_value, keep),
        rmsea=spread(np.where(df > 0, rmsea, np.nan), keep),
        infit=spread(squares.infit, keep),
        outfit=spread(squares.outfit, keep),
        z_infit=spread(squares.z_infit, keep),
        z_outfit=spread(squares.z_outfit, keep),
        zh=spread(squares.zh, keep),
        n_complete=complete.shape[0],
        labels=fit.labels,
    )


def with_item(scores: FloatArray, p: FloatArray) -> FloatArray:
    """Return the distribution of sum scores (s + 1, Q) with one item more: the recursion.

    Examples
    --------
    >>> with_item(np.ones((1, 1)), np.array([0.25])).ravel()
    array([0.75, 0.25])
    """
    longer = np.zeros((scores.shape[0] + 1, scores.shape[1]))
    longer[:-1] = scores * (1.0 - p)
    longer[1:] += scores * p
    return longer


def score_distributions(curves: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return distributions of sum scores (J + 1, Q) and without each item (J, J, Q).

    Leaving one item out by combining a prefix with a suffix would need products of polynomials;
    the recursion over the other items costs the same and loses no digits.

    Examples
    --------
    >>> score_distributions(np.full((2, 1), 0.5))[0].ravel()
    array([0.25, 0.5 , 0.25])
    """
    items, n_nodes = curves.shape
    full = np.ones((1, n_nodes))
    for p in curves:
        full = with_item(full, p)
    without = np.empty((items, items, n_nodes))
    for j in range(items):
        rest = np.ones((1, n_nodes))
        for p in np.delete(curves, j, axis=0):
            rest = with_item(rest, p)
        without[j] = rest
    return full, without


def _s_x2(fit: IRTFit, complete: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return S-X2 and its degrees of freedom of the fitted items."""
    parameters = fit.parameters[fit.fitted]
    items = parameters.shape[0]
    grid = grid_for(fit.family, parameters)
    weights = np.exp(grid.log_weights)
    curves = np.exp(fit.family.log_probabilities(parameters, grid.nodes)[:, 1])
    full, without = score_distributions(curves)
    at_score = full @ weights
    totals = complete.sum(axis=1)
    n = np.bincount(totals, minlength=items + 1)[1:items].astype(np.float64)
    statistic, df = np.full(items, np.nan), np.zeros(items)
    free = parameters.shape[1]  # a shared slope counts, as in mirt
    for j in range(items):
        yes = np.bincount(totals, weights=complete[:, j], minlength=items + 1)[1:items]
        expected = n * ((without[j] * curves[j]) @ weights)[: items - 1] / at_score[1:items]
        statistic[j], cells = _merged(yes.astype(np.float64), expected, n)
        df[j] = max(cells - free, 0)
    return statistic, df


def _merged(yes: FloatArray, expected: FloatArray, n: FloatArray) -> tuple[float, int]:
    """Merge neighbouring scores until expected counts are large enough; return X2 and cells."""
    cells = [list(row) for row in zip(yes, expected, n, strict=True)]
    while len(cells) > 1:
        small = [min(e, m - e) for _, e, m in cells]
        worst = int(np.argmin(small))
        if small[worst] >= SMALLEST:
            break
        # towards the middle, where counts are large
        other = worst + 1 if worst < len(cells) / 2 and worst + 1 < len(cells) else worst - 1
        cells[other] = [x + y for x, y in zip(cells[other], cells[worst], strict=True)]
        del cells[worst]
    total = sum((o - e) ** 2 * m / (e * (m - e)) for o, e, m in cells if 0.0 < e < m)
    return float(total), len(cells)
