r"""Pareto smoothing of importance ratios, the shape k, and leave-one-out prediction.

The largest of S ratios (the upper :math:`\min(S/5, 3\sqrt S)`) are replaced by the expected order
statistics of a generalised Pareto distribution fitted to them. The shape k of this distribution is
a diagnostic of weighted averages. The variance of weighted averages is finite if k is below 1/2,
and weighted averages are usable if k is at most 0.7.

Leave-one-out prediction of a respondent's answers reweights posterior draws by
:math:`1 / p(y_i \mid \text{items})`, with abilities integrated out. With sampled abilities, the
importance ratios would have infinite variance, because an ability depends only on the answers of
one respondent.

References
----------
Vehtari, A., Simpson, D., Gelman, A., Yao, Y., & Gabry, J. (2024). Pareto smoothed importance
sampling. Journal of Machine Learning Research, 25(72), 1-58.

Zhang, J., & Stephens, M. A. (2009). A new and efficient estimation method for the generalized
Pareto distribution. Technometrics, 51(3), 316-325. https://doi.org/10.1198/tech.2009.08017
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray
from psychollm.data.labels import Labels

TRUSTED_K = 0.7
FEWEST = 5
PRIOR_SIZE, PRIOR_SHAPE = 10.0, 0.5  # weight and value of a prior that shrinks k


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LeaveOneOut(Result):
    """Leave-one-out cross-validation over respondents.

    Attributes
    ----------
    elpd, se : float
        Expected log predictive density, summed over respondents, and its standard error.
    p_loo : float
        Effective number of parameters.
    pointwise, pareto_k : ndarray of shape (respondents,)
        Contribution of each respondent to `elpd`, and its Pareto k. Contributions are unreliable
        if k exceeds 0.7.
    n_bad : int
        Number of respondents with Pareto k above 0.7.
    labels : tuple
        Names of the respondents.
    """

    elpd: float
    se: float
    p_loo: float
    pointwise: FloatArray  # (N,)
    pareto_k: FloatArray  # (N,)
    n_bad: int
    labels: Labels  # N

    _AXES = Axes({"respondent": "labels"}, "elpd=pointwise", "pareto_k")

    def summary(self) -> str:
        """Describe the estimate and its reliability in one sentence."""
        trust = (
            "all Pareto k below 0.7" if not self.n_bad else f"Pareto k above 0.7 for {self.n_bad}"
        )
        return (
            f"Expected log predictive density {self.elpd:.1f} (standard error {self.se:.1f}), "
            f"{self.p_loo:.1f} effective parameters, {len(self.labels)} respondents, {trust}."
        )


def fit_pareto(excess: FloatArray) -> tuple[float, float]:
    """Return shape k and scale of ordered excesses over a threshold (Zhang and Stephens)."""
    n = excess.size
    m = 30 + int(np.sqrt(n))
    grid = 1.0 - np.sqrt(m / (np.arange(1, m + 1) - 0.5))
    b = grid / (3.0 * excess[int(n / 4 + 0.5) - 1]) + 1.0 / excess[-1]
    shape = np.log1p(-b[:, None] * excess).mean(axis=1)
    profile = n * (np.log(-b / shape) - shape - 1.0)
    weight = np.exp(profile - profile.max())
    b_mean = float(b @ weight / weight.sum())
    k = float(np.log1p(-b_mean * excess).mean())
    scale = -k / b_mean
    return (n * k + PRIOR_SIZE * PRIOR_SHAPE) / (n + PRIOR_SIZE), scale


def smooth_ratios(log_ratios: FloatArray) -> tuple[FloatArray, float]:
    """Return smoothed, normalised log weights (S,) and the shape k."""
    # k is infinite if a single ratio has all the weight, and -inf if ratios do not vary.
    size = log_ratios.size
    weights = log_ratios - log_ratios.max()
    tail = int(min(0.2 * size, 3.0 * np.sqrt(size)))
    k = np.inf
    if tail >= FEWEST:
        order = np.argsort(weights, kind="stable")
        upper, cut = order[-tail:], weights[order[-tail - 1]]
        excess = np.exp(weights[upper]) - np.exp(cut)
        if excess[-1] <= np.finfo(float).eps * 100.0:
            k = -np.inf
        elif excess[int(tail / 4 + 0.5) - 1] > 0.0:
            k, scale = fit_pareto(excess)
            share = (np.arange(tail) + 0.5) / tail
            smoothed = scale * _quantile(share, k) + np.exp(cut)
            weights = weights.copy()
            weights[upper] = np.minimum(np.log(np.maximum(smoothed, 1e-300)), 0.0)
    total = np.log(np.exp(weights - weights.max()).sum()) + weights.max()
    return weights - total, float(k)


def _quantile(share: FloatArray, k: float) -> FloatArray:
    """Return quantiles of the generalised Pareto distribution with scale 1."""
    if abs(k) < 1e-12:
        return np.asarray(-np.log1p(-share))
    return np.asarray(np.expm1(-k * np.log1p(-share)) / k)


def leave_one_out(
    log_likelihood: FloatArray, of_respondent: IntArray, labels: Labels
) -> LeaveOneOut:
    """Return leave-one-out prediction from marginal log-likelihoods (draws, patterns)."""
    patterns = log_likelihood.shape[1]
    elpd, full, shapes = np.empty(patterns), np.empty(patterns), np.empty(patterns)
    for u in range(patterns):
        values = np.ascontiguousarray(log_likelihood[:, u])
        weights, shapes[u] = smooth_ratios(-values)
        elpd[u] = _log_mean(values + weights)
        full[u] = _log_mean(values - np.log(values.size))
    pointwise = elpd[of_respondent]
    k = shapes[of_respondent]
    return LeaveOneOut(
        elpd=float(pointwise.sum()),
        se=float(np.sqrt(pointwise.size * pointwise.var())),
        p_loo=float((full - elpd)[of_respondent].sum()),
        pointwise=pointwise,
        pareto_k=k,
        n_bad=int((k > TRUSTED_K).sum()),
        labels=labels,
    )


def _log_mean(terms: FloatArray) -> float:
    """Return the log of the sum of the exponentials of `terms`."""
    top = terms.max()
    return float(np.log(np.exp(terms - top).sum()) + top)
