"""Models of which the first may have seen the earlier questions."""

import numpy as np
import pandas as pd
from scipy.special import expit

CUT = "2024-05-30"


def drawn(rng, models=8, questions=240, seen=0.0, harder=1.5):
    """Return scores and dates; the first model has seen what was published before the cut."""
    day = np.sort(rng.integers(0, 300, questions))
    hard = rng.normal(0.0, 1.5, questions) + harder * day / 300.0
    slope = np.exp(rng.normal(0.0, 0.2, models))[:, None]
    odds = np.linspace(-1.0, 1.5, models)[:, None] + slope * (
        rng.normal(0.0, 0.5, (models, questions)) - hard
    )
    odds[0] += seen * (day <= 150)
    names = [f"q{q}" for q in range(questions)]
    scores = pd.DataFrame(
        (rng.random(odds.shape) < expit(odds)).astype(int),
        index=[f"m{m}" for m in range(models)],
        columns=names,
    )
    dates = pd.Series(pd.Timestamp("2024-01-01") + pd.to_timedelta(day, unit="D"), index=names)
    return scores, dates
