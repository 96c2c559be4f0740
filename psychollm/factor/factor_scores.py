r"""`factor_scores`: scores of units on factors, and their determinacy.

Let :math:`\Lambda` be the pattern matrix, :math:`\Phi` the factor correlations, :math:`\Psi` the
uniquenesses and R the correlations. Scores are :math:`Z W` for standardised variables Z, with

.. math:: W_{\text{regression}} = R^{-1} \Lambda \Phi, \qquad
          W_{\text{Bartlett}} = \Psi^{-1} \Lambda (\Lambda^\top \Psi^{-1} \Lambda)^{-1},\;(1)

.. math:: W_{\text{ten Berge}} = R^{-1/2} C \Phi^{1/2}, \qquad
          C = Y (Y^\top Y)^{-1/2},\; Y = R^{-1/2} \Lambda \Phi^{1/2} .                    \quad (2)

Regression scores have the smallest error. Bartlett's scores are unbiased: for a unit with given
factor values, their expectation equals these values. Ten Berge's scores have the same correlations
as the factors. Posterior means (EAP) are based on a model of binary answers instead of
standardised values. The determinacy of a factor is its correlation with its regression score,
:math:`\sqrt{(\Phi\Lambda^\top R^{-1}\Lambda\Phi)_{jj}}`. If the determinacy is below about .9,
units with equal answers may have very different values of the factor.

A variable with loadings :math:`\lambda` and threshold :math:`\tau` is answered yes if its latent
response exceeds the threshold. Given the factors f, the probability of a yes is

.. math:: \Phi\Big(\frac{\lambda^\top f - \tau}{\sqrt{1 - \lambda^\top \Phi \lambda}}\Big),
          \qquad f \sim N(0, \Phi) .                                                     \quad (3)

Posterior means and covariances are integrals over nodes adapted to the posterior of each answer
pattern (`kernels.irt_multidimensional`): Gauss-Hermite nodes for up to three factors, and
quasi-random points for more factors.

References
----------
Thurstone, L. L. (1935). The vectors of mind. University of Chicago Press.

Bartlett, M. S. (1937). The statistical conception of mental factors. British Journal of
Psychology, 28(1), 97-104. https://doi.org/10.1111/j.2044-8295.1937.tb00863.x

ten Berge, J. M. F., Krijnen, W. P., Wansbeek, T., & Shapiro, A. (1999). Some new results on
correlation-preserving factor scores prediction methods. Linear Algebra and its Applications,
289(1-3), 311-318. https://doi.org/10.1016/S0024-3795(97)10007-6

Grice, J. W. (2001). Computing and evaluating factor scores. Psychological Methods, 6(4), 430-450.
https://doi.org/10.1037/1082-989X.6.4.430
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from scipy.special import ndtri

from psychollm._base.checks import check_choice, float_array
from psychollm._base.errors import CodeError, InputError, LabelError, OptionError, ShapeError
from psychollm._base.result import Result
from psychollm._base.types import Axis, FloatArray
from psychollm.data.labels import Table, listed
from psychollm.data.table import as_table, numbers
from psychollm.kernels.adaptive_rules import product_rule, quasi_random_rule
from psychollm.kernels.irt_multidimensional import PROBIT, integrate

if TYPE_CHECKING:
    import pandas as pd

OTHER: dict[Axis, Axis] = {"models": "questions", "questions": "models"}
ScoreMethod: TypeAlias = Literal["regression", "bartlett", "ten_berge", "eap"]
SMALLEST = 1e-8
NODES = {1: 61, 2: 21, 3: 15}
POINTS, LEAST_NODES = 512, 262_144  # fewest quasi-random points per pattern, and in total
LEAST_UNIQUENESS = 1e-3
WIDTH = 8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class FactorScores(Result):
    """Factor scores of units.

    Attributes
    ----------
    scores : ndarray of shape (units, m)
        Scores; NaN for units with too few answers for the method.
    sd : ndarray of shape (units, m)
        Root mean squared error of the score; for regression scores and posterior means, the
        posterior SD.
    weights : ndarray of shape (k, m)
        Weights of the standardised variables, for units without missing values; NaN for posterior
        means.
    determinacy : ndarray of shape (m,)
        Correlation of the regression scores with their factors.
    validity : ndarray of shape (m,)
        Correlation of the scores with their factors. For posterior means, the correlation is the
        square root of var / (var + mean sd^2).
    score_correlation : ndarray of shape (m, m)
        Model-implied correlations among the scores, to be compared with the factor correlations.
        For posterior means, the observed correlations among the scores.
    method : str
        Scoring method.
    units, factors : tuple
        Names of the units and the m factors.
    """

    scores: FloatArray  # (units, m)
    sd: FloatArray  # (units, m)
    weights: FloatArray  # (k, m)
    determinacy: FloatArray  # (m,)
    validity: FloatArray  # (m,)
    score_correlation: FloatArray  # (m, m)
    method: ScoreMethod
    units: tuple[Hashable, ...]
    factors: tuple[str, ...]  # m

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per unit."""
        import pandas as pd

        return pd.DataFrame(self.scores, index=list(self.units), columns=list(self.factors))

    def __repr__(self) -> str:
        pairs = zip(self.factors, self.determinacy, strict=True)
        values = ", ".join(f"{name} {size:.3f}" for name, size in pairs)
        return (
            f"FactorScores ({self.method}) of {len(self.units)} units on {len(self.factors)} "
            f"factors\n  determinacy {values}"
        )


def factor_scores(
    solution: Any,
    data: Any,
    *,
    of: Axis = "models",
    method: ScoreMethod = "regression",
    thresholds: Any = None,
) -> FactorScores:
    """Estimate factor scores of units.

    Parameters
    ----------
    solution : FactorSolution
        Result of `factor_analysis`.
    data : Responses, DataFrame or array_like of shape (models, questions)
        Data from which the correlations were computed, with variables in the order of the solution
        or with the labels of the solution. The variables are standardised. With missing values
        (NaN), regression and Bartlett scores use the other variables; ten Berge's scores are
        undefined.
    of : {"models", "questions"}
        Whether the variables of the solution are the rows ("models") or the columns ("questions")
        of `data`. The other axis contains the scored units.
    method : {"regression", "bartlett", "ten_berge", "eap"}
        Regression (Thurstone), Bartlett or ten Berge scores, or posterior means ("eap") for
        answers coded 0 and 1.
    thresholds : array_like (k,), optional
        Thresholds of the latent responses, for ``method="eap"``. By default, the thresholds are
        implied by the yes rates in `data`.

    Returns
    -------
    FactorScores
        Scores, weights and determinacy.

    Raises
    ------
    ShapeError, LabelError
        If `data` lacks variables of the solution, or has them on the other axis.
    InputError
        If a variable has zero variance, or if a uniqueness is zero with ``method="bartlett"``.
    CodeError
        If ``method="eap"`` and the answers are not coded 0 and 1.
    OptionError
        If the method does not exist, or if `thresholds` are given without "eap".

    Notes
    -----
    `question_scores` computes posterior means on one factor with and without each model's own
    answer.

    Examples
    --------
    >>> from psychollm.factor.exploratory.factor_analysis import factor_analysis
    >>> rng = np.random.default_rng(0)
    >>> shared = rng.normal(size=2000)
    >>> data = 0.8 * shared + 0.6 * rng.normal(size=(6, 2000))
    >>> found = factor_scores(factor_analysis(np.corrcoef(data), 1), data, of="models")
    >>> found.determinacy.round(2), np.corrcoef(found.scores[:, 0], shared)[0, 1].round(2)
    (array([0.96]), np.float64(0.95))
    """
    check_choice("method", method, ScoreMethod)
    check_choice("of", of, Axis)
    values, units = in_order(as_table(data, argument="data"), solution.labels, of)
    if method == "eap":
        return _posterior_means(solution, values, units, thresholds)
    if thresholds is not None:
        msg = f"thresholds are for method='eap', not {method!r}: omit them"
        raise OptionError(msg)
    Z = _standardised(values, solution.labels)
    L, phi = np.array(solution.loadings), np.array(solution.factor_correlation)
    R = np.array(solution._matrix)
    if method == "bartlett" and float(np.min(solution.uniquenesses)) < SMALLEST:
        bad = [solution.labels[i] for i in np.flatnonzero(solution.uniquenesses < SMALLEST)]
        msg = f"variables {listed(bad)} have zero uniqueness: use method='regression'"
        raise InputError(msg)
    weights = score_weights(L, phi, R, method)
    scores = Z.T @ weights
    sd = np.tile(_distance(weights, L, phi, R), (len(scores), 1))
    gaps = np.isnan(Z)
    if gaps.any():
        _score_incomplete(scores, sd, Z, gaps, L, phi, R, method)
    spread = np.sqrt(np.diagonal(weights.T @ R @ weights))
    with np.errstate(divide="ignore", invalid="ignore"):
        return FactorScores(
            scores=scores,
            sd=sd,
            weights=weights,
            determinacy=_determinacy(L, phi, R),
            validity=np.sum(weights * (L @ phi), axis=0) / spread,
            score_correlation=weights.T @ R @ weights / np.outer(spread, spread),
            method=method,
            units=units,
            factors=solution.factors,
        )


def _determinacy(L: FloatArray, phi: FloatArray, R: FloatArray) -> FloatArray:
    """Return correlations (m,) of regression scores with the factors."""
    best = score_weights(L, phi, R, "regression")
    return np.asarray(np.sqrt(np.clip(np.sum(best * (L @ phi), axis=0), 0.0, 1.0)))


def _distance(weights: FloatArray, L: FloatArray, phi: FloatArray, R: FloatArray) -> FloatArray:
    """Return the root mean squared distance (m,) of scores Z W from the factors."""
    square = np.sum(weights * (R @ weights), axis=0) - 2.0 * np.sum(weights * (L @ phi), axis=0)
    return np.asarray(np.sqrt(np.maximum(square + np.diagonal(phi), 0.0)))


def _posterior_means(
    solution: Any, values: FloatArray, units: tuple[Hashable, ...], thresholds: Any
) -> FactorScores:
    """Return posterior means of the factors given binary answers."""
    if not np.isin(values[~np.isnan(values)], (0.0, 1.0)).all():
        msg = "data: method='eap' is for answers coded 0 and 1: use 'regression' for numbers"
        raise CodeError(msg)
    L, phi = np.array(solution.loadings), np.array(solution.factor_correlation)
    if thresholds is None:
        _check_varied(values, solution.labels)
        tau = thresholds_of(values)
    else:
        tau = float_array(thresholds, "thresholds")
        if tau.shape != (len(L),) or not np.isfinite(tau).all():
            msg = f"thresholds must be {len(L)} finite numbers, got shape {tau.shape}"
            raise ShapeError(msg)
    mean, covariance = posterior_scores(L, phi, tau, values)
    sd = np.sqrt(np.einsum("umm->um", covariance))
    seen = np.isfinite(mean).all(axis=1)
    if not seen.any():
        msg = "data holds no answer: every value is missing"
        raise ShapeError(msg)
    around = np.cov(mean[seen].T, ddof=0).reshape(L.shape[1], -1)
    variance = np.diagonal(around)
    with np.errstate(divide="ignore", invalid="ignore"):
        return FactorScores(
            scores=mean,
            sd=sd,
            weights=np.full(L.shape, np.nan),
            determinacy=_determinacy(L, phi, np.array(solution._matrix)),
            validity=np.sqrt(variance / (variance + (sd[seen] ** 2).mean(axis=0))),
            score_correlation=around / np.sqrt(np.outer(variance, variance)),
            method="eap",
            units=units,
            factors=solution.factors,
        )


def score_weights(
    L: FloatArray, phi: FloatArray, R: FloatArray, method: ScoreMethod
) -> FloatArray:
    """Return the score weights (k, m), equation (1) or (2), also for a subset of variables."""
    if method == "regression":
        return np.asarray(np.linalg.pinv(R, hermitian=True) @ L @ phi, dtype=np.float64)
    if method == "bartlett":
        inner = L / (1.0 - np.sum((L @ phi) * L, axis=1))[:, None]
        return np.asarray(inner @ np.linalg.pinv(L.T @ inner), dtype=np.float64)
    root, half = _power(R, -0.5), _power(phi, 0.5)
    Y = root @ L @ half
    return np.asarray(root @ Y @ _power(Y.T @ Y, -0.5) @ half, dtype=np.float64)


def _power(matrix: FloatArray, exponent: float) -> FloatArray:
    """Return a power of the positive part of a symmetric matrix."""
    values, vectors = np.linalg.eigh(matrix)
    kept = values > 1e-12 * max(float(values[-1]), 1e-300)
    return np.asarray((vectors[:, kept] * values[kept] ** exponent) @ vectors[:, kept].T)


def in_order(
    table: Table, labels: tuple[Hashable, ...], of: Axis
) -> tuple[FloatArray, tuple[Hashable, ...]]:
    """Return variables (k, units) in the order of the solution, and the names of the units."""
    values = numbers(table, argument="data")
    axes = (table.models, table.questions)
    own, units = axes if of == "models" else axes[::-1]
    values = values if of == "models" else values.T
    named = table.named[of == "questions"]
    unknown = [label for label in labels if label not in set(own)] if named else []
    if len(own) != len(labels) or unknown:
        fits = set(units) >= set(labels) if named else len(units) == len(labels)
        hint = f"; they are on the other axis: pass of={OTHER[of]!r}" if fits else ""
        if len(own) != len(labels):
            msg = f"data has {len(own)} {of}, the solution {len(labels)} variables{hint}"
            raise ShapeError(msg)
        msg = f"data lacks {of} {listed(unknown)} of the solution{hint}"
        raise LabelError(msg)
    if named:
        where = {label: i for i, label in enumerate(own)}
        values = values[[where[label] for label in labels]]
    return values, units


def _check_varied(values: FloatArray, labels: tuple[Hashable, ...]) -> None:
    """Raise an error if a row has zero variance."""
    seen = ~np.isnan(values)
    varied = [
        bool(own.any()) and np.ptp(row[own]) > 0.0 for row, own in zip(values, seen, strict=True)
    ]
    if not all(varied):
        bad = [label for label, varies in zip(labels, varied, strict=True) if not varies]
        msg = f"data have zero variance in {listed(bad)}: omit them"
        raise InputError(msg)


def _standardised(values: FloatArray, labels: tuple[Hashable, ...]) -> FloatArray:
    """Standardise rows to mean zero and SD one."""
    _check_varied(values, labels)
    centre = np.nanmean(values, axis=1, keepdims=True)
    spread = np.nanstd(values, axis=1, ddof=1, keepdims=True)
    return np.asarray((values - centre) / spread, dtype=np.float64)


def _score_incomplete(
    scores: FloatArray,
    sd: FloatArray,
    Z: FloatArray,
    gaps: Any,
    L: FloatArray,
    phi: FloatArray,
    R: FloatArray,
    method: ScoreMethod,
) -> None:
    """Compute scores and errors of units with missing values, by pattern of missing values."""
    partial = np.flatnonzero(gaps.any(axis=0))
    patterns, member = np.unique(gaps[:, partial].T, axis=0, return_inverse=True)
    for p, gap in enumerate(patterns):
        units, here = partial[member.ravel() == p], np.flatnonzero(~gap)
        enough = here.size >= (L.shape[1] if method == "bartlett" else 1)
        if method == "ten_berge" or not enough:
            scores[units] = sd[units] = np.nan
            continue
        inner = R[np.ix_(here, here)]
        weights = score_weights(L[here], phi, inner, method)
        sd[units] = _distance(weights, L[here], phi, inner)
        scores[units] = Z[np.ix_(here, units)].T @ weights


def posterior_scores(
    loadings: FloatArray, correlation: FloatArray, thresholds: FloatArray, answers: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return posterior means (units, m) and covariances (units, m, m); NaN without answers."""
    # answers (k, units): 1 for yes, 0 for no, NaN for missing.
    k, m = loadings.shape
    rows, where = np.unique(np.nan_to_num(answers.T, nan=-1.0), axis=0, return_inverse=True)
    width = -(-k // WIDTH) * WIDTH
    yes, asked = np.zeros((len(rows), width)), np.zeros((len(rows), width))
    yes[:, :k], asked[:, :k] = rows == 1.0, rows >= 0.0
    rest = 1.0 - np.einsum("km,mn,kn->k", loadings, correlation, loadings)
    scale = 1.0 / np.sqrt(np.maximum(rest, LEAST_UNIQUENESS))
    slopes, intercepts = np.zeros((m, width)), np.zeros(width)
    slopes[:, :k], intercepts[:k] = (loadings * scale[:, None]).T, -thresholds * scale
    prior = (np.linalg.inv(correlation), float(np.linalg.slogdet(correlation)[1]), False)
    if m in NODES:
        rule = product_rule(NODES[m], m)
    else:
        rule = quasi_random_rule(max(POINTS, 2 * (LEAST_NODES // (2 * len(rows)))), m, len(rows))
    moments = (np.empty(len(rows)), np.empty((len(rows), m)), np.empty((len(rows), m, m)))
    sums = (np.empty((m + 1, width)), np.empty(((m + 1) * (m + 2) // 2, width)))
    data = (yes, asked, np.ones(len(rows)))
    modes = np.zeros((len(rows), m))
    integrate((slopes, intercepts, PROBIT), data, prior, rule, modes, moments, sums)
    silent = ~asked.any(axis=1)
    moments[1][silent], moments[2][silent] = np.nan, np.nan
    pattern = where.ravel()
    return moments[1][pattern], moments[2][pattern]


def thresholds_of(answers: FloatArray) -> FloatArray:
    """Return the thresholds (k,) implied by the yes rates."""
    return np.asarray(-ndtri(np.nanmean(answers, axis=1)) + 0.0, dtype=np.float64)
