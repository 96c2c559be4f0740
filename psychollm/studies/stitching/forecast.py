"""Forecast scores at a date, and backtest forecasts that start at earlier dates."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.data.labels import Labels
from psychollm.studies.stitching.foretelling import N_DRAWS, Foreteller, Known
from psychollm.studies.stitching.scale import fit_scale
from psychollm.studies.stitching.tables import ScoreTable

if TYPE_CHECKING:
    import pandas as pd

ORIGINS = (0.4, 0.55, 0.7, 0.85)  # proportion of models before the origin of each backtest
ONE, BEST = "a model", "the best model"
_MOST_MODELS = 2000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Forecast(Result):
    """Forecast of the scores of models released at a date, with a backtest.

    Examples
    --------
    >>> from psychollm.studies.stitching.study import stitch_benchmarks
    >>> able = np.linspace(-2, 2, 12)[:, None]
    >>> scores = 1 / (1 + np.exp(-able - np.linspace(-1, 1, 6)))
    >>> dates = {model: 2020 + model / 4 for model in range(12)}
    >>> ahead = stitch_benchmarks(scores, date=dates, rng=1).forecast(2024, backtest=False)
    >>> ahead.of
    ('a model', 'the best model')
    """

    year: float
    # (2, benchmarks) forecast scores of a typical model at the date, and of the best model by then
    value: FloatArray
    interval: FloatArray  # (2, benchmarks, 2)
    benchmarks: Labels
    of: tuple[str, ...]
    level: float
    backtest: Any  # one row per later score, with its forecast

    _AXES = Axes({"of": "of", "benchmark": "benchmarks"}, "value", "{bound}=interval")

    def to_frame(self) -> "pd.DataFrame":
        """Return one row per benchmark for a typical model and for the best model."""
        import pandas as pd

        rows = [(one, row) for one in range(len(self.of)) for row in range(len(self.benchmarks))]
        return pd.DataFrame(
            {
                "date": self.year,
                "of": [self.of[one] for one, _ in rows],
                "benchmark": pd.Series([self.benchmarks[row] for _, row in rows], dtype=None),
                "value": [self.value[one, row] for one, row in rows],
                "lower": [self.interval[one, row, 0] for one, row in rows],
                "upper": [self.interval[one, row, 1] for one, row in rows],
            }
        )

    def backtest_summary(self) -> "pd.DataFrame":
        """Return one row per backtest origin: number of scores, error, coverage."""
        import pandas as pd

        if self.backtest is None or not len(self.backtest):
            return pd.DataFrame(columns=["origin", "scores", "rmse", "covered"])
        held = self.backtest
        inside = (held["lower"] <= held["score"]) & (held["score"] <= held["upper"])
        parts = held.assign(inside=inside, square=(held["score"] - held["value"]) ** 2)
        found = parts.groupby("origin").agg(
            scores=("score", "size"), rmse=("square", "mean"), covered=("inside", "mean")
        )
        found["rmse"] = np.sqrt(found["rmse"])
        table: pd.DataFrame = found.reset_index()
        return table


def forecast_of(
    teller: Foreteller,
    year: float,
    benchmark: Any,
    *,
    backtest: bool,
    level: float,
    widen: float,
    seed: int,
) -> Forecast:
    """Return the forecast for one benchmark, or for all benchmarks."""
    import pandas as pd

    scores, many = teller.scores, teller.scale.n_abilities
    rng = np.random.default_rng(seed)
    value, interval = _ahead(teller, year, level, widen, rng)
    columns = np.arange(len(scores.benchmarks))
    if benchmark is not None:
        columns = np.array([scores.benchmarks.index(benchmark)])
    earlier = None
    if backtest:
        parts = [_earlier(scores, share, many, level, widen, rng) for share in ORIGINS]
        earlier = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
        if benchmark is not None:
            earlier = earlier[earlier["benchmark"] == benchmark].reset_index(drop=True)
    return Forecast(
        year=year,
        value=value[:, columns],
        interval=interval[:, columns],
        benchmarks=tuple(scores.benchmarks[column] for column in columns),
        of=(ONE, BEST),
        level=level,
        backtest=earlier,
    )


def _line_known(teller: Foreteller, year: float) -> Known:
    """Return the distribution of the ability of a model released at a date, given the trend."""
    known = teller.outside(year, wider=1.0)
    since = teller.scores.years - teller.scale.middle
    since = since[np.isfinite(since)]
    away = year - teller.scale.middle - since.mean()
    known.covariance[0, 0] += 1.0 / since.size + away**2 / ((since - since.mean()) ** 2).sum()
    return known


def _ahead(
    teller: Foreteller, year: float, level: float, widen: float, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return scores (2, benchmarks) at a date: a typical model and the best model by then."""
    told = teller.foretold(_line_known(teller, year), level=level, rng=rng, widen=widen)
    # Releases are assumed to continue at the rate of the year before the latest model.
    scale, scores = teller.scale, teller.scores
    latest, k = float(np.nanmax(scores.years)), scale.n_abilities
    rate = float((scores.years > latest - 1.0).sum())
    coming = min(round(rate * max(year - latest, 0.0)), _MOST_MODELS)
    slack = _line_known(teller, max(year, latest)).covariance[0, 0] - 1.0
    shift = rng.standard_normal((N_DRAWS, 1)) * np.sqrt(max(slack, 0.0))
    here = scale.abilities[:, 0] + rng.standard_normal((N_DRAWS, len(scale.abilities))) * np.sqrt(
        np.maximum(teller.found.abilities[:, 0, 0], 0.0)
    )
    known = ~(scores.years > year)
    best = here[:, known].max(axis=1) if known.any() else np.full(N_DRAWS, -np.inf)
    if year > latest:
        dates = latest + (year - latest) * rng.random((N_DRAWS, coming + 1))
        dates[:, 0] = year
        line = scale.line[0, 0] + scale.line[1, 0] * (dates - scale.middle)
        new = line + shift + rng.standard_normal(dates.shape)
        best = np.maximum(best, new.max(axis=1))
    at = Known(
        np.concatenate([np.zeros(k), scale.curves.ravel()]),
        teller.outside(year, wider=1.0).covariance,
    )
    top = teller.foretold(at, level=level, rng=rng, widen=widen, general=best)
    return np.stack([told.value, top.value]), np.stack([told.interval, top.interval])


def _earlier(
    scores: ScoreTable, share: float, n_abilities: int, level: float, widen: float,
    rng: np.random.Generator,
) -> "pd.DataFrame":  # fmt: skip
    """Return the scores after a date, with forecasts from the scores before this date."""
    import pandas as pd

    columns = ["origin", "model", "benchmark", "date", "score", "value", "lower", "upper"]
    origin = float(np.nanquantile(scores.years, share))
    late = scores.years > origin
    dated = np.isfinite(scores.years) & ~late
    if dated.sum() < 5 or not late.any():
        return pd.DataFrame(columns=columns)
    rest = scores.part(dated)
    if min(rest.value.shape) < 2 or np.ptp(rest.years) == 0.0:
        return pd.DataFrame(columns=columns)
    teller = Foreteller(fit_scale(rest, n_abilities)[-1], rest)
    places = np.array([scores.benchmarks.index(one) for one in rest.benchmarks])
    rows: list[tuple[Any, ...]] = []
    for model in np.flatnonzero(late):
        truth = scores.value[model, places]
        held = np.flatnonzero(np.isfinite(truth))
        if not held.size:
            continue
        year = float(scores.years[model])
        told = teller.foretold(_line_known(teller, year), level=level, rng=rng, widen=widen)
        rows += [
            (origin, scores.models[model], rest.benchmarks[one], year, truth[one],
             told.value[one], *told.interval[one])
            for one in held.tolist()
        ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)
