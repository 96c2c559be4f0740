"""Folds that keep groups of questions whole, and probes fitted out of fold."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.checks import check_count, check_generator, float_array
from psychollm._base.errors import InputError, LabelError, OptionError, ShapeError
from psychollm._base.optional import require
from psychollm._base.types import BoolArray, FloatArray, IntArray, RandomState
from psychollm.data.labels import numbered, unit_labels
from psychollm.estimates.folds import dealt

_PURPOSE = "a probe"


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """Features of the probes: one table (questions, features) per predictor."""

    tables: Mapping[Any, FloatArray]
    n: int  # questions

    @property
    def labels(self) -> tuple[Any, ...]:
        """Names of the predictors."""
        return tuple(self.tables)


def features_of(states: Any, layers: Any, controls: Mapping[str, Any] | None) -> Features:
    """Return one table of features per layer and control."""
    array = float_array(getattr(states, "states", states), "states")
    array = array[:, None] if array.ndim == 2 else array
    if array.ndim != 3 or not array.size:
        msg = f"states must be (questions, layers, hidden), got shape {array.shape}"
        raise ShapeError(msg)
    known = tuple(getattr(states, "layers", range(array.shape[1])))
    wanted = known if layers is None else tuple(layers)
    if absent := [layer for layer in wanted if layer not in known]:
        msg = f"layer {absent[0]} is not among the states: choose from {known}"
        raise LabelError(msg)
    tables: dict[Any, FloatArray] = {
        f"layer {layer}": array[:, known.index(layer)] for layer in wanted
    }
    for name, values in (controls or {}).items():
        if name in tables:
            msg = f"controls: {name!r} is the name of a layer: rename it"
            raise LabelError(msg)
        column = float_array(values, name)
        tables[name] = column[:, None] if column.ndim == 1 else column
    for name, table in tables.items():
        if table.ndim != 2 or len(table) != len(array):
            msg = f"{name}: {len(array)} questions are needed, got shape {table.shape}"
            raise ShapeError(msg)
        if not np.isfinite(table).all():
            row = int(np.flatnonzero(~np.isfinite(table).all(axis=1))[0])
            msg = f"{name}: question {row} has NaN or infinity: leave it out"
            raise InputError(msg)
    return Features(tables=tables, n=len(array))


def groups_of(groups: Any, n: int) -> IntArray:
    """Return the group of each question as a number; by default each question is a group."""
    if groups is None:
        return np.arange(n)
    return numbered(unit_labels(groups, tuple(range(n)), argument="groups"))[0]


def folds_of(groups: IntArray, n_folds: int, rng: RandomState) -> IntArray:
    """Return the fold of each question; folds keep groups whole."""
    n_folds = check_count("n_folds", n_folds, low=2)
    n_groups = np.unique(groups).size
    if n_groups < n_folds:
        msg = f"n_folds={n_folds} exceeds the number of groups, {n_groups}: lower it"
        raise OptionError(msg)
    return dealt(groups, n_folds, check_generator(rng))


def outcome_of(outcome: Any, n: int) -> tuple[FloatArray, BoolArray]:
    """Return the outcome of each question (1, 0 or NaN), and whether the outcome is known."""
    values = float_array(outcome, "outcome")
    if values.shape != (n,):
        msg = f"outcome must have one value per question ({n}), got shape {values.shape}"
        raise ShapeError(msg)
    known = np.isfinite(values)
    if not np.isin(values[known], (0.0, 1.0)).all():
        msg = "outcome must be 1 (correct, or yes), 0, or NaN (unknown)"
        raise InputError(msg)
    if np.unique(values[known]).size < 2:
        msg = "outcome is the same for all questions: a probe needs both values"
        raise InputError(msg)
    return values, np.asarray(known, dtype=np.bool_)


def classifier(penalty: float) -> Any:
    """Return a logistic regression on standardised features."""
    linear = require("sklearn.linear_model", extra="text", purpose=_PURPOSE)
    pipeline = require("sklearn.pipeline", extra="text", purpose=_PURPOSE)
    scaling = require("sklearn.preprocessing", extra="text", purpose=_PURPOSE)
    if not penalty > 0:
        msg = f"penalty={penalty!r} must be above zero"
        raise OptionError(msg)
    return pipeline.make_pipeline(
        scaling.StandardScaler(), linear.LogisticRegression(C=1.0 / penalty, max_iter=2000)
    )


def fitted(table: FloatArray, outcome: FloatArray, rows: BoolArray, penalty: float) -> Any:
    """Return a function, fitted on some rows, from features to the probability of outcome 1."""
    share = float(outcome[rows].mean())
    if share in {0.0, 1.0}:  # no model can be fitted to a single class
        return lambda features: np.full(len(features), share)
    model = classifier(penalty).fit(table[rows], outcome[rows])
    return lambda features: model.predict_proba(features)[:, 1]


def out_of_fold(
    table: FloatArray, outcome: FloatArray, known: BoolArray, fold: IntArray, penalty: float
) -> FloatArray:
    """Return the out-of-fold probability of outcome 1 for each question (questions,)."""
    chance = np.full(len(table), np.nan)
    for one in np.unique(fold):
        held = fold == one
        chance[held] = fitted(table, outcome, known & ~held, penalty)(table[held])
    return chance
