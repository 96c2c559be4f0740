"""Resamples: how often units are drawn, and estimates made of draws."""

import numpy as np

from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import (
    Resampling,
    bootstrap_draws,
    bootstrap_estimate,
    question_counts,
    resample,
)


def test_resampled_questions() -> None:
    assert question_counts(np.array([[1, 2]], dtype=np.uint64), 5).sum() == 5.0


def test_interval_of_draws() -> None:
    found = bootstrap_estimate(
        "x",
        np.array([50.0]),
        np.arange(101.0)[:, None],
        n=np.ones(1),
        flags=(Reason.NONE,),
        level=0.9,
        labels=("m",),
    )
    np.testing.assert_allclose(found.interval, [[5.0, 95.0]], rtol=1e-12)


def test_resampled_statistics() -> None:
    draws = bootstrap_draws(lambda counts: counts @ np.arange(4.0) / 4, 4, Resampling(3, rng=0))
    assert draws.shape == (3,)
    found = resample(
        lambda counts: (counts @ np.arange(4.0) / counts.sum(axis=1))[:, None], 4, Resampling(0)
    )
    assert found.value.tolist() == [1.5]
    assert found.left_out[:, 0].round(8).tolist() == [2.0, 1.66666667, 1.33333333, 1.0]
    assert found.draws is None
