"""Optimal uniquenesses of a factor model by Newton's method, from several starts.

Least-squares and likelihood surfaces are flat: when a line search detects no further descent,
loadings may still be wrong in the fourth digit. Newton steps with exact second derivatives end
with a gradient of zero up to rounding error. Negative eigenvalues of the second derivatives are
replaced by their absolute values, so that steps always descend. A uniqueness near a bound follows
only its own gradient if the gradient points towards the bound. Therefore, the steps of the other
uniquenesses do not depend on changes that the bound prevents (Bertsekas, 1982).

The surfaces may have several minima, in particular with weak factors and near Heywood cases.
`lowest_minimum` starts at squared multiple correlations and at uniformly distributed points, and
keeps the lowest minimum. More starts follow until a further minimum is improbable: with w distinct
minima from n starts, the expected total number of minima is :math:`w (n - 1) / (n - w - 2)`. The
search ends when the expected total is below :math:`w + 1/2`. If all starts reach the same minimum,
the search ends after eight starts.

References
----------
Bertsekas, D. P. (1982). Projected Newton methods for optimization problems with simple
constraints. SIAM Journal on Control and Optimization, 20(2), 221-246.

Boender, C. G. E., & Rinnooy Kan, A. H. G. (1987). Bayesian stopping rules for multistart global
optimization methods. Mathematical Programming, 37(1), 59-80. https://doi.org/10.1007/BF02591684
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.factor.exploratory.discrepancy import Discrepancy, Evaluated

FIRST_STARTS, MOST_STARTS = 8, 64
End = TypeVar("End")
GRADIENT = 1e-14  # a smaller gradient, relative to the largest eigenvalue, is rounding error
SETTLED = 1e-10  # a larger gradient means no convergence
MAX_STEPS = 60
MAX_HALVINGS = 25
SAME_MINIMUM = 1e-8
FLAT = 1e-10  # smaller curvature, relative to the largest, counts as zero
AT_BOUND, NEAR_BOUND = 1e-12, 1e-2


class Lowest(NamedTuple, Generic[End]):
    """Lowest minimum, with the number of distinct minima."""

    end: End
    minima: int  # number of distinct minima found
    n_starts: int


def multistart(
    descend: Callable[[FloatArray], Sequence[tuple[float, End]]],
    starts: FloatArray,
    tolerance: float,
) -> Lowest[End]:
    """Descend from eight starts, then from more if needed, and keep the lowest minimum."""
    # `descend` maps starts (b, ...) to final values (infinite without convergence) and other
    # results. Values that differ by more than `tolerance` (relative to the lowest value if that
    # exceeds 1) count as different minima. The first start that reaches the lowest minimum is
    # kept.
    ends: list[End] = []
    values = np.empty(0)
    minima, best = 1, 0
    while values.size < len(starts) and not no_more_expected(minima, values.size):
        arrived = descend(starts[values.size : max(2 * values.size, FIRST_STARTS)])
        values = np.concatenate([values, [value for value, _ in arrived]])
        ends += [end for _, end in arrived]
        best, minima = lowest_of(values, tolerance)
    return Lowest(ends[best], minima, values.size)


def no_more_expected(minima: int, n_starts: int) -> bool:
    """Return whether the expected number of further minima is less than one half."""
    spare = n_starts - minima - 2
    return spare > 0 and minima * (n_starts - 1) < (minima + 0.5) * spare


def lowest_of(values: FloatArray, tolerance: float) -> tuple[int, int]:
    """Return the first start with the lowest value, and the number of distinct values."""
    # Values at the same minimum differ by rounding errors. Larger gaps between sorted values
    # separate minima.
    ends = np.sort(values[np.isfinite(values)])
    if not ends.size:
        return 0, 1
    gap = tolerance * max(1.0, abs(float(ends[0])))
    return int((values <= ends[0] + gap).argmax()), 1 + int(np.sum(np.diff(ends) > gap))


class Minimum(NamedTuple):
    """Final states of a stack of problems."""

    uniquenesses: FloatArray  # (b, k)
    loadings: FloatArray  # (b, k, m)
    objective: FloatArray  # (b,)
    gradient: FloatArray  # (b,) largest component among parameters not at a bound
    converged: BoolArray  # (b,)
    steps: IntArray  # (b,)

    def at(self, i: int) -> "Minimum":
        """Return the final state of problem i, as a `Minimum` with one problem."""
        return Minimum._make(part[i : i + 1] for part in self)


def squared_multiple(matrices: FloatArray) -> FloatArray:
    """Return squared multiple correlations (b, k) of each variable on the others."""
    inverse = np.linalg.pinv(matrices, hermitian=True)
    with np.errstate(divide="ignore"):
        explained = 1.0 - 1.0 / np.diagonal(inverse, axis1=1, axis2=2)
    return np.asarray(explained, dtype=np.float64)


def minimise(
    discrepancy: Discrepancy,
    matrices: FloatArray,
    uniquenesses: FloatArray,
    n_factors: int,
    low: float,
) -> Minimum:
    """Minimise over uniquenesses in [low, 1], from starts (b, k), for matrices (b, k, k)."""
    bounds = discrepancy.to_parameters(np.array([low, 1.0]))
    stack = _Stack(discrepancy, matrices, n_factors, bounds)
    x = np.clip(discrepancy.to_parameters(uniquenesses), *bounds)
    slope, steps = np.full(len(x), np.inf), np.zeros(len(x), dtype=np.int64)
    going = np.arange(len(x))
    here = stack.evaluate(x, going)  # kept up to date by `descend`
    value, gradient, spectrum = here
    for _ in range(MAX_STEPS):
        pressed = stack.pressed(x[going], gradient[going], AT_BOUND)
        slope[going] = np.abs(np.where(pressed, 0.0, gradient[going])).max(axis=1)
        size = 1.0 + np.abs(spectrum.values[going]).max(axis=1)
        far = slope[going] > GRADIENT * size
        going, size = going[far], size[far]
        if not going.size:
            break
        hessian = discrepancy.hessian(spectrum.of(going), n_factors)
        apart = stack.pressed(x[going], gradient[going], NEAR_BOUND)
        direction = _direction(gradient[going], hessian, apart)
        steps[going] += 1
        going = going[stack.descend(x, here, going, direction, value[going] + GRADIENT * size)]
    psi = discrepancy.to_uniquenesses(x)
    return Minimum(
        uniquenesses=psi,
        loadings=discrepancy.loadings(spectrum, psi, n_factors),
        objective=value,
        gradient=slope,
        converged=slope <= SETTLED,
        steps=steps,
    )


def lowest_minimum(
    discrepancy: Discrepancy,
    matrix: FloatArray,
    n_factors: int,
    low: float,
    most_starts: int = MOST_STARTS,
) -> Lowest[Minimum]:
    """Minimise from several starts, and return the lowest minimum as a stack of one solution."""

    def descend(starts: FloatArray) -> list[tuple[float, Minimum]]:
        stack = np.broadcast_to(matrix, (len(starts), *matrix.shape))
        ends = minimise(discrepancy, stack, starts, n_factors, low)
        values = np.where(ends.converged, ends.objective, np.inf)
        return [(float(value), ends.at(i)) for i, value in enumerate(values)]

    return multistart(descend, uniqueness_starts(matrix, low, most_starts), SAME_MINIMUM)


def uniqueness_starts(matrix: FloatArray, low: float, n: int) -> FloatArray:
    """Return starting uniquenesses (n, k): one from multiple correlations, the others uniform."""
    # The uniform numbers are fixed. They are assigned to variables in the order of their squared
    # multiple correlations, so that results do not depend on the order of the variables.
    explained = squared_multiple(matrix[None])[0]
    first = np.clip(1.0 - explained, max(low, 0.05), 1.0)
    uniform = np.random.default_rng(0).uniform(low, 1.0, (n - 1, len(matrix)))
    ranks = np.argsort(np.argsort(explained, kind="stable"), kind="stable")
    return np.concatenate([first[None], uniform[:, ranks]])


@dataclass(frozen=True, slots=True)
class _Stack:
    """Stack of problems that are solved together."""

    discrepancy: Discrepancy
    matrices: FloatArray  # (b, k, k)
    n_factors: int
    bounds: FloatArray  # (2,) lower and upper bound of the parameters

    def evaluate(self, x: FloatArray, which: IntArray) -> Evaluated:
        return self.discrepancy.evaluate(self.matrices[which], x, self.n_factors)

    def pressed(self, x: FloatArray, gradient: FloatArray, margin: float) -> BoolArray:
        """Return a mask of parameters that are within `margin` of a bound and move outwards."""
        low, high = self.bounds[0] + margin, self.bounds[1] - margin
        pressed = ((x <= low) & (gradient > 0.0)) | ((x >= high) & (gradient < 0.0))
        return np.asarray(pressed, dtype=np.bool_)

    def descend(
        self,
        x: FloatArray,
        here: Evaluated,
        going: IntArray,
        direction: FloatArray,
        ceiling: FloatArray,
    ) -> BoolArray:
        """Halve steps until they descend, update `x` and `here`, and return a mask of updates."""
        waiting, length = np.arange(going.size), 1.0
        moved = np.zeros(going.size, dtype=np.bool_)
        for _ in range(MAX_HALVINGS):
            which = going[waiting]
            proposed = np.clip(x[which] + length * direction[waiting], *self.bounds)
            there = self.evaluate(proposed, which)
            good = there[0] <= ceiling[waiting]
            to = which[good]
            x[to] = proposed[good]
            here[0][to], here[1][to] = there[0][good], there[1][good]
            for kept, part in zip(here[2], there[2], strict=True):
                kept[to] = part[good]
            moved[waiting[good]] = True
            waiting, length = waiting[~good], 0.5 * length
            if not waiting.size:
                break
        return moved


def _direction(gradient: FloatArray, hessian: FloatArray, apart: BoolArray) -> FloatArray:
    """Return Newton steps (b, k), with scaled gradient steps for the parameters `apart`."""
    either = apart[:, :, None] | apart[:, None, :]
    scales = np.abs(np.diagonal(hessian, axis1=1, axis2=2))
    own = np.eye(apart.shape[1]) * np.where(apart, scales, 0.0)[:, :, None]
    values, vectors = np.linalg.eigh(np.where(either, 0.0, hessian) + own)
    sizes = np.abs(values)
    sizes = np.maximum(sizes, FLAT * sizes.max(axis=1, keepdims=True))
    turned = np.einsum("baj,ba->bj", vectors, gradient)
    return np.asarray(-np.einsum("baj,bj->ba", vectors, turned / sizes), dtype=np.float64)
