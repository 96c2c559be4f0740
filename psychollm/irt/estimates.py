"""Estimates and standard errors of items, on the scale on which they are reported."""

import numpy as np

from psychollm._base.types import BoolArray, FloatArray
from psychollm.irt.families import Dichotomous
from psychollm.irt.polytomous import Graded, LogLinear
from psychollm.kernels.response_models import logistic

Columns = dict[str, FloatArray]


def columns_of(
    family: Dichotomous | Graded | LogLinear,
    parameters: FloatArray,
    covariance: FloatArray,
    frozen: BoolArray,
) -> Columns:
    """Return estimates and standard errors of the fitted items by the names of the result."""
    shown = np.where(frozen, np.nan, parameters)
    variances = np.einsum("jpp->jp", covariance)
    se = np.sqrt(np.where(variances > 0.0, variances, np.nan))
    if isinstance(family, Dichotomous):
        columns = _dichotomous(family, parameters, shown, covariance, se)
    else:
        columns = _polytomous(family, shown, covariance, se)
    return columns | {"parameters": parameters, "covariance": covariance}


def _polytomous(
    family: Graded | LogLinear, shown: FloatArray, covariance: FloatArray, se: FloatArray
) -> Columns:
    """Return the last slope, the steps, and their mean as intercept and difficulty."""
    k, items = family.n_slopes, shown.shape[0]
    steps = np.diag(np.ones(family.n_categories - 1))
    if family.model == "gpcm":  # steps are differences of the cumulative intercepts
        steps = steps - np.diag(np.ones(family.n_categories - 2), -1)
    variances = np.einsum("ap,jpq,aq->ja", steps, covariance[:, k:, k:], steps)
    mean = steps.mean(axis=0)
    direction = np.zeros((2, shown.shape[1]))
    direction[0, k - 1], direction[1, k:] = 1.0, mean
    pair = np.einsum("ap,jpq,bq->jab", direction, covariance, direction)
    slope, intercept = shown[:, k - 1], shown[:, k:] @ mean
    difficulty, se_difficulty = _difficulty(slope, intercept, pair)
    nothing = np.full(items, np.nan)
    return {
        "slope": slope,
        "se_slope": se[:, k - 1],
        "intercept": intercept,
        "se_intercept": np.sqrt(pair[:, 1, 1]),
        "difficulty": difficulty,
        "se_difficulty": se_difficulty,
        "steps": shown[:, k:] @ steps.T,
        "se_steps": np.sqrt(variances),
        "guessing": np.zeros(items),
        "se_guessing": nothing,
        "upper": np.ones(items),
        "se_upper": nothing,
    }


def _dichotomous(
    family: Dichotomous,
    parameters: FloatArray,
    shown: FloatArray,
    covariance: FloatArray,
    se: FloatArray,
) -> Columns:
    """Return slope, intercept, difficulty and asymptotes."""
    slope, intercept = shown[:, 0], shown[:, 1]
    se_slope = se[:, 0]
    if family.model == "rasch":
        slope, se_slope = np.ones(slope.size), np.zeros(slope.size)
        difficulty, se_difficulty = -intercept, se[:, 1]
    else:
        difficulty, se_difficulty = _difficulty(slope, intercept, covariance)
    columns = {
        "slope": slope,
        "intercept": intercept,
        "difficulty": difficulty,
        "se_slope": se_slope,
        "se_intercept": se[:, 1],
        "se_difficulty": se_difficulty,
        "steps": intercept[:, None],
        "se_steps": se[:, 1:2],
    }
    for k, name, absent in ((2, "guessing", 0.0), (3, "upper", 1.0)):
        columns[name], columns[f"se_{name}"] = _asymptote(parameters, se, k, absent)
    return columns


def _difficulty(
    slope: FloatArray, intercept: FloatArray, covariance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return -d/a with its standard error by the delta method; NaN where a is 0."""
    a = np.where(slope == 0.0, np.nan, slope)
    value = -intercept / a
    direction = np.stack([-value / a, -1.0 / a], axis=1)
    variance = np.einsum("jp,jpq,jq->j", direction, covariance[:, :2, :2], direction)
    return value, np.sqrt(np.where(variance > 0.0, variance, np.nan))


def _asymptote(
    parameters: FloatArray, se: FloatArray, k: int, absent: float
) -> tuple[FloatArray, FloatArray]:
    """Return an asymptote with its standard error, or the value it has in smaller models."""
    items = parameters.shape[0]
    if parameters.shape[1] <= k:
        return np.full(items, absent), np.full(items, np.nan)
    value, rest = logistic(parameters[:, k])
    return value, se[:, k] * value * rest
