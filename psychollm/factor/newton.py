r"""A smooth function's minimum to the last digit, from its gradient alone.

Damped Newton steps. Second derivatives are central differences of the gradient, accurate to about
ten digits: enough for steps whose error shrinks with each, and no formula to get wrong.
Directions without curvature, such as rotations of a factor solution, are left alone; curvature
that is negative is taken with its sign removed, so that every step goes down.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from psychollm._base.types import FloatArray

Evaluate = Callable[[FloatArray], tuple[float, FloatArray]]

SPACING = 6e-6  # cube root of the rounding error
FLAT = 1e-9  # curvature below this share of the largest counts as none
GRADIENT = 1e-13
SETTLED = 1e-10
MAX_STEPS = 100
MAX_HALVINGS = 30


class Bottom(NamedTuple):
    """Where the iteration ended."""

    x: FloatArray  # (p,)
    value: float
    gradient: float  # largest component
    steps: int

    @property
    def converged(self) -> bool:
        """Whether the gradient vanishes."""
        return self.gradient <= SETTLED


def second_derivatives(evaluate: Evaluate, x: FloatArray) -> FloatArray:
    """Return central differences of the gradient (p, p), symmetric."""
    rows = np.empty((x.size, x.size))
    for i in range(x.size):
        h = SPACING * max(1.0, abs(float(x[i])))
        move = np.zeros(x.size)
        move[i] = h
        rows[i] = (evaluate(x + move)[1] - evaluate(x - move)[1]) / (2.0 * h)
    return np.asarray(0.5 * (rows + rows.T), dtype=np.float64)


def descend(evaluate: Evaluate, x: FloatArray) -> Bottom:
    """Minimise a function that returns value and gradient (p,), from x (p,)."""
    value, gradient = evaluate(x)
    steps = 0
    while steps < MAX_STEPS and float(np.abs(gradient).max()) > GRADIENT:
        direction = _direction(second_derivatives(evaluate, x), gradient)
        proposed, trial, slope = _shortened(evaluate, x, direction, value, gradient)
        if proposed is x:
            break
        x, value, gradient = proposed, trial, slope
        steps += 1
    return Bottom(x, value, float(np.abs(gradient).max()), steps)


def _direction(hessian: FloatArray, gradient: FloatArray) -> FloatArray:
    values, vectors = np.linalg.eigh(hessian)
    sizes = np.abs(values)
    along = vectors.T @ gradient
    steep = sizes > FLAT * max(float(sizes.max()), 1e-300)
    move = np.where(steep, along / np.where(steep, sizes, 1.0), 0.0)
    return np.asarray(-vectors @ move, dtype=np.float64)


def _shortened(
    evaluate: Evaluate, x: FloatArray, direction: FloatArray, value: float, gradient: FloatArray
) -> tuple[FloatArray, float, FloatArray]:
    """Halve a step until it ends lower, or as low with a smaller gradient; x itself if never."""
    slack = 1e-14 * (1.0 + abs(value))
    before = float(np.abs(gradient).max())
    length = 1.0
    for _ in range(MAX_HALVINGS):
        trial, slope = evaluate(x + length * direction)
        smaller = float(np.abs(slope).max()) < before
        if trial < value - slack or (trial <= value + slack and smaller):
            return x + length * direction, trial, slope
        length *= 0.5
    return x, value, gradient
