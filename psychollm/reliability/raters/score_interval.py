r"""Intervals of proportions and of chance-corrected agreement that are valid near one.

Models that agree with themselves on 29 of 30 questions are the rule, and there Wald, percentile
and BCa intervals fail: what was seen once might as well have been seen never, and then they
collapse to a point. Score intervals take the variance at the hypothesised value instead of at the
estimate.

*Shares.* With hits :math:`h_u` among :math:`m_u` answers to question u, the share is
:math:`p = \sum h_u / \sum m_u`. Answers to one question (and questions of one cluster) depend on
each other; with :math:`r_g` the sum of :math:`h_u - p\, m_u` over cluster g, the share is as
variable as one of

.. math:: n^* = \frac{p(1-p)\,(\sum m_u)^2}{\sum_g r_g^2}                                 \quad (1)

independent answers, and has Wilson's interval for n* (Korn and Graubard, 1998; Franco, Little,
Louis and Slud, 2019). For single answers n* is their number and the interval is Wilson's own.

*Agreement beyond chance.* A coefficient is :math:`1 - D`, D the ratio of observed to expected
disagreement: a sum of rare events, between zero and two. With v the jackknife variance of D, the
bounds :math:`\delta` are those of Wilson's interval for half of it,

.. math:: (D - \delta)^2 = t^2 v\, \frac{\delta (2 - \delta)}{D (2 - D)},                 \quad (2)

t being the quantile of Student's distribution with one degree of freedom less than there are
questions, or that of clusters (`estimates.clustered`). Where two ratings hardly ever share the
rarer answer, none of them shows how often they might: v is at least :math:`D / P` for P pairs of
ratings of a question, the variance of D where raters agree by chance alone. Without any
disagreement (2) takes what one question in full disagreement out of n would give,
:math:`v = D / (n D_e)`, with :math:`D_e` the disagreement expected by chance.

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
    """One share, its standard error and its interval."""

    value: float
    se: float
    interval: FloatArray  # (2,)
    effective_n: float  # independent answers that would be as informative


def clustered_share(
    hits: FloatArray,
    sizes: FloatArray,
    clusters: IntArray | None = None,
    *,
    level: float = 0.95,
    most: float | None = None,
) -> Share:
    """Return a share with Wilson's interval for the effective number of answers (1)."""
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
    """Return the interval (2) of a coefficient of agreement beyond chance."""
    if not (np.isfinite(value) and np.isfinite(variance)) or units < 2:
        return np.full(2, np.nan)
    disagreement = 1.0 - value
    # Weights of one's own may make it more than two.
    most = max(2.0, disagreement)
    share = disagreement / most if disagreement > _ZERO else 0.0
    spread = share * (1.0 - share)
    varies = variance > _ZERO and spread > _ZERO
    trials = spread * most**2 / variance if varies else most * units * expected
    return 1.0 - most * wilson(share * trials, trials, level=level, df=df)[::-1]
