"""A headline beside what is found, and the rules by which it counts as reproduced.

A published number is reproduced if our 95 % interval includes it. A published direction is
reproduced if our whole interval has that direction. If the interval includes both directions, the
result is inconclusive. A figure is no evidence if it is the same without the claimed effect.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from psychollm.estimates import Bootstrap
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Resampling, resample

Outcome = Literal["reproduced", "not reproduced", "no evidence", "inconclusive"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One headline: what was published, what is found, and what to make of it."""

    headline: str
    published: str
    found: str  # with its interval
    held_out: str = ""  # the same where it could fail
    outcome: Outcome
    verdict: str  # a sentence


def shown(value: float, interval: Any, digits: int = 2) -> str:
    """Return a number with its interval, which no line breaks."""
    low, high = np.asarray(interval, dtype=float)
    return f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]".replace(
        " ", "\N{NO-BREAK SPACE}"
    )


def inside(published: float, interval: Any) -> Outcome:
    """Judge a published number by our interval."""
    low, high = np.asarray(interval, dtype=float)
    return "reproduced" if low <= published <= high else "not reproduced"


def beyond(interval: Any, bound: float = 0.0, *, above: bool = True) -> Outcome:
    """Judge a published direction: is our interval above (below) the bound?"""
    low, high = np.asarray(interval, dtype=float)
    if low <= bound <= high:
        return "inconclusive"
    return "reproduced" if (low > bound) == above else "not reproduced"


def resampled(
    name: str,
    statistic: Callable[[np.ndarray], float],
    n: int,
    *,
    clusters: Any = None,
    bootstrap: int = 1000,
) -> Estimate:
    """Return a statistic of weights (n,) of the units, with an interval from resampling them."""
    codes = None if clusters is None else pd.factorize(np.asarray(clusters))[0]
    return resample(
        lambda counts: np.array([[statistic(row)] for row in counts]),
        n,
        Resampling.of(Bootstrap(bootstrap), 0.95, 0),
        clusters=codes,
    ).estimate(
        name,
        n=np.array([float(n)]),
        flags=(Reason.NONE,),
        labels=("all",),
        interval="percentile",
        over="units",
    )


def correlation(x: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return the correlation of two variables, with weights if given."""
    weights = np.ones(len(x)) if weights is None else weights
    x, y = (one - np.average(one, weights=weights) for one in (x, y))
    return float((weights * x) @ y / np.sqrt(((weights * x) @ x) * ((weights * y) @ y)))


def wide(path: Path, value: str, *, rows: str = "model", columns: str = "question") -> Any:
    """Read a long table and return it as models x questions."""
    read = pd.read_parquet if path.suffix == ".parquet" else pd.read_csv
    return read(path).pivot_table(index=rows, columns=columns, values=value, observed=True)
