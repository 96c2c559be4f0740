"""Input for null distributions: packed answers, counts, and statistics of correlation matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from psychollm._base.checks import check_choice
from psychollm._base.errors import CodeError, OptionError
from psychollm._base.types import EmptyCells, FloatArray, Missing
from psychollm._base.wording import parameter
from psychollm.data.pair_counts import CountedAnswers, PairCounts
from psychollm.data.responses import ResponsesLike
from psychollm.kernels.correlate import RULES, correlations
from psychollm.kernels.tetrachoric import thresholds_of

StatisticName: TypeAlias = Literal[
    "eigenvalues", "shares", "negative_mass", "mean_correlation", "quadratic_r2", "second_loadings"
]
Statistic: TypeAlias = StatisticName | Callable[[FloatArray], object]
StackStatistic: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]


def eigenvalues(matrices: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Return descending eigenvalues, shape (m, k)."""
    values: FloatArray = np.ascontiguousarray(np.linalg.eigvalsh(matrices)[:, ::-1])
    return values


def shares(matrices: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Return eigenvalues divided by k, shape (m, k)."""
    return np.asarray(eigenvalues(matrices, thresholds) / matrices.shape[-1])


def negative_mass(matrices: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Return the sum of absolute negative eigenvalues divided by k, shape (m,)."""
    return np.asarray(-np.minimum(shares(matrices, thresholds), 0.0).sum(axis=1))


def mean_correlation(matrices: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Return the mean of the off-diagonal correlations, shape (m,)."""
    k = matrices.shape[-1]
    return np.asarray((matrices.sum(axis=(1, 2)) - k) / (k * (k - 1)))


def component_loadings(matrices: FloatArray, which: int) -> FloatArray:
    """Return loadings on one principal component, shape (m, k), with non-negative sums."""
    values, vectors = np.linalg.eigh(matrices)
    loadings = vectors[:, :, -1 - which] * np.sqrt(np.maximum(values[:, -1 - which, None], 0.0))
    return np.asarray(loadings * np.where(loadings.sum(axis=1, keepdims=True) < 0, -1.0, 1.0))


def second_loadings(matrices: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Return loadings on the second principal component, shape (m, k)."""
    return component_loadings(matrices, 1)


def quadratic_r2(matrices: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Return R squared of the quadratic regression of loadings on thresholds, shape (m,)."""
    loadings = component_loadings(matrices, 0)
    return np.array(
        [quadratic_fit(tau, x)[1] for tau, x in zip(thresholds, loadings, strict=True)]
    )


def quadratic_fit(thresholds: FloatArray, loadings: FloatArray) -> tuple[FloatArray, float]:
    """Return coefficients and R squared of the quadratic regression of loading on threshold."""
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
    """Return the name of a statistic, and a function that computes it for a stack of matrices."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """Table packed for the kernels, with the options of the correlation."""

    packed: tuple[Any, ...]  # (yes, answered, mask, n_questions, totals, sizes)
    counts: PairCounts
    rule: int
    fixed: bool

    def observed(self) -> tuple[FloatArray, FloatArray]:
        """Return correlations (1, k, k) and thresholds (1, k) of the observed table."""
        joint, yes, n = self.counts.joint, self.counts.yes, self.counts.n
        tau = thresholds_of(np.diagonal(yes).copy(), np.diagonal(n).copy())
        return correlations((joint, yes, n), tau, self.rule, self.fixed)[None], tau[None]


def make_design(data: ResponsesLike, *, empty_cells: EmptyCells, missing: Missing) -> Design:
    """Pack a table after checking that all pairs of rows have correlations."""
    if isinstance(data, Design):
        return data
    check_choice("empty_cells", empty_cells, EmptyCells)
    check_choice("missing", missing, Missing)
    answers = CountedAnswers.of(data, of="models")
    counts = answers.counts
    _check_variation(counts)
    _check_overlap(counts)
    totals, sizes = (np.diagonal(of).astype(np.int64) for of in (counts.n, counts.joint))
    packed = (*answers.planes, answers.mask, answers.table.n_questions, totals, sizes)
    return Design(packed=packed, counts=counts, rule=RULES[empty_cells], fixed=missing == "global")


def _check_variation(counts: PairCounts) -> None:
    """Raise an error for models with constant answers."""
    rates = counts.yes_rates
    constant = np.flatnonzero(~((rates > 0) & (rates < 1)))
    if constant.size:
        names = ", ".join(repr(counts.labels[i]) for i in constant[:5])
        usable = "responses.select(models=validity_screen(responses).usable)"
        usable = parameter("screen", python=usable)
        msg = (
            f"models {names} have constant answers or none, and so no correlation. "
            f"Omit "
            f"them: {usable}"
        )
        raise CodeError(msg)


def _check_overlap(counts: PairCounts) -> None:
    """Raise an error if a pair of models has no variance on the questions that both answered."""
    row, rest = counts.yes, counts.n - counts.yes
    bad = np.argwhere(np.tril((counts.n == 0) | (row * rest <= 0) | (row.T * rest.T <= 0), -1))
    if bad.size:
        i, j = bad[0]
        msg = (
            f"models {counts.labels[i]!r} and {counts.labels[j]!r} have no correlation on the "
            f"{counts.n[i, j]:g} questions that both answered ({len(bad)} such pairs): omit "
            f"one "
            f"of them by {parameter('models', python='responses.select(models=...)')}"
        )
        raise CodeError(msg)
