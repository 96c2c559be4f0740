"""What every null needs of a table: packed answers, counts, the observed correlation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.checks import check_choice
from psychollm._base.errors import CodeError
from psychollm._base.types import EmptyCells, FloatArray, Missing
from psychollm.data.pair_counts import PairCounts
from psychollm.data.responses import Responses, ResponsesLike, as_responses
from psychollm.kernels.correlate import RULES, correlate_into
from psychollm.kernels.pair_counts import pack_rows
from psychollm.kernels.tetrachoric import thresholds_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """A table packed for the kernels, with the rules of the correlation."""

    packed: tuple[Any, ...]  # (yes, answered, mask, n_questions, totals, sizes)
    counts: PairCounts
    rule: int
    fixed: bool

    def workspace(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return fresh (joint, yes, n) arrays for one block of replicates."""
        shape = self.counts.joint.shape
        return np.empty(shape), np.empty(shape), np.array(self.counts.n)

    def writable_counts(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return copies of (joint, yes, n): kernels compile once for writable arrays."""
        return np.array(self.counts.joint), np.array(self.counts.yes), np.array(self.counts.n)

    def observed(self) -> tuple[FloatArray, FloatArray]:
        """Return the observed correlations (1, k, k) and thresholds (1, k)."""
        yes, n = np.diagonal(self.counts.yes).copy(), np.diagonal(self.counts.n).copy()
        tau = thresholds_of(yes, n)
        matrix = np.empty(self.counts.joint.shape)
        correlate_into(self.writable_counts(), tau, self.rule, self.fixed, matrix)
        return matrix[None], tau[None]


def make_design(data: ResponsesLike, *, empty_cells: EmptyCells, missing: Missing) -> Design:
    """Pack a table, refusing rows without variation and pairs without common questions."""
    if isinstance(data, Design):
        return data
    check_choice("empty_cells", empty_cells, EmptyCells)
    check_choice("missing", missing, Missing)
    table = as_responses(data, binary=True, of="models")
    counts = PairCounts.count(table)
    _check_variation(table)
    _check_overlap(counts)
    answered = ~table.missing
    yes, flags = pack_rows((table.codes == 1) & answered), pack_rows(answered)
    mask = flags if table.missing.any() else np.empty((0, 0), dtype=np.uint64)
    totals = answered.sum(axis=1).astype(np.int64)
    sizes = np.diagonal(counts.joint).astype(np.int64)
    packed = (yes, flags, mask, table.n_questions, totals, sizes)
    return Design(packed=packed, counts=counts, rule=RULES[empty_cells], fixed=missing == "global")


def _check_variation(table: Responses) -> None:
    """Refuse models that gave one answer only."""
    rates = table.yes_rates
    constant = np.flatnonzero(~((rates > 0) & (rates < 1)))
    if constant.size:
        names = ", ".join(repr(table.models[i]) for i in constant[:5])
        msg = (
            f"models {names} answered only yes, only no, or nothing: they have no correlation. "
            "Leave them out: responses.select(models=validity_screen(responses).usable)"
        )
        raise CodeError(msg)


def _check_overlap(counts: PairCounts) -> None:
    """Refuse pairs of models that share no question, or have no variation on those they share."""
    row, rest = counts.yes, counts.n - counts.yes
    bad = np.argwhere(np.tril((counts.n == 0) | (row * rest <= 0) | (row.T * rest.T <= 0), -1))
    if bad.size:
        i, j = bad[0]
        msg = (
            f"models {counts.labels[i]!r} and {counts.labels[j]!r} have no correlation on the "
            f"{counts.n[i, j]:g} questions that both answered ({len(bad)} such pairs): leave one "
            "of them out with responses.select(models=...)"
        )
        raise CodeError(msg)
