r"""Murphy's decomposition of the Brier score: reliability, resolution, uncertainty.

Let f_k be the distinct confidences, n_k their frequencies and o_k their accuracies. Equation (1)
divides the Brier score into three parts.

.. math:: \text{BS} =
          \underbrace{\sum_k \tfrac{n_k}{n} (f_k - o_k)^2}_{\text{reliability}}
          - \underbrace{\sum_k \tfrac{n_k}{n} (o_k - \bar o)^2}_{\text{resolution}}
          + \underbrace{\bar o (1 - \bar o)}_{\text{uncertainty}} .                       \quad (1)

If each confidence occurs only once, the decomposition is uninformative, because reliability equals
the Brier score and resolution equals the uncertainty. With bins of neighbouring confidences, the
decomposition is informative. Because confidence varies within bins, the three parts then do not
sum to the Brier score (`Murphy.within_bins`).

Both reliability and resolution are biased upwards by the sampling variance of o_k. Ferro and
Fricker subtract an unbiased estimate of the bias. A corrected reliability is negative if, by
chance, the squared deviations of accuracy from confidence are smaller than their sampling
variance. A bin with one answer is not corrected. The plain and the corrected parts estimate the
same quantities and share intervals; the intervals are never negative (`noise_interval`). CORP
(`corp`) avoids bins altogether.

References
----------
Murphy, A. H. (1973). A new vector partition of the probability score. Journal of Applied
Meteorology, 12, 595-600. https://doi.org/10.1175/1520-0450(1973)012<0595:ANVPOT>2.0.CO;2

Ferro, C. A. T., & Fricker, T. E. (2012). A bias-corrected decomposition of the Brier score.
Quarterly Journal of the Royal Meteorological Society, 138, 1954-1960.
https://doi.org/10.1002/qj.1924

Stephenson, D. B., Coelho, C. A. S., & Jolliffe, I. T. (2008). Two extra components in the Brier
score decomposition. Weather and Forecasting, 23, 752-757. https://doi.org/10.1175/2007WAF2006116.1
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray, RandomState
from psychollm.calibration.errors.bins import Binning, Closed, bins_of
from psychollm.calibration.metric import NOISY, Metric, Output, estimate_all
from psychollm.calibration.scores.noise_interval import METHOD, ROBUST_METHOD, bounds_of_parts
from psychollm.calibration.scores.proper_scores import BRIER, one_class
from psychollm.calibration.stated import stated_answers
from psychollm.calibration.tally import Tally
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap, Resampling
from psychollm.kernels.murphy import murphy_terms

FixedBins: TypeAlias = Literal["auto", "width", "mass", "discrete"]

PARTS = ("reliability", "resolution", "uncertainty")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Murphy(Result):
    """Murphy decomposition of the Brier score for every model.

    Examples
    --------
    >>> parts = murphy([0.9, 0.9, 0.9, 0.2, 0.2], [1, 1, 0, 0, 1], rng=0)
    >>> parts.brier.value.round(3), parts.reliability.value.round(3), parts.within_bins.round(3)
    (array([0.302]), array([0.069]), array([0.]))
    """

    brier: Estimate
    reliability: Estimate  # mean squared distance of confidence from accuracy; 0 is best
    resolution: Estimate  # mean squared distance of bin accuracies from the mean
    uncertainty: Estimate  # variance of correctness
    reliability_corrected: Estimate  # corrected for sampling variance within bins
    resolution_corrected: Estimate
    uncertainty_corrected: Estimate
    labels: tuple[Any, ...]  # (models,)

    _AXES = Axes(
        {"model": "labels"},
        "n=brier.n",
        "brier",
        *PARTS,
        *(f"{part}_corrected" for part in PARTS),
    )

    @property
    def within_bins(self) -> FloatArray:
        """Brier score minus its three parts (models,); 0 if each bin has a single confidence."""
        parts = self.reliability.value - self.resolution.value + self.uncertainty.value
        return np.asarray(self.brier.value - parts, dtype=np.float64)


def murphy(
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
) -> Murphy:
    """Decompose each model's Brier score into reliability, resolution and uncertainty.

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
    Murphy
        The flag `SPARSE_BINS` marks bins with a single answer; if all bins have a single answer,
        the corrected parts are NaN. `ONE_BIN` marks a model with all answers in one bin.
        `NO_WRONG` and `NO_CORRECT` mark resolution and uncertainty that are zero because a model
        has no wrong or no correct answers.

    Raises
    ------
    OptionError
        If an option is invalid.
    CodeError
        If a confidence or a correctness is outside [0, 1].
    ShapeError, LabelError
        If the tables or the clusters do not match in shape or labels.

    References
    ----------
    Murphy, A. H. (1973). A new vector partition of the probability score. Journal of Applied
    Meteorology, 12(4), 595-600. https://doi.org/10.1175/1520-0450(1973)012<0595:ANVPOT>2.0.CO;2

    Stephenson, D. B., Coelho, C. A. S., & Jolliffe, I. T. (2008). Two extra components in the
    Brier score decomposition. Weather and Forecasting, 23, 752-757.
    https://doi.org/10.1175/2007WAF2006116.1

    Examples
    --------
    >>> parts = murphy([0.9, 0.9, 0.9, 0.2, 0.2], [1, 1, 0, 0, 1], rng=0)
    >>> parts.resolution.value.round(4), parts.uncertainty.value.round(4)
    (array([0.0067]), array([0.24]))
    """
    answers = stated_answers(confidence, correctness, clusters=clusters, weights=weights)
    options = Resampling.of(bootstrap, level, rng)
    estimates = estimate_all(
        [BRIER, murphy_metric(bins, n_bins=n_bins, closed=closed)], answers, options
    )
    return Murphy(
        brier=estimates[0],
        reliability=estimates[1],
        resolution=estimates[2],
        uncertainty=estimates[3],
        reliability_corrected=estimates[4],
        resolution_corrected=estimates[5],
        uncertainty_corrected=estimates[6],
        labels=answers.models,
    )


def fixed_binning(bins: FixedBins, n_bins: int, closed: Closed) -> Binning:
    """Return a binning that does not depend on the outcomes."""
    check_choice("bins", bins, FixedBins)
    return Binning(kind=bins, n_bins=n_bins, closed=closed)


def bin_starts(tally: Tally, binning: Binning) -> IntArray:
    """Return the index of each bin's first confidence, and the end of the last bin."""
    bins = bins_of(tally.values, tally.correct + tally.wrong, binning)
    return np.searchsorted(bins.index, np.arange(bins.size + 1)).astype(np.int64)


def bin_means(tally: Tally, starts: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean confidence, proportion correct and number of answers of every bin (bins,)."""
    counts = tally.correct + tally.wrong
    size, stated, hits = (
        np.diff(np.concatenate([[0.0], np.cumsum(of_groups)])[starts])
        for of_groups in (counts, counts * tally.values, tally.correct)
    )
    some = np.where(size > 0.0, size, 1.0)
    return stated / some, hits / some, size


def murphy_metric(
    bins: FixedBins = "auto", *, n_bins: int = 15, closed: Closed = "right"
) -> Metric:
    """Return the metric of `murphy`: the three parts, first plain and then corrected."""
    binning = fixed_binning(bins, n_bins, closed)
    return Metric(
        names=(*PARTS, *(f"{part}, corrected" for part in PARTS)),
        prepare=lambda tally: (tally.values, bin_starts(tally, binning)),
        compute=_terms,
        flags=partial(_flags, binning=binning),
        analytic=partial(_intervals, binning=binning),
        method=METHOD,
        robust_method=ROBUST_METHOD,
    )


def _terms(
    shared: tuple[FloatArray, IntArray], correct: FloatArray, wrong: FloatArray
) -> FloatArray:
    out = np.empty((correct.shape[0], 6))
    murphy_terms(*shared, correct, wrong, out)
    return out


def _intervals(
    tally: Tally, value: FloatArray, level: float, *, binning: Binning
) -> tuple[FloatArray, FloatArray]:
    """Return standard errors and bounds; plain and corrected parts have the same intervals."""
    bins = bins_of(tally.values, tally.correct + tally.wrong, binning).index
    stated, share, _ = (of_bins[bins] for of_bins in bin_means(tally, bin_starts(tally, binning)))
    rate = tally.correct.sum() / tally.weight.sum()
    # Losses are computed from bin means, so that their differences are reliability and resolution.
    parts = bounds_of_parts(
        tally,
        bins,
        level,
        stated=(tally.right - stated[tally.group]) ** 2,
        constant=(tally.right - rate) ** 2,
        best=(tally.right - share[tally.group]) ** 2,
        score="brier",
    )
    se, bounds = zip(*parts, strict=True)
    return np.array(se * 2), np.minimum(np.array(bounds * 2), 1.0)


def _flags(tally: Tally, *, binning: Binning) -> tuple[Reason, ...]:
    *_, size = bin_means(tally, bin_starts(tally, binning))
    sparse = Reason.SPARSE_BINS if (size <= 1.0).any() else Reason.NONE
    one = Reason.ONE_BIN if size.size == 1 else Reason.NONE
    single = one_class(tally)
    alone = Reason.SPARSE_BINS if (size <= 1.0).all() else Reason.NONE
    return one, single or one, single, sparse or one, sparse or single or one, alone or single


MURPHY = murphy_metric().in_panel(
    "scores",
    10,
    Output(
        "murphy_reliability",
        "reliability",
        f"Murphy’s: mean squared difference of confidence and accuracy; {NOISY}",
        better="lower",
        listed=False,
    ),
    Output(
        "murphy_resolution",
        "resolution",
        f"variance of accuracy over confidences; {NOISY}",
        better="higher",
        listed=False,
    ),
    Output("murphy_uncertainty", "uncertainty", "variance of correctness", listed=False),
    Output(
        "murphy_reliability_corrected",
        "corrected reliability",
        "reliability with its noise subtracted; may be below zero",
        better="lower",
        listed=False,
    ),
    Output(
        "murphy_resolution_corrected",
        "corrected resolution",
        "resolution with its noise subtracted",
        better="higher",
        neutral=0.0,
        listed=False,
    ),
    Output(
        "murphy_uncertainty_corrected",
        "corrected uncertainty",
        "variance of correctness, without bias",
        listed=False,
    ),
)
