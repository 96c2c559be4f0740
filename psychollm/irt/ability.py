r"""Abilities of respondents given fitted items.

* EAP: mean and standard deviation of the posterior, on the nodes of the fit's quadrature.
* MAP: mode of the posterior.
  The standard error of the mode is computed from the sum of the observed information and the
  prior's information, which is 1.
* ML: mode of the likelihood; the mode is infinite if all answers are yes or all answers are no.
* WLE: Warm's weighted likelihood estimate, which is finite for perfect and zero scores.
  The WLE is the root of :math:`l'(\theta) + J/(2I)` with
  :math:`J = \sum_j \sum_c P_{jc}' P_{jc}'' / P_{jc}`. With n items, the WLE has a bias of order
  1/n^2, whereas the bias of ML is of order 1/n.

All methods handle binary and polytomous items.

Rasch abilities are on the scale on which all slopes are 1, and the fit estimates the SD of
abilities on this scale.

References
----------
Warm, T. A. (1989). Weighted likelihood estimation of ability in item response theory.
Psychometrika, 54(3), 427-450. https://doi.org/10.1007/BF02294627
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice
from psychollm._base.result import Result, drawn_by
from psychollm._base.types import AnyArray, BoolArray, FloatArray, IntArray
from psychollm.data.labels import Labels
from psychollm.data.responses import ResponsesLike, as_responses
from psychollm.estimates.reasons import Reason
from psychollm.irt.answers import Patterns, patterns_of
from psychollm.irt.families import Family
from psychollm.irt.fit import codes_for
from psychollm.irt.likelihood import Problem, grid_for, posteriors
from psychollm.irt.one_ability import averaged_problem
from psychollm.irt.priors import ItemPopulation
from psychollm.irt.result import IRTFit
from psychollm.irt.scoring import AbilitySlope, ability_slope, blocks

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Drawn


Method = Literal["eap", "map", "ml", "wle"]

FURTHEST = 15.0  # a larger mode counts as infinite
STEPS = 100
PRECISION = 1e-10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Abilities(Result):
    """Abilities of respondents with standard errors.

    Attributes
    ----------
    ability, se : ndarray of shape (respondents,)
        Estimates and standard errors (posterior SDs for EAP); NaN for respondents without an
        estimate.
    method : str
        Method of estimation.
    reliability : float
        Reliability of the estimates: var / (var + mean se^2).
    reasons : tuple of Reason
        Reason for each respondent without an estimate.
    labels : tuple
        Names of the respondents.
    """

    ability: FloatArray  # (N,)
    se: FloatArray  # (N,)
    method: Method
    reliability: float
    reasons: tuple[Reason, ...]  # N
    labels: Labels  # N

    _AXES = Axes({"respondent": "labels"}, "ability", "se", "reason=reasons")

    def plot(self, *, level: float = 0.95, ax: Drawn | None = None) -> Drawn:
        """Draw abilities and intervals with `psychollm.plots.plot_abilities`.

        Parameters
        ----------
        level : float
            Coverage of the intervals, between 0 and 1.
        ax : Axes, optional
            Axes to draw on; by default a new figure.
        """
        return drawn_by("plot_abilities")(self, level=level, ax=ax)


def ability(
    fit: IRTFit,
    responses: ResponsesLike,
    *,
    method: Method = "eap",
    n_jobs: int | None = None,
) -> Abilities:
    """Estimate abilities from answers to fitted items.

    EAP estimates and standard errors average over the estimation error of the items. If `fit_irt`
    was called with ``families=``, item estimates are less precise, and `ability` accounts for the
    lower precision.

    Parameters
    ----------
    fit : IRTFit
        Fitted items; items without estimates are ignored.
    responses : Responses, Scan or table
        Answers to the same items, oriented like the fitted table; the respondents may be new.
        Scans and sparse tables allow EAP only.
    method : {"eap", "map", "ml", "wle"}
        Posterior mean (EAP), posterior mode (MAP), maximum likelihood, or Warm's weighted
        likelihood.
    n_jobs : int, optional
        Number of threads that read a scan or sparse table; -1 uses all processors. None means one
        thread, or the setting of ``joblib.parallel_config``.

    Returns
    -------
    Abilities
        Abilities with standard errors; NaN with a reason where undefined.

    Raises
    ------
    ShapeError
        If the items differ from the items of the fit.

    Examples
    --------
    >>> from psychollm.irt.fit import fit_irt
    >>> answers = np.random.default_rng(3).random((600, 5)) < [0.2, 0.4, 0.5, 0.6, 0.8]
    >>> ability(fit_irt(answers, model="rasch"), answers).ability.shape
    (600,)
    """
    check_choice("method", method, Method)
    table = as_responses(responses, needs="cells")
    if table.is_sparse:
        from psychollm.irt.streamed.abilities import posterior_means

        value, se, reasons, labels = posterior_means(fit, table, method, n_jobs)
        answered = np.array([not reason for reason in reasons])
        value, se = (np.where(answered, part * fit.ability_sd, np.nan) for part in (value, se))
        return Abilities(
            ability=value,
            se=se,
            method=method,
            reliability=reliability(value, se),
            reasons=reasons,
            labels=labels,
        )
    items = (fit.estimated if method in ("eap", "map") else fit.fitted).copy()
    codes = codes_for(fit, responses, items)
    asked = (codes >= 0).any(axis=0)
    if asked.any():
        items[items], codes = asked, codes[:, asked]
    family = fit.family_of(items)
    patterns = patterns_of(codes, fit.n_categories)
    if method == "eap":
        value, se = _posterior_means(fit, items, family, patterns)
    else:
        value, se = modes(method, family, fit.parameters[items], patterns.codes)
    labels = table.models if fit.respondents == "models" else table.questions
    return abilities_of(patterns, method, (value, se), labels, unit=fit.ability_sd)


def abilities_of(
    patterns: Patterns,
    method: Method,
    estimates: tuple[FloatArray, FloatArray],
    labels: Labels,
    *,
    unit: float = 1.0,
) -> Abilities:
    """Return all respondents' abilities from estimates and standard errors of answer patterns."""
    reasons = why_none(method, patterns.codes, estimates[0], patterns.n_categories)
    undefined = np.array([bool(reason) for reason in reasons])
    everyone = patterns.of_respondent
    value, se = (np.where(undefined, np.nan, part * unit)[everyone] for part in estimates)
    return Abilities(
        ability=value,
        se=se,
        method=method,
        reliability=reliability(value, se),
        reasons=tuple(reasons[everyone]),
        labels=labels,
    )


def reliability(value: FloatArray, se: FloatArray) -> float:
    """Return var / (var + mean squared error) of the respondents with a defined error."""
    use = np.isfinite(value) & np.isfinite(se)
    if use.sum() < 2:
        return float("nan")
    variance = float(value[use].var(ddof=1))
    return variance / (variance + float((se[use] ** 2).mean()))


def _posterior_means(
    fit: IRTFit, items: BoolArray, family: Family, patterns: Patterns
) -> tuple[FloatArray, FloatArray]:
    """Return posterior means and standard deviations for each answer pattern."""
    # With a hierarchical prior, average over the uncertainty of the items.
    parameters = np.nan_to_num(fit.parameters[items])
    grid = grid_for(family, parameters)
    nothing = np.zeros(parameters.shape[1])
    problem = Problem(family, patterns, nothing, nothing)
    variances = np.einsum("jpp->jp", fit.covariance[items])
    if isinstance(fit.priors, ItemPopulation) and np.isfinite(variances).any(axis=1).all():
        points = family.points(parameters, fit.covariance[items])
        problem = averaged_problem(family, points, patterns)
    mean, sd = np.empty(patterns.frequency.size), np.empty(patterns.frequency.size)
    for block, posterior, _ in posteriors(problem, parameters, grid):
        mean[block] = posterior @ grid.nodes
        gap = grid.nodes - mean[block, None]
        sd[block] = np.sqrt(np.einsum("uq,uq->u", posterior, gap**2))
    return mean, sd


def modes(
    method: Method, family: Family, parameters: FloatArray, codes: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return modes and standard errors for each answer pattern, for "map", "ml" or "wle"."""
    value, se = np.zeros(codes.shape[0]), np.zeros(codes.shape[0])
    for block in blocks(codes.shape[0], parameters.shape[0] * (family.n_categories - 1)):
        value[block] = _roots(method, family, parameters, codes[block])
        there = ability_slope(family, parameters, value[block], codes[block])
        if method == "map":
            information = there.observed + 1.0
        else:
            information = there.observed if method == "ml" else there.information
        with np.errstate(divide="ignore", invalid="ignore"):
            se[block] = 1.0 / np.sqrt(information)
    return value, se


def _target(method: Method, at: AbilitySlope, value: FloatArray) -> FloatArray:
    """Return the estimating function, whose root is the ability."""
    if method == "map":
        return np.asarray(at.gradient - value)
    if method == "wle":
        safe = np.maximum(at.information, 1e-300)
        return np.asarray(at.gradient + 0.5 * at.skew / safe)
    return at.gradient


def _roots(method: Method, family: Family, parameters: FloatArray, codes: IntArray) -> FloatArray:
    """Find the roots by scoring steps that are kept inside a shrinking bracket."""
    n = codes.shape[0]
    value, low, high = np.zeros(n), np.full(n, -FURTHEST), np.full(n, FURTHEST)
    for _ in range(STEPS):
        at = ability_slope(family, parameters, value, codes)
        height = _target(method, at, value)
        low, high = np.where(height > 0.0, value, low), np.where(height > 0.0, high, value)
        scale = at.information + (1.0 if method == "map" else 1e-300)
        proposed = value + np.clip(height / scale, -1.0, 1.0)
        outside = (proposed <= low) | (proposed >= high)
        moved = np.where(outside, 0.5 * (low + high), proposed)
        done = np.abs(moved - value).max(initial=0.0) <= PRECISION
        value = moved
        if done:
            break
    return value


def why_none(
    method: Method, codes: IntArray, value: FloatArray, n_categories: int = 2
) -> AnyArray:
    """Return for each answer pattern the reason why it has no estimate."""
    answered = codes >= 0
    reasons = np.array([Reason.NONE] * codes.shape[0], dtype=object)
    if method in ("ml", "wle"):
        left = np.abs(value) > FURTHEST - 1.0
        reasons[left] = Reason.UNBOUNDED
        if n_categories == 2:
            reasons[left & ((codes == 1) | ~answered).all(axis=1)] = Reason.NO_NO
            reasons[left & ((codes == 0) | ~answered).all(axis=1)] = Reason.NO_YES
    reasons[~answered.any(axis=1)] = Reason.UNSCORED
    return reasons
