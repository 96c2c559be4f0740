"""What a kernel is compiled for."""

import numba
import numpy as np

from psychollm.kernels._jit import njit


@njit
def _entry(values, place):
    return values[place]


def test_a_literal_is_no_type_of_its_own():
    values = numba.typeof(np.zeros(2))
    for number in (0, 1):
        _entry.get_call_template((values, numba.types.literal(number)), {})
    assert _entry.signatures == [(values, numba.int64)]
