"""Loops, against array functions of NumPy."""

import numpy as np

from psychollm.kernels.loops import copy_rows, copy_values, dot


def test_loops_are_array_functions():
    rng = np.random.default_rng(0)
    a, b = rng.integers(-9, 9, (2, 7)).astype(float)
    assert dot(a, b) == a @ b
    target = np.zeros(7)
    copy_values(a, target)
    np.testing.assert_array_equal(target, a)
    rows, copied = rng.random((3, 6)), np.zeros((3, 4))
    copy_rows(rows[:, 2:], copied)
    np.testing.assert_array_equal(copied, rows[:, 2:])
