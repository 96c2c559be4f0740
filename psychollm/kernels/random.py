"""Random numbers inside kernels: xoshiro256++ streams, one per replicate.

The state of a stream consists of four words, which splitmix64 derives from two seed words. Every
replicate thus has its own stream, regardless of the thread, chunk or machine. Integers below a
bound are drawn without bias by Lemire's method.

References
----------
Blackman, D., & Vigna, S. (2021). Scrambled linear pseudorandom number generators. ACM
Transactions on Mathematical Software, 47(4), 36. https://doi.org/10.1145/3460772
Lemire, D. (2019). Fast random integer generation in an interval. ACM Transactions on Modeling and
Computer Simulation, 29(1), 3. https://doi.org/10.1145/3230636
"""

import math

import numpy as np

from psychollm._base.types import FloatArray, WordArray
from psychollm.kernels._jit import njit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
LOW_32 = np.uint64(0xFFFFFFFF)
U11, U17, U19, U23, U27, U30, U31, U32, U41, U45, U64 = (
    np.uint64(n) for n in (11, 17, 19, 23, 27, 30, 31, 32, 41, 45, 64)
)
TWO_POW_MINUS_53 = 1.1102230246251565e-16


@njit
def _fill_stream(seed, state):
    """Fill the four words of a state by splitmix64."""
    x = seed[0]
    for i in range(4):
        if i == 2:
            x ^= seed[1]
        x += GOLDEN
        z = x
        z = (z ^ (z >> U30)) * MIX_1
        z = (z ^ (z >> U27)) * MIX_2
        state[i] = z ^ (z >> U31)


@njit
def seed_stream(seed):
    """Return the initial state of a stream, given two seed words, shape (2,)."""
    state = np.empty(4, dtype=np.uint64)
    _fill_stream(seed, state)
    return state


@njit
def advance(s0, s1, s2, s3):
    """Return 64 random bits and the next state."""
    total = s0 + s3
    result = ((total << U23) | (total >> U41)) + s0
    t = s1 << U17
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= t
    s3 = (s3 << U45) | (s3 >> U19)
    return result, s0, s1, s2, s3


@njit
def next_word(state: WordArray) -> np.uint64:
    """Return 64 random bits and advance the stream."""
    result, s0, s1, s2, s3 = advance(state[0], state[1], state[2], state[3])
    state[0], state[1], state[2], state[3] = s0, s1, s2, s3
    return result


# The loops below keep the state in registers. With `next_word`, the state would be written to
# memory at each step, because the compiler cannot rule out that it overlaps the output array.


@njit
def fill_words(state: WordArray, words: WordArray) -> None:
    """Fill `words` with the random words that `next_word` would return."""
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    for i in range(words.size):
        words[i], s0, s1, s2, s3 = advance(s0, s1, s2, s3)
    state[0], state[1], state[2], state[3] = s0, s1, s2, s3


@njit
def fill_normals(state: WordArray, out: FloatArray, squares: FloatArray) -> None:
    """Fill `out` with the numbers that `normal` would return; `squares` is a work array."""
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    count = 0
    while count < out.size:  # no branches: the next pair overwrites a rejected one
        first, s0, s1, s2, s3 = advance(s0, s1, s2, s3)
        second, s0, s1, s2, s3 = advance(s0, s1, s2, s3)
        u, v = 2.0 * as_uniform(first) - 1.0, 2.0 * as_uniform(second) - 1.0
        s = u * u + v * v
        out[count], squares[count] = u, s
        count += int(s > 0.0) & int(s < 1.0)
    state[0], state[1], state[2], state[3] = s0, s1, s2, s3
    for i in range(out.size):
        s = squares[i]
        out[i] *= math.sqrt(-2.0 * math.log(s) / s)


@njit
def as_uniform(word: np.uint64) -> float:
    """Convert 53 of 64 random bits to a number in [0, 1)."""
    return float(word >> U11) * TWO_POW_MINUS_53


@njit
def uniform(state: WordArray) -> float:
    """Return a number in [0, 1) with 53 random bits."""
    return as_uniform(next_word(state))


@njit
def advance_below(s0, s1, s2, s3, bound):
    """Return a random integer in [0, bound), bound < 2^32, without bias, and the next state."""
    size = np.uint64(bound)
    word, s0, s1, s2, s3 = advance(s0, s1, s2, s3)
    product = (word >> U32) * size
    low = product & LOW_32
    if low < size:
        threshold = (np.uint64(0x100000000) - size) % size
        while low < threshold:
            word, s0, s1, s2, s3 = advance(s0, s1, s2, s3)
            product = (word >> U32) * size
            low = product & LOW_32
    return np.int64(product >> U32), s0, s1, s2, s3


@njit
def below(state: WordArray, bound: int) -> np.int64:
    """Return a random integer in [0, bound), bound < 2^32, and advance the stream."""
    drawn, s0, s1, s2, s3 = advance_below(state[0], state[1], state[2], state[3], bound)
    state[0], state[1], state[2], state[3] = s0, s1, s2, s3
    return drawn


@njit
def normal(state: WordArray) -> float:
    """Return a standard normal number, the first of a pair from Marsaglia's polar method."""
    while True:
        u = 2.0 * uniform(state) - 1.0
        v = 2.0 * uniform(state) - 1.0
        s = u * u + v * v
        if 0.0 < s < 1.0:
            return u * math.sqrt(-2.0 * math.log(s) / s)
