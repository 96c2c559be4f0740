r"""Best strength of each target, and the regression of strengths on thresholds.

The regression line is fitted by least squares to one point per target. For targets drawn from a
population, the interval of :math:`R^2` is computed from the interval in equation (1) of the
correlation, by Fisher's z.

.. math:: \operatorname{artanh} r \pm z / \sqrt{k - 3}.                                   \quad (1)

To generalise to other questions with the same targets, strengths are estimated again in each
resample of questions. The interval from resamples is too low, because resampled strengths contain
sampling noise twice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from psychollm._base.axes import Axes
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray
from psychollm.calibration.consensus.between_models import Line, least_squares
from psychollm.calibration.decisions.two_by_two import ratio
from psychollm.data.labels import Labels
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import normal_multiplier, percentile_interval
from psychollm.estimates.reasons import Reason, first_reason
from psychollm.estimates.resampling import Resampling, bootstrap_draws, bootstrap_estimate
from psychollm.studies.steering_match.grid import (
    Criterion,
    Grid,
    Peak,
    Profiles,
    Ties,
    criterion_curve,
    log_likelihoods,
    peak,
)
from psychollm.studies.steering_match.reconstruction import answers_at

_WIDE = 0.1  # proportion of the usable strengths above which a plateau is reported as wide
_LARGEST = 20_000_000  # maximum size of a table of likelihoods


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BestStrengths(Result):
    """Strengths that best reproduce the targets by one criterion.

    Examples
    --------
    >>> import numpy as np
    >>> from psychollm.studies import SteeredAnswers, steering_match
    >>> rng = np.random.default_rng(0)
    >>> ease, strengths = rng.normal(size=90), np.linspace(-2, 2, 9)
    >>> steered = SteeredAnswers.from_array(ease + strengths[:, None], strengths=strengths,
    ...                                     scale="log_odds")
    >>> targets = (ease + rng.normal(size=(5, 90)) > np.linspace(-1, 1, 5)[:, None]).astype(int)
    >>> study = steering_match(steered, targets, n_null=39, bootstrap=20, rng=0)
    >>> study.best.line.slope < 0, study.best.at_edge.any()
    (True, np.False_)
    """

    criterion: Criterion
    strength: Estimate  # (targets,)
    plateau: FloatArray  # (targets, 2) range of equally good strengths
    at_edge: BoolArray  # (targets,) whether the optimum may be outside the usable strengths
    # (targets,) whether the plateau covers more than a tenth of the usable strengths
    wide: BoolArray
    agreement: FloatArray  # (targets,) agreement in sample, at the best strength
    kappa: FloatArray  # (targets,)
    thresholds: FloatArray  # (targets,)
    line: Line  # regression of strength on threshold
    r_squared_interval: FloatArray  # (2,) interval (1), which generalises to other targets
    r_squared_questions: FloatArray  # (2,) interval that generalises to other questions

    _AXES = Axes(
        {"target": "strength.labels"},
        "threshold=thresholds",
        "strength=strength.value",
        "{bound}=strength.interval",
        "plateau_{bound}=plateau",
        "at_edge",
        "wide_plateau=wide",
        "agreement",
        "kappa",
    )


def plain_thresholds(rates: FloatArray) -> FloatArray:
    """Return the latent value above which a target says yes; NaN if its answers are constant."""
    inside = (rates > 0) & (rates < 1)
    return np.where(inside, -ndtri(np.where(inside, rates, 0.5)), np.nan)


def r_squared(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return squared correlations over the last axis, using pairs with both values defined."""
    both = np.isfinite(x) & np.isfinite(y)
    n = both.sum(axis=-1, keepdims=True)
    u, v = (np.where(both, np.broadcast_to(part, both.shape), 0.0) for part in (x, y))
    u, v = (
        np.where(both, part - part.sum(axis=-1, keepdims=True) / np.maximum(n, 1), 0.0)
        for part in (u, v)
    )
    scale = (u**2).sum(axis=-1) * (v**2).sum(axis=-1)
    cross = (u * v).sum(axis=-1) ** 2
    good = (n[..., 0] > 2) & (scale > 1e-24)
    return ratio(cross, np.where(good, scale, 0.0))


def fitted_line(thresholds: FloatArray, strengths: FloatArray, level: float) -> Line:
    """Regress strengths on thresholds, over targets for which both are defined."""
    both = np.isfinite(thresholds) & np.isfinite(strengths)
    return least_squares(
        thresholds[both],
        strengths[both],
        predictor="threshold",
        outcome="best strength",
        level=level,
    )


def best_strengths(
    grid: Grid,
    profiles: Profiles,
    thresholds: FloatArray | None,
    *,
    criterion: Criterion,
    ties: Ties,
    options: Resampling,
    labels: Labels,
) -> BestStrengths:
    """Return the best strengths and their regression on thresholds, with intervals."""
    # If thresholds is None, they are computed from the yes rates of each resample.
    if criterion == "likelihood":
        grid = _thinned(grid, len(profiles.said))
    parts = log_likelihoods(grid, profiles) if criterion == "likelihood" else None
    best = peak(criterion_curve(grid, profiles, criterion, parts=parts), grid.strengths, ties=ties)
    own = plain_thresholds(profiles.yes_rates) if thresholds is None else thresholds
    draws = _draws(grid, profiles, criterion, ties, parts, options)
    others = plain_thresholds(draws[1]) if thresholds is None else own
    line = fitted_line(own, best.strength, options.level)
    rates = answers_at("", grid, profiles, best.place).rates()
    return BestStrengths(
        criterion=criterion,
        strength=_strength(best, draws[0], profiles, options, labels),
        plateau=best.plateau,
        at_edge=best.at_edge,
        wide=np.diff(best.plateau)[:, 0] > _WIDE * np.ptp(grid.strengths),
        agreement=rates[0][0],
        kappa=rates[1][0],
        thresholds=own,
        line=line,
        r_squared_interval=_fisher(line, options.level),
        r_squared_questions=percentile_interval(r_squared(others, draws[0]), options.level),
    )


def _thinned(grid: Grid, n_targets: int) -> Grid:
    """Thin the grid if the likelihoods of all points would not fit into memory."""
    every = max(1, -(-n_targets * grid.yes.size // _LARGEST))
    rows = np.unique([*range(0, grid.strengths.size, every), grid.strengths.size - 1])
    return Grid(
        strengths=grid.strengths[rows],
        yes=grid.yes[rows],
        known=None if grid.known is None else grid.known[rows],
        log_odds=None if grid.log_odds is None else grid.log_odds[rows],
    )


def _draws(
    grid: Grid,
    profiles: Profiles,
    criterion: Criterion,
    ties: Ties,
    parts: FloatArray | None,
    options: Resampling,
) -> tuple[FloatArray, FloatArray]:
    """Return best strengths and yes rates of the targets in each resample (n, targets)."""

    def statistic(counts: FloatArray) -> FloatArray:
        rows = []
        for weights in counts:
            curves = criterion_curve(grid, profiles, criterion, weights=weights, parts=parts)
            n = profiles.answered @ weights
            rates = np.divide(profiles.said @ weights, n, out=np.full(n.size, np.nan), where=n > 0)
            rows.append([peak(curves, grid.strengths, ties=ties).strength, rates])
        return np.array(rows)

    draws = bootstrap_draws(
        statistic, grid.yes.shape[1], options, label=f"best strengths by {criterion}"
    )
    return draws[:, 0], draws[:, 1]


def _strength(
    best: Peak, draws: FloatArray, profiles: Profiles, options: Resampling, labels: Labels
) -> Estimate:
    rates = profiles.yes_rates
    return bootstrap_estimate(
        "best strength",
        best.strength,
        draws,
        n=profiles.n,
        flags=first_reason(
            (profiles.n == 0, Reason.NO_ANSWERS),
            (rates == 0, Reason.NO_YES),
            (rates == 1, Reason.NO_NO),
            (best.at_edge, Reason.AT_BOUND),
        ),
        level=options.level,
        labels=labels,
        axis="target",
    )


def _fisher(line: Line, level: float) -> FloatArray:
    """Return the interval of R squared by equation (1), from 0 if the interval of r includes 0."""
    if line.n < 4 or not np.isfinite(line.r_squared):
        return np.full(2, np.nan)
    z = np.arctanh(min(np.sqrt(line.r_squared), 1.0 - 1e-12))
    half = normal_multiplier(level) / np.sqrt(line.n - 3)
    low, high = np.tanh([max(z - half, 0.0), z + half])
    return np.array([low**2, high**2])
