"""`polychoric`: pairwise correlations of the latent normal variables of ordered answers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice, check_fraction, check_weights
from psychollm._base.errors import InputError, OptionError, ShapeError
from psychollm._base.result import Result, drawn_by
from psychollm._base.types import AnyArray, Axis, EmptyCells, FloatArray, MatrixOrder, Missing
from psychollm.correlation.tetrachoric import (
    delta_interval,
    pairs_in_words,
    status_names,
)
from psychollm.data.labels import in_order
from psychollm.data.responses import Responses, ResponsesLike, as_responses
from psychollm.kernels.correlate import RULES, empty_outputs
from psychollm.kernels.polychoric import correlate_ordered_pairs, count_tables, margin_cuts
from psychollm.kernels.polychoric_influence import fill_influences, influence_pairs

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Drawn
    from numpy.typing import ArrayLike


def ordered_codes(table: Responses, of: Axis) -> tuple[AnyArray, tuple[tuple[int, ...], ...]]:
    """Return codes (k, units) as ranks among the answers of each row, -1 where missing."""
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
    """Return thresholds (k, C + 1), with infinite ends, from counts of answers (k, C)."""
    cuts = np.empty((len(margins), margins.shape[1] + 1))
    for row, counts in enumerate(margins):
        if counts.sum() > 0.0:
            margin_cuts(counts, cuts[row])
        else:
            cuts[row] = np.inf
    return cuts


def padded_cuts(thresholds: FloatArray) -> FloatArray:
    """Add infinite ends to thresholds (k, C - 1), and return an array (k, C + 1)."""
    ends = np.full(len(thresholds), np.inf)
    inner = np.where(np.isnan(thresholds), np.inf, thresholds)
    return np.column_stack([-ends, inner, ends])


def pair_sizes(tables: FloatArray, codes: AnyArray, weights: FloatArray) -> FloatArray:
    """Return the number or weight of units of each pair and, on the diagonal, of each row."""
    k = len(codes)
    answered = codes >= 0
    n = np.empty((k, k))
    i, j = np.tril_indices(k, -1)
    n[i, j] = n[j, i] = tables.sum(axis=(1, 2))
    np.fill_diagonal(n, answered @ weights if weights.size else answered.sum(axis=1))
    return n


BLOCK = 512
"""Number of units whose influences are kept in memory at a time."""
MAX_NUMBERS = 200_000_000
"""Maximum number of cells in the tables of all pairs."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PolychoricCorrelation(Result):
    """Matrix of polychoric correlations, with status and precision of each pair.

    Attributes
    ----------
    matrix : ndarray of shape (k, k)
        Correlations; NaN where `status` is ``PairStatus.UNDEFINED``.
    complement : ndarray of shape (k, k)
        1 - abs(matrix), with full relative precision near the bounds.
    thresholds : ndarray of shape (k, C - 1)
        Thresholds between adjacent answers of each row, estimated from all answers of the row.
        Rows with fewer than C categories are padded with NaN.
    n : ndarray of shape (k, k)
        Number of units with answers in both rows of each pair.
    status : ndarray of shape (k, k)
        `PairStatus` of each pair.
    residual : ndarray of shape (k, k)
        Numerical residual: the last Newton step, or for 2 x 2 tables the difference between the
        two sides of the estimating equation.
    iterations : ndarray of shape (k, k)
        Number of iterations.
    answers : tuple of tuple of int
        Codes that occur in each row.
    labels : tuple
        Names of the k rows.
    of : {"models", "questions"}
        Whether rows are models or questions.
    empty_cells, missing : str
        Continuity correction and treatment of missing data.
    """

    matrix: FloatArray  # (k, k)
    complement: FloatArray  # (k, k)
    thresholds: FloatArray  # (k, C - 1)
    n: FloatArray  # (k, k)
    status: AnyArray  # (k, k)
    residual: FloatArray  # (k, k)
    iterations: AnyArray  # (k, k)
    answers: tuple[tuple[int, ...], ...]  # k
    labels: tuple[Hashable, ...]  # k
    of: Axis
    empty_cells: EmptyCells
    missing: Missing
    _codes: AnyArray  # (k, units) -1 where missing
    _weights: FloatArray  # (units,) or (0,)
    _tables: FloatArray  # (p, C, C)

    _AXES = Axes(
        {"first": "labels", "second": "labels"},
        "n",
        "correlation=matrix",
        "se",
        ("status", status_names),
        "residual",
        "iterations",
        pairs="lower",
    )

    @property
    def se(self) -> FloatArray:
        """Standard errors (k, k) by the delta method, with estimated thresholds (two-step).

        Standard errors are NaN for undefined correlations and for correlations at a bound.
        """
        return self._influences()[3] * self._design()

    @property
    def se_fixed_thresholds(self) -> FloatArray:
        """Standard errors (k, k) for known thresholds."""
        return self._influences()[4] * self._design()

    def interval(self, *, level: float = 0.95) -> FloatArray:
        """Return Fisher-z confidence intervals of all pairs by the delta method, shape (k, k, 2).

        Parameters
        ----------
        level : float
            Nominal coverage, between 0 and 1.
        """
        check_fraction("level", level)
        return delta_interval(self.matrix, self.se, level)

    def covariance(self, *, thresholds: bool = False) -> FloatArray:
        """Return the covariance matrix of the correlations below the diagonal, row by row.

        The covariance is the sum over units of products of influence values, which account for the
        estimation of thresholds (Muthén, 1984). Units are processed in blocks, so that little
        memory is needed beyond the result.

        Parameters
        ----------
        thresholds : bool
            Whether to include the thresholds of all rows, row by row, before the correlations.

        Returns
        -------
        ndarray of shape (p, p)
            Covariance matrix, where p is k (k - 1) / 2, plus the number of thresholds if these are
            included.

        Raises
        ------
        InputError
            If a pair has no standard error; the message names such a pair.

        References
        ----------
        Muthen, B. (1984). A general structural equation model with dichotomous, ordered
        categorical, and continuous latent variable indicators. Psychometrika, 49(1), 115-132.
        https://doi.org/10.1007/BF02294210
        """
        joint, first, second, estimated, _ = self._influences()
        i, j = np.tril_indices(len(self.labels), -1)
        bad = np.flatnonzero(~np.isfinite(estimated[i, j]))
        if bad.size:
            a, b = self.labels[i[bad[0]]], self.labels[j[bad[0]]]
            msg = (
                f"{bad.size} pairs have no standard error, such as {a!r} with {b!r}: their "
                "correlations are undefined or at a bound. Omit such rows, or use another "
                "continuity correction by empty_cells="
            )
            raise InputError(msg)
        cuts = padded_cuts(self.thresholds)
        counted = np.isfinite(self.thresholds).sum() if thresholds else 0
        total = np.zeros((i.size + int(counted),) * 2)
        sizes = self._margins().sum(axis=1)
        for start in range(0, self._codes.shape[1], BLOCK):
            block = np.empty((min(BLOCK, self._codes.shape[1] - start), len(total)))
            fill_influences(
                self._codes, start, (joint, first, second), cuts, sizes, thresholds, block
            )
            if self._weights.size:
                block *= self._weights[start : start + len(block), None]
            total += block.T @ block
        return total

    def select(self, labels: Sequence[Hashable]) -> PolychoricCorrelation:
        """Return the correlations of the selected rows, in the given order.

        Parameters
        ----------
        labels : sequence
            Labels of the rows to keep, in the new order.

        Raises
        ------
        OptionError
            If a label is unknown, or if there are fewer than two labels.
        """
        where = {label: i for i, label in enumerate(self.labels)}
        unknown = [label for label in labels if label not in where]
        if unknown or len(labels) < 2:
            msg = f"labels={labels!r} must be at least two of {self.labels!r}"
            raise OptionError(msg)
        index = [where[label] for label in labels]
        return _correlated(
            np.ascontiguousarray(self._codes[index]),
            np.array(self._weights),
            tuple(self.answers[i] for i in index),
            tuple(labels),
            of=self.of,
            empty_cells=self.empty_cells,
            missing=self.missing,
        )

    def __repr__(self) -> str:
        most = max(map(len, self.answers))
        title = f"PolychoricCorrelation of {len(self.labels)} {self.of} with up to {most} answers"
        return pairs_in_words(self, title)

    def _margins(self) -> FloatArray:
        return row_margins(self._codes, self._weights, self._tables.shape[1])

    def _influences(self) -> tuple[FloatArray, ...]:
        """Return influence values and standard errors of all pairs."""
        p, size = self._tables.shape[:2]
        out = (
            np.empty((p, size, size)),
            np.empty((p, size)),
            np.empty((p, size)),
            np.empty(self.matrix.shape),
            np.empty(self.matrix.shape),
        )
        influence_pairs(
            np.array(self._tables),
            self._margins(),
            padded_cuts(self.thresholds),
            (np.array(self.matrix), np.array(self.status)),
            (RULES[self.empty_cells], self.missing == "global"),
            out,
        )
        return out

    def _design(self) -> FloatArray:
        """Return the factor by which unequal weights increase standard errors."""
        if not self._weights.size:
            return np.ones(self.matrix.shape)
        answered = (self._codes >= 0).astype(np.float64)
        squares = (answered * self._weights**2) @ answered.T
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.sqrt(squares / self.n), dtype=np.float64)

    def plot(self, *, order: MatrixOrder = "loading", ax: Drawn | None = None) -> Drawn:
        """Draw the matrix as a heat map with `psychollm.plots.plot_correlation`.

        Parameters
        ----------
        order : {"loading", "clusters", "threshold", "given"}
            Order of the rows: by loading on the first component, by average-linkage clusters, by
            threshold, or unchanged.
        ax : Axes, optional
            Axes to draw on; by default a new figure.
        """
        return drawn_by("plot_correlation")(self, order=order, ax=ax)


def polychoric(
    data: ResponsesLike,
    *,
    of: Axis = "models",
    empty_cells: EmptyCells = "keep_margins",
    missing: Missing = "pairwise",
    weights: ArrayLike | None = None,
) -> PolychoricCorrelation:
    """Compute polychoric correlations of all pairs of models (or questions).

    The model of each pair of rows is a bivariate normal distribution divided at thresholds. The
    thresholds are computed from the margins of the table. The correlation maximises the likelihood
    of the table up to rounding error. For binary rows, the results equal the results of
    `tetrachoric`.

    Parameters
    ----------
    data : Responses, DataFrame, DataArray or array of shape (models, questions)
        Answers as ordered codes from 0 to 15. Only the order of the codes matters, and rows may
        differ in their number of categories.
    of : {"models", "questions"}
        Whether to correlate models or questions.
    empty_cells : {"keep_margins", "add_half", "add_half_all", "none"}
        Continuity correction of tables with an empty cell. ``"keep_margins"`` shifts a count of
        1/2 between the cells of a 2 x 2 table without changing the yes rates; larger tables are
        unchanged. ``"add_half"`` puts 1/2 into empty cells. ``"add_half_all"`` adds 1/2 to all
        cells of a table with an empty cell. ``"none"`` applies no correction.
    missing : {"pairwise", "global"}
        ``"pairwise"`` estimates the thresholds of a pair from its own table, and ``"global"`` from
        all answers of each row.
    weights : array of shape (questions,), optional
        Non-negative weight of each unit (question, or model with ``of="questions"``). Weights are
        scaled to a mean of one.

    Returns
    -------
    PolychoricCorrelation
        Correlation matrix, thresholds, and the status, residual and number of iterations of each
        pair.

    Raises
    ------
    ShapeError
        If there are fewer than two rows or no columns, or if the tables of all pairs do not fit
        into memory.
    CodeError
        If the answers are not integer codes from 0 to 15.

    See Also
    --------
    tetrachoric : faster for binary answers, with profile-likelihood intervals.
    polyserial : correlations of ordered answers with continuous scores.

    References
    ----------
    Olsson, U. (1979). Maximum likelihood estimation of the polychoric correlation coefficient.
    Psychometrika, 44(4), 443-460. https://doi.org/10.1007/BF02296207

    Muthen, B. (1984). A general structural equation model with dichotomous, ordered categorical,
    and continuous latent variable indicators. Psychometrika, 49(1), 115-132.
    https://doi.org/10.1007/BF02294210

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> shared = rng.normal(size=5000)
    >>> latent = 0.8 * shared + 0.6 * rng.normal(size=(3, 5000))
    >>> found = polychoric(np.digitize(latent, [-1, 0, 1]), of="models")
    >>> found.matrix[0].round(2), bool(abs(found.residual).max() < 1e-9)
    (array([1.  , 0.65, 0.63]), True)
    """
    check_choice("of", of, Axis)
    check_choice("empty_cells", empty_cells, EmptyCells)
    check_choice("missing", missing, Missing)
    table = as_responses(data, of=of)
    codes, answers = ordered_codes(table, of)
    labels = table.models if of == "models" else table.questions
    w = np.empty(0)
    if weights is not None:
        units = table.questions if of == "models" else table.models
        w = check_weights(in_order(weights, units, argument="weights"), len(units))
    return _correlated(codes, w, answers, labels, of=of, empty_cells=empty_cells, missing=missing)


def _correlated(
    codes: AnyArray,
    w: FloatArray,
    answers: tuple[tuple[int, ...], ...],
    labels: tuple[Hashable, ...],
    *,
    of: Axis,
    empty_cells: EmptyCells,
    missing: Missing,
) -> PolychoricCorrelation:
    """Count the table of each pair, and estimate its correlation."""
    size = max(2, *map(len, answers))
    pairs = len(codes) * (len(codes) - 1) // 2
    if pairs * size**2 > MAX_NUMBERS:
        msg = (
            f"{pairs:,} tables of {size} x {size} answers do not fit into memory: select "
            f"fewer {of}"
        )
        raise ShapeError(msg)
    tables = np.empty((pairs, size, size))
    count_tables(codes, w, tables)
    cuts = row_cuts(row_margins(codes, w, size))
    out = empty_outputs(len(codes), len(codes))
    correlate_ordered_pairs(tables, cuts, RULES[empty_cells], missing == "global", out)
    matrix, complement, residual, iterations, status = out
    return PolychoricCorrelation(
        matrix=matrix,
        complement=complement,
        thresholds=np.where(np.isfinite(cuts[:, 1:-1]), cuts[:, 1:-1], np.nan),
        n=pair_sizes(tables, codes, w),
        status=status,
        residual=residual,
        iterations=iterations,
        answers=answers,
        labels=labels,
        of=of,
        empty_cells=empty_cells,
        missing=missing,
        _codes=codes,
        _weights=w,
        _tables=tables,
    )
