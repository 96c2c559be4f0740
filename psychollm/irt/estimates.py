"""Estimates and standard errors of items, on the scale on which they are reported."""

from typing import TypeAlias

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.kernels.response_models import logistic

Columns: TypeAlias = dict[str, FloatArray]


def difficulties(
    slope: FloatArray, intercept: FloatArray, covariance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return -d/a with its standard error by the delta method; NaN where a is 0.

    `covariance` (J, p, p) begins with slope and intercept.

    Examples
    --------
    >>> value, se = difficulties(np.array([2.0]), np.array([1.0]), np.eye(2)[None])
    >>> value, se.round(3)
    (array([-0.5]), array([0.559]))
    """
    a = np.where(slope == 0.0, np.nan, slope)
    value = -intercept / a
    direction = np.stack([-value / a, -1.0 / a], axis=1)
    variance = np.einsum("jp,jpq,jq->j", direction, covariance[:, :2, :2], direction)
    return value, np.sqrt(np.where(variance > 0.0, variance, np.nan))


def logistic_with_error(logits: FloatArray, se: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return asymptotes from their logits, with standard errors by the delta method.

    Examples
    --------
    >>> logistic_with_error(np.zeros(1), np.ones(1))
    (array([0.5]), array([0.25]))
    """
    value, rest = logistic(logits)
    return value, se * value * rest
