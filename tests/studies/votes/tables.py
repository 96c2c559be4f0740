"""Votes whose truth is known."""

import numpy as np
import pandas as pd


def drawn(k=5, n=600, seed=1, voters=12, gap=0.8):
    """Votes of voters who differ; voter 3 always takes the left."""
    rng = np.random.default_rng(seed)
    strength = gap * np.arange(k)[::-1]
    left = rng.integers(0, k, n)
    right = (left + rng.integers(1, k, n)) % k
    voter = np.minimum(rng.geometric(0.2, n), voters) - 1
    side, tie = rng.normal(0.0, 0.4, voters), rng.normal(0.0, 0.8, voters)
    half = 0.5 * (strength[left] - strength[right] + 0.2 + side[voter])
    chance = np.stack([np.exp(half), np.exp(tie[voter]), np.exp(-half)])
    chance /= chance.sum(axis=0)
    won = (rng.random(n) > chance.cumsum(axis=0)).sum(axis=0)
    won[voter == 3] = 0
    names = np.array([f"m{i}" for i in range(k)])
    return pd.DataFrame(
        {
            "left": names[left],
            "right": names[right],
            "winner": np.array(["left", "tie", "right"])[won],
            "worker": voter,
        }
    )
