r"""Compute the number of questions needed to detect a difference or to show equivalence.

The intervals of all differences are simultaneous, with critical value c. A single interval with
:math:`\nu` degrees of freedom has the same critical value if :math:`\alpha = 2 T_\nu(-c)`; this
:math:`\alpha` is passed to `psychollm.estimates.sample_size`. The standard error has fewer degrees
of freedom if the differences are concentrated in few clusters; see equation (6) in
`psychollm.estimates.clustered`.
"""

from typing import Any

import numpy as np
from scipy.special import stdtr

from psychollm._base.numbers import number, percent, significant
from psychollm._base.types import FloatArray
from psychollm.estimates.sample_size import about, detectable, units_needed
from psychollm.reliability.means.repeated_scores import are_shares
from psychollm.reliability.means.score_differences import ScoreDifferences
from psychollm.studies.comparison.ranks import enough

MANY = 1e6  # larger numbers of questions are not printed


def _alpha(pairs: ScoreDifferences) -> FloatArray:
    """Return the alpha at which a single interval is as wide as the simultaneous one (pairs,)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(2.0 * stdtr(pairs.df, -pairs.margin / pairs.se), dtype=np.float64)


def detectable_of(pairs: ScoreDifferences, power: float, *, absence: bool = False) -> FloatArray:
    """Return the detectable differences or, with `absence`, excludable differences (pairs,)."""
    return detectable(pairs.se, pairs.df, alpha=_alpha(pairs), power=power, absence=absence)


def needed_of(
    pairs: ScoreDifferences, effect: FloatArray | float, power: float, *, absence: bool = False
) -> FloatArray:
    """Return the number of questions to detect or, with `absence`, exclude an effect (pairs,)."""
    df = pairs.df if pairs.pilot_df is None else pairs.pilot_df
    return units_needed(
        pairs.n, pairs.se, effect, df=df, alpha=_alpha(pairs), power=power, absence=absence
    )


def power_in_words(result: Any, smallest: float) -> str:
    """Describe which differences can be detected or excluded, and the questions for `smallest`."""
    shares = are_shares(result.score.value[result.score.defined])
    known = enough(result.differences)
    required = _questions(result, smallest, shares=shares)
    detected, excluded = (
        _sizes(one[known], shares=shares) for one in (result.detectable, result.excludable)
    )
    if not detected:
        return f"None: there are too few questions.{required}"
    excluding = (
        " If two models are equal, the interval of their difference excludes, with a probability "
        f"of {percent(result.power)}, differences larger than {excluded}."
        if excluded
        else ""
    )
    depending = " Values depend on the pair." if " to " in detected + excluded else ""
    return (
        f"The smallest true difference detected with a power of {percent(result.power)} is "
        f"{detected}.{required}{excluding}{depending}"
    )


def _questions(result: Any, smallest: float, *, shares: bool) -> str:
    """Return how many questions the smallest difference of interest needs; "" if undefined."""
    pairs = result.differences
    found = needed_of(pairs, smallest, result.power)[enough(pairs)]
    found = found[found < MANY]
    if not found.size:
        return ""
    low, high = about(found.min()), about(found.max())
    needed = low if low == high else f"{low} to {high.removeprefix('about ')}"
    points = 100.0 * smallest
    size = f"{points:g} point{'s' * (points != 1.0)}" if shares else f"{smallest:g}"
    return f" Detecting a true difference of {size} takes {needed} questions."


def _sizes(values: FloatArray, *, shares: bool) -> str:
    """Return the range of differences as text, in points for proportions; "" if undefined."""
    known = values[values < (1.0 if shares else np.inf)]
    if not known.size:
        return ""
    ends = (known.min(), known.max())
    low, high = (number(100.0 * end, 1) if shares else significant(end) for end in ends)
    return (low if low == high else f"{low} to {high}") + (" points" if shares else "")
