"""The streams behind replicates: independent, uniform, reproducible."""

import numpy as np
import pytest

from psychollm.kernels.random import below, fill_normals, fill_words, next_word, normal, uniform
from tests.kernels.words import new_stream
from tests.oracles import streams_slow as slow


def stream(first, second=1):
    return new_stream(np.array([first, second], dtype=np.uint64))


def test_known_words():
    """First words of xoshiro256++ from the state (1, 2, 3, 4), by hand from its definition."""
    state = np.array([1, 2, 3, 4], dtype=np.uint64)
    assert [int(next_word(state)) for _ in range(3)] == [41943041, 58720359, 3588806011781223]


def test_neighbouring_seeds_are_unrelated():
    words = {int(next_word(stream(seed, other))) for seed in range(200) for other in range(5)}
    assert len(words) == 1000


def test_same_seed_same_stream():
    one, two = stream(7), stream(7)
    assert [next_word(one) for _ in range(5)] == [next_word(two) for _ in range(5)]


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 100, 2**31 + 11])
def test_below_is_in_range_and_uniform(bound):
    state = stream(3)
    draws = np.array([below(state, bound) for _ in range(20_000)])
    assert draws.min() >= 0
    assert draws.max() < bound
    # Six standard errors of the mean of a uniform: false alarms of 2e-9.
    assert abs(draws.mean() - (bound - 1) / 2) <= 6 * bound / np.sqrt(12 * draws.size)


def test_uniform_and_normal_moments():
    state = stream(5)
    u = np.array([uniform(state) for _ in range(50_000)])
    z = np.array([normal(state) for _ in range(50_000)])
    assert u.min() >= 0
    assert u.max() < 1
    assert abs(u.mean() - 0.5) < 6 * np.sqrt(1 / 12 / u.size)
    assert abs(z.mean()) < 6 / np.sqrt(z.size)
    assert abs(z.var() - 1) < 6 * np.sqrt(2 / z.size)


@pytest.mark.parametrize("seed", [(0, 0), (7, 1), (2**64 - 1, 12345)])
def test_twin(seed):
    ours, theirs = stream(*seed), slow.seeded(*seed)
    assert ours.tolist() == theirs
    assert [int(next_word(ours)) for _ in range(50)] == [slow.word(theirs) for _ in range(50)]
    assert [uniform(ours) for _ in range(50)] == [slow.uniform(theirs) for _ in range(50)]
    for bound in (1, 3, 1000, 2**31 + 11):  # of the last nearly half is drawn again
        assert [below(ours, bound) for _ in range(50)] == [
            slow.below(theirs, bound) for _ in range(50)
        ]
    np.testing.assert_allclose(
        [normal(ours) for _ in range(50)], [slow.normal(theirs) for _ in range(50)], rtol=1e-13
    )


def test_loops_draw_what_single_calls_draw():
    for size in (1, 10, 64):
        one, two = stream(7), stream(7)
        words, normals, work = np.empty(size, dtype=np.uint64), np.empty(size), np.empty(size)
        fill_words(one, words)
        assert words.tolist() == [next_word(two) for _ in range(size)]
        fill_normals(one, normals, work)
        assert normals.tolist() == [normal(two) for _ in range(size)]
        assert one.tolist() == two.tolist()
