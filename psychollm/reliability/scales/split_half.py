r"""Split-half reliability over all splits of the items, or over a sample of splits.

For a split into halves A and B, Guttman's coefficient is 4 cov(A, B) / var(A + B); it requires no
Spearman-Brown correction. The mean of Guttman's coefficient over all splits of an even number of
items is coefficient alpha, and the maximum is lambda 4. A large difference between maximum and
minimum indicates a departure from unidimensionality.

If s contains the signs of the halves, the coefficient is 1 - s'Cs / 1'C1. All splits are evaluated
if the number of splits does not exceed a limit. Above this limit, random splits are evaluated. A
local search for the extremes then starts from the best random splits and exchanges items between
the halves.

References
----------
Cronbach, L. J. (1951). Coefficient alpha and the internal structure of tests. Psychometrika, 16,
297-334. https://doi.org/10.1007/BF02310555

Guttman, L. (1945). A basis for analyzing test-retest reliability. Psychometrika, 10, 255-282.
https://doi.org/10.1007/BF02288892
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from operator import itemgetter
from typing import Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import DRAWS, check_choice, check_count, check_generator
from psychollm._base.errors import OptionError
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, RandomState
from psychollm.data.labels import Labels
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import RELIABILITY
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap, Resampling, resample
from psychollm.kernels.splits import enumerate_splits, exchange
from psychollm.reliability.scales.alpha_intervals import ResamplingInterval
from psychollm.reliability.scales.item_statistics import Of, ResampledMatrix
from psychollm.reliability.scales.moments import ROUNDING, Incomplete, constant_items
from psychollm.reliability.scales.score_table import scale_scores, score_table

# Number of random splits from which local searches start.
_STARTS = 20
_AT_ONCE = 2**22  # number of splits between checks for interrupts
_MOST_SPLITS = 10**9  # largest number of splits that fit into memory


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Splits:
    """Evaluated splits, and the two extreme splits."""

    coefficients: FloatArray  # (splits,)
    highest: FloatArray  # (items,) signs
    lowest: FloatArray  # (items,) signs
    exhaustive: bool  # whether all splits were evaluated


def n_splits_of(k: int) -> int:
    """Return the number of splits of k items into halves (sizes differ by one for odd k)."""
    return comb(k, k // 2) // (1 if k % 2 else 2)


def tried_splits(
    matrix: FloatArray, *, max_splits: int, n_splits: int, rng: np.random.Generator
) -> Splits:
    """Evaluate all splits if there are at most `max_splits`, else `n_splits` random splits."""
    number = n_splits_of(len(matrix))
    if number <= max_splits:
        if number > _MOST_SPLITS:
            msg = f"max_splits={max_splits}: {number:,} splits exceed memory, pass 1e9 or less"
            raise OptionError(msg)
        return _all_splits(matrix)
    return _random_splits(matrix, n_splits, rng)


def coefficient(matrix: FloatArray, signs: FloatArray) -> float:
    """Return the coefficient of one split; NaN if the total does not vary."""
    total = float(matrix.sum())
    varies = total > ROUNDING * len(matrix) * float(np.trace(matrix))
    return 1.0 - float(signs @ matrix @ signs) / total if varies else float("nan")


def best_coefficient(matrix: FloatArray, splits: Splits | None) -> float:
    """Return the highest split coefficient, lambda 4; NaN if it is undefined."""
    return float("nan") if splits is None else coefficient(matrix, splits.highest)


def mean_coefficient(matrix: FloatArray) -> float:
    """Return the mean coefficient over all splits, in closed form."""
    # The mean is alpha (lambda 3) for an even number of items. For odd k it is alpha times 1 - 1 /
    # k^2, because halves of unequal length have a smaller covariance.
    k, total, trace = len(matrix), float(matrix.sum()), float(np.trace(matrix))
    if not total > ROUNDING * k * trace or k < 2:
        return float("nan")
    together = ((k % 2) - k) / (k * (k - 1.0))  # mean product of two signs
    return 1.0 - (trace + together * (total - trace)) / total


def improved(matrix: FloatArray, signs: FloatArray, *, highest: bool) -> FloatArray:
    """Exchange pairs of items until no exchange increases (or decreases) the coefficient."""
    better = signs.copy()
    exchange(matrix, better, 1.0 if highest else -1.0)
    return better


def splits_of(
    matrix: FloatArray, max_splits: int, n_splits: int, rng: np.random.Generator
) -> Splits | None:
    """Return the evaluated splits for a matrix; None if the split coefficients are undefined."""
    total = float(matrix.sum())
    if len(matrix) < 2 or not total > ROUNDING * len(matrix) * float(np.trace(matrix)):
        return None
    return tried_splits(matrix, max_splits=max_splits, n_splits=n_splits, rng=rng)


def _all_splits(matrix: FloatArray) -> Splits:
    k = len(matrix)
    forms, chosen = np.empty(n_splits_of(k)), np.arange(k // 2)
    ends: list[tuple[float, FloatArray, float, FloatArray]] = []
    for start in range(0, forms.size, _AT_ONCE):  # interrupts are handled between these blocks
        part, lowest, highest = forms[start : start + _AT_ONCE], np.empty(k), np.empty(k)
        # Halves of equal size can be swapped, so only splits with the first item in the first half
        # are used.
        enumerate_splits(matrix, chosen, 1 - k % 2, part, lowest, highest)
        ends.append((part.min(), lowest, part.max(), highest))
    return Splits(
        coefficients=1.0 - forms / matrix.sum(),
        highest=min(ends, key=itemgetter(0))[1],
        lowest=max(ends, key=itemgetter(2))[3],
        exhaustive=True,
    )


def _random_splits(matrix: FloatArray, n: int, rng: np.random.Generator) -> Splits:
    k = len(matrix)
    signs = np.where(np.arange(k) < k // 2, 1.0, -1.0)
    drawn = rng.permuted(np.broadcast_to(signs, (n, k)), axis=1)
    values = 1.0 - ((drawn @ matrix) * drawn).sum(axis=1) / matrix.sum()
    order = np.argsort(values, kind="stable")
    return Splits(
        coefficients=values,
        highest=_searched(matrix, drawn[order[::-1][:_STARTS]], highest=True),
        lowest=_searched(matrix, drawn[order[:_STARTS]], highest=False),
        exhaustive=False,
    )


def _searched(matrix: FloatArray, starts: FloatArray, *, highest: bool) -> FloatArray:
    """Return the most extreme split found by local searches from several starts."""
    reached = [improved(matrix, start, highest=highest) for start in starts]
    values = [coefficient(matrix, signs) for signs in reached]
    return reached[int(np.argmax(values) if highest else np.argmin(values))]


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
    coefficients: FloatArray  # (splits,) coefficients of the evaluated splits
    exhaustive: bool  # whether all splits were evaluated
    best: tuple[Labels, Labels]  # halves of the split with the maximum
    worst: tuple[Labels, Labels]  # halves of the split with the minimum

    _AXES = Axes({}, "*=split_half")

    @property
    def n_splits(self) -> int:
        """Number of splits that were evaluated."""
        return int(self.coefficients.size)


def split_half(
    scores: ResponsesLike,
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
    """Compute maximum, mean and minimum of Guttman's split-half coefficient over splits.

    Parameters
    ----------
    scores : Responses, DataFrame, DataArray or array_like (rows, items)
        Scores of respondents on the items of one scale.
    of : {"correlations", "covariances"}
        Matrix from which the coefficients are computed. If correlations are used, zero-variance
        items are omitted.
    respondents : array_like (rows,), optional
        Respondent of each row, for repeated measurements; the jackknife and the bootstrap omit or
        resample whole respondents.
    keys : array_like (items,) or mapping, optional
        Sign of each item: -1 reverses the item, 1 leaves it unchanged. By default no item is
        reversed.
    missing : {"pairwise", "listwise"}
        "pairwise" computes each covariance from the rows with scores on both items. "listwise"
        omits all rows with a missing score.
    max_splits : int
        Largest number of splits to enumerate; the default suffices for up to 24 items.
    n_splits : int
        Number of random splits if there are more than `max_splits` splits. With random splits, the
        maximum and the minimum are found by a local search from the best splits, and are flagged.
        The mean has a closed form and always refers to all splits.
    interval : {"jackknife", "bootstrap"}
        Interval method for the mean; the jackknife over respondents uses the scale log(1 - mean).
    bootstrap : int or Bootstrap
        Number of resamples of respondents; 0 disables resampling.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    SplitHalf
        Coefficients; NaN with a reason if the total does not vary.

    Raises
    ------
    CodeError, ShapeError, LabelError
        If the scores are not a numeric table, or the labels do not match the rows of the table.
    OptionError
        If an option is invalid.

    Notes
    -----
    With an odd number of items, the halves differ by one item, and all such splits are
    used. The R package psych 2.2.9 uses half of these splits and reverses items by default (see
    `guttman`). Maximum and minimum have no intervals, because the difference between them is
    larger in samples than in the population, especially with few respondents and many items.

    References
    ----------
    Guttman, L. (1945). A basis for analyzing test-retest reliability. Psychometrika, 10(4),
    255-282. https://doi.org/10.1007/BF02288892

    Cronbach, L. J. (1951). Coefficient alpha and the internal structure of tests. Psychometrika,
    16(3), 297-334. https://doi.org/10.1007/BF02310555

    Examples
    --------
    >>> found = split_half([[1, 2, 1, 2], [2, 3, 3, 1], [3, 3, 4, 4], [4, 5, 5, 4]], rng=0)
    >>> found.best
    ((0, 2), (1, 3))
    """
    check_choice("of", of, Of)
    check_choice("interval", interval, ResamplingInterval)
    max_splits = check_count("max_splits", max_splits, low=0)
    n_splits = check_count("n_splits", n_splits, high=DRAWS)
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

    replicates = resample(statistic, len(table.respondents), options)
    if splits is not None:
        replicates.value[0] = coefficient(matrix, splits.highest)
        replicates.value[2] = coefficient(matrix, splits.lowest)
    kept = ~constant_items(scale.values) if of == "correlations" else np.ones(len(table.items))
    items = [item for item, keep in zip(table.items, kept, strict=True) if keep]
    return SplitHalf(
        split_half=replicates.estimate(
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
