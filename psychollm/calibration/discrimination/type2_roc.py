"""The type-2 ROC curve of every model: hit rate against false-alarm rate.

A criterion is a value of stated confidence; an answer with at least this confidence counts as
confident. The hit rate is the proportion of correct answers that are confident, and the
false-alarm rate is the proportion of wrong answers that are confident. Between the
points of two criteria the curve is straight, as if ties were broken at random. The area under the
curve is the AUROC.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from psychollm._base.axes import Axes
from psychollm._base.checks import float_array
from psychollm._base.errors import OptionError
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, RandomState
from psychollm.calibration.discrimination.ranking import RANKING, scored_answers
from psychollm.calibration.influence import wilson_from_draws
from psychollm.calibration.metric import Metric, draw
from psychollm.calibration.tally import Tally
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import wilson
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap, Resampling
from psychollm.kernels.association import hit_rates

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Type2ROC(Result):
    """Type-2 ROC curves: hit rates against false-alarm rates, with pointwise bands.

    Examples
    --------
    >>> roc = type2_roc([[3, 2, 2, 1]], [[1, 1, 0, 0]], false_alarms=[0.0, 0.25, 1.0], rng=0)
    >>> roc.hits, roc.criteria[0]
    (array([[0.5 , 0.75, 1.  ]]), array([3., 2., 1.]))
    """

    false_alarms: FloatArray  # (points,) false-alarm rates, increasing
    hits: FloatArray  # (models, points) hit rates at these false-alarm rates
    interval: FloatArray  # (models, points, 2) pointwise intervals
    criteria: tuple[FloatArray, ...]  # for each model: distinct scores, decreasing
    criterion_false_alarms: tuple[FloatArray, ...]  # false-alarm rate at each criterion
    criterion_hits: tuple[FloatArray, ...]  # hit rate at each criterion
    n_correct: FloatArray  # (models,) number of correct answers
    n_wrong: FloatArray  # (models,) number of wrong answers
    auroc: Estimate
    flags: tuple[Reason, ...]  # (models,)
    n_bootstrap: int
    level: float
    labels: tuple[Any, ...]  # (models,)

    _AXES = Axes(
        {"model": "labels", "false_alarm_rate": "false_alarms"},
        "hit_rate=hits",
        "{bound}=interval",
        arrays={"model false_alarm_rate": "hits", "model false_alarm_rate bound": "interval"},
    )

    def criteria_frame(self) -> "pd.DataFrame":
        """Return hit and false-alarm rate at each score of a model, with Wilson intervals."""
        import pandas as pd

        sizes = [values.size for values in self.criteria]
        table: dict[str, Any] = {
            "model": [
                label for label, n in zip(self.labels, sizes, strict=True) for _ in range(n)
            ],
            "criterion": np.concatenate(self.criteria),
        }
        for name, rates, n in (
            ("false_alarm_rate", self.criterion_false_alarms, self.n_wrong),
            ("hit_rate", self.criterion_hits, self.n_correct),
        ):
            rate, trials = np.concatenate(rates), np.repeat(n, sizes)
            table[name] = rate
            bounds = wilson(np.nan_to_num(rate) * trials, trials, level=self.level)
            table[f"{name}_lower"], table[f"{name}_upper"] = bounds.T
        return pd.DataFrame(table)


def type2_roc(
    scores: ResponsesLike,
    correctness: ResponsesLike,
    *,
    false_alarms: Any = None,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Type2ROC:
    """Compute each model's type-2 ROC curve: hit rate against false-alarm rate of a score.

    Parameters
    ----------
    scores : Responses, DataFrame, DataArray or array_like (models, questions) or (questions,)
        Real-valued scores; a higher score means that a correct answer is more likely. NaN marks a
        missing score. A vector gives the same scores to all models.
    correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        Correctness of the answers: 1 = correct, 0 = wrong.
    false_alarms : array_like (points,), optional
        False-alarm rates at which to evaluate the curves, inside [0, 1]; by default 0, 0.01, ...,
        1. Where a curve is vertical, its upper end is returned.
    clusters : array_like (questions,), optional
        Cluster of each question, such as its passage; whole clusters are resampled.
    weights : array_like (questions,), optional
        Weight of each question.
    bootstrap : int or Bootstrap
        Number of resamples of questions. All models share the same resamples, so that differences
        between models are paired.
    level : float
        Coverage of the pointwise bands and of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    Type2ROC
        Values are NaN, with a reason, for a model that is always or never correct. The bands are
        Wilson intervals with the bootstrap variance, made monotone. The bands are pointwise: each
        interval covers the hit rate at one false-alarm rate.

    Raises
    ------
    OptionError
        If a false-alarm rate is not inside [0, 1].
    ShapeError, LabelError
        If scores, correctness and clusters do not match in shape or labels.
    CodeError
        If correctness is not binary.

    Notes
    -----
    The band covers less than the nominal level near the ends of the curve, that is, at false-alarm
    rates below 3 / n or above 1 - 3 / n with n wrong answers.

    Examples
    --------
    >>> roc = type2_roc([[0.9, 0.8, 0.3, 0.1]], [[1, 0, 1, 0]], false_alarms=[0.0, 0.5], rng=0)
    >>> roc.hits
    array([[0.5, 1. ]])
    """
    grid = _check_rates(false_alarms)
    metric = _hit_rate_metric(grid)
    answers = scored_answers(scores, correctness, clusters=clusters, weights=weights)
    options = Resampling.of(bootstrap, level, rng)
    drawn = draw([metric, RANKING], answers, options)
    area = drawn.estimates(RANKING)[0]
    hits = np.ascontiguousarray(drawn.value[:, drawn.columns(metric)])
    draws = drawn.draws[:, :, drawn.columns(metric)]
    n_correct = np.array([tally.correct.sum() for tally in drawn.tables])
    criteria, alarms, rates = zip(*(_at_criteria(t) for t in drawn.tables), strict=True)
    return Type2ROC(
        false_alarms=grid,
        hits=hits,
        interval=np.stack(
            [
                _rising(
                    wilson_from_draws(own, draws[:, row], np.full(grid.size, trials), level=level)
                )
                if np.isfinite(area.interval[row]).all()
                else np.full((grid.size, 2), np.nan)
                for row, (own, trials) in enumerate(zip(hits, n_correct, strict=True))
            ]
        ),
        criteria=criteria,
        criterion_false_alarms=alarms,
        criterion_hits=rates,
        n_correct=n_correct,
        n_wrong=np.array([tally.wrong.sum() for tally in drawn.tables]),
        auroc=area,
        flags=area.flags,
        n_bootstrap=options.n,
        level=level,
        labels=answers.models,
    )


def _rising(band: FloatArray) -> FloatArray:
    """Make the bounds of a band (points, 2) non-decreasing, like the curve."""
    lower = np.maximum.accumulate(band[:, 0])
    return np.stack([lower, np.minimum.accumulate(band[::-1, 1])[::-1]], axis=1)


def _hit_rate_metric(false_alarms: FloatArray) -> Metric:
    def compute(values: FloatArray, correct: FloatArray, wrong: FloatArray) -> FloatArray:
        hits = np.empty((correct.shape[0], false_alarms.size))
        hit_rates(correct, wrong, false_alarms, hits)
        return hits

    return Metric(
        names=tuple(f"hit rate at {rate:g}" for rate in false_alarms),
        compute=compute,
        flags=lambda tally: (Reason.NONE,) * false_alarms.size,
    )


def _check_rates(false_alarms: Any) -> FloatArray:
    if false_alarms is None:
        return np.arange(101) / 100.0
    grid = np.unique(float_array(false_alarms, "false_alarms"))
    bad = grid[~((grid >= 0.0) & (grid <= 1.0))]
    if bad.size or not grid.size:
        shown = f"{bad[0]:g}" if bad.size else "none"
        msg = f"false_alarms must be rates inside [0, 1], got {shown}"
        raise OptionError(msg)
    return grid


def _at_criteria(tally: Tally) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return descending scores, and proportions of wrong and correct answers at or above each."""
    rates = []
    for counts in (tally.wrong, tally.correct):
        above = np.cumsum(counts[::-1])
        n = above[-1] if above.size else 0.0
        rates.append(above / n if n > 0.0 else np.full(above.size, np.nan))
    return tally.values[::-1].copy(), rates[0], rates[1]
