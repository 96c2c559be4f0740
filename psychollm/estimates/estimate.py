"""Estimates of one value per model with uncertainty, and differences between models."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_fraction
from psychollm._base.errors import LabelError, OptionError, ShapeError
from psychollm._base.numbers import UNDEFINED, with_interval
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray
from psychollm.estimates.clustered import expanded_level, few, tail_of_t
from psychollm.estimates.intervals import counts_of, percentile_interval, proportion_se, wilson
from psychollm.estimates.null import monte_carlo_p_value
from psychollm.estimates.reasons import Reason, first_reason


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Difference(Result):
    """Paired difference of two models with its interval, from their common resamples.

    Examples
    --------
    >>> from psychollm.calibration import brier
    >>> score = brier([[0.9, 0.2, 0.7], [0.5, 0.5, 0.5]], [[1, 0, 1], [1, 0, 1]], rng=0)
    >>> found = score.difference(0, 1)
    >>> found.first, found.second, found.n_resamples
    (0, 1, 2000)
    """

    _AXES = Axes(
        {},
        ("difference", lambda one: f"{one.first} - {one.second}"),
        "value",
        "se",
        "{bound}=interval",
        "p_value",
        "flag",
    )

    name: str  # name of the metric
    first: Any
    second: Any
    value: float  # first - second
    se: float
    interval: FloatArray  # (2,) percentiles of paired resamples, expanded for t
    p_value: float  # two-sided p-value for no difference
    n_resamples: int  # number of resamples in which both values are defined
    level: float
    flag: Reason


def paired_contrast(
    name: str,
    labels: tuple[Any, Any],
    values: tuple[float, float],
    draws: FloatArray,
    *,
    df: float,
    level: float,
    few_clusters: bool = False,
) -> Difference:
    """Return the paired difference of two models, given a column of draws for each."""
    # The p-value is one minus the highest level at which the percentile interval excludes zero.
    value = values[0] - values[1]
    gaps = draws[:, 0] - draws[:, 1]
    gaps = gaps[np.isfinite(gaps)]
    if not np.isfinite(value) or gaps.size < 2:
        return Difference(
            name=name,
            first=labels[0],
            second=labels[1],
            value=value,
            se=np.nan,
            interval=np.full(2, np.nan),
            p_value=np.nan,
            n_resamples=gaps.size,
            level=level,
            flag=Reason.TOO_FEW if np.isfinite(value) else Reason.UNDEFINED,
        )
    p_value = monte_carlo_p_value(0.0, gaps, alternative="two-sided", tie=0.0)
    return Difference(
        name=name,
        first=labels[0],
        second=labels[1],
        value=value,
        se=float(gaps.std(ddof=1)),
        interval=percentile_interval(gaps, float(expanded_level(level, df))),
        p_value=float(tail_of_t(p_value, df)),
        n_resamples=gaps.size,
        level=level,
        flag=Reason.FEW_CLUSTERS if few_clusters else Reason.NONE,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Estimate(Result):
    """One value per model with its interval, and reasons for undefined values.

    All models share resamples of questions. Differences between models are therefore paired, and
    the difficulty of the questions cancels.

    Examples
    --------
    >>> from psychollm.calibration.decisions.confusion import confusion
    >>> confusion([[1, 1, 0, 0]], [[1, 0, 0, 0]]).precision.to_frame().round(3)
       model  value     se  lower  upper    n flag
    0      0    0.5  0.354  0.095  0.905  2.0
    """

    name: str
    value: FloatArray  # (models,) NaN where undefined
    se: FloatArray  # (models,) standard errors, NaN where undefined
    interval: FloatArray  # (models, 2) lower and upper bound
    n: FloatArray  # (models,) number of observations
    flags: tuple[Reason, ...]  # (models,) reason for an undefined value, or qualification
    method: str  # method of the interval
    level: float
    labels: tuple[Any, ...]  # (models,)
    axis: str = "model"  # kind of labels, such as "model" or "item"
    df: FloatArray | None = None  # (models,) degrees of freedom, if questions are in clusters
    _draws: FloatArray | None = None  # (resamples, models)
    _pilot_df: FloatArray | None = None  # (models,)

    def _axes(self) -> Axes:
        axis = self.axis
        return Axes(
            {axis: "labels"},
            "value",
            "se",
            "{bound}=interval",
            "n",
            "flag=flags",
            arrays={axis: "value se n", f"{axis} bound": "interval", f"resample {axis}": "_draws"},
        )

    @property
    def draws(self) -> FloatArray:
        """Values in the resamples (resamples, models); all models share the resampled questions.

        Raises
        ------
        OptionError
            If the interval was computed without resamples.
        """
        if self._draws is None:
            msg = (
                f"{self.name} was computed without resamples ({self.method}): take it from "
                "calibration_panel, or pass bootstrap=2000 where the function offers it"
            )
            raise OptionError(msg)
        return self._draws

    def difference(self, first: Any, second: Any, *, level: float | None = None) -> Difference:
        """Return the paired difference of two models.

        Parameters
        ----------
        first, second : hashable
            Labels of the models.
        level : float, optional
            Coverage of the interval, between 0 and 1; by default the level of the estimate.

        Returns
        -------
        Difference
            Value of `first` minus value of `second`.

        Raises
        ------
        LabelError
            If a model is not in the estimate.
        OptionError
            If the interval was computed without resamples.

        Examples
        --------
        >>> from psychollm.calibration import brier
        >>> score = brier([[0.9, 0.2, 0.7], [0.5, 0.5, 0.5]], [[1, 0, 1], [1, 0, 1]], rng=0)
        >>> round(score.difference(0, 1).value, 4)
        -0.2033
        """
        i, j = self.place(first), self.place(second)
        return paired_contrast(
            self.name,
            (first, second),
            (float(self.value[i]), float(self.value[j])),
            self.draws[:, [i, j]],
            df=float(min(self.freedom[i], self.freedom[j])),
            few_clusters=self.df is not None and bool(few(self.df[[i, j]]).any()),
            level=check_fraction("level", self.level if level is None else level),
        )

    @property
    def pilot_df(self) -> FloatArray | None:
        """Degrees of freedom of the standard errors for planning another study (models,)."""
        # Degrees of freedom are set only for estimates whose score intervals are too short for
        # planning; see `Criterion`.
        return self._pilot_df

    @property
    def freedom(self) -> FloatArray:
        """Degrees of freedom of the standard errors (models,), limited by clusters if given."""
        units = np.maximum(np.nan_to_num(self.n) - 1.0, 1.0)
        return units if self.df is None else np.fmin(units, self.df)

    def place(self, label: Any) -> int:
        """Return the position of a model.

        Parameters
        ----------
        label : hashable
            Label of the model.

        Raises
        ------
        LabelError
            If the label is unknown.
        """
        try:
            return self.labels.index(label)
        except ValueError as error:
            known = ", ".join(repr(known) for known in self.labels[:5])
            more = ", ..." if len(self.labels) > 5 else ""
            msg = f"{label!r} is not a {self.axis} of this estimate: it holds {known}{more}"
            raise LabelError(msg) from error

    def qualified(self) -> "Estimate":
        """Flag values that are outside their interval or have no interval."""
        low, high = self.interval.T
        near = 1e-9 * np.maximum(1.0, np.abs(self.value))
        with np.errstate(invalid="ignore"):
            outside = (self.value < low - near) | (self.value > high + near)
        # A matrix has no sample size (n is NaN) and therefore no interval.
        bare = self.defined & np.isnan(self.interval).any(axis=1) & np.isfinite(self.n)
        flags = tuple(
            flag or (Reason.OUTSIDE if out else Reason.NO_SPREAD if alone else flag)
            for flag, out, alone in zip(self.flags, outside, bare, strict=True)
        )
        return replace(self, flags=flags)

    def text(self, row: int = 0, digits: int = 2, *, signed: bool = False) -> str:
        """Return one value with its interval as text, or the reason why it is undefined.

        Parameters
        ----------
        row : int
            Index of the model.
        digits : int
            Number of decimals.
        signed : bool
            Whether to print a plus sign before positive values.

        Examples
        --------
        >>> from psychollm.calibration.decisions.confusion import confusion
        >>> rates = confusion([[1, 1, 0, 0], [0, 0, 0, 0]], [[1, 0, 0, 0]] * 2)
        >>> rates.precision.text(0), rates.precision.text(1)
        ('0.50 [0.09, 0.91]', 'undefined (never says yes)')
        """
        value, flag = float(self.value[row]), self.flags[row]
        if np.isfinite(value):
            return with_interval(value, self.interval[row], digits, signed=signed)
        return f"{UNDEFINED} ({flag})" if flag else UNDEFINED

    @property
    def defined(self) -> "np.ndarray[Any, np.dtype[np.bool_]]":
        """Mask of the defined values (models,)."""
        return np.asarray(np.isfinite(self.value), dtype=np.bool_)


def joined(parts: Sequence[Estimate]) -> Estimate:
    """Join estimates that have different labels but the same resamples."""

    def along(name: str, axis: int = 0) -> Any:
        held = [getattr(part, name) for part in parts]
        return None if held[0] is None else np.concatenate(held, axis=axis)

    return replace(
        parts[0],
        value=along("value"),
        se=along("se"),
        interval=along("interval"),
        n=along("n"),
        df=along("df"),
        flags=tuple(flag for part in parts for flag in part.flags),
        labels=tuple(label for part in parts for label in part.labels),
        _draws=along("_draws", axis=1),
    )


def unknown_estimate(
    name: str,
    labels: tuple[Any, ...],
    reason: Reason,
    *,
    n: FloatArray,
    level: float,
    axis: str,
    n_draws: int,
) -> Estimate:
    """Return an estimate that is NaN for all labels, with one reason."""
    m = len(labels)
    return Estimate(
        name=name,
        value=np.full(m, np.nan),
        se=np.full(m, np.nan),
        interval=np.full((m, 2), np.nan),
        n=n,
        flags=(reason,) * m,
        method="none",
        level=level,
        labels=labels,
        axis=axis,
        _draws=np.full((n_draws, m), np.nan),
    )


def proportion(
    name: str,
    successes: FloatArray,
    n: FloatArray,
    *cases: tuple[BoolArray, Reason],
    level: float,
    labels: tuple[Any, ...],
) -> Estimate:
    """Return one proportion per model with its Wilson interval.

    Parameters
    ----------
    name : str
        Name of the proportion in tables.
    successes, n : ndarray (models,)
        Numbers of successes and of trials; the proportion is NaN if `n` is zero.
    *cases : tuple of (bool array (models,), Reason)
        Each pair consists of a mask of the models without a defined proportion, and of the reason.
        Earlier pairs take precedence.
    level : float
        Coverage of the interval, between 0 and 1.
    labels : tuple
        Labels of the models.

    Returns
    -------
    Estimate
        Proportions with intervals; NaN with a reason where undefined.

    Raises
    ------
    ShapeError
        If the numbers of values and of labels differ.

    Examples
    --------
    >>> proportion("hits", np.array([2.0]), np.array([4.0]), level=0.95, labels=("m",)).value
    array([0.5])
    """
    names = np.zeros(len(labels))
    successes, n = counts_of({"successes": successes, "n": n, "labels": names})[:2]
    if n.shape != names.shape:
        msg = f"labels holds {names.size} models, but there are counts of {n.size}: name each"
        raise ShapeError(msg)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        value = np.where(n > 0, successes / n, np.nan)
    return Estimate(
        name=name,
        value=value,
        se=proportion_se(successes, n),
        interval=wilson(successes, n, level=level),
        n=n,
        flags=first_reason(*cases, (n == 0, Reason.NO_ANSWERS)),
        method="Wilson",
        level=level,
        labels=labels,
    )
