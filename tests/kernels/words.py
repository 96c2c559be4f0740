"""What only tests need of packed answers and random streams."""

import numpy as np

from psychollm._base.types import AnyArray, WordArray
from psychollm.kernels.random import seed_stream


def unpack_rows(words: WordArray, n: int) -> AnyArray:
    """Undo `pack_rows`: booleans of shape (k, n)."""
    octets = np.ascontiguousarray(words).view(np.uint8)
    return np.unpackbits(octets, axis=1, count=n, bitorder="little").view(np.bool_)


def new_stream(seed: WordArray) -> WordArray:
    """Return the state of a stream from two seed words, shape (2,)."""
    return seed_stream.py_func(seed)
