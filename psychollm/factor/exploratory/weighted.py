r"""Factors by weighted least squares, with correlations weighted by precision.

The loadings minimise, over the correlations below the diagonal,

.. math:: F = \tfrac12\, e^\top W e, \qquad e = r - \operatorname{vech}(\Lambda\Lambda^\top).\;(1)

The weight matrix W is the inverse of the covariance matrix of r (WLS) or of its diagonal (DWLS).
Rows of loadings are parameterised as

.. math:: \lambda_i = \sqrt{1 - u}\; \frac{\sin |x_i|}{|x_i|}\, x_i .                     \quad (2)

No communality then exceeds 1 - u, where u is the smallest uniqueness allowed. The derivative is
also zero at this bound, so Newton's method needs no constraints. `weighted_factor` fits a single
factor; the bootstrap of omega calls this function thousands of times. Single-factor fits use exact
second derivatives and the bound :math:`|\lambda| = 1 - 5 \cdot 10^{-4}`. With several factors,
second derivatives are central differences of the gradient; their precision of about ten digits
suffices for convergence. Fits with one or several factors end with damped Newton steps, which
ignore directions without curvature, such as rotations of a solution. Negative curvature is
replaced by its absolute value, so that every step descends.

References
----------
Browne, M. W. (1984). Asymptotically distribution-free methods for the analysis of covariance
structures. British Journal of Mathematical and Statistical Psychology, 37(1), 62-83.
https://doi.org/10.1111/j.2044-8317.1984.tb00789.x

Barendse, M. T., Oort, F. J., & Timmerman, M. E. (2015). Using exploratory factor analysis to
determine the dimensionality of discrete responses. Structural Equation Modeling, 22(1), 87-101.
https://doi.org/10.1080/10705511.2014.934850

Muthen, B., du Toit, S. H. C., & Spisic, D. (1997). Robust inference using weighted least squares
and quadratic estimating equations in latent variable modeling with categorical and continuous
outcomes. Unpublished technical report.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.factor.exploratory.minimise import multistart

Weigh = Callable[[FloatArray], FloatArray]  # weights residuals (k, k) with zero diagonal
Evaluate = Callable[[FloatArray], tuple[float, FloatArray]]  # value and gradient
FIRST_STEPS = 2000
SAME_MINIMUM = 1e-6
BOUND = 0.9995
SPACING = 6e-6  # cube root of the rounding error
FLAT = 1e-9  # smaller curvature, relative to the largest, counts as zero
GRADIENT = 1e-13
SETTLED = 1e-10
MAX_STEPS = 100
MAX_HALVINGS = 30


class Bottom(NamedTuple):
    """Final point of the iteration, with its value and gradient."""

    x: FloatArray  # (p,)
    value: float
    gradient: float  # largest component among parameters not at a bound
    steps: int

    @property
    def converged(self) -> bool:
        """Whether the gradient is zero up to the tolerance."""
        return self.gradient <= SETTLED


def second_derivatives(evaluate: Evaluate, x: FloatArray) -> FloatArray:
    """Return symmetric central differences of the gradient (p, p)."""
    rows = np.empty((x.size, x.size))
    for i in range(x.size):
        h = SPACING * max(1.0, abs(float(x[i])))
        move = np.zeros(x.size)
        move[i] = h
        rows[i] = (evaluate(x + move)[1] - evaluate(x - move)[1]) / (2.0 * h)
    return np.asarray(0.5 * (rows + rows.T), dtype=np.float64)


def descend(
    evaluate: Evaluate,
    x: FloatArray,
    hessian: Callable[[FloatArray], FloatArray] | None = None,
    bound: float = np.inf,
) -> Bottom:
    """Minimise a function to full precision, from x (p,) with components up to `bound`."""
    value, gradient = evaluate(x)
    pressed = (np.abs(x) >= bound) & (gradient * x < 0.0)
    largest, steps = float(np.abs(gradient[~pressed]).max(initial=0.0)), 0
    while steps < MAX_STEPS and largest > GRADIENT:
        bend = second_derivatives(evaluate, x) if hessian is None else hessian(x)
        sizes, vectors = np.linalg.eigh(bend[np.ix_(~pressed, ~pressed)])
        sizes = np.abs(sizes)
        steep = sizes > FLAT * max(float(sizes.max()), 1e-300)
        along = (vectors.T @ gradient[~pressed]) / np.where(steep, sizes, np.inf)
        direction = np.zeros(x.size)
        direction[~pressed] = -vectors @ along
        # Halve the step until the value decreases, or is unchanged with a smaller gradient.
        slack, length, lower = 1e-14 * (1.0 + abs(value)), 1.0, False
        for _ in range(MAX_HALVINGS):
            proposed = np.clip(x + length * direction, -bound, bound)
            trial, slope = evaluate(proposed)
            still = (np.abs(proposed) >= bound) & (slope * proposed < 0.0)
            left = float(np.abs(slope[~still]).max(initial=0.0))
            lower = trial < value - slack or (trial <= value + slack and left < largest)
            if lower:
                break
            length *= 0.5
        if not lower:
            break
        x, value, gradient, pressed, largest = proposed, trial, slope, still, left
        steps += 1
    return Bottom(x, value, largest, steps)


class WeightedFactors(NamedTuple):
    """Loadings at the lowest minimum, with convergence status."""

    loadings: FloatArray  # (k, m) in principal axes; (k,) for a single factor
    objective: float
    gradient: float
    converged: bool
    steps: int
    minima: int  # number of distinct minima found


def weigh_each(weights: FloatArray) -> Weigh:
    """Return the weighting of DWLS, from weights (k, k) with a zero diagonal."""
    return lambda rest: np.asarray(weights * rest, dtype=np.float64)


def weigh_jointly(weights: FloatArray, k: int) -> Weigh:
    """Return the weighting of WLS, from a matrix over the k (k - 1) / 2 pairs, row by row."""
    pairs = np.tril_indices(k, -1)

    def weigh(rest: FloatArray) -> FloatArray:
        weighted = np.zeros((k, k))
        weighted[pairs] = weights @ rest[pairs]
        return weighted + weighted.T

    return weigh


def weighted_factors(
    correlation: FloatArray, weigh: Weigh, starts: FloatArray, low: float
) -> WeightedFactors:
    """Minimise equation (1) from eight of the `starts` (n, k, m), or from more if needed."""
    from scipy.optimize import minimize

    shape, reach = starts.shape[1:], np.sqrt(1.0 - low)

    def evaluate(x: FloatArray) -> tuple[float, FloatArray]:
        rows = x.reshape(shape)
        loadings = reach * _bent(rows)
        rest = correlation - loadings @ loadings.T
        np.fill_diagonal(rest, 0.0)
        weighted = weigh(rest)
        slope = -weighted @ loadings
        return 0.25 * float(np.sum(rest * weighted)), reach * _pulled_back(rows, slope).ravel()

    nothing = evaluate(np.zeros(starts[0].size))[0] or 1.0

    def approach(block: FloatArray) -> list[tuple[float, tuple[FloatArray, int]]]:
        ends = [
            minimize(
                evaluate,
                _unbent(start / reach).ravel(),
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": FIRST_STEPS, "gtol": 1e-7, "ftol": 1e-14},
            )
            for start in block
        ]
        # Divide by the value of a model without factors, because the scale of weights is
        # arbitrary.
        return [(end.fun / nothing, (np.asarray(end.x, np.float64), end.nit)) for end in ends]

    (x, first_steps), minima, _ = multistart(approach, starts, SAME_MINIMUM)
    bottom = descend(evaluate, x)
    left, sizes, _ = np.linalg.svd(reach * _bent(bottom.x.reshape(shape)), full_matrices=False)
    return WeightedFactors(
        loadings=left * sizes,
        objective=bottom.value,
        gradient=bottom.gradient,
        converged=bottom.converged,
        steps=first_steps + bottom.steps,
        minima=minima,
    )


def _sizes(rows: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt(np.sum(rows**2, axis=1, keepdims=True)), dtype=np.float64)


def _bent(rows: FloatArray) -> FloatArray:
    """Return sin |x| / |x| times x for each row x."""
    return np.asarray(np.sinc(_sizes(rows) / np.pi) * rows, dtype=np.float64)


def _unbent(loadings: FloatArray) -> FloatArray:
    size = np.minimum(_sizes(loadings), 0.98)
    return np.asarray(loadings * np.arcsin(size) / np.maximum(_sizes(loadings), 1e-12))


def _pulled_back(rows: FloatArray, slope: FloatArray) -> FloatArray:
    """Convert the gradient in the rows of equation (2) to the gradient in x."""
    size = _sizes(rows)
    ratio = np.sinc(size / np.pi)
    along = np.sum(rows * slope, axis=1, keepdims=True)
    # (cos s - sin s / s) / s^2, by its series to avoid cancellation
    small = size < 1e-3
    safe = np.where(small, 1.0, size)
    bend = np.where(small, -1.0 / 3.0 + size**2 / 30.0, (np.cos(safe) - ratio) / safe**2)
    return np.asarray(ratio * slope + bend * along * rows, dtype=np.float64)


def weighted_factor(
    correlation: FloatArray, weights: FloatArray, start: FloatArray
) -> WeightedFactors:
    """Fit one factor to correlations (k, k) by weighted least squares, equation (1)."""
    # Weights are symmetric, finite and not negative; diagonals are not used.
    apart = ~np.eye(len(start), dtype=np.bool_)
    W, R = np.where(apart, weights, 0.0), np.where(apart, correlation, 0.0)
    W = W / W.max() if W.any() else W

    def evaluate(x: FloatArray) -> tuple[float, FloatArray]:
        rest = R - np.outer(x, x)
        weighted = W * rest
        return 0.25 * float(np.sum(weighted * rest)), -weighted @ x

    def hessian(x: FloatArray) -> FloatArray:
        bend = W * (2.0 * np.outer(x, x) - R)
        np.fill_diagonal(bend, W @ x**2)
        return np.asarray(bend)

    bottom = descend(evaluate, np.clip(start, -0.95, 0.95), hessian, BOUND)
    loadings = bottom.x * (-1.0 if bottom.x.sum() < 0.0 else 1.0)
    return WeightedFactors(
        loadings=loadings,
        objective=bottom.value,
        gradient=bottom.gradient,
        converged=bottom.converged,
        steps=bottom.steps,
        minima=1,
    )
