r"""The curve behind a smooth reliability diagram: accuracy as a function of stated confidence.

With smoothed residuals :math:`r_\sigma` and the density of confidences
:math:`k_\sigma(t) = \frac1n \sum_i K_\sigma(t, f_i)`,

.. math:: a(t) = t + \frac{r_\sigma(t)}{k_\sigma(t)}, \qquad
          \int_0^1 |a(t) - t|\, k_\sigma(t)\, dt = s(\sigma):                             \quad (1)

the area between curve and diagonal, weighted by the density, is the smooth calibration error. The
curve is left out where fewer than one answer is near: a kernel of standard deviation sigma takes
in as many answers as :math:`2 \sqrt{\pi}\, \sigma\, n\, k_\sigma(t)`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.estimates.intervals import percentile_interval


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReliabilityCurve(Result):
    """Accuracy as a smooth function of stated confidence (1), for every model.

    Examples
    --------
    >>> from psychollm.calibration.errors.smooth import smooth_calibration_error
    >>> curve = smooth_calibration_error([0.6] * 10, [1] * 8 + [0] * 2, rng=0).curve
    >>> curve.confidence[60], curve.accuracy[0, 60].round(2)
    (np.float64(0.6), np.float64(0.8))
    """

    confidence: FloatArray  # (points,) from 0 to 1
    accuracy: FloatArray  # (models, points) NaN where fewer than one answer is near
    interval: FloatArray  # (models, points, 2) pointwise, bootstrap percentiles
    density: FloatArray  # (models, points) of stated confidence
    level: float
    labels: tuple[Any, ...]  # (models,)

    _AXES = Axes(
        {"model": "labels", "confidence": "confidence"},
        "accuracy",
        "accuracy_{bound}=interval",
        "density",
        arrays={"model confidence": "accuracy density", "model confidence bound": "interval"},
    )


def reliability_curve(
    value: FloatArray,
    draws: FloatArray,
    *,
    near: FloatArray,
    level: float,
    labels: tuple[Any, ...],
) -> ReliabilityCurve:
    """Return the curve from smoothed residuals and densities at equidistant points."""
    # Shapes: value (models, 2 x points); draws (resamples, models, 2 x points); near (models,).
    n_points = value.shape[1] // 2
    points = np.linspace(0.0, 1.0, n_points)

    def accuracy(columns: FloatArray) -> FloatArray:
        residual, density = columns[..., :n_points], columns[..., n_points:]
        with np.errstate(invalid="ignore", divide="ignore"):
            found = np.where(density * near[:, None] >= 1.0, points + residual / density, np.nan)
        return np.clip(found, 0.0, 1.0)

    own = accuracy(value)
    bounds = percentile_interval(accuracy(draws), level)
    return ReliabilityCurve(
        confidence=points,
        accuracy=own,
        interval=np.where(np.isfinite(own)[..., None], bounds, np.nan),
        density=value[:, n_points:].copy(),
        level=level,
        labels=labels,
    )
