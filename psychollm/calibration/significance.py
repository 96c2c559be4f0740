"""The outcome of one test for every model."""

from dataclasses import dataclass
from typing import Any

from psychollm._base.axes import Axes
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.estimates.reasons import Reason


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Significance(Result):
    """A test statistic per model, its p-value, and why it is undefined where it is.

    The p-values are those of single tests: for a panel of models pass them through
    `adjust_p_values`.

    Examples
    --------
    >>> from psychollm.calibration.scores.spiegelhalter import spiegelhalter
    >>> spiegelhalter([0.9, 0.6, 0.7, 0.2], [1, 0, 1, 0]).to_frame().round(3)
       model  statistic  p_value    n flag
    0      0     -0.503    0.615  4.0
    """

    name: str
    statistic: FloatArray  # (models,) NaN where undefined
    p_value: FloatArray  # (models,)
    n: FloatArray  # (models,) observations behind the statistic
    flags: tuple[Reason, ...]  # (models,) why it is undefined, or what qualifies it
    method: str  # what the statistic is compared with
    labels: tuple[Any, ...]  # (models,)

    _AXES = Axes({"model": "labels"}, "statistic", "p_value", "n", "flag=flags")
