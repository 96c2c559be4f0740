r"""The one-factor normal-ogive model with the factor integrated out: shared by fit and scores.

A model says yes to a question with factor score f with probability

.. math:: P_i(f) = \Phi\Big(\frac{\lambda_i f - \tau_i}{\sqrt{1 - \lambda_i^2}}\Big),
          \qquad f \sim N(0, 1).                                                      \quad (1)

Integrals over f are sums over a uniform grid. For smooth integrands such sums converge
exponentially once the spacing is below the posterior standard deviation of a score; with many or
sharp models posteriors are narrow, so the spacing is that of the narrowest posterior, from the
test information :math:`\sum_i P_i'^2 / (P_i (1 - P_i))`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, ndtr

from psychollm._base.types import AnyArray, BoolArray, FloatArray, IntArray
from psychollm.data.responses import Responses

RANGE = 6.0  # of the factor; beyond lies a mass of 2e-9
MIN_NODES, MAX_NODES = 61, 801
LOG_FLOOR = -230.0  # no answer is less probable than 1e-100: keeps quotients finite
BLOCK = 4096


@dataclass(frozen=True, slots=True)
class Grid:
    """Nodes of the factor (Q,) and the logarithm of their prior weights (Q,)."""

    nodes: FloatArray
    log_weights: FloatArray


@dataclass(frozen=True, slots=True)
class Patterns:
    """Distinct answer patterns, how often they occur, and which one each question has."""

    yes: FloatArray  # (p, k) 1 where the model said yes
    no: FloatArray  # (p, k)
    frequency: FloatArray  # (p,)
    of_question: IntArray  # (n,)

    def blocks(self) -> Iterator[slice]:
        """Yield slices of patterns small enough for the cache."""
        for lo in range(0, self.frequency.size, BLOCK):
            yield slice(lo, lo + BLOCK)


def answer_patterns(table: Responses, keep: BoolArray) -> Patterns:
    """Collect the distinct columns of the models to `keep` (k,)."""
    yes = (table.codes[keep] == 1) & ~table.missing[keep]
    no = (table.codes[keep] == 0) & ~table.missing[keep]
    _, first, inverse, frequency = np.unique(
        _keys(np.concatenate([yes, no])),
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    return Patterns(
        yes=np.ascontiguousarray(yes[:, first].T, dtype=np.float64),
        no=np.ascontiguousarray(no[:, first].T, dtype=np.float64),
        frequency=frequency.astype(np.float64),
        of_question=inverse.ravel().astype(np.int64),
    )


def _keys(flags: BoolArray) -> AnyArray:
    """Return one sortable key per column of flags (r, n): a word if 64 bits suffice."""
    packed = np.packbits(flags, axis=0).T
    width = packed.shape[1]
    if width > 8:
        return np.ascontiguousarray(packed).view(np.dtype((np.void, width))).ravel()
    words = np.zeros((packed.shape[0], 8), dtype=np.uint8)
    words[:, :width] = packed
    return words.view(np.uint64).ravel()


def ogive(loadings: FloatArray, thresholds: FloatArray, nodes: FloatArray) -> FloatArray:
    """Return the argument of Phi in (1), shape (k, Q)."""
    rest = np.sqrt(1.0 - loadings**2)
    return np.asarray(
        (loadings[:, None] * nodes - thresholds[:, None]) / rest[:, None], dtype=np.float64
    )


def log_answer_probabilities(argument: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log P and log(1 - P), floored, shapes as the ogive's argument."""
    return np.maximum(log_ndtr(argument), LOG_FLOOR), np.maximum(log_ndtr(-argument), LOG_FLOOR)


def factor_grid(loadings: FloatArray, thresholds: FloatArray) -> Grid:
    """Choose a grid fine enough for the narrowest posterior of a score."""
    nodes = np.linspace(-RANGE, RANGE, MAX_NODES)
    argument = ogive(loadings, thresholds, nodes)
    density = np.exp(-0.5 * argument**2) / np.sqrt(2.0 * np.pi)
    slope = loadings / np.sqrt(1.0 - loadings**2)
    variance = np.maximum(ndtr(argument) * ndtr(-argument), 1e-300)
    information = 1.0 + (slope**2) @ (density**2 / variance)
    wanted = 2.0 * RANGE * np.sqrt(information.max())
    n_nodes = int(np.clip(np.ceil(wanted), MIN_NODES, MAX_NODES))
    nodes = np.linspace(-RANGE, RANGE, n_nodes)
    weights = np.exp(-0.5 * nodes**2)
    return Grid(nodes=nodes, log_weights=np.log(weights / weights.sum()))


def posterior(
    patterns: Patterns, block: slice, log_yes: FloatArray, log_no: FloatArray, grid: Grid
) -> tuple[FloatArray, FloatArray]:
    """Return posterior weights over nodes (p, Q) and the marginal log-likelihood (p,)."""
    joint = patterns.yes[block] @ log_yes
    joint += patterns.no[block] @ log_no
    joint += grid.log_weights
    top = joint.max(axis=1, keepdims=True)
    joint -= top
    np.exp(joint, out=joint)
    total = joint.sum(axis=1, keepdims=True)
    joint /= total
    return joint, (np.log(total) + top)[:, 0]
