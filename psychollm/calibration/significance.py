"""The outcome of one test for every model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.calibration.stated import StatedAnswers
from psychollm.estimates.reasons import Reason


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Significance(Result):
    """A test statistic per model, its p-value, and why it is undefined where it is.

    With clusters of fewer than 3.5 degrees of freedom there is no p-value (`NO_P_VALUE`): no test
    keeps its level with so few.

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


def significance(
    rows: Sequence[tuple[float, float, Reason]], answers: StatedAnswers, *, name: str, method: str
) -> Significance:
    """Return the tests of models from statistic, p-value and reason of each."""
    statistic, p_value, flags = zip(*rows, strict=True)
    p_values = np.array(p_value)
    if answers.units is not None:
        p_values, flags = answers.units.tested(p_values, flags)
    return Significance(
        name=name,
        statistic=np.array(statistic),
        p_value=p_values,
        n=answers.n,
        flags=flags,
        method=method,
        labels=answers.models,
    )
