"""Estimate a model's time horizon over all tasks and for a typical task.

A model's time horizon is the length of the tasks that it solves with a given probability. The
length of a task is the time, in minutes, that people need for it. Two definitions of the horizon
answer different questions. Over **all tasks**, the horizon is the length at which the proportion
of solved tasks equals the given probability (`psychollm.studies.time_horizon.plain`). For a
**typical task**, the horizon is the length at which a task of median difficulty for its length is
solved with the given probability (`psychollm.studies.time_horizon.explained`). Tasks of equal
length differ in difficulty, so the curve over all tasks is flatter. For probabilities above one
half, the horizon over all tasks is therefore shorter.

The sampling units of the intervals are tasks, or families of tasks if given, because similar tasks
carry less information.

References
----------
Kwa, T., West, B., Becker, J., et al. (2025). Measuring AI ability to complete long tasks.
arXiv:2503.14499.

De Boeck, P., & Wilson, M. (Eds.). (2004). Explanatory item response models. Springer.
https://doi.org/10.1007/978-1-4757-3990-9
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from psychollm._base.checks import check_fraction, check_generator
from psychollm._base.errors import OptionError
from psychollm._base.types import BoolArray, FloatArray, RandomState
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason, first_reason
from psychollm.studies.time_horizon.explained import Explained, explained
from psychollm.studies.time_horizon.given import Given, column_of, given
from psychollm.studies.time_horizon.plain import Plain, plain_logistic
from psychollm.studies.time_horizon.result import ALL_TASKS, TYPICAL_TASK, TimeHorizon
from psychollm.studies.time_horizon.trend import horizon_trend

_FEW_FAMILIES = 5
_FEWEST_TASKS = 3


def time_horizon(
    solved: Any,
    minutes: Any,
    *,
    share: float | Sequence[float] = (0.5, 0.8),
    families: Any = None,
    dates: Any = None,
    level: float = 0.95,
    rng: RandomState = None,
) -> TimeHorizon:
    """Estimate time horizons: the length of tasks that models solve with a given probability.

    Parameters
    ----------
    solved : DataFrame, Responses, ScoreLog or array_like (models, tasks)
        Whether each model solved each task (1 or 0), or its proportion of successful attempts; NaN
        if not attempted. Long tables and tables with repeats are accepted.
    minutes : Series, mapping, array_like (tasks,) or str
        Number of minutes that people need for each task, or the name of a column of the long table
        `solved`. Tasks without minutes (NaN) are omitted.
    share : float or sequence of float
        Probabilities of success.
    families : array_like (tasks,) or str, optional
        Family of each task, such as its template, or a column of `solved`; families are then the
        sampling units.
    dates : array_like (models,) or str, optional
        Release dates of the models, or a column of `solved`; required for a trend (see
        `TimeHorizon.trend`).
    level : float
        Coverage of the intervals.
    rng : Generator, int or None
        This argument is not used, because the intervals need no random numbers.

    Returns
    -------
    TimeHorizon
        Horizons are NaN with a reason if a model solved everything or nothing, or if its success
        does not decrease with length. The intervals of undefined horizons are unbounded towards 0
        or infinity.

    Raises
    ------
    CodeError
        If a value of `solved` is not between 0 and 1, or minutes are not positive.
    LabelError, ShapeError
        If minutes, families or dates do not match, or all tasks have equal length.
    OptionError
        If an option is out of range.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> minutes = 2.0 ** rng.uniform(-2, 9, 100)
    >>> odds = np.array([[5.0], [2.0]]) - np.log2(minutes) + 1.5 * rng.normal(size=100)
    >>> solved = rng.random((2, 100)) < 1 / (1 + np.exp(-odds))
    >>> h = time_horizon(solved, minutes, rng=1)
    >>> h.to_frame().drop(columns="flag").round(1).head(4)
       model  share    definition  minutes  lower  upper
    0      0    0.5     all tasks     31.3   18.0   55.5
    1      0    0.5  typical task     30.5   18.2   52.9
    2      0    0.8     all tasks      8.0    3.4   15.3
    3      0    0.8  typical task     12.5    6.4   22.5
    """
    shares = _shares(share)
    check_fraction("level", level)
    check_generator(rng)
    table = given(solved, minutes, families)
    x = np.log2(table.minutes)
    centre, width = float(x.mean()), float(x.std())
    scaled = (x - centre) / width
    tried = np.isfinite(table.solved)
    varies = _varies(tried, scaled)
    plain = None
    if varies.any():
        plain = plain_logistic(table.solved[varies], scaled, table.families, level)
    known = np.asarray(tried.any(axis=1), dtype=np.bool_)
    fitted = None
    if known.sum() > 1 and x.size >= _FEWEST_TASKS:
        fitted = explained(table.solved[known], scaled, table.families)
        fitted.convergence.warn("the explanatory item response model of time_horizon")
    all_tasks, typical, errors = [], [], []
    for one in shares:
        first = _of_plain(plain, varies, one)
        second = _of_fit(fitted, known, one, level)
        all_tasks.append(
            _estimate(table, ALL_TASKS, one, first[:2], centre, width, level,
                      (~varies & known, Reason.ONE_LENGTH))
        )  # fmt: skip
        typical.append(
            _estimate(
                table, TYPICAL_TASK, one, second[:2], centre, width, level, _without(fitted, x)
            )
        )
        errors.append([first[2] * width**2, second[2] * width**2])
    slope = np.nan if fitted is None else fitted.slope / width
    result = TimeHorizon(
        all_tasks=tuple(all_tasks),
        typical_task=tuple(typical),
        shares=shares,
        scatter=np.nan if fitted is None else fitted.scatter,
        slope=slope,
        solved=table.solved,
        task_minutes=table.minutes,
        labels=table.models,
        tasks=table.tasks,
        left_out=table.left_out,
        n_families=None if table.families is None else int(table.families.max()) + 1,
        task_errors=np.array(errors).swapaxes(0, 1),
        convergence=None if fitted is None else fitted.convergence,
        level=level,
        trends=None,
    )
    if dates is None:
        return result
    return result.with_trend(horizon_trend(result, column_of(solved, dates, "dates", of="model")))


def _shares(share: float | Sequence[float]) -> tuple[float, ...]:
    held: list[Any] = [*np.ravel(np.asarray(share, dtype=object))]
    if not held:
        msg = "share is empty: pass at least one, such as 0.5"
        raise OptionError(msg)
    return tuple(dict.fromkeys(check_fraction("share", one) for one in held))


def _varies(tried: BoolArray, x: FloatArray) -> BoolArray:
    """Return which models attempted tasks of different lengths (models,)."""
    low = np.where(tried, x, np.inf).min(axis=1)
    return np.asarray(np.where(tried, x, -np.inf).max(axis=1) > low)


def _of_plain(
    plain: Plain | None, varies: BoolArray, share: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return log horizons over all tasks, their bounds, and the covariance due to tasks."""
    n = varies.size
    value, bounds, errors = _nothing(n)
    if plain is not None:
        value[varies], bounds[varies] = plain.horizons(share)
        each = plain.errors(share)
        errors[np.ix_(varies, varies)] = each @ each.T
    return value, bounds, errors


def _of_fit(
    fitted: Explained | None, known: BoolArray, share: float, level: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return log horizons for a typical task, their bounds, and the covariance due to tasks."""
    value, bounds, errors = _nothing(known.size)
    if fitted is not None:
        value[known], bounds[known] = fitted.horizons(share, level)
        errors[np.ix_(known, known)] = fitted.errors(share)
    return value, bounds, errors


def _nothing(n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    return np.full(n, np.nan), np.full((n, 2), np.nan), np.full((n, n), np.nan)


def _without(fitted: Explained | None, x: FloatArray) -> tuple[BoolArray, Reason]:
    reason = Reason.TOO_FEW if x.size < _FEWEST_TASKS else Reason.ONE_MODEL_SCATTER
    return np.asarray(fitted is None), reason


def _estimate(
    table: Given,
    name: str,
    share: float,
    found: tuple[FloatArray, FloatArray],
    centre: float,
    width: float,
    level: float,
    lacks: tuple[BoolArray, Reason],
) -> Estimate:
    """Return horizons in minutes, with reasons for undefined and unbounded horizons."""
    solved, tried = table.solved, np.isfinite(table.solved)
    n = tried.sum(axis=1)
    none = n == 0
    never = ~none & (np.where(tried, solved, 0.0) == 0.0).all(axis=1)
    always = ~none & (np.where(tried, solved, 1.0) == 1.0).all(axis=1)
    with np.errstate(over="ignore"):
        value = np.exp2(centre + width * found[0])
        interval = np.exp2(centre + width * found[1])
    value = np.where(never | always, np.nan, value)
    interval[never, 0], interval[always, 1] = 0.0, np.inf
    absent = np.broadcast_to(lacks[0], n.shape) & ~none
    few = table.families is not None and table.families.max() + 1 < _FEW_FAMILIES
    alone = table.families is not None and table.families.max() == 0
    if alone:
        interval[:] = np.nan
    interval[none | absent] = np.nan
    value[none | absent] = np.nan
    lengths = np.where(tried, table.minutes, np.nan)
    lengths[none] = 1.0
    with np.errstate(invalid="ignore"):
        beyond = (value < np.nanmin(lengths, axis=1)) | (value > np.nanmax(lengths, axis=1))
    flags = first_reason(
        (none, Reason.NO_SCORES),
        (absent, lacks[1]),
        (never, Reason.NEVER_SOLVED),
        (always, Reason.ALWAYS_SOLVED),
        (np.isnan(value), Reason.NOT_FALLING),
        (np.full(n.shape, alone), Reason.ONE_CLUSTER),
        ((interval[:, 0] == 0.0) | np.isinf(interval[:, 1]), Reason.OPEN),
        (np.full(n.shape, few), Reason.FEW_CLUSTERS),
        (beyond, Reason.BEYOND),
    )
    return Estimate(
        name=f"minutes, {name}, {share:.3g}",
        value=value,
        se=np.full(n.shape, np.nan),
        interval=interval,
        n=n.astype(np.float64),
        flags=flags,
        method="penalised profile likelihood" if name == ALL_TASKS else "Fieller, t",
        level=level,
        labels=table.models,
    )
