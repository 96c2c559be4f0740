r"""Rotation by gradient projection, with the same algorithm for all criteria.

Factors are rotated by T with :math:`\Lambda = A (T^\top)^{-1}`, :math:`\Phi = T^\top T`. For
oblique rotations, the columns of T have length one; for orthogonal rotations, they are
orthonormal. The gradient of the criterion in T is projected onto the tangent space of these
constraints. The result of each step is projected back, by scaling columns or by the polar
decomposition; steps are halved until the criterion decreases enough.

Plain gradient descent takes hundreds of steps. Step lengths are therefore derived from the change
of the gradient (Barzilai & Borwein, 1988), so that a few dozen steps suffice. A step may increase
the criterion as long as the criterion stays below the largest of the last few values (Grippo,
Lampariello & Lucidi, 1986).

References
----------
Jennrich, R. I. (2001). A simple general procedure for orthogonal rotation. Psychometrika, 66(2),
289-306. https://doi.org/10.1007/BF02294840

Jennrich, R. I. (2002). A simple general method for oblique rotation. Psychometrika, 67(1), 7-19.
https://doi.org/10.1007/BF02294706

Barzilai, J., & Borwein, J. M. (1988). Two-point step size gradient methods. IMA Journal of
Numerical Analysis, 8(1), 141-148.

Grippo, L., Lampariello, F., & Lucidi, S. (1986). A nonmonotone line search technique for Newton's
method. SIAM Journal on Numerical Analysis, 23(4), 707-716.
"""

from dataclasses import dataclass

import numpy as np

from psychollm._base.convergence import Convergence
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.factor.exploratory.criteria import Criterion

MEMORY = 6
MAX_HALVINGS = 30
DESCENT = 1e-4
LONGEST, SHORTEST = 1e6, 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Turned:
    """Final loadings, transformation and status of each start."""

    loadings: FloatArray  # (b, k, m)
    transformations: FloatArray  # (b, m, m) T
    values: FloatArray  # (b,) values of the criterion
    converged: BoolArray  # (b,)
    steps: IntArray  # (b,)

    def ending(self, start: int) -> Convergence:
        """Return the convergence status of one start."""
        return Convergence.of_steps(
            converged=bool(self.converged[start]),
            steps=int(self.steps[start]),
            objective=float(self.values[start]),
        )


def turn(
    criterion: Criterion,
    loadings: FloatArray,
    starts: FloatArray,
    *,
    tolerance: float = 1e-9,
    max_steps: int = 2000,
) -> Turned:
    """Minimise a criterion over transformations, from each of several starts (b, m, m)."""
    # The first axis of loadings (b, k, m) may have length 1, for many starts of one problem.
    loadings = np.broadcast_to(loadings, (len(starts), *loadings.shape[1:]))
    ways = _Ways(criterion, loadings)
    T = starts.copy()
    values, gradient = ways.evaluate(T, np.arange(len(T)))
    recent = np.repeat(values[:, None], MEMORY, axis=1)
    length = 1.0 / np.maximum(_size(gradient), 1e-12)
    steps, going = np.zeros(len(T), dtype=np.int64), np.arange(len(T))
    for step in range(max_steps):
        going = going[_size(gradient[going]) > tolerance]
        if not going.size:
            break
        before, slope = T[going], gradient[going]
        T[going], moved = ways.advance(before, slope, length[going], recent[going].max(1), going)
        values[going], gradient[going] = ways.evaluate(T[going], going)
        recent[going, step % MEMORY] = values[going]
        length[going] = _next_length(T[going] - before, gradient[going] - slope)
        steps[going] += 1
        going = going[moved]
    return Turned(
        loadings=ways.turned(T, np.arange(len(T))),
        transformations=T,
        values=values,
        converged=_size(gradient) <= max(tolerance, 1e-7),
        steps=steps,
    )


def random_starts(n: int, m: int, rng: np.random.Generator) -> FloatArray:
    """Return n orthogonal matrices (n, m, m): the identity, then random orthogonal matrices."""
    Q, R = np.linalg.qr(rng.standard_normal((n, m, m)))
    Q = Q * np.sign(np.diagonal(R, axis1=1, axis2=2))[:, None, :]
    Q[0] = np.eye(m)
    return np.asarray(Q, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class _Ways:
    """Loadings and gradients as functions of T, and projection of T onto the constraints."""

    criterion: Criterion
    loadings: FloatArray  # (b, k, m) unrotated loadings A

    def turned(self, T: FloatArray, which: IntArray) -> FloatArray:
        if not self.criterion.oblique:
            return np.asarray(self.loadings[which] @ T, dtype=np.float64)
        return np.asarray(
            self.loadings[which] @ np.swapaxes(np.linalg.inv(T), 1, 2), dtype=np.float64
        )

    def evaluate(self, T: FloatArray, which: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return values (b,) and projected gradients (b, m, m)."""
        rotated = self.turned(T, which)
        values, slopes = self.criterion.evaluate(rotated)
        if self.criterion.oblique:
            inner = np.swapaxes(rotated, 1, 2) @ slopes @ np.linalg.inv(T)
            G = -np.swapaxes(inner, 1, 2)
            return values, G - T * np.sum(T * G, axis=1, keepdims=True)
        G = np.swapaxes(self.loadings[which], 1, 2) @ slopes
        across = np.swapaxes(T, 1, 2) @ G
        return values, G - T @ (0.5 * (across + np.swapaxes(across, 1, 2)))

    def admissible(self, T: FloatArray) -> FloatArray:
        if self.criterion.oblique:
            return np.asarray(T / np.sqrt(np.sum(T**2, axis=1, keepdims=True)), dtype=np.float64)
        left, _, right = np.linalg.svd(T)
        return np.asarray(left @ right, dtype=np.float64)

    def advance(
        self,
        T: FloatArray,
        gradient: FloatArray,
        length: FloatArray,
        ceiling: FloatArray,
        which: IntArray,
    ) -> tuple[FloatArray, BoolArray]:
        """Return transformations after one step, and a mask of transformations that changed."""
        moved_to, waiting, length = T.copy(), np.arange(len(T)), length.copy()
        squares = np.sum(gradient**2, axis=(1, 2))
        slack = 1e-15 * (1.0 + np.abs(ceiling))
        for _ in range(MAX_HALVINGS):
            tried = self.admissible(T[waiting] - length[waiting, None, None] * gradient[waiting])
            value = self.criterion.evaluate(self.turned(tried, which[waiting]))[0]
            wanted = DESCENT * length[waiting] * squares[waiting]
            good = value <= ceiling[waiting] - wanted + slack[waiting]
            moved_to[waiting[good]] = tried[good]
            waiting = waiting[~good]
            if not waiting.size:
                break
            length[waiting] *= 0.5
        moved = np.ones(len(T), dtype=np.bool_)
        moved[waiting] = False
        return moved_to, moved


def _size(gradient: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt(np.sum(gradient**2, axis=(1, 2))), dtype=np.float64)


def _next_length(change: FloatArray, bend: FloatArray) -> FloatArray:
    """Return the step length for which a quadratic function explains the gradient change."""
    along = np.abs(np.sum(change * bend, axis=(1, 2)))
    with np.errstate(divide="ignore", invalid="ignore"):
        length = np.sum(change**2, axis=(1, 2)) / along
    length = np.nan_to_num(length, nan=1.0, posinf=LONGEST)
    return np.asarray(np.clip(length, SHORTEST, LONGEST), dtype=np.float64)
