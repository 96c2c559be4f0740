"""Tables of ordered answers as the kernels want them: ranks, margins, cuts."""

import numpy as np

from psychollm._base.types import AnyArray, Axis, FloatArray
from psychollm.data.responses import Responses
from psychollm.kernels.polychoric import margin_cuts


def ordered_codes(table: Responses, of: Axis) -> tuple[AnyArray, tuple[tuple[int, ...], ...]]:
    """Return codes (k, units) as ranks among the answers of their row, -1 where missing."""
    raw, missing = table.codes, table.missing
    if of == "questions":
        raw, missing = raw.T, missing.T
    codes, answers = np.full(raw.shape, -1, dtype=np.int8), []
    for row, (values, absent) in enumerate(zip(raw, missing, strict=True)):
        used = np.unique(values[~absent])
        codes[row, ~absent] = np.searchsorted(used, values[~absent])
        answers.append(tuple(int(code) for code in used))
    return codes, tuple(answers)


def row_margins(codes: AnyArray, weights: FloatArray, size: int) -> FloatArray:
    """Return counts (k, C) of all answers of each row."""
    w = weights if weights.size else None
    rows = [
        np.bincount(row[row >= 0], None if w is None else w[row >= 0], minlength=size)
        for row in codes
    ]
    return np.asarray(rows, dtype=np.float64)


def row_cuts(margins: FloatArray) -> FloatArray:
    """Return cuts (k, C + 1) of margins (k, C); infinite for rows without answers."""
    cuts = np.empty((len(margins), margins.shape[1] + 1))
    for row, counts in enumerate(margins):
        if counts.sum() > 0.0:
            margin_cuts(counts, cuts[row])
        else:
            cuts[row] = np.inf
    return cuts


def padded_cuts(thresholds: FloatArray) -> FloatArray:
    """Return cuts (k, C + 1) with infinite ends, from thresholds (k, C - 1)."""
    ends = np.full(len(thresholds), np.inf)
    inner = np.where(np.isnan(thresholds), np.inf, thresholds)
    return np.column_stack([-ends, inner, ends])


def pair_sizes(tables: FloatArray, codes: AnyArray, weights: FloatArray) -> FloatArray:
    """Return the units, or their weights, of each pair and on the diagonal of each row (k, k)."""
    k = len(codes)
    answered = codes >= 0
    n = np.empty((k, k))
    i, j = np.tril_indices(k, -1)
    n[i, j] = n[j, i] = tables.sum(axis=(1, 2))
    np.fill_diagonal(n, answered @ weights if weights.size else answered.sum(axis=1))
    return n
