r"""Estimate raters' severity and discrimination, and the effect of omitting raters.

Raw mean ratings confound severity with the objects that were rated, such as answers or texts, and
carry no information about discrimination. Raters are the items of an item response model, and the
rated objects are its respondents (`likelihood`). Each rater has a severity and a discrimination.
With three or more rating categories, a rater also has a central tendency, that is, a preference
for middle ratings such as "unsure". A drift over time and a severity for each group of objects are
optional. The population of objects is normal, and the population of raters is estimated (`fit`).

Severity in logits refers to one object of average quality. Differences in the mean rating over all
objects, on the scale of the ratings, depend less on the model. If the ratings of an object remain
dependent given the object's quality, logits are biased towards zero, but differences in the mean
rating remain valid.

References
----------
Eckes, T. (2015). Introduction to many-facet Rasch measurement (2nd ed.). Peter Lang.

Linacre, J. M. (1989). Many-facet Rasch measurement. MESA Press.

Uto, M., & Ueno, M. (2020). A generalized many-facet Rasch model and its Bayesian estimation using
Hamiltonian Monte Carlo. Behaviormetrika, 47, 469-496.
https://doi.org/10.1007/s41237-020-00115-7
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, stdtrit

from psychollm._base.checks import check_count, check_fraction, check_generator
from psychollm._base.types import FloatArray, IntArray, RandomState
from psychollm.data.connected import connected
from psychollm.data.labels import Labels
from psychollm.estimates.comparisons import MaxT, max_t_of
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason, first_reason
from psychollm.estimates.roots import symmetric_root
from psychollm.reliability.raters.agreement import krippendorff_alpha
from psychollm.reliability.raters.ratings import Ratings
from psychollm.studies.rater_severity.expected import (
    Everyone,
    expected_ratings,
    group_covariates,
)
from psychollm.studies.rater_severity.fit import Fitted, fit
from psychollm.studies.rater_severity.likelihood import KAPPA, Facets
from psychollm.studies.rater_severity.panel import panel_of
from psychollm.studies.rater_severity.result import RaterSeverity
from psychollm.studies.rater_severity.table import Naming, Rated, rated_of

SLOPES = 3  # minimum number of raters for separate discriminations
METHOD = "larger standard error of information matrix and sandwich over things"


def rater_severity(
    ratings: Any,
    *,
    thing: str | None = None,
    rater: str | None = None,
    rating: str | None = None,
    time: Any = None,
    group: Any = None,
    categories: Iterable[Hashable] | None = None,
    unsure: Any = None,
    discrimination: bool = True,
    level: float = 0.95,
    n_draws: int = 2000,
    rng: RandomState = None,
) -> RaterSeverity:
    """Estimate raters' severity, and how well they discriminate between objects.

    Parameters
    ----------
    ratings : DataFrame or array_like
        A long table with one row per rating, a table objects x raters, or a list with one list of
        ratings per rater. NaN, None and empty text are missing. Ratings are numbers, yes and no,
        or (with `categories`) words; at most 11 different values are possible.
    thing, rater, rating : str, optional
        Columns of a long table with the object, the rater and the rating; by default, columns with
        known names such as "item", "judge" and "score".
    time : str or array_like (things,), optional
        Time of each rating: a column of numbers or dates, or one time per object. If times are
        given, severity may drift.
    group : str or array_like (things,), optional
        Group of each object, such as the model that wrote it. If groups are given, raters may
        differ in severity between groups.
    categories : iterable, optional
        All ratings from the lowest to the highest.
    unsure : hashable, optional
        Label of the middle rating if there are three ratings. The labels "unsure" and "tie" are
        recognised.
    discrimination : bool
        Whether raters may differ in discrimination, which requires at least three raters.
    level : float
        Coverage of the intervals.
    n_draws : int
        Number of joint draws of all raters, for differences and simultaneous intervals.
    rng : Generator, int or None
        Source of randomness.

    Returns
    -------
    RaterSeverity
        Estimates for a rater with constant ratings depend on the other raters, and are flagged.

    Raises
    ------
    LabelError
        If a column does not exist, a label is missing, or a rater rated an object twice without
        `time`.
    ShapeError
        If there are fewer than two raters or five objects.
    CodeError
        If the ratings are constant or infinite, or there are too many different values.
    OptionError
        If an option is out of range, or words have no known order.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> quality, severity = rng.normal(size=120), np.array([[-1.0], [0.0], [0.0], [1.5]])
    >>> raters = rng.random((4, 120)) < 1.0 / (1.0 + np.exp(severity - 2.0 * quality))
    >>> found = rater_severity(list(raters), rng=1)  # one list for each rater
    >>> found.difference.text(3), found.severity.text(3)
    ('-0.24 [-0.30, -0.18]', '1.44 [0.93, 1.96]')
    """
    check_fraction("level", level)
    draws = check_count("n_draws", n_draws, low=100)
    source = check_generator(rng)
    rated = rated_of(
        ratings,
        Naming(
            thing=thing, rater=rater, rating=rating, time=time, group=group,
            categories=categories, unsure=unsure,
        ),
    )  # fmt: skip
    shares = _shares(rated)
    facets, within = _facets(rated, shares, tied=not discrimination or len(rated.raters) < SLOPES)
    fitted = fit(facets, drift_of_all=within)
    fitted.convergence.warn("rater_severity")
    return _result(rated, fitted, Everyone.of(facets, shares), level, source, within=within,
                   n_draws=draws)  # fmt: skip


def _shares(rated: Rated) -> FloatArray:
    """Return the proportion of each group among the objects; (1,) without groups."""
    if rated.group is None:
        return np.ones(1)
    return np.asarray(np.bincount(rated.group) / rated.group.size)


def _facets(rated: Rated, shares: FloatArray, *, tied: bool) -> tuple[Facets, bool]:
    """Return the facets, and whether objects were rated at different times."""
    n, k = len(rated.things), len(rated.categories)
    columns = []
    if rated.group is not None:
        columns += list(group_covariates(rated.group, shares).T)
    within = False
    if rated.time is not None:
        count = np.bincount(rated.thing, minlength=n)
        mean = np.bincount(rated.thing, rated.time, n) / count
        within = bool(np.abs(rated.time - mean[rated.thing]).max() > 1e-9)
        if np.ptp(mean) > 1e-9:
            columns.append(mean - mean.mean())
    covariates = np.array(columns).T if columns else np.zeros((n, 0))
    own = np.column_stack(
        [
            rated.rater,
            np.zeros(rated.thing.size) if rated.time is None else rated.time,
            np.zeros(rated.thing.size) if rated.group is None else rated.group[rated.thing],
            covariates[rated.thing],
        ]
    )
    kinds, cell = np.unique(own, axis=0, return_inverse=True)
    steps = np.arange(k, dtype=np.float64) - (k - 1) / 2.0
    return (
        Facets(
            thing=rated.thing,
            cell=cell.ravel(),
            rating=rated.rating,
            rater=kinds[:, 0].astype(np.int64),
            time=None if rated.time is None else kinds[:, 1],
            group=None if rated.group is None else kinds[:, 2].astype(np.int64),
            covariates=kinds[:, 3:],
            n_things=n,
            n_raters=len(rated.raters),
            n_groups=len(rated.groups),
            steps=steps / 2.0 if rated.unsure else steps,
            tied=tied,
        ),
        within,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Raters:
    """Common parts of the estimates of raters."""

    fitted: Fitted
    labels: Labels
    n: FloatArray  # (R,) number of ratings
    flags: tuple[Reason, ...]
    level: float

    def spread(self, turn: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return standard errors of linear functions (m, P), and their covariance (m, m)."""
        plain = turn @ self.fitted.covariance @ turn.T
        robust = turn @ self.fitted.sandwich @ turn.T
        se = np.sqrt(np.maximum(np.diagonal(plain), np.diagonal(robust)))
        scale = se / np.sqrt(np.maximum(np.diagonal(plain), 1e-300))
        return se, plain * np.outer(scale, scale)

    def margin(self, se: FloatArray, n: FloatArray) -> FloatArray:
        """Return the margins of error of estimates with the given standard errors."""
        tail = stdtrit(np.maximum(n - 1.0, 2.0), (1.0 + self.level) / 2.0)
        return np.asarray(tail * se)

    def linear(self, name: str, value: FloatArray, turn: FloatArray) -> Estimate:
        """Return, for each rater, the estimate of one linear function of the parameters."""
        se = self.spread(turn)[0]
        margin = self.margin(se, self.n)
        return self.estimate(name, value, se, np.stack([value - margin, value + margin], axis=1))

    def estimate(
        self, name: str, value: FloatArray, se: FloatArray, interval: FloatArray
    ) -> Estimate:
        """Return an estimate with one value per rater."""
        return Estimate(
            name=name, value=value, se=se, interval=interval, n=self.n, flags=self.flags,
            method=METHOD, level=self.level, labels=self.labels, axis="rater",
        )  # fmt: skip

    def within(
        self, name: str, value: FloatArray, turn: FloatArray, bounds: FloatArray
    ) -> Estimate:
        """Return means between two bounds, with intervals inside the bounds."""
        low, high = bounds
        se = self.spread(turn)[0]
        share = np.clip((value - low) / (high - low), 1e-9, 1.0 - 1e-9)
        margin = self.margin(se / (high - low) / (share * (1.0 - share)), self.n)
        place = np.log(share / (1.0 - share))
        ends = expit(np.stack([place - margin, place + margin], axis=1))
        return self.estimate(name, value, se, low + (high - low) * ends)

    def picked(self, name: str) -> FloatArray:
        """Return the rows of the identity matrix for one kind of parameter (R, P)."""
        return np.eye(self.fitted.layout.size)[self.fitted.layout.block(name)]


def _result(
    rated: Rated,
    fitted: Fitted,
    everyone: Everyone,
    level: float,
    source: np.random.Generator,
    *,
    within: bool,
    n_draws: int,
) -> RaterSeverity:
    n_ratings = np.bincount(rated.rater, minlength=len(rated.raters)).astype(np.float64)
    flags = _flags(rated, n_ratings)
    raters = _Raters(fitted, rated.raters, n_ratings, flags, level)
    size, values = len(rated.raters), rated.values
    about = np.eye(size) - 1.0 / size
    layout, at = fitted.layout, fitted.at

    severe = about @ raters.picked("severity")
    for g, share in enumerate(_shares(rated) if rated.groups else ()):
        severe = severe + share * (about @ raters.picked(f"group {g}"))

    mean, turn = expected_ratings(everyone, layout, at, fitted.grid, values)
    bounds = values[[0, -1]]
    difference = _drawn(
        raters.linear("difference", about @ mean, about @ turn), raters.spread(about @ turn)[1],
        n_draws, source,
    )  # fmt: skip
    severity = _drawn(
        raters.linear("severity", severe @ at, severe), raters.spread(severe)[1], n_draws, source
    )
    middle = None
    if len(rated.categories) > 2:
        inner = np.ones(len(rated.categories))
        inner[[0, -1]] = 0.0
        share, moved = expected_ratings(everyone, layout, at, fitted.grid, inner)
        middle = raters.within(
            "unsure" if rated.unsure else "middle", share, moved, np.array([0.0, 1.0])
        )
    drift = None
    if rated.time is not None:
        turn = (np.eye(size) if within else about) @ raters.picked("drift")
        drift = raters.linear("drift", turn @ at, turn)
    panel = panel_of(fitted, everyone, rated.table, values, level)
    at_once = _at_once(difference, level)
    return RaterSeverity(
        severity=severity,
        difference=difference,
        rate=raters.within("mean rating", mean, turn, bounds),
        discrimination=_discrimination(raters),
        middle=middle,
        drift=drift,
        interaction=_interaction(rated, raters),
        at_once=at_once.interval,
        adjusted=at_once.single_step,
        things=Estimate(
            name="corrected rating", value=panel.value, se=panel.sd, interval=panel.interval,
            n=np.bincount(rated.thing, minlength=len(rated.things)).astype(np.float64),
            flags=(Reason.NONE,) * len(rated.things), method="posterior, raters as estimated",
            level=level, labels=rated.things, axis="thing",
        ),
        raw=np.nanmean(rated.table, axis=0),
        raw_things=np.nanmean(rated.table, axis=1),
        reliability=panel.reliability,
        reliability_without=panel.reliability_without,
        turned=panel.turned,
        turned_corrected=panel.turned_corrected,
        agreement=_agreement(rated, level, source),
        spread=dict(fitted.spread),
        categories=rated.categories,
        unsure=rated.unsure,
        drift_of_all=within,
        tied=fitted.layout.tied,
        convergence=fitted.convergence,
        labels=rated.raters,
        level=level,
    )  # fmt: skip


def _flags(rated: Rated, n: FloatArray) -> tuple[Reason, ...]:
    present = np.isfinite(rated.table).T
    apart = np.asarray(connected(np.asarray(present, dtype=np.bool_)) > 0)
    low, high = np.full(n.size, np.inf), np.full(n.size, -np.inf)
    np.minimum.at(low, rated.rater, rated.rating)
    np.maximum.at(high, rated.rater, rated.rating)
    return first_reason(
        (np.asarray(n < 2), Reason.TOO_FEW),
        (apart, Reason.UNCONNECTED),
        (np.asarray(low == high), Reason.ALIKE_RATINGS),
    )


def _drawn(
    estimate: Estimate, covariance: FloatArray, n_draws: int, source: np.random.Generator
) -> Estimate:
    """Return an estimate with joint draws of all raters."""
    noise = source.standard_normal((n_draws, estimate.value.size))
    return replace(estimate, _draws=estimate.value + noise @ symmetric_root(covariance))


def _at_once(difference: Estimate, level: float) -> MaxT:
    def deviations(places: IntArray) -> FloatArray:
        gaps = difference.draws[:, places] - difference.value[places]
        return np.asarray(gaps / difference.se[places])

    df = np.maximum(difference.n - 1.0, 2.0)
    return max_t_of(
        difference.value, difference.se, df, deviations, n_draws=len(difference.draws), level=level
    )


def _discrimination(raters: _Raters) -> Estimate:
    layout, at = raters.fitted.layout, raters.fitted.at
    u = np.broadcast_to(at[layout.block("slope")], (layout.n_raters,))
    turn = np.broadcast_to(raters.picked("slope"), (layout.n_raters, layout.size))
    se = raters.spread(np.asarray(turn))[0]
    margin = raters.margin(se, raters.n)
    ends = KAPPA * np.sinh(np.stack([u - margin, u + margin], axis=1))
    return raters.estimate("discrimination", KAPPA * np.sinh(u), KAPPA * np.cosh(u) * se, ends)


def _interaction(rated: Rated, raters: _Raters) -> Estimate | None:
    """Return rater-by-group effects without the main effects (raters x groups,)."""
    if rated.group is None:
        return None
    n, groups = len(rated.raters), len(rated.groups)
    shares = _shares(rated)
    blocks = np.array([raters.picked(f"group {g}") for g in range(groups)])  # (G, R, P)
    own = blocks - np.tensordot(shares, blocks, axes=1)
    turn = (own - own.mean(axis=1, keepdims=True)).transpose(1, 0, 2).reshape(n * groups, -1)
    value, se = turn @ raters.fitted.at, raters.spread(turn)[0]
    count = np.zeros((n, groups))
    np.add.at(count, (rated.rater, rated.group[rated.thing]), 1.0)
    margin = raters.margin(se, count.ravel())
    flags = [
        flag or (Reason.TOO_FEW if few else Reason.NONE)
        for flag, row in zip(raters.flags, count < 2, strict=True)
        for few in row
    ]
    return Estimate(
        name="interaction", value=value, se=se,
        interval=np.stack([value - margin, value + margin], axis=1), n=count.ravel(),
        flags=tuple(flags), method=METHOD, level=raters.level,
        labels=tuple((one, of) for one in rated.raters for of in rated.groups),
        axis="rater and group",
    )  # fmt: skip


def _agreement(rated: Rated, level: float, source: np.random.Generator) -> Estimate:
    """Return Krippendorff's alpha of the ratings as ordinal codes."""
    places = np.full((len(rated.things), len(rated.raters)), np.nan)
    places[rated.thing, rated.rater] = rated.rating
    known = Ratings.from_table(places, categories=range(len(rated.categories)))
    return krippendorff_alpha(known, metric="interval", bootstrap=2, level=level, rng=source)
