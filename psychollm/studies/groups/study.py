"""Comparison or calibration panel, computed separately for groups of questions or of models.

Groups of questions (domains) are resampled independently, and their differences are computed for
each model. Groups of models (families) answered the same questions, so they share resamples.
Differences between families compare means over the models of each family, and do not generalise to
other models. `psychollm.estimates.compare_all` compares the groups; p-values are adjusted for all
differences in a metric (Holm).
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice, check_generator
from psychollm._base.errors import LabelError
from psychollm._base.multiplicity import adjust_p_values
from psychollm._base.numbers import count, p_equals, with_interval
from psychollm._base.result import Result
from psychollm._base.types import Axis, FloatArray, IntArray, RandomState
from psychollm.calibration.panels.panel import calibration_panel
from psychollm.calibration.stated import stated_answers
from psychollm.data.labels import Labels, Table, numbered, unit_labels
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.comparisons import Comparisons, compare_all
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.findings import Finding, Findings, Study, further
from psychollm.estimates.intervals import percentile_interval
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap
from psychollm.estimates.verdict import SMALLEST, SmallestEffects
from psychollm.reliability.means.clustered import mean_score
from psychollm.reliability.means.repeated_scores import RepeatedScores, answers_of, means_of
from psychollm.studies.comparison.study import compare

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 12  # maximum number of differences in the summary
_TOLD = ("score", "accuracy", "overconfidence", "auroc", "brier")


_Judged: TypeAlias = tuple[Study | None, Mapping[str, Estimate]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupDifferences(Result):
    """Differences of all pairs of groups, by metric and, for groups of questions, by model."""

    metric: tuple[str, ...]  # (rows,)
    who: tuple[Any, ...]  # (rows,) model, or "mean" for means over the models of a group
    first: tuple[Any, ...]  # (rows,)
    second: tuple[Any, ...]  # (rows,)
    value: FloatArray  # (rows,) first - second
    se: FloatArray  # (rows,)
    interval: FloatArray  # (rows, 2) pointwise
    p_value: FloatArray  # (rows,) two-sided p-value for a difference of 0
    adjusted: FloatArray  # (rows,) p-value adjusted for all differences in the metric (Holm)
    level: float
    flags: tuple[Reason, ...]  # (rows,)

    _AXES = Axes(
        {},
        "metric",
        "model=who",
        "first",
        "second",
        "value",
        "se",
        "{bound}=interval",
        "p_value",
        "adjusted",
        "flag=flags",
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grouped(Study, Result):
    """Results of each group, and differences between groups."""

    results: Mapping[Any, Study]  # Comparison (of two or more models) or CalibrationPanel by group
    estimates: Mapping[Any, Mapping[str, Estimate]]  # by group and metric
    differences: GroupDifferences
    of: Axis  # members of the groups: "questions" or "models"
    n: IntArray  # (groups,) number of questions, or of models
    labels: Labels  # (groups,)
    level: float

    def to_frame(self) -> "pd.DataFrame":
        """Return one row per group, metric and model."""
        import pandas as pd

        frames = [
            one.to_frame().assign(group=group, metric=metric)
            for group, own in self.estimates.items()
            for metric, one in own.items()
        ]
        table = pd.concat(frames, ignore_index=True)
        return table[["group", "metric", *table.columns.drop(["group", "metric"])]]

    def tables(self) -> "dict[str, pd.DataFrame]":
        """Return the tables of the study, by name."""
        return {"groups": self.to_frame(), "differences": self.differences.to_frame()}

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return differences between groups, and the verdict on each group."""
        told = [row for row, metric in enumerate(self.differences.metric) if metric in _TOLD]
        told = told or list(range(len(self.differences.metric)))
        told.sort(key=lambda row: np.nan_to_num(self.differences.p_value[row], nan=2.0))
        left = len(told) - _SHOWN
        more = [further(left, "differences")] if left > 0 else []
        what = "each model's differences"
        what = what if self.of == "questions" else "differences in the mean over the models"
        items = (
            Finding(statement=self._verdict(told)),
            Finding(
                key="differences",
                question="How much do the groups differ?",
                rows=(*map(self._row, told[:_SHOWN]), *more),
                explanation=(
                    f"Intervals for {what} are pointwise; p-values are Holm-adjusted over all "
                    "differences in a metric."
                ),
                numbers={"value": self.differences.value, "adjusted": self.differences.adjusted},
            ),
            *(
                Finding(
                    key=f"group {group}",
                    question=f"{group}, {count(n)} {self.of if n > 1 else self.of[:-1]}:",
                    statement=self.results[group].findings(smallest=smallest).verdict
                    if group in self.results
                    else "There is only one model, so models are not compared.",
                )
                for group, n in zip(self.labels, self.n.tolist(), strict=True)
            ),
        )
        return Findings(items=items, head=f"{len(self.labels)} groups of {self.of}.")

    def _verdict(self, told: Sequence[int]) -> str:
        with np.errstate(invalid="ignore"):
            shown = int((self.differences.adjusted[list(told)] <= 1.0 - self.level).sum())
        known = int(np.isfinite(self.differences.adjusted[list(told)]).sum())
        if not known:
            return "There are too few answers to compare the groups."
        if known == 1:
            return f"The groups {'' if shown else 'do not '}differ significantly."
        return (
            f"{count(shown) if shown else 'None'} of the {count(known)} differences between "
            f"groups {'is' if shown < 2 else 'are'} significant."
        )

    def _row(self, row: int) -> str:
        one = self.differences
        whose = one.metric[row] if self.of == "models" else f"{one.who[row]}, {one.metric[row]}"
        if not np.isfinite(one.value[row]):
            return (
                f"{whose}, {one.first[row]} minus {one.second[row]}: undefined ({one.flags[row]})"
            )
        gap = with_interval(one.value[row], one.interval[row], 3, signed=True)
        p = p_equals(one.adjusted[row])
        return f"{whose}, {one.first[row]} minus {one.second[row]}: {gap}, adjusted {p}"


def compare_by(
    scores: Any,
    by: Any,
    *,
    of: Axis = "questions",
    clusters: Any = None,
    power: float = 0.8,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Grouped:
    """Compare models within groups of questions or models, and the groups with each other.

    Parameters
    ----------
    scores : ScoreLog, Responses, RepeatedScores, DataFrame, DataArray or array_like
        Numeric scores, such as 1 for a correct answer: models x questions, models x questions x
        repeats, or a result of `read_scores` or `read_logs`. NaN marks missing scores.
    by : array_like (questions,) or (models,)
        Group of each question (its domain), or of each model (its family).
    of : {"questions", "models"}
        Whether the members of the groups are questions or models.
    clusters : array_like (questions,), optional
        Cluster of each question, such as its passage or template.
    power : float
        Statistical power assumed for `detectable` and `needed`.
    bootstrap : Bootstrap or int
        Number of resamples of questions, or of clusters.
    level : float
        Coverage of the intervals.
    rng : Generator, int or None
        Source of randomness.

    Returns
    -------
    Grouped
        `results` contains a `Comparison` for each group with two or more models. `differences`
        contains the differences between groups.

    Raises
    ------
    LabelError
        If there is only one group, or a question or model has no group.
    ShapeError
        If the table has the wrong shape, or clusters do not match the questions.
    CodeError
        If a score is infinite or not a number.
    OptionError
        If an option is out of range.

    Examples
    --------
    >>> right = np.random.default_rng(1).random((2, 200)) < np.repeat([0.9, 0.5], 100)
    >>> found = compare_by(right.astype(int), np.repeat(["sums", "proofs"], 100), rng=1)
    >>> found.differences.to_frame()[["model", "first", "second", "value"]].round(2)
       model first  second  value
    0      0  sums  proofs   0.39
    1      1  sums  proofs   0.33
    """
    answers = answers_of(scores)
    table = Table(means_of(answers), answers.models, answers.questions)
    passages = _clusters(clusters, table.questions)

    def judged(rows: IntArray, columns: IntArray, seed: int) -> _Judged:
        own = RepeatedScores.from_array(
            answers.values[np.ix_(rows, columns)],
            models=[answers.models[row] for row in rows],
            questions=[answers.questions[column] for column in columns],
            runs=answers.runs,
        )
        pages = _of(passages, columns)
        values = Table(table.values[np.ix_(rows, columns)], own.models, own.questions)
        mean = mean_score(values, clusters=pages, bootstrap=bootstrap, level=level, rng=seed)
        if len(rows) == 1:
            return None, {"score": mean}
        found = compare(own, clusters=pages, power=power, level=level, rng=seed)
        return found, {"score": mean}

    return _grouped(judged, by, of, (table.models, table.questions), level, rng)


def calibration_by(
    confidence: ResponsesLike,
    correctness: ResponsesLike,
    by: Any,
    *,
    of: Axis = "questions",
    metrics: Sequence[str] | None = None,
    clusters: Any = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Grouped:
    """Compute a calibration panel for each group of questions or models, and compare groups.

    Parameters
    ----------
    confidence, correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        Reported probabilities of being correct, in [0, 1], and correctness: 1, 0 or a probability
        between them.
    by : array_like (questions,) or (models,)
        Group of each question (its domain), or of each model (its family).
    of : {"questions", "models"}
        Whether the members of the groups are questions or models.
    metrics : sequence of str or Metric, optional
        Keys of metrics (listed by `metric_keys`) or `Metric` objects; all keys by default.
    clusters : array_like (questions,), optional
        Cluster of each question, such as its passage; whole clusters are resampled.
    bootstrap : int or Bootstrap
        Number of resamples of questions. All models share the resamples, so differences are
        paired.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    Grouped
        `results` contains a `CalibrationPanel` for each group. `differences` contains the
        differences between groups.

    Raises
    ------
    LabelError
        If there is only one group, or a question or model has no group.
    ShapeError
        If the tables do not match, or clusters do not match the questions.
    CodeError
        If a confidence or a correctness is outside [0, 1].
    OptionError
        If a metric or an option does not exist.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> sure = rng.random((1, 200))
    >>> right = rng.random((1, 200)) < np.repeat([[0.8, 0.4]], 100, axis=1)
    >>> found = calibration_by(sure, right.astype(int), np.repeat(["a", "b"], 100),
    ...                        metrics=["overconfidence"], bootstrap=200, rng=1)
    >>> found.differences.value.round(2)
    array([-0.4])
    """
    answers = stated_answers(confidence, correctness)
    tables = [
        Table(values, answers.models, answers.questions)
        for values in (answers.confidence, answers.correct)
    ]
    passages = _clusters(clusters, answers.questions)

    def judged(rows: IntArray, columns: IntArray, seed: int) -> _Judged:
        labels = (
            tuple(answers.models[row] for row in rows),
            tuple(answers.questions[column] for column in columns),
        )
        said, right = (Table(one.values[np.ix_(rows, columns)], *labels) for one in tables)
        panel = calibration_panel(
            said,
            right,
            metrics=metrics,
            clusters=_of(passages, columns),
            bootstrap=bootstrap,
            level=level,
            rng=seed,
        )
        return panel, panel.estimates

    return _grouped(judged, by, of, (answers.models, answers.questions), level, rng)


def _grouped(
    judged: Callable[[IntArray, IntArray, int], _Judged],
    by: Any,
    of: Axis,
    axes: tuple[Labels, Labels],
    level: float,
    rng: RandomState,
) -> Grouped:
    check_choice("of", of, Axis)
    units = axes[of == "questions"]
    member, names = numbered(unit_labels(by, units, argument="by", kind=of[:-1]))
    if len(names) < 2:
        msg = f"by has one label only ({names[0]!r}): a comparison needs at least two groups"
        raise LabelError(msg)
    # Families share questions and are therefore resampled together; domains are resampled
    # independently.
    seeds = check_generator(rng).integers(2**31, size=len(names))
    everything = [np.arange(len(labels)) for labels in axes]
    results: dict[Any, Study] = {}
    estimates: dict[Any, Mapping[str, Estimate]] = {}
    for place, name in enumerate(names):
        own = np.flatnonzero(member == place)
        rows, columns = (everything[0], own) if of == "questions" else (own, everything[1])
        seed = int(seeds[place if of == "questions" else 0])
        result, estimates[name] = judged(rows, columns, seed)
        if result is not None:
            results[name] = result
    return Grouped(
        results=results,
        estimates=estimates,
        differences=_differences(estimates, of, level),
        of=of,
        n=np.bincount(member),
        labels=names,
        level=level,
    )


def _differences(
    estimates: Mapping[Any, Mapping[str, Estimate]], of: Axis, level: float
) -> GroupDifferences:
    """Compare the groups in each metric, with p-values adjusted for all models and pairs."""
    metric: list[str] = []
    who: list[Any] = []
    found: list[Comparisons] = []
    adjusted: list[FloatArray] = []
    for name in next(iter(estimates.values())):
        of_groups = {group: own[name] for group, own in estimates.items()}
        models = next(iter(of_groups.values())).labels if of == "questions" else ("mean",)
        own = [
            compare_all(_over_groups(of_groups, None if of == "models" else place, level))
            for place in range(len(models))
        ]
        adjusted.append(adjust_p_values(np.concatenate([one.p_value for one in own])))
        for model, one in zip(models, own, strict=True):
            metric += [name] * len(one.value)
            who += [model] * len(one.value)
        found += own
    return GroupDifferences(
        metric=tuple(metric),
        who=tuple(who),
        first=tuple(label for one in found for label in one.first),
        second=tuple(label for one in found for label in one.second),
        value=np.concatenate([one.value for one in found]),
        se=np.concatenate([one.se for one in found]),
        interval=np.concatenate([one.interval for one in found]),
        p_value=np.concatenate([one.p_value for one in found]),
        adjusted=np.concatenate(adjusted),
        level=level,
        flags=tuple(flag for one in found for flag in one.flags),
    )


def _spread(draws: FloatArray) -> FloatArray:
    """Return standard deviations of columns, NaN for fewer than two finite values."""
    se, several = np.full(draws.shape[1], np.nan), np.isfinite(draws).sum(axis=0) > 1
    se[several] = np.nanstd(draws[:, several], axis=0, ddof=1)
    return se


def _over_groups(
    of_groups: Mapping[Hashable, Estimate], place: int | None, level: float
) -> Estimate:
    """Return an estimate with one row per group, for one model or the mean over models."""
    held = list(of_groups.values())
    keep = [slice(None) if place is None else slice(place, place + 1) for _ in held]
    # Means exclude models whose metric is undefined, as AUROC is for models without errors.
    parts = [one.defined[own] for one, own in zip(held, keep, strict=True)]

    def mean(values: FloatArray, defined: Any) -> FloatArray:
        if not defined.any():
            return np.full(values.shape[:-1], np.nan)
        return np.asarray(values[..., defined].mean(axis=-1))

    value = np.array(
        [mean(one.value[own], part) for one, own, part in zip(held, keep, parts, strict=True)]
    )
    draws = np.stack(
        [mean(one.draws[:, own], part) for one, own, part in zip(held, keep, parts, strict=True)],
        axis=1,
    )
    n = [np.nanmin(one.n[own]) for one, own in zip(held, keep, strict=True)]
    known = [one.df for one in held if one.df is not None]
    df = [one.df[own].min() for one, own in zip(held, keep, strict=True) if one.df is not None]
    return Estimate(
        name=held[0].name,
        value=value,
        se=_spread(draws),
        interval=percentile_interval(draws, level),
        n=np.array(n, dtype=np.float64),
        flags=tuple(Reason.NONE if np.isfinite(one) else Reason.UNDEFINED for one in value),
        method="resamples",
        level=level,
        labels=tuple(of_groups),
        axis="group",
        df=np.array(df) if len(known) == len(held) else None,
        _draws=draws,
    )


def _clusters(clusters: Any, questions: Labels) -> list[Any] | None:
    return None if clusters is None else unit_labels(clusters, questions, argument="clusters")


def _of(clusters: list[Any] | None, columns: IntArray) -> list[Any] | None:
    return None if clusters is None else [clusters[column] for column in columns]
