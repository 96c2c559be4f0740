"""Layer 5: strengths from votes of many voters."""

import numpy as np
import pandas as pd

import psychollm as psy


class Votes:
    """100,000 votes on 100 models by 5,000 voters."""

    timeout = 900

    def setup(self) -> None:
        rng = np.random.default_rng(1)
        n, k, voters = 100_000, 100, 5_000
        self.strength = rng.normal(size=k)
        left = rng.integers(0, k, n)
        right = (left + rng.integers(1, k, n)) % k
        voter = rng.integers(0, voters, n)
        gap = self.strength[left] - self.strength[right] + rng.normal(0.0, 0.4, voters)[voter]
        chance = np.stack([np.exp(gap / 2), np.ones(n), np.exp(-gap / 2)])
        won = (rng.random(n) > (chance / chance.sum(axis=0)).cumsum(axis=0)).sum(axis=0)
        sides = np.array(["left", "tie", "right"])
        winner = pd.Categorical(sides[np.minimum(won, 2)])
        self.votes = pd.DataFrame({"left": left, "right": right, "winner": winner, "voter": voter})

    def time_bradley_terry(self) -> None:
        psy.bradley_terry(self.votes, rng=1)

    def peakmem_bradley_terry(self) -> None:
        psy.bradley_terry(self.votes, rng=1)

    def track_error(self) -> float:
        found = psy.bradley_terry(self.votes, rng=1)
        truth = self.strength - self.strength.mean()
        error = found.strengths.value - truth[np.array(found.labels)]
        return float(np.sqrt((error**2).mean()))

    track_error.unit = "logits (RMSE)"  # type: ignore[attr-defined]
