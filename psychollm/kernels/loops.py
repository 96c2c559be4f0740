"""Loops in place of array expressions, which Numba compiles for up to a second each.

`a[:] = b` costs the most, then `max`, `searchsorted`, sums and products of arrays. Filling with a
number is cheap.
"""

from psychollm.kernels._jit import njit


@njit
def dot(a, b):
    """Return the sum of the products of two vectors."""
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@njit
def copy_values(source, target):
    """Copy a vector."""
    for i in range(target.size):
        target[i] = source[i]


@njit
def copy_rows(source, target):
    """Copy an array of two dimensions."""
    for i in range(target.shape[0]):
        for j in range(target.shape[1]):
            target[i, j] = source[i, j]
