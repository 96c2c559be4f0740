r"""Brier score: the mean squared distance between stated confidence and outcome.

References
----------
Brier, G. W. (1950). Verification of forecasts expressed in terms of probability. Monthly Weather
Review, 78, 1-3.
"""

from typing import Any

import numpy as np

from psychollm._base.types import FloatArray, RandomState
from psychollm.calibration.metric import Metric, estimate
from psychollm.calibration.stated import stated_answers
from psychollm.calibration.tally import Tally
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Resampling
from psychollm.kernels.proper_scores import mean_losses


def brier(
    confidence: Any,
    correctness: Any,
    *,
    clusters: Any = None,
    weights: Any = None,
    n_bootstrap: int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Estimate:
    """Brier score of each model's stated confidence: 0 is perfect, 0.25 a constant one half.

    Parameters
    ----------
    confidence : Responses, DataFrame, DataArray or array_like (models, questions)
        Stated probabilities of being correct, inside [0, 1]; a vector is one model.
    correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        1 = correct. Questions count where both are known.
    clusters : array_like (questions,), optional
        What each question belongs to; whole clusters are resampled.
    weights : array_like (questions,), optional
        How much each question counts.
    n_bootstrap : int
        Resamples of questions, the same for all models, so that `Estimate.difference` is paired.
    level : float
        Coverage of the interval.
    rng : Generator, int or None
        Source of randomness; the result does not depend on `n_jobs`.
    n_jobs, progress
        Workers and progress bar of the bootstrap.

    Returns
    -------
    Estimate
        NaN with a reason for a model without answers.

    Raises
    ------
    CodeError
        If a confidence lies outside [0, 1] or correctness is not binary.
    ShapeError, LabelError
        If the tables, or clusters, do not match.
    OptionError
        If weights are not finite, or an option does not exist.

    Examples
    --------
    >>> brier([[0.9, 0.8, 0.3, 0.1]], [[1, 0, 1, 0]], rng=0).value.round(4)
    array([0.2875])
    """
    answers = stated_answers(confidence, correctness, clusters=clusters, weights=weights)
    options = Resampling(n=n_bootstrap, level=level, rng=rng, n_jobs=n_jobs, progress=progress)
    return estimate(BRIER, answers, options)


def _brier(values: FloatArray, correct: FloatArray, wrong: FloatArray) -> FloatArray:
    out = np.empty((correct.shape[0], 1))
    mean_losses((1.0 - values) ** 2, values**2, correct, wrong, out[:, 0])
    return out


def _always_defined(tally: Tally) -> tuple[Reason, ...]:
    return (Reason.NONE,)


BRIER = Metric(names=("Brier score",), compute=_brier, flags=_always_defined)
