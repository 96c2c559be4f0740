r"""Score intervals, valid even near one, of proportions and of chance-corrected agreement.

Runs of a model often agree on nearly all questions, for example on 29 of 30. Wald, percentile and
BCa intervals are invalid near perfect agreement; for example, these intervals have zero length in
samples without disagreement. Score intervals use the variance at the hypothesised value instead of
at the estimate.

*Proportions.* If :math:`h_u` of the :math:`m_u` answers to question u are hits, the proportion is
:math:`p = \sum h_u / \sum m_u`. Answers to the same question are dependent, as are questions in
the same cluster. Let :math:`r_g` be the sum of :math:`h_u - p\, m_u` over cluster g. The variance
of p equals the variance of a proportion of n* independent answers, where

.. math:: n^* = \frac{p(1-p)\,(\sum m_u)^2}{\sum_g r_g^2} .                               \quad (1)

The interval is the Wilson interval for n* trials (Korn and Graubard, 1998; Franco, Little, Louis
and Slud, 2019). With one answer per question, n* is the number of answers.

*Agreement beyond chance.* A coefficient of agreement is :math:`1 - D`, where D is the ratio of
observed to expected disagreement. Near perfect agreement, D is a sum over rare events. The value
of D is assumed to be between zero and two. Let v be the jackknife variance of D. The bounds
:math:`\delta` are the bounds of the Wilson interval for D / 2,

.. math:: (D - \delta)^2 = t^2 v\, \frac{\delta (2 - \delta)}{D (2 - D)}.                 \quad (2)

Here t is the quantile of Student's distribution. The degrees of freedom of t are the number of
questions minus one or, with clusters, the degrees of freedom of `estimates.clustered`. If two
ratings rarely agree on the rarer answer, the jackknife underestimates the variance. v is therefore
at least :math:`D / P`, the variance of D if raters agree only by chance, where P is the number of
pairs of ratings of a question. If there is no disagreement, v is the variance that results if one
of n questions has complete disagreement, :math:`v = D / (n D_e)`, where :math:`D_e` is the
disagreement expected by chance.

References
----------
Korn, E. L., & Graubard, B. I. (1998). Confidence intervals for proportions with small expected
number of positive counts estimated from survey data. Survey Methodology, 24, 193-201.

Franco, C., Little, R. J. A., Louis, T. A., & Slud, E. V. (2019). Comparative study of confidence
intervals for proportions in complex sample surveys. Journal of Survey Statistics and Methodology,
7(3), 334-364. https://doi.org/10.1093/jssam/smy019
"""

from dataclasses import dataclass

import numpy as np

from psychollm._base.types import FloatArray, IntArray
from psychollm.estimates.clustered import corrected_sums, satterthwaite
from psychollm.estimates.intervals import wilson

_ZERO = 1e-12


@dataclass(frozen=True, slots=True)
class Share:
    """One proportion, its standard error and its interval."""

    value: float
    se: float
    interval: FloatArray  # (2,)
    effective_n: float  # effective number of independent answers


def clustered_share(
    hits: FloatArray,
    sizes: FloatArray,
    clusters: IntArray | None = None,
    *,
    level: float = 0.95,
    most: float | None = None,
) -> Share:
    """Return a proportion with its Wilson interval at the sample size of equation (1)."""
    total = float(sizes.sum())
    if total == 0.0:
        return Share(np.nan, np.nan, np.full(2, np.nan), 0.0)
    value = float(hits.sum()) / total
    residual = hits - value * sizes
    own = sizes > 0
    independent, df = float(own.sum()), np.inf
    if clusters is not None:
        shares = np.bincount(clusters, sizes) / total
        sums = np.asarray(np.bincount(clusters, residual), dtype=np.float64)
        residual = corrected_sums(sums, shares)
        independent, df = float(np.unique(clusters[own]).size), float(satterthwaite(shares))
    spread, square = value * (1.0 - value), float((residual**2).sum())
    most = total if most is None else most
    if spread <= _ZERO:
        effective, se = independent, 0.0
    else:
        full = spread * total**2
        effective = most if square * most <= full else full / square
        several = independent / (independent - 1.0) if independent > 1.0 else np.nan
        se = float(np.sqrt(square * (several if clusters is None else 1.0))) / total
    bounds = wilson(value * effective, effective, level=level, df=df)
    return Share(value, se, bounds, effective)


def score_interval(
    value: float, variance: float, *, units: int, df: float, expected: float, level: float
) -> FloatArray:
    """Return the interval, equation (2), of a coefficient of agreement beyond chance."""
    if not (np.isfinite(value) and np.isfinite(variance)) or units < 2:
        return np.full(2, np.nan)
    disagreement = 1.0 - value
    # With user-defined weights, D may exceed two.
    most = max(2.0, disagreement)
    share = disagreement / most if disagreement > _ZERO else 0.0
    spread = share * (1.0 - share)
    varies = variance > _ZERO and spread > _ZERO
    trials = spread * most**2 / variance if varies else most * units * expected
    return 1.0 - most * wilson(share * trials, trials, level=level, df=df)[::-1]
