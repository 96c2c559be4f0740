"""The risk-coverage curve of every model, with bands.

Tied answers are in random order, so that the curve gives the expected error rate at every
coverage. At coverages that correspond to a threshold, the curve gives the exact error rate.
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
from psychollm.calibration.discrimination.ranking import scored_answers
from psychollm.calibration.influence import wilson_from_draws
from psychollm.calibration.metric import draw
from psychollm.calibration.selection.selective import risk_at_coverage_metric
from psychollm.calibration.selection.selective_areas import SELECTIVE
from psychollm.calibration.tally import Tally
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap, Resampling

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RiskCoverage(Result):
    """Risk-coverage curves with pointwise bands, and the curve of an optimal order of answers.

    Examples
    --------
    >>> curve = risk_coverage([[0.9, 0.8, 0.3, 0.1]], [[1, 0, 1, 0]], coverages=[0.5, 1.0], rng=0)
    >>> curve.risk, curve.best
    (array([[0.5, 0.5]]), array([[0. , 0.5]]))
    """

    coverages: FloatArray  # (points,) proportions of questions answered, increasing
    risk: FloatArray  # (models, points) error rate among the answers given
    interval: FloatArray  # (models, points, 2) pointwise
    best: FloatArray  # (models, points) error rate if errors had the lowest scores
    error_rate: FloatArray  # (models,) error rate of all answers, the risk of a random order
    thresholds: tuple[FloatArray, ...]  # for each model: distinct scores, decreasing
    threshold_coverages: tuple[FloatArray, ...]  # proportion of answers at or above each
    threshold_risks: tuple[FloatArray, ...]  # error rate of these answers
    aurc: Estimate  # mean risk over all coverages
    flags: tuple[Reason, ...]  # (models,)
    n: FloatArray  # (models,) number of questions with score and correctness
    n_bootstrap: int
    level: float
    labels: tuple[Any, ...]  # (models,)

    _AXES = Axes(
        {"model": "labels", "coverage": "coverages"},
        "risk",
        "{bound}=interval",
        "best",
        ("error_rate", lambda curve: curve.error_rate[:, None]),
        arrays={
            "model coverage": "risk best",
            "model coverage bound": "interval",
            "model": "error_rate",
        },
    )

    def thresholds_frame(self) -> "pd.DataFrame":
        """Return coverage and risk, one row per model and threshold."""
        import pandas as pd

        sizes = [values.size for values in self.thresholds]
        return pd.DataFrame(
            {
                "model": [
                    label for label, n in zip(self.labels, sizes, strict=True) for _ in range(n)
                ],
                "threshold": np.concatenate(self.thresholds),
                "coverage": np.concatenate(self.threshold_coverages),
                "risk": np.concatenate(self.threshold_risks),
            }
        )


def answered(result: RiskCoverage) -> FloatArray:
    """Return the error rates (models, points); NaN for a model without answers."""
    return np.where(np.isfinite(result.error_rate)[:, None], result.risk, np.nan)


def risk_coverage(
    scores: ResponsesLike,
    correctness: ResponsesLike,
    *,
    coverages: Any = None,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> RiskCoverage:
    """Compute each model's error rate among its most confident answers, at every coverage.

    Parameters
    ----------
    scores : Responses, DataFrame, DataArray or array_like (models, questions) or (questions,)
        Real-valued scores; a higher score means that a correct answer is more likely. NaN marks a
        missing score. A vector gives the same scores to all models.
    correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        Correctness of the answers: 1 = correct, 0 = wrong.
    coverages : array_like (points,), optional
        Coverages at which to evaluate the curves, inside (0, 1]; by default 0.01, 0.02, ..., 1.
    clusters : array_like (questions,), optional
        Cluster of each question, such as its passage; whole clusters are resampled.
    weights : array_like (questions,), optional
        Weight of each question.
    bootstrap : int or Bootstrap
        Number of resamples of questions. All models share the same resamples, so that differences
        between models are paired.
    level : float
        Coverage of the pointwise bands, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    RiskCoverage
        The bands are pointwise Wilson intervals with the bootstrap variance.

    Raises
    ------
    OptionError
        If a coverage is not inside (0, 1].
    ShapeError, LabelError
        If scores, correctness and clusters do not match in shape or labels.
    CodeError
        If correctness is not binary.

    Examples
    --------
    >>> curve = risk_coverage([[1, 1, 0, 0]], [[1, 0, 0, 0]], coverages=[0.25, 0.75], rng=0)
    >>> curve.risk.round(4)
    array([[0.5   , 0.6667]])
    """
    grid = _check_coverages(coverages)
    metric = risk_at_coverage_metric(grid.tolist())
    answers = scored_answers(scores, correctness, clusters=clusters, weights=weights)
    options = Resampling.of(bootstrap, level, rng)
    drawn = draw([metric, SELECTIVE], answers, options)
    aurc = drawn.estimates(SELECTIVE)[0]
    risk, given = np.split(drawn.value[:, drawn.columns(metric)], 2, axis=1)
    draws = drawn.draws[:, :, drawn.columns(metric)][:, :, : grid.size]
    points = [_at_thresholds(tally) for tally in drawn.tables]
    thresholds, shares, rates = zip(*points, strict=True)
    whole = np.where(np.isfinite(risk), given, np.nan)
    right = np.array([tally.correct.sum() for tally in drawn.tables])[:, None]
    return RiskCoverage(
        coverages=grid,
        risk=risk,
        interval=np.stack(
            [
                wilson_from_draws(own, draws[:, row], trials, level=level)
                if np.isfinite(aurc.se[row])
                else np.full((grid.size, 2), np.nan)
                for row, (own, trials) in enumerate(zip(risk, given, strict=True))
            ]
        ),
        best=np.maximum(whole - right, 0.0) / np.where(given > 0.0, given, 1.0),
        error_rate=_error_rates(drawn.tables),
        thresholds=thresholds,
        threshold_coverages=shares,
        threshold_risks=rates,
        aurc=aurc,
        flags=aurc.flags,
        n=answers.n,
        n_bootstrap=options.n,
        level=level,
        labels=answers.models,
    )


def _check_coverages(coverages: Any) -> FloatArray:
    if coverages is None:
        return np.arange(1, 101) / 100.0
    grid = np.unique(float_array(coverages, "coverages"))
    bad = grid[~((grid > 0.0) & (grid <= 1.0))]
    if bad.size or not grid.size:
        shown = f"{bad[0]:g}" if bad.size else "none"
        msg = f"coverages must be shares of questions above 0 and at most 1, got {shown}"
        raise OptionError(msg)
    return grid


def _at_thresholds(tally: Tally) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return scores in descending order, with coverage and risk at each."""
    wrong = np.cumsum(tally.wrong[::-1])
    given = np.cumsum((tally.correct + tally.wrong)[::-1])
    total = given[-1] if given.size else 1.0
    return tally.values[::-1].copy(), given / total, wrong / given


def _error_rates(tables: Any) -> FloatArray:
    errors = np.array([tally.wrong.sum() for tally in tables])
    n = errors + np.array([tally.correct.sum() for tally in tables])
    return np.where(n > 0.0, errors / np.where(n > 0.0, n, 1.0), np.nan)
