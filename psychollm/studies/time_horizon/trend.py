"""Regress log horizons on release dates, and compute doubling times."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import stdtrit

from psychollm._base.axes import Axes
from psychollm._base.errors import ShapeError
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.data.dates import days_of
from psychollm.data.labels import Labels
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason

YEAR = 365.25
FEWEST = 3


class Horizons(Protocol):
    """Horizons of models, which are the input of a trend."""

    @property
    def estimates(self) -> tuple[tuple[Estimate, ...], ...]:
        """Horizons by definition, then by probability."""

    @property
    def definitions(self) -> tuple[str, ...]:
        """Names of the definitions of a horizon."""

    @property
    def shares(self) -> tuple[float, ...]:
        """Probabilities of success."""

    @property
    def task_errors(self) -> FloatArray:
        """Covariances of log2 horizons (definitions, probabilities, models, models)."""

    @property
    def n_units(self) -> int:
        """Number of tasks, or of families of tasks."""

    @property
    def labels(self) -> Labels:
        """Labels of the models."""

    @property
    def level(self) -> float:
        """Coverage of the intervals."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HorizonTrend(Result):
    """Doubling times of horizons in days, by probability and definition.

    Examples
    --------
    >>> from psychollm.studies.time_horizon.study import time_horizon
    >>> rng = np.random.default_rng(1)
    >>> minutes = 2.0 ** rng.uniform(-2, 8, 80)
    >>> odds = np.arange(6)[:, None] - np.log2(minutes) + rng.normal(size=80)
    >>> h = time_horizon(rng.random((6, 80)) < 1 / (1 + np.exp(-odds)), minutes, rng=1)
    >>> trend = h.trend([f"202{year}-01-01" for year in range(6)])
    >>> trend.to_frame()[["share", "definition", "doubling_days"]].round(1).head(2)
       share    definition  doubling_days
    0    0.5     all tasks          344.4
    1    0.5  typical task          355.2
    """

    share: FloatArray  # (rows,)
    definition: tuple[str, ...]  # (rows,)
    doubling_days: FloatArray  # (rows,) NaN if horizons do not grow
    interval: FloatArray  # (rows, 2) interval of `doubling_days`
    per_year: FloatArray  # (rows,) doublings per year
    per_year_interval: FloatArray  # (rows, 2)
    intercept: FloatArray  # (rows,) log2 minutes at day 0, 1970-01-01
    n_models: FloatArray  # (rows,)
    flags: tuple[Reason, ...]
    days: FloatArray  # (models,) release dates in days since 1970-01-01, NaN if unknown
    labels: Labels  # (models,)
    level: float

    _AXES = Axes(
        {"row": None},
        "share",
        "definition",
        "doubling_days",
        "{bound}=interval",
        "per_year",
        "per_year_{bound}=per_year_interval",
        "n_models",
        "flag=flags",
    )

    def row(self, share: float, definition: str) -> int:
        """Return the index of the row of a probability and a definition.

        Parameters
        ----------
        share : float
            Probability, which is one of the probabilities of the result.
        definition : str
            Definition of the horizon, "all tasks" or "typical task".
        """
        here = [float(one) == share for one in self.share]
        return next(
            place
            for place, (mine, name) in enumerate(zip(here, self.definition, strict=True))
            if mine and name == definition
        )


def horizon_trend(horizons: "Horizons", dates: Any) -> HorizonTrend:
    """Regress log2 horizons on dates; errors vary between models and between common tasks."""
    days = days_of(dates, horizons.labels, argument="dates", kind="model", some=True)
    if np.isfinite(days).sum() < FEWEST or np.unique(days[np.isfinite(days)]).size < 2:
        msg = (
            f"dates: {int(np.isfinite(days).sum())} models have a date, but a trend needs at "
            f"least {FEWEST} with different dates"
        )
        raise ShapeError(msg)
    rows = [
        (share, name, *_slope(horizons, place, kind, days))
        for place, share in enumerate(horizons.shares)
        for kind, name in enumerate(horizons.definitions)
    ]
    share, name, slope, limits, intercept, n, flags = zip(*rows, strict=True)
    per_year, bounds = np.array(slope), np.array(limits)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.where(per_year > 0.0, YEAR / per_year, np.nan)
        interval = np.where(bounds > 0.0, YEAR / bounds, np.inf)[:, ::-1]
    interval = np.where(np.isnan(bounds[:, ::-1]), np.nan, interval)
    return HorizonTrend(
        share=np.array(share),
        definition=name,
        doubling_days=value,
        interval=interval,
        per_year=per_year,
        per_year_interval=bounds,
        intercept=np.array(intercept),
        n_models=np.array(n, dtype=np.float64),
        flags=flags,
        days=days,
        labels=horizons.labels,
        level=horizons.level,
    )


def _slope(
    horizons: "Horizons", place: int, kind: int, days: FloatArray
) -> tuple[float, list[float], float, int, Reason]:
    """Return doublings per year, interval, intercept, number of models, and reason for NaN."""
    y = np.log2(horizons.estimates[kind][place].value)
    there = np.isfinite(y) & np.isfinite(days)
    k = int(there.sum())
    if k < FEWEST or np.unique(days[there]).size < 2:
        return np.nan, [np.nan, np.nan], np.nan, k, Reason.TOO_FEW
    t = days[there] / YEAR
    weight = (t - t.mean()) / ((t - t.mean()) ** 2).sum()
    slope = float(weight @ y[there])
    rest = y[there] - y[there].mean() - slope * (t - t.mean())
    own = float(rest @ rest) / (k - 2.0) * float(weight @ weight)
    shared = float(weight @ horizons.task_errors[kind, place][np.ix_(there, there)] @ weight)
    total = own + max(shared, 0.0)
    units = max(horizons.n_units - 2.0, 1.0)
    df = total**2 / (own**2 / (k - 2.0) + shared**2 / units) if total > 0.0 else k - 2.0
    margin = float(stdtrit(df, 0.5 + horizons.level / 2.0)) * np.sqrt(total)
    bounds = [slope - margin, slope + margin]
    flag = Reason.NONE
    if slope <= 0.0:
        flag = Reason.NOT_GROWING
    elif bounds[0] <= 0.0:
        flag = Reason.OPEN
    return slope, bounds, float(y[there].mean() - slope * t.mean()), k, flag
