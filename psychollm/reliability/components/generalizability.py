r"""Generalizability theory: variance components of scores.

Models answer items in one or several runs. Each score is a grand mean plus effects of the model,
the item, the run, and their combinations (`crossed_design`). The variances of the effects are the
*components*. The components determine the reproducibility of a mean score with other items and
runs (`decision_study`).

Components of complete data are estimated from expected mean squares. Estimates from mean squares
are unbiased and may be negative; negative estimates are kept and flagged. With missing cells, or
on request, restricted maximum likelihood (`reml`) is used. REML estimates are never negative. For
complete data, both methods give the same estimates unless an estimate from mean squares is
negative.

References
----------
Cronbach, L. J., Gleser, G. C., Nanda, H., & Rajaratnam, N. (1972). The dependability of behavioral
measurements. Wiley.

Brennan, R. L. (2001). Generalizability theory. Springer.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice, check_generator
from psychollm._base.convergence import Convergence
from psychollm._base.errors import OptionError
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, RandomState
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.estimate import Estimate, unknown_estimate
from psychollm.estimates.intervals import percentile_interval
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap, Resampling, bootstrap_draws
from psychollm.reliability.components.crossed_design import (
    CellCounts,
    CrossedDesign,
    Profiles,
    completed,
    corrected_for_resampling,
    effective_freedom,
    pivotal_draws,
)
from psychollm.reliability.components.reml import restricted_maximum
from psychollm.reliability.means.repeated_scores import repeated_scores

Estimation: TypeAlias = Literal["auto", "ems", "reml"]
ComponentInterval: TypeAlias = Literal["pivotal", "bootstrap"]

_METHODS: dict[str, str] = {
    "pivotal": "generalised (pivotal) percentiles",
    "bootstrap": "bootstrap percentiles over models, bias-corrected",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Generalizability(Result):
    """Variance components of scores in a crossed design of models, items and runs.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=(20, 1)) + rng.normal(size=(20, 30))
    >>> study = generalizability(scores, rng=0)
    >>> study.to_frame()[["component", "value", "share"]].round(2)
      component  value  share
    0     model   0.79   0.44
    1      item   0.03   0.01
    2  residual   0.98   0.55
    """

    components: Estimate  # (components,) variance components; the residual is last
    # (components,) proportions of the total variance; negative components count as zero
    share: FloatArray
    covariance: FloatArray  # (components, components) covariances of the estimates
    mean_squares: FloatArray  # (components,) NaN with missing cells
    degrees_of_freedom: FloatArray  # (components,) degrees of freedom of the mean squares
    # (components,) degrees of freedom of the intervals; fewer if scores are not normal
    effective_freedom: FloatArray
    facets: tuple[str, ...]  # model, item and, if there are several runs, run
    levels: tuple[int, ...]  # number of levels of each facet
    estimation: str  # "ems" or "reml"
    convergence: Convergence | None  # status of the REML iteration

    def _axes(self) -> Axes:
        return Axes(
            {self.components.axis: "components.labels"},
            "value=components.value",
            "share",
            "df=degrees_of_freedom",
            "mean_square=mean_squares",
            "se=components.se",
            "{bound}=components.interval",
            "flag=components.flags",
        )


def generalizability(
    scores: ResponsesLike,
    *,
    estimation: Estimation = "auto",
    interval: ComponentInterval = "pivotal",
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Generalizability:
    """Estimate variance components of scores over models, items and runs.

    Parameters
    ----------
    scores : RepeatedScores, Ratings, Responses, DataFrame, DataArray or array_like
        Numeric scores (models, items) or (models, items, runs); NaN marks a missing score. Models,
        items and runs without scores are omitted; a single run is not a facet.
    estimation : {"auto", "ems", "reml"}
        "ems" uses expected mean squares and requires complete data. "reml" is restricted maximum
        likelihood. "auto" uses "ems" for complete data, and otherwise "reml".
    interval : {"pivotal", "bootstrap"}
        "pivotal" intervals generalise to new models, items and runs. "bootstrap" resamples only
        models, with bias correction. The coverage of "bootstrap" is too low with few models and
        for components that do not involve models. With missing cells, the components are refitted
        to every resample.
    bootstrap : int or Bootstrap
        Number of draws.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    Generalizability
        Components and their intervals. Components are NaN with a reason if a facet has a single
        level or all scores are equal.

    Raises
    ------
    ShapeError, LabelError, CodeError
        If the scores are not a numeric table of an accepted shape.
    OptionError
        If ``estimation="ems"`` is used with missing cells, or an option is invalid.

    Notes
    -----
    With missing cells, the cost of REML is proportional to the number of missing-data
    patterns. The cost of REML also increases with the cube of the product of the two smallest
    numbers of levels. For 20 models, 1,000 items and 3 runs, REML takes a few seconds.

    Examples
    --------
    >>> runs = np.random.default_rng(0).normal(size=(10, 1, 1)) + np.arange(6.0).reshape(1, 3, 2)
    >>> generalizability(runs, rng=0, bootstrap=100).components.labels
    ('model', 'item', 'run', 'model:item', 'model:run', 'item:run', 'residual')
    """
    check_choice("estimation", estimation, Estimation)
    check_choice("interval", interval, ComponentInterval)
    options = Resampling.of(bootstrap, level, rng).required()
    values = _occupied(repeated_scores(scores).values)
    complete = bool(np.isfinite(values).all())
    if estimation == "ems" and not complete:
        msg = 'estimation="ems" needs complete scores: use "reml", or leave out what is missing'
        raise OptionError(msg)
    design = CrossedDesign(values.shape)
    if min(values.shape) < 2:
        return _undefined(design, Reason.TOO_FEW, options)
    if np.nanmin(values) == np.nanmax(values):
        return _undefined(design, Reason.ALL_TIED, options)
    method = estimation if estimation != "auto" else ("ems" if complete else "reml")
    return _result(_analysis(values, design, method), values, interval, options)


@dataclass(frozen=True, slots=True)
class _Analysis:
    """Estimated components, and the quantities needed to simulate draws of them."""

    counts: CellCounts
    estimation: str
    components: FloatArray
    mean_squares: FloatArray  # NaN with missing cells
    expected: FloatArray  # mean squares, or their expectations in a balanced design
    freedom: FloatArray
    effective: FloatArray
    convergence: Convergence | None

    @property
    def covariance(self) -> FloatArray:
        """Covariance of the components, computed from the variances of the mean squares."""
        inverse = np.linalg.inv(self.counts.expectation)
        variance = 2.0 * self.expected**2 / (self.effective + 2.0)
        return np.asarray((inverse * variance) @ inverse.T)

    def flags(self) -> tuple[Reason, ...]:
        """Return the flag of each component."""
        if self.convergence is not None and not self.convergence.converged:
            return (Reason.NOT_CONVERGED,) * self.components.size
        reasons = {-1.0: Reason.NEGATIVE_COMPONENT, 0.0: Reason.AT_BOUND, 1.0: Reason.NONE}
        return tuple(reasons[sign] for sign in np.sign(self.components).tolist())


def _occupied(values: FloatArray) -> FloatArray:
    """Remove levels without scores, and the facet of runs if there is a single run."""
    present = np.isfinite(values)
    kept = [present.any(axis=tuple({0, 1, 2} - {axis})) for axis in range(3)]
    values = values[np.ix_(*kept)]
    return values[:, :, 0] if values.shape[2] <= 1 and values.size else values


def _analysis(values: FloatArray, design: CrossedDesign, method: str) -> _Analysis:
    present = np.isfinite(values)
    counts, complete = design.counted(present), bool(present.all())
    freedom = counts.degrees_of_freedom
    squares = np.full(freedom.size, np.nan)
    if complete:
        sums = Profiles.of(values).sums_of_squares(np.ones((1, values.shape[0])))[0]
        squares = sums / freedom
    if method == "ems":
        components, convergence = design.components(squares), None
    else:
        fit = restricted_maximum(values, design, squares)
        components, convergence = fit.components, fit.convergence
        convergence.warn("restricted maximum likelihood")
    return _Analysis(
        counts=counts,
        estimation=method,
        components=components,
        mean_squares=squares,
        expected=squares if complete else counts.expectation @ components,
        freedom=freedom,
        effective=effective_freedom(completed(values), freedom),
        convergence=convergence,
    )


def _result(
    analysis: _Analysis, values: FloatArray, interval: ComponentInterval, options: Resampling
) -> Generalizability:
    if interval == "pivotal":
        draws = pivotal_draws(
            analysis.counts.expectation,
            analysis.expected,
            analysis.effective,
            options.n,
            check_generator(options.rng),
        )
    else:
        draws = _bootstrap(analysis, values, options)
    if analysis.estimation == "reml":
        draws = np.maximum(draws, 0.0)
    covariance = analysis.covariance
    if interval == "bootstrap":
        covariance = np.cov(draws[np.isfinite(draws).all(axis=1)].T)
    positive = np.maximum(analysis.components, 0.0)
    return Generalizability(
        components=Estimate(
            name="variance component",
            value=analysis.components,
            se=np.sqrt(np.diagonal(covariance)),
            interval=percentile_interval(draws, options.level),
            n=analysis.counts.levels,
            flags=analysis.flags(),
            method=_METHODS[interval],
            level=options.level,
            labels=analysis.counts.design.names,
            axis="component",
            _draws=draws,
        ),
        share=positive / positive.sum(),
        covariance=covariance,
        mean_squares=analysis.mean_squares,
        degrees_of_freedom=analysis.freedom,
        effective_freedom=analysis.effective,
        facets=analysis.counts.design.facets,
        levels=analysis.counts.design.levels,
        estimation=analysis.estimation,
        convergence=analysis.convergence,
    )


def _bootstrap(analysis: _Analysis, values: FloatArray, options: Resampling) -> FloatArray:
    """Return components in resamples of models, corrected for bias."""
    design, n = analysis.counts.design, values.shape[0]
    profiles = Profiles.of(completed(values))

    def complete(counts: FloatArray) -> FloatArray:
        # Resamples are processed one at a time, because rounding in a matrix product depends on
        # its shape.
        sums = [profiles.sums_of_squares(row[None]) for row in counts]
        return design.components(np.concatenate(sums) / analysis.freedom)

    def refitted(counts: FloatArray) -> FloatArray:
        return np.array([_refit(values, design, row, analysis.components) for row in counts])

    draws = bootstrap_draws(complete if np.isfinite(values).all() else refitted, n, options)
    return corrected_for_resampling(design, draws, n)


def _refit(
    values: FloatArray, design: CrossedDesign, counts: FloatArray, start: FloatArray
) -> FloatArray:
    """Return components with models weighted by resampling counts; NaN if variance is zero."""
    drawn = values[np.repeat(np.arange(len(counts)), counts.astype(np.int64))]
    for axis in range(1, drawn.ndim):
        others = tuple(a for a in range(drawn.ndim) if a != axis)
        drawn = np.compress(np.isfinite(drawn).any(axis=others), drawn, axis=axis)
    unknown = np.full(len(design.effects), np.nan)
    if min(drawn.shape) < 2 or np.nanmin(drawn) == np.nanmax(drawn):
        return unknown
    return restricted_maximum(drawn, design, unknown, start).components


def _undefined(design: CrossedDesign, reason: Reason, options: Resampling) -> Generalizability:
    m = len(design.effects)
    unknown = np.full(m, np.nan)
    return Generalizability(
        components=unknown_estimate(
            "variance component",
            design.names,
            reason,
            n=design.degrees_of_freedom,
            level=options.level,
            axis="component",
            n_draws=options.n,
        ),
        share=unknown,
        covariance=np.full((m, m), np.nan),
        mean_squares=unknown,
        degrees_of_freedom=design.degrees_of_freedom,
        effective_freedom=unknown,
        facets=design.facets,
        levels=design.levels,
        estimation="none",
        convergence=None,
    )
