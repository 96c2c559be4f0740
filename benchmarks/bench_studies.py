"""Layer 4: the verdict and the whole study, on the embedded example."""

import numpy as np

import psychollm as psy
from psychollm.estimates.resampling import Bootstrap


class Study:
    """19 models, 2,000 questions."""

    timeout = 900

    def setup(self) -> None:
        self.example = psy.load_example("shared_confidence")
        psy.dimensionality(self.example.confidence, n_null=19, rng=1)

    def time_load_example(self) -> None:
        psy.load_example("shared_confidence")

    def time_screen(self) -> None:
        psy.validity_screen(self.example.confidence, self.example.correctness)

    def time_dimensionality(self) -> None:
        psy.dimensionality(self.example.confidence, rng=1, n_jobs=2)

    def time_shared_confidence(self) -> None:
        psy.shared_confidence(
            self.example.confidence, self.example.correctness, rng=1, bootstrap=Bootstrap(n_jobs=2)
        )


class Horizons:
    """Time horizons of 300 models on 600 tasks in families, two definitions."""

    timeout = 900

    def setup(self) -> None:
        rng = np.random.default_rng(1)
        length = rng.uniform(-2.0, 9.0, 600)
        odds = rng.uniform(0.0, 9.0, (300, 1)) - 1.4 * length + 2.6 * rng.normal(size=600)
        self.solved = (rng.random(odds.shape) < 1.0 / (1.0 + np.exp(-odds))).astype(float)
        self.minutes, self.families = 2.0**length, np.arange(600) // 3
        psy.time_horizon(self.solved[:3], self.minutes)

    def time_horizons(self) -> None:
        psy.time_horizon(self.solved, self.minutes, families=self.families, rng=1)

    def peakmem_horizons(self) -> None:
        psy.time_horizon(self.solved, self.minutes, families=self.families, rng=1)


class Recency:
    """Breaks of 60 models on 1,000 questions, with a known and an unknown date."""

    timeout = 900

    def setup(self) -> None:
        rng = np.random.default_rng(1)
        odds = rng.normal(size=(60, 1)) + rng.normal(size=1_000)
        self.scores = (rng.random((60, 1_000)) < 1.0 / (1.0 + np.exp(-odds))).astype(float)
        start = np.datetime64("2024-01-01")
        self.published = start + np.sort(rng.integers(0, 300, 1_000)).astype("timedelta64[D]")

    def time_known_date(self) -> None:
        psy.recency_break(self.scores, published=self.published, cutoff="2024-06-01", rng=1)

    def time_searched_date(self) -> None:
        psy.recency_break(self.scores, published=self.published, rng=1)
