r"""Over- and underconfidence: differences between stated confidence and accuracy.

Let :math:`\bar f` be the mean confidence and :math:`\bar y` the accuracy, and let :math:`f_k` and
:math:`o_k` be their values in bin k. Then

.. math:: \bar f - \bar y =
          \underbrace{\sum_k \tfrac{n_k}{n} \max(f_k - o_k, 0)}_{\text{over}}
          - \underbrace{\sum_k \tfrac{n_k}{n} \max(o_k - f_k, 0)}_{\text{under}} .        \quad (1)

The difference between mean confidence and accuracy can be zero even if a model is overconfident at
high and underconfident at low confidence. Over- and underconfidence are therefore also computed
separately; their sum is the expected calibration error for the same bins. By chance, over- and
underconfidence are both positive even for a calibrated model, and are larger if there are few
answers per bin. The intervals of over- and underconfidence correct for this bias and may include
zero (`noise_interval`). The estimates of over- and underconfidence are therefore in the upper part
of the interval, or above it. The difference between mean confidence and accuracy is not biased.

The interval of the difference d combines the intervals of the two means (Zou & Donner 2008). Let l
and u be the bounds of the two means, and r the correlation of confidence and correctness. Equation
(2) gives the lower bound of d; the upper bound is analogous.

.. math:: d - \sqrt{(\bar f - l_f)^2 + (u_y - \bar y)^2
                    - 2 r (\bar f - l_f)(u_y - \bar y)}.                                  \quad (2)

The bounds l_f and u_f are based on Student's t; l_y and u_y are Wilson bounds, so that the
interval does not have zero length for a model that is always correct. With clusters or weights,
the interval is based on Student's t with the clustered standard error, on the scale of Fisher's z.

References
----------
Zou, G. Y., & Donner, A. (2008). Construction of confidence limits about effect measures: a general
approach. Statistics in Medicine, 27, 1693-1702. https://doi.org/10.1002/sim.3095
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from psychollm._base.axes import Axes
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray, RandomState
from psychollm.calibration.errors.bins import Binning, Closed, bins_of
from psychollm.calibration.influence import (
    cluster_shares,
    cluster_sums,
    interval_on,
    spread_of_sum,
    student_multiplier,
)
from psychollm.calibration.metric import NOISY, Metric, Output, estimate_all
from psychollm.calibration.scores.murphy import (
    FixedBins,
    bin_means,
    bin_starts,
    fixed_binning,
)
from psychollm.calibration.scores.noise_interval import (
    METHOD,
    ROBUST_METHOD,
    less_noise,
    noise_of_bins,
    noise_of_one_sign,
)
from psychollm.calibration.stated import stated_answers
from psychollm.calibration.tally import Tally, tallies
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.clustered import satterthwaite
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import wilson
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap, Resampling
from psychollm.kernels.murphy import mean_gaps, signed_gaps


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Overconfidence(Result):
    """Mean confidence, accuracy and their difference, for every model.

    Examples
    --------
    >>> found = overconfidence([0.9, 0.9, 0.2, 0.2], [1, 0, 0, 1], rng=0)
    >>> found.difference.value.round(2), found.over.value.round(2), found.under.value.round(2)
    (array([0.05]), array([0.2]), array([0.15]))
    """

    difference: Estimate  # mean confidence minus proportion correct
    over: Estimate  # contribution of bins with confidence above accuracy
    under: Estimate  # contribution of bins with confidence below accuracy (positive)
    mean_confidence: FloatArray  # (models,)
    accuracy: FloatArray  # (models,)
    labels: tuple[Any, ...]  # (models,)

    _AXES = Axes(
        {"model": "labels"},
        "n=difference.n",
        "mean_confidence",
        "accuracy",
        "difference",
        "over",
        "under",
    )

    def summary(self) -> str:
        """Return a summary with one sentence per model."""
        return "\n".join(self._sentence(row, label) for row, label in enumerate(self.labels))

    def _sentence(self, row: int, label: Any) -> str:
        if not self.difference.defined[row]:
            return f"{label}: undefined, {self.difference.flags[row]}."
        return (
            f"{label}: states {self.mean_confidence[row]:.3f} on average and is correct in a "
            f"proportion of {self.accuracy[row]:.3f}, a difference of "
            f"{self.difference.text(row, 3)}."
        )


def overconfidence(
    confidence: ResponsesLike,
    correctness: ResponsesLike,
    *,
    bins: FixedBins = "auto",
    n_bins: int = 15,
    closed: Closed = "right",
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Overconfidence:
    """Compare each model's mean confidence with its accuracy.

    Parameters
    ----------
    confidence, correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        Stated probability of being correct, and correctness (1, 0 or a value between 0 and 1).
    bins : {"auto", "width", "mass", "discrete"}
        "discrete" makes each distinct confidence a bin. "auto" is "discrete" for a model with at
        most 20 distinct values, and "width" otherwise.
    n_bins : int
        Number of bins of equal width or mass.
    closed : {"right", "left"}
        Side on which bins are closed.
    clusters : array_like (questions,), optional
        Cluster of each question, such as its passage; whole clusters are resampled.
    weights : array_like (questions,), optional
        Weight of each question.
    bootstrap : int or Bootstrap
        Number of resamples of questions. All models share the same resamples, so that differences
        between models are paired.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    Overconfidence
        For a model without answers, values are NaN, with a reason.

    Raises
    ------
    OptionError
        If an option is invalid.
    CodeError
        If a confidence or a correctness is outside [0, 1].
    ShapeError, LabelError
        If the tables or the clusters do not match in shape or labels.

    Examples
    --------
    >>> found = overconfidence([0.9, 0.8, 0.9, 0.6], [1, 0, 1, 1], rng=0)
    >>> found.difference.value.round(2), found.difference.interval.round(2)
    (array([0.05]), array([[-0.25,  0.55]]))
    """
    answers = stated_answers(confidence, correctness, clusters=clusters, weights=weights)
    options = Resampling.of(bootstrap, level, rng)
    parts = miscalibration_metric(bins, n_bins=n_bins, closed=closed)
    difference, over, under = estimate_all([OVERCONFIDENCE, parts], answers, options)
    means = np.array([_means(tally) for tally in tallies(answers)])
    return Overconfidence(
        difference=difference,
        over=over,
        under=under,
        mean_confidence=means[:, 0],
        accuracy=means[:, 1],
        labels=answers.models,
    )


def miscalibration_metric(
    bins: FixedBins = "auto", *, n_bins: int = 15, closed: Closed = "right"
) -> Metric:
    """Return the metric of over- and underconfidence."""
    binning = fixed_binning(bins, n_bins, closed)
    return Metric(
        names=("overconfident part", "underconfident part"),
        prepare=lambda tally: (tally.values, bin_starts(tally, binning)),
        compute=_gaps,
        flags=lambda _: (Reason.NONE, Reason.NONE),
        analytic=partial(_intervals, binning=binning),
        method=METHOD,
        robust_method=ROBUST_METHOD,
    )


def _gaps(
    shared: tuple[FloatArray, IntArray], correct: FloatArray, wrong: FloatArray
) -> FloatArray:
    out = np.empty((correct.shape[0], 2))
    signed_gaps(*shared, correct, wrong, out)
    return out


def _intervals(
    tally: Tally, value: FloatArray, level: float, *, binning: Binning
) -> tuple[FloatArray, FloatArray]:
    """Return standard errors and bounds of over- and underconfidence."""
    bins = bins_of(tally.values, tally.correct + tally.wrong, binning).index
    stated, share, _ = bin_means(tally, bin_starts(tally, binning))
    over = (stated > share)[bins][tally.group]
    residual = tally.values[tally.group] - tally.right
    noise = noise_of_one_sign(noise_of_bins(tally, bins))
    se, bounds = zip(
        *(less_noise(tally, gain, noise, level) for gain in (residual * over, -residual * ~over)),
        strict=True,
    )
    return np.array(se), np.minimum(np.array(bounds), 1.0)


def _difference(values: FloatArray, correct: FloatArray, wrong: FloatArray) -> FloatArray:
    out = np.empty((correct.shape[0], 1))
    mean_gaps(values, correct, wrong, out[:, 0])
    return out


def _means(tally: Tally) -> tuple[float, float]:
    """Return weighted mean confidence and proportion correct."""
    size = tally.correct + tally.wrong
    if not size.sum() > 0.0:
        return np.nan, np.nan
    return float(size @ tally.values / size.sum()), float(tally.correct.sum() / size.sum())


def _two_means(tally: Tally, value: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Return the standard error of the difference, and its bounds by Zou and Donner's method."""
    se, bounds = np.full(1, np.nan), np.full((1, 2), np.nan)
    if tally.n < 2:
        return se, bounds
    stated, right = tally.values[tally.group], tally.right
    se[0] = (stated - right).std(ddof=1) / np.sqrt(tally.n)
    reach = student_multiplier(level, tally.n - 1.0) * stated.std(ddof=1) / np.sqrt(tally.n)
    low, high = wilson(right.sum(), tally.n, level=level)
    share = right.mean()
    varying = reach > 0.0 and 0.0 < share < 1.0
    r = float(np.corrcoef(stated, right)[0, 1]) if varying else 0.0
    below = _combined(reach, high - share, r)
    above = _combined(reach, share - low, r)
    bounds[0] = max(value[0] - below, -1.0), min(value[0] + above, 1.0)
    return se, bounds


def _combined(first: float, second: float, r: float) -> float:
    return float(np.sqrt(max(first**2 + second**2 - 2.0 * r * first * second, 0.0)))


def _clustered_t(tally: Tally, value: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Return standard error and bounds of the difference, with clusters or weights."""
    se, bounds = np.full(1, np.nan), np.full((1, 2), np.nan)
    residual = tally.values[tally.group] - tally.right - value[0]
    shares = cluster_shares(tally)
    spread = spread_of_sum(cluster_sums(tally, residual[:, None]), shares)
    variance = float(spread[0, 0]) / float(tally.weight.sum()) ** 2
    se[0], df = np.sqrt(variance), float(satterthwaite(shares))
    bounds[0] = interval_on(
        "Fisher z", float(value[0]), variance, trials=len(shares), df=df, level=level
    )
    return se, bounds


OVERCONFIDENCE = Metric(
    names=("overconfidence",),
    compute=_difference,
    flags=lambda _: (Reason.NONE,),
    analytic=_two_means,
    method="t and Wilson, combined",
    robust=_clustered_t,
    robust_method="sandwich, Fisher z",
).in_panel(
    "scores",
    4,
    Output(
        "overconfidence",
        "overconfidence",
        "mean confidence minus accuracy",
        better="near",
        neutral=0.0,
        listed=False,
    ),
)
MISCALIBRATION = miscalibration_metric().in_panel(
    "scores",
    5,
    Output(
        "overconfident_part",
        "overconfident part",
        f"contribution of overconfident bins to the calibration error; {NOISY}",
        better="lower",
        listed=False,
    ),
    Output(
        "underconfident_part",
        "underconfident part",
        f"contribution of underconfident bins to the calibration error; {NOISY}",
        better="lower",
        listed=False,
    ),
)
