r"""Distributions of sum scores, and tables of answers by sum score.

Lord and Wingersky's recursion adds one item at a time: with curves :math:`P_c` of its answers

.. math:: f(s) \leftarrow \sum_c P_c\,f(s - c).                                         \quad (1)

Distributions without each item come from halving: the items of one half are added to what stands
outside of it, then the same within the other half. All terms are positive, nothing is divided
out, and J items cost J log J steps instead of J squared.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from psychollm._base.types import FloatArray

SMALLEST = 1.0  # expected count of a cell


def with_item(scores: FloatArray, p: FloatArray) -> FloatArray:
    """Return the distribution of sum scores with one item (C, Q) more: (1)."""
    n = scores.shape[0]
    longer = np.zeros((n + p.shape[0] - 1, scores.shape[1]))
    for c, curve in enumerate(p):
        longer[c : c + n] += scores * curve
    return longer


def score_distribution(curves: Sequence[FloatArray]) -> FloatArray:
    """Return the distribution of sum scores (S + 1, Q) of items, (C, Q) each."""
    full = np.ones((1, curves[0].shape[1]))
    for p in curves:
        full = with_item(full, p)
    return full


def without_each(curves: Sequence[FloatArray]) -> Iterator[tuple[int, FloatArray]]:
    """Yield each item with the distribution of sum scores of all others."""
    pending = [(0, len(curves), np.ones((1, curves[0].shape[1])))]
    while pending:
        low, high, outside = pending.pop()
        if high - low == 1:
            yield low, outside
            continue
        middle = (low + high) // 2
        left, right = outside, outside
        for p in curves[middle:high]:
            left = with_item(left, p)
        for p in curves[low:middle]:
            right = with_item(right, p)
        pending += [(middle, high, right), (low, middle, left)]


def merged_yes(yes: FloatArray, expected: FloatArray, n: FloatArray) -> tuple[float, int]:
    """Merge neighbouring scores until expected counts are large enough; return X2 and cells."""
    cells = [list(row) for row in zip(yes, expected, n, strict=True)]
    while len(cells) > 1:
        small = [min(e, m - e) for _, e, m in cells]
        worst = int(np.argmin(small))
        if small[worst] >= SMALLEST:
            break
        # towards the middle, where counts are large
        other = worst + 1 if worst < len(cells) / 2 and worst + 1 < len(cells) else worst - 1
        cells[other] = [x + y for x, y in zip(cells[other], cells[worst], strict=True)]
        del cells[worst]
    total = sum((o - e) ** 2 * m / (e * (m - e)) for o, e, m in cells if 0.0 < e < m)
    return float(total), len(cells)


def merged_answers(observed: FloatArray, expected: FloatArray) -> tuple[float, int]:
    """Return X2 and free cells of answers by score (S, C), sparse cells merged."""
    # Neighbouring answers of one score are merged until no expected count is below 1; a score
    # that is left with one cell is added to the next one towards the middle, and tried again.
    middle = observed.shape[0] // 2
    both = np.stack([observed, expected], axis=1)  # (S, 2, C)
    low, rest = _grouped(both[:middle])
    high, other = _grouped(both[middle:][::-1])
    groups = [*low, *high]
    if groups:  # what is left in the middle joins a group beside it
        groups[len(low) - 1 if low else -1] += rest + other
    cells = [_merge(group) for group in groups]
    total = sum(float(((o - e) ** 2 / e).sum()) for o, e in cells)
    return total, sum(group.shape[1] - 1 for group in cells)


def _grouped(rows: FloatArray) -> tuple[list[FloatArray], FloatArray]:
    """Collect scores from the end inwards until two cells are large enough; and what is left."""
    groups, left = [], np.zeros(rows.shape[1:])
    for row in rows:
        left = left + row
        if _merge(left).shape[1] > 1:
            groups.append(left)
            left = np.zeros_like(left)
    return groups, left


def _merge(row: FloatArray) -> FloatArray:
    """Merge neighbouring answers of one score (2, C) until expected counts are large enough."""
    cells = row[:, row[1] > 0.0]
    while cells.shape[1] > 1:
        worst = int(np.argmin(cells[1]))
        if cells[1, worst] >= SMALLEST:
            break
        beside = [k for k in (worst - 1, worst + 1) if 0 <= k < cells.shape[1]]
        other = min(beside, key=lambda k: cells[1, k])
        cells[:, other] += cells[:, worst]
        cells = np.delete(cells, worst, axis=1)
    return cells
