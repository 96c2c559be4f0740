"""What people would say, what a judge says, and labels of some answers."""

import numpy as np
import pandas as pd

MODELS, QUESTIONS = list("abc"), [f"q{k}" for k in range(300)]


def tables(seed: int = 0, n: int = 60, wrong: float = 0.1) -> tuple[pd.DataFrame, ...]:
    """Return what people would say, what a judge says, and labels of n questions."""
    rng = np.random.default_rng(seed)
    truth = (rng.random((3, 300)) < np.array([[0.8], [0.7], [0.5]])).astype(float)
    judge = np.where(rng.random(truth.shape) < wrong, 1.0 - truth, truth)
    people = np.where(rng.permutation(300) < n, truth, np.nan)
    return tuple(pd.DataFrame(one, MODELS, QUESTIONS) for one in (truth, judge, people))
