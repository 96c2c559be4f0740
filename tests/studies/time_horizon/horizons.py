"""Agents and tasks of known horizons."""

import numpy as np
import pandas as pd
from scipy.special import expit


def drawn(rng, models=8, tasks=120, scatter=2.6, slope=1.4):
    """Return solved (models, tasks), minutes, and true log2 horizons of typical tasks at .5."""
    length = rng.uniform(-2.0, 9.0, tasks)
    horizon = np.linspace(0.0, 7.0, models)
    odds = slope * (horizon[:, None] - length) + scatter * rng.normal(size=tasks)
    solved = pd.DataFrame(
        (rng.random((models, tasks)) < expit(odds)).astype(int),
        index=[f"m{m}" for m in range(models)],
        columns=[f"t{t}" for t in range(tasks)],
    )
    return solved, pd.Series(2.0**length, index=solved.columns), horizon
