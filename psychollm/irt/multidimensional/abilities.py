"""Estimation of several abilities of each respondent, and test information about abilities.

Abilities are posterior means (EAP) with posterior covariances, computed with the quadrature rule
of the fit. At abilities theta, an item with slopes a has the information matrix w a a' with w =
P'^2 / (P (1 - P)). An item therefore carries information only about the direction of its slopes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.axes import Axes, Interleaved
from psychollm._base.checks import float_array
from psychollm._base.errors import OptionError, ShapeError
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.data.labels import Labels
from psychollm.data.responses import ResponsesLike, as_responses
from psychollm.estimates.reasons import Reason
from psychollm.irt.answers import answers_to, patterns_of
from psychollm.irt.multidimensional.climb import LEAST_NODES, POINTS
from psychollm.irt.multidimensional.population import SeveralAbilities, settled_points
from psychollm.irt.multidimensional.problem import Place, at, make_problem
from psychollm.irt.multidimensional.result import MultidimensionalIRT
from psychollm.irt.priors import ItemPopulation
from psychollm.kernels.adaptive_rules import Rule, product_rule, quasi_random_rule
from psychollm.kernels.response_models import distribution

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


NODES = {1: 61, 2: 21, 3: 15}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MultidimensionalAbilities(Result):
    """Posterior means and SDs of several abilities.

    Attributes
    ----------
    ability, se : ndarray of shape (respondents, m)
        Posterior means and SDs of the abilities; NaN with a reason for respondents without
        answers.
    covariance : ndarray of shape (respondents, m, m)
        Posterior covariances.
    reliability : ndarray of shape (m,)
        Reliability of each ability: var / (var + mean se^2).
    reasons : tuple of Reason
        Reason for each respondent without an estimate.
    labels, dimensions : tuple
        Names of respondents and abilities.
    """

    ability: FloatArray  # (N, m)
    se: FloatArray  # (N, m)
    covariance: FloatArray  # (N, m, m)
    reliability: FloatArray  # (m,)
    reasons: tuple[Reason, ...]  # N
    labels: Labels  # N
    dimensions: tuple[str, ...]  # m

    _AXES = Axes(
        {"respondent": "labels"},
        Interleaved("{dimension}=ability", "se_{dimension}=se"),
        "reason=reasons",
        labels={"dimension": "dimensions", "other": "dimensions"},
        arrays={
            "respondent dimension": "ability se",
            "respondent dimension other": "covariance",
            "dimension": "reliability",
        },
    )


def multidimensional_ability(
    fit: MultidimensionalIRT, responses: ResponsesLike
) -> MultidimensionalAbilities:
    """Estimate several abilities from answers to fitted items.

    Parameters
    ----------
    fit : MultidimensionalIRT
        Fitted items; items without estimates are ignored.
    responses : Responses or table
        Answers to the same items, oriented like the fitted table; respondents may differ.

    Returns
    -------
    MultidimensionalAbilities
        Posterior means, SDs and covariances of the abilities.

    Raises
    ------
    ShapeError
        If the items differ from the items of the fit.

    Examples
    --------
    >>> from psychollm.irt.multidimensional.fit import fit_multidimensional
    >>> rng = np.random.default_rng(3)
    >>> chance = 1 / (1 + np.exp(-1.5 * np.repeat(rng.normal(size=(600, 2)), 3, axis=1)))
    >>> answers = rng.random((600, 6)) < chance
    >>> fit = fit_multidimensional(answers, np.repeat(np.eye(2), 3, axis=0))
    >>> multidimensional_ability(fit, answers).covariance.shape
    (600, 2, 2)
    """
    codes, labels = _codes(fit, responses)
    patterns = patterns_of(codes, 2)
    m, items = len(fit.dimensions), codes.shape[1]
    problem = make_problem(
        patterns,
        np.ones((items, m + 1), dtype=np.bool_),
        fit.link,
        exploratory=False,
        correlated=False,
        means=np.zeros(m + 1),
        precisions=np.zeros(m + 1),
    )
    rows = patterns.frequency.size
    place = Place(fit.parameters[fit.fitted].copy(), fit.factor_correlation.copy())
    point = at(problem, place, rule_for(m, rows), np.zeros((rows, m)))
    if isinstance(fit.priors, ItemPopulation):  # average over the uncertainty of the items
        abilities = SeveralAbilities(
            patterns, fit.link, place.correlation, point.modes, correlated=False
        )
        points = settled_points(place.table, fit._blocks)
        averaged = abilities.posterior(points, place.table)[0]
        point = replace(point, mean=averaged.mean, covariance=averaged.covariance)
    everyone = patterns.of_respondent
    silent: BoolArray = np.asarray((patterns.codes < 0).all(axis=1), dtype=np.bool_)
    mean = np.where(silent[:, None], np.nan, point.mean)[everyone]
    covariance = np.where(silent[:, None, None], np.nan, point.covariance)[everyone]
    se = np.sqrt(np.einsum("nkk->nk", covariance))
    with np.errstate(invalid="ignore", divide="ignore"):
        answered = ~silent[everyone] | silent.all()
        variance = mean[answered].var(axis=0)
        reliability = variance / (variance + (se[answered] ** 2).mean(axis=0))
    return MultidimensionalAbilities(
        ability=mean,
        se=se,
        covariance=covariance,
        reliability=reliability,
        reasons=tuple(Reason.UNSCORED if gone else Reason.NONE for gone in silent[everyone]),
        labels=labels,
        dimensions=fit.dimensions,
    )


def rule_for(dimensions: int, patterns: int) -> Rule:
    """Return the integration rule for abilities."""
    if dimensions in NODES:
        return product_rule(NODES[dimensions], dimensions)
    points = max(POINTS, 2 * (LEAST_NODES // (2 * patterns)))
    return quasi_random_rule(points, dimensions, patterns)


def _codes(fit: MultidimensionalIRT, responses: ResponsesLike) -> tuple[IntArray, Labels]:
    """Return codes of fitted items and names of respondents, oriented as in the fit."""
    as_responses(responses, binary=True)
    answers = answers_to(responses, fit.labels, fit.respondents)
    return np.ascontiguousarray(answers.codes[:, fit.fitted]), answers.respondents


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MultidimensionalInformation(Result):
    """Item and test information about several abilities."""

    at: FloatArray  # (n, m) abilities
    items: FloatArray  # (n, J) information along an item's slopes; NaN if not fitted
    matrix: FloatArray  # (n, m, m) information of the whole test
    labels: Labels  # J
    dimensions: tuple[str, ...]  # m

    _AXES = Axes(
        labels={"item": "labels", "dimension": "dimensions", "other": "dimensions"},
        arrays={
            "place dimension": "at",
            "place item": "items",
            "place dimension other": "matrix",
        },
    )

    @property
    def se(self) -> FloatArray:
        """Standard errors of abilities without the prior (n, m); NaN where undefined."""
        found = np.full(self.at.shape, np.nan)
        for row, matrix in zip(found, self.matrix, strict=True):
            if np.linalg.matrix_rank(matrix) == len(matrix):
                row[:] = np.sqrt(np.diagonal(np.linalg.inv(matrix)))
        return found


def multidimensional_information(
    fit: MultidimensionalIRT, at: ArrayLike
) -> MultidimensionalInformation:
    """Compute item and test information at given abilities.

    Parameters
    ----------
    fit : MultidimensionalIRT
        Fitted items.
    at : array_like (n, m)
        Abilities, one column per dimension.

    Returns
    -------
    MultidimensionalInformation
        Information of each item and of the test.

    Raises
    ------
    ShapeError
        If the number of columns of `at` differs from the number of abilities.

    Examples
    --------
    >>> from psychollm.irt.multidimensional.fit import fit_multidimensional
    >>> rng = np.random.default_rng(3)
    >>> chance = 1 / (1 + np.exp(-1.5 * np.repeat(rng.normal(size=(600, 2)), 3, axis=1)))
    >>> answers = rng.random((600, 6)) < chance
    >>> fit = fit_multidimensional(answers, np.repeat(np.eye(2), 3, axis=0))
    >>> multidimensional_information(fit, [[0.0, 0.0]]).matrix.shape
    (1, 2, 2)
    """
    places = float_array(at, "at")
    m = len(fit.dimensions)
    if places.ndim != 2 or places.shape[1] != m:
        msg = f"at must have one column for each of {m} abilities, got shape {places.shape}"
        raise ShapeError(msg)
    if not np.isfinite(places).all():
        msg = f"at={places.tolist()!r:.80} must be finite"
        raise OptionError(msg)
    table = fit.parameters[fit.fitted]
    lower, upper, density, _ = distribution(places @ table[:, :-1].T + table[:, -1], fit.link)
    weight = density**2 / np.maximum(lower * upper, 1e-300)
    slopes = table[:, :-1]
    items = np.full((len(places), len(fit.labels)), np.nan)
    items[:, fit.fitted] = weight * (slopes**2).sum(axis=1)
    return MultidimensionalInformation(
        at=places,
        items=items,
        matrix=np.einsum("nj,jk,jl->nkl", weight, slopes, slopes),
        labels=fit.labels,
        dimensions=fit.dimensions,
    )
