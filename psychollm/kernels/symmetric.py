"""Functions of small symmetric matrices: Cholesky solution, largest eigenvalue, positive part.

Kernels do not call LAPACK, because compiling the calls would take seconds; for k <= 100, plain
loops are as fast. The largest eigenvalue is found by Householder tridiagonalisation and bisection
on the Sturm sequence. Unlike power iteration, bisection does not stall if eigenvalues are close.
The positive part needs all eigenvalues, which Jacobi rotations compute.

References
----------
Golub, G. H., & Van Loan, C. F. (2013). Matrix computations (4th ed.), sections 8.3.1, 8.4.1, 8.5.
"""

import math

import numpy as np

from psychollm.kernels._jit import njit

TINY = 1e-300
SWEEPS = 30  # largest number of sweeps of rotations; four or five suffice


@njit
def cholesky(A):
    """Overwrite A's lower triangle with its factor; return False if A is not positive definite."""
    for i in range(A.shape[0]):
        for j in range(i + 1):
            value = A[i, j]
            for m in range(j):
                value -= A[i, m] * A[j, m]
            if i > j:
                A[i, j] = value / A[j, j]
            elif value > 0.0:
                A[i, i] = math.sqrt(value)
            else:
                return False
    return True


@njit
def solve_factored(L, b, x):
    """Solve L L' x = b with the lower triangle of L."""
    k = b.size
    for i in range(k):
        value = b[i]
        for m in range(i):
            value -= L[i, m] * x[m]
        x[i] = value / L[i, i]
    for i in range(k - 1, -1, -1):
        value = x[i]
        for m in range(i + 1, k):
            value -= L[m, i] * x[m]
        x[i] = value / L[i, i]


@njit
def cholesky_solve(A, b, x):
    """Solve A x = b, overwrite A's lower triangle; return False if A is not positive definite."""
    if not cholesky(A):
        return False
    solve_factored(A, b, x)
    return True


@njit
def _reflect(A, i, scale, beside):
    """Apply the Householder reflection that zeroes row i of A left of its subdiagonal."""
    h = 0.0
    for m in range(i):
        A[i, m] /= scale
        h += A[i, m] * A[i, m]
    f = A[i, i - 1]
    g = -math.copysign(math.sqrt(h), f)
    beside[i] = scale * g
    h -= f * g
    A[i, i - 1] = f - g
    dot = 0.0
    for j in range(i):
        g = 0.0
        for m in range(j + 1):
            g += A[j, m] * A[i, m]
        for m in range(j + 1, i):
            g += A[m, j] * A[i, m]
        beside[j] = g / h
        dot += beside[j] * A[i, j]
    half = dot / (h + h)
    for j in range(i):
        f = A[i, j]
        g = beside[j] - half * f
        beside[j] = g
        for m in range(j + 1):
            A[j, m] -= f * beside[m] + g * A[i, m]


@njit
def tridiagonalise(A, diagonal, beside):
    """Reduce symmetric A (its lower triangle, overwritten) to diagonal and subdiagonal."""
    k = diagonal.size
    for i in range(k - 1, 0, -1):
        scale = 0.0
        for m in range(i):
            scale += abs(A[i, m])
        if i == 1 or scale == 0.0:
            beside[i] = A[i, i - 1]
        else:
            _reflect(A, i, scale, beside)
    beside[0] = 0.0
    for i in range(k):
        diagonal[i] = A[i, i]


@njit
def _all_below(diagonal, beside, x):
    """Return whether every eigenvalue of the tridiagonal matrix is below x."""
    pivot = diagonal[0] - x
    if pivot >= 0.0:
        return False
    for i in range(1, diagonal.size):
        pivot = diagonal[i] - x - beside[i] * beside[i] / min(pivot, -TINY)
        if pivot >= 0.0:
            return False
    return True


@njit
def largest_eigenvalue(A):
    """Return the largest eigenvalue of symmetric A (overwritten) to about 1e-10 of its norm."""
    k = A.shape[0]
    diagonal, beside = np.empty(k), np.empty(k)
    tridiagonalise(A, diagonal, beside)
    low, high = diagonal[0], diagonal[0]
    for i in range(k):
        reach = abs(beside[i]) + (abs(beside[i + 1]) if i + 1 < k else 0.0)
        low = max(low, diagonal[i])
        high = max(high, diagonal[i] + reach)
    gap = 1e-10 * max(1.0, abs(high))
    while high - low > gap:
        middle = 0.5 * (low + high)
        if _all_below(diagonal, beside, middle):
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


@njit
def positive_part(A, axes):
    """Overwrite A with its positive semidefinite part; `axes` (q, q) is a work array."""
    q = A.shape[0]
    for i in range(q):
        for j in range(i + 1):
            axes[i, j] = A[i, j]
    if cholesky(axes):
        return
    for i in range(q):
        for j in range(q):
            axes[i, j] = 1.0 if i == j else 0.0
    for _ in range(SWEEPS):
        beside, all_of_it = 0.0, TINY
        for i in range(q):
            for j in range(q):
                all_of_it += A[i, j] * A[i, j]
                if i != j:
                    beside += A[i, j] * A[i, j]
        if beside <= 1e-32 * all_of_it:
            break
        for i in range(q):
            for j in range(i + 1, q):
                _rotate(A, axes, i, j)
    for i in range(q):
        # With columns scaled by the roots of eigenvalues, products of rows give the positive part.
        root = math.sqrt(max(A[i, i], 0.0))
        for j in range(q):
            axes[j, i] *= root
    for i in range(q):
        for j in range(q):
            value = 0.0
            for m in range(q):
                value += axes[i, m] * axes[j, m]
            A[i, j] = value


@njit
def _rotate(A, axes, i, j):
    """Set A[i, j] to zero by a rotation, and apply the rotation to the axes."""
    if A[i, j] == 0.0:
        return
    tau = (A[j, j] - A[i, i]) / (2.0 * A[i, j])
    t = math.copysign(1.0, tau) / (abs(tau) + math.sqrt(1.0 + tau * tau))
    c = 1.0 / math.sqrt(1.0 + t * t)
    s = t * c
    for m in range(A.shape[0]):
        left, right = A[m, i], A[m, j]
        A[m, i], A[m, j] = c * left - s * right, s * left + c * right
    for m in range(A.shape[0]):
        left, right = A[i, m], A[j, m]
        A[i, m], A[j, m] = c * left - s * right, s * left + c * right
        left, right = axes[m, i], axes[m, j]
        axes[m, i], axes[m, j] = c * left - s * right, s * left + c * right
