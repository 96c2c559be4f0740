"""`PairCounts`: the sufficient statistics of every tetrachoric correlation."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice, check_weights
from psychollm._base.errors import LabelError, ShapeError
from psychollm._base.optional import torch_on
from psychollm._base.result import Result
from psychollm._base.types import AnyArray, Axis, FloatArray, WordArray
from psychollm.data.cells import block_size, dense_blocks, parts
from psychollm.data.labels import in_order
from psychollm.data.responses import Needs, Responses, ResponsesLike, as_responses
from psychollm.kernels.pair_counts import (
    count_pairs,
    count_with_missing,
    fill_bits,
    pack_rows,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

MAX_ROWS = 30_000
MAX_BITS = 4_000_000_000  # largest size in bytes of a sparse table stored as bits
PLANE = 1 << 28  # bytes of a bit plane that are counted at once
EXACT = 1 << 24  # number of units up to which float32 counts are exact

CELLS = ("n11", "n10", "n01", "n00")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PairCounts(Result):
    """Joint and marginal yes counts of every pair of models (or of questions).

    Counts are additive: a table too large for memory is counted in blocks of questions, and the
    counts of the blocks are summed with ``+``. Tetrachoric correlations, and everything derived
    from them, need only the pair counts.

    Attributes
    ----------
    joint : ndarray of shape (k, k)
        Number of questions that both models of a pair answered with yes.
    yes : ndarray of shape (k, k)
        ``yes[i, j]`` is the number of yes answers of model i among the questions that models i and
        j both answered.
    n : ndarray of shape (k, k)
        Number of questions that both models of a pair answered.
    squares : ndarray of shape (k, k)
        Sum of squared weights over the questions that both models of a pair answered; equals `n`
        without weights.
    labels : tuple
        Labels of the k rows.
    of : {"models", "questions"}
        Whether rows are models or questions.

    Examples
    --------
    >>> import psychollm as psy
    >>> counts = psy.PairCounts.count([[1, 1, 0, 0], [1, 0, 1, 0]], of="models")
    >>> counts.joint
    array([[2., 1.],
           [1., 2.]])
    >>> (counts + counts).n[0, 1]
    np.float64(8.0)
    """

    joint: FloatArray  # (k, k)
    yes: FloatArray  # (k, k)
    n: FloatArray  # (k, k)
    squares: FloatArray  # (k, k)
    labels: tuple[Hashable, ...]  # k
    of: Axis

    _AXES = Axes(
        {"first": "labels", "second": "labels"},
        "{cell}=_cells",
        "n",
        pairs="lower",
        labels={"cell": CELLS},
    )

    @property
    def _cells(self) -> AnyArray:
        """Return the 2 x 2 table of each pair, shape (k, k, 4): n11, n10, n01, n00."""
        n10, n01 = self.yes - self.joint, self.yes.T - self.joint
        return np.stack([self.joint, n10, n01, self.n - self.joint - n10 - n01], axis=-1)

    @classmethod
    def count(
        cls,
        responses: ResponsesLike,
        *,
        of: Axis = "models",
        weights: ArrayLike | None = None,
        device: str | None = None,
    ) -> PairCounts:
        """Compute the pair counts of a table of binary responses.

        Parameters
        ----------
        responses : Responses, Scan, DataFrame, DataArray or array of shape (models, questions)
            Binary answers; missing answers are excluded pairwise. Sparse tables and scans are
            counted in blocks.
        of : {"models", "questions"}
            Whether rows or columns of the table are paired.
        weights : array of shape (questions,), optional
            Weight of each question (or of each model with ``of="questions"``). Weights are scaled
            to a mean of one, so that counts sum to the sample size.
        device : str, optional
            Torch device, "cuda", "cuda:1" or "cpu" (needs torch), for exact counts by matrix
            products. By default, bits are counted on the CPU; weighted counts never use a device.

        Raises
        ------
        CodeError
            If the answers are not binary.
        OptionError
            If weights are negative, not finite, all zero or of the wrong length, or if torch
            cannot use the device.
        MissingPackageError
            If a `device` is given but torch is not installed.
        """
        check_choice("of", of, Axis)
        if device is not None:
            torch_on(device)
        table = as_responses(responses, binary=True, needs="cells")
        return binary_counts(table, of=of, weights=weights, device=device)

    def __add__(self, other: PairCounts) -> PairCounts:
        """Add the counts of another block of questions answered by the same models."""
        if not isinstance(other, PairCounts):
            return NotImplemented
        if self.labels != other.labels or self.of != other.of:
            differing = sorted(map(str, set(self.labels) ^ set(other.labels)))
            what = f"not in both: {differing[:5]}" if differing else "their order differs"
            msg = f"counts of different {self.of} cannot be added ({what}): select the same ones"
            raise LabelError(msg)
        return PairCounts(
            joint=self.joint + other.joint,
            yes=self.yes + other.yes,
            n=self.n + other.n,
            squares=self.squares + other.squares,
            labels=self.labels,
            of=self.of,
        )

    @property
    def yes_rates(self) -> FloatArray:
        """Yes rate of each row over all its answers, shape (k,); NaN if it has no answers."""
        with np.errstate(invalid="ignore"):
            rates: FloatArray = np.diagonal(self.yes) / np.diagonal(self.n)
        return rates

    @property
    def is_complete(self) -> bool:
        """Whether no answer is missing."""
        return bool(np.all(self.n == self.n[0, 0]))

    def empty_cells(self) -> AnyArray:
        """Return the number of empty cells of each pair's table (k, k), with 0 on the diagonal."""
        n10, n01 = self.yes - self.joint, self.yes.T - self.joint
        n00 = self.n - self.yes - n01
        empty = sum((cell <= 0).astype(np.int8) for cell in (self.joint, n10, n01, n00))
        counts = np.array(empty)
        np.fill_diagonal(counts, 0)
        return counts

    def __repr__(self) -> str:
        empty = int(np.count_nonzero(self.empty_cells())) // 2
        k = len(self.labels)
        low, high = self.n.min(), self.n.max()
        units = f"{low:g}" if low == high else f"{low:g} to {high:g}"
        return (
            f"PairCounts of {k} {self.of}, {k * (k - 1) // 2} pairs, {units} answers per pair, "
            f"{empty} pairs with an empty cell"
        )


def binary_counts(
    table: Responses,
    *,
    of: Axis = "models",
    weights: ArrayLike | None = None,
    device: str | None = None,
) -> PairCounts:
    """Compute all pair counts of a table that is known to be binary."""
    labels = table.models if of == "models" else table.questions
    _check_rows(labels, of)
    if weights is None and device is None and not table.is_sparse:
        codes, missing = table.codes, table.missing
        if of == "questions":
            codes, missing = codes.T, missing.T
        arrays = _bit_counts(codes == 1, missing)
    else:
        w = None if weights is None else _weights_of(table, of, weights)
        arrays = _sum_of_blocks(_blocks(table, of), len(labels), w, device)
    joint, yes, n, squares = arrays
    return PairCounts(joint=joint, yes=yes, n=n, squares=squares, labels=labels, of=of)


def _blocks(table: Responses, of: Axis) -> Iterator[tuple[AnyArray, AnyArray]]:
    """Yield blocks of codes and masks of missing answers, with the units to pair as rows."""
    width = min(block_size(table.n_models if of == "models" else table.n_questions), EXACT)
    if of == "questions" and table.is_sparse:  # transposing a scan would load it into memory
        return dense_blocks(table.by_model, width)
    return (table if of == "models" else table.transpose()).blocks(width)


def _sum_of_blocks(
    blocks: Iterator[tuple[AnyArray, AnyArray]],
    k: int,
    weights: FloatArray | None,
    device: str | None,
) -> tuple[FloatArray, ...]:
    """Return the counts joint, yes, n and squares, summed over all blocks."""
    total = [np.zeros((k, k)) for _ in range(3 if weights is None else 4)]
    for arrays in _counts_of_blocks(blocks, weights, device):
        for mine, added in zip(total, arrays, strict=True):
            mine += added
    return (*total, total[2].copy()) if weights is None else tuple(total)


def _counts_of_blocks(
    blocks: Iterator[tuple[AnyArray, AnyArray]], weights: FloatArray | None, device: str | None
) -> Iterator[tuple[FloatArray, ...]]:
    """Yield the pair counts of successive blocks, after small blocks are merged."""
    start, yes, answered = 0, [], []
    for codes, missing in blocks:
        stop = start + codes.shape[1]
        if weights is not None:
            yield _weighted_counts(codes == 1, ~missing, weights[start:stop])
        elif device is not None:
            yield _device_counts(codes == 1, ~missing, device)
        else:
            yes.append(pack_rows(codes == 1))
            answered.append(pack_rows(~missing))
            if sum(plane.nbytes for plane in yes) >= PLANE:
                yield plane_counts(np.hstack(yes), np.hstack(answered), start)
                yes, answered = [], []
        start = stop
    if yes:
        yield plane_counts(np.hstack(yes), np.hstack(answered), start)


def _check_rows(labels: tuple[Hashable, ...], of: Axis) -> None:
    if len(labels) > MAX_ROWS:
        msg = (
            f"counting all pairs of {len(labels):,} {of} needs "
            f"{len(labels) ** 2 * 32 / 1e9:,.0f} GB; select at most {MAX_ROWS:,} of them"
        )
        raise ShapeError(msg)


def _weights_of(table: Responses, of: Axis, weights: ArrayLike) -> FloatArray:
    units = table.questions if of == "models" else table.models
    w = check_weights(in_order(weights, units, argument="weights"), len(units))
    # Weights are rounded to multiples of a power of two, so that sums are exact in any order.
    # Cells are differences of sums, so an empty cell is exactly zero.
    step = 2.0 ** (np.ceil(np.log2(w.sum())) - 52)
    return np.asarray(np.round(w / step) * step)


def writable_counts(pairs: PairCounts) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return writable copies of (joint, yes, n), as the compiled kernels require."""
    return pairs.joint.copy(), pairs.yes.copy(), pairs.n.copy()


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedAnswers:
    """A binary table with its pair counts, so that functions need not count again."""

    table: Responses
    counts: PairCounts
    mask: WordArray  # (models, words) packed mask of answers; (0, 0) if complete
    yes: WordArray | None = None  # (models, words) packed yes answers of a sparse table

    @classmethod
    def of(
        cls, responses: ResponsesLike, *, of: Axis | None = None, needs: Needs = "cells"
    ) -> CountedAnswers:
        """Convert a table and compute its pair counts; return counted answers unchanged."""
        if isinstance(responses, CountedAnswers):
            return responses
        return cls.of_binary(as_responses(responses, binary=True, of=of, needs=needs))

    @classmethod
    def of_binary(cls, table: Responses) -> CountedAnswers:
        """Compute the pair counts of models for a table that is known to be binary."""
        if table.is_sparse:
            return cls._of_cells(table)
        mask: WordArray = np.empty((0, 0), dtype=np.uint64)
        if table.missing.any():
            mask = pack_rows(~table.missing)
        return cls(table=table, counts=binary_counts(table), mask=mask)

    @classmethod
    def _of_cells(cls, table: Responses) -> CountedAnswers:
        """Return the counts of all pairs of models of a sparse table, with two bits per cell."""
        yes, answered = _bits_of_cells(table)
        k, n = yes.shape[0], len(table.questions)
        if int(table.by_question.start[-1]) == k * n:
            answered = np.empty((0, 0), dtype=np.uint64)
        joint, own, both = plane_counts(yes, answered, n)
        counts = PairCounts(
            joint=joint, yes=own, n=both, squares=both.copy(), labels=table.models, of="models"
        )
        return cls(table=table, counts=counts, mask=answered, yes=yes)

    @property
    def planes(self) -> tuple[WordArray, WordArray]:
        """Return the packed bits of yes answers and of all answers (models, words)."""
        if self.yes is None:
            answered = ~self.table.missing
            return pack_rows((self.table.codes == 1) & answered), pack_rows(answered)
        if self.mask.size:
            return self.yes, self.mask
        everyone = pack_rows(np.ones((1, len(self.table.questions)), dtype=np.bool_))
        return self.yes, np.repeat(everyone, len(self.yes), axis=0)


def _bits_of_cells(table: Responses) -> tuple[WordArray, WordArray]:
    """Return the packed bits of yes answers and of all answers (models, words)."""
    _check_rows(table.models, "models")
    k, n = len(table.models), len(table.questions)
    words = -(-n // 64)
    if 16 * k * words > MAX_BITS:
        msg = (
            f"{k:,} models x {n:,} questions take {16 * k * words / 1e9:,.1f} GB as bits, but at "
            f"most {MAX_BITS / 1e9:g} GB are allowed: select fewer models or questions"
        )
        raise ShapeError(msg)
    yes, answered = np.zeros((k, words), np.uint64), np.zeros((k, words), np.uint64)
    for low, high in parts(table.by_question):
        cells = table.by_question.read(low, high)
        fill_bits(low, cells.start, cells.columns, cells.codes, yes, answered)
    return yes, answered


def _bit_counts(yes: AnyArray, missing: AnyArray) -> tuple[FloatArray, ...]:
    """Compute pair counts by bitwise AND and population count."""
    packed, answered = pack_rows(yes), np.empty((0, 0), dtype=np.uint64)
    if missing.any():
        answered = pack_rows(~missing)
        packed &= answered
    joint, own, both = plane_counts(packed, answered, yes.shape[1])
    return joint, own, both, both.copy()


def plane_counts(yes: WordArray, answered: WordArray, units: int) -> tuple[FloatArray, ...]:
    """Compute pair counts of packed rows; `answered` has shape (0, 0) if the table is complete."""
    joint, own, both = (np.empty((len(yes), len(yes))) for _ in range(3))
    if answered.size:
        count_with_missing(yes, answered, joint, own, both)
    else:
        count_pairs(yes, joint)
        own[:] = np.diagonal(joint)[:, None]
        both[:] = units
    return joint, own, both


def _weighted_counts(
    yes: AnyArray, answered: AnyArray, weights: FloatArray
) -> tuple[FloatArray, ...]:
    """Compute weighted pair counts by matrix products."""
    y = (yes & answered).astype(np.float64)
    a = answered.astype(np.float64)
    joint = (y * weights) @ y.T
    own = (y * weights) @ a.T
    both = (a * weights) @ a.T
    squares = (a * weights**2) @ a.T
    return joint, own, both, 0.5 * (squares + squares.T)  # rounding errors are asymmetric


def _device_counts(yes: AnyArray, answered: AnyArray, device: str) -> tuple[FloatArray, ...]:
    """Compute pair counts by matrix products on a device, exact for up to `EXACT` units."""
    torch = torch_on(device)
    y, a = (torch.tensor(one, device=device).float() for one in (yes & answered, answered))
    return tuple(product.double().cpu().numpy() for product in (y @ y.T, y @ a.T, a @ a.T))
