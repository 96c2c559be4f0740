r"""Meta-d': metacognitive sensitivity on the scale of d'.

Meta-d' is the d' for which an ideal observer would give the observed confidence ratings. The
M-ratio, meta-d'/d', is 1 if confidence uses exactly the evidence on which the answer is based. The
M-ratio is below 1 if confidence uses less evidence than the answer, and above 1 if confidence uses
additional evidence. Meta-d' requires questions with two classes of correct answers, such as true
and false. For open questions, use the AUROC or the mutual information of confidence and
correctness.

`psychollm.kernels.meta_d_likelihood` derives the likelihood, and
`psychollm.calibration.two_choice.meta_d_fit` derives the standard errors.

References
----------
Maniscalco, B., & Lau, H. (2012). A signal detection theoretic approach for estimating
metacognitive sensitivity from confidence ratings. Consciousness and Cognition, 21, 422-430.
https://doi.org/10.1016/j.concog.2011.09.021

Fleming, S. M. (2017). HMeta-d: hierarchical Bayesian estimation of metacognitive efficiency from
confidence ratings. Neuroscience of Consciousness, 2017, nix007. https://doi.org/10.1093/nc/nix007
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice
from psychollm._base.convergence import Convergence
from psychollm._base.errors import OptionError
from psychollm._base.replicate import generators
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, RandomState, WordArray
from psychollm.calibration.two_choice.meta_d_fit import OUTPUTS, TYPE_1, Fits, fit_counts
from psychollm.calibration.two_choice.trials import RatedTrials, counted_tables, rated_trials
from psychollm.data.labels import Labels
from psychollm.data.simulate import MetaCriterion
from psychollm.estimates.clustered import Units
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import normal_multiplier
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import (
    Bootstrap,
    Resampling,
    bootstrap_draws,
    bootstrap_estimate,
)
from psychollm.kernels import meta_d as kernel

if TYPE_CHECKING:
    import pandas as pd


_FIELDS = ("d_prime", "criterion", "meta_d", "m_ratio", "m_diff", "log_m_ratio", "meta_c")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MetaD(Result):
    """Meta-d', M-ratio and the estimates on which they are based, for every model.

    Response 0 is first in arrays over responses. Criteria are increasing, in units of the
    evidence. Rates are proportions of ratings above 1, above 2, and so on.

    Examples
    --------
    >>> from psychollm.calibration.two_choice.meta_d import meta_d_from_counts
    >>> found = meta_d_from_counts([50, 30, 20, 10], [10, 15, 30, 60], bootstrap=0)
    >>> found.m_ratio.value.round(3), found.meta_d.se.round(3)
    (array([0.885]), array([0.316]))
    """

    d_prime: Estimate  # sensitivity of the answers, z(hit rate) - z(false-alarm rate)
    criterion: Estimate  # c = -(z(hit rate) + z(false-alarm rate)) / 2
    meta_d: Estimate  # sensitivity implied by the ratings
    m_ratio: Estimate  # meta-d' / d'
    m_diff: Estimate  # meta-d' - d'
    log_m_ratio: Estimate  # natural logarithm of the M-ratio, undefined if not positive
    meta_c: Estimate  # criterion of the answers in the rating model
    criteria: FloatArray  # (models, 2 responses, ratings - 1) criteria of the ratings
    hit_rates: FloatArray  # (models, 2, ratings - 1) P(rated above | response, correct)
    false_alarm_rates: FloatArray  # (models, 2, ratings - 1) P(rated above | response, wrong)
    fitted_hit_rates: FloatArray  # (models, 2, ratings - 1)
    fitted_false_alarm_rates: FloatArray  # (models, 2, ratings - 1)
    log_likelihood: FloatArray  # (models,) log likelihood of the ratings, given class and response
    conditional_se: FloatArray  # (models,) standard error of meta-d' given d' and c
    counts: FloatArray  # (models, 2 classes, 2 responses, ratings) before padding
    padding: float  # number added to each count
    convergence: tuple[Convergence, ...]  # (models,)
    labels: Labels  # (models,)

    _AXES = Axes(
        {"model": "labels"},
        "n=m_ratio.n",
        *_FIELDS,
        "flag=m_ratio.flags",
        arrays={
            "model stimulus response rating": "counts",
            "model response criterion_of_rating": (
                "criteria hit_rates false_alarm_rates fitted_hit_rates fitted_false_alarm_rates"
            ),
        },
    )

    def roc_frame(self) -> "pd.DataFrame":
        """Return the observed and fitted type-2 ROC, one row per model, response and rating."""
        import pandas as pd

        models, responses, cuts = self.hit_rates.shape
        cell = np.indices((models, responses, cuts)).reshape(3, -1)
        table: dict[str, Any] = {
            "model": [self.labels[i] for i in cell[0]],
            "response": cell[1],
            "rated_above": cell[2] + 1,
        }
        rates = ("hit_rates", "false_alarm_rates", "fitted_hit_rates", "fitted_false_alarm_rates")
        table |= {name.removesuffix("s"): getattr(self, name).ravel() for name in rates}
        return pd.DataFrame(table)

    def summary(self) -> str:
        """Return a summary with one sentence per model."""
        return "\n".join(self._sentence(i) for i in range(len(self.labels)))

    def _sentence(self, i: int) -> str:
        ratio, flag = self.m_ratio, self.m_ratio.flags[i]
        if not np.isfinite(ratio.value[i]):
            return f"{self.labels[i]}: no M-ratio ({flag}); d' = {self.d_prime.value[i]:.2f}."
        note = f" ({flag})" if flag else ""
        return (
            f"{self.labels[i]}: M-ratio {ratio.text(i)}{note}; "
            f"meta-d' = {self.meta_d.value[i]:.2f}, d' = {self.d_prime.value[i]:.2f}, "
            f"{ratio.n[i]:.0f} trials."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Resamples and trials for estimating the uncertainty of fits."""

    draws: FloatArray | None  # (resamples, models, outputs)
    n: FloatArray  # (models,) number of trials
    level: float
    labels: Labels
    equal: bool = True  # whether trials are independent with equal weights
    units: Units | None = None  # degrees of freedom of clusters; None without clusters


def assemble(fits: Fits, sampling: Sampling) -> MetaD:
    """Return the result for fits of one table per model; warn if a fit did not converge."""
    convergence = fits.convergences()
    for label, row, ended in zip(sampling.labels, fits.raw, convergence, strict=True):
        if row[kernel.STATUS] == kernel.NOT_CONVERGED:
            ended.warn(f"meta-d' of model {label!r}")
    hits, alarms = fits.observed_rates()
    fitted_hits, fitted_alarms = fits.fitted_rates()
    return MetaD(
        **dict(zip(_FIELDS, _estimates(fits, sampling), strict=True)),
        criteria=fits.criteria,
        hit_rates=hits,
        false_alarm_rates=alarms,
        fitted_hit_rates=fitted_hits,
        fitted_false_alarm_rates=fitted_alarms,
        log_likelihood=fits.raw[:, kernel.LOG_LIKELIHOOD].copy(),
        conditional_se=fits.conditional_se,
        counts=fits.tables,
        padding=fits.padding,
        convergence=convergence,
        labels=sampling.labels,
    )


def _estimates(fits: Fits, sampling: Sampling) -> list[Estimate]:
    outputs, errors, reasons = fits.outputs, fits.standard_errors, fits.reasons()
    estimates = []
    for i in range(len(OUTPUTS)):
        value = np.ascontiguousarray(outputs[:, i])
        draws = None if sampling.draws is None else np.ascontiguousarray(sampling.draws[:, :, i])
        if sampling.equal or draws is None:
            method = "Gourevitch-Galanter" if i < TYPE_1 else "observed information, delta method"
            one = _analytic(OUTPUTS[i], value, errors[:, i], reasons[i], method, sampling)
            draws = None if draws is None else np.where(np.isfinite(value), draws, np.nan)
            estimates.append(replace(one, _draws=draws))
        else:
            estimates.append(_bootstrapped(OUTPUTS[i], value, draws, reasons[i], sampling))
    return estimates


def _analytic(
    name: str,
    value: FloatArray,
    errors: FloatArray,
    flags: tuple[Reason, ...],
    method: str,
    sampling: Sampling,
) -> Estimate:
    se = np.where(np.isfinite(value), errors, np.nan)
    reach = normal_multiplier(sampling.level) * np.array([-1.0, 1.0])
    return Estimate(
        name=name,
        value=value,
        se=se,
        interval=value[:, None] + se[:, None] * reach,
        n=sampling.n,
        flags=flags,
        method=method,
        level=sampling.level,
        labels=sampling.labels,
    )


def _bootstrapped(
    name: str,
    value: FloatArray,
    draws: FloatArray,
    flags: tuple[Reason, ...],
    sampling: Sampling,
) -> Estimate:
    return bootstrap_estimate(
        name,
        value,
        draws,
        n=sampling.n,
        flags=flags,
        level=sampling.level,
        labels=sampling.labels,
        interval="percentile",
        units=sampling.units,
    )


def meta_d(
    stimulus: Any,
    response: Any,
    rating: Any,
    *,
    n_ratings: int | None = None,
    meta_c: MetaCriterion = "scaled",
    padding: bool = False,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> MetaD:
    """Estimate meta-d' and M-ratio of every model by maximum likelihood.

    Parameters
    ----------
    stimulus : array_like (questions,) or table (models, questions)
        Correct answer, 0 or 1; a vector applies to all models.
    response : Responses, DataFrame, DataArray or array_like (models, questions)
        Answer of the model, 0 or 1; a vector holds the answers of one model. If only correctness
        is known, compute the response as ``np.where(correct, stimulus, 1 - stimulus)``.
    rating : RatedConfidence, DataFrame, DataArray or array_like (models, questions)
        Confidence in the answer: whole numbers from 1, or the result of `rate_confidence`. Trials
        with a missing stimulus, response or rating are ignored.
    n_ratings : int, optional
        Number of ratings on the scale; by default the highest rating in the data.
    meta_c : {"scaled", "fixed"}
        Type-1 criterion in the meta-d' model: c meta-d'/d' for "scaled" (Maniscalco & Lau), or c
        for "fixed" (Fleming).
    padding : bool
        Whether to add 1 / (2 n_ratings) to each count. The fit does not require padding, even if
        some ratings are unused. Padding shrinks estimates slightly towards zero sensitivity.
    clusters : array_like (questions,), optional
        Cluster of each question, such as its passage; whole clusters are resampled.
    weights : array_like (questions,), optional
        Weight of each question.
    bootstrap : int or Bootstrap
        Number of resamples of questions, which all models share, so that differences are paired; 0
        disables resampling.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    MetaD
        Values are NaN with a reason if a class or a response lacks correct or wrong answers, if
        fewer than two ratings are used, or if d' is at most 0.1. Ratios are flagged if d' is below
        0.5.

    Raises
    ------
    CodeError
        If a stimulus or response is not 0 or 1, or a rating is not a whole number on the scale.
    ShapeError, LabelError
        If the tables or the clusters do not match in shape or labels.
    OptionError
        If an option is invalid, or clusters or weights are given with ``bootstrap=0``.

    Notes
    -----
    Standard errors and intervals use the observed information and, to account for the uncertainty
    of d' and c, the delta method. With clusters or weights, standard errors and intervals are
    estimated by the bootstrap. Coverage was simulated with 50 to 1,000 trials, d' from 0.7 to 2
    and M-ratios from 0.5 to 1.2. The 95 % intervals of d', meta-d', M-ratio and M-diff had a
    coverage of 93 to 97 %. The coverage for log M-ratio and meta-c was 92 to 100 %, and 94 to 99 %
    with at least 400 trials. The intervals are wide: with d' = 1.2, the margin of error of the
    M-ratio is 0.5 with 200 trials and 0.23 with 1,000 trials.

    References
    ----------
    Maniscalco, B., & Lau, H. (2012). A signal detection theoretic approach for estimating
    metacognitive sensitivity from confidence ratings. Consciousness and Cognition, 21(1), 422-430.
    https://doi.org/10.1016/j.concog.2011.09.021

    Fleming, S. M. (2017). HMeta-d: Hierarchical Bayesian estimation of metacognitive efficiency
    from confidence ratings. Neuroscience of Consciousness, 2017(1), nix007.
    https://doi.org/10.1093/nc/nix007

    Examples
    --------
    >>> from psychollm.data.simulate import simulate_meta_d
    >>> made = simulate_meta_d(d_prime=[1.5, 1.5], m_ratio=[1, 0.6], n_questions=600, rng=1)
    >>> found = meta_d(made.stimulus, made.response, made.rating, rng=0, bootstrap=200)
    >>> found.m_ratio.value.round(2), round(found.m_ratio.difference(0, 1).se, 2)
    (array([1.3 , 0.59]), 0.22)
    """
    trials = rated_trials(
        stimulus, response, rating, n_ratings=n_ratings, clusters=clusters, weights=weights
    )
    check_choice("meta_c", meta_c, MetaCriterion)
    fits = fit_counts(trials.observed, padding=padding, meta_c=meta_c)
    equal = trials.clusters is None and not trials.weighted
    options = Resampling.of(bootstrap, level, rng)
    if not (equal or options.n):
        msg = "clusters and weights need resamples: pass bootstrap=2000"
        raise OptionError(msg)
    draws = None
    if options.n:
        draws = _resampled_trials(trials, fits, options)
    sampling = Sampling(
        draws=draws,
        n=trials.n,
        level=level,
        labels=trials.models,
        equal=equal,
        units=trials.units,
    )
    return assemble(fits, sampling)


def meta_d_from_counts(
    n_s1: Any,
    n_s2: Any,
    *,
    meta_c: MetaCriterion = "scaled",
    padding: bool = False,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> MetaD:
    """Estimate meta-d' and M-ratio of every model from counts of responses and ratings.

    Parameters
    ----------
    n_s1, n_s2 : DataFrame or array_like (models, 2 ratings) or (2 ratings,)
        Counts of trials with stimulus class 0 (`n_s1`) and 1 (`n_s2`). The first half of the
        columns counts response 0 from the highest to the lowest rating; the second half counts
        response 1 from the lowest to the highest rating.
    meta_c : {"scaled", "fixed"}
        Type-1 criterion in the meta-d' model: c meta-d'/d' for "scaled" (Maniscalco & Lau), or c
        for "fixed" (Fleming).
    padding : bool
        Whether to add 1 / (2 n_ratings) to each count. The fit does not require padding, even if
        some ratings are unused. Padding shrinks estimates slightly towards zero sensitivity.
    bootstrap : int or Bootstrap
        Number of resamples, drawn separately from each model's counts, so that differences between
        models are not paired; 0 disables resampling. Use `meta_d` for paired differences.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    MetaD
        Values are NaN with a reason if a class or a response lacks correct or wrong answers, if
        fewer than two ratings are used, or if d' is at most 0.1. Ratios are flagged if d' is below
        0.5.

    Raises
    ------
    ShapeError, LabelError
        If the two tables do not match, or if the number of columns is odd or below four.
    CodeError
        If a count is negative or missing.
    OptionError
        If an option is invalid.

    References
    ----------
    Maniscalco, B., & Lau, H. (2012). A signal detection theoretic approach for estimating
    metacognitive sensitivity from confidence ratings. Consciousness and Cognition, 21(1), 422-430.
    https://doi.org/10.1016/j.concog.2011.09.021

    Fleming, S. M. (2017). HMeta-d: Hierarchical Bayesian estimation of metacognitive efficiency
    from confidence ratings. Neuroscience of Consciousness, 2017(1), nix007.
    https://doi.org/10.1093/nc/nix007

    Examples
    --------
    >>> found = meta_d_from_counts([100, 50, 20, 10, 5, 1], [3, 7, 8, 12, 27, 89], bootstrap=0)
    >>> found.meta_d.value.round(4), found.d_prime.value.round(4)
    (array([2.337]), array([2.5244]))
    """
    tables, labels = counted_tables(n_s1, n_s2)
    check_choice("meta_c", meta_c, MetaCriterion)
    fits = fit_counts(tables, padding=padding, meta_c=meta_c)
    options = Resampling.of(bootstrap, level, rng)
    draws = _resampled_tables(fits, options) if options.n else None
    n = tables.sum(axis=(1, 2, 3))
    return assemble(fits, Sampling(draws=draws, n=n, level=level, labels=labels))


def _refitted(tables: FloatArray, fits: Fits) -> FloatArray:
    """Fit resampled tables, and return the outputs (resamples, models, outputs)."""
    flat = tables.reshape(-1, *tables.shape[2:])
    refits = fit_counts(
        flat, padding=fits.padding > 0.0, meta_c="scaled" if fits.scaled else "fixed"
    )
    return refits.outputs.reshape(*tables.shape[:2], len(OUTPUTS))


def _resampled_trials(trials: RatedTrials, fits: Fits, options: Resampling) -> FloatArray:
    return bootstrap_draws(
        lambda counts: _refitted(trials.tables(counts), fits),
        len(trials.questions),
        options,
        clusters=trials.clusters,
    )


def _resampled_tables(fits: Fits, options: Resampling) -> FloatArray:
    shape = fits.tables.shape
    cells = fits.tables.reshape(shape[0], -1)
    totals = cells.sum(axis=1)
    shares = cells / np.where(totals > 0, totals, 1.0)[:, None]

    def task(seeds: WordArray) -> FloatArray:
        drawn = np.zeros((len(seeds), *cells.shape))
        for row, generator in enumerate(generators(seeds)):
            for model in np.flatnonzero(totals > 0):
                drawn[row, model] = generator.multinomial(round(totals[model]), shares[model])
        return _refitted(drawn.reshape(len(seeds), *shape), fits)

    draws: FloatArray = options.replicate(task, "bootstrap")
    return draws
