"""A table of known truth and its scale."""

import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm.studies.stitching.result import StitchedBenchmarks


def _table(
    rng: np.random.Generator, n: int = 40, b: int = 10, filled: float = 0.5
) -> pd.DataFrame:
    """Return a long table of known truth: ability in column `able`, difficulty in `hard`."""
    able, hard = rng.normal(size=n), rng.normal(size=b)
    slope = np.exp(rng.normal(0.2, 0.3, b))
    p = 1.0 / (1.0 + np.exp(-slope * (able[:, None] - hard)))
    score = np.clip(p + rng.normal(0, 0.2, p.shape) * np.sqrt(p * (1 - p)), 0.0, 1.0)
    rows, columns = np.nonzero(rng.random(p.shape) < filled)
    return pd.DataFrame(
        {
            "model": [f"m{row}" for row in rows],
            "benchmark": [f"b{column}" for column in columns],
            "performance": score[rows, columns],
            "able": able[rows],
            "hard": hard[columns],
            "date": [
                str(np.datetime64("2023-01-01") + np.timedelta64(int(200 * (able[row] + 3)), "D"))
                for row in rows
            ],
        }
    )


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return _table(np.random.default_rng(3))


@pytest.fixture(scope="module")
def found(frame: pd.DataFrame) -> StitchedBenchmarks:
    return psy.stitch_benchmarks(
        frame, model="model", benchmark="benchmark", score="performance", rng=1
    )
