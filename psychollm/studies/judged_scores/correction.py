r"""Correct judged scores by human labels: estimate, errors and interval.

A judge gave verdicts on the N answers of a model, and people labelled n of them; y denotes a
label. Let g be the verdict minus its mean over all N answers, and :math:`w_q` the weights of the
labelled answers. The weights sum to one and are inversely proportional to the inclusion
probabilities :math:`\pi_q`. The difference estimator (`psychollm.estimates.corrected`) uses the
prediction :math:`\bar y + \lambda (g_q - \bar g)`:

.. math:: \hat\theta = \sum_q w_q (y_q - \lambda g_q), \qquad
          \lambda = \frac{\sum_q w_q (g_q - \bar g)(y_q - \bar y)}
                         {\sum_q w_q (g_q - \bar g)^2}.                                   \quad (1)

The difference estimator is known as prediction-powered inference with a tuned weight (PPI++). For
binary verdicts, the estimator is the mean of the labels within each verdict, weighted by the
frequency of the verdict. An uninformative judge has a weight near zero.

Let :math:`e_q` be the residuals of equation (1) and :math:`h_q` their leverages. The errors of
models i and j have the covariance

.. math:: C_{ij} = \rho_{ij} \sum_q (1 - \pi_q) \, w_{iq} w_{jq} \,
                   \frac{e_{iq} e_{jq}}{\sqrt{(1 - h_{iq})(1 - h_{jq})}}.                 \quad (2)

The sum is over the answers labelled for both models. The correlation :math:`\rho` is one if both
models were labelled on the same questions, and smaller if their labels were drawn separately. To
generalise to the question population from which the N answers are sampled, the factor :math:`1 -
\pi` is omitted and the covariance of the mean predictions is added. With clusters, the summands
are sums over clusters, with the correction CR2.

If a judge is nearly always right, few residuals are nonzero, and the covariance, equation (2),
would be too small. Therefore, for each model, a quarter of the contribution of one wrong label is
added to the variance of a difference, and half of the contribution to the variance of a single
score.

The interval of a score with binary labels and verdicts combines intervals of proportions within
each verdict. Let :math:`p_k` be the proportion of answers with verdict k, :math:`\theta_k` the
proportion of correct answers among them, and :math:`[l_k, u_k]` the Jeffreys interval of
:math:`\theta_k`. The method of variance estimates recovery gives the interval of the score:

.. math:: \hat\theta - \Big(\sum_k p_k^2 (\theta_k - l_k)^2\Big)^{1/2}, \qquad
          \hat\theta + \Big(\sum_k p_k^2 (u_k - \theta_k)^2\Big)^{1/2}.                   \quad (3)

Numbers of labels are divided by the design effect, which is :math:`1 - n / N` for inference to the
judged questions, times the effects of unequal probabilities and clusters. Scores of graded
verdicts have Wilson intervals, with the effective sample size that follows from equation (2) and
quantiles of Student's t.

The intervals of all differences combine the intervals of the scores
(`psychollm.reliability.means.combined_intervals`), given the covariance in equation (2).

References
----------
Angelopoulos, A. N., Duchi, J. C., & Zrnic, T. (2023). PPI++: Efficient prediction-powered
inference. arXiv:2311.01453.

Särndal, C.-E., Swensson, B., & Wretman, J. (1992). Model assisted survey sampling. Springer.

Brown, L. D., Cai, T. T., & DasGupta, A. (2001). Interval estimation for a binomial proportion.
Statistical Science, 16, 101-133. https://doi.org/10.1214/ss/1009213286

Zou, G. Y., & Donner, A. (2008). Construction of confidence intervals about effect measures: A
general approach. Statistics in Medicine, 27, 1693-1702. https://doi.org/10.1002/sim.3095
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, stdtrit

from psychollm._base.replicate import one_blas_thread
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.estimates.clustered import corrected_sums, expanded_level, satterthwaite
from psychollm.estimates.corrected import correction, spread_of
from psychollm.estimates.intervals import wilson
from psychollm.reliability.means.clustered import cluster_sums

_WRONG = 0.25  # square of the number of wrong labels added per model
_LEAST = 5  # number of labels below which the judge has weight zero
_MOST_LEVERAGE = 0.9
_ROUNDING = 1e-12  # tolerance of residuals for labels between 0 and 1
_NONE_LEFT = 1e-9  # proportion of variance that remains if all answers are labelled


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Labelled:
    """Labels and predictions of all models, and the sampling design of the labels."""

    people: FloatArray  # (models, questions) between 0 and 1 unless graded, NaN without a label
    predicted: FloatArray  # (models, questions) g of (1): mean zero over a model's answers
    verdict: FloatArray  # (models, questions) NaN if missing
    pi: FloatArray  # (models, questions) inclusion probability, NaN outside a model's answers
    size: FloatArray  # (models,) number of answers N
    clusters: IntArray | None  # (questions,)
    shares: bool  # whether labels are between 0 and 1
    sampled: bool  # whether the questions are a sample of a population


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fit:
    """Estimates of all models, and their errors."""

    value: FloatArray  # (models,) estimate (1)
    weight: FloatArray  # (models,) lambda, 0 without a judge
    covariance: FloatArray  # (models, models) (2) with the added wrong labels
    variance: FloatArray  # (models,) (2) without the added labels
    alone: FloatArray  # (models,) variance from the labels alone
    # (models,) variance of the mean prediction; 0 if the questions are not a sample
    predictions: FloatArray
    df: FloatArray  # (models,)
    n: FloatArray  # (models,) labels
    n_clusters: FloatArray  # (models,)
    effect: FloatArray  # (models,) design effect of clusters
    residual: FloatArray  # (models, questions) e, NaN without a label


def fit(table: Labelled) -> Fit:
    """Return corrected scores, with the covariance of their errors."""
    there = np.isfinite(table.people)
    # Questions without any label are dropped here.
    asked = np.flatnonzero(there.any(axis=0))
    known = there[:, asked]
    y = np.where(known, table.people[:, asked], 0.0)
    g = np.where(known, table.predicted[:, asked], 0.0)
    pi = np.where(known, table.pi[:, asked], 1.0)
    w = _weights(known, pi)
    n = known.sum(axis=1).astype(np.float64)
    centred = np.where(known, y - (w * y).sum(axis=1, keepdims=True), 0.0)
    x = np.where(known, g - (w * g).sum(axis=1, keepdims=True), 0.0)
    square = (w * x**2).sum(axis=1)
    helped = (n >= _LEAST) & (square > 1e-12)
    per = np.where(helped, 1.0, 0.0) / np.where(helped, square, 1.0)
    slope = (w * x * centred).sum(axis=1) * per
    residual = centred - slope[:, None] * x
    residual[np.abs(residual) < _ROUNDING] = 0.0
    leverage = w * (1.0 + x**2 * per[:, None])
    # A prediction with g = 0 is the mean prediction over all answers; residuals sum to zero.
    prediction = (w * y).sum(axis=1) - slope * (w * g).sum(axis=1)
    value = prediction + correction(residual, w)
    clusters = None if table.clusters is None else table.clusters[asked]
    left = np.ones_like(pi) if table.sampled else np.sqrt(np.maximum(1.0 - pi, 0.0))
    with one_blas_thread():
        sums, df, n_clusters = _sums(w * left, residual, w, leverage, known, clusters)
        alone, _, _ = _sums(w * left, centred, w, w, known, clusters)
        covariance = sums @ sums.T * _together(w, pi, known, table)
        drawn = of_means(slope[:, None] * table.predicted, table)
    variance = np.diagonal(covariance).copy()
    plain = ((w * left * residual) ** 2).sum(axis=1)
    units = cluster_sums(w, clusters)
    most = (units**2).sum(axis=1)
    unclustered = np.maximum((w**2).sum(axis=1), 1e-300)
    effect = np.ones_like(n)
    if clusters is not None:
        varies = plain > 1e-12 * (w**2).sum(axis=1)
        effect = np.where(varies, variance / np.where(varies, plain, 1.0), most / unclustered)
        effect = np.clip(effect, 1.0, np.maximum(most / unclustered, 1.0))
    covariance[np.diag_indices_from(covariance)] += (
        _WRONG * most * ((w * left) ** 2).sum(axis=1) * np.maximum(most / unclustered, 1.0)
    )
    full = np.full(table.people.shape, np.nan)
    full[:, asked] = np.where(known, residual, np.nan)
    return Fit(
        value=np.where(n > 0, value, np.nan),
        weight=slope,
        covariance=covariance + drawn,
        variance=variance,
        alone=(alone**2).sum(axis=1),
        predictions=np.diagonal(drawn).copy(),
        df=np.maximum(np.where(np.isfinite(df), df, n - 1.0 - helped), 0.0),
        n=n,
        n_clusters=n_clusters,
        effect=effect,
        residual=full,
    )


def _weights(known: BoolArray, pi: FloatArray) -> FloatArray:
    """Return weights w in equation (1), zero for missing labels (models, labelled questions)."""
    inverse = np.where(known, 1.0 / pi, 0.0)
    return np.asarray(inverse / np.maximum(inverse.sum(axis=1, keepdims=True), 1e-300))


def _sums(
    scale: FloatArray,
    residual: FloatArray,
    weight: FloatArray,
    leverage: FloatArray,
    known: BoolArray,
    clusters: IntArray | None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return error contributions of labels or clusters (models, units), df, and unit counts."""
    if clusters is None:
        spread = np.sqrt(1.0 - np.minimum(leverage, _MOST_LEVERAGE))
        none = np.full(len(residual), np.nan)
        return scale * residual / spread, none, known.sum(axis=1).astype(np.float64)
    share = cluster_sums(weight, clusters)
    sums = np.nan_to_num(corrected_sums(cluster_sums(scale * residual, clusters), share))
    return sums, np.nan_to_num(satterthwaite(share)), (share > 0.0).sum(axis=1).astype(np.float64)


def _together(w: FloatArray, pi: FloatArray, known: BoolArray, table: Labelled) -> FloatArray:
    """Return the correlation rho in equation (2), which is one if labels were drawn jointly."""
    models = len(w)
    if table.sampled or all((row == known[0]).all() for row in known[1:]):
        return np.ones((models, models))
    here = known.astype(np.float64)
    root = np.sqrt(np.nan_to_num(table.pi))
    both, products = here @ here.T, w @ w.T
    chance = np.divide(
        (w * np.sqrt(pi)) @ (w * np.sqrt(pi)).T, products, out=np.ones_like(products),
        where=products > 0.0,
    )  # fmt: skip
    jointly = np.clip(both / np.maximum(root @ root.T, 1e-300), 1e-9, 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = (1.0 - chance / jointly) / (1.0 - chance)
    together = np.where(chance < 1.0 - 1e-9, np.clip(share, 0.0, 1.0), 1.0)
    together[np.diag_indices(models)] = 1.0
    return np.asarray(together)


def of_means(values: FloatArray, table: Labelled) -> FloatArray:
    """Return the covariance of means over a sample of questions (models, models)."""
    if not table.sampled:
        return np.zeros((len(values), len(values)))
    size = np.maximum(table.size, 1.0)[:, None]
    part = np.where(np.isfinite(table.pi), values, 0.0) / np.sqrt(
        size * np.maximum(size - 1.0, 1.0)
    )
    part = cluster_sums(part, table.clusters)
    return np.asarray(part @ part.T)


def within_bounds(table: Labelled, values: FloatArray) -> FloatArray:
    """Return values (models, ...) clipped to the range that proportions and labels allow."""
    if not table.shares:
        return values
    low, high = np.zeros(len(values)), np.ones(len(values))
    if not table.sampled:  # labels of these answers are fixed
        known, size = np.isfinite(table.people), np.maximum(table.size, 1.0)
        low = np.where(known, table.people, 0.0).sum(axis=1) / size
        high = 1.0 - np.where(known, 1.0 - table.people, 0.0).sum(axis=1) / size
    shape = (-1,) + (1,) * (values.ndim - 1)
    return np.asarray(np.clip(values, low.reshape(shape), high.reshape(shape)))


def margins_of(table: Labelled, found: Fit, level: float, *, at_once: bool = False) -> FloatArray:
    """Return each score's margins below and above its value (2, models), by equation (3).

    Parameters
    ----------
    table : Labelled
    found : Fit
    level : float
        Pointwise coverage.
    at_once : bool
        Whether the margins are for differences, which use Student's t for few labels.
    """
    if not table.shares:
        return np.stack([_t(found, level) * np.sqrt(_variance(found))] * 2)
    coverage = np.full(found.n.size, level)
    if at_once or table.clusters is not None:
        freedom = np.maximum(found.df, 1e-3)
        coverage = expanded_level(level, freedom, np.ones_like(freedom))
    everything = np.zeros(table.people.shape, dtype=np.int64)
    alone = _within_verdicts(table, found, everything, coverage)
    strata = two_values(table.verdict)
    judged = (
        _like_shares(found, level)
        if strata is None
        else _within_verdicts(table, found, strata, coverage)
    )
    return np.where(found.weight == 0.0, alone, judged)


def correlation_of(found: Fit, first: IntArray, second: IntArray) -> FloatArray:
    """Return the correlation of the errors of each pair of scores (pairs,)."""
    # A few shared errors do not imply perfect correlation, so half of the added variance is
    # included.
    whole = np.diagonal(found.covariance)
    spread = np.sqrt(0.5 * (whole + found.variance + found.predictions))
    scale = np.where(spread > 0.0, spread, np.inf)
    return np.asarray(found.covariance[first, second] / (scale[first] * scale[second]))


def two_values(verdict: FloatArray) -> IntArray | None:
    """Return 0 or 1 for each verdict, -1 if missing; None if there are more than two values."""
    known = np.isfinite(verdict)
    if not known.any():
        return None
    low, high = verdict[known].min(), verdict[known].max()
    if not ((verdict == low) | (verdict == high) | ~known).all():
        return None
    return np.where(known, verdict == high, -1).astype(np.int64)


def _t(found: Fit, level: float) -> FloatArray:
    return np.where(found.df > 0.0, stdtrit(np.maximum(found.df, 1e-3), 0.5 + 0.5 * level), np.nan)


def _variance(found: Fit) -> FloatArray:
    """Return the variance of a score, in which the part added for wrong labels is doubled."""
    own = np.diagonal(found.covariance) - found.predictions
    return np.asarray(own + (own - found.variance))


def _like_shares(found: Fit, level: float) -> FloatArray:
    """Return Wilson's margins with the effective sample size of the score (2, models)."""
    value = np.clip(np.nan_to_num(found.value), 1e-6, 1.0 - 1e-6)
    variance = np.maximum(_variance(found), 1e-12)
    size = value * (1.0 - value) / variance
    bounds = wilson(value * size, size, level=level, df=np.maximum(found.df, 1e-3))
    return np.stack([value - bounds[:, 0], bounds[:, 1] - value])


def _within_verdicts(
    table: Labelled, found: Fit, strata: IntArray, level: FloatArray
) -> FloatArray:
    """Return the margins of the intervals of equation (3), an array of shape (2, models)."""
    inverse = np.where(np.isfinite(table.people), 1.0 / table.pi, 0.0)
    left = spread_of(inverse) if not table.sampled else inverse**2
    y = np.nan_to_num(table.people)
    total = np.maximum((strata >= 0).sum(axis=1), 1)
    squares = np.zeros((2, len(y)))
    for stratum in (0, 1):
        own = strata == stratum
        share, weight = own.sum(axis=1) / total, np.where(own, inverse, 0.0)
        n = (weight > 0.0).sum(axis=1)
        sums = np.maximum(weight.sum(axis=1), 1e-300)
        theta = (weight * y).sum(axis=1) / sums
        binary = theta * (1.0 - theta)
        # Graded labels vary less than binary ones; their variance is estimated with one binary
        # label added.
        spread = (weight * (y - theta[:, None]) ** 2).sum(axis=1) / sums
        varies = np.where(binary > 0.0, binary, 1.0)
        alike = np.where(binary > 0.0, (n * spread + binary) / ((n + 1.0) * varies), 1.0)
        effect = n * np.where(own, left, 0.0).sum(axis=1) / sums / sums
        size = n / np.maximum(effect * found.effect * alike, _NONE_LEFT)
        hits, misses = size * theta + 0.5, size * (1.0 - theta) + 0.5
        low = np.where(theta > 0.0, betaincinv(hits, misses, 0.5 - 0.5 * level), 0.0)
        high = np.where(theta < 1.0, betaincinv(hits, misses, 0.5 + 0.5 * level), 1.0)
        margins = np.stack([theta - np.minimum(low, theta), np.maximum(high, theta) - theta])
        squares += np.where(n > 0, share * margins, 0.0) ** 2
    return np.sqrt(squares)
