"""The paired bootstrap over questions: one resample of questions for all models at once.

A resample is a vector of counts, how often each question was drawn. Statistics are sums over
questions weighted by these counts; a difference between models, or between predictors, is then
taken within the same resample, so that the difficulty of the questions cancels. Where questions
come in clusters (several about one passage), whole clusters are drawn. A statistic takes as many
resamples at once as the number of questions allows, wherever it runs: a product of matrices rounds
by their shapes, and blocks cut by the clock would not give the same last bit twice.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np

from psychollm._base.checks import check_count, check_fraction
from psychollm._base.replicate import replicate
from psychollm._base.types import FloatArray, IntArray, RandomState, WordArray
from psychollm.estimates.bootstrap_interval import (
    basic_interval,
    bca_interval,
    percentile_interval,
)
from psychollm.estimates.clustered import Units
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason

Statistic = Callable[[FloatArray], FloatArray]
Interval: TypeAlias = Literal["bca", "percentile", "basic"]

METHODS: dict[str, str] = {
    "bca": "BCa bootstrap",
    "percentile": "bootstrap percentiles",
    "basic": "basic bootstrap",
}

_BLOCK_BYTES = 4_000_000
_AT_ONCE = 100
_MAX_GROUPS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Resampling:
    """How often to resample, and how: the options that all bootstrapped metrics share.

    No resamples, ``n=0``, will do for metrics whose intervals are in closed form.

    Examples
    --------
    >>> Resampling(n=500, rng=0).level
    0.95
    """

    n: int = 2000
    level: float = 0.95
    rng: RandomState = None
    n_jobs: int | None = None
    progress: bool = False

    def __post_init__(self) -> None:
        check_count("n_bootstrap", self.n, low=0 if self.n == 0 else 2)
        check_fraction("level", self.level)

    def required(self) -> "Resampling":
        """Return itself, for what rests on resamples alone.

        Raises
        ------
        OptionError
            If there are none.

        Examples
        --------
        >>> Resampling(n=500, rng=0).required().n
        500
        """
        check_count("n_bootstrap", self.n, low=2)
        return self


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


def resample_counts(
    seeds: WordArray, n_questions: int, clusters: IntArray | None = None
) -> FloatArray:
    """Draw questions, or whole clusters of them, with replacement, once per seed.

    Parameters
    ----------
    seeds : ndarray of uint64 (replicates, 2)
        Keys of streams.
    n_questions : int
        How many questions there are.
    clusters : ndarray of int (n_questions,), optional
        The cluster of each question, numbered from zero without gaps.

    Returns
    -------
    ndarray (replicates, n_questions)
        How often each question was drawn.

    Examples
    --------
    >>> seeds = np.array([[1, 2]], dtype=np.uint64)
    >>> counts = resample_counts(seeds, 4, np.array([0, 0, 1, 1]))[0]
    >>> bool(counts[0] == counts[1] and counts[2] == counts[3])
    True
    """
    if clusters is None:
        return question_counts(seeds, n_questions)
    return question_counts(seeds, int(clusters.max()) + 1)[:, clusters]


def bootstrap_questions(
    statistic: Statistic,
    n_questions: int,
    *,
    n: int,
    clusters: IntArray | None = None,
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
    clusters : ndarray of int (n_questions,), optional
        The cluster of each question: whole clusters are drawn.
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
    check_count("n_bootstrap", n, low=2)
    rows = max(1, min(_BLOCK_BYTES // (8 * n_questions), _AT_ONCE))
    draws: FloatArray = replicate(
        partial(_block, statistic=statistic, n_questions=n_questions, clusters=clusters),
        n,
        rng=rng,
        n_jobs=n_jobs,
        progress=progress,
        label=label,
        at_once=rows,
    )
    return draws


def _block(
    seeds: WordArray, *, statistic: Statistic, n_questions: int, clusters: IntArray | None
) -> FloatArray:
    """Statistics of the resamples of some seeds."""
    return statistic(resample_counts(seeds, n_questions, clusters))


def left_out_counts(n_questions: int, clusters: IntArray | None = None) -> FloatArray:
    """Return counts with one group of questions left out at a time, for the jackknife.

    Parameters
    ----------
    n_questions : int
        Number of questions.
    clusters : ndarray of int (n_questions,), optional
        The cluster of each question; clusters are left out whole.

    Returns
    -------
    ndarray (groups, n_questions)
        Ones, and zeros where left out; at most 200 groups.

    Examples
    --------
    >>> left_out_counts(3)
    array([[0., 1., 1.],
           [1., 0., 1.],
           [1., 1., 0.]])
    """
    units = np.arange(n_questions) if clusters is None else clusters
    groups = units % _MAX_GROUPS
    return np.asarray(groups[None, :] != np.arange(groups.max() + 1)[:, None], dtype=np.float64)


def bootstrap_estimate(
    name: str,
    value: FloatArray,
    draws: FloatArray,
    *,
    n: FloatArray,
    flags: tuple[Reason, ...],
    level: float,
    labels: tuple[Any, ...],
    jackknife: FloatArray | None = None,
    interval: Interval = "percentile",
    units: Units | None = None,
    axis: str = "model",
    final: bool = True,
) -> Estimate:
    """Return one number per model with the interval and standard error of its draws.

    Parameters
    ----------
    name : str
        What the number is called.
    value : ndarray (models,)
        In the sample.
    draws : ndarray (n_bootstrap, models)
        In the resamples.
    n, flags, level, labels, axis
        As in `Estimate`.
    jackknife : ndarray (groups, models), optional
        Values with one group left out at a time: needed for ``interval="bca"``.
    interval : {"bca", "percentile", "basic"}
        How bounds are read from the draws.
    units : Units, optional
        The clusters, where whole ones were drawn: percentiles are expanded by their number.
    final : bool
        Whether the bounds stay, so that values outside are flagged.

    Examples
    --------
    >>> draws = np.arange(101.0)[:, None]
    >>> bootstrap_estimate("x", np.array([50.0]), draws, n=np.ones(1), flags=(Reason.NONE,),
    ...                    level=0.9, labels=("m",)).interval
    array([[ 5., 95.]])
    """
    # One cluster resampled is the sample itself: that is no certainty.
    known = np.isfinite(value) if units is None else np.isfinite(value) & (units.count > 1)
    draws = np.where(known, draws, np.nan)
    se = np.full(value.size, np.nan)
    several = np.isfinite(draws).sum(axis=0) > 1
    se[several] = np.nanstd(draws[:, several], axis=0, ddof=1)
    inside = level if units is None else units.level(level)
    if interval == "bca" and jackknife is not None:
        bounds = bca_interval(value, draws, jackknife, inside)
    elif interval == "basic":
        bounds = basic_interval(value, draws, inside)
    else:
        bounds, interval = percentile_interval(draws, inside), "percentile"
    found = Estimate(
        name=name,
        value=value,
        se=se,
        interval=bounds,
        n=n,
        flags=flags if units is None else units.flagged(flags, value),
        method=f"{METHODS[interval]} over {'clusters of ' * (units is not None)}questions",
        level=level,
        labels=labels,
        axis=axis,
        df=None if units is None else units.df,
        _draws=draws,
    )
    return found.qualified() if final else found
