"""Benchmarks on one scale: abilities, curves of benchmarks, predictions and forecasts."""

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
from psychollm.estimates.findings import Finding, Findings, Study, exhibit
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
LEVEL = 0.9  # of predictions


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StitchedBenchmarks(Study, Result):
    """One scale for models and benchmarks, with what held-out scores say of its predictions.

    Abilities have mean 0 and standard deviation 1 over the models. A model whose ability equals
    the difficulty of a benchmark is expected to score one half there.

    Examples
    --------
    >>> from psychollm.studies.stitching.study import stitch_benchmarks
    >>> scores = [[0.2, 0.4, np.nan], [0.5, np.nan, 0.6], [0.8, 0.9, 0.9], [np.nan, 0.7, 0.7]]
    >>> found = stitch_benchmarks(scores, rng=1)
    >>> found.ability.value.round(1).tolist(), found.n_abilities
    ([-1.4, -0.1, 1.4, 0.1], 1)
    """

    ability: Estimate  # (models,) on the scale
    difficulty: Estimate  # (benchmarks,) ability at which a score of one half is expected
    slope: Estimate  # (benchmarks,) rise of the log odds with the ability
    scatter: FloatArray  # (benchmarks,) SD of a score around its expected value of one half
    second: FloatArray  # (benchmarks,) loading on the second ability, NaN where there is none
    n_abilities: int
    held_cells: tuple[HeldOut, ...]  # single scores, foretold with one ability, two, ...
    held_models: HeldOut  # scores of held-out models, foretold from three
    marked: Estimate  # effect, in log odds, of reports that are the best of several (1,)
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
        """One row per benchmark: difficulty and slope with intervals, scatter, models."""
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
        """Return the scores of a model that are to be expected in all benchmarks.

        Parameters
        ----------
        model : hashable
            Label of a model of the table, or of a new one.
        given : mapping, optional
            Scores of the model by benchmark; a new model needs them. They count beside those that
            the table has of it.
        date : str, date or float, optional
            Release of a new model; by default that of the latest model.
        level : float
            Coverage of the intervals, for a report as those of the table.

        Returns
        -------
        DataFrame
            With columns benchmark, value, lower and upper.

        Raises
        ------
        LabelError
            If the model is not in the table and no score is given, or a benchmark is unknown.
        CodeError
            If a score is out of range.
        OptionError
            If `level` is no fraction.

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
                "one score of it or several"
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
                msg = f"date is that of a new model, and {model!r} is in the table: leave it out"
                raise OptionError(msg)
            return teller.in_table(self.labels.index(model))
        return teller.outside(latest_year(self.data) if date is None else year_of(date, "date"))

    def _given(self, given: Mapping[Any, float]) -> tuple[Any, FloatArray]:
        if not isinstance(given, Mapping):
            given = dict(given)
        unknown = [one for one in given if one not in self.data.benchmarks]
        if unknown:
            msg = (
                f"given: benchmark {listed(unknown)} is not in the table: "
                f"it has {listed(self.data.benchmarks)}"
            )
            raise LabelError(msg)
        names = [one for one, score in given.items() if np.isfinite(float(score))]
        if not names:
            msg = "given holds no score: pass {benchmark: score}"
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
        """Return the scores that a model released at a date is expected to have.

        Parameters
        ----------
        date : str, date or float
            Date of release, such as "2026-07-01" or 2026.5.
        benchmark : hashable, optional
            One benchmark; all by default.
        backtest : bool
            Whether forecasts from earlier dates are made and compared with what came.
        level : float
            Coverage of the intervals.

        Returns
        -------
        Forecast
            For a model like those of the table, and for the best model by then.

        Raises
        ------
        LabelError
            If the benchmark is not in the table.
        ShapeError
            If fewer than ten models have dates, or all have the same.

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
            msg = (
                f"benchmark {benchmark!r} is not in the table: it has "
                f"{listed(self.data.benchmarks)}"
            )
            raise LabelError(msg)
        dated = np.isfinite(self.data.years)
        if dated.sum() < 10 or np.ptp(self.data.years[dated]) == 0.0:
            msg = (
                f"{dated.sum()} models have a date of release, or all the same: a forecast needs "
                "ten with different dates; pass date= to stitch_benchmarks"
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
        """Return the tables of the study, by name."""
        return {"models": self.to_frame(), "benchmarks": self.benchmarks}

    @property
    def order(self) -> list[int]:
        """Models from the most able."""
        return [int(row) for row in np.argsort(-self.ability.value, kind="stable")]

    @property
    def rmse(self) -> FloatArray:
        """Error of held-out single scores, and of scores of held-out models (2,)."""
        both = (self.held_cells[self.n_abilities - 1], self.held_models)
        return np.sqrt([one.squared_error for one in both])

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return where models stand, how hard benchmarks are, and how well scores are foretold."""
        known = self.data.known
        sets = int(self.data.sets.max()) + 1
        rows = [f"{self.labels[row]}: {self.ability.text(row)}" for row in self.order[:_SHOWN]]
        more = len(self.labels) - _SHOWN
        by = np.argsort(-self.difficulty.value)
        hard = [
            f"{self.data.benchmarks[row]}: difficulty {self.difficulty.text(row)}, "
            f"slope {self.slope.text(row)}"
            for row in by[:_SHOWN].tolist()
        ]
        beyond = len(by) - _SHOWN
        linked = (
            f" No score links {sets} sets of models: between sets, abilities rest on the prior."
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
                question="Where does each model stand?",
                rows=(*rows, *([f"and {more} more, in the table of models"] if more > 0 else [])),
                explanation=(
                    "Abilities have mean 0 and standard deviation 1 over these models. At an "
                    "ability equal to the difficulty of a benchmark, half of its points are "
                    "expected."
                ),
                numbers={"ability": self.ability},
            ),
            Finding(
                key="benchmarks",
                question="How hard is each benchmark?",
                rows=(
                    *hard,
                    *([f"and {beyond} more, in the table of benchmarks"] if beyond > 0 else []),
                ),
                explanation=(
                    "A steep benchmark separates models whose abilities are near its difficulty; "
                    "a flat one says little anywhere."
                ),
                numbers={"difficulty": self.difficulty, "slope": self.slope},
            ),
            Finding(
                key="predictions",
                question="How well are scores foretold that were left out?",
                rows=tuple(self._held()),
                explanation=(
                    "Scores were left out, the scale was fitted anew, and they were compared with "
                    "their predictions. The widths of intervals are set so that they cover."
                ),
                numbers={"rmse": self.rmse},
            ),
        )
        marked = self.marked.text(0)
        if self.data.optimized.any():
            items += (
                Finding(
                    key="optimized",
                    question="Are reports that are the best of several higher?",
                    statement=(
                        f"By {marked} in log odds."
                        if np.isfinite(self.marked.value[0])
                        else "Unknown: no benchmark has reports of both kinds."
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
        """Draw models and benchmarks along the scale."""
        axes: Drawn = view("studies.stitching.figures", "plot_scale")(self, ax=ax)
        return axes

    def _verdict(self) -> str:
        best = self.order[0]
        sentence = (
            f"{self.labels[best]} is the most able model, {self.ability.text(best)}, on one scale "
            f"of {len(self.data.benchmarks)} benchmarks"
        )
        if self.n_abilities > 1:
            sentence += (
                ". A second ability makes predictions of left-out scores better: the one number "
                "does not say all"
            )
        if np.isfinite(self.rmse[0]):
            sentence += (
                f". Single scores that were left out are foretold with an error of "
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
                    f"the plain 90 % intervals cover {percent(one.coverage(1.0))}, widened by "
                    f"{number(one.widen)} {percent(one.coverage(one.widen))}"
                )
        held = self.held_models
        if held.score.size:
            which = "the latest models" if np.isfinite(self.data.years).mean() > 0.8 else "models"
            rows.append(
                f"{which}, from three scores: root mean squared error "
                f"{number(np.sqrt(held.squared_error), 3)} in "
                f"{count(held.score.size)} predictions; "
                f"plain 90 % intervals cover {percent(held.coverage(1.0))}, widened by "
                f"{number(held.widen)} {percent(held.coverage(held.widen))}"
            )
        return rows or ["The table is too small to leave scores out: intervals are the model's."]
