r"""Fit of the whole model from univariate and bivariate margins: M2, M2* and C2.

With :math:`\hat p` and :math:`\hat\pi` the observed and expected margins of single answers and of
pairs, :math:`\Xi` n times the covariance of :math:`\hat p` under the model, and :math:`\Delta` the
derivatives of :math:`\pi`,

.. math:: M_2 = n\,e^T \big(\Xi^{-1} - \Xi^{-1}\Delta(\Delta^T \Xi^{-1}\Delta)^{-1}\Delta^T
                \Xi^{-1}\big) e, \qquad e = \hat p - \hat\pi,                          \quad (1)

is chi-square; its degrees of freedom are the number of margins minus the number of parameters
(Maydeu-Olivares & Joe, 2006). With more than two answer categories, tables of pairs have many
sparse cells. M2* therefore uses means and mean products of codes (Maydeu-Olivares & Joe, 2014). C2
uses proportions of single answers and mean products of codes (Cai & Monro, 2014), and retains more
degrees of freedom. For binary items, all three statistics are equal.

References
----------
Maydeu-Olivares, A., & Joe, H. (2006). Limited information goodness-of-fit testing in
multidimensional contingency tables. Psychometrika, 71(4), 713-732.
https://doi.org/10.1007/s11336-005-1295-9

Maydeu-Olivares, A., & Joe, H. (2014). Assessing approximate fit in categorical data analysis.
Multivariate Behavioral Research, 49(4), 305-328. https://doi.org/10.1080/00273171.2014.911075

Cai, L., & Monro, S. (2014). A new statistic for evaluating item response theory models for ordinal
data (CRESST Report 839). University of California, Los Angeles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice
from psychollm._base.errors import ShapeError
from psychollm._base.numbers import p_equals, with_interval
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.reasons import Reason
from psychollm.irt.fit import codes_for
from psychollm.irt.fit_statistics.margins import (
    Layout,
    Statistic,
    expected_margins,
    layout_of,
    margin_covariance,
    margin_slopes,
    observed_margins,
)
from psychollm.irt.likelihood import grid_for
from psychollm.irt.models import all_yes_or_no
from psychollm.irt.result import IRTFit

MOST_MARGINS = 5_050  # margins of 100 binary items, whose covariance matrix takes 200 MB
LEVEL = 0.90
NAMES = {"m2": "M2", "m2_star": "M2*", "c2": "C2"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ModelFit(Result):
    """M2 (or M2*, or C2) and fit indices based on it.

    Attributes
    ----------
    statistic : str
        Name of the statistic: "M2", "M2*" or "C2", which are equal for binary items.
    m2, df, p_value : float
        Statistic, degrees of freedom and p-value; NaN without degrees of freedom.
    rmsea, rmsea_interval : float and ndarray of shape (2,)
        Root mean square error of approximation with its 90 % interval.
    srmsr : float
        Root mean square of observed minus expected correlations of the codes of items.
    cfi, tli : float
        Fit indices relative to the model of independent items.
    n_complete : int
        Number of respondents without missing answers, from which the statistics are computed.
    reason : Reason
        Reason why the statistic has no value.
    """

    statistic: str
    m2: float
    df: int
    p_value: float
    rmsea: float
    rmsea_interval: FloatArray  # (2,)
    srmsr: float
    cfi: float
    tli: float
    n_complete: int
    reason: Reason

    _AXES = Axes(
        {},
        "statistic",
        "m2",
        "df",
        "p_value",
        "rmsea",
        "rmsea_{bound}=rmsea_interval",
        "srmsr",
        "cfi",
        "tli",
        "n_complete",
    )

    def summary(self) -> str:
        """Describe the statistic and the indices in one sentence."""
        if self.reason:
            return f"{self.statistic} is undefined: {self.reason}; SRMSR {self.srmsr:.3f}."
        return (
            f"{self.statistic}({self.df}) = {self.m2:.2f}, {p_equals(self.p_value)}; RMSEA "
            f"{with_interval(self.rmsea, self.rmsea_interval, 3)}, SRMSR {self.srmsr:.3f}, "
            f"CFI {self.cfi:.3f}, TLI {self.tli:.3f} ({self.n_complete} complete respondents)."
        )


def model_fit(
    fit: IRTFit,
    responses: ResponsesLike,
    *,
    statistic: Statistic = "auto",
) -> ModelFit:
    """Compute M2 (or M2*, or C2), RMSEA, SRMSR, CFI and TLI.

    M2 assumes maximum-likelihood estimates. Priors bias M2, so fits should use ``priors=None``.

    Parameters
    ----------
    fit : IRTFit
        Fitted model.
    responses : Responses or table
        The answers used in the fit.
    statistic : {"auto", "m2", "m2_star", "c2"}
        Fit statistic, which determines the margins that are compared. "auto" means C2 if all items
        have ordered answers and some have more than two answer categories, and M2 otherwise.

    Returns
    -------
    ModelFit
        Fit statistic, and fit indices based on it.

    Raises
    ------
    ShapeError
        If the items differ from the items of the fit or have more than 5,050 margins (100 binary
        items), or if no respondent answered all items.

    Examples
    --------
    >>> from psychollm.irt.fit import fit_irt
    >>> answers = np.random.default_rng(3).random((600, 5)) < [0.2, 0.4, 0.5, 0.6, 0.8]
    >>> model_fit(fit_irt(answers, model="rasch"), answers).df
    9
    """
    check_choice("statistic", statistic, Statistic)
    if statistic == "auto":
        steps = fit.family.ordered and not all_yes_or_no(fit.item_models)
        statistic = "c2" if steps else "m2"
    codes = codes_for(fit, responses)
    complete = codes[(codes >= 0).all(axis=1)]
    layout = layout_of(statistic, fit.has_answer[fit.fitted])
    kept = layout.kept
    _check(complete, int(kept.sum()))
    margins = observed_margins(layout, complete)
    parameters = fit.parameters[fit.fitted]
    grid = grid_for(fit.family, parameters)
    weights = np.exp(grid.log_weights)
    curves = np.exp(fit.family.log_probabilities(parameters, grid.nodes))
    slopes = curves[:, :, None] * fit.family.scores(parameters, grid.nodes)
    by_item = margin_slopes(layout, curves, slopes, weights)[kept]
    free = _free(by_item, np.isfinite(parameters), tied=fit.family.tied)
    gap = (margins - expected_margins(layout, curves, weights))[kept]
    covariance = margin_covariance(layout, curves, weights)[np.ix_(kept, kept)]
    form = _quadratic(gap, covariance, free)
    model = (complete.shape[0] * form, gap.size - free.shape[1])
    srmsr = _srmsr(complete, curves, weights)
    baseline = _baseline(complete, layout, margins, fit.has_answer[fit.fitted])
    return _indices(NAMES[statistic], model, baseline, complete.shape[0], srmsr)


def _check(complete: IntArray, n_margins: int) -> None:
    """Raise an error if the statistic cannot be computed."""
    if n_margins > MOST_MARGINS:
        msg = (
            f"responses: {complete.shape[1]} items have {n_margins} margins, whose covariance "
            f"would be too large: pass at most 100 items (binary; {MOST_MARGINS} margins), for "
            "example by responses.select(questions=...)"
        )
        raise ShapeError(msg)
    if complete.shape[0] < 2:
        msg = "responses: M2 needs at least two respondents who answered all items"
        raise ShapeError(msg)


def _free(slopes: FloatArray, present: BoolArray, *, tied: bool) -> FloatArray:
    """Return derivatives (margins, P) of margins with respect to the free parameters."""
    if not tied:
        return slopes[:, present]
    return np.column_stack([slopes[:, :, 0].sum(axis=1), slopes[:, :, 1]])


def _quadratic(gap: FloatArray, covariance: FloatArray, slopes: FloatArray) -> float:
    """Return equation (1) divided by n; NaN if the covariance is singular."""
    scale = 1.0 / np.sqrt(np.maximum(np.diagonal(covariance), 1e-300))
    try:
        factor = cho_factor(covariance * scale * scale[:, None], lower=True)
    except LinAlgError:
        return float("nan")
    gap, slopes = gap * scale, slopes * scale[:, None]
    weighted = cho_solve(factor, gap)
    solved = cho_solve(factor, slopes)
    inner = np.linalg.lstsq(slopes.T @ solved, slopes.T @ weighted, rcond=1e-13)[0]
    return float(gap @ weighted - (slopes.T @ weighted) @ inner)


def _baseline(
    complete: IntArray, layout: Layout, margins: FloatArray, has_answer: BoolArray
) -> tuple[float, int]:
    """Return the statistic and degrees of freedom of the model of independent items."""
    n, items = complete.shape
    answers = layout.single.shape[1]
    shares = np.stack([(complete == c).mean(axis=0) for c in range(answers)], axis=1)[:, :, None]
    one = np.ones(1)
    slopes = np.zeros((items, answers, answers - 1, 1))
    slopes[:, 1:, :, 0] = np.eye(answers - 1)
    slopes[range(items), has_answer.argmax(axis=1), :, 0] = -1.0
    above = (has_answer & (has_answer.cumsum(axis=1) > 1))[:, 1:]
    kept = layout.kept
    free = _free(margin_slopes(layout, shares, slopes, one)[kept], above, tied=False)
    gap = (margins - expected_margins(layout, shares, one))[kept]
    form = _quadratic(gap, margin_covariance(layout, shares, one)[np.ix_(kept, kept)], free)
    return n * form, int(kept[layout.n_single :].sum())


def _srmsr(complete: IntArray, curves: FloatArray, weights: FloatArray) -> float:
    """Return the root mean square residual correlation of codes; NaN for a single item."""
    items, answers, _ = curves.shape
    if items < 2:
        return float("nan")
    code = np.arange(answers, dtype=np.float64)
    mean = np.einsum("c,jcq->jq", code, curves)
    square = np.einsum("c,jcq,q->j", code**2, curves, weights)
    expected = (mean * weights) @ mean.T
    np.fill_diagonal(expected, square)
    values = complete.astype(np.float64)
    gaps = [
        _correlations(values.T @ values / values.shape[0], values.mean(axis=0)),
        _correlations(expected, mean @ weights),
    ]
    place = np.triu_indices(items, 1)
    return float(np.sqrt(np.mean((gaps[0] - gaps[1])[place] ** 2)))


def _correlations(products: FloatArray, mean: FloatArray) -> FloatArray:
    """Return correlations from mean products and means; NaN without variance."""
    covariance = products - np.outer(mean, mean)
    sd = np.sqrt(np.diagonal(covariance))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(covariance / np.outer(sd, sd))


def _indices(
    name: str, model: tuple[float, int], baseline: tuple[float, int], n: int, srmsr: float
) -> ModelFit:
    """Return fit indices from the statistics of the model and of the independence model."""
    from scipy.stats import chi2

    (value, df), (zero, free) = model, baseline
    reason = Reason.NONE if df > 0 else Reason.NO_FREEDOM
    if df > 0 and not np.isfinite(value):
        reason = Reason.UNIDENTIFIED
    if reason:
        value, zero = float("nan"), float("nan")
    ratio = zero / max(free, 1)
    scale = max(df, 1) * (n - 1)
    bounds = [_noncentrality(value, df, 0.5 + side * LEVEL / 2.0) for side in (1.0, -1.0)]
    excess = float(np.maximum(value - df, 0.0))
    excess_zero = float(np.maximum(np.maximum(zero - free, value - df), 0.0))
    return ModelFit(
        statistic=name,
        m2=value,
        df=max(df, 0),
        p_value=float(chi2.sf(value, max(df, 1))),
        rmsea=float(np.sqrt(excess / scale)),
        rmsea_interval=np.sqrt(np.array(bounds) / scale),
        srmsr=srmsr,
        cfi=1.0 - excess / excess_zero if excess_zero != 0.0 else 1.0,
        tli=(ratio - value / max(df, 1)) / (ratio - 1.0) if ratio != 1.0 else float("nan"),
        n_complete=n,
        reason=reason,
    )


def _noncentrality(value: float, df: int, probability: float) -> float:
    """Return the noncentrality at which `value` is the given quantile; 0 if none exists."""
    from scipy.optimize import brentq
    from scipy.stats import chi2, ncx2

    if not np.isfinite(value):
        return float("nan")
    if chi2.cdf(value, df) <= probability:
        return 0.0
    high = max(2.0 * value, 10.0)
    while ncx2.cdf(value, df, high) > probability:
        high *= 2.0
    return float(brentq(lambda x: ncx2.cdf(value, df, x) - probability, 0.0, high, xtol=1e-10))
