"""Result for benchmarks on one scale: abilities, curves, predictions and forecasts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_fraction
from psychollm._base.errors import LabelError, OptionError, ShapeError
from psychollm._base.numbers import count, number, percent
from psychollm._base.result import Result, view
from psychollm._base.types import FloatArray
from psychollm.data.labels import Labels, listed
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.findings import Finding, Findings, Study, exhibit, first_rows
from psychollm.estimates.verdict import SMALLEST, Outcome, SmallestEffects
from psychollm.studies.stitching.folds import HeldOut, latest_year
from psychollm.studies.stitching.forecast import Forecast, forecast_of
from psychollm.studies.stitching.foretelling import Foreteller, Known, Outlook
from psychollm.studies.stitching.scale import Scale
from psychollm.studies.stitching.tables import ScoreTable, checked_scores, year_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes as Drawn

_SHOWN = 10
LEVEL = 0.9  # coverage of prediction intervals


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StitchedBenchmarks(Study, Result):
    """Scale of models and benchmarks, with the accuracy of its predictions of held-out scores.

    Abilities have mean 0 and standard deviation 1 over the models. A model whose ability equals
    a benchmark's difficulty has an expected score of one half.

    Examples
    --------
    >>> from psychollm.studies.stitching.study import stitch_benchmarks
    >>> scores = [[0.2, 0.4, np.nan], [0.5, np.nan, 0.6], [0.8, 0.9, 0.9], [np.nan, 0.7, 0.7]]
    >>> found = stitch_benchmarks(scores, rng=1)
    >>> found.ability.value.round(1).tolist(), found.n_abilities
    ([-1.4, -0.1, 1.4, 0.1], 1)
    """

    ability: Estimate  # (models,) ability on the scale
    difficulty: Estimate  # (benchmarks,) ability with an expected score of one half
    slope: Estimate  # (benchmarks,) increase of the log odds per unit of ability
    scatter: FloatArray  # (benchmarks,) residual SD of scores with an expected value of one half
    second: FloatArray  # (benchmarks,) loading on the second ability, NaN without one
    n_abilities: int
    held_cells: tuple[HeldOut, ...]  # single scores, predicted with 1, 2, ... abilities
    held_models: HeldOut  # scores of held-out models, predicted from three scores
    marked: Estimate  # (1,) effect of best-of-several reports, in log odds
    scale: Scale
    data: ScoreTable
    labels: Labels  # (models,)
    level: float
    seed: int

    _AXES = Axes(
        {"model": "labels"},
        "ability=ability.value",
        "se=ability.se",
        "{bound}=ability.interval",
        "n=ability.n",
        "flag=ability.flags",
    )

    @property
    def benchmarks(self) -> "pd.DataFrame":
        """Return one row per benchmark: difficulty, slope, intervals, residual SD and models."""
        import pandas as pd

        columns: dict[str, Any] = {"benchmark": pd.Series(list(self.data.benchmarks), dtype=None)}
        for name, of in (("difficulty", self.difficulty), ("slope", self.slope)):
            columns[name] = of.value
            columns[f"{name}_lower"], columns[f"{name}_upper"] = of.interval.T
        columns["scatter"] = self.scatter
        columns["second"] = self.second
        columns["models"] = self.data.known.sum(axis=0)
        columns["optimized"] = (self.data.optimized & self.data.known).sum(axis=0)
        columns["flag"] = list(self.difficulty.flags)
        return pd.DataFrame(columns)

    def predict(
        self,
        model: Any,
        *,
        given: Mapping[Any, float] | None = None,
        date: Any = None,
        level: float = LEVEL,
    ) -> "pd.DataFrame":
        """Predict the scores of a model in all benchmarks.

        Parameters
        ----------
        model : hashable
            Label of a model in the table, or of a new model.
        given : mapping, optional
            Scores of the model by benchmark; required for a new model. The model's scores in the
            table are used in addition to the scores in `given`.
        date : str, date or float, optional
            Release date of a new model; by default the date of the latest model.
        level : float
            Coverage of the intervals for scores that are reported as in the table.

        Returns
        -------
        DataFrame
            Table with columns benchmark, value, lower and upper.

        Raises
        ------
        LabelError
            If the model is not in the table and no score is given, or a benchmark is unknown.
        CodeError
            If a score is out of range.
        OptionError
            If `level` is not between 0 and 1.

        Examples
        --------
        >>> from psychollm.studies.stitching.study import stitch_benchmarks
        >>> scores = [[0.2, 0.4, 0.3], [0.5, 0.6, 0.6], [0.8, 0.9, 0.9], [0.6, 0.7, 0.7]]
        >>> found = stitch_benchmarks(scores, rng=1)
        >>> found.predict("new", given={0: 0.7}).round(2)["value"].tolist()
        [0.7, 0.8, 0.8]
        """
        return self._foretold(model, given, date, level).frame(self.data.benchmarks)

    def _foretold(
        self, model: Any, given: Mapping[Any, float] | None, date: Any, level: float
    ) -> Outlook:
        check_fraction("level", level)
        teller = Foreteller(self.scale, self.data)
        inside = model in self.labels
        if not inside and not given:
            msg = (
                f"model {model!r} is not in the table: pass given={{benchmark: score}} with "
                "at least one score"
            )
            raise LabelError(msg)
        rng = np.random.default_rng(self.seed)
        known = self._known(teller, model, date)
        widen = self.held_cells[self.n_abilities - 1].widen if inside else self.held_models.widen
        if given:
            known = teller.updated(known, *self._given(given))
        elif inside:
            row = self.labels.index(model)
            return teller.foretold_in_table(row, level=level, rng=rng, widen=widen)
        return teller.foretold(known, level=level, rng=rng, widen=widen)

    def _known(self, teller: Foreteller, model: Any, date: Any) -> Known:
        if model in self.labels:
            if date is not None:
                msg = f"date applies to new models, but {model!r} is in the table: omit date"
                raise OptionError(msg)
            return teller.in_table(self.labels.index(model))
        return teller.outside(latest_year(self.data) if date is None else year_of(date, "date"))

    def _given(self, given: Mapping[Any, float]) -> tuple[Any, FloatArray]:
        if not isinstance(given, Mapping):
            given = dict(given)
        unknown = [one for one in given if one not in self.data.benchmarks]
        if unknown:
            msg = (
                f"given: unknown benchmark {listed(unknown)}: "
                f"use one of {listed(self.data.benchmarks)}"
            )
            raise LabelError(msg)
        names = [one for one, score in given.items() if np.isfinite(float(score))]
        if not names:
            msg = "given has no score: pass {benchmark: score}"
            raise OptionError(msg)
        value = np.array([float(given[one]) for one in names]) / self.data.out_of
        checked_scores(
            value[None],
            lambda _, column: f"benchmark {names[column]!r}",
            self.data.out_of,
            "given",
        )
        return np.array([self.data.benchmarks.index(one) for one in names]), value

    def forecast(
        self,
        date: Any,
        *,
        benchmark: Any = None,
        backtest: bool = True,
        level: float = LEVEL,
    ) -> Forecast:
        """Forecast the scores of a model released at a date.

        Parameters
        ----------
        date : str, date or float
            Release date, such as "2026-07-01" or 2026.5.
        benchmark : hashable, optional
            Label of one benchmark; all benchmarks by default.
        backtest : bool
            Whether to compare forecasts from earlier dates with later scores.
        level : float
            Coverage of the intervals.

        Returns
        -------
        Forecast
            Forecast for a typical model of this date, and for the best model by then.

        Raises
        ------
        LabelError
            If the benchmark is not in the table.
        ShapeError
            If fewer than ten models have dates, or all dates are equal.

        Examples
        --------
        >>> from psychollm.studies.stitching.study import stitch_benchmarks
        >>> rng = np.random.default_rng(1)
        >>> able = np.linspace(-2, 2, 12)[:, None] + rng.normal(0, 0.3, (12, 1))
        >>> scores = 1 / (1 + np.exp(-able - np.linspace(-1, 1, 6)))
        >>> dates = {model: 2020 + model / 4 for model in range(12)}
        >>> found = stitch_benchmarks(scores, date=dates, rng=1)
        >>> ahead = found.forecast(2024, benchmark=0, backtest=False)
        >>> ahead.to_frame().columns.tolist()
        ['date', 'of', 'benchmark', 'value', 'lower', 'upper']
        """
        check_fraction("level", level)
        when = year_of(date, "date")
        if benchmark is not None and benchmark not in self.data.benchmarks:
            msg = f"benchmark {benchmark!r} is unknown: use one of {listed(self.data.benchmarks)}"
            raise LabelError(msg)
        dated = np.isfinite(self.data.years)
        if dated.sum() < 10 or np.ptp(self.data.years[dated]) == 0.0:
            msg = (
                f"a forecast needs ten models with different release dates, but {dated.sum()} "
                "have one, or all are equal; pass date= to stitch_benchmarks"
            )
            raise ShapeError(msg)
        return forecast_of(
            Foreteller(self.scale, self.data),
            when,
            benchmark,
            backtest=backtest,
            level=level,
            widen=self.held_models.widen,
            seed=self.seed,
        )

    def tables(self) -> "dict[str, pd.DataFrame]":
        """Return the tables of the study by name."""
        return {"models": self.to_frame(), "benchmarks": self.benchmarks}

    @property
    def order(self) -> list[int]:
        """Models in order of decreasing ability."""
        return [int(row) for row in np.argsort(-self.ability.value, kind="stable")]

    @property
    def rmse(self) -> FloatArray:
        """RMSE of held-out single scores, and of scores of held-out models (2,)."""
        both = (self.held_cells[self.n_abilities - 1], self.held_models)
        return np.sqrt([one.squared_error for one in both])

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return abilities, difficulties, and the accuracy of predictions."""
        known = self.data.known
        sets = int(self.data.sets.max()) + 1
        linked = (
            f" No score links {sets} sets of models; only the prior makes them comparable."
            if sets > 1
            else ""
        )
        items: tuple[Finding, ...] = (
            Finding(
                statement=self._verdict() + linked,
                numbers={"ability": self.ability},
                outcome=Outcome.OPEN,
            ),
            Finding(
                key="models",
                question="How able is each model?",
                rows=first_rows(
                    self.order,
                    lambda row: f"{self.labels[row]}: ability {self.ability.text(row)}",
                    most=_SHOWN,
                    table="models",
                ),
                explanation=(
                    "Abilities have mean 0 and standard deviation 1 over these models. A model "
                    "whose ability equals a benchmark's difficulty has an expected score of one "
                    "half."
                ),
                numbers={"ability": self.ability},
            ),
            Finding(
                key="benchmarks",
                question="How hard is each benchmark?",
                rows=first_rows(
                    np.argsort(-self.difficulty.value).tolist(),
                    lambda row: (
                        f"{self.data.benchmarks[row]}: difficulty {self.difficulty.text(row)}, "
                        f"slope {self.slope.text(row)}"
                    ),
                    most=_SHOWN,
                    table="benchmarks",
                ),
                explanation=(
                    "A benchmark with a large slope discriminates well between models near its "
                    "difficulty; one with a small slope discriminates poorly at all abilities."
                ),
                numbers={"difficulty": self.difficulty, "slope": self.slope},
            ),
            Finding(
                key="predictions",
                question="How well are held-out scores predicted?",
                rows=tuple(self._held()),
                explanation=(
                    "The scale was refitted without the held-out scores, which were then "
                    "predicted. Prediction intervals are rescaled to reach their nominal "
                    "coverage of held-out scores."
                ),
                numbers={"rmse": self.rmse},
            ),
        )
        marked = self.marked.text(0)
        if self.data.optimized.any():
            items += (
                Finding(
                    key="optimized",
                    question="Are scores higher if the best of several reports is given?",
                    statement=(
                        f"Their log odds differ from those of other scores by {marked}."
                        if np.isfinite(self.marked.value[0])
                        else "Not estimated: no benchmark has reports of both kinds."
                    ),
                    numbers={"optimized": self.marked},
                ),
            )
        head = (
            f"{len(self.labels)} models, {len(self.data.benchmarks)} benchmarks, "
            f"{count(known.sum())} scores ({percent(known.mean())} of the table)."
        )
        return exhibit(Findings(items=items, head=head), self, smallest)

    def plot(self, *, ax: "Drawn | None" = None) -> "Drawn":
        """Plot models and benchmarks along the scale."""
        axes: Drawn = view("studies.stitching.figures", "plot_scale")(self, ax=ax)
        return axes

    def _verdict(self) -> str:
        best = self.order[0]
        sentence = (
            f"{self.labels[best]} is the most able model across {len(self.data.benchmarks)} "
            f"benchmarks, with an ability of {self.ability.text(best)}"
        )
        if self.n_abilities > 1:
            sentence += ". Two abilities are fitted, because one does not describe models fully"
        if np.isfinite(self.rmse[0]):
            sentence += (
                f". Held-out scores are predicted with a root mean squared error of "
                f"{number(self.rmse[0], 3)}"
            )
        return f"{sentence}."

    def _held(self) -> list[str]:
        rows = []
        for k, one in enumerate(self.held_cells, start=1):
            if one.score.size:
                used = " (used)" if k == self.n_abilities else ""
                many = "one ability" if k == 1 else f"{count(k)} abilities"
                rows.append(
                    f"single scores, {many}{used}: root mean squared error "
                    f"{number(np.sqrt(one.squared_error), 3)} in {count(one.score.size)} scores; "
                    f"90 % intervals cover {percent(one.coverage(1.0))} of the scores "
                    f"({percent(one.coverage(one.widen))} after rescaling by "
                    f"{number(one.widen)})"
                )
        held = self.held_models
        if held.score.size:
            which = "the latest models" if np.isfinite(self.data.years).mean() > 0.8 else "models"
            rows.append(
                f"{which}, predicted from three scores: root mean squared error "
                f"{number(np.sqrt(held.squared_error), 3)} in "
                f"{count(held.score.size)} predictions; "
                f"90 % intervals cover {percent(held.coverage(1.0))} of the scores "
                f"({percent(held.coverage(held.widen))} after rescaling by {number(held.widen)})"
            )
        return rows or ["The table is too small to hold out scores: intervals are model-based."]
