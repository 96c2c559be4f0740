"""Sums over the answers to some items, computed by compiled kernels."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from psychollm._base.types import AnyArray, FloatArray
from psychollm.data.cells import CellTable
from psychollm.kernels.irt_streamed import (
    add_likelihood,
    item_scores,
    item_targets,
    score_variances,
)

Ranges: TypeAlias = list[tuple[int, int]]  # consecutive ranges of rows


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """Input of a worker: ranges of items with their parameters."""

    ranges: Ranges
    points: FloatArray  # (S, J of the ranges, 2)

    @classmethod
    def of(cls, ranges: Ranges, points: FloatArray) -> "Task":
        """Return the task with the parameters of the items in `ranges`, from points (S, J, 2)."""
        return cls(ranges, points[:, ranges[0][0] : ranges[-1][1]])

    def at(self, low: int, high: int) -> FloatArray:
        """Return the points of items `low` to `high` (S, high - low, 2)."""
        first = self.ranges[0][0]
        return self.points[:, low - first : high - first]

    def parts(self) -> Iterator[tuple[int, int, FloatArray, FloatArray]]:
        """Yield each range with its slopes and intercepts, (S, high - low) each."""
        for low, high in self.ranges:
            slope, intercept = np.ascontiguousarray(np.moveaxis(self.at(low, high), -1, 0))
            yield low, high, slope, intercept


class Reader(Protocol):
    """Protocol for sums over the answers to the items of a task.

    Items with NaN points are skipped: their sums are 0 and their new parameters are NaN. The
    argument `rows` contains nodes, weights and means of posteriors (N, 2 K + 1).
    """

    def likelihood(self, task: Task, *, table: CellTable, nodes: FloatArray) -> FloatArray:
        """Return sums over points of log(1 + e^z) at each node, of y a and of y d (N, K + 2)."""

    def scores(
        self, task: Task, *, table: CellTable, rows: FloatArray, curved: bool
    ) -> FloatArray:
        """Return gradients at S points (S, J, 2), and information if `curved` (S, J, 5)."""

    def targets(
        self, task: Task, *, table: CellTable, rows: FloatArray, prior: FloatArray
    ) -> FloatArray:
        """Return gradient, information, and parameters after scoring steps (J, 7)."""

    def missing(self, task: Task, *, table: CellTable, rows: FloatArray) -> FloatArray:
        """Return the items' score variances, conditional on the answers, at one point (J, 3)."""


class Compiled:
    """Reader that uses the compiled kernels of `kernels.irt_streamed`."""

    def likelihood(self, task: Task, *, table: CellTable, nodes: FloatArray) -> FloatArray:
        """Return sums of log(1 + e^z) per node, and of slopes and intercepts of yes answers."""
        n, k = nodes.shape
        rows = np.concatenate([nodes, np.ones((n, k)), np.zeros((n, 2))], axis=1)
        logs = np.zeros((n, k))
        for low, high, slope, intercept in task.parts():
            add_likelihood(_arrays(table, low, high), slope, intercept, rows, logs)
        return np.concatenate([logs + np.log(rows[:, k : 2 * k]), rows[:, 2 * k :]], axis=1)

    def scores(
        self, task: Task, *, table: CellTable, rows: FloatArray, curved: bool
    ) -> FloatArray:
        """Return the gradients of the items, with information if `curved`."""
        found = []
        for low, high, slope, intercept in task.parts():
            score, information = np.empty((*slope.shape, 2)), np.empty((*slope.shape, 3))
            cells = _arrays(table, low, high)
            item_scores(cells, slope, intercept, rows, curved, score, information)
            found.append(np.concatenate([score, information], axis=2) if curved else score)
        return np.concatenate(found, axis=1)

    def targets(
        self, task: Task, *, table: CellTable, rows: FloatArray, prior: FloatArray
    ) -> FloatArray:
        """Return the items' gradient, information, and parameters after scoring steps."""
        found = []
        for low, high, slope, intercept in task.parts():
            score, information = np.empty((1, high - low, 2)), np.empty((1, high - low, 3))
            target, cells = np.empty((high - low, 2)), _arrays(table, low, high)
            item_targets(cells, (slope, intercept), rows, prior, score, information, target)
            found.append(np.concatenate([score[0], information[0], target], axis=1))
        return np.concatenate(found)

    def missing(self, task: Task, *, table: CellTable, rows: FloatArray) -> FloatArray:
        """Return the variances of the items' scores."""
        found = []
        for low, high, slope, intercept in task.parts():
            found.append(np.empty((high - low, 3)))
            cells = _arrays(table, low, high)
            score_variances(cells, slope[0], intercept[0], rows, found[-1])
        return np.concatenate(found)


COMPILED = Compiled()


def _arrays(table: CellTable, low: int, high: int) -> tuple[AnyArray, AnyArray, AnyArray]:
    cells = table.read(low, high, lasting=False)
    return cells.start, cells.columns, cells.codes
