r"""How many questions tell two models apart, or show that they differ by less than what matters.

Intervals of all differences hold at once. A multiple c of the standard error with :math:`\nu`
degrees of freedom is that of a single interval with :math:`\alpha = 2 T_\nu(-c)`, by which
`psychollm.estimates.sample_size` plans. Where questions come in clusters, few of them may hold
what differs, and the standard error is known as well as from fewer, (6) of
`psychollm.estimates.clustered`.
"""

from typing import Any

import numpy as np
from scipy.special import stdtr

from psychollm._base.numbers import number, percent, significant
from psychollm._base.types import FloatArray
from psychollm.estimates.sample_size import detectable, units_needed
from psychollm.reliability.means.score_differences import ScoreDifferences
from psychollm.studies.comparison.ranks import enough


def _alpha(pairs: ScoreDifferences) -> FloatArray:
    """Return alpha: one minus the level of a single interval as wide (pairs,)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(2.0 * stdtr(pairs.df, -pairs.margin / pairs.se), dtype=np.float64)


def detectable_of(pairs: ScoreDifferences, power: float, *, absence: bool = False) -> FloatArray:
    """Return the differences that the questions detect, or exclude for `absence` (pairs,)."""
    return detectable(pairs.se, pairs.df, alpha=_alpha(pairs), power=power, absence=absence)


def needed_of(
    pairs: ScoreDifferences, effect: FloatArray | float, power: float, *, absence: bool = False
) -> FloatArray:
    """Return how many questions detect a difference, or exclude it for `absence` (pairs,)."""
    df = pairs.df if pairs.pilot_df is None else pairs.pilot_df
    return units_needed(
        pairs.n, pairs.se, effect, df=df, alpha=_alpha(pairs), power=power, absence=absence
    )


def power_in_words(result: Any) -> str:
    """Return which differences are detected, and which are excluded where two are equal."""
    shares = are_shares(result.score.value[result.score.defined])
    known = enough(result.differences)
    detected, excluded = (
        _sizes(one[known], shares=shares) for one in (result.detectable, result.excludable)
    )
    if not detected:
        return "They are too few to show any difference."
    rest = f"; where two are equal, one of {excluded} is excluded as often" if excluded else ""
    return (
        f"A difference of {detected} between two models, depending on how alike they answer, "
        f"is detected with a chance of {percent(result.power)}{rest}."
    )


def _sizes(values: FloatArray, *, shares: bool) -> str:
    """Return the span of differences in words, of shares in points; "" where there are none."""
    known = values[values < (1.0 if shares else np.inf)]
    if not known.size:
        return ""
    ends = (known.min(), known.max())
    low, high = (number(100.0 * end, 1) if shares else significant(end) for end in ends)
    return (low if low == high else f"{low} to {high}") + (" points" if shares else "")


def are_shares(values: FloatArray) -> bool:
    """Return whether scores lie between 0 and 1."""
    return bool(((values >= 0.0) & (values <= 1.0)).all())
