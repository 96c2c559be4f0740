"""`tetrachoric`: pairwise correlations of the latent normal variables of binary answers."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from scipy.special import chdtri, ndtri

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice, check_fraction
from psychollm._base.errors import OptionError
from psychollm._base.optional import torch_on
from psychollm._base.result import Result, drawn_by
from psychollm._base.types import AnyArray, Axis, EmptyCells, FloatArray, MatrixOrder, Missing
from psychollm.correlation.on_device import solve_pairs
from psychollm.data.pair_counts import CELLS, PairCounts
from psychollm.data.responses import ResponsesLike, as_responses
from psychollm.kernels.correlate import RULES, correlate_pairs, empty_outputs
from psychollm.kernels.table_inference import profile_pairs, standard_error_pairs
from psychollm.kernels.tetrachoric import thresholds_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes as Drawn
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Sensitivity(Result):
    """Correlations of the same table under each continuity correction.

    Attributes
    ----------
    rules : tuple of str
        Names of the r continuity corrections.
    matrices : ndarray of shape (r, k, k)
        Correlations under each continuity correction.
    spread : ndarray of shape (k, k)
        Range of the correlation of each pair across the continuity corrections.
    empty : ndarray of shape (k, k)
        Number of empty cells in the table of each pair.
    shares : ndarray of shape (r, k)
        Descending eigenvalues divided by k under each continuity correction, with undefined pairs
        set to zero.
    labels : tuple
        Names of the k rows.
    chosen : str
        Continuity correction of the original correlation.
    """

    rules: tuple[str, ...]
    matrices: FloatArray  # (r, k, k)
    spread: FloatArray  # (k, k)
    empty: AnyArray  # (k, k)
    shares: FloatArray  # (r, k)
    labels: tuple[Hashable, ...]
    chosen: str

    _AXES = Axes(
        {"first": "labels", "second": "labels"},
        "empty",
        ("{rule}", lambda found: np.moveaxis(found.matrices, 0, -1)),
        "spread",
        pairs="lower",
        labels={"rule": "rules", "model": "labels", "other": "labels"},
        arrays={
            "rule model other": "matrices",
            "model other": "spread empty",
            "rule component": "shares",
        },
    )

    @classmethod
    def compare(
        cls,
        matrices: Mapping[str, FloatArray],
        *,
        empty: AnyArray,
        labels: tuple[Hashable, ...],
        chosen: str,
    ) -> Sensitivity:
        """Compare correlation matrices of the same rows, one per continuity correction.

        Parameters
        ----------
        matrices : mapping of str to ndarray of shape (k, k)
            Correlations under each continuity correction.
        empty : ndarray of shape (k, k)
            Number of empty cells in the table of each pair.
        labels : tuple
            Names of the k rows.
        chosen : str
            Continuity correction of the original correlation.
        """
        stack = np.stack(list(matrices.values()))
        spread = stack.max(axis=0) - stack.min(axis=0)
        eigenvalues = np.linalg.eigvalsh(np.nan_to_num(stack))[:, ::-1]
        return cls(
            rules=tuple(matrices),
            matrices=stack,
            spread=spread,
            empty=empty,
            shares=np.ascontiguousarray(eigenvalues) / len(labels),
            labels=labels,
            chosen=chosen,
        )

    @property
    def n_empty(self) -> int:
        """Number of pairs with an empty cell."""
        return int(np.count_nonzero(np.tril(self.empty, -1)))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair with an empty cell, with correlations under each correction."""
        frame = Result.to_frame(self)
        frame = frame[frame["empty"] > 0]
        return frame.sort_values("spread", ascending=False, ignore_index=True)

    def __repr__(self) -> str:
        k = len(self.labels)
        lines = [
            f"Sensitivity to the continuity correction: {self.n_empty} of {k * (k - 1) // 2} "
            f"pairs have an empty cell; largest difference "
            f"{np.nanmax(self.spread, initial=0.0):.3f}",
            f"  {'rule':<14}{'1st':>8}{'2nd':>8}{'last':>8}   eigenvalue share",
        ]
        lines += [
            f"  {rule:<14}{share[0]:>8.1%}{share[1]:>8.1%}{share[-1]:>8.1%}"
            + ("   <- chosen" if rule == self.chosen else "")
            for rule, share in zip(self.rules, self.shares, strict=True)
        ]
        return "\n".join(lines)

    def plot(self, *, ax: Drawn | None = None) -> Drawn:
        """Draw the eigenvalues under each correction with `psychollm.plots.plot_sensitivity`.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; by default a new figure.
        """
        return drawn_by("plot_sensitivity")(self, ax=ax)


IntervalMethod = Literal["profile", "delta"]


class PairStatus(IntEnum):
    """Status of the correlation estimate of a pair."""

    INTERIOR = 0
    """The estimate is inside (-1, 1)."""
    AT_BOUND = 1
    """The table has an empty cell and no continuity correction, so the estimate is -1 or 1."""
    ADJUSTED = 2
    """The table has an empty cell, and a continuity correction was applied."""
    UNDEFINED = 3
    """There is no estimate: a model is constant, or the pair shares no question."""


def status_names(correlation: Any) -> AnyArray:
    """Return the status of each pair in words, as an array with the shape of the matrix."""
    names = np.array([status.name.lower() for status in PairStatus])
    return np.asarray(names[correlation.status])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Correlation(Result):
    """Matrix of tetrachoric correlations, with status and precision of each pair.

    Attributes
    ----------
    matrix : ndarray of shape (k, k)
        Correlations; NaN where `status` is ``PairStatus.UNDEFINED``.
    complement : ndarray of shape (k, k)
        1 - abs(matrix), with full relative precision near the bounds.
    thresholds : ndarray of shape (k,)
        Latent value (in SDs) above which an answer of the row is yes, estimated from all answers
        of the row; infinite for a constant row.
    n : ndarray of shape (k, k)
        Number of units with answers in both rows of each pair.
    status : ndarray of shape (k, k)
        `PairStatus` of each pair.
    residual : ndarray of shape (k, k)
        Numerical residual: the difference between the two sides of the estimating equation, as a
        probability; with ``missing="global"``, the last Newton step.
    iterations : ndarray of shape (k, k)
        Number of iterations.
    labels : tuple
        Names of the k rows.
    counts : PairCounts
        Pair counts from which the correlations were computed.
    empty_cells, missing : str
        Continuity correction and treatment of missing data.
    """

    matrix: FloatArray  # (k, k)
    complement: FloatArray  # (k, k)
    thresholds: FloatArray  # (k,)
    n: FloatArray  # (k, k)
    status: AnyArray  # (k, k)
    residual: FloatArray  # (k, k)
    iterations: AnyArray  # (k, k)
    labels: tuple[Hashable, ...]  # k
    counts: PairCounts
    empty_cells: EmptyCells
    missing: Missing

    _AXES = Axes(
        {"first": "labels", "second": "labels"},
        "{cell}=counts._cells",
        "n",
        "correlation=matrix",
        "se",
        ("status", status_names),
        "residual",
        "iterations",
        pairs="lower",
        labels={"cell": CELLS},
    )

    @property
    def se(self) -> FloatArray:
        """Standard errors (k, k) by the delta method, with estimated thresholds (two-step).

        Standard errors are NaN for undefined correlations and for correlations at a bound. For
        correlations at a bound, use ``interval(method="profile")``.
        """
        return _standard_errors(self)[0]

    @property
    def se_fixed_thresholds(self) -> FloatArray:
        """Standard errors (k, k) for known thresholds."""
        return _standard_errors(self)[1]

    def interval(self, *, level: float = 0.95, method: IntervalMethod = "profile") -> FloatArray:
        """Return confidence intervals of all pairs.

        Parameters
        ----------
        level : float
            Nominal coverage, between 0 and 1.
        method : {"profile", "delta"}
            ``"profile"`` inverts the likelihood-ratio test, with thresholds profiled out. The
            profile interval is defined for every pair with an estimate, and is one-sided for an
            estimate at the bound. ``"delta"`` uses Fisher's z and the delta method; this method is
            faster, but gives NaN for an estimate at the bound.

        Returns
        -------
        ndarray of shape (k, k, 2)
            Lower and upper ends, inside [-1, 1].
        """
        check_choice("method", method, IntervalMethod)
        check_fraction("level", level)
        if method == "delta":
            return delta_interval(self.matrix, self.se, level)
        return profile_interval(self.matrix, self.counts, level)

    def sensitivity(self) -> Sensitivity:
        """Compare the correlations and the spectrum under all continuity corrections."""
        matrices = {
            rule: tetrachoric(self.counts, empty_cells=rule, missing=self.missing).matrix
            for rule in get_args(EmptyCells)
        }
        empty = self.counts.empty_cells()
        return Sensitivity.compare(
            matrices, empty=empty, labels=self.labels, chosen=self.empty_cells
        )

    def select(self, labels: list[Hashable] | tuple[Hashable, ...]) -> Correlation:
        """Return the correlations of the selected rows, in the given order.

        Parameters
        ----------
        labels : sequence
            Labels of the rows to keep, in the new order.
        """
        where = {label: i for i, label in enumerate(self.labels)}
        unknown = [label for label in labels if label not in where]
        if unknown:
            msg = f"labels={unknown!r} are not rows of this correlation; known: {self.labels!r}"
            raise OptionError(msg)
        index = np.array([where[label] for label in labels], dtype=np.intp)
        square = np.ix_(index, index)
        counts = PairCounts(
            joint=self.counts.joint[square],
            yes=self.counts.yes[square],
            n=self.counts.n[square],
            squares=self.counts.squares[square],
            labels=tuple(labels),
            of=self.counts.of,
        )
        return tetrachoric(counts, empty_cells=self.empty_cells, missing=self.missing)

    def __repr__(self) -> str:
        title = f"Correlation (tetrachoric) of {len(self.labels)} {self.counts.of}"
        return pairs_in_words(self, title)

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


def tetrachoric(
    data: ResponsesLike | PairCounts,
    *,
    of: Axis = "models",
    empty_cells: EmptyCells = "keep_margins",
    missing: Missing = "pairwise",
    weights: ArrayLike | None = None,
    device: str | None = None,
) -> Correlation:
    """Compute tetrachoric correlations of all pairs of models (or questions).

    The model of each pair of binary rows is a bivariate normal distribution divided at thresholds.
    The correlation rho solves Phi2(tau1, tau2, rho) = p up to rounding error. Phi2 is the
    probability of two yes answers under the model, and p is their observed proportion.

    Parameters
    ----------
    data : Responses, PairCounts, DataFrame, DataArray or array of shape (models, questions)
        Binary answers, or their pair counts.
    of : {"models", "questions"}
        Whether to correlate models or questions. The argument `of` is ignored for `PairCounts`,
        which record the axis.
    empty_cells : {"keep_margins", "add_half", "add_half_all", "none"}
        Continuity correction of 2 x 2 tables with an empty cell. ``"keep_margins"`` shifts a count
        of 1/2 between cells without changing the yes rates. ``"add_half"`` puts 1/2 into the empty
        cell. ``"add_half_all"`` adds 1/2 to all four cells. ``"none"`` leaves the correlation at
        -1 or 1.
    missing : {"pairwise", "global"}
        ``"pairwise"`` estimates the thresholds of a pair from its own table. ``"global"``
        estimates the thresholds from all answers of each model, and rho maximises the likelihood
        given these thresholds.
    weights : array of shape (questions,), optional
        Non-negative weight of each question. Weights are scaled to a mean of one.
    device : str, optional
        Torch device, for example "cuda", "cuda:1" or "cpu", on which answers are counted and
        correlations are computed (needs torch). The default, None, uses compiled kernels on the
        CPU; correlations agree within 1e-12. Weighted answers are always counted on the CPU. The
        CPU also solves pairs with an empty cell, pairs with correlations beyond ±0.97, and all
        pairs with ``missing="global"``.

    Returns
    -------
    Correlation
        Correlation matrix, thresholds, and the status, residual and number of iterations of each
        pair.

    Raises
    ------
    ShapeError
        If there are fewer than two rows or no columns.
    CodeError
        If the answers are not binary.
    OptionError
        If an option does not exist, or if torch does not find the device.
    MissingPackageError
        If `device` is given and torch is not installed.

    See Also
    --------
    tetrachoric_table : tetrachoric correlations of single tables.
    smooth : make the matrix positive semidefinite.

    Notes
    -----
    Every continuity correction biases the spectrum of models with extreme yes rates.
    ``Correlation.sensitivity`` compares the continuity corrections.

    References
    ----------
    Pearson, K. (1900). On the correlation of characters not quantitatively measurable.
    Philosophical Transactions of the Royal Society A, 195, 1-47.
    https://doi.org/10.1098/rsta.1900.0022

    Examples
    --------
    >>> import psychollm as psy
    >>> answers = psy.load_example("shared_confidence").confidence
    >>> correlation = psy.tetrachoric(answers, of="models")
    >>> correlation.matrix.shape
    (19, 19)
    >>> bool(abs(correlation.residual).max() < 1e-15)
    True
    """
    check_choice("of", of, Axis)
    check_choice("empty_cells", empty_cells, EmptyCells)
    check_choice("missing", missing, Missing)
    if device is not None:
        torch_on(device)
    counts = _as_counts(data, of=of, weights=weights, device=device)
    tau = thresholds_of(np.diagonal(counts.yes).copy(), np.diagonal(counts.n).copy())
    out = empty_outputs(tau.size, tau.size)
    if device is not None and missing == "pairwise":
        solve_pairs(counts, device, out)
    correlate_pairs(
        (counts.joint, counts.yes, counts.n), tau, RULES[empty_cells], missing == "global", out
    )
    matrix, complement, residual, iterations, status = out
    return Correlation(
        matrix=matrix,
        complement=complement,
        thresholds=tau,
        n=counts.n,
        status=status,
        residual=residual,
        iterations=iterations,
        labels=counts.labels,
        counts=counts,
        empty_cells=empty_cells,
        missing=missing,
    )


def _as_counts(
    data: object, *, of: Axis, weights: ArrayLike | None, device: str | None
) -> PairCounts:
    """Return pair counts, which are computed if `data` are responses."""
    if isinstance(data, PairCounts):
        if weights is not None:
            msg = "weights are for questions: pass them to PairCounts.count, not with counts"
            raise OptionError(msg)
        return data
    table = as_responses(data, of=of, needs="cells")
    return PairCounts.count(table, of=of, weights=weights, device=device)


def _standard_errors(correlation: Correlation) -> tuple[FloatArray, FloatArray]:
    """Return both kinds of standard errors, adjusted for the design effect of weights."""
    counts = correlation.counts
    estimated, held = np.empty_like(correlation.matrix), np.empty_like(correlation.matrix)
    standard_error_pairs(
        (correlation.matrix, correlation.complement),
        (counts.yes, counts.n),
        correlation.thresholds,
        correlation.missing == "global",
        (estimated, held),
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        design = np.sqrt(counts.squares / counts.n)
    return estimated * design, held * design


def delta_interval(matrix: FloatArray, se: FloatArray, level: float) -> FloatArray:
    """Return Fisher-z intervals (..., 2) within (-1, 1); NaN if the standard error is NaN."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.arctanh(matrix)
        reach = ndtri(0.5 + 0.5 * level) * se / ((1.0 - matrix) * (1.0 + matrix))
        ends = np.stack([np.tanh(z - reach), np.tanh(z + reach)], axis=-1)
    diagonal = se == 0
    ends[diagonal] = matrix[diagonal, None]
    return np.asarray(ends, dtype=np.float64)


def profile_interval(matrix: FloatArray, counts: PairCounts, level: float) -> FloatArray:
    """Return likelihood-ratio intervals (k, k, 2), from counts without continuity correction."""
    # The interval contains all rho whose profile log-likelihood is within half a chi-square
    # quantile (1 df) of the maximum. With an empty cell, the maximum is at -1 or 1, and only the
    # opposite end of the interval is estimated. Unequal weights widen the interval by their design
    # effect.
    out = np.empty((*matrix.shape, 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = np.where(counts.squares > 0, counts.n / counts.squares, 1.0)
    drop = 0.5 * float(chdtri(1, 1.0 - level))
    profile_pairs(matrix, counts.joint * scale, counts.yes * scale, counts.n * scale, drop, out)
    return out


def pairs_in_words(correlation: Any, title: str) -> str:
    """Describe the range of the correlations, and the status of their estimates."""
    lower = np.tril_indices(len(correlation.labels), -1)
    status, values = correlation.status[lower], correlation.matrix[lower]
    number = {one: int(np.count_nonzero(status == one)) for one in PairStatus}
    span = "all undefined"
    if np.isfinite(values).any():
        span = f"{np.nanmin(values):.3f} to {np.nanmax(values):.3f}"
    residual = np.nanmax(np.abs(correlation.residual), initial=0.0)
    return (
        f"{title}, {values.size} pairs: {span}\n"
        f"  interior {number[PairStatus.INTERIOR]}, "
        f"empty cell adjusted {number[PairStatus.ADJUSTED]} ({correlation.empty_cells}), "
        f"at bound {number[PairStatus.AT_BOUND]}, "
        f"undefined {number[PairStatus.UNDEFINED]}\n"
        f"  thresholds {correlation.missing}; largest residual {residual:.1e}"
    )
