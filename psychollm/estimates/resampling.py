"""Jackknife and bootstrap of statistics that are functions of counts.

A resample is a vector of counts: how often each unit (question, respondent, model) was drawn. A
statistic is computed for many vectors of counts in one call: the vector of the sample (all counts
are one), vectors that each leave out one group of units, and vectors of resamples. Differences
between models are computed within a resample, so that the difficulty of the questions cancels.
Clustered units (several questions about one passage) are drawn and left out as whole clusters.
Rounding in a matrix product depends on the shapes of the matrices. The number of resamples per
call therefore depends only on the number of units, so that results are reproducible to the last
bit.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, TypeAlias, TypedDict

import numpy as np

from psychollm._base.checks import DRAWS, check_count, check_fraction
from psychollm._base.errors import OptionError
from psychollm._base.replicate import Task, generators, replicate
from psychollm._base.types import AnyArray, FloatArray, IntArray, RandomState, WordArray
from psychollm.estimates.clustered import Units
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import (
    Scale,
    basic_interval,
    bca_interval,
    jackknife_interval,
    jackknife_se,
    percentile_interval,
)
from psychollm.estimates.reasons import Reason

# A function from counts (resamples, units) to values (resamples, ...).
Statistic: TypeAlias = Callable[[FloatArray], FloatArray]
Interval: TypeAlias = Literal["bca", "percentile", "basic"]

METHODS: dict[str, str] = {
    "bca": "BCa bootstrap",
    "percentile": "bootstrap percentiles",
    "basic": "basic bootstrap",
}

_BLOCK_BYTES = 4_000_000
_SMALL_BYTES = 64_000_000  # bytes of a block of small counts, of one byte each
_KEPT_BYTES = 256_000_000
_AT_ONCE = 100
_MAX_GROUPS = 200


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """Numbers of resamples and workers, as accepted by every argument ``bootstrap=``.

    ``bootstrap=500`` is short for ``bootstrap=Bootstrap(500)``.

    Attributes
    ----------
    n : int
        Number of resamples. With ``bootstrap=0``, no resamples are drawn if the interval has a
        closed form, and differences between models are not available.
    n_jobs : int, optional
        Number of workers; -1 uses all processors. None means one worker, or the setting of
        `joblib.parallel_config`. Results do not depend on the number of workers.
    progress : bool
        Whether to show a progress bar.

    Examples
    --------
    >>> import psychollm as psy
    >>> score = psy.calibration.brier([0.9, 0.2, 0.7], [1, 0, 1], rng=0,
    ...                               bootstrap=psy.Bootstrap(500, n_jobs=2))
    >>> score.draws.shape
    (500, 1)
    """

    n: int = 2000
    n_jobs: int | None = field(default=None, kw_only=True)
    progress: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        n = check_count("bootstrap", self.n, low=0 if self.n == 0 else 2, high=DRAWS)
        object.__setattr__(self, "n", n)


class ResamplingArguments(TypedDict):
    """Arguments shared by all functions that use resamples."""

    bootstrap: Bootstrap
    level: float
    rng: RandomState


@dataclass(frozen=True, slots=True)
class Resampling(Bootstrap):
    """Parsed arguments of a function: `Bootstrap` options, level, seed, and kind of interval."""

    level: float = field(default=0.95, kw_only=True)
    rng: RandomState = field(default=None, kw_only=True)
    interval: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        Bootstrap.__post_init__(self)
        check_fraction("level", self.level)
        if self.interval == "bootstrap" and not self.n:
            msg = "bootstrap=0 draws no resamples, but interval='bootstrap' needs at least 2"
            raise OptionError(msg)

    @classmethod
    def of(
        cls,
        bootstrap: Bootstrap | int,
        level: float,
        rng: RandomState,
        interval: str | None = None,
    ) -> "Resampling":
        """Return the options of one call."""
        if not isinstance(bootstrap, Bootstrap):
            bootstrap = Bootstrap(bootstrap)
        return cls(
            bootstrap.n,
            n_jobs=bootstrap.n_jobs,
            progress=bootstrap.progress,
            level=level,
            rng=rng,
            interval=interval,
        )

    def required(self) -> "Resampling":
        """Return the options; raise `OptionError` if they request no resamples."""
        check_count("bootstrap", self.n, low=2)
        return self

    @property
    def arguments(self) -> ResamplingArguments:
        """Arguments `bootstrap`, `level` and `rng`, for calls between public functions."""
        return {"bootstrap": self, "level": self.level, "rng": self.rng}

    def replicate(self, task: Task, label: str, *, at_once: int | None = None) -> AnyArray:
        """Run a task once per resample."""
        return replicate(
            task,
            self.n,
            rng=self.rng,
            n_jobs=self.n_jobs,
            progress=self.progress,
            label=label,
            at_once=at_once,
        )


def question_counts(seeds: WordArray, n_questions: int, *, small: bool = False) -> AnyArray:
    """Return how often each question is drawn (replicates, n_questions), with one row per seed."""
    # Small counts are bytes, and the counts of a question are contiguous. The probability that a
    # question is drawn more than 255 times is below 1e-500.
    kind, order = (np.uint8, "F") if small else (np.float64, "C")
    counts: AnyArray = np.empty((len(seeds), n_questions), kind, order)  # type: ignore[call-overload]
    for row, generator in enumerate(generators(seeds)):
        drawn = generator.integers(n_questions, size=n_questions)
        counts[row] = np.bincount(drawn, minlength=n_questions)
    return counts


def resample_counts(
    seeds: WordArray, n_units: int, clusters: IntArray | None = None, *, small: bool = False
) -> AnyArray:
    """Return how often each unit is drawn (replicates, units); clusters are drawn whole."""
    if clusters is None:
        return question_counts(seeds, n_units, small=small)
    counts = question_counts(seeds, int(clusters.max()) + 1, small=small)
    return counts.T[clusters].T if small else counts[:, clusters]


class KeptCounts:
    """Resampling counts, drawn once and shared by all metrics.

    If the counts take more than `_KEPT_BYTES`, they are redrawn on each use.
    """

    def __init__(self, n_units: int, clusters: IntArray | None, n: int) -> None:
        self._draw = partial(resample_counts, n_units=n_units, clusters=clusters, small=True)
        self._keep = n * n_units <= _KEPT_BYTES
        self._kept: dict[bytes, AnyArray] = {}

    def __call__(self, seeds: WordArray) -> AnyArray:
        """Return counts (resamples, units)."""
        key = seeds.tobytes()
        if key in self._kept:
            return self._kept[key]
        counts: AnyArray = self._draw(seeds)
        if self._keep:
            self._kept[key] = counts
        return counts


def left_out_counts(
    n_units: int, clusters: IntArray | None = None, *, small: bool = False
) -> AnyArray:
    """Return counts (groups, units) of jackknife samples, each without one of up to 200 groups."""
    units = np.arange(n_units) if clusters is None else clusters
    groups = units % _MAX_GROUPS
    kept: AnyArray = groups[:, None] != np.arange(groups.max() + 1)
    return np.asarray(kept.T, np.uint8) if small else np.asarray(kept.T, np.float64, order="C")


def bootstrap_draws(
    statistic: Statistic,
    n_units: int,
    options: Resampling,
    *,
    clusters: IntArray | None = None,
    counts: Callable[[WordArray], FloatArray] | None = None,
    small: bool = False,
    label: str = "bootstrap",
) -> FloatArray:
    """Return draws (resamples, ...) of a statistic, each from one resample of the units."""
    # `statistic` takes counts (resamples, units). `clusters` (units,) are numbered from zero
    # without gaps, and drawn whole. `counts` is a function of seeds (resamples, 2) that replaces
    # simple resampling, for example by resampling within strata. A statistic may request `small`
    # counts.
    options.required()
    drawn = counts or partial(resample_counts, n_units=n_units, clusters=clusters, small=small)
    fit = _SMALL_BYTES // n_units if small else _BLOCK_BYTES // (8 * n_units)
    rows = max(1, min(fit, _AT_ONCE))
    draws: FloatArray = options.replicate(
        partial(_block, statistic=statistic, counts=drawn), label, at_once=rows
    )
    return draws


def _block(
    seeds: WordArray, *, statistic: Statistic, counts: Callable[[WordArray], FloatArray]
) -> FloatArray:
    """Return the statistic in the resamples drawn with the given seeds."""
    return statistic(counts(seeds))


def resample(
    statistic: Statistic,
    n_units: int,
    options: Resampling,
    *,
    clusters: IntArray | None = None,
    counts: Callable[[WordArray], FloatArray] | None = None,
    small: bool = False,
    label: str = "bootstrap",
) -> "Replicates":
    """Evaluate a statistic in the sample, in the jackknife samples, and in resamples."""
    draws = None
    if options.n:
        draws = bootstrap_draws(
            statistic, n_units, options, clusters=clusters, counts=counts, small=small, label=label
        )
    kind = np.uint8 if small else np.float64
    return Replicates(
        value=statistic(np.ones((1, n_units), dtype=kind, order="F"))[0],
        left_out=statistic(left_out_counts(n_units, clusters, small=small)),
        draws=draws,
        options=options,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Replicates:
    """Values of a statistic in the sample, in the jackknife samples, and in resamples."""

    value: FloatArray  # (...)
    left_out: FloatArray  # (groups, ...)
    draws: FloatArray | None  # (resamples, ...), or None without resamples
    options: Resampling

    @classmethod
    def unknown(cls, value: FloatArray, level: float) -> "Replicates":
        """Return replicates whose intervals are undefined."""
        nothing = np.full((1, *value.shape), np.nan)
        return cls(value=value, left_out=nothing, draws=None, options=Resampling(0, level=level))

    def each(self, *index: Any) -> "Replicates":
        """Return the replicates of the part of the statistic that `index` selects."""
        # Copy to contiguous arrays, because sums of strided arrays may round differently.
        draws = None
        if self.draws is not None:
            draws = np.ascontiguousarray(self.draws[(slice(None), *index)])
        value = np.ascontiguousarray(self.value[index])
        left_out = self.left_out[(slice(None), *index)]
        return replace(self, value=value, left_out=left_out, draws=draws)

    def estimate(
        self,
        name: str,
        *,
        n: FloatArray,
        flags: tuple[Reason, ...],
        labels: tuple[Any, ...],
        axis: str = "model",
        interval: Interval = "bca",
        scale: Scale | None = None,
        over: str = "questions",
        units: Units | None = None,
        final: bool = True,
    ) -> Estimate:
        """Return values (k,) with their intervals."""
        # With a `scale`, a jackknife interval is computed unless "bootstrap" was requested. With
        # clusters in `units`, percentiles are expanded for the number of clusters. Values outside
        # their bounds are flagged, unless the caller still changes the bounds (`final` is false).
        if scale is None or self.options.interval == "bootstrap":
            return bootstrap_estimate(
                name,
                self.value,
                np.full((1, self.value.size), np.nan) if self.draws is None else self.draws,
                n=n,
                flags=flags,
                level=self.options.level,
                labels=labels,
                jackknife=self.left_out,
                interval=interval,
                over=over,
                units=units,
                axis=axis,
                final=final,
            )
        level, se = self.options.level, jackknife_se(self.left_out)
        method = f"jackknife over {over}, {scale.name}"
        return Estimate(
            name=name,
            value=self.value,
            se=np.where(np.isfinite(self.value), se, np.nan),
            interval=jackknife_interval(self.value, self.left_out, scale, level),
            n=n,
            flags=flags,
            method=method if np.isfinite(n).any() else "none: n is unknown",
            level=level,
            labels=labels,
            axis=axis,
            _draws=self.draws,
        ).qualified()


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
    over: str = "questions",
    units: Units | None = None,
    axis: str = "model",
    final: bool = True,
) -> Estimate:
    """Return values (k,) with intervals from draws (resamples, k): see `Replicates.estimate`."""
    # Resamples of a single cluster equal the sample, so their variance of zero is meaningless.
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
    estimate = Estimate(
        name=name,
        value=value,
        se=se,
        interval=bounds,
        n=n,
        flags=flags if units is None else units.flagged(flags, value),
        method=f"{METHODS[interval]} over {'clusters of ' * (units is not None)}{over}",
        level=level,
        labels=labels,
        axis=axis,
        df=None if units is None else units.df,
        _draws=draws,
    )
    return estimate.qualified() if final else estimate
