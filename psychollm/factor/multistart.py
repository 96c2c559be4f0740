r"""The lowest of several minima: descents from more starts until a further minimum is improbable.

With w distinct minima found from n starts, :math:`w (n - 1) / (n - w - 2)` are expected in all;
the search ends where that is below :math:`w + 1/2`. Eight starts that agree are enough.

References
----------
Boender, C. G. E., & Rinnooy Kan, A. H. G. (1987). Bayesian stopping rules for multistart global
optimization methods. Mathematical Programming, 37(1), 59-80. https://doi.org/10.1007/BF02591684
"""

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from psychollm._base.types import FloatArray

FIRST_STARTS, MOST_STARTS = 8, 64

End = TypeVar("End")


class Lowest(NamedTuple, Generic[End]):
    """The lowest minimum that was reached."""

    end: End
    minima: int  # distinct values at which the starts ended
    n_starts: int


def multistart(
    descend: Callable[[FloatArray], Sequence[tuple[float, End]]],
    starts: FloatArray,
    tolerance: float,
) -> Lowest[End]:
    """Descend from the first eight starts, then from more, and keep the lowest end.

    Parameters
    ----------
    descend : callable
        Starts (b, ...) to the value at which each ended, infinite where it did not arrive, and
        whatever else is to be kept of it.
    starts : ndarray (n, ...)
        Where several end at the same minimum, the first of them is kept.
    tolerance : float
        Values that differ by less are of one minimum, relative to the lowest if that exceeds 1.

    Examples
    --------
    >>> def descend(x):
    ...     return [(abs(end), end) for end in np.round(x)]
    >>> found = multistart(descend, np.linspace(-2, 2, 9), 0.1)
    >>> abs(float(found.end)), found.minima, found.n_starts
    (0.0, 3, 9)
    """
    ends: list[End] = []
    values = np.empty(0)
    minima, best = 1, 0
    while values.size < len(starts) and not no_more_expected(minima, values.size):
        found = descend(starts[values.size : max(2 * values.size, FIRST_STARTS)])
        values = np.concatenate([values, [value for value, _ in found]])
        ends += [end for _, end in found]
        best, minima = lowest_of(values, tolerance)
    return Lowest(ends[best], minima, values.size)


def no_more_expected(minima: int, n_starts: int) -> bool:
    """Return whether less than half a minimum is expected beyond those that starts found.

    Examples
    --------
    >>> no_more_expected(1, 8), no_more_expected(2, 8), no_more_expected(2, 32)
    (True, False, True)
    """
    spare = n_starts - minima - 2
    return spare > 0 and minima * (n_starts - 1) < (minima + 0.5) * spare


def lowest_of(values: FloatArray, tolerance: float) -> tuple[int, int]:
    """Return the first start that ended at the lowest value, and how many values are distinct.

    Starts that end at one minimum differ by rounding: a gap between sorted values parts minima.

    Examples
    --------
    >>> lowest_of(np.array([0.7, 0.5 + 1e-12, 0.5, np.inf]), 1e-8)
    (1, 2)
    """
    ends = np.sort(values[np.isfinite(values)])
    if not ends.size:
        return 0, 1
    gap = tolerance * max(1.0, abs(float(ends[0])))
    return int((values <= ends[0] + gap).argmax()), 1 + int(np.sum(np.diff(ends) > gap))
