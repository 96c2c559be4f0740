"""The paired bootstrap over questions: one resample of questions for all models at once.

A resample is a vector of counts, how often each question was drawn. Statistics are sums over
questions weighted by these counts; a difference between models, or between predictors, is then
taken within the same resample, so that the difficulty of the questions cancels. Sums of counts
are whole numbers, so the result does not depend on how replicates are divided among workers.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from psychollm._base.replicate import replicate
from psychollm._base.types import FloatArray, RandomState, WordArray
from psychollm.calibration.estimate import Estimate
from psychollm.calibration.reasons import Reason

Statistic = Callable[[FloatArray], FloatArray]

_BLOCK_BYTES = 32_000_000


def question_counts(seeds: WordArray, n_questions: int) -> FloatArray:
    """Draw `n_questions` questions with replacement, once per seed.

    Parameters
    ----------
    seeds : ndarray of uint64 (replicates, 2)
        Keys of counter-based streams, one per replicate.
    n_questions : int
        How many questions there are, and how many are drawn.

    Returns
    -------
    ndarray (replicates, n_questions)
        How often each question was drawn.

    Examples
    --------
    >>> question_counts(np.array([[1, 2]], dtype=np.uint64), 5).sum()
    np.float64(5.0)
    """
    counts = np.empty((len(seeds), n_questions))
    for row, seed in enumerate(seeds):
        generator = np.random.Generator(np.random.Philox(key=seed))
        drawn = generator.integers(n_questions, size=n_questions)
        counts[row] = np.bincount(drawn, minlength=n_questions)
    return counts


def bootstrap_questions(
    statistic: Statistic,
    n_questions: int,
    *,
    n: int,
    rng: RandomState = None,
    n_jobs: int | None = None,
    progress: bool = False,
    label: str = "bootstrap",
) -> FloatArray:
    """Return `n` draws of a statistic, each from one resample of the questions.

    Parameters
    ----------
    statistic : callable
        Takes counts (replicates, questions) and returns an array (replicates, ...).
    n_questions : int
        Number of questions.
    n : int
        Number of resamples.
    rng, n_jobs, progress, label
        As in every replicated computation; the draws do not depend on `n_jobs`.

    Returns
    -------
    ndarray (n, ...)
        The draws.

    Examples
    --------
    >>> mean = lambda counts: counts @ np.arange(4.0) / 4
    >>> bootstrap_questions(mean, 4, n=3, rng=0).shape
    (3,)
    """
    rows = max(1, _BLOCK_BYTES // (8 * n_questions))

    def task(seeds: WordArray) -> FloatArray:
        blocks = [
            statistic(question_counts(seeds[start : start + rows], n_questions))
            for start in range(0, len(seeds), rows)
        ]
        return np.concatenate(blocks)

    draws: FloatArray = replicate(task, n, rng=rng, n_jobs=n_jobs, progress=progress, label=label)
    return draws


def percentile_interval(draws: FloatArray, level: float) -> FloatArray:
    """Return percentile bounds over the first axis; NaN where no draw is defined.

    Parameters
    ----------
    draws : ndarray (n, ...)
        Bootstrap draws; undefined ones (NaN) are left out.
    level : float
        Coverage.

    Returns
    -------
    ndarray (..., 2)
        Lower and upper bound.

    Examples
    --------
    >>> percentile_interval(np.arange(101.0), 0.9)
    array([ 5., 95.])
    """
    tails = [0.5 * (1.0 - level), 0.5 * (1.0 + level)]
    defined = np.asarray(np.isfinite(draws).any(axis=0))
    safe = np.where(defined, draws, 0.0)
    bounds: Any = np.nanquantile(safe, tails, axis=0)
    return np.where(defined[..., None], np.moveaxis(bounds, 0, -1), np.nan)


def bootstrap_estimate(
    name: str,
    value: FloatArray,
    draws: FloatArray,
    *,
    n: FloatArray,
    reason: tuple[Reason, ...],
    level: float,
    labels: tuple[Any, ...],
) -> Estimate:
    """Return one number per model with the percentile interval and standard error of its draws.

    Parameters
    ----------
    name : str
        What the number is called.
    value : ndarray (models,)
        In the sample.
    draws : ndarray (n_bootstrap, models)
        In the resamples.
    n, reason, level, labels
        As in `Estimate`.

    Examples
    --------
    >>> draws = np.arange(101.0)[:, None]
    >>> bootstrap_estimate("x", np.array([50.0]), draws, n=np.ones(1), reason=(Reason.NONE,),
    ...                    level=0.9, labels=("m",)).interval
    array([[ 5., 95.]])
    """
    se = np.full(value.size, np.nan)
    several = np.isfinite(draws).sum(axis=0) > 1
    se[several] = np.nanstd(draws[:, several], axis=0, ddof=1)
    return Estimate(
        name=name,
        value=value,
        se=se,
        interval=percentile_interval(draws, level),
        n=n,
        reason=reason,
        method="bootstrap percentiles over questions",
        level=level,
        labels=labels,
    )
