r"""F-beta over a range of beta, the weight of recall relative to precision.

Let TP be the number of correct answers with a yes, Y the number of yes answers, and C the number
of correct answers. Then

.. math:: F_\beta = \frac{(1 + \beta^2)\, TP}{\beta^2 C + Y}, \qquad
          \frac{1 + \beta^2}{F_\beta} = \frac{1}{P} + \frac{\beta^2}{R}.                 \quad (1)

Here :math:`P = TP/Y` is precision, and :math:`R = TP/C` is recall. By equation (1), :math:`(1 +
\beta^2) / F_\beta` of every model is a straight line in :math:`\beta^2`. The lower envelope of the
models' lines gives the best model at each beta. The lines of two models cross at most once, at the
beta given by equation (2).

.. math:: \beta^2 = \frac{1/P_j - 1/P_i}{1/R_i - 1/R_j}.                                \quad (2)

The betas at which the best model changes can therefore be computed exactly.

For each model (accuracy a, yes rate q), two uninformative baselines are computed: always yes, and
yes at random at the same rate. Equation (3) gives the F-beta of the two baselines.

.. math:: \frac{(1 + \beta^2)\, a}{\beta^2 a + 1}, \qquad
          \frac{(1 + \beta^2)\, a q}{\beta^2 a + q}.                                    \quad (3)

References
----------
van Rijsbergen, C. J. (1979). Information retrieval (2nd ed.). Butterworths.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_fraction, float_array
from psychollm._base.errors import OptionError
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray, RandomState
from psychollm.calibration.stated import PairedAnswers, paired_answers
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.intervals import percentile_interval
from psychollm.estimates.reasons import Reason, first_reason
from psychollm.estimates.resampling import Bootstrap, Resampling, bootstrap_draws

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FBeta(Result):
    """F-beta of every model over a range of beta, the best models, and two baselines.

    The model ``leaders[0]`` is best for betas below ``crossings[0]``, the model ``leaders[1]`` for
    betas between ``crossings[0]`` and ``crossings[1]``, and so on.

    Examples
    --------
    >>> sweep = f_beta([[1, 1, 1, 1], [1, 0, 0, 0]], [[1, 1, 0, 0]] * 2, rng=0, bootstrap=50)
    >>> sweep.leaders, sweep.crossings.round(4)
    (array([1, 0]), array([1.]))
    """

    betas: FloatArray  # (betas,)
    value: FloatArray  # (models, betas)
    interval: FloatArray  # (models, betas, 2) bootstrap percentiles
    all_yes: FloatArray  # (models, betas) F-beta if the model always answered yes
    rate_matched: FloatArray  # (models, betas) expected F-beta of random answers at its yes rate
    beats_all_yes: FloatArray  # (models, betas) proportion of resamples above `all_yes`
    win_probability: FloatArray  # (models, betas) proportion of resamples in which it is best
    winner: IntArray  # (betas,) index of the best model, -1 if all are zero or undefined
    leaders: IntArray  # (segments,) successive best models from beta = 0 to infinity
    crossings: FloatArray  # (segments - 1,) betas at which the best model changes
    reason: tuple[Reason, ...]  # (models,) reason if a curve is undefined or zero
    n: FloatArray  # (models,) number of questions with both values
    n_bootstrap: int
    level: float
    labels: tuple[Any, ...]  # (models,)

    _AXES = Axes(
        {"model": "labels", "beta": "betas"},
        "value",
        "{bound}=interval",
        "all_yes",
        "rate_matched",
        "beats_all_yes",
        "win_probability",
        arrays={
            "model beta": "value all_yes rate_matched beats_all_yes win_probability",
            "model beta bound": "interval",
        },
    )

    def leaders_frame(self) -> "pd.DataFrame":
        """Return one row per best model with its range of beta."""
        import pandas as pd

        return pd.DataFrame(
            {
                "model": [self.labels[i] for i in self.leaders],
                "from_beta": [0.0, *self.crossings][: len(self.leaders)],
                "to_beta": [*self.crossings, np.inf][: len(self.leaders)],
            }
        )


def f_beta(
    confidence: ResponsesLike,
    correctness: ResponsesLike,
    *,
    betas: Any = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> FBeta:
    """Compute F-beta of binary confidence over a range of beta.

    A low beta penalises overconfidence (a yes to wrong answers), and a high beta penalises
    underconfidence (a no to correct answers).

    Parameters
    ----------
    confidence, correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        Confidence (1 = yes, 0 = no) and correctness (1 = correct, 0 = wrong). Questions with
        missing confidence or correctness are ignored.
    betas : array_like (betas,), optional
        Values of beta; by default 101 from 0.1 to 10, evenly spaced on a log scale.
    bootstrap : int or Bootstrap
        Number of resamples of questions, the same for all models.
    level : float
        Coverage of the bootstrap bands, pointwise in beta.
    rng : Generator, int or None
        Random generator or seed. The result does not depend on `n_jobs`.

    Returns
    -------
    FBeta
        F is NaN for a model that is never correct and never answers yes.

    Raises
    ------
    LabelError, CodeError
        If the two tables differ in their models or questions, or are not binary.
    OptionError
        If a beta is not positive and finite.

    Examples
    --------
    >>> sweep = f_beta([[1, 1, 0, 0]], [[1, 0, 1, 0]], betas=[1.0], bootstrap=20, rng=0)
    >>> sweep.value, sweep.all_yes.round(3)
    (array([[0.5]]), array([[0.667]]))
    """
    paired = paired_answers(confidence, correctness)
    grid = _check_betas(betas)
    check_fraction("level", level)
    parts = _parts(paired)
    draws = bootstrap_draws(
        lambda counts: np.stack([counts @ part.T for part in parts], axis=1),
        len(paired.questions),
        Resampling.of(bootstrap, level, rng),
        label="F-beta bands",
    )
    tp, yes, correct, n = parts.sum(axis=2)
    leaders, crossings = lower_envelope(tp, yes, correct)
    value = f_score(tp[:, None], yes[:, None], correct[:, None], grid)
    interval, beats, wins = _bands(draws, grid, level)
    return FBeta(
        betas=grid,
        value=value,
        interval=interval,
        all_yes=f_score(correct[:, None], n[:, None], correct[:, None], grid),
        rate_matched=_rate_matched(yes, correct, n, grid),
        beats_all_yes=beats,
        win_probability=wins,
        winner=_winners(value),
        leaders=leaders,
        crossings=crossings,
        reason=_reasons(tp, yes, correct, n),
        n=n,
        n_bootstrap=len(draws),
        level=level,
        labels=paired.models,
    )


def f_score(tp: Any, yes: Any, correct: Any, beta: Any) -> FloatArray:
    """Return F-beta from counts; NaN if no answer is yes and none is correct."""
    square = np.asarray(beta, dtype=np.float64) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((1.0 + square) * tp / (square * correct + yes), dtype=np.float64)


def lower_envelope(
    tp: FloatArray, yes: FloatArray, correct: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Return the best models in order of beta, and the betas at which the best model changes."""
    # The best models form the lower envelope of the lines (1), whose crossings follow from (2).
    # Among models with equal lines, the first is chosen. Models without a correct yes are never
    # best.
    able = np.flatnonzero(tp > 0)
    if not able.size:
        return np.empty(0, dtype=np.int64), np.empty(0)
    height, slope = yes[able] / tp[able], correct[able] / tp[able]
    current = int(np.lexsort((slope, height))[0])
    leaders, squares = [current], []
    while (flatter := np.flatnonzero(slope < slope[current])).size:
        meet = (height[flatter] - height[current]) / (slope[current] - slope[flatter])
        step = np.lexsort((slope[flatter], meet))[0]
        current = int(flatter[step])
        leaders.append(current)
        squares.append(meet[step])
    return able[leaders].astype(np.int64), np.sqrt(np.array(squares, dtype=np.float64))


def _check_betas(betas: Any) -> FloatArray:
    if betas is None:
        return np.geomspace(0.1, 10.0, 101)
    grid = np.atleast_1d(float_array(betas, "betas"))
    bad = grid[~(np.isfinite(grid) & (grid > 0))]
    if grid.ndim != 1 or bad.size:
        shown = bad[0] if bad.size else f"of shape {grid.shape}"
        msg = f"betas must be a list of positive finite numbers, got {shown}"
        raise OptionError(msg)
    return grid


def _parts(paired: PairedAnswers) -> FloatArray:
    """Return masks of correct yes answers, yes answers, correct answers and complete answers."""
    return np.stack([paired.yes * paired.correct, paired.yes, paired.correct, paired.present])


def _rate_matched(
    yes: FloatArray, correct: FloatArray, n: FloatArray, grid: FloatArray
) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = yes * correct / n
    return f_score(expected[:, None], yes[:, None], correct[:, None], grid)


def _bands(
    draws: FloatArray, grid: FloatArray, level: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return for each beta the bands, and how often each model beats always-yes or is best."""
    tp, yes, correct, n = np.moveaxis(draws, 1, 0)
    interval = np.empty((tp.shape[1], grid.size, 2))
    beats, wins = np.empty((2, tp.shape[1], grid.size))
    for column, beta in enumerate(grid):
        score = f_score(tp, yes, correct, beta)
        interval[:, column] = percentile_interval(score, level)
        beats[:, column] = _share(score > f_score(correct, n, correct, beta), np.isfinite(score))
        wins[:, column] = _win_share(score)
    return interval, beats, wins


def _share(event: Any, defined: Any) -> FloatArray:
    with np.errstate(invalid="ignore"):
        return np.asarray(event.sum(axis=0) / defined.sum(axis=0), dtype=np.float64)


def _win_share(score: FloatArray) -> FloatArray:
    """Return the proportion of resamples in which each model is best.

    Tied models count as equal fractions of a resample.
    """
    filled = np.where(score > 0, score, 0.0)
    best = (filled == filled.max(axis=1, keepdims=True)) & (filled > 0)
    among = np.maximum(best.sum(axis=1, keepdims=True), 1)
    return np.asarray((best / among).mean(axis=0), dtype=np.float64)


def _winners(value: FloatArray) -> IntArray:
    filled = np.where(value > 0, value, 0.0)
    winner = np.where(filled.any(axis=0), filled.argmax(axis=0), -1)
    return np.asarray(winner, dtype=np.int64)


def _reasons(
    tp: FloatArray, yes: FloatArray, correct: FloatArray, n: FloatArray
) -> tuple[Reason, ...]:
    return first_reason(
        (n == 0, Reason.NO_ANSWERS),
        ((yes == 0) & (correct == 0), Reason.NO_YES_NO_CORRECT),
        (yes == 0, Reason.NO_YES),
        (correct == 0, Reason.NO_CORRECT),
        (yes == n, Reason.NO_NO),
    )
