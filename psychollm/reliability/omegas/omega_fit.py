r"""Hierarchical factor solution for computing omega, in the sample and in resamples.

Factors are extracted, rotated obliquely and divided into a general factor and group factors. In a
resample, the iteration starts with the sample's uniquenesses and with the axes whose loadings are
closest to the sample's loadings. Factors therefore keep their order and meaning, and the search
over many starting values is required only once.

Let g be the loadings on the general factor, :math:`F_j` the loadings on group factor j, u the
uniquenesses, and V the sum of all correlations. The coefficients are

.. math::
   \omega_h &= \frac{(\sum_i g_i)^2}{V}, &
   \omega_t &= \frac{V - \sum_i u_i}{V}, &
   \omega_\infty &= \frac{(\sum_i g_i)^2}{V - \sum_i u_i},                              \quad (1)\\
   \text{ECV} &= \frac{\sum_i g_i^2}{\sum_i g_i^2 + \sum_{ij} F_{ij}^2}, &
   \alpha &= \frac{k}{k-1} \Big(1 - \frac{k}{V}\Big), &
   \lambda_6 &= 1 - \frac{\sum_i (1 - R_i^2)}{V}.

The items whose highest group-factor loading is on factor j form the subscale C(j). The variance of
subscale C(j) is :math:`V_j = \sum_{C(j) \times C(j)} r`. The proportions of this variance due to
the general factor and to the group factor are

.. math:: \frac{(\sum_{C(j)} g_i)^2}{V_j} \quad \text{and} \quad
          \frac{(\sum_{C(j)} F_{ij})^2}{V_j} .                                           \quad (2)

The omega of the subscale is the sum of the two proportions in equation (2). The sum of the second
numerators in equation (2) over subscales, divided by V, is the proportion of total-score variance
due to group factors.
"""

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.factor.exploratory.criteria import QUARTIMIN
from psychollm.factor.exploratory.extract import (
    DISCREPANCIES,
    NEAR_BOUND,
    extract,
    principal_axes,
)
from psychollm.factor.exploratory.gradient_projection import turn
from psychollm.factor.exploratory.minimise import MOST_STARTS, minimise, squared_multiple
from psychollm.factor.exploratory.rotate import rotate
from psychollm.factor.exploratory.schmid_leiman import (
    SchmidLeiman,
    schmid_leiman,
    second_order,
    transformed,
)
from psychollm.reliability.scales.moments import ROUNDING

OmegaMethod: TypeAlias = Literal["minres", "ml", "principal_axis"]

COEFFICIENTS = (
    "hierarchical",
    "total",
    "asymptotic",
    "explained_common_variance",
    "specific",
    "alpha",
    "lambda6",
)
SUBSCALES = ("group_total", "group_general", "group_specific")

MIN_UNIQUENESS = 0.005
EMPTY = 1e-6  # a factor with only smaller loadings counts as empty
_ARRIVED = 1e-7
_MAX_STEPS = 200
_BLOCK_BYTES, _AT_ONCE = 8_000_000, 50


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OmegaFit:
    """Hierarchical solution for one correlation matrix."""

    hierarchy: SchmidLeiman
    pattern: FloatArray  # (k, m) oblique loadings
    factor_correlation: FloatArray  # (m, m)
    member: IntArray  # (k,) group factor of each item
    heywood: bool  # whether a uniqueness of an item or factor is at its bound
    converged: bool
    method: OmegaMethod
    tolerance: float

    def refit(self, matrices: FloatArray) -> "Hierarchies":
        """Fit matrices (b, k, k), starting at this solution; NaN if a fit does not converge."""
        A, arrived = self._extracted(matrices)
        uniquenesses = 1.0 - np.sum(A**2, axis=2)
        proper = (uniquenesses > MIN_UNIQUENESS + NEAR_BOUND).all(axis=1)
        if A.shape[2] == 1:
            general, groups = A[:, :, 0], np.zeros_like(A)
        else:
            turned = turn(QUARTIMIN, A, self._axes(A), tolerance=_ARRIVED, max_steps=_MAX_STEPS)
            T = turned.transformations
            phi = np.swapaxes(T, 1, 2) @ T
            higher = second_order(phi, method=self.method, tolerance=self.tolerance)
            general, groups = transformed(turned.loadings, higher.loadings)
            arrived, proper = arrived & turned.converged, proper & ~higher.heywood
        general = general * np.where(general.sum(axis=1, keepdims=True) < 0.0, -1.0, 1.0)
        lost = np.where(arrived, 0.0, np.nan)
        return Hierarchies(general + lost[:, None], groups, uniquenesses, arrived & proper)

    def _extracted(self, matrices: FloatArray) -> tuple[FloatArray, BoolArray]:
        m = self.pattern.shape[1]
        if self.method == "principal_axis":
            axes = principal_axes(matrices, m, self.tolerance)
            return axes.loadings, axes.converged
        start = np.clip(self.hierarchy.uniquenesses, MIN_UNIQUENESS, 1.0)
        starts = np.broadcast_to(start, matrices.shape[:2])
        solutions = minimise(DISCREPANCIES[self.method], matrices, starts, m, MIN_UNIQUENESS)
        return solutions.loadings, solutions.converged

    def _axes(self, A: FloatArray) -> FloatArray:
        """Return oblique axes (b, m, m) that rotate A (b, k, m) towards the sample loadings."""
        inverse = np.linalg.pinv(A) @ self.pattern
        T = np.swapaxes(np.linalg.pinv(inverse), 1, 2)
        lengths = np.sqrt(np.sum(T**2, axis=1, keepdims=True))
        usable = (np.abs(np.linalg.det(T / np.maximum(lengths, 1e-12))) > 1e-6)[:, None, None]
        return np.where(usable, T / np.maximum(lengths, 1e-12), np.eye(A.shape[2]))


@dataclass(frozen=True, slots=True, eq=False)
class Hierarchies:
    """Hierarchical loadings of a stack of matrices."""

    general: FloatArray  # (b, k)
    groups: FloatArray  # (b, k, m)
    uniquenesses: FloatArray  # (b, k)
    proper: BoolArray  # (b,) whether the fit converged with no uniqueness at its bound

    def reversed(self, keys: FloatArray) -> "Hierarchies":
        """Return the loadings after reversing items (b, k)."""
        general, groups = self.general * keys, self.groups * keys[:, :, None]
        return replace(self, general=general, groups=groups)


def fit_omega(
    matrix: FloatArray, n_factors: int, method: OmegaMethod, tolerance: float
) -> OmegaFit | None:
    """Return the solution for a correlation matrix (k, k), or None if it has too few factors."""
    extraction = extract(
        matrix,
        n_factors=n_factors,
        method=method,
        min_uniqueness=MIN_UNIQUENESS,
        tolerance=tolerance,
        # fewer starts for many items, to limit the time
        n_starts=max(8, min(MOST_STARTS, 2000 // len(matrix))),
    )
    if np.linalg.matrix_rank(extraction.loadings, tol=EMPTY) < n_factors:
        return None
    rotation = rotate(extraction)
    hierarchy = schmid_leiman(rotation, method=method, tolerance=tolerance)
    return OmegaFit(
        hierarchy=hierarchy,
        pattern=rotation.loadings,
        factor_correlation=rotation.factor_correlation,
        member=np.abs(hierarchy.groups).argmax(axis=1),
        heywood=bool(extraction.heywood.any()) or hierarchy.heywood,
        converged=extraction.convergence.converged and rotation.convergence.converged,
        method=method,
        tolerance=tolerance,
    )


def no_fit(k: int, m: int, method: OmegaMethod, tolerance: float) -> OmegaFit:
    """Return an undefined solution, with NaN values and without subscales."""
    items, factors, table = (np.full(shape, np.nan) for shape in (k, m, (k, m)))
    hierarchy = SchmidLeiman(
        general=items,
        groups=table,
        second_order=factors,
        communalities=items,
        uniquenesses=items,
        identified=m > 2,
        heywood=False,
        labels=tuple(range(k)),
    )
    return OmegaFit(
        hierarchy=hierarchy,
        pattern=table,
        factor_correlation=np.full((m, m), np.nan),
        member=np.full(k, -1),
        heywood=False,
        converged=False,
        method=method,
        tolerance=tolerance,
    )


def omega_numbers(
    hierarchies: Hierarchies,
    matrices: FloatArray,
    member: IntArray,
    *,
    varying: BoolArray | None = None,
    flip: bool = True,
) -> FloatArray:
    """Return coefficients (b, 7 + 3 m) of equation (1), then of (2) by group factor."""
    if flip:
        keys = np.where(hierarchies.general < 0.0, -1.0, 1.0)
        hierarchies, matrices = (
            hierarchies.reversed(keys),
            matrices * keys[:, :, None] * keys[:, None, :],
        )
    counted = np.ones(hierarchies.general.shape) if varying is None else varying.astype(np.float64)
    whole = _total(hierarchies, matrices, counted)
    own = [
        _subscale(hierarchies, matrices, counted * (member == j), j)
        for j in range(hierarchies.groups.shape[2])
    ]
    with np.errstate(invalid="ignore", divide="ignore"):
        specific = sum(part[:, 2] for part in own) / _variance(matrices, counted)
        general, group = (np.stack([p[:, i] / p[:, 0] for p in own], axis=1) for i in (1, 2))
    return np.concatenate(
        [whole[:, :4], specific[:, None], whole[:, 4:], general + group, general, group], axis=1
    )


def _variance(matrices: FloatArray, counted: FloatArray) -> FloatArray:
    """Return the sums of correlations (b,); NaN for a sum that is zero up to rounding."""
    total = np.einsum("bij,bi,bj->b", matrices, counted, counted)
    return np.where(total > ROUNDING * counted.sum(axis=1) ** 2, total, np.nan)


def _total(hierarchies: Hierarchies, matrices: FloatArray, counted: FloatArray) -> FloatArray:
    """Return the coefficients of equation (1), except the proportion of group factors (b, 6)."""
    k = counted.sum(axis=1)
    variance = _variance(matrices, counted)
    unique = np.sum(hierarchies.uniquenesses * counted, axis=1)
    general = np.sum(hierarchies.general * counted, axis=1) ** 2
    common = np.sum(hierarchies.general**2, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        columns = [
            general / variance,
            (variance - unique) / variance,
            general / (variance - unique),
            common / (common + np.sum(hierarchies.groups**2, axis=(1, 2))),
            k / (k - 1.0) * (1.0 - k / variance),
            1.0 - np.sum((1.0 - _predicted(matrices)) * counted, axis=1) / variance,
        ]
    return np.stack(columns, axis=1)


def _predicted(matrices: FloatArray) -> FloatArray:
    """Return squared multiple correlations (b, k); NaN for a singular matrix."""
    regular = np.linalg.eigvalsh(matrices)[:, 0] > 1e-10
    found = np.full(matrices.shape[:2], np.nan)
    if regular.any():
        found[regular] = squared_multiple(matrices[regular])
    return found


def _subscale(
    hierarchies: Hierarchies, matrices: FloatArray, counted: FloatArray, factor: int
) -> FloatArray:
    """Return the total variance of one subscale, and its general and specific parts (b, 3)."""
    general = np.sum(hierarchies.general * counted, axis=1) ** 2
    specific = np.sum(hierarchies.groups[:, :, factor] * counted, axis=1) ** 2
    return np.stack([_variance(matrices, counted), general, specific], axis=1)


def refit_in_blocks(
    fit: OmegaFit, matrices: FloatArray, varying: BoolArray, *, flip: bool, lost: float = 1.0
) -> tuple[FloatArray, BoolArray]:
    """Return the coefficients of matrices (b, k, k), and a mask of proper solutions."""
    # Undefined coefficients are NaN. The refits stop if the proportion of improper refits exceeds
    # `lost`.
    b, k = matrices.shape[:2]
    m = fit.pattern.shape[1]
    numbers = np.full((b, len(COEFFICIENTS) + len(SUBSCALES) * m), np.nan)
    proper = np.zeros(b, dtype=np.bool_)
    defined = np.isfinite(matrices).all(axis=(1, 2)) & (varying.sum(axis=1) >= 2)
    if fit.method == "ml":
        defined &= np.linalg.eigvalsh(np.where(defined[:, None, None], matrices, 0.0))[:, 0] > 0.0
    usable = np.flatnonzero(defined)
    step = max(1, min(_AT_ONCE, _BLOCK_BYTES // (8 * k * k)))
    for start in range(0, usable.size, step):
        block = usable[start : start + step]
        hierarchies = fit.refit(matrices[block])
        numbers[block] = omega_numbers(
            hierarchies, matrices[block], fit.member, varying=varying[block], flip=flip
        )
        proper[block] = hierarchies.proper
        if (~proper[usable[: start + step]]).sum() > lost * b:
            break
    return numbers, proper


def bare_numbers(
    fit: OmegaFit, matrices: FloatArray, varying: BoolArray, *, flip: bool
) -> FloatArray:
    """Return alpha and lambda 6 of many matrices, and NaN for all other coefficients."""
    parts = (fit.hierarchy.general, fit.hierarchy.groups, fit.hierarchy.uniquenesses)
    general, groups, own = (np.broadcast_to(part, (len(matrices), *part.shape)) for part in parts)
    numbers = np.full(
        (len(matrices), len(COEFFICIENTS) + len(SUBSCALES) * groups.shape[2]), np.nan
    )
    known = np.flatnonzero(np.isfinite(matrices).all(axis=(1, 2)))
    same = Hierarchies(general[known], groups[known], own[known], np.ones(known.size, np.bool_))
    every = omega_numbers(same, matrices[known], fit.member, varying=varying[known], flip=flip)
    for name in ("alpha", "lambda6"):
        column = COEFFICIENTS.index(name)
        numbers[known, column] = every[:, column]
    return numbers
