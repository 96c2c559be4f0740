"""Data passes like those of `Compiled`, with torch on a GPU or any other torch device.

Contributions of all cells of a block are computed together, one row per cell, in 64 bits, and
summed by respondent or item. On a GPU, the order of summation is not fixed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from psychollm._base.optional import require, torch_on
from psychollm._base.types import AnyArray, BoolArray, FloatArray
from psychollm.data.cells import CellTable
from psychollm.irt.streamed.readings import Task
from psychollm.kernels.irt_streamed import MOST_STEPS, move_items

PIECE = 1 << 22  # largest number of entries of an array over the cells of a block: 32 MB


def torch() -> Any:
    """Return the `torch` module."""
    return require("torch", extra="steering", purpose="device=")


@dataclass(frozen=True, slots=True)
class _Piece:
    """Cells of some items on a device, each with its respondent, item and answer (n,)."""

    columns: Any
    items: Any
    yes: Any

    def of(self, kept: BoolArray) -> "_Piece":
        """Return the cells of some of the items (J,)."""
        if kept.all():
            return self
        here = torch().tensor(kept, device=self.items.device)[self.items]
        return _Piece(self.columns[here], self.items[here], self.yes[here])


@dataclass(frozen=True, slots=True)
class OnDevice:
    """Data passes with torch on a device."""

    device: str

    def __post_init__(self) -> None:
        torch_on(self.device)

    def likelihood(self, task: Task, *, table: CellTable, nodes: FloatArray) -> FloatArray:
        """Return sums of log(1 + e^z) per node, and of slopes and intercepts of yes answers."""
        n, k = nodes.shape
        theta, total = self._put(nodes), self._zeros(n, k + 2)
        for low, high in _pieces(task, table, k):
            at = task.at(low, high)
            cells = self._read(table, low, high).of(~np.isnan(at[0, :, 0]))
            here, added = theta[cells.columns], self._zeros(cells.yes.numel(), k + 2)
            for point in self._put(at):
                slope, intercept = point[cells.items].T
                z = slope[:, None] * here + intercept[:, None]
                added[:, :k] += torch().logaddexp(z, torch().zeros_like(z))
                added[:, k] += cells.yes * slope
                added[:, k + 1] += cells.yes * intercept
            total.index_add_(0, cells.columns, added)
        return _taken(total)

    def scores(
        self, task: Task, *, table: CellTable, rows: FloatArray, curved: bool
    ) -> FloatArray:
        """Return gradients and, if `curved`, the information, which is computed in either case."""
        known, found, n = self._put(rows), [], 5 if curved else 2
        for low, high in _pieces(task, table, rows.shape[1]):
            at = task.at(low, high)
            cells = self._read(table, low, high).of(~np.isnan(at[0, :, 0]))
            found.append(np.stack([self._scores(cells, point, known)[:, :n] for point in at]))
        return np.concatenate(found, axis=1)

    def targets(
        self, task: Task, *, table: CellTable, rows: FloatArray, prior: FloatArray
    ) -> FloatArray:
        """Return the items' gradient, information, and parameters after scoring steps."""
        known, found = self._put(rows), []
        for low, high in _pieces(task, table, rows.shape[1]):
            cells, here = self._read(table, low, high), task.at(low, high)[0].copy()
            moving = ~np.isnan(here[:, 0])
            first = sums = self._scores(cells.of(moving), here, known)
            for _ in range(MOST_STEPS):
                move_items(here, sums, prior, moving)
                if not moving.any():
                    break
                sums = self._scores(cells.of(moving), here, known)
            found.append(np.concatenate([first, here], axis=1))
        return np.concatenate(found)

    def missing(self, task: Task, *, table: CellTable, rows: FloatArray) -> FloatArray:
        """Return the variances of the items' scores."""
        known, found = self._put(rows), []
        for low, high in _pieces(task, table, rows.shape[1]):
            at = task.at(low, high)[0]
            cells = self._read(table, low, high).of(~np.isnan(at[:, 0]))
            theta, weight, chance = self._chances(cells, at, known)
            score = cells.yes[:, None] - chance
            steep = score * theta
            by_slope, by_intercept = (weight * steep).sum(1), (weight * score).sum(1)
            added = [
                (weight * steep**2).sum(1) - by_slope**2,
                (weight * steep * score).sum(1) - by_slope * by_intercept,
                (weight * score**2).sum(1) - by_intercept**2,
            ]
            found.append(self._by_item(cells, added, len(at)))
        return np.concatenate(found)

    def _scores(self, cells: _Piece, point: FloatArray, known: Any) -> FloatArray:
        """Return gradient and information of items at a point (J, 5)."""
        theta, weight, chance = self._chances(cells, point, known)
        expected = weight * chance
        curve = expected * (1.0 - chance)
        added = [
            cells.yes * known[cells.columns, -1] - (expected * theta).sum(1),
            cells.yes - expected.sum(1),
            (curve * theta**2).sum(1),
            (curve * theta).sum(1),
            curve.sum(1),
        ]
        return self._by_item(cells, added, len(point))

    def _chances(self, cells: _Piece, point: FloatArray, known: Any) -> tuple[Any, Any, Any]:
        """Return nodes, weights and probabilities of yes of each cell (n, K)."""
        k = known.shape[1] // 2
        theta, weight = known[cells.columns, :k], known[cells.columns, k : 2 * k]
        slope, intercept = self._put(point)[cells.items].T
        return theta, weight, torch().sigmoid(slope[:, None] * theta + intercept[:, None])

    def _by_item(self, cells: _Piece, added: list[Any], n: int) -> FloatArray:
        sums = self._zeros(n, len(added))
        return _taken(sums.index_add_(0, cells.items, torch().stack(added, dim=1)))

    def _read(self, table: CellTable, low: int, high: int) -> _Piece:
        cells = table.read(low, high)
        answers = self._put(np.diff(cells.start))
        numbers = torch().arange(high - low, device=self.device)
        return _Piece(
            columns=self._put(cells.columns.astype(np.int32)).long(),
            items=numbers.repeat_interleave(answers),
            yes=self._put(cells.codes).double(),
        )

    def _put(self, array: AnyArray) -> Any:
        return torch().tensor(array, device=self.device)

    def _zeros(self, *shape: int) -> Any:
        return torch().zeros(shape, dtype=torch().float64, device=self.device)


def _pieces(task: Task, table: CellTable, width: int) -> Iterator[tuple[int, int]]:
    """Divide ranges of items so that the arrays of each range have at most about PIECE numbers."""
    for low, high in task.ranges:
        n = int(table.start[high] - table.start[low]) * width // PIECE + 1
        yield from pairwise(np.linspace(low, high, min(n, high - low) + 1).astype(int).tolist())


def _taken(tensor: Any) -> FloatArray:
    return np.asarray(tensor.cpu().numpy())
