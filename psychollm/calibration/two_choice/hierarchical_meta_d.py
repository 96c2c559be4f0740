r"""Hierarchical model of the M-ratios in a group of models, with shrinkage.

M-ratios from a few hundred trials are imprecise. The models are treated as a sample from a
population in which log M-ratios are normal with mean :math:`\mu` and standard deviation
:math:`\sigma`. The mean and the standard deviation are estimated jointly with the M-ratios of the
models. The M-ratios of the models are shrunk towards the group mean, and imprecise M-ratios are
shrunk more (Fleming 2017). A model with a negative meta-d' has no log M-ratio, but is included,
because its ratings imply a small M-ratio.

References
----------
Fleming, S. M. (2017). HMeta-d: hierarchical Bayesian estimation of metacognitive efficiency from
confidence ratings. Neuroscience of Consciousness, 2017, nix007. https://doi.org/10.1093/nc/nix007
"""

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import (
    DRAWS,
    check_choice,
    check_fraction,
    check_generator,
    hold_counts,
)
from psychollm._base.convergence import Convergence
from psychollm._base.replicate import n_workers
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, RandomState
from psychollm.calibration.two_choice import hierarchical_meta_d_nuts as nuts
from psychollm.calibration.two_choice import hierarchical_meta_d_quadrature as quadrature
from psychollm.calibration.two_choice.meta_d_fit import Fits, fit_counts
from psychollm.calibration.two_choice.trials import counted_tables, rated_trials
from psychollm.data.labels import Labels
from psychollm.data.simulate import MetaCriterion
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.posterior import (
    effective_size,
    posterior_estimate,
    r_hat,
)
from psychollm.estimates.reasons import Reason

Method: TypeAlias = Literal["quadrature", "nuts"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HierarchicalMetaD(Result):
    """Posterior of the M-ratios of a group of models and of each model.

    Values are posterior means, standard errors are posterior standard deviations, and intervals
    are highest-density intervals. `Estimate.difference` uses the joint draws.

    Examples
    --------
    >>> from psychollm.calibration import hierarchical_meta_d_from_counts
    >>> counts = [[50, 30, 20, 10], [45, 35, 15, 15]], [[10, 15, 30, 60], [12, 18, 25, 50]]
    >>> hierarchical_meta_d_from_counts(*counts, n_draws=500, rng=0).parameters
    ('mean', 'spread', 0, 1)
    """

    log_m_ratio: Estimate  # mean of the group's log M-ratios
    spread: Estimate  # standard deviation of the group's log M-ratios
    group_m_ratio: Estimate  # exp of this mean: the M-ratio of the median model
    m_ratio: Estimate  # (models,)
    d_prime: Estimate  # (models,)
    median: FloatArray  # (models,) posterior medians of the M-ratio
    parameters: tuple[Any, ...]  # labels of the next three fields: "mean", "spread", models
    r_hat: FloatArray  # (parameters,) NaN if draws are independent
    effective_size: FloatArray  # (parameters,)
    mcse: FloatArray  # (parameters,) Monte Carlo standard errors, on the log scale
    method: Method
    meta_c: MetaCriterion
    convergence: Convergence
    labels: Labels  # (models,)

    _AXES = Axes({}, "*=m_ratio", "median", "d_prime=d_prime.value")

    def summary(self) -> str:
        """Return sentences that describe the posterior of the group."""
        if not np.isfinite(self.group_m_ratio.value[0]):
            return f"No group M-ratio: {self.group_m_ratio.flags[0]}."
        counted = int(np.isfinite(self.m_ratio.value).sum())
        text = (
            f"The M-ratio of the group is {self.group_m_ratio.text()} "
            f"({counted} models; standard deviation of log M-ratios "
            f"{self.spread.value[0]:.2f})."
        )
        return text if self.convergence.converged else f"{text} {self.convergence.reason}."


@dataclass(frozen=True, slots=True)
class Sampled:
    """Posterior draws from quadrature or from NUTS, with convergence diagnostics."""

    mu: FloatArray  # (chains, draws)
    sigma: FloatArray  # (chains, draws)
    log_m: FloatArray  # (chains, draws, models)
    d_prime: FloatArray  # (chains, draws, models)
    convergence: Convergence


def nothing() -> Sampled:
    """Return empty draws, used if fewer than two models have an M-ratio."""
    ended = Convergence(
        converged=False, iterations=0, reason="too few models", objective=float("nan")
    )
    return Sampled(
        np.full((1, 2), np.nan),
        np.full((1, 2), np.nan),
        np.empty((1, 2, 0)),
        np.empty((1, 2, 0)),
        ended,
    )


def assemble(
    sampled: Sampled,
    fits: Fits,
    usable: BoolArray,
    labels: Labels,
    *,
    method: Method,
    level: float,
) -> HierarchicalMetaD:
    """Return the result from posterior draws of the `usable` models; NaN for other models."""
    mu, sigma = sampled.mu.reshape(-1, 1), sampled.sigma.reshape(-1, 1)
    chained = np.full((*sampled.mu.shape, 2 + usable.size), np.nan)
    chained[:, :, 0], chained[:, :, 1] = sampled.mu, sampled.sigma
    chained[:, :, 2:][:, :, usable] = sampled.log_m
    d_prime = np.full((mu.size, usable.size), np.nan)
    d_prime[:, usable] = sampled.d_prime.reshape(mu.size, -1)
    ratio = np.exp(chained[:, :, 2:].reshape(mu.size, -1))
    trust = _trust(chained)
    return HierarchicalMetaD(
        **_group_estimates(mu, sigma, int(usable.sum()), level),
        **_model_estimates(ratio, d_prime, fits, usable, labels, level),
        median=np.median(ratio, axis=0),
        parameters=("mean", "spread", *labels),
        r_hat=trust[:, 0],
        effective_size=trust[:, 1],
        mcse=trust[:, 2],
        method=method,
        meta_c="scaled" if fits.scaled else "fixed",
        convergence=sampled.convergence,
        labels=labels,
    )


def _group_estimates(
    mu: FloatArray, sigma: FloatArray, models: int, level: float
) -> dict[str, Estimate]:
    flag = Reason.NONE if models > 1 else Reason.TOO_FEW
    named = {
        "log_m_ratio": ("mean log M-ratio", mu),
        "spread": ("SD of log M-ratios", sigma),
        "group_m_ratio": ("M-ratio of the group", np.exp(mu)),
    }
    estimates = {
        field: posterior_estimate(
            name,
            draws,
            n=np.array([float(models)]),
            flags=(flag,),
            level=level,
            labels=("group",),
            axis="group",
        )
        for field, (name, draws) in named.items()
    }
    # This is the exponential of the mean log M-ratio, which differs from the mean M-ratio.
    typical = np.exp(estimates["log_m_ratio"].value)
    estimates["group_m_ratio"] = replace(estimates["group_m_ratio"], value=typical)
    return estimates


def _model_estimates(
    ratio: FloatArray,
    d_prime: FloatArray,
    fits: Fits,
    usable: BoolArray,
    labels: Labels,
    level: float,
) -> dict[str, Estimate]:
    own = fits.reasons()[3]
    flags = tuple(
        reason if reason else (Reason.NONE if known else Reason.TOO_FEW)
        for reason, known in zip(own, usable, strict=True)
    )
    n = fits.tables.sum(axis=(1, 2, 3))
    return {
        field: posterior_estimate(name, draws, n=n, flags=flags, level=level, labels=labels)
        for field, name, draws in (("m_ratio", "M-ratio", ratio), ("d_prime", "d'", d_prime))
    }


def _trust(chained: FloatArray) -> FloatArray:
    """Return R-hat, effective size and Monte Carlo error per parameter (parameters, 3)."""
    diagnostics = np.full((chained.shape[2], 3), np.nan)
    for i in np.flatnonzero(np.isfinite(chained).all(axis=(0, 1))):
        draws = chained[:, :, i]
        if len(draws) > 1:
            diagnostics[i, :2] = r_hat(draws), effective_size(draws)
        else:
            diagnostics[i, 1] = draws.size
        diagnostics[i, 2] = draws.std(ddof=1) / np.sqrt(diagnostics[i, 1])
    return diagnostics


_TRUSTED_R_HAT = 1.01
_TRUSTED_SIZE = 400.0


def hierarchical_meta_d(
    stimulus: Any,
    response: Any,
    rating: Any,
    *,
    method: Method = "quadrature",
    n_ratings: int | None = None,
    meta_c: MetaCriterion = "fixed",
    n_draws: int = 4000,
    chains: int = 4,
    tune: int = 1000,
    level: float = 0.95,
    rng: RandomState = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> HierarchicalMetaD:
    """Estimate the M-ratios of a group of models and of each model with a hierarchical model.

    Parameters
    ----------
    stimulus : array_like (questions,) or table (models, questions)
        Correct answer, 0 or 1; a vector applies to all models.
    response : Responses, DataFrame, DataArray or array_like (models, questions)
        Answer of the model, 0 or 1; a vector holds the answers of one model. If only correctness
        is known, compute the response as ``np.where(correct, stimulus, 1 - stimulus)``.
    rating : RatedConfidence, DataFrame, DataArray or array_like (models, questions)
        Confidence in the answer: ratings 1, 2, ..., or the result of `rate_confidence`. Trials
        with a missing stimulus, response or rating are ignored.
    method : {"quadrature", "nuts"}
        "quadrature" profiles out each model's d', criterion and confidence criteria, integrates
        over a grid, and takes about a second. "nuts" samples from Fleming's full model, which is
        hierarchical in all parameters, with PyMC (extra ``bayes``).
    n_ratings : int, optional
        Number of ratings on the scale; by default the highest rating in the data.
    meta_c : {"scaled", "fixed"}
        Type-1 criterion in the meta-d' model: c meta-d'/d' for "scaled" (Maniscalco & Lau), or c
        for "fixed" (Fleming).
    n_draws : int
        Total number of posterior draws over all chains.
    chains, tune : int
        Number of chains, and of tuning draws per chain; used only with "nuts".
    level : float
        Probability mass of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.
    n_jobs : int or None
        Number of chains run in parallel; used only with "nuts".
    progress : bool
        Whether to show a progress bar; used only with "nuts".

    Returns
    -------
    HierarchicalMetaD
        Models with an undefined M-ratio are omitted from the fit, and their values are NaN with a
        reason; negative meta-d' is allowed. With fewer than two remaining models, all values are
        NaN.

    Raises
    ------
    MissingPackageError
        If ``method="nuts"`` and PyMC is not installed.
    CodeError
        If a stimulus or response is not 0 or 1, or a rating is not a whole number on the scale.
    ShapeError, LabelError
        If the tables or the clusters do not match in shape or labels.
    OptionError
        If an option is invalid.

    Warns
    -----
    ConvergenceWarning
        If chains diverge, or if R-hat of the group mean exceeds 1.01 or its effective sample size
        is below 400.

    References
    ----------
    Fleming, S. M. (2017). HMeta-d: Hierarchical Bayesian estimation of metacognitive efficiency
    from confidence ratings. Neuroscience of Consciousness, 2017(1), nix007.
    https://doi.org/10.1093/nc/nix007

    Maniscalco, B., & Lau, H. (2012). A signal detection theoretic approach for estimating
    metacognitive sensitivity from confidence ratings. Consciousness and Cognition, 21(1), 422-430.
    https://doi.org/10.1016/j.concog.2011.09.021

    Examples
    --------
    >>> from psychollm.data.simulate import simulate_meta_d
    >>> made = simulate_meta_d(d_prime=[1.5] * 8, m_ratio=0.7, n_questions=400, rng=0)
    >>> found = hierarchical_meta_d(made.stimulus, made.response, made.rating, rng=0)
    >>> found.group_m_ratio.value.round(1), found.m_ratio.se.round(1)[:3]
    (array([0.7]), array([0.1, 0.1, 0.1]))
    """
    trials = rated_trials(stimulus, response, rating, n_ratings=n_ratings)
    options = _Options(method, meta_c, n_draws, chains, tune, level, rng, n_jobs, progress)
    return _posterior(trials.observed, trials.models, options)


def hierarchical_meta_d_from_counts(
    n_s1: Any,
    n_s2: Any,
    *,
    method: Method = "quadrature",
    meta_c: MetaCriterion = "fixed",
    n_draws: int = 4000,
    chains: int = 4,
    tune: int = 1000,
    level: float = 0.95,
    rng: RandomState = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> HierarchicalMetaD:
    """Estimate the M-ratios of a group of models from counts of responses and ratings.

    Parameters
    ----------
    n_s1, n_s2 : DataFrame or array_like (models, 2 ratings)
        Counts of trials with stimulus class 0 (`n_s1`) and 1 (`n_s2`). The first half of the
        columns counts response 0 from the highest to the lowest rating; the second half counts
        response 1 from the lowest to the highest rating.
    method : {"quadrature", "nuts"}
        "quadrature" profiles out each model's d', criterion and confidence criteria, integrates
        over a grid, and takes about a second. "nuts" samples from Fleming's full model, which is
        hierarchical in all parameters, with PyMC (extra ``bayes``).
    meta_c : {"scaled", "fixed"}
        Type-1 criterion in the meta-d' model: c meta-d'/d' for "scaled" (Maniscalco & Lau), or c
        for "fixed" (Fleming).
    n_draws : int
        Total number of posterior draws over all chains.
    chains, tune : int
        Number of chains, and of tuning draws per chain; used only with "nuts".
    level : float
        Probability mass of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.
    n_jobs : int or None
        Number of chains run in parallel; used only with "nuts".
    progress : bool
        Whether to show a progress bar; used only with "nuts".

    Returns
    -------
    HierarchicalMetaD

    Raises
    ------
    MissingPackageError
        If ``method="nuts"`` and PyMC is not installed.
    CodeError
        If a count is negative or missing.
    ShapeError, LabelError
        If the two tables do not match, or if the number of columns is odd or below four.
    OptionError
        If an option is invalid.

    References
    ----------
    Fleming, S. M. (2017). HMeta-d: Hierarchical Bayesian estimation of metacognitive efficiency
    from confidence ratings. Neuroscience of Consciousness, 2017(1), nix007.
    https://doi.org/10.1093/nc/nix007

    Maniscalco, B., & Lau, H. (2012). A signal detection theoretic approach for estimating
    metacognitive sensitivity from confidence ratings. Consciousness and Cognition, 21(1), 422-430.
    https://doi.org/10.1016/j.concog.2011.09.021

    Examples
    --------
    >>> counts = [[50, 30, 20, 10], [45, 35, 15, 15]], [[10, 15, 30, 60], [12, 18, 25, 50]]
    >>> found = hierarchical_meta_d_from_counts(*counts, n_draws=500, rng=0)
    >>> found.m_ratio.defined
    array([ True,  True])
    """
    tables, labels = counted_tables(n_s1, n_s2)
    options = _Options(method, meta_c, n_draws, chains, tune, level, rng, n_jobs, progress)
    return _posterior(tables, labels, options)


@dataclass(frozen=True, slots=True)
class _Options:
    """Validated options of the two public functions."""

    method: Method
    meta_c: MetaCriterion
    n_draws: int
    chains: int
    tune: int
    level: float
    rng: RandomState
    n_jobs: int | None
    progress: bool

    def __post_init__(self) -> None:
        check_choice("method", self.method, Method)
        check_choice("meta_c", self.meta_c, MetaCriterion)
        hold_counts(self, "n_draws", low=100, high=DRAWS)
        hold_counts(self, "chains", "tune", high=DRAWS)
        check_fraction("level", self.level)


def _posterior(tables: FloatArray, labels: Labels, options: _Options) -> HierarchicalMetaD:
    fits = fit_counts(tables, meta_c=options.meta_c)
    usable = np.isfinite(fits.outputs[:, 3])
    if usable.sum() < 2:
        usable, sampled = np.zeros_like(usable), nothing()
    else:
        sample = _by_quadrature if options.method == "quadrature" else _by_nuts
        sampled = sample(fits, usable, options)
        sampled.convergence.warn("the hierarchical meta-d'")
    return assemble(sampled, fits, usable, labels, method=options.method, level=options.level)


def _by_quadrature(fits: Fits, usable: BoolArray, options: _Options) -> Sampled:
    curves = quadrature.curves(
        fits.tables[usable],
        fits.outputs[usable, :2],
        fits.standard_errors[usable, 5],
        scaled=fits.scaled,
    )
    drawn = quadrature.sample(curves, options.n_draws, check_generator(options.rng))
    ended = Convergence(
        converged=True, iterations=1, reason="quadrature", objective=drawn.log_evidence
    )
    return Sampled(
        drawn.mu[None], drawn.sigma[None], drawn.log_m[None], drawn.d_prime[None], ended
    )


def _by_nuts(fits: Fits, usable: BoolArray, options: _Options) -> Sampled:
    per_chain = -(-options.n_draws // options.chains)
    drawn = nuts.sample(
        fits.tables[usable],
        scaled=fits.scaled,
        n_draws=per_chain,
        chains=options.chains,
        tune=options.tune,
        seed=int(check_generator(options.rng).integers(2**31)),
        cores=min(n_workers(options.n_jobs), options.chains),
        progress=options.progress,
    )
    ended = _judged(drawn, (per_chain + options.tune) * options.chains)
    return Sampled(drawn.mu, drawn.sigma, drawn.log_m, drawn.d_prime, ended)


def _judged(drawn: nuts.Chains, iterations: int) -> Convergence:
    """Return whether the chains have converged."""
    ratio, size = r_hat(drawn.mu), effective_size(drawn.mu)
    complaints = []
    if drawn.divergences > 0.01 * drawn.mu.size:
        complaints.append(f"{drawn.divergences} divergences")
    if not ratio <= _TRUSTED_R_HAT:
        complaints.append(f"R-hat {ratio:.3f}")
    if not size >= min(_TRUSTED_SIZE, 0.1 * drawn.mu.size):
        complaints.append(f"effective size {size:.0f}")
    return Convergence(
        converged=not complaints,
        iterations=iterations,
        reason=", ".join(complaints) + ": raise n_draws and tune"
        if complaints
        else "chains agree",
        objective=float("nan"),
    )
