"""Result of a fit on several abilities, and its rotation.

Rotation does not change the likelihood or the communalities. Loadings are rotated; slopes and
abilities are transformed accordingly. Standard errors are computed from central differences of the
rotated solution with respect to the triangular solution. Before a difference is computed, the axes
of the two rotated solutions are matched.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np

from psychollm._base.axes import Axes, Interleaved
from psychollm._base.convergence import Convergence
from psychollm._base.errors import OptionError
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray
from psychollm.data.expected import Expects
from psychollm.data.labels import Labels, listed
from psychollm.estimates.reasons import Reason
from psychollm.irt.answers import Respondents, spread
from psychollm.irt.families import Link
from psychollm.irt.multidimensional.curvature import errors_of_functions
from psychollm.irt.multidimensional.problem import pairs
from psychollm.irt.multidimensional.scale import standardised
from psychollm.irt.priors import ItemPopulation, Priors, spread_in_words

Form: TypeAlias = Literal["exploratory", "confirmatory"]
Integration: TypeAlias = Literal["quadrature", "quasi_random"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MultidimensionalIRT(Expects, Result):
    r"""Multidimensional 2PL fitted by marginal maximum likelihood.

    P(yes) = F(slopes . abilities + intercept). Abilities are normal with mean 0, SD 1 and
    correlations `factor_correlation`.

    Attributes
    ----------
    slopes, se_slopes : ndarray of shape (items, m)
        Slopes and their standard errors; where a loading is fixed at zero, the slope is 0 and the
        standard error is NaN. Values are NaN for items that could not be fitted, with an entry in
        `reasons`.
    intercepts, se_intercepts : ndarray of shape (items,)
        Intercepts and their standard errors.
    factor_correlation, se_factor_correlation : ndarray of shape (m, m)
        Correlations of the abilities; standard errors are NaN if not estimated.
    loadings, se_loadings : ndarray of shape (items, m)
        Factor loadings a / sqrt(D^2 + a' Phi a), where D is 1.7 for the logit and 1 for the probit
        link.
    thresholds : ndarray of shape (items,)
        Thresholds -d / sqrt(D^2 + a' Phi a).
    form : {"exploratory", "confirmatory"}
        Whether all items load on all abilities.
    rotation : str
        Name of the rotation criterion, or "none" for a confirmatory fit. "echelon" is the
        unrotated fit, in which pivot item k loads only on the first k abilities.
    pivots : tuple
        Labels of the m pivot items; empty if there are none.
    log_likelihood, aic, bic : float
        Marginal log-likelihood without priors, with AIC and BIC.
    gradient : float
        Largest derivative of the objective at the solution.
    n_parameters, n_respondents, n_patterns, n_nodes : int
        Numbers of parameters, respondents, distinct answer patterns, and quadrature nodes per
        pattern.
    integration : {"quadrature", "quasi_random"}
        Method of integration over abilities.
    integration_error : float
        Largest change of a parameter under another integration rule, in units of its standard
        error.
    posterior_sd : float
        SD of abilities implied by their posteriors (root mean square over abilities), ideally 1.
        Values far from 1 mean that fixed priors distort the scale.
    priors : Priors or ItemPopulation
        Priors of slopes and intercepts.
    correlation_prior : float
        Exponent of the prior on the determinant of the ability correlations; 0 means no prior.
    parameters : ndarray of shape (items, m + 1)
        Slopes and intercepts, including parameters at a bound.
    reasons : tuple of Reason
        Reason for each item without an estimate.
    labels, respondent_labels, dimensions : tuple
        Names of items, respondents and abilities.
    convergence : Convergence
        Convergence status; `objective` includes the priors.
    """

    slopes: FloatArray  # (J, m)
    intercepts: FloatArray  # (J,)
    factor_correlation: FloatArray  # (m, m)
    se_slopes: FloatArray  # (J, m)
    se_intercepts: FloatArray  # (J,)
    se_factor_correlation: FloatArray  # (m, m)
    loadings: FloatArray  # (J, m)
    se_loadings: FloatArray  # (J, m)
    thresholds: FloatArray  # (J,)
    form: Form
    rotation: str
    link: Link
    respondents: Respondents
    pivots: Labels  # m or none
    log_likelihood: float
    aic: float
    bic: float
    gradient: float
    n_parameters: int
    n_respondents: int
    n_patterns: int
    n_nodes: int
    integration: Integration
    integration_error: float
    posterior_sd: float
    priors: Priors | ItemPopulation
    correlation_prior: float
    parameters: FloatArray  # (J, m + 1)
    reasons: tuple[Reason, ...]  # J
    labels: Labels  # J
    respondent_labels: Labels  # N
    dimensions: tuple[str, ...]  # m
    convergence: Convergence
    _covariance: FloatArray  # (P, P) of the echelon or confirmatory parameters, or (0, 0)
    _echelon: FloatArray  # (J', m + 1) fitted items before rotation
    _blocks: FloatArray  # (J', m + 1, m + 1) covariances of each fitted item

    _EXPECTED = ("irt.predict", "of_several_abilities")
    _AXES = Axes(
        {"item": "labels"},
        Interleaved("slope_{dimension}=slopes", "se_slope_{dimension}=se_slopes"),
        "intercept=intercepts",
        "se_intercept=se_intercepts",
        Interleaved("loading_{dimension}=loadings", "se_loading_{dimension}=se_loadings"),
        "communality=communalities",
        "reason=reasons",
        labels={"dimension": "dimensions"},
    )

    @property
    def scale(self) -> Literal["population", "respondents"]:
        """Reference of the scale: "population", or "respondents" with a hierarchical prior."""
        return "respondents" if isinstance(self.priors, ItemPopulation) else "population"

    @property
    def fitted(self) -> BoolArray:
        """Mask of the items with estimates (items,)."""
        return np.asarray(np.isfinite(self.parameters).all(axis=1), dtype=np.bool_)

    @property
    def communalities(self) -> FloatArray:
        """Proportion of each item's latent variance that the abilities explain (items,)."""
        explained = np.einsum("jk,kl,jl->j", self.loadings, self.factor_correlation, self.loadings)
        return np.asarray(explained, dtype=np.float64)

    @property
    def discrimination(self) -> FloatArray:
        """Slope in the direction of the item, sqrt(a' Phi a) (items,)."""
        squares = np.einsum("jk,kl,jl->j", self.slopes, self.factor_correlation, self.slopes)
        return np.asarray(np.sqrt(squares), dtype=np.float64)

    @property
    def difficulty(self) -> FloatArray:
        """Distance in the item's direction at which P = 1/2 (-intercept / discrimination)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found = -self.intercepts / self.discrimination
        return np.where(self.discrimination > 0.0, found, np.nan)

    def rotated(self, by: Callable[[FloatArray], Any]) -> MultidimensionalIRT:
        """Return a rotated exploratory fit with its standard errors.

        Parameters
        ----------
        by : callable
            Function of loadings (items, m) that returns an object with a `transformation` T; new
            loadings are the old loadings times inv(T).T. Examples: `psychollm.factor.rotate`, or
            ``functools.partial(rotate, method="geomin")``.

        Raises
        ------
        OptionError
            If the fit is confirmatory or has a single ability.

        Examples
        --------
        >>> from psychollm.factor.exploratory.rotate import rotate
        >>> from psychollm.irt.multidimensional.fit import fit_multidimensional
        >>> rng = np.random.default_rng(0)
        >>> z = np.repeat(rng.normal(size=(900, 2)), 4, axis=1) * 1.5
        >>> fit = fit_multidimensional(rng.random(z.shape) < 1 / (1 + np.exp(-z)), 2)
        >>> turned = fit.rotated(rotate)
        >>> turned.rotation, turned.log_likelihood == fit.log_likelihood
        ('oblimin', True)
        """
        return rotated(self, by)

    def summary(self) -> str:
        """Describe the fit in sentences."""
        kind = "questions" if self.respondents == "models" else "models"
        m = len(self.dimensions)
        rule = "adaptive quadrature" if self.integration == "quadrature" else "quasi-random points"
        prior = f"{self.priors}"
        if self.correlation_prior:
            prior += f", correlations ~ |Phi|^{self.correlation_prior:g}"
        lines = [
            f"2PL with {self.link} link on {m} abilit{'y' if m == 1 else 'ies'} ({self.form}, "
            f"rotation {self.rotation}): {self.n_respondents} {self.respondents} as respondents, "
            f"{len(self.labels)} {kind} as items.",
            f"Log-likelihood {self.log_likelihood:.2f}, {self.n_parameters} parameters, "
            f"AIC {self.aic:.1f}, BIC {self.bic:.1f}.",
            f"Priors: {prior}.",
            f"{self.n_nodes} nodes for each of {self.n_patterns} patterns ({rule}); the "
            f"integration error is at most {self.integration_error:.1g} standard errors.",
            f"Optimisation: {self.convergence.reason} after {self.convergence.iterations} "
            f"iterations, gradient {self.gradient:.1e}.",
        ]
        if m > 1:
            k, i = np.tril_indices(m, -1)
            texts = [
                f"{self.dimensions[a]} with {self.dimensions[b]} "
                f"{self.factor_correlation[a, b]:.2f}"
                for a, b in zip(k, i, strict=True)
            ]
            lines.append(f"Correlations of abilities: {', '.join(texts)}.")
        running = [
            label
            for label, reason in zip(self.labels, self.reasons, strict=True)
            if reason == Reason.UNBOUNDED
        ]
        if running:
            lines.append(f"Heywood cases (slopes without a finite estimate): {listed(running)}.")
        whose = (
            f"these {self.n_respondents}" if self.scale == "respondents" else "the population of"
        )
        lines.append(
            f"Abilities of {whose} {self.respondents} have mean 0 and SD 1; "
            + spread_in_words(
                self.posterior_sd, self.priors, " and loadings on at most 3 abilities"
            )
        )
        if isinstance(self.priors, ItemPopulation):
            lines += self.priors.cautions(self.n_respondents)
        rest = sum(reason is Reason.PRIOR_ALONE for reason in self.reasons)
        if rest:
            lines.append(
                f"{rest} of {len(self.labels)} {kind} without variance depend on the prior alone."
            )
        left = int((~self.fitted).sum())
        if left:
            lines.append(f"{left} of {len(self.labels)} {kind} have no estimates: see `reasons`.")
        return "\n".join(lines)


SPACING = 1e-4
Rotator = Callable[[FloatArray], Any]


def rotated(fit: MultidimensionalIRT, by: Rotator) -> MultidimensionalIRT:
    """Return the fit with loadings rotated by the function `by`."""
    m = len(fit.dimensions)
    if fit.form != "exploratory" or m == 1:
        msg = (
            f"this fit is {fit.form} with {m} abilit{'y' if m == 1 else 'ies'}: only exploratory "
            "fits with two or more abilities can be rotated"
        )
        raise OptionError(msg)
    table, identity = fit._echelon, np.eye(m)
    found = by(standardised(table, identity, fit.link)[0])
    turn = np.array(found.transformation, dtype=np.float64)
    new, correlation = _turned(table, turn)
    shown = np.where(np.isnan(fit.slopes[fit.fitted]), np.nan, 1.0)
    loadings, _ = standardised(new, correlation, fit.link)
    errors = _errors(fit, by, turn)
    keep = fit.fitted
    return replace(
        fit,
        slopes=spread(new[:, :-1] * shown, keep),
        factor_correlation=correlation,
        loadings=spread(loadings * shown, keep),
        se_slopes=spread(errors[0] * shown, keep),
        se_loadings=spread(errors[1] * shown, keep),
        se_factor_correlation=errors[2],
        parameters=spread(new, keep),
        rotation=str(getattr(found, "method", "rotated")),
    )


def _turned(table: FloatArray, turn: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return slopes and intercepts on new axes, and the correlations of these axes."""
    new = table.copy()
    new[:, :-1] = table[:, :-1] @ np.linalg.inv(turn).T
    correlation = turn.T @ turn
    np.fill_diagonal(correlation, 1.0)
    return new, correlation


def _matched(turn: FloatArray, model: FloatArray) -> FloatArray:
    """Return a transformation whose columns have the order and signs of another transformation."""
    likeness = model.T @ turn
    order, signs = np.empty(len(turn), dtype=np.int64), np.empty(len(turn))
    left = np.abs(likeness)
    for _ in range(len(turn)):
        row, column = np.unravel_index(int(left.argmax()), left.shape)
        order[row], signs[row] = column, 1.0 if likeness[row, column] > 0.0 else -1.0
        left[row], left[:, column] = -1.0, -1.0
    return turn[:, order] * signs


def _errors(
    fit: MultidimensionalIRT, by: Rotator, turn: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return standard errors of slopes (J, m), loadings (J, m), correlations (m, m)."""
    table, m = fit._echelon, turn.shape[0]
    shape, errors = (table.shape[0], m), np.full((m, m), np.nan)
    if not fit._covariance.size:
        return np.full(shape, np.nan), np.full(shape, np.nan), errors
    free = ~np.isnan(np.diagonal(fit._covariance))
    free[m :: m + 1] = False  # intercepts do not change
    one_start = {"n_starts": 1} if "n_starts" in inspect.signature(by).parameters else {}
    finder: Rotator = partial(by, **one_start)
    near = _nearest_rotation(turn)

    def outcome(values: FloatArray) -> FloatArray:
        loadings, _ = standardised(values, np.eye(m), fit.link)
        # Start at the final axes, so that a single start finds the same minimum.
        here = near @ np.array(finder(loadings @ near).transformation)
        new, correlation = _turned(values, _matched(here, turn))
        scaled, _ = standardised(new, correlation, fit.link)
        return np.concatenate([new[:, :-1].ravel(), scaled.ravel(), correlation[pairs(m)]])

    columns = []
    for place in np.flatnonzero(free):
        step = np.zeros(table.size)
        step[place] = SPACING
        ends = [outcome(table + sign * step.reshape(table.shape)) for sign in (1.0, -1.0)]
        columns.append((ends[0] - ends[1]) / (2.0 * SPACING))
    found = errors_of_functions(np.stack(columns, axis=1), fit._covariance, free)
    size = table.shape[0] * m
    errors[pairs(m)] = found[2 * size :]
    errors[pairs(m)[::-1]] = found[2 * size :]
    return found[:size].reshape(shape), found[size : 2 * size].reshape(shape), errors


def _nearest_rotation(turn: FloatArray) -> FloatArray:
    """Return the orthogonal matrix nearest to a transformation."""
    left, _, right = np.linalg.svd(turn)
    return np.asarray(left @ right, dtype=np.float64)
