r"""A prediction of all scores, corrected by sampled scores.

An item bank predicts a model's scores and asks a sample of the questions. A judge predicts human
labels, and people label a sample of the answers. Both correct a prediction f of all scores y by
the sampled scores.

Questions are drawn in blocks. Before block b the questions :math:`A_b` are answered; from the rest
it draws question j with probability :math:`\pi_{bj}`. For any predictions f made before the block
is drawn,

.. math:: T_b = \sum_j f_j + \sum_{A_b} (y_j - f_j) + \sum_{S_b} \frac{y_j - f_j}{\pi_{bj}}
                                                                                          \quad (1)

has the total of all scores as its expectation (the difference estimator; Särndal, Swensson &
Wretman), and so has :math:`\sum v_b T_b` with :math:`\sum v_b = 1`. Its variance is :math:`V_b =
\sum_j (1 / \pi_{bj} - 1) (y_j - f_j)^2` for independent draws. With :math:`s_j^2` the squared
errors expected under the item model,

.. math:: V = \varphi \sum_b v_b^2 \sum_j (1 / \pi_{bj} - 1) s_j^2, \qquad v_b \propto 1 / V_b,
                                                                                          \quad (2)

and only the scale :math:`\varphi` is estimated from the answers, as the weighted mean of
:math:`(y_j - f_j)^2 / s_j^2`. Its prior is its distribution over models held out when the bank was
built (an inverse chi-squared with :math:`\nu_0` degrees of freedom).

References
----------
Särndal, C.-E., Swensson, B., & Wretman, J. (1992). Model assisted survey sampling. Springer.

Farquhar, S., Gal, Y., & Rainforth, T. (2021). On statistical bias in active learning: how and when
to fix it. ICLR. arXiv:2101.11665.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from psychollm._base.types import BoolArray, FloatArray, IntArray

_LEAST_ERROR = 1e-4  # smallest expected squared error of a score
_TINY = 1e-12


@dataclass(frozen=True, slots=True)
class Block:
    """Questions drawn together, in random order, with the inclusion probabilities of all."""

    items: IntArray  # (drawn,)
    pi: FloatArray  # (J,) 0 for questions of earlier blocks


def answered(drawn: Sequence[Block], scores: FloatArray) -> list[Block]:
    """Return the blocks with only their answered questions."""
    # Questions of a block are in random order, so that the first ones are a random sample, too.
    kept = [(block, block.items[np.isfinite(scores[block.items])]) for block in drawn]
    return [
        Block(items, block.pi * (items.size / block.items.size))
        for block, items in kept
        if items.size
    ]


def inside(blocks: Sequence[Block], within: BoolArray) -> list[Block]:
    """Return the samples restricted to some of the questions."""
    place = np.cumsum(within) - 1
    return [Block(place[b.items[within[b.items]]], b.pi[within]) for b in blocks]


def correction(errors: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the correction (1) of the predicted total from the errors of a prediction."""
    # Shapes: errors, weight (..., asked). Weights are 1 / pi for questions drawn once.
    return np.asarray((weight * errors).sum(axis=-1))


def spread_of(inverse: FloatArray) -> FloatArray:
    """Return the weights of the asked questions' squared errors in the variance of (1)."""
    # The sum in V_b is over all questions; an asked one represents 1 / pi of them.
    return np.asarray(inverse * (inverse - 1.0))


class Corrected(NamedTuple):
    """The corrected mean of all scores, with the terms of its variance (2)."""

    value: float
    variance: float  # variance of the mean with phi = 1
    phi: float  # scale of the variance; NaN without random draws
    n_effective: float  # degrees of freedom of phi


def corrected(
    predicted: FloatArray, expected: FloatArray, blocks: Sequence[Block], scores: FloatArray
) -> Corrected:
    """Return the mean of (1) over blocks.

    Parameters
    ----------
    predicted : ndarray (J,)
        f of (1); for an asked question, predicted without its own score.
    expected : ndarray (J,)
        Expected squared errors, s^2 of (2).
    blocks : sequence of Block
        Blocks in the order of drawing, all answered.
    scores : ndarray (J,)
    """
    expected = np.maximum(expected, _LEAST_ERROR)
    errors = scores - predicted
    over = [np.divide(1.0, b.pi, out=np.ones_like(b.pi), where=b.pi > 0.0) for b in blocks]
    # Sums without BLAS: on busy cores its threads take a thousand times as long.
    variances = np.array([((inverse - 1.0) * expected).sum() for inverse in over])
    share = 1.0 / np.maximum(variances, _TINY)
    share /= share.sum()
    later = share.sum() - np.cumsum(share)
    total, pieces, fourth = 0.0, [], []
    for block, inverse, v, rest in zip(blocks, over, share, later, strict=True):
        items = block.items
        total += float(correction(errors[items], v * inverse[items] + rest))
        pieces.append(v**2 * spread_of(inverse[items]) * expected[items])
        fourth.append(_excess(predicted[items], expected[items]))
    size = predicted.size
    variance = float((share**2 @ variances) / size**2)
    value = float(predicted.mean() + total / size)
    which, weight = np.concatenate([b.items for b in blocks]), np.concatenate(pieces)
    if weight.sum() <= 0.0:
        return Corrected(value, 0.0, np.nan, 0.0)
    phi = float(weight @ (errors[which] ** 2 / expected[which]) / weight.sum())
    spread = float(weight**2 @ np.concatenate(fourth))
    return Corrected(value, variance, phi, 2.0 * float(weight.sum()) ** 2 / spread)


def _excess(predicted: FloatArray, expected: FloatArray) -> FloatArray:
    """Variance of the squared standardised error of a binary score, at least that of a normal."""
    p = np.clip(predicted, 0.01, 0.99)
    fourth = p * (1.0 - p) * (1.0 - 3.0 * p * (1.0 - p))
    return np.asarray(np.maximum(fourth / expected**2 - 1.0, 2.0))
