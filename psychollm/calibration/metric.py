"""Definition of a metric, and joint estimation of a set of metrics for all models.

A metric computes statistics from tallies. The function `compute` of a metric takes the distinct
confidences of one model and any number of resampled tallies. The sample, the bootstrap and the
jackknife therefore each require only one call. Resamples of questions are drawn once and are
shared by all models and metrics.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from psychollm._base.errors import OptionError, ShapeError
from psychollm._base.types import AnyArray, BoolArray, FloatArray, RandomState
from psychollm.calibration.influence import in_few_clusters
from psychollm.calibration.stated import StatedAnswers, stated_answers
from psychollm.calibration.tally import Tally, tallies
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import (
    Bootstrap,
    Interval,
    KeptCounts,
    Replicates,
    Resampling,
    resample,
)

# values (groups,) or prepared input, correct and wrong (resamples, groups) -> (resamples, outputs
# and carried columns)
Compute = Callable[[Any, FloatArray, FloatArray], FloatArray]
# value (columns,), draws (resamples, columns), level -> bounds (outputs, 2)
Bounds = Callable[[FloatArray, FloatArray, float], FloatArray]
# tally, values (outputs,), level -> standard errors (outputs,), bounds (outputs, 2)
Analytic = Callable[[Tally, FloatArray, float], tuple[FloatArray, FloatArray]]

# Size of a block, in resamples times distinct confidences. Tallies of this size fit into the
# processor's cache, and the overhead of function calls is small.
_CELLS = 80_000


NOISY = "positive by chance even under calibration"  # note for errors that cannot be negative

Better: TypeAlias = Literal["higher", "lower", "near", ""]
Section: TypeAlias = Literal["ranking", "scores", "selection", "decisions"]


@dataclass(frozen=True, slots=True)
class Output:
    """Description of one statistic for panels, tables, plots and reports.

    Attributes
    ----------
    key : str
        Name of the statistic in a panel, such as ``"aurc_normalised"``.
    heading : str
        Column heading and axis title of the statistic.
    meaning : str
        Definition of the statistic in one line.
    better : {"higher", "lower", "near", ""}
        Direction in which values of the statistic are better; ``"near"`` means that values close
        to `neutral` are better.
    neutral : float, optional
        Value of the statistic for uninformative or calibrated confidence.
    digits : int
        Number of decimals.
    listed : bool
        Whether the table of the section has a column for the statistic.
    section : {"scores", "ranking", "selection", "decisions"}
        Section of the report in which the metric appears.

    Examples
    --------
    >>> Output("sure_errors", "sure errors", "error rate above .8", better="lower").digits
    2
    """

    key: str  # name in a panel, such as "aurc_normalised"
    heading: str
    meaning: str = ""  # definition in one line
    better: Better = ""  # "near": values close to `neutral` are better; "": no direction
    neutral: float | None = None  # value for uninformative or calibrated confidence
    digits: int = 2  # decimals
    listed: bool = True  # whether the table of the section has a column for it
    section: Section = "scores"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One or several statistics of confidence and correctness, computed together.

    A metric with one statistic is callable with the arguments of `brier`. Any metric can be passed
    to ``calibration_panel(metrics=[...])``, which treats it like a built-in metric.

    Attributes
    ----------
    names : tuple of str
        Names of the statistics.
    compute : callable
        Function with three arguments: one model's distinct confidences (groups,), and the numbers
        of correct and of wrong answers at each confidence (resamples, groups). The function
        returns the statistics (resamples, names), with NaN where a statistic is undefined. With
        weights, the counts need not be whole numbers.
    flags : callable, optional
        Function of a `Tally` that returns the reason why each statistic is undefined or qualified.
    interval : {"bca", "percentile", ...} or tuple of these
        Method of computing intervals from resamples: one for all statistics, or one for each.
    outputs : tuple of Output, optional
        Description of each statistic in panels; the default is its name.
    analytic, method, robust, robust_method, prepare, carried, bounds, rank
        Fields of built-in metrics only. The fields contain closed forms of standard errors and
        intervals, the names of the closed forms, values that all resamples share, columns for
        bounds, and the position in a panel.

    Examples
    --------
    >>> import numpy as np
    >>> import psychollm as psy
    >>> def sure_errors(confidence, correct, wrong):
    ...     sure = confidence >= 0.8
    ...     wrong, correct = wrong[:, sure].sum(axis=1), correct[:, sure].sum(axis=1)
    ...     with np.errstate(invalid="ignore"):
    ...         return (wrong / (wrong + correct))[:, None]
    >>> metric = psy.calibration.Metric(names=("sure errors",), compute=sure_errors)
    >>> metric([[0.9, 0.8, 0.8, 0.1]], [[1, 0, 1, 0]], rng=0).value.round(2)
    array([0.33])
    """

    # names of the statistics, one per output
    names: tuple[str, ...]
    # maps values (groups,), correct and wrong (resamples, groups) to (resamples, outputs); NaN
    # where undefined
    compute: Compute
    # returns one reason per output for undefined or qualified values
    flags: Callable[[Tally], tuple[Reason, ...]] | None = None
    # method of intervals from draws: one for all outputs, or one for each
    interval: Interval | tuple[Interval, ...] = "bca"
    # standard errors and bounds in closed form, for independent binary answers with equal weights;
    # differences between models still use resamples
    analytic: Analytic | None = None
    # name of the closed form: one for all outputs, or one for each; empty for outputs whose
    # intervals use draws
    method: str | tuple[str, ...] = ""
    # sandwich variance for weights, clusters or fractional correctness; the same function as
    # `analytic` if only the name of the method differs
    robust: Analytic | None = None
    robust_method: str | tuple[str, ...] = ""
    # returns quantities shared by all resamples, such as bin edges, which `compute` receives
    # instead of the values
    prepare: Callable[[Tally], Any] | None = None
    # number of columns that `compute` appends for the bounds only
    carried: int = 0
    # computes all bounds of one model from its draws and carried columns; `method` is its name
    bounds: Bounds | None = None
    # descriptions in panels; empty for metrics that panels include only on request
    outputs: tuple[Output, ...] = ()
    # position in the section of a panel; metrics without a position are last
    rank: int = 100

    def __post_init__(self) -> None:
        if self.outputs and len(self.outputs) != len(self.names):
            msg = f"outputs: {len(self.outputs)} for {len(self.names)} names: give one for each"
            raise OptionError(msg)

    def __call__(
        self,
        confidence: ResponsesLike,
        correctness: ResponsesLike,
        *,
        clusters: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        bootstrap: Bootstrap | int = 2000,
        level: float = 0.95,
        rng: RandomState = None,
    ) -> Estimate:
        """Estimate the metric for every model; arguments and errors are as in `brier`."""
        if len(self.names) > 1:
            msg = (
                f"a metric of {len(self.names)} numbers is not a single estimate: pass it to "
                "calibration_panel(metrics=[...])"
            )
            raise OptionError(msg)
        answers = stated_answers(confidence, correctness, clusters=clusters, weights=weights)
        (only,) = estimate_all([self], answers, Resampling.of(bootstrap, level, rng))
        return only

    @property
    def words(self) -> tuple[Output, ...]:
        """Descriptions of the statistics in panels; by default their names."""
        keys = [name.lower().replace(" ", "_") for name in self.names]
        return self.outputs or tuple(map(Output, keys, self.names))

    def in_panel(self, section: Section, rank: int, *outputs: Output) -> "Metric":
        """Return the metric, assigned to a section and a position in a panel.

        Parameters
        ----------
        section : {"scores", "ranking", "selection", "decisions"}
            Section of the report in which the metric appears.
        rank : int
            Position among the metrics of a panel.
        *outputs : Output
            Descriptions of the metric's statistics.
        """
        placed = tuple(replace(one, section=section) for one in outputs)
        return replace(self, rank=rank, outputs=placed)

    @property
    def sandwich(self) -> Analytic | None:
        """Closed-form variance for weighted or clustered questions, or None."""
        return self.analytic if self.robust is None and self.robust_method else self.robust

    @property
    def width(self) -> int:
        """Number of columns that `compute` returns."""
        return len(self.names) + self.carried

    def shared(self, tally: Tally) -> Any:
        """Return the first argument of `compute`, which is the same for all resamples.

        Parameters
        ----------
        tally : Tally
            Answers of one model at each distinct confidence.
        """
        return tally.values if self.prepare is None else self.prepare(tally)


def estimate_all(
    metrics: Sequence[Metric],
    answers: StatedAnswers,
    resampling: Resampling,
    *,
    counts: KeptCounts | None = None,
) -> list[Estimate]:
    """Estimate metrics for every model, on common resamples of questions."""
    drawn = draw(metrics, answers, resampling, counts=counts)
    return [estimate for metric in metrics for estimate in drawn.estimates(metric)]


def draw(
    metrics: Sequence[Metric],
    answers: StatedAnswers,
    resampling: Resampling,
    *,
    counts: KeptCounts | None = None,
) -> "Drawn":
    """Compute metrics of every model for the sample, the resamples and the jackknife."""
    tables = tallies(answers)
    shared = [[metric.shared(tally) for metric in metrics] for tally in tables]
    counted = answers.counted

    def statistic(counts: AnyArray) -> FloatArray:
        weighted = counts if counted else counts * answers.weights
        return _computed(metrics, tables, shared, weighted)

    n_questions = len(answers.questions)
    if resampling.n:
        replicates = resample(
            statistic,
            n_questions,
            resampling,
            clusters=answers.clusters,
            counts=counts if counted else None,
            small=counted,
        )
    else:
        value = statistic(np.ones((1, n_questions)))[0]
        replicates = Replicates.unknown(value, resampling.level)
    return Drawn(tuple(metrics), answers, tables, replicates)


def _computed(
    metrics: Sequence[Metric],
    tables: Sequence[Tally],
    shared: Sequence[Sequence[Any]],
    counts: AnyArray,
) -> FloatArray:
    """Return all columns of all metrics (resamples, models, columns), in small blocks."""
    width = sum(metric.width for metric in metrics)
    outputs = np.empty((counts.shape[0], len(tables), width))
    for row, tally in enumerate(tables):
        correct, wrong = tally.resampled(counts)
        # Models are computed separately, because rounding in matrix products depends on the shapes
        # of the matrices. Results therefore do not depend on the other models in the table.
        rows = max(16, _CELLS // max(1, tally.values.size))
        for start in range(0, counts.shape[0], rows):
            block = slice(start, start + rows)
            columns = [
                _checked(
                    metric, metric.compute(first, correct[block], wrong[block]), correct[block]
                )
                for metric, first in zip(metrics, shared[row], strict=True)
            ]
            outputs[block, row] = np.concatenate(columns, axis=1)
    return outputs


def _checked(metric: Metric, columns: FloatArray, counts: FloatArray) -> FloatArray:
    """Return the columns of a metric after checking their shape."""
    if np.shape(columns) != (len(counts), metric.width):
        msg = (
            f"compute of {metric.names[0]!r} returned the shape {np.shape(columns)}: return "
            f"{(len(counts), metric.width)}, a row for each resample and a column for each number"
        )
        raise ShapeError(msg)
    return columns


@dataclass(frozen=True, slots=True)
class Drawn:
    """Values and resamples of all metrics, for computing estimates."""

    metrics: tuple[Metric, ...]
    answers: StatedAnswers
    tables: Sequence[Tally]
    replicates: Replicates  # resamples of values (models, columns)

    @property
    def value(self) -> FloatArray:
        """Values of all metrics in the sample (models, columns)."""
        return self.replicates.value

    @property
    def draws(self) -> FloatArray:
        """Columns of metrics in resamples (resamples, models, columns); NaN without resamples."""
        draws = self.replicates.draws
        return np.full((1, *self.value.shape), np.nan) if draws is None else draws

    def columns(self, metric: Metric) -> slice:
        """Return the positions of the outputs and auxiliary columns of one metric."""
        before = self.metrics[: self.metrics.index(metric)]
        start = sum(other.width for other in before)
        return slice(start, start + metric.width)

    def estimates(self, metric: Metric) -> list[Estimate]:
        """Return the estimates of one metric."""
        start = self.columns(metric).start
        defined = self._defined(metric)
        flags = [
            self._flags(metric, tally, known)
            for tally, known in zip(self.tables, defined, strict=True)
        ]
        own, closed = self._own_bounds(metric), self._closed(metric)
        estimates = []
        for i, name in enumerate(metric.names):
            one = self._one(metric, start + i, i, tuple(of_model[i] for of_model in flags))
            if own is not None:
                method = f"{metric.method} over {'clusters of ' * self._clustered}questions"
                one = replace(one, interval=own[:, i], method=method)
            one = _without_interval(one, self._single)
            if closed is not None and (method := self._method(metric, i)):
                one = replace(one, se=closed[0][:, i], interval=closed[1][:, i], method=method)
            elif not self.resampled:
                msg = f"{name} has no interval in closed form: pass bootstrap=2000"
                raise OptionError(msg)
            one = one.qualified()
            estimates.append(one if self.resampled else replace(one, _draws=None))
        return estimates

    def _flags(self, metric: Metric, tally: Tally, defined: BoolArray) -> tuple[Reason, ...]:
        if not tally.n:
            return (Reason.NO_ANSWERS,) * len(metric.names)
        one = Reason.ONE_QUESTION if tally.n == 1 else Reason.NONE
        # Unlike resamples, sandwich variances account for the number of clusters with errors.
        if not one and metric.sandwich is None and in_few_clusters(tally):
            one = Reason.FEW_CLUSTERS
        if metric.flags is None:  # user-defined metrics need not give a reason for NaN
            return tuple(one if known else Reason.NO_VALUE for known in defined)
        return tuple(flag or one for flag in metric.flags(tally))

    @property
    def _single(self) -> BoolArray:
        """Whether each model has a single question or cluster (models,)."""
        units = self.answers.units
        return np.asarray((self.answers.n if units is None else units.count) <= 1)

    def _one(
        self, metric: Metric, column: int, output: int, flags: tuple[Reason, ...]
    ) -> Estimate:
        kind = metric.interval if isinstance(metric.interval, str) else metric.interval[output]
        return self.replicates.each(slice(None), column).estimate(
            metric.names[output],
            n=self.answers.n,
            flags=flags,
            labels=self.answers.models,
            interval=kind,
            units=self.answers.units,
            final=False,
        )

    @property
    def resampled(self) -> bool:
        """Whether resamples were drawn."""
        return self.replicates.draws is not None

    @property
    def _clustered(self) -> bool:
        return self.answers.clusters is not None

    def _method(self, metric: Metric, output: int) -> str:
        """Return the name of an output's closed form; empty if there is none."""
        methods = metric.method if self.answers.plain else metric.robust_method
        return methods if isinstance(methods, str) else methods[output]

    def _defined(self, metric: Metric) -> BoolArray:
        """Whether each output has a value (models, outputs)."""
        outputs = self.value[:, self.columns(metric)][:, : len(metric.names)]
        return np.asarray(np.isfinite(outputs), dtype=np.bool_)

    def _own_bounds(self, metric: Metric) -> FloatArray | None:
        """Return the bounds (models, outputs, 2) computed from a metric's auxiliary columns."""
        if metric.bounds is None:
            return None
        columns, defined = self.columns(metric), self._defined(metric)
        bounds, units = np.full((*defined.shape, 2), np.nan), self.answers.units
        level = np.full(len(bounds), self.replicates.options.level)
        if units is not None:
            level = units.level(self.replicates.options.level)
        for row in np.flatnonzero(defined.any(axis=1)):
            own, draws = self.value[row, columns], self.draws[:, row, columns]
            bounds[row] = metric.bounds(own, draws, float(level[row]))
        return np.where(defined[..., None], bounds, np.nan)

    def _closed(self, metric: Metric) -> tuple[FloatArray, FloatArray] | None:
        """Return standard errors (models, outputs) and bounds in closed form."""
        formula = metric.analytic if self.answers.plain else metric.sandwich
        if formula is None:
            return None
        columns, defined = self.columns(metric), self._defined(metric)
        se, bounds = np.full(defined.shape, np.nan), np.full((*defined.shape, 2), np.nan)
        for row in np.flatnonzero(defined.any(axis=1)):
            own = self.value[row, columns][: len(metric.names)]
            se[row], bounds[row] = formula(
                self.tables[int(row)], own, self.replicates.options.level
            )
        return np.where(defined, se, np.nan), np.where(defined[..., None], bounds, np.nan)


def _without_interval(estimate: Estimate, single: BoolArray) -> Estimate:
    """Remove intervals of models with one question or cluster, because all resamples are equal."""
    return replace(
        estimate,
        se=np.where(single, np.nan, estimate.se),
        interval=np.where(single[:, None], np.nan, estimate.interval),
    )
