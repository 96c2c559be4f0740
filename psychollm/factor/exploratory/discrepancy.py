r"""Discrepancy functions of factor models, as functions of the uniquenesses alone.

With optimal loadings for given uniquenesses :math:`\psi`, least squares and maximum likelihood are
functions of eigenvalues. Unweighted least squares (minres) needs the eigenvalues of :math:`R -
\Psi`, :math:`\gamma_1 \ge \gamma_2 \ge \dots` with eigenvectors v,

.. math:: F = \tfrac12 \sum_{j \in T} \gamma_j^2, \qquad
          \frac{\partial F}{\partial \psi_a} = -\sum_{j \in T} \gamma_j v_{aj}^2.         \quad (1)

Maximum likelihood needs the eigenvalues :math:`\theta_j` of :math:`\Psi^{-1/2} R \Psi^{-1/2}`,

.. math:: F = \sum_{j \in T} (\theta_j - 1 - \log \theta_j), \qquad
          \frac{\partial F}{\partial \log \psi_a} = -\sum_{j \in T} (\theta_j - 1) v_{aj}^2.
                                                                                       \quad (2)

The tail T contains all eigenvalues after the first m, and eigenvalues among the first m that no
real loading can produce (:math:`\gamma_j < 0`, :math:`\theta_j < 1`). Derivatives of eigenvectors
give the second derivatives: with :math:`P = \sum_T v_j v_j^\top` and :math:`Q = \sum_T \theta_j
v_j v_j^\top`

.. math:: H_{ab} = P_{ab} Q_{ab} + \sum_{j \in T} \sum_{l \notin T} c_{jl}\,
          v_{aj} v_{al} v_{bj} v_{bl}.                                                 \quad (3)

Here Q equals P and :math:`c_{jl} = 2\gamma_j / (\gamma_j - \gamma_l)` for least squares, and
:math:`c_{jl} = (\theta_j - 1)(\theta_j + \theta_l) / (\theta_j - \theta_l)` for the likelihood.

All functions take stacks of problems, so that one call analyses many bootstrap replicates.

References
----------
Joreskog, K. G. (1967). Some contributions to maximum likelihood factor analysis. Psychometrika,
32(4), 443-482. https://doi.org/10.1007/BF02289658

Clarke, M. R. B. (1970). A rapidly convergent method for maximum-likelihood factor analysis.
British Journal of Mathematical and Statistical Psychology, 23(1), 43-52.

Harman, H. H., & Jones, W. H. (1966). Factor analysis by minimizing residuals (minres).
Psychometrika, 31(3), 351-368. https://doi.org/10.1007/BF02289468
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from psychollm._base.types import BoolArray, FloatArray, IntArray


class Spectrum(NamedTuple):
    """Descending eigenvalues (b, k), eigenvectors (b, k, k) in columns, and mask of the tail."""

    values: FloatArray
    vectors: FloatArray
    tail: BoolArray

    def of(self, which: IntArray) -> "Spectrum":
        """Return the spectra of the problems with the given indices."""
        return Spectrum(self.values[which], self.vectors[which], self.tail[which])


Evaluated: TypeAlias = tuple[FloatArray, FloatArray, Spectrum]
"""F (b,), its gradient (b, k) and the spectrum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Discrepancy:
    """Discrepancy function of the transformed uniquenesses (`to_parameters`)."""

    decompose: Callable[[FloatArray, FloatArray, int], Spectrum]
    terms: Callable[[FloatArray], FloatArray]  # contribution of each eigenvalue to F
    slopes: Callable[[FloatArray], FloatArray]  # factor of each eigenvalue in the gradient
    second: Callable[[FloatArray], FloatArray]  # weight of each eigenvalue in Q of (3)
    # c of (3), for eigenvalues inside and outside the tail
    crossed: Callable[[FloatArray, FloatArray], FloatArray]
    loadings: Callable[[Spectrum, FloatArray, int], FloatArray]
    to_parameters: Callable[[FloatArray], FloatArray]
    to_uniquenesses: Callable[[FloatArray], FloatArray]

    def evaluate(self, matrices: FloatArray, parameters: FloatArray, n_factors: int) -> Evaluated:
        """Return discrepancies (b,), gradients (b, k) and the spectra of matrices (b, k, k)."""
        spectrum = self.decompose(matrices, parameters, n_factors)
        values, vectors, tail = spectrum
        value = np.where(tail, self.terms(np.where(tail, values, 1.0)), 0.0).sum(axis=1)
        slopes = np.where(tail, self.slopes(values), 0.0)
        gradient = -np.einsum("bj,baj->ba", slopes, vectors**2)
        return value, gradient, spectrum

    def hessian(self, spectrum: Spectrum, n_factors: int) -> FloatArray:
        """Return the second derivatives of equation (3), shape (b, k, k)."""
        values, vectors, tail = spectrum
        inside = vectors * tail[:, None, :]
        outer = inside @ _transposed(inside)
        weighted = (inside * self.second(values)[:, None, :]) @ _transposed(inside)
        total = outer * weighted
        for head in range(n_factors):
            column = vectors[:, :, head : head + 1]
            far = tail & ~tail[:, head : head + 1]
            gap = np.where(far, values, values[:, head : head + 1] - 1.0)
            weights = np.where(far, self.crossed(gap, values[:, head : head + 1]), 0.0)
            products = vectors * column
            total += (products * weights[:, None, :]) @ _transposed(products)
        return np.asarray(total, dtype=np.float64)


def _transposed(stack: FloatArray) -> FloatArray:
    return np.swapaxes(stack, -1, -2)


def _falling(matrices: FloatArray) -> tuple[FloatArray, FloatArray]:
    values, vectors = np.linalg.eigh(matrices)
    return values[:, ::-1], vectors[:, :, ::-1]


def _with_tail(values: FloatArray, vectors: FloatArray, m: int, floor: float) -> Spectrum:
    return Spectrum(values, vectors, (np.arange(values.shape[1]) >= m) | (values <= floor))


def _reduced(matrices: FloatArray, psi: FloatArray, n_factors: int) -> Spectrum:
    reduced = matrices - psi[:, :, None] * np.eye(psi.shape[1])
    return _with_tail(*_falling(reduced), n_factors, 0.0)


def _rescaled(matrices: FloatArray, log_psi: FloatArray, n_factors: int) -> Spectrum:
    scale = np.exp(-0.5 * log_psi)
    return _with_tail(*_falling(matrices * scale[:, :, None] * scale[:, None, :]), n_factors, 1.0)


def _principal(spectrum: Spectrum, psi: FloatArray, n_factors: int) -> FloatArray:
    values, vectors, _ = spectrum
    return vectors[:, :, :n_factors] * np.sqrt(np.maximum(values[:, None, :n_factors], 0.0))


def _canonical(spectrum: Spectrum, psi: FloatArray, n_factors: int) -> FloatArray:
    values, vectors, _ = spectrum
    lengths = np.sqrt(np.maximum(values[:, None, :n_factors] - 1.0, 0.0))
    return vectors[:, :, :n_factors] * lengths * np.sqrt(psi)[:, :, None]


def _likelihood_term(values: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        # The likelihood of a matrix that is not positive definite is undefined, so no step may
        # lead to such a matrix.
        terms = np.where(values > 0.0, values - 1.0 - np.log(values), np.inf)
    return np.asarray(terms, dtype=np.float64)


ULS = Discrepancy(
    decompose=_reduced,
    terms=lambda values: 0.5 * values**2,
    slopes=lambda values: values,
    second=np.ones_like,
    crossed=lambda tail, head: 2.0 * tail / (tail - head),
    loadings=_principal,
    to_parameters=np.copy,
    to_uniquenesses=np.copy,
)
"""Unweighted least squares (1)."""

ML = Discrepancy(
    decompose=_rescaled,
    terms=_likelihood_term,
    slopes=lambda values: values - 1.0,
    second=np.copy,
    crossed=lambda tail, head: (tail - 1.0) * (tail + head) / (tail - head),
    loadings=_canonical,
    to_parameters=np.log,
    to_uniquenesses=np.exp,
)
"""Maximum likelihood (2), for covariance matrices of normal variables."""
