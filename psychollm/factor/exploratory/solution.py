"""`FactorSolution`: rotated factor solution with fit and convergence status."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.convergence import Convergence
from psychollm._base.numbers import percent
from psychollm._base.result import Result, drawn_by
from psychollm._base.types import BoolArray, FloatArray
from psychollm.data.expected import Expects
from psychollm.data.labels import listed
from psychollm.factor.exploratory.rotate import check_order, hofmann_complexity, permuted_fields
from psychollm.factor.fit import FactorFit

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Drawn


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class FactorSolution(Expects, Result):
    """Exploratory factor solution of a correlation matrix.

    Attributes
    ----------
    loadings : ndarray of shape (k, m)
        Pattern loadings: weights of the factors in each variable.
    factor_correlation : ndarray of shape (m, m)
        Correlations of the factors, in the order of the columns of `loadings`.
    uniquenesses, communalities : ndarray of shape (k,)
        Unique and common variance, which add up to one. Except with ``method="minimum_rank"``, the
        factors explain all common variance.
    variance_explained : ndarray of shape (m,)
        Variance explained by each factor, summed over variables. Variance shared by correlated
        factors is divided between them.
    explained_common_variance : float
        Proportion of common variance that the factors explain. The proportion is 1, except with
        ``method="minimum_rank"``, where eigenvalues after the first m remain unexplained.
    objective : float
        Value of the discrepancy function at the optimum.
    gradient : float
        Largest component of the gradient, over parameters that are not at a bound.
    heywood : ndarray of shape (k,)
        Whether the uniqueness of a variable is at or below its bound (a Heywood case).
    degrees_of_freedom : int
        Number of correlations minus number of free parameters.
    extraction_minima, rotation_minima : int
        Number of distinct local minima of the discrepancy and of the rotation criterion. The
        solution is the lowest minimum. Principal axes have a single start.
    transformation : ndarray of shape (m, m)
        Transformation matrix T; the loadings are the unrotated loadings times inv(T).T.
    method, rotation : str
        Methods of extraction and rotation.
    n : float
        Number of observations; NaN if unknown.
    shrinkage : float
        Weight of the identity matrix that was added to make the matrix positive definite.
    adjusted_pairs : int
        Number of correlations with a continuity correction, which biases correlations and
        loadings.
    fit : FactorFit
        Fit indices: chi-square, RMSEA, CFI, TLI, SRMR and BIC.
    labels, factors : tuple
        Names of the k variables and the m factors.
    convergence, rotation_convergence : Convergence
        Convergence status of extraction and rotation.

    Examples
    --------
    >>> from psychollm.factor.exploratory.factor_analysis import factor_analysis
    >>> R = np.kron(np.array([[0.64, 0.2], [0.2, 0.49]]), np.ones((3, 3)))
    >>> np.fill_diagonal(R, 1.0)
    >>> found = factor_analysis(R, 2, n=500)
    >>> found.factor_correlation[0, 1].round(4), found.heywood_cases
    (np.float64(0.3571), ())
    """

    loadings: FloatArray  # (k, m)
    factor_correlation: FloatArray  # (m, m)
    uniquenesses: FloatArray  # (k,)
    communalities: FloatArray  # (k,)
    variance_explained: FloatArray  # (m,)
    explained_common_variance: float
    objective: float
    gradient: float
    heywood: BoolArray  # (k,)
    degrees_of_freedom: int
    extraction_minima: int
    rotation_minima: int
    transformation: FloatArray  # (m, m)
    method: str
    rotation: str
    n: float
    shrinkage: float
    adjusted_pairs: int = 0
    fit: FactorFit
    labels: tuple[Hashable, ...]  # k
    factors: tuple[str, ...]  # m
    convergence: Convergence
    rotation_convergence: Convergence
    _matrix: FloatArray  # (k, k) analysed matrix
    _weights: FloatArray | None  # (k, k), (p, p) or none
    # whether normal theory may be valid if the covariance matrix of the correlations is unknown
    _normal: bool

    _EXPECTED = ("factor.expected", "expected_answers")

    _AXES = Axes(
        {"model": "labels"},
        "{factor}=loadings",
        "communality=communalities",
        "uniqueness=uniquenesses",
        "complexity",
        "heywood",
        labels={"factor": "factors"},
    )

    @property
    def structure(self) -> FloatArray:
        """Correlations of variables with factors (k, m)."""
        return np.asarray(self.loadings @ self.factor_correlation, dtype=np.float64)

    @property
    def model_matrix(self) -> FloatArray:
        """Implied correlations (k, k), with ones on the diagonal."""
        implied = self.structure @ self.loadings.T
        np.fill_diagonal(implied, 1.0)
        return np.asarray(implied, dtype=np.float64)

    @property
    def residuals(self) -> FloatArray:
        """Residual correlations (k, k); zero on the diagonal."""
        rest = self._matrix - self.model_matrix
        np.fill_diagonal(rest, 0.0)
        return np.asarray(rest, dtype=np.float64)

    @property
    def shares(self) -> FloatArray:
        """Proportion of the total variance explained by each factor (m,)."""
        return np.asarray(self.variance_explained / len(self.labels), dtype=np.float64)

    @property
    def complexity(self) -> FloatArray:
        """Hofmann's complexity (k,): effective number of factors on which a variable loads."""
        return hofmann_complexity(self.loadings)

    @property
    def heywood_cases(self) -> tuple[Hashable, ...]:
        """Names of the variables whose uniqueness is at or below its bound."""
        return tuple(self.labels[i] for i in np.flatnonzero(self.heywood))

    def permuted(
        self, order: Sequence[int], signs: Sequence[float] | None = None
    ) -> FactorSolution:
        """Return the same solution with reordered or reversed factors.

        Parameters
        ----------
        order : sequence of int (m,)
            Positions of the factors in the new order.
        signs : sequence of 1 or -1 (m,), optional
            Signs of the factors in the new order; -1 reverses a factor.

        Raises
        ------
        OptionError
            If `order` is not a permutation, or if a sign is neither 1 nor -1.

        Examples
        --------
        >>> from psychollm.factor.exploratory.factor_analysis import factor_analysis
        >>> R = np.kron(np.array([[0.64, 0.2], [0.2, 0.49]]), np.ones((3, 3)))
        >>> np.fill_diagonal(R, 1.0)
        >>> factor_analysis(R, 2).permuted([1, 0], [1, -1]).factor_correlation[0, 1].round(4)
        np.float64(-0.3571)
        """
        index, turns = check_order(order, signs, self.loadings.shape[1])
        return replace(
            self,
            **permuted_fields(self, index, turns),
            variance_explained=self.variance_explained[index],
            factors=tuple(self.factors[i] for i in index),
        )

    def summary(self) -> str:
        """Describe the solution and its fit, with warnings."""
        m = len(self.factors)
        shares = ", ".join(f"{percent(share, 1)}" for share in self.shares)
        lines = [
            ("One factor explains " if m == 1 else f"{m} factors explain ")
            + f"{percent(self.shares.sum(), 1)} of variance"
            + (f" ({shares})." if m > 1 else "."),
            f"Fit: {self.fit.summary()}.",
            f"{len(self.labels)} variables, extraction {self.method}, rotation {self.rotation}.",
        ]
        if self.method == "minimum_rank":
            share = percent(self.explained_common_variance, 1)
            lines.insert(
                1, f"{'It explains' if m == 1 else 'They explain'} {share} of common variance."
            )
        if self.shrinkage:
            lines.append(
                "The matrix was not positive definite, so correlations were reduced by "
                f"{percent(self.shrinkage, 1)}."
            )
        if self.heywood.any():
            lines.append(f"Heywood case (uniqueness at its bound): {listed(self.heywood_cases)}.")
        for what, minima in (
            ("extraction", self.extraction_minima),
            ("rotation", self.rotation_minima),
        ):
            if minima > 1:
                lines.append(f"The {what} has {minima} local minima; the solution is the lowest.")
        if not self.convergence.converged:
            lines.append(f"The extraction did not converge: {self.convergence.reason}.")
        return "\n".join(lines)

    def plot(self, *, errors: Any = None, ax: Drawn | None = None) -> Drawn:
        """Draw the loadings with `psychollm.plots.plot_loadings`.

        Parameters
        ----------
        errors : LoadingErrors, optional
            Result of `loading_errors` for the same solution; the intervals of this result are
            drawn.
        ax : Axes, optional
            Axes to draw on; by default a new figure.
        """
        return drawn_by("plot_loadings")(self, errors=errors, ax=ax)
