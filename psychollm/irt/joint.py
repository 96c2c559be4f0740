r"""Covariance matrix of the parameters of all items, and joint Wald tests.

`IRTFit.covariance` contains only the block of each item. Estimates of different items are also
correlated, because they depend on the same abilities. Hypotheses about several items need the
covariances between items. Let V be the covariance matrix of the parameters b. Wald's statistic for
contrasts C of b, with values c under the null hypothesis, is

.. math:: W = (C b - c)^\top (C V C^\top)^{-1} (C b - c) .                               \quad (1)
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import float_array
from psychollm._base.errors import OptionError, ShapeError
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.data.responses import ResponsesLike
from psychollm.irt.answers import patterns_of
from psychollm.irt.climb import at, curvature
from psychollm.irt.curvature import DENSE, DenseCurvature
from psychollm.irt.fit import codes_for
from psychollm.irt.likelihood import Problem, grid_for
from psychollm.irt.priors import ItemPopulation
from psychollm.irt.result import IRTFit

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

ALL_ITEMS = "all items"  # label of a slope that all items share


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WaldTest(Result):
    """Wald test: chi-square `statistic` with `df` degrees of freedom."""

    statistic: float
    df: int
    p_value: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class JointCovariance(Result):
    """Parameters of all items with their covariance matrix.

    Attributes
    ----------
    estimate : ndarray of shape (P,)
        Parameters on the scale of the optimisation: slope, intercept, logits of asymptotes.
    covariance : ndarray of shape (P, P)
        Covariance matrix, computed by the same method as the standard errors of the fit.
    items, parameters : tuple
        Item ("all items" for a common slope) and name of each parameter.
    """

    estimate: FloatArray  # (P,)
    covariance: FloatArray  # (P, P)
    items: tuple[Hashable, ...]  # P
    parameters: tuple[str, ...]  # P

    _AXES = Axes({"item": "items"}, "parameter=parameters", "estimate", "se")

    @property
    def se(self) -> FloatArray:
        """Standard errors (P,)."""
        return np.asarray(np.sqrt(np.diagonal(self.covariance)))

    def wald(self, contrasts: ArrayLike, value: ArrayLike = 0.0) -> WaldTest:
        """Test linear contrasts of the parameters with the Wald test of equation (1).

        Parameters
        ----------
        contrasts : array_like (k, P)
            Coefficients of k contrasts.
        value : float or array_like (k,)
            Values of the contrasts under the null hypothesis.

        Raises
        ------
        ShapeError
            If the number of columns differs from the number of parameters.
        OptionError
            If contrasts are linearly dependent.

        Examples
        --------
        >>> from psychollm.irt.fit import fit_irt
        >>> answers = np.random.default_rng(3).random((600, 5)) < [0.2, 0.4, 0.5, 0.6, 0.8]
        >>> joint = joint_covariance(fit_irt(answers, model="rasch"), answers)
        >>> equal = [[0, 0, 1, -1, 0, 0], [0, 0, 0, 1, -1, 0]]  # the middle three
        >>> joint.wald(equal).df
        2
        """
        from scipy.stats import chi2

        rows = np.atleast_2d(float_array(contrasts, "contrasts"))
        if rows.ndim != 2 or rows.shape[1] != self.estimate.size:
            msg = f"contrasts {rows.shape} must have a column for each of {self.estimate.size} "
            raise ShapeError(msg + "parameters, in the order of to_frame()")
        spread = rows @ self.covariance @ rows.T
        if np.linalg.matrix_rank(spread) < len(rows):
            msg = f"contrasts: the {len(rows)} rows are linearly dependent: omit some"
            raise OptionError(msg)
        gap = rows @ self.estimate - np.asarray(value, dtype=np.float64)
        statistic = float(gap @ np.linalg.solve(spread, gap))
        return WaldTest(
            statistic=statistic, df=len(rows), p_value=float(chi2.sf(statistic, len(rows)))
        )


def joint_covariance(fit: IRTFit, responses: ResponsesLike) -> JointCovariance:
    """Compute the covariance matrix of all item parameters, for joint tests.

    Parameters
    ----------
    fit : IRTFit
        Fit with at most 2,500 parameters and without a hierarchical prior (``priors=None`` or
        `Priors`). Parameters at a bound are omitted.
    responses : Responses or table
        The answers used in the fit.

    Returns
    -------
    JointCovariance
        Parameters of all items, with their covariance matrix.

    Raises
    ------
    OptionError
        If the matrix would be too large, or the fit has a hierarchical prior.

    Examples
    --------
    >>> from psychollm.irt.fit import fit_irt
    >>> answers = np.random.default_rng(3).random((600, 5)) < [0.2, 0.4, 0.5, 0.6, 0.8]
    >>> fit = fit_irt(answers, model="rasch")
    >>> joint_covariance(fit, answers).covariance.shape
    (6, 6)
    """
    if isinstance(fit.priors, ItemPopulation):
        msg = "fit has a hierarchical prior: refit with priors=None or Priors(...)"
        raise OptionError(msg)
    parameters = np.nan_to_num(fit.parameters[fit.estimated])
    if parameters.size > DENSE:
        msg = f"fit has {parameters.size} parameters, but the matrix is limited to {DENSE}: use "
        raise OptionError(msg + "fit.covariance, the block of each item")
    family = fit.family_of(fit.estimated)
    patterns = patterns_of(codes_for(fit, responses, fit.estimated), fit.n_categories)
    problem = Problem(family, patterns, *family.prior_arrays(fit.priors))
    grid = grid_for(family, parameters)
    point = at(problem, parameters, grid)
    matrix = cast("DenseCurvature | None", curvature(problem, point, grid))
    shown = ~point.frozen
    if family.tied:
        shown[1:, 0] = False
    if matrix is None:
        msg = "fit: the information is singular: the data do not determine all parameters"
        raise OptionError(msg)
    kept = np.flatnonzero(shown)
    labels = [label for label, own in zip(fit.labels, fit.estimated, strict=True) if own]
    return JointCovariance(
        estimate=point.parameters[shown],
        covariance=matrix.full(fit.standard_errors)[np.ix_(kept, kept)],
        items=tuple(
            ALL_ITEMS if family.tied and not k else labels[j] for j, k in np.argwhere(shown)
        ),
        parameters=tuple(family.names[k] for _, k in np.argwhere(shown)),
    )
