"""Table of ordered answers, prepared for simulations with the same margins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from psychollm._base.checks import check_choice
from psychollm._base.errors import CodeError
from psychollm._base.types import (
    AnyArray,
    Axis,
    EmptyCells,
    FloatArray,
    Missing,
    RandomState,
    WordArray,
)
from psychollm.data.correlated import check_correlatable, check_factor_axis, is_tall
from psychollm.data.labels import Labels, listed
from psychollm.data.responses import as_responses
from psychollm.estimates.resampling import Bootstrap, Resampling
from psychollm.kernels.correlate import RULES
from psychollm.kernels.ordered_nulls import (
    correlate_answers,
    draw_answers,
    resample_answers,
    shuffle_answers,
)
from psychollm.kernels.random import seed_stream

Scheme: TypeAlias = Literal["within_model", "within_question"]
# For each kind of rows: the scheme that preserves the yes rates of rows, and the scheme that
# preserves the yes rates of units.
SCHEMES: dict[Axis, tuple[Scheme, Scheme]] = {
    "models": ("within_model", "within_question"),
    "questions": ("within_question", "within_model"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderedDesign:
    """Codes of the rows to be correlated, with the options of the correlation."""

    codes: AnyArray  # (k, units) int8, -1 where missing
    size: int  # number of answer categories
    rule: int
    fixed: bool
    labels: Labels
    of: Axis

    def observed(self) -> tuple[FloatArray, FloatArray]:
        """Return the observed correlations (k, k) and thresholds with infinite ends (k, C + 1)."""
        cuts = np.empty((len(self.codes), self.size + 1))
        return self._correlations(self.codes, cuts), cuts

    def shuffled(self, seeds: WordArray, scheme: Scheme) -> FloatArray:
        """Return correlations of shuffled tables (r, k, k)."""
        by_row = scheme == SCHEMES[self.of][0]
        return self._replicates(
            seeds, lambda state, table: shuffle_answers(state, self.codes, by_row, table)
        )

    def drawn(self, seeds: WordArray, loadings: FloatArray, cuts: FloatArray) -> FloatArray:
        """Return correlations of tables drawn from orthogonal factors (r, k, k)."""
        return self._replicates(
            seeds, lambda state, table: draw_answers(state, loadings, cuts, self.codes, table)
        )

    def resampled(self, seeds: WordArray) -> FloatArray:
        """Return correlations of resampled units (r, k, k)."""
        return self._replicates(
            seeds, lambda state, table: resample_answers(state, self.codes, table)
        )

    def _replicates(
        self, seeds: WordArray, fill: Callable[[WordArray, AnyArray], None]
    ) -> FloatArray:
        """Return correlations of tables that `fill` draws from the stream of each seed."""
        k = len(self.codes)
        table, cuts = np.empty_like(self.codes), np.empty((k, self.size + 1))
        out = np.empty((len(seeds), k, k))
        for one, seed in zip(out, seeds, strict=True):
            fill(seed_stream(seed), table)
            one[:] = self._correlations(table, cuts)
        return out

    def _correlations(self, codes: AnyArray, cuts: FloatArray) -> FloatArray:
        """Return the correlations (k, k) of a table, and fill its thresholds (k, C + 1)."""
        matrix = np.empty((len(codes), len(codes)))
        correlate_answers(codes, self.rule, self.fixed, cuts, matrix)
        return matrix

    @property
    def n(self) -> float:
        """Harmonic mean, over pairs of rows, of the number of units with answers in both rows."""
        answered = (self.codes >= 0).astype(np.float64)
        pairs = (answered @ answered.T)[np.tril_indices(len(answered), -1)]
        return float(1.0 / np.mean(1.0 / np.maximum(pairs, 1e-9)))


def resampled_correlations(
    data: Any,
    *,
    of: Axis = "models",
    bootstrap: Bootstrap | int = 500,
    empty_cells: EmptyCells = "keep_margins",
    missing: Missing = "pairwise",
    rng: RandomState = None,
) -> FloatArray:
    """Compute correlations of resampled units, for a bootstrap of factors.

    Parameters
    ----------
    data : Responses, DataFrame or array of shape (models, questions)
        Answers, coded 0 and 1 or as ordered codes from 0 to 15.
    of : {"models", "questions"}
        Whether to correlate models or questions; units of the other kind are resampled with
        replacement.
    bootstrap : int or Bootstrap
        Number of resamples.
    empty_cells : {"keep_margins", "add_half", "add_half_all", "none"}
        Continuity correction of tables with an empty cell. ``"keep_margins"`` shifts a count of
        1/2 between the cells of a 2 x 2 table without changing the yes rates; larger tables are
        unchanged. ``"add_half"`` puts 1/2 into empty cells. ``"add_half_all"`` adds 1/2 to all
        cells of a table with an empty cell. ``"none"`` applies no correction.
    missing : {"pairwise", "global"}
        ``"pairwise"`` estimates the thresholds of a pair from its own table, and ``"global"`` from
        all answers of each row.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    ndarray of shape (resamples, k, k)
        Tetrachoric or polychoric correlations; zero where undefined in a replicate.

    Raises
    ------
    CodeError, ShapeError
        If a row has zero variance, or if there are fewer than two rows.

    Examples
    --------
    >>> import psychollm as psy
    >>> answers = psy.load_example("shared_confidence").confidence
    >>> resampled_correlations(answers.codes[:5], of="models", bootstrap=10, rng=1).shape
    (10, 5, 5)
    """
    design = ordered_design(data, of=of, empty_cells=empty_cells, missing=missing)
    options = Resampling.of(bootstrap, 0.95, rng).required()
    stack: FloatArray = options.replicate(design.resampled, "resampled tables")
    return stack


def ordered_design(
    data: Any, *, of: Axis, empty_cells: EmptyCells, missing: Missing
) -> OrderedDesign:
    """Read a table of answers; raise an error for rows with constant answers."""
    check_choice("of", of, Axis)
    check_choice("empty_cells", empty_cells, EmptyCells)
    check_choice("missing", missing, Missing)
    table = as_responses(data, argument="data")
    check_factor_axis(table, of, "data")
    check_correlatable(table, of, "data")
    raw, gaps, labels = table.codes, table.missing, table.models
    if of == "questions":
        raw, gaps, labels = raw.T, gaps.T, table.questions
    low = int(raw[~gaps].min()) if not gaps.all() else 0
    codes = np.where(gaps, -1, raw - low).astype(np.int8)
    same = [
        label
        for label, row in zip(labels, codes, strict=True)
        if np.unique(row[row >= 0]).size < 2
    ]
    if same:
        other = ', or pass of="questions" to correlate the columns' * is_tall(table, of)
        msg = f"{of} {listed(same)} have one answer, or none: omit them{other}"
        raise CodeError(msg)
    return OrderedDesign(
        codes=np.ascontiguousarray(codes),
        size=int(codes.max()) + 1,
        rule=RULES[empty_cells],
        fixed=missing == "global",
        labels=labels,
        of=of,
    )
