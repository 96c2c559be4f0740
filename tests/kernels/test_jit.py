"""What a kernel is compiled for."""

import numpy as np

from psychollm.kernels._jit import njit


@njit
def _entry(values, place):
    return values[place]


@njit
def _ends(values):
    place = 0
    while place < values.size - 1:
        place += 1
    return _entry(values, 0) + _entry(values, place)


def test_a_literal_is_no_type_of_its_own():
    assert _ends(np.array([1.0, 2.0, 4.0])) == 5.0
    ((_, place),) = _entry.signatures
    assert str(place) == "int64"
