"""Layer 5: many benchmarks on one scale."""

import numpy as np
from scipy.special import expit

import psychollm as psy


class Stitching:
    """300 models, 60 benchmarks, a fifth of the cells filled."""

    timeout = 900

    def setup(self) -> None:
        rng = np.random.default_rng(1)
        able, hard = rng.normal(size=(300, 1)), rng.normal(size=60)
        p = expit(np.exp(rng.normal(0.0, 0.4, 60)) * (able - hard))
        scores = np.clip(p + rng.normal(0.0, 0.15, p.shape) * np.sqrt(p * (1.0 - p)), 0.0, 1.0)
        self.scores = np.where(rng.random(p.shape) < 0.2, scores, np.nan)
        self.scale = psy.stitch_benchmarks(self.scores, n_abilities=1, rng=1)

    def time_stitch_benchmarks(self) -> None:
        psy.stitch_benchmarks(self.scores, rng=1)

    def peakmem_stitch_benchmarks(self) -> None:
        psy.stitch_benchmarks(self.scores, rng=1)

    def time_predict_new_model(self) -> None:
        self.scale.predict("new", given={0: 0.6, 1: 0.7, 2: 0.5})
