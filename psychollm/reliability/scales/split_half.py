r"""Split-half reliability: over all splits of the items, or many.

Each split into halves A and B has Guttman's coefficient 4 cov(A, B) / var(A + B), which needs no
step-up. Its mean over all splits of an even number of items is coefficient alpha; the maximum is
lambda 4. How far maximum and minimum lie apart says how far the items measure one thing.

References
----------
Guttman, L. (1945). A basis for analyzing test-retest reliability. Psychometrika, 10, 255-282.
https://doi.org/10.1007/BF02288892

Cronbach, L. J. (1951). Coefficient alpha and the internal structure of tests. Psychometrika, 16,
297-334. https://doi.org/10.1007/BF02310555
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice, check_count, check_generator
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, RandomState
from psychollm.data.labels import Labels
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import RELIABILITY
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap, Resampling, resample
from psychollm.reliability.scales.alpha_intervals import ResamplingInterval
from psychollm.reliability.scales.item_matrix import Of, ResampledMatrix
from psychollm.reliability.scales.moments import Incomplete, constant_items
from psychollm.reliability.scales.scale_scores import scale_scores
from psychollm.reliability.scales.score_table import score_table
from psychollm.reliability.scales.splits import Splits, coefficient, mean_coefficient, splits_of

NAMES = ("maximum", "mean", "minimum")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SplitHalf(Result):
    """Split-half coefficients of a scale.

    Examples
    --------
    >>> found = split_half([[1, 2, 1, 2], [2, 3, 3, 1], [3, 3, 4, 4], [4, 5, 5, 4]], rng=0)
    >>> found.split_half.value.round(3), found.n_splits, found.exhaustive
    (array([0.958, 0.943, 0.926]), 3, True)
    """

    split_half: Estimate  # (3,) maximum, mean and minimum over all splits
    coefficients: FloatArray  # (splits,) of the splits that were tried
    exhaustive: bool  # whether these are all splits
    best: tuple[Labels, Labels]  # the halves of the maximum
    worst: tuple[Labels, Labels]  # the halves of the minimum

    _AXES = Axes({}, "*=split_half")

    @property
    def n_splits(self) -> int:
        """How many splits were tried."""
        return int(self.coefficients.size)


def split_half(
    scores: Any,
    *,
    of: Of = "correlations",
    respondents: Any = None,
    keys: Any = None,
    missing: Incomplete = "pairwise",
    max_splits: int = 2_000_000,
    n_splits: int = 10_000,
    interval: ResamplingInterval = "jackknife",
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> SplitHalf:
    """Maximum, mean and minimum of Guttman's coefficient over splits of the items into halves.

    Parameters
    ----------
    scores : Responses, DataFrame, DataArray or array_like (rows, items)
        Scores of respondents on the items of one scale.
    of : {"correlations", "covariances"}
        What the coefficients are computed from; items that do not vary are left out of
        correlations.
    respondents, keys, missing
        As in `consistency`.
    max_splits : int
        All splits are tried up to this number (2,000,000: 24 items).
    n_splits : int
        How many random ones are tried above it. The extremes are then searched by exchanges of
        items from the best and worst of these, and flagged; the mean is that of all splits
        nevertheless, which is known in closed form.
    interval : {"jackknife", "bootstrap"}
        Over respondents, of the mean; the jackknife is on the scale log(1 - x).
    bootstrap : int or Bootstrap
        Resamples of respondents; 0 for none.
    level, rng
        As in `brier`.

    Returns
    -------
    SplitHalf
        NaN with a reason where the total does not vary.

    Raises
    ------
    CodeError, ShapeError, LabelError, OptionError
        As in `consistency`.

    Notes
    -----
    With an odd number of items the halves differ by one item and all such splits are tried; R's
    psych 2.2.9 tries half of them, and it reverses items unasked (see `guttman`). Maximum and
    minimum lie further apart than in the population, the more so with few respondents and many
    items, so that no interval is given for them.

    References
    ----------
    Guttman (1945); Cronbach (1951).

    Examples
    --------
    >>> found = split_half([[1, 2, 1, 2], [2, 3, 3, 1], [3, 3, 4, 4], [4, 5, 5, 4]], rng=0)
    >>> found.best
    ((0, 2), (1, 3))
    """
    check_choice("of", of, Of)
    check_choice("interval", interval, ResamplingInterval)
    check_count("max_splits", max_splits, low=0)
    check_count("n_splits", n_splits)
    generator = check_generator(rng)
    options = Resampling.of(bootstrap, level, generator, interval=interval)
    table = score_table(scores, respondents=respondents, keys=keys)
    scale = scale_scores(table, 0, missing)
    resampled = ResampledMatrix(scale, of)
    matrix = resampled.at(np.ones(len(table.respondents)))
    splits = splits_of(matrix, max_splits, n_splits, generator)

    def statistic(counts: FloatArray) -> FloatArray:
        means = [mean_coefficient(resampled.at(row)) for row in counts]
        return np.stack([np.full(len(means), np.nan), means, np.full(len(means), np.nan)], axis=1)

    found = resample(statistic, len(table.respondents), options)
    if splits is not None:
        found.value[0] = coefficient(matrix, splits.highest)
        found.value[2] = coefficient(matrix, splits.lowest)
    kept = ~constant_items(scale.values) if of == "correlations" else np.ones(len(table.items))
    items = [item for item, keep in zip(table.items, kept, strict=True) if keep]
    return SplitHalf(
        split_half=found.estimate(
            "split-half reliability",
            scale=RELIABILITY,
            over="respondents",
            n=np.full(3, float(scale.n)),
            flags=_flags(splits, scale.reason),
            labels=NAMES,
            axis="split",
        ),
        coefficients=np.empty(0) if splits is None else splits.coefficients,
        exhaustive=splits is not None and splits.exhaustive,
        best=((), ()) if splits is None else _halves(items, splits.highest),
        worst=((), ()) if splits is None else _halves(items, splits.lowest),
    )


def _halves(items: Sequence[Any], signs: FloatArray) -> tuple[Labels, Labels]:
    first = tuple(item for item, sign in zip(items, signs, strict=True) if sign > 0)
    return first, tuple(item for item, sign in zip(items, signs, strict=True) if sign < 0)


def _flags(splits: Splits | None, reason: Reason) -> tuple[Reason, ...]:
    if splits is None:
        return (reason or Reason.NO_VARIANCE,) * 3
    extreme = Reason.EXTREME if splits.exhaustive else Reason.SEARCHED
    return (extreme, reason, extreme)
