"""Equidistant nodes on the scale of confidence, on which residuals are smoothed."""

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from psychollm._base.types import FloatArray, IntArray
from psychollm.kernels import kernel_smooth as kernels

Cosines: TypeAlias = tuple[FloatArray, FloatArray]  # of even and of odd terms

POINTS = 101  # of a reliability curve: every grid has nodes there
RESOLUTION = 2.5  # nodes per standard deviation of the kernel
MOST_NODES = 4000
_COMPLETE = 2.2  # nodes per standard deviation down to which the cosine series is complete


@dataclass(frozen=True, slots=True, eq=False)
class SmoothingGrid:
    """Nodes, and where the confidences of one model lie among them."""

    values: FloatArray  # (groups,)
    beyond: FloatArray  # (groups,) how far each lies into its cell between two nodes
    node: IntArray  # (cells,) before each cell that holds confidences
    stop: IntArray  # (cells,) the group after each cell
    last: int  # number of the last node
    by_node: Cosines
    by_term: Cosines

    @property
    def finest(self) -> float:
        """The smallest bandwidth that the series resolves."""
        return _COMPLETE / self.last

    def sums(self, correct: FloatArray, wrong: FloatArray) -> FloatArray:
        """Return mean residuals at the nodes (resamples, nodes)."""
        nodes = np.empty((len(correct), self.last + 1))
        self._fill(self.values, correct, wrong, nodes)
        return nodes

    def counts(self, n: FloatArray) -> FloatArray:
        """Return shares of the answers at the nodes (resamples, nodes)."""
        nodes = np.empty((len(n), self.last + 1))
        # The residuals of correct answers from a confidence of zero are the answers themselves.
        zero, none = np.zeros_like(self.values), np.zeros_like(n)
        self._fill(zero, n, none, nodes)
        return nodes

    def _fill(
        self, values: FloatArray, correct: FloatArray, wrong: FloatArray, nodes: FloatArray
    ) -> None:
        kernels.node_sums(values, self.beyond, self.node, self.stop, correct, wrong, nodes)

    def errors(self, nodes: FloatArray, sigma: float | None, start: float) -> FloatArray:
        """Return the error at a bandwidth, or at that equal to it (resamples,)."""
        out = np.empty(len(nodes))
        kernels.smooth_errors(
            nodes, sigma or 0.0, start, self.finest, self.by_node, self.by_term, out
        )
        return np.minimum(out, 1.0)  # beyond it by the rounding of the grid alone

    def curves(self, nodes: FloatArray, sigma: float) -> FloatArray:
        """Return smoothed sums at the nodes (resamples, nodes)."""
        curves = np.empty_like(nodes)
        kernels.smooth_curves(nodes, sigma, self.by_node, self.by_term, curves)
        return curves


def smoothing_grid(values: FloatArray, sigma: float) -> SmoothingGrid:
    """Return nodes fine enough for a bandwidth."""
    # Shapes: values (groups,).
    hundreds = int(np.ceil(RESOLUTION / (sigma * (POINTS - 1))))
    last = min(hundreds * (POINTS - 1), MOST_NODES)
    place = values * last
    cell = np.minimum(place.astype(np.int64), last - 1)
    node, first = np.unique(cell, return_index=True)
    stop = np.append(first[1:], values.size)[: node.size].astype(np.int64)
    by_node, by_term = _cosines(last)
    return SmoothingGrid(values, place - cell, node, stop, last, by_node, by_term)


@lru_cache(maxsize=8)
def _cosines(last: int) -> tuple[Cosines, Cosines]:
    """Return cosines at the first half of the nodes, with nodes first and with terms first."""
    angle = np.pi / last * np.outer(np.arange(last // 2 + 1), np.arange(last // 2))
    even, odd = (np.ascontiguousarray(np.cos(angle[:, start::2])) for start in (0, 1))
    return (even, odd), (np.ascontiguousarray(even.T), np.ascontiguousarray(odd.T))
