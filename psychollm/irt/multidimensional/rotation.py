"""Exploratory fits on other axes.

Rotation changes neither the likelihood nor what an item shares with the abilities. Loadings are
rotated, slopes and abilities follow. Standard errors are those of the rotated solution as a
function of the triangular one: central differences through the rotation, axes matched.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.errors import OptionError
from psychollm._base.types import FloatArray
from psychollm.irt.answers import spread
from psychollm.irt.multidimensional.curvature import errors_of_functions
from psychollm.irt.multidimensional.problem import pairs
from psychollm.irt.multidimensional.scale import standardised

if TYPE_CHECKING:
    from psychollm.irt.multidimensional.result import MultidimensionalIRT

SPACING = 1e-4
Rotator = Callable[[FloatArray], Any]


def rotated(fit: MultidimensionalIRT, by: Rotator) -> MultidimensionalIRT:
    """Return the fit on the axes that `by` finds for its loadings."""
    m = len(fit.dimensions)
    if fit.form != "exploratory" or m == 1:
        msg = (
            f"this fit is {fit.form} with {m} abilit{'y' if m == 1 else 'ies'}: only exploratory "
            "fits with two abilities or more can be rotated"
        )
        raise OptionError(msg)
    table, identity = fit._echelon, np.eye(m)
    found = by(standardised(table, identity, fit.link)[0])
    turn = np.array(found.transformation, dtype=np.float64)
    new, correlation = _turned(table, turn)
    shown = np.where(np.isnan(fit.slopes[fit.fitted]), np.nan, 1.0)
    loadings, _ = standardised(new, correlation, fit.link)
    errors = _errors(fit, by, turn)
    keep = fit.fitted
    return replace(
        fit,
        slopes=spread(new[:, :-1] * shown, keep),
        factor_correlation=correlation,
        loadings=spread(loadings * shown, keep),
        se_slopes=spread(errors[0] * shown, keep),
        se_loadings=spread(errors[1] * shown, keep),
        se_factor_correlation=errors[2],
        parameters=spread(new, keep),
        rotation=str(getattr(found, "method", "rotated")),
    )


def _turned(table: FloatArray, turn: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return slopes and intercepts on new axes, and the correlations of these."""
    new = table.copy()
    new[:, :-1] = table[:, :-1] @ np.linalg.inv(turn).T
    correlation = turn.T @ turn
    np.fill_diagonal(correlation, 1.0)
    return new, correlation


def _matched(turn: FloatArray, model: FloatArray) -> FloatArray:
    """Return the columns of a transformation in the order and with the signs of a model's."""
    likeness = model.T @ turn
    order, signs = np.empty(len(turn), dtype=np.int64), np.empty(len(turn))
    left = np.abs(likeness)
    for _ in range(len(turn)):
        row, column = np.unravel_index(int(left.argmax()), left.shape)
        order[row], signs[row] = column, 1.0 if likeness[row, column] > 0.0 else -1.0
        left[row], left[:, column] = -1.0, -1.0
    return turn[:, order] * signs


def _errors(
    fit: MultidimensionalIRT, by: Rotator, turn: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return standard errors of slopes (J, m), loadings (J, m), correlations (m, m)."""
    table, m = fit._echelon, turn.shape[0]
    shape, errors = (table.shape[0], m), np.full((m, m), np.nan)
    if not fit._covariance.size:
        return np.full(shape, np.nan), np.full(shape, np.nan), errors
    free = ~np.isnan(np.diagonal(fit._covariance))
    free[m :: m + 1] = False  # intercepts stay what they are
    one_start = {"n_starts": 1} if "n_starts" in inspect.signature(by).parameters else {}
    finder: Rotator = partial(by, **one_start)
    near = _nearest_rotation(turn)

    def outcome(values: FloatArray) -> FloatArray:
        loadings, _ = standardised(values, np.eye(m), fit.link)
        # Rotated to where the axes end, a single start finds the same minimum again.
        here = near @ np.array(finder(loadings @ near).transformation)
        new, correlation = _turned(values, _matched(here, turn))
        scaled, _ = standardised(new, correlation, fit.link)
        return np.concatenate([new[:, :-1].ravel(), scaled.ravel(), correlation[pairs(m)]])

    columns = []
    for place in np.flatnonzero(free):
        step = np.zeros(table.size)
        step[place] = SPACING
        ends = [outcome(table + sign * step.reshape(table.shape)) for sign in (1.0, -1.0)]
        columns.append((ends[0] - ends[1]) / (2.0 * SPACING))
    found = errors_of_functions(np.stack(columns, axis=1), fit._covariance, free)
    size = table.shape[0] * m
    errors[pairs(m)] = found[2 * size :]
    errors[pairs(m)[::-1]] = found[2 * size :]
    return found[:size].reshape(shape), found[size : 2 * size].reshape(shape), errors


def _nearest_rotation(turn: FloatArray) -> FloatArray:
    """Return the orthogonal matrix nearest to a transformation."""
    left, _, right = np.linalg.svd(turn)
    return np.asarray(left @ right, dtype=np.float64)
