"""What a pass reads from the answers of some items, by compiled kernels."""

from typing import Protocol, TypeAlias

import numpy as np

from psychollm._base.types import AnyArray, FloatArray
from psychollm.data.cells import Cells, CellTable
from psychollm.kernels.irt_streamed import (
    add_likelihood,
    item_scores,
    item_targets,
    score_variances,
)

Task: TypeAlias = list[tuple[int, int]]  # ranges of rows


class Reader(Protocol):
    """Who computes the sums over the answers to the items of a task.

    Items whose points are NaN are passed over: they add nothing, their sums are 0 and their
    targets NaN. `rows` are nodes, weights and means of posteriors (N, 2 K + 1).
    """

    def likelihood(
        self, task: Task, *, table: CellTable, points: FloatArray, nodes: FloatArray
    ) -> FloatArray:
        """Return sums of log(1 + e^z) at nodes, of y a and of y d, over points (N, K + 2)."""

    def scores(
        self, task: Task, *, table: CellTable, points: FloatArray, rows: FloatArray, curved: bool
    ) -> FloatArray:
        """Return gradients at S points (S, J, 2), and information beside if `curved` (S, J, 5)."""

    def targets(
        self,
        task: Task,
        *,
        table: CellTable,
        point: FloatArray,
        rows: FloatArray,
        prior: FloatArray,
    ) -> FloatArray:
        """Return gradient and information of items, and where scoring steps lead (J, 7)."""

    def missing(
        self, task: Task, *, table: CellTable, point: FloatArray, rows: FloatArray
    ) -> FloatArray:
        """Return variances of the items' scores given the answers (J, 3)."""


class Compiled:
    """The kernels of `kernels.irt_streamed`."""

    def likelihood(
        self, task: Task, *, table: CellTable, points: FloatArray, nodes: FloatArray
    ) -> FloatArray:
        """Return logs of products, and the two sums."""
        n, k = nodes.shape
        rows = np.concatenate([nodes, np.ones((n, k)), np.zeros((n, 2))], axis=1)
        logs = np.zeros((n, k))
        for low, high in task:
            cells = _arrays(table.read(low, high))
            slope, intercept = np.ascontiguousarray(np.moveaxis(points[:, low:high], -1, 0))
            add_likelihood(cells, slope, intercept, rows, logs)
        return np.concatenate([logs + np.log(rows[:, k : 2 * k]), rows[:, 2 * k :]], axis=1)

    def scores(
        self, task: Task, *, table: CellTable, points: FloatArray, rows: FloatArray, curved: bool
    ) -> FloatArray:
        """Return gradient and information."""
        found = []
        for low, high in task:
            slope, intercept = np.ascontiguousarray(np.moveaxis(points[:, low:high], -1, 0))
            score, information = np.empty((*slope.shape, 2)), np.empty((*slope.shape, 3))
            cells = _arrays(table.read(low, high))
            item_scores(cells, slope, intercept, rows, curved, score, information)
            found.append(np.concatenate([score, information], axis=2) if curved else score)
        return np.concatenate(found, axis=1)

    def targets(
        self,
        task: Task,
        *,
        table: CellTable,
        point: FloatArray,
        rows: FloatArray,
        prior: FloatArray,
    ) -> FloatArray:
        """Return gradient, information and targets."""
        found = []
        for low, high in task:
            slope, intercept = np.ascontiguousarray(point[None, low:high].T[..., 0])[:, None]
            score, information = np.empty((1, high - low, 2)), np.empty((1, high - low, 3))
            target, cells = np.empty((high - low, 2)), _arrays(table.read(low, high))
            item_targets(cells, (slope, intercept), rows, prior, score, information, target)
            found.append(np.concatenate([score[0], information[0], target], axis=1))
        return np.concatenate(found)

    def missing(
        self, task: Task, *, table: CellTable, point: FloatArray, rows: FloatArray
    ) -> FloatArray:
        """Return variances of scores."""
        found = []
        for low, high in task:
            slope, intercept = np.ascontiguousarray(point[low:high].T)
            found.append(np.empty((high - low, 3)))
            score_variances(_arrays(table.read(low, high)), slope, intercept, rows, found[-1])
        return np.concatenate(found)


COMPILED = Compiled()


def _arrays(cells: Cells) -> tuple[AnyArray, AnyArray, AnyArray]:
    return cells.start, cells.columns, cells.codes
