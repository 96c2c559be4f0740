"""Residuals of pair tables under one factor, and tests of further factors.

A second factor raises the standardised residuals of equation (3) of `kernels.pairwise_likelihood`
within groups of models. A second factor lowers the residuals between groups; the residual matrix
then has one large eigenvalue. The proportion of variance of a second factor is estimated by
pairwise likelihood. Fits for null distributions stop once three digits are accurate.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import DRAWS, check_count
from psychollm._base.errors import OptionError, ShapeError
from psychollm._base.replicate import replicate
from psychollm._base.result import Result, drawn_by
from psychollm._base.types import AnyArray, FloatArray, RandomState, WordArray
from psychollm.data.labels import asymptotes_of, loadings_of_models
from psychollm.data.pair_counts import CountedAnswers, PairCounts, writable_counts
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.null import Null, monte_carlo_error, monte_carlo_p_value
from psychollm.factor.one_factor.pairwise_likelihood import (
    counted,
    kernel_counts,
    pairwise_likelihood,
)
from psychollm.kernels.one_factor import draw_counts, margin_thresholds
from psychollm.kernels.pairwise_factors import add_factor, fit_pairwise_factors
from psychollm.kernels.pairwise_lapses import lapse_residuals
from psychollm.kernels.pairwise_likelihood import (
    fit_pairwise,
    pair_margins,
    pair_weights,
    residuals,
    start_loadings,
)
from psychollm.kernels.symmetric import largest_eigenvalue

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes as Drawn
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PairResiduals(Result):
    """Joint yes counts of all pairs: observed, and expected under one factor.

    Attributes
    ----------
    observed, expected : ndarray of shape (k, k)
        Number of questions that both models answered with yes, and the expected number, given the
        pair's yes rates. Both numbers are NaN for pairs without information.
    standardised : ndarray of shape (k, k)
        Observed minus expected counts, divided by standard errors. Standard errors
        are conditional on both margins, and 0.5 is added to each variance. Residuals are zero on
        the diagonal and for pairs without information.
    n : ndarray of shape (k, k)
        Number of questions that both models answered.
    largest_eigenvalue : float
        Largest eigenvalue of `standardised`, the statistic of `residual_test`.
    labels : tuple
        Names of the models.
    """

    observed: FloatArray  # (k, k)
    expected: FloatArray  # (k, k)
    standardised: FloatArray  # (k, k)
    n: FloatArray  # (k, k)
    largest_eigenvalue: float
    labels: tuple[Hashable, ...]  # k

    _AXES = Axes(
        {"second": "labels", "first": "labels"},
        "observed",
        "expected",
        "standardised",
        "n",
        pairs="lower",
    )

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per pair, with the largest residual first."""
        frame = Result.to_frame(self).sort_values(
            "standardised", ascending=False, key=np.abs, kind="stable", ignore_index=True
        )
        frame.insert(0, "first", frame.pop("first"))
        return frame

    def plot(self, *, ax: Drawn | None = None) -> Drawn:
        """Draw standardised residuals of all pairs with `psychollm.plots.plot_residuals`.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; by default a new figure.
        """
        return drawn_by("plot_residuals")(self, ax=ax)


def pair_residuals(
    responses: ResponsesLike | PairCounts,
    *,
    loadings: ArrayLike | None = None,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
) -> PairResiduals:
    """Compare the joint yes counts of all pairs with their expectation under one factor.

    Parameters
    ----------
    responses : Responses, PairCounts, or table of shape (models, questions)
        Binary answers, or their pair counts.
    loadings : array of shape (models,), optional
        Loadings of a fit, such as `full_information`; by default loadings from
        `pairwise_likelihood`. Models with a loading of NaN have residuals of zero.
    lower, upper : array of shape (models,), optional
        Lower and upper asymptotes of models that lapse or guess, from the same fit; the defaults
        are 0 and 1.

    Returns
    -------
    PairResiduals
        Observed and expected counts, and standardised residuals.

    Raises
    ------
    ShapeError
        If the numbers of loadings and of models differ.
    OptionError
        If a loading is not inside (-1, 1), or if an asymptote is not inside [0, 1].

    Examples
    --------
    >>> import psychollm as psy
    >>> from psychollm.factor.one_factor.residuals import pair_residuals
    >>> answers = psy.load_example("shared_confidence").confidence
    >>> pair_residuals(answers).to_frame().columns.tolist()
    ['first', 'second', 'observed', 'expected', 'standardised', 'n']
    """
    _, pairs = counted(responses)
    given = pairwise_likelihood(pairs).loadings if loadings is None else loadings
    used = loadings_of_models(given, pairs.labels)
    lapsing = lower is not None or upper is not None
    low, high = asymptotes_of(pairs.labels, lower, upper)
    counts, tau, rate = kernel_counts(pairs)
    out = np.isnan(used) | np.isnan(low) | np.isnan(high)
    tau[out], tau[:, out] = np.nan, np.nan
    z, joint = np.empty_like(tau), np.empty_like(tau)
    filled = np.nan_to_num(used)
    if lapsing:
        rate[np.isnan(tau)] = np.nan
        lapse_residuals(counts, rate, filled, np.column_stack([low, 1.0 - high]), joint, z)
    else:
        residuals(counts, tau, rate, filled[:, None], z)
        pair_weights(tau, rate, filled, np.empty_like(tau), np.empty_like(tau), joint)
    informative = ~np.isnan(tau) & ~np.eye(filled.size, dtype=np.bool_)
    return PairResiduals(
        observed=np.where(informative, counts[0], np.nan),
        expected=np.where(informative, counts[2] * joint, np.nan),
        standardised=z,
        n=counts[2],
        largest_eigenvalue=float(np.linalg.eigvalsh(z)[-1]),
        labels=pairs.labels,
    )


TOLERANCE, MAX_STEPS = 1e-3, 100  # tolerance and iteration limit for one factor
GAIN, MAX_STEPS_TWO = 0.01, 60  # tolerance and iteration limit for two factors
Counts = tuple[FloatArray, FloatArray, FloatArray]  # joint, yes, n: each (k, k)
Statistic = Callable[[Counts, FloatArray], float]  # the function overwrites the starting loadings
LEAST_MODELS = 4


def start(counts: Counts) -> FloatArray:
    """Return starting loadings (k,)."""
    loadings = np.empty(len(counts[0]))
    start_loadings(counts, _margins(counts)[0], loadings)
    return loadings


def residual_eigenvalue(counts: Counts, loadings: FloatArray) -> float:
    """Return the largest eigenvalue of the residuals of the given loadings (k,)."""
    tau, rate = _margins(counts)
    z = np.empty_like(tau)
    residuals(counts, tau, rate, loadings[:, None], z)
    return float(largest_eigenvalue(z))


def fitted_residual_eigenvalue(counts: Counts, loadings: FloatArray) -> float:
    """Return the largest eigenvalue of the residual matrix of the one-factor model."""
    tau, rate = _margins(counts)
    fit_pairwise(counts, tau, rate, loadings, TOLERANCE, MAX_STEPS)
    z = np.empty_like(tau)
    residuals(counts, tau, rate, loadings[:, None], z)
    return float(largest_eigenvalue(z))


def second_share(counts: Counts, loadings: FloatArray) -> float:
    """Return the proportion of variance of the second of two factors."""
    tau, rate = _margins(counts)
    fit_pairwise(counts, tau, rate, loadings, TOLERANCE, MAX_STEPS)
    narrow, z, wide = loadings[:, None], np.empty_like(tau), np.empty((len(tau), 2))
    residuals(counts, tau, rate, narrow, z)
    add_factor(z, narrow, wide)
    fit_pairwise_factors(counts, tau, rate, wide, GAIN, MAX_STEPS_TWO)
    varying = np.isfinite(np.diagonal(tau))
    smaller = np.linalg.eigvalsh(wide[varying].T @ wide[varying])[0]
    return float(smaller / varying.sum())


def draw_statistics(
    statistic: Statistic,
    loadings: FloatArray,
    thresholds: FloatArray,
    n_questions: int,
    answered: AnyArray,
    n: FloatArray,
    seeds: WordArray,
) -> FloatArray:
    """Simulate a statistic for each seed (m, 2) under the given one-factor model."""
    # n (k, k): questions that both answered. answered (k, words): packed mask of answers, (0, 0)
    # if complete.
    k = loadings.size
    yes = np.empty((k, (n_questions + 63) // 64), dtype=np.uint64)
    drawn = (np.empty((1, k, k)), np.empty((1, k, k)), n[None].copy())
    counts = (drawn[0][0], drawn[1][0], drawn[2][0])
    draws = np.empty(len(seeds))
    for m in range(len(seeds)):
        draw_counts(loadings, thresholds, n_questions, answered, seeds[m : m + 1], yes, drawn)
        draws[m] = statistic(counts, loadings.copy())
    return draws


def _margins(counts: Counts) -> tuple[FloatArray, FloatArray]:
    """Return thresholds and yes rates (k, k) of each model on the questions of each pair."""
    tau, rate = np.empty_like(counts[1]), np.empty_like(counts[1])
    pair_margins(counts[1], counts[2], tau, rate)
    return tau, rate


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ResidualTest(Null):
    """Null distribution of a statistic of the pair tables, from the parametric bootstrap.

    Attributes
    ----------
    statistic : str
        Name of the statistic: "largest residual eigenvalue" or "second share".
    factors : int
        Number of factors under the null hypothesis, 0 or 1.
    loadings : ndarray of shape (k,)
        Loadings from which the replicates were simulated.
    labels : tuple
        Names of the models.
    """

    # These fields are arrays in `Null`, but here the statistic is a single number.
    observed: float  # type: ignore[assignment]
    p_value: float  # type: ignore[assignment]
    p_value_se: float  # type: ignore[assignment]
    factors: Literal[0, 1]
    loadings: FloatArray  # (k,)
    labels: tuple[Hashable, ...]  # k

    _AXES = Axes(
        {},
        "statistic",
        "factors",
        "observed",
        ("null_{share}", lambda test: np.quantile(test.draws, [0.05, 0.5, 0.95])),
        "p_value",
        "p_value_se",
        "n",
        labels={"share": ("05", "50", "95")},
    )


def residual_test(
    responses: ResponsesLike,
    *,
    factors: Literal[0, 1] = 1,
    n_null: int = 499,
    rng: RandomState = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> ResidualTest:
    r"""Test for local dependence beyond one common factor, or beyond independence.

    The statistic is the largest eigenvalue of the standardised residuals of the joint yes counts
    (`pair_residuals`). The null distribution of the statistic is obtained by a parametric
    bootstrap: answers are simulated from the fitted model, with the observed yes rates and missing
    data, and refitted. The test needs no correlation matrix and no continuity correction. The
    documentation lists the error rates of the test under "Operating characteristics".

    Parameters
    ----------
    responses : Responses, Scan or table of shape (models, questions)
        Binary answers of at least four models with non-zero variance. With three models, one
        factor always fits.
    factors : {1, 0}
        Number of factors under the null hypothesis; 0 means independence.
    n_null : int
        Number of replicates.
    rng : Generator, int or None
        Random generator or seed.
    n_jobs : int or None
        Number of workers; -1 uses all processors. The result does not depend on the number of
        workers.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    ResidualTest
        Observed statistic, replicates and p-value.

    Raises
    ------
    ShapeError
        If fewer than four models have varying answers.
    OptionError
        If an option does not exist.

    Examples
    --------
    >>> import psychollm as psy
    >>> from psychollm.factor.one_factor.residuals import residual_test
    >>> answers = psy.load_example("shared_confidence").confidence
    >>> test = residual_test(answers, n_null=99, rng=1)
    >>> bool(test.p_value > 0.05)
    True
    """
    if factors not in (0, 1):
        msg = f"factors={factors!r} is not an option: use 1 or 0"
        raise OptionError(msg)
    n_null = check_count("n_null", n_null, high=DRAWS)
    data = _testable(responses)
    counts = writable_counts(data.counts)
    if factors == 1:
        statistic, loadings = fitted_residual_eigenvalue, start(counts)
    else:
        statistic, loadings = residual_eigenvalue, np.zeros(len(data.counts.labels))
    observed = statistic(counts, loadings)
    task = partial(_draw_block, statistic=statistic, data=data, loadings=loadings)
    draws = replicate(
        task, n_null, rng=rng, n_jobs=n_jobs, progress=progress, label="residual replicates"
    )
    return _compare("largest residual eigenvalue", factors, observed, draws, data, loadings)


def second_share_test(
    responses: ResponsesLike,
    *,
    n_null: int = 99,
    rng: RandomState = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> ResidualTest:
    """Test whether a second factor explains more variance than expected under one factor.

    `exploratory_pairwise_likelihood` estimates the proportions of variance, so that no continuity
    correction is needed. A replicate takes about ten times as long as in `residual_test`.

    Parameters
    ----------
    responses : Responses, Scan or table of shape (models, questions)
        Binary answers of at least four models with non-zero variance. With three models, one
        factor always fits.
    n_null : int
        Number of replicates.
    rng : Generator, int or None
        Random generator or seed.
    n_jobs : int or None
        Number of workers; -1 uses all processors. The result does not depend on the number of
        workers.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    ResidualTest
        Observed proportion of variance, replicates and p-value.

    Raises
    ------
    ShapeError
        If fewer than four models have varying answers.

    Examples
    --------
    >>> import psychollm as psy
    >>> from psychollm.factor.one_factor.residuals import second_share_test
    >>> answers = psy.load_example("shared_confidence").confidence
    >>> bool(second_share_test(answers, n_null=19, rng=1).observed < 0.05)
    True
    """
    n_null = check_count("n_null", n_null, high=DRAWS)
    data = _testable(responses)
    counts = writable_counts(data.counts)
    loadings = start(counts)
    observed = second_share(counts, loadings)
    task = partial(_draw_block, statistic=second_share, data=data, loadings=loadings)
    draws = replicate(
        task, n_null, rng=rng, n_jobs=n_jobs, progress=progress, label="second shares"
    )
    return _compare("second share", 1, observed, draws, data, loadings)


def _testable(responses: ResponsesLike) -> CountedAnswers:
    """Return the pair counts; raise an error if too few models have varying answers."""
    answers = CountedAnswers.of(responses)
    rates = answers.counts.yes_rates
    varying = int(np.sum((rates > 0.0) & (rates < 1.0)))
    if varying < LEAST_MODELS:
        msg = (
            f"the one-factor test needs at least {LEAST_MODELS} models whose answers vary, "
            f"got {varying}: with three, one factor always fits"
        )
        raise ShapeError(msg)
    return answers


def _draw_block(
    seeds: WordArray, *, statistic: Statistic, data: CountedAnswers, loadings: FloatArray
) -> FloatArray:
    counts = writable_counts(data.counts)
    thresholds, n_questions = margin_thresholds(counts), data.table.n_questions
    return draw_statistics(
        statistic, loadings, thresholds, n_questions, data.mask, counts[2], seeds
    )


def _compare(
    statistic: str,
    factors: Literal[0, 1],
    observed: float,
    draws: FloatArray,
    data: CountedAnswers,
    loadings: FloatArray,
) -> ResidualTest:
    p = monte_carlo_p_value(observed, draws)
    return ResidualTest(
        observed=observed,
        draws=draws,
        p_value=float(p),
        p_value_se=float(monte_carlo_error(p, draws.size)),
        n=draws.size,
        scheme="one_factor" if factors else "independence",
        statistic=statistic,
        alternative="greater",
        factors=factors,
        loadings=loadings,
        labels=data.counts.labels,
    )
