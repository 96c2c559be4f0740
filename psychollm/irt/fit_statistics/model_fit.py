r"""Fit of the whole model from its first and second margins: M2.

With :math:`\hat p` and :math:`\hat\pi` the observed and expected shares of yes to single items and
to pairs, :math:`\Xi` n times the covariance of :math:`\hat p` under the model, and :math:`\Delta`
the derivatives of :math:`\pi`,

.. math:: M_2 = n\,e^T \big(\Xi^{-1} - \Xi^{-1}\Delta(\Delta^T \Xi^{-1}\Delta)^{-1}\Delta^T
                \Xi^{-1}\big) e, \qquad e = \hat p - \hat\pi,                          \quad (1)

is chi-square with as many degrees of freedom as there are margins more than parameters. Given the
ability items are independent, so that only margins that share an item covary beyond the
covariance of their expectations: :math:`\Xi` is a product of rank Q plus, for each item i,

.. math:: E[P_i Q_i c_j c_k], \qquad c = 1 \text{ for } \{i\},\; P_j \text{ for } \{i, j\},
          \quad (2)

and :math:`E[P_i P_j Q_i Q_j]` on the diagonal of pairs. For yes-or-no items C2 is M2.

References
----------
Maydeu-Olivares, A., & Joe, H. (2006). Limited information goodness-of-fit testing in
multidimensional contingency tables. Psychometrika, 71(4), 713-732.
https://doi.org/10.1007/s11336-005-1295-9
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from psychollm._base.errors import ShapeError
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray
from psychollm.irt.fit import codes_for
from psychollm.irt.likelihood import grid_for
from psychollm.irt.result import IRTFit
from psychollm.kernels.response_models import first_derivatives

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

    from psychollm.data.responses import Responses

MOST_ITEMS = 100  # 5,050 margins: a matrix of 200 MB
LEVEL = 0.90


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ModelFit(Result):
    """M2 and the indices made of it.

    Attributes
    ----------
    m2, df, p_value : float
        The statistic; NaN where no degree of freedom is left.
    rmsea, rmsea_interval : float and ndarray of shape (2,)
        Root mean square error of approximation with its 90 % interval.
    srmsr : float
        Root mean square of observed minus expected correlations of items.
    cfi, tli : float
        Against the model in which items are independent.
    n_complete : int
        Respondents without missing answers, on which it all rests.
    """

    m2: float
    df: int
    p_value: float
    rmsea: float
    rmsea_interval: FloatArray  # (2,)
    srmsr: float
    cfi: float
    tli: float
    n_complete: int

    def to_frame(self) -> pd.DataFrame:
        """Return one row."""
        import pandas as pd

        row = {
            name: getattr(self, name)
            for name in ("m2", "df", "p_value", "rmsea", "srmsr", "cfi", "tli", "n_complete")
        }
        row["rmsea_low"], row["rmsea_high"] = self.rmsea_interval
        return pd.DataFrame([row])

    def summary(self) -> str:
        """Return the statistic and the indices in one sentence."""
        low, high = self.rmsea_interval
        return (
            f"M2({self.df}) = {self.m2:.2f}, p = {self.p_value:.3g}; RMSEA {self.rmsea:.3f} "
            f"[{low:.3f}, {high:.3f}], SRMSR {self.srmsr:.3f}, CFI {self.cfi:.3f}, "
            f"TLI {self.tli:.3f} ({self.n_complete} complete respondents)."
        )


def model_fit(fit: IRTFit, responses: Responses | pd.DataFrame | ArrayLike) -> ModelFit:
    """Return M2, RMSEA, SRMSR, CFI and TLI.

    Priors bias estimates away from the maximum of the likelihood, and M2 with them: it is meant
    for fits without.

    Parameters
    ----------
    fit : IRTFit
        The fitted model.
    responses : Responses or table
        The answers that were fitted.

    Raises
    ------
    ShapeError
        If the items are not those of the fit, are more than 100, or nobody answered all.

    Examples
    --------
    >>> from psychollm.irt.fit import fit_irt
    >>> answers = np.random.default_rng(3).random((600, 5)) < [0.2, 0.4, 0.5, 0.6, 0.8]
    >>> model_fit(fit_irt(answers, model="rasch"), answers).df
    9
    """
    codes = codes_for(fit, responses)
    complete = codes[(codes >= 0).all(axis=1)]
    _check(complete)
    margins = _observed(complete)
    n = complete.shape[0]
    parameters = fit.parameters[fit.fitted]
    grid = grid_for(fit.family, parameters)
    weights = np.exp(grid.log_weights)
    curves = np.exp(fit.family.log_probabilities(parameters, grid.nodes)[:, 1])
    expected = _expected(curves, weights)
    slopes = _margin_slopes(fit, parameters, grid.nodes, weights, curves)
    m2 = n * _quadratic(margins - expected, _covariance(curves, weights), slopes)
    df = margins.size - slopes.shape[1]
    baseline, free = _baseline(complete, margins)
    return _indices((m2, df), (baseline, free), n, _srmsr(margins, expected, complete.shape[1]))


def _check(complete: IntArray) -> None:
    """Raise where the statistic cannot be computed."""
    if complete.shape[1] > MOST_ITEMS:
        msg = (
            f"responses: M2 of {complete.shape[1]} items needs a matrix of all pairs of pairs: "
            f"pass at most {MOST_ITEMS} items, for example by responses.select(questions=...)"
        )
        raise ShapeError(msg)
    if complete.shape[0] < 2:
        msg = "responses: fewer than two respondents answered all items, which M2 rests on"
        raise ShapeError(msg)


def _pairs(items: int) -> tuple[IntArray, IntArray]:
    i, j = np.triu_indices(items, 1)
    return i, j


def _observed(complete: IntArray) -> FloatArray:
    """Return observed margins: items, then pairs."""
    yes = complete.astype(np.float64)
    i, j = _pairs(yes.shape[1])
    return np.concatenate([yes.mean(axis=0), (yes.T @ yes)[i, j] / yes.shape[0]])


def _expected(curves: FloatArray, weights: FloatArray) -> FloatArray:
    """Return margins under the model."""
    i, j = _pairs(curves.shape[0])
    return np.concatenate([curves @ weights, ((curves * weights) @ curves.T)[i, j]])


def _covariance(curves: FloatArray, weights: FloatArray) -> FloatArray:
    """Return n times the covariance of observed margins: (2)."""
    items = curves.shape[0]
    i, j = _pairs(items)
    given = np.concatenate([curves, curves[i] * curves[j]])
    mean = given @ weights
    total = (given * weights) @ given.T - np.outer(mean, mean)
    place = np.zeros((items, items), dtype=np.int64)
    place[i, j] = place[j, i] = items + np.arange(i.size)
    place[range(items), range(items)] = range(items)
    for k in range(items):
        other = curves.copy()
        other[k] = 1.0
        local = (other * (weights * curves[k] * (1.0 - curves[k]))) @ other.T
        total[np.ix_(place[k], place[k])] += local
    spread = curves * (1.0 - curves)
    own = ((spread * weights) @ spread.T)[i, j]
    at = items + np.arange(i.size)
    total[at, at] += own
    return np.asarray(total)


def _margin_slopes(
    fit: IRTFit, parameters: FloatArray, nodes: FloatArray, weights: FloatArray, curves: FloatArray
) -> FloatArray:
    """Return derivatives of margins by free parameters (margins, P)."""
    first = first_derivatives(parameters, nodes, fit.link)
    items, size, _ = first.shape
    i, j = _pairs(items)
    table = np.zeros((items + i.size, items, size))
    table[range(items), range(items)] = first @ weights
    by_pair = np.einsum("jpq,kq->jkp", first * weights, curves, optimize=True)
    rows = items + np.arange(i.size)
    table[rows, i], table[rows, j] = by_pair[i, j], by_pair[j, i]
    if not fit.family.tied:
        return table.reshape(rows.size + items, -1)
    return np.column_stack([table[:, :, 0].sum(axis=1), table[:, :, 1]])


def _quadratic(gap: FloatArray, covariance: FloatArray, slopes: FloatArray) -> float:
    """Return the quadratic form of (1) over n."""
    factor = cho_factor(covariance, lower=True)
    weighted = cho_solve(factor, gap)
    solved = cho_solve(factor, slopes)
    inner = np.linalg.lstsq(slopes.T @ solved, slopes.T @ weighted, rcond=1e-13)[0]
    return float(gap @ weighted - (slopes.T @ weighted) @ inner)


def _baseline(complete: IntArray, margins: FloatArray) -> tuple[float, int]:
    """Return M2 and degrees of freedom of independent items."""
    items = complete.shape[1]
    rates = margins[:items, None]
    one = np.ones(1)
    i, j = _pairs(items)
    slopes = np.zeros((margins.size, items))
    slopes[range(items), range(items)] = 1.0
    rows = items + np.arange(i.size)
    slopes[rows, i], slopes[rows, j] = rates[j, 0], rates[i, 0]
    gap = margins - _expected(rates, one)
    return complete.shape[0] * _quadratic(gap, _covariance(rates, one), slopes), i.size


def _srmsr(margins: FloatArray, expected: FloatArray, items: int) -> float:
    """Return the root mean square of residual correlations."""
    i, j = _pairs(items)

    def correlations(values: FloatArray) -> FloatArray:
        rate = values[:items]
        sd = np.sqrt(rate * (1.0 - rate))
        return np.asarray((values[items:] - rate[i] * rate[j]) / (sd[i] * sd[j]))

    return float(np.sqrt(np.mean((correlations(margins) - correlations(expected)) ** 2)))


def _indices(
    model: tuple[float, int], baseline: tuple[float, int], n: int, srmsr: float
) -> ModelFit:
    """Return the indices made of M2 of the model and of independence."""
    from scipy.stats import chi2

    (m2, df), (zero, free) = model, baseline
    nan = float("nan")
    if df <= 0:
        return ModelFit(
            m2=nan,
            df=max(df, 0),
            p_value=nan,
            rmsea=nan,
            rmsea_interval=np.full(2, np.nan),
            srmsr=srmsr,
            cfi=nan,
            tli=nan,
            n_complete=n,
        )
    scale = df * (n - 1)
    bounds = [_noncentrality(m2, df, 0.5 + side * LEVEL / 2.0) for side in (1.0, -1.0)]
    excess, excess_zero = max(m2 - df, 0.0), max(zero - free, m2 - df, 0.0)
    return ModelFit(
        m2=m2,
        df=df,
        p_value=float(chi2.sf(m2, df)),
        rmsea=float(np.sqrt(excess / scale)),
        rmsea_interval=np.sqrt(np.array(bounds) / scale),
        srmsr=srmsr,
        cfi=1.0 - excess / excess_zero if excess_zero > 0.0 else 1.0,
        tli=float((zero / free - m2 / df) / (zero / free - 1.0)),
        n_complete=n,
    )


def _noncentrality(m2: float, df: int, probability: float) -> float:
    """Return the noncentrality at which `m2` is that quantile; 0 if it is below."""
    from scipy.optimize import brentq
    from scipy.stats import chi2, ncx2

    if chi2.cdf(m2, df) <= probability:
        return 0.0
    high = max(2.0 * m2, 10.0)
    while ncx2.cdf(m2, df, high) > probability:
        high *= 2.0
    return float(brentq(lambda x: ncx2.cdf(m2, df, x) - probability, 0.0, high, xtol=1e-10))
