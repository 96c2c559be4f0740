"""Tables of attempts for tests."""

import numpy as np
import pandas as pd

COUNTS = {"question": "task", "successes": "right", "trials": "tried"}


def counts(successes, trials):
    """Return a long table of counts from arrays (models, tasks)."""
    successes, trials = np.broadcast_arrays(successes, trials)
    m, n = successes.shape
    return pd.DataFrame(
        {
            "model": np.repeat([f"m{i}" for i in range(m)], n),
            "task": np.tile(np.arange(n), m),
            "right": successes.ravel(),
            "tried": trials.ravel(),
        }
    )
