"""Early exit from reasoning: tokens saved by a probe, and the resulting accuracy.

Reasoning produces intermediate answers. A probe estimates the probability that each answer is
correct, and the model stops at the first answer whose probability reaches a threshold. Each
threshold implies an accuracy and a proportion of tokens used. The main result is the largest
saving without a loss of accuracy.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_fraction, float_array
from psychollm._base.errors import InputError, ShapeError
from psychollm._base.numbers import percent
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, RandomState
from psychollm.estimates.findings import Finding, Findings, Study
from psychollm.estimates.resampling import Bootstrap, Resampling, bootstrap_draws
from psychollm.estimates.verdict import SMALLEST, Outcome, SmallestEffects, outcome
from psychollm.studies.probes.folds import groups_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EarlyExit(Study, Result):
    """Accuracy and tokens at each stopping threshold."""

    thresholds: FloatArray  # (thresholds,) ascending
    accuracy: FloatArray  # (thresholds,)
    accuracy_interval: FloatArray  # (thresholds, 2)
    tokens: FloatArray  # (thresholds,) proportion of the tokens of complete reasoning
    tokens_interval: FloatArray  # (thresholds, 2)
    full_accuracy: float  # accuracy of complete reasoning
    saved: float  # proportion of tokens saved without a loss of accuracy
    saved_interval: FloatArray  # (2,)
    saved_threshold: float  # NaN if no tokens can be saved
    n: int

    _AXES = Axes(
        {"threshold": "thresholds"},
        "accuracy",
        "accuracy_{bound}=accuracy_interval",
        "tokens",
        "tokens_{bound}=tokens_interval",
    )

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return the verdict on saved tokens; `smallest.share` is the smallest relevant saving."""
        shown = outcome(self.saved_interval, smallest=smallest.share)
        judged = {
            Outcome.ABOVE: "saves tokens without a loss of accuracy",
            Outcome.SMALL: f"saves less than {percent(smallest.share)} of the tokens",
        }.get(shown, "does not save tokens significantly")
        low, high = self.saved_interval
        return Finding(
            statement=(
                f"Early exit {judged}. It saves {percent(self.saved)} ({percent(low)} to "
                f"{percent(high)}); the threshold was chosen on the same {self.n} questions. "
                f"With complete reasoning, accuracy is {percent(self.full_accuracy, 1)}."
            ),
            numbers={"saved": self.saved, "interval": self.saved_interval},
            outcome=shown,
        ).alone


def early_exit(
    confidence: Any,
    correct: Any,
    tokens: Any,
    *,
    thresholds: Any = None,
    groups: Any = None,
    bootstrap: Bootstrap | int = 1000,
    level: float = 0.95,
    rng: RandomState = 0,
) -> EarlyExit:
    """Estimate accuracy and saved tokens if the model stops at the first confident answer.

    Parameters
    ----------
    confidence : array_like (questions, steps)
        Out-of-fold probability that the answer at each step is correct. Values are NaN after the
        last step of a question.
    correct : array_like (questions, steps)
        Correctness of the answer at each step: 1 if correct, otherwise 0.
    tokens : array_like (questions, steps)
        Number of tokens up to each step.
    thresholds : array_like, optional
        Stopping thresholds; 0.5 to 0.99 by default.
    groups : array_like (questions,), optional
        Group of each question; groups are resampled whole.
    bootstrap : int or Bootstrap
        Number of resamples of questions or groups; each resample chooses its own threshold.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    EarlyExit
        Accuracy and tokens by threshold, and the tokens saved without a loss of accuracy.

    Raises
    ------
    ShapeError
        If the tables differ in shape.
    InputError
        If a question has no step, or token counts decrease.

    Examples
    --------
    >>> confidence = [[0.2, 0.9, 0.9], [0.9, 0.9, 0.9]]
    >>> found = early_exit(confidence, [[0, 1, 1], [1, 1, 1]], [[10, 20, 40], [10, 20, 40]],
    ...                    thresholds=[0.5], bootstrap=20)
    >>> found.accuracy.tolist(), found.tokens.tolist(), found.saved
    ([1.0], [0.375], 0.625)
    """
    sure, right, said = _tables(confidence, correct, tokens)
    given = (
        np.linspace(0.5, 0.99, 50) if thresholds is None else float_array(thresholds, "thresholds")
    )
    grid = np.sort(given.ravel())
    n = len(sure)
    share = check_fraction("level", level)
    last = np.isfinite(sure).sum(axis=1) - 1
    rows = np.arange(n)
    # The model stops at the first step at or above the threshold, or at the last step. The last
    # row of (thresholds + 1, questions) is for complete reasoning.
    stop = sure >= grid[:, None, None]
    stops = np.concatenate([np.where(stop.any(axis=2), stop.argmax(axis=2), last), last[None]])
    hits, used = right[rows, stops], said[rows, stops]

    def curve(counts: FloatArray) -> FloatArray:
        total = counts.sum(axis=1, keepdims=True)
        accuracy = counts @ hits.T / total
        spent = counts @ used.T
        return np.concatenate(
            [accuracy, spent / spent[:, -1:], _saving(accuracy, spent)[:, None]], axis=1
        )

    value = curve(np.ones((1, n)))[0]
    clusters = None if groups is None else groups_of(groups, n)
    draws = bootstrap_draws(curve, n, Resampling.of(bootstrap, level, rng), clusters=clusters)
    bounds = np.quantile(draws, [(1 - share) / 2, (1 + share) / 2], axis=0).T
    k = len(grid)
    keeps = np.flatnonzero(value[:k] >= value[k])
    cheapest = keeps[np.argmin(value[k + 1 : 2 * k + 1][keeps])] if keeps.size else None
    return EarlyExit(
        thresholds=grid,
        accuracy=value[:k],
        accuracy_interval=bounds[:k],
        tokens=value[k + 1 : 2 * k + 1],
        tokens_interval=bounds[k + 1 : 2 * k + 1],
        full_accuracy=float(value[k]),
        saved=float(value[-1]),
        saved_interval=bounds[-1],
        saved_threshold=float("nan") if cheapest is None else float(grid[cheapest]),
        n=n,
    )


def _tables(confidence: Any, correct: Any, tokens: Any) -> tuple[FloatArray, ...]:
    given = {"confidence": confidence, "correct": correct, "tokens": tokens}
    tables = [float_array(table, name) for name, table in given.items()]
    sure = tables[0]
    if sure.ndim != 2 or any(table.shape != sure.shape for table in tables):
        shapes = ", ".join(str(table.shape) for table in tables)
        msg = f"confidence, correct and tokens must all be (questions, steps), got {shapes}"
        raise ShapeError(msg)
    known = np.isfinite(sure)
    steps = known.sum(axis=1)
    whole = (known == (np.arange(sure.shape[1]) < steps[:, None])).all(axis=1) & (steps > 0)
    if not whole.all():
        row = int(np.flatnonzero(~whole)[0])
        msg = f"question {row}: confidence needs at least one step, and NaN only after the last"
        raise InputError(msg)
    rest = [np.where(known, table, 0.0) for table in tables[1:]]
    if not all(np.isfinite(table).all() for table in rest):
        msg = "correct or tokens is NaN at a step with a confidence: fill it in"
        raise InputError(msg)
    if not rest[1].any():
        msg = "tokens are all zero: pass the number of tokens up to each step"
        raise InputError(msg)
    falls = (np.diff(tables[2], axis=1) < 0) & known[:, 1:]
    if falls.any():
        msg = f"question {int(np.argwhere(falls)[0, 0])}: tokens decrease: pass cumulative counts"
        raise InputError(msg)
    return sure, rest[0], rest[1]


def _saving(accuracy: FloatArray, spent: FloatArray) -> FloatArray:
    """Return the largest proportion of tokens saved without a loss of accuracy (replicates,)."""
    saving = 1.0 - spent / spent[:, -1:]
    kept = accuracy >= accuracy[:, -1:] - 1e-12
    return np.asarray(np.where(kept, saving, 0.0).max(axis=1))
