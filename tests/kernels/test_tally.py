"""Counts of correct and wrong answers at each confidence."""

import numpy as np

from psychollm.kernels.tally import tally_counts, tally_resamples
from tests.oracles import tally_slow as slow


def test_twin():
    rng = np.random.default_rng(1)
    question = rng.integers(0, 30, size=80)
    group = rng.integers(0, 6, size=80)
    right = rng.choice([0.0, 1.0, 0.25], size=80)
    times = rng.multinomial(30, np.full(30, 1 / 30), size=7).astype(float)
    correct, wrong = np.full((7, 6), np.nan), np.full((7, 6), np.nan)
    tally_resamples(times, question, group, right, correct, wrong)
    for row in range(7):
        ours = slow.tally(times[row], question, group, right, 6)
        np.testing.assert_allclose([correct[row], wrong[row]], ours, rtol=1e-12)


def test_twin_of_small_counts():
    rng = np.random.default_rng(2)
    question = rng.integers(0, 30, size=80)
    group = np.sort(rng.integers(0, 6, size=80))
    right = rng.choice([0.0, 1.0], size=80)
    times = rng.multinomial(30, np.full(30, 1 / 30), size=7)
    correct, wrong = np.full((7, 6), np.nan), np.full((7, 6), np.nan)
    small = np.ascontiguousarray(times.T.astype(np.uint8))
    tally_counts(small, question, group, right, correct, wrong)
    for row in range(7):
        assert [correct[row].tolist(), wrong[row].tolist()] == list(
            slow.tally(times[row], question, group, right, 6)
        )
