"""Slow twin of the random streams in kernels: whole numbers of any size, cut to 64 bits."""

import math

WORD = (1 << 64) - 1


def seeded(first, second):
    """State of xoshiro256++ from splitmix64, the second word mixed in after two steps."""
    state, x = [], first
    for step in range(4):
        if step == 2:
            x ^= second
        x = (x + 0x9E3779B97F4A7C15) & WORD
        z = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & WORD
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & WORD
        state.append(z ^ (z >> 31))
    return state


def rotated(x, by):
    return (x << by | x >> (64 - by)) & WORD


def word(state):
    """Next 64 bits (Blackman & Vigna, 2021); `state` is a list and is advanced."""
    value = (rotated((state[0] + state[3]) & WORD, 23) + state[0]) & WORD
    shifted = state[1] << 17 & WORD
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= shifted
    state[3] = rotated(state[3], 45)
    return value


def uniform(state):
    return (word(state) >> 11) / 2**53


def below(state, bound):
    """Multiply 32 bits by the bound; draw again where the low half is among the surplus ones."""
    while True:
        product = (word(state) >> 32) * bound
        if product % 2**32 >= 2**32 % bound:
            return product >> 32


def normal(state):
    """Marsaglia's polar method."""
    while True:
        u, v = 2 * uniform(state) - 1, 2 * uniform(state) - 1
        if 0 < u * u + v * v < 1:
            return u * math.sqrt(-2 * math.log(u * u + v * v) / (u * u + v * v))
