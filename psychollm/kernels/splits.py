r"""Splits of items into two halves: enumeration of all splits, and exchanges that improve a split.

A split is a vector of signs :math:`s_j = \pm 1`; with a matrix C of covariances, total
:math:`V = 1'C1` and halves A and B, Guttman's coefficient of the split is

.. math:: \frac{4 \operatorname{cov}(A, B)}{V} = 1 - \frac{s'Cs}{V}.                     \quad (1)

Changing the sign of item j changes the quadratic form by

.. math:: q \to q - 4 s_j g_j + 4 c_{jj}, \qquad g = Cs \to g - 2 s_j C_{\cdot j},       \quad (2)

so that the step to the next split takes a small multiple of k operations.

References
----------
Guttman, L. (1945). A basis for analyzing test-retest reliability. Psychometrika, 10(4), 255-282.
https://doi.org/10.1007/BF02288892
"""

import numpy as np

from psychollm._base.types import FloatArray, IntArray
from psychollm.kernels._jit import njit
from psychollm.kernels.loops import copy_values


@njit
def _flip(matrix, signs, products, j):
    """Change one sign, update g of equation (2) accordingly, and return the change of q."""
    sign = signs[j]
    change = 4.0 * (matrix[j, j] - sign * products[j])
    for i in range(signs.size):
        products[i] -= 2.0 * sign * matrix[i, j]
    signs[j] = -sign
    return change


@njit
def _start(matrix, signs, products):
    """Fill g of equation (2), and return q."""
    form = 0.0
    for i in range(signs.size):
        products[i] = 0.0
        for j in range(signs.size):
            products[i] += matrix[i, j] * signs[j]
        form += signs[i] * products[i]
    return form


@njit
def enumerate_splits(
    matrix: FloatArray,
    chosen: IntArray,
    first_free: int,
    forms: FloatArray,
    lowest: FloatArray,
    highest: FloatArray,
) -> None:
    """Fill `forms` with s'Cs of every split, `lowest` and `highest` with signs of the extremes."""
    # `chosen` (m,) holds the items of the first half in increasing order and is overwritten; items
    # before index `first_free` always stay in the first half. Splits are visited in lexicographic
    # order of `chosen`.
    k, m = matrix.shape[0], chosen.size
    signs, products = np.full(k, -1.0), np.empty(k)
    for position in range(m):
        signs[chosen[position]] = 1.0
    form = _start(matrix, signs, products)
    least, most = np.inf, -np.inf
    for split in range(forms.size):
        forms[split] = form
        if form < least:
            least = form
            copy_values(signs, lowest)
        if form > most:
            most = form
            copy_values(signs, highest)
        position = m - 1
        while position >= first_free and chosen[position] == k - m + position:
            position -= 1
        if position < first_free:
            break
        for later in range(position, m):
            form += _flip(matrix, signs, products, chosen[later])
        chosen[position] += 1
        for later in range(position + 1, m):
            chosen[later] = chosen[later - 1] + 1
        for later in range(position, m):
            form += _flip(matrix, signs, products, chosen[later])


@njit
def exchange(matrix: FloatArray, signs: FloatArray, direction: float) -> None:
    """Exchange items between the halves as long as an exchange reduces ``direction * s'Cs``."""
    # `signs` (k,) is changed in place. Every step makes the best available exchange; the sizes of
    # the halves do not change.
    k = signs.size
    products = np.empty(k)
    scale = abs(_start(matrix, signs, products))
    for j in range(k):
        scale += matrix[j, j]
    while True:
        best, first, second = -1e-12 * scale, -1, -1
        for i in range(k):
            if signs[i] < 0.0:
                continue
            for j in range(k):
                if signs[j] > 0.0:
                    continue
                # Equation (2) is applied twice, since both signs change, and corrected for the
                # pair's own term.
                change = 4.0 * (matrix[i, i] + matrix[j, j] - 2.0 * matrix[i, j])
                change += 4.0 * (products[j] - products[i])
                if direction * change < best:
                    best, first, second = direction * change, i, j
        if first < 0:
            break
        _flip(matrix, signs, products, first)
        _flip(matrix, signs, products, second)
