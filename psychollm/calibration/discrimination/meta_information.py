r"""Meta-information: mutual information of stated confidence and correctness.

Dayan's meta-I is the mutual information of correctness Y and confidence C. Equation (1) defines
meta-I, with the binary entropy H of a proportion of correct answers.

.. math:: I(Y; C) = H(\bar y) - \sum_g \frac{n_g}{n} H(\bar y_g).                        \quad (1)

Meta-I is 0 for uninformative confidence and :math:`H(\bar y)` for perfectly informative
confidence. Models of unequal accuracy can be compared by the ratio of meta-I to :math:`H(\bar y)`.
Meta-I does not depend on the scale of confidence and does not require two classes of stimuli, so
it is suitable for open questions. Meta-I does not measure calibration.

The plug-in estimate, equation (1), is biased upwards, because accuracy differs by chance between
confidence groups. The bias is estimated by the mean of the plug-in estimate over all permutations
of correctness, and is subtracted. The mean over permutations has a closed form (Vinh, Epps &
Bailey). With 50 or more answers the remaining bias is at most a few thousandths of a bit. The
corrected estimate may be negative. If there are more than `n_bins` distinct confidences, they are
pooled into `n_bins` groups of about equal size; ties are not split.

The standard error combines two parts. The first part is the standard error of the mean of the
pointwise information in equation (2).

.. math:: \psi_i = \log_2 \frac{n \, n_{y_i g_i}}{n_{y_i} n_{g_i}} - I(Y; C).             \quad (2)

If there are clusters, the deviations are summed over clusters. The first part is zero for
uninformative confidence. The second part is the standard deviation of the estimate of equation (1)
for independent Y and C, :math:`\sqrt{(G - 1)/2}/(n \ln 2)` with G groups and n effective answers.
The first part increases with the information; the upper bound corrects for the resulting skewness.

References
----------
Dayan, P. (2023). Metacognitive information theory. Open Mind, 7, 392-411.
https://doi.org/10.1162/opmi_a_00091

Vinh, N. X., Epps, J., & Bailey, J. (2010). Information theoretic measures for clusterings
comparison: variants, properties, normalization and correction for chance. Journal of Machine
Learning Research, 11, 2837-2854.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from psychollm._base.axes import Axes
from psychollm._base.checks import check_count
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray, RandomState
from psychollm.calibration.influence import (
    cluster_shares,
    cluster_sums,
    skew_allowance,
    spread_of_sum,
    student_multiplier,
)
from psychollm.calibration.metric import Metric, Output, estimate_all
from psychollm.calibration.stated import stated_answers
from psychollm.calibration.tally import Tally
from psychollm.data.labels import Labels
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.clustered import satterthwaite
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap, Resampling
from psychollm.kernels.meta_information import table_information

N_BINS = 10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConfidenceInformation(Result):
    """Mutual information of confidence and correctness, in bits and relative to its maximum.

    Examples
    --------
    >>> told = confidence_information([[0.9] * 30 + [0.2] * 30], [[1] * 30 + [0] * 30], rng=0)
    >>> told.bits.value.round(3)
    array([0.988])
    """

    bits: Estimate  # meta-I
    share: Estimate  # meta-I / H(correct)
    labels: Labels  # (models,)

    _AXES = Axes(
        {"model": "bits.labels"},
        "value=bits.value",
        "se=bits.se",
        "{bound}=bits.interval",
        "n=bits.n",
        "flag=bits.flags",
        "share=share.value",
        "se_share=share.se",
        "{bound}_share=share.interval",
    )


def confidence_information(
    confidence: ResponsesLike,
    correctness: ResponsesLike,
    *,
    n_bins: int = N_BINS,
    corrected: bool = True,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> ConfidenceInformation:
    """Compute the mutual information of each model's confidence and correctness (meta-I).

    Parameters
    ----------
    confidence, correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        Stated probability of being correct, and correctness (1, 0 or a value between 0 and 1).
    n_bins : int
        Largest number of confidence groups. If there are more distinct confidences, they are
        pooled into `n_bins` groups of about equal size.
    corrected : bool
        Whether to subtract the value expected under a random order of correctness.
    clusters : array_like (questions,), optional
        Cluster of each question, such as its passage; whole clusters are resampled.
    weights : array_like (questions,), optional
        Weight of each question.
    bootstrap : int or Bootstrap
        Number of resamples of questions, used by `Estimate.difference`; 0 disables resampling. The
        interval has a closed form and does not use the resamples.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    ConfidenceInformation
        Values are NaN, with a reason, for a model that is always or never correct. For constant
        confidence the value is 0 with the reason `CONSTANT`.

    Raises
    ------
    OptionError
        If `n_bins` is below two.
    CodeError
        If a confidence or a correctness is outside [0, 1].
    ShapeError, LabelError
        If the tables or the clusters do not match in shape or labels.

    Notes
    -----
    With 2 to 10 groups and informative confidence, the 95 % interval has a coverage of 97 to 99 %
    with 50 answers, and of 94 to 98 % with 200 and 1,000 answers. With uninformative confidence,
    the coverage exceeds 99 %, because the estimate has a chi-square distribution.

    Examples
    --------
    >>> told = confidence_information([[0.9, 0.9, 0.2, 0.2] * 20], [[1, 1, 1, 0] * 20], rng=0)
    >>> told.bits.value.round(3), told.share.value.round(3)
    (array([0.302]), array([0.372]))
    """
    answers = stated_answers(confidence, correctness, clusters=clusters, weights=weights)
    options = Resampling.of(bootstrap, level, rng)
    metric = information_metric(n_bins=n_bins, corrected=corrected)
    bits, share = estimate_all([metric], answers, options)
    return ConfidenceInformation(bits=bits, share=share, labels=answers.models)


def information_metric(*, n_bins: int = N_BINS, corrected: bool = True) -> Metric:
    """Return the metric that `confidence_information` computes."""
    n_bins = check_count("n_bins", n_bins, low=2)

    def prepare(tally: Tally) -> IntArray:
        return _edges(tally.correct + tally.wrong, n_bins)

    def compute(edges: IntArray, correct: FloatArray, wrong: FloatArray) -> FloatArray:
        parts = np.empty((correct.shape[0], 3))
        table_information(correct, wrong, edges, parts)
        return _shared(parts, corrected=corrected)

    def analytic(tally: Tally, values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        return _closed_form(tally, prepare(tally), values, level)

    return Metric(
        names=("meta-I", "relative meta-I"),
        compute=compute,
        flags=_flags,
        prepare=prepare,
        interval="percentile",
        analytic=analytic,
        method="delta method",
        robust=analytic,
        robust_method="sandwich",
    )


def _edges(mass: FloatArray, n_bins: int) -> IntArray:
    """Return the first distinct confidence of each group, and the number of groups."""
    if mass.size <= n_bins or not mass.sum() > 0.0:
        return np.arange(mass.size + 1, dtype=np.int64)
    middle = (np.cumsum(mass) - 0.5 * mass) / mass.sum()
    starts = np.searchsorted(n_bins * middle, np.arange(n_bins), side="left")
    return np.asarray(np.unique(np.append(starts, mass.size)), dtype=np.int64)


def _shared(parts: FloatArray, *, corrected: bool) -> FloatArray:
    """Return meta-I and its ratio to the entropy (rows, 2); NaN if undefined."""
    told, chance, entropy = parts.T
    entropy = np.where(entropy > 0.0, entropy, np.nan)
    bits = np.where(np.isnan(entropy), np.nan, told - chance if corrected else told)
    return np.stack([bits, bits / entropy], axis=1)


def _flags(tally: Tally) -> tuple[Reason, ...]:
    reason = Reason.NONE
    if tally.values.size == 1:
        reason = Reason.CONSTANT
    if not tally.wrong.sum() > 0.0:
        reason = Reason.NO_WRONG
    if not tally.correct.sum() > 0.0:
        reason = Reason.NO_CORRECT
    return (reason, reason)


def _closed_form(
    tally: Tally, edges: IntArray, values: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return standard errors and bounds of two outputs, from the two parts of the variance."""
    counts = np.add.reduceat(np.stack([tally.correct, tally.wrong]), edges[:-1], axis=1)
    table = counts / counts.sum()
    margin, mass = table.sum(axis=1), table.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        pointwise = np.where(table > 0.0, np.log2(table / np.outer(margin, mass)), 0.0)
    surprise, right = -np.log2(margin), tally.right
    group = np.searchsorted(edges, tally.group, side="right") - 1
    told = right * pointwise[0, group] + (1.0 - right) * pointwise[1, group]
    news = right * surprise[0] + (1.0 - right) * surprise[1]
    bits, entropy = float((table * pointwise).sum()), float(margin @ surprise)
    share = (told - bits) / entropy - bits / entropy**2 * (news - entropy)
    shares = cluster_shares(tally)
    variance = partial(_mean_variance, tally, shares)
    varied = variance(right - margin[0])
    # Clusters with equal accuracy have zero variance, and their effective size would be infinite.
    # The effective size is therefore limited to the number of answers.
    effective = min(margin[0] * margin[1] / varied, tally.n) if varied > 0.0 else tally.n
    chance = np.sqrt(0.5 * (np.count_nonzero(mass) - 1)) / (effective * np.log(2.0))
    sampled = [variance(told - bits), variance(share)]
    errors = np.sqrt(np.array(sampled) + np.array([chance, chance / entropy]) ** 2)
    df = np.inf if tally.cluster is None else float(satterthwaite(shares))
    reach = student_multiplier(level, df) * errors
    # The estimated variance increases with the information before the bias correction.
    skew = [
        skew_allowance(own / counted, level) if counted > 0.0 else 0.0
        for own, counted in zip(sampled, (bits, bits / entropy), strict=True)
    ]
    return errors, np.stack([values - reach, values + reach + skew], axis=1)


def _mean_variance(tally: Tally, shares: FloatArray, deviations: FloatArray) -> float:
    """Return the variance of a weighted mean over answers, or over clusters of answers."""
    sums = cluster_sums(tally, deviations[:, None])
    if tally.cluster is None:
        return float((sums**2).sum() / tally.weight.sum() ** 2)
    return float(spread_of_sum(sums, shares)[0, 0] / tally.weight.sum() ** 2)


META_INFORMATION = information_metric().in_panel(
    "ranking",
    2,
    Output(
        "meta_information",
        "meta-I (bits)",
        "information of confidence about correctness, in bits",
        better="higher",
        neutral=0.0,
    ),
    Output(
        "relative_meta_information",
        "relative meta-I",
        "meta-I as a proportion of its maximum",
        better="higher",
        neutral=0.0,
    ),
)
