"""Statistics of a correlation matrix, for whole stacks of replicates at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias, get_args

import numpy as np

from psychollm._base.errors import OptionError
from psychollm._base.types import FloatArray

StatisticName: TypeAlias = Literal[
    "eigenvalues", "shares", "negative_mass", "mean_correlation", "quadratic_r2", "second_loadings"
]
Statistic: TypeAlias = StatisticName | Callable[[FloatArray], object]
StackStatistic: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]


def eigenvalues(matrices: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Eigenvalues, descending, shape (m, k)."""
    values: FloatArray = np.ascontiguousarray(np.linalg.eigvalsh(matrices)[:, ::-1])
    return values


def shares(matrices: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Eigenvalues over k, shape (m, k)."""
    return np.asarray(eigenvalues(matrices, thresholds) / matrices.shape[-1])


def negative_mass(matrices: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Sum of the negative eigenvalues' sizes over k, shape (m,)."""
    return np.asarray(-np.minimum(shares(matrices, thresholds), 0.0).sum(axis=1))


def mean_correlation(matrices: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Mean of the off-diagonal correlations, shape (m,)."""
    k = matrices.shape[-1]
    return np.asarray((matrices.sum(axis=(1, 2)) - k) / (k * (k - 1)))


def component_loadings(matrices: FloatArray, which: int) -> FloatArray:
    """Return loadings on one principal component, shape (m, k), signed to sum to >= 0."""
    values, vectors = np.linalg.eigh(matrices)
    loadings = vectors[:, :, -1 - which] * np.sqrt(np.maximum(values[:, -1 - which, None], 0.0))
    return np.asarray(loadings * np.where(loadings.sum(axis=1, keepdims=True) < 0, -1.0, 1.0))


def second_loadings(matrices: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Return loadings on the second principal component, shape (m, k)."""
    return component_loadings(matrices, 1)


def quadratic_r2(matrices: FloatArray, thresholds: FloatArray) -> FloatArray:
    """R squared of loadings on thresholds and their squares, shape (m,); NaN below four rows."""
    loadings = component_loadings(matrices, 0)
    return np.array(
        [quadratic_fit(tau, x)[1] for tau, x in zip(thresholds, loadings, strict=True)]
    )


def quadratic_fit(thresholds: FloatArray, loadings: FloatArray) -> tuple[FloatArray, float]:
    """Coefficients (constant, linear, quadratic) and R squared of loading on threshold."""
    keep = np.isfinite(thresholds) & np.isfinite(loadings)
    tau, x = thresholds[keep], loadings[keep]
    if tau.size < 4 or np.ptp(tau) == 0 or np.ptp(x) == 0:
        return np.full(3, np.nan), float("nan")
    design = np.stack([np.ones_like(tau), tau, tau**2], axis=1)
    coefficients, *_ = np.linalg.lstsq(design, x, rcond=None)
    rest = x - design @ coefficients
    return np.asarray(coefficients, dtype=np.float64), float(
        1.0 - rest @ rest / np.sum((x - x.mean()) ** 2)
    )


NAMED: dict[str, StackStatistic] = {
    "eigenvalues": eigenvalues,
    "shares": shares,
    "negative_mass": negative_mass,
    "mean_correlation": mean_correlation,
    "quadratic_r2": quadratic_r2,
    "second_loadings": second_loadings,
}


def stack_statistic(statistic: Statistic) -> tuple[str, StackStatistic]:
    """Return the name of a statistic and its form for stacks of matrices."""
    if isinstance(statistic, str):
        if statistic not in NAMED:
            listed = ", ".join(repr(name) for name in get_args(StatisticName))
            msg = (
                f"statistic={statistic!r} is not known: use one of {listed}, or a function of a "
                "correlation matrix (k, k) that returns a number or an array"
            )
            raise OptionError(msg)
        return statistic, NAMED[statistic]
    if not callable(statistic):
        msg = f"statistic must be a name or a function of a matrix, got {type(statistic).__name__}"
        raise OptionError(msg)

    def over_stack(matrices: FloatArray, thresholds: FloatArray) -> FloatArray:
        return np.stack([np.asarray(statistic(matrix), dtype=np.float64) for matrix in matrices])

    return getattr(statistic, "__name__", "statistic"), over_stack
