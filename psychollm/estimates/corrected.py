r"""Prediction of all scores, corrected with a sample of scores.

With an item bank, a model's scores are predicted, and a sample of the questions is asked. With a
judge, people label only a sample of the answers, and the judge predicts all labels. In both
applications, a prediction f of all scores y is corrected with the sampled scores.

Questions are drawn in blocks. Let :math:`A_b` be the questions that are answered before block b is
drawn, and :math:`\pi_{bj}` the probability that the block contains another question j. For any
predictions f made before the block is drawn,

.. math:: T_b = \sum_j f_j + \sum_{A_b} (y_j - f_j) + \sum_{S_b} \frac{y_j - f_j}{\pi_{bj}}
                                                                                          \quad (1)

is unbiased for the total of all scores (the difference estimator; Särndal, Swensson & Wretman).
The mean :math:`\sum v_b T_b` with weights :math:`\sum v_b = 1` is also unbiased. For independent
draws the variance of :math:`T_b` is :math:`V_b = \sum_j (1 / \pi_{bj} - 1) (y_j - f_j)^2`. With
:math:`s_j^2` the squared errors expected under the item model, the variance of the mean is

.. math:: V = \varphi \sum_b v_b^2 \sum_j (1 / \pi_{bj} - 1) s_j^2, \qquad v_b \propto 1 / V_b,
                                                                                          \quad (2)

where only the scale :math:`\varphi` is estimated from the answers, as the weighted mean of
:math:`(y_j - f_j)^2 / s_j^2`. The prior of :math:`\varphi` is its distribution over models that
were held out when the bank was built (an inverse chi-squared distribution with :math:`\nu_0`
degrees of freedom).

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
    """Questions drawn together, in random order, with inclusion probabilities of all questions."""

    items: IntArray  # (drawn,)
    pi: FloatArray  # (J,) inclusion probabilities, 0 for questions of earlier blocks


def answered(drawn: Sequence[Block], scores: FloatArray) -> list[Block]:
    """Return the blocks, restricted to their answered questions."""
    # Questions of a block are in random order, so that its first questions are a random sample.
    kept = [(block, block.items[np.isfinite(scores[block.items])]) for block in drawn]
    return [
        Block(items, block.pi * (items.size / block.items.size))
        for block, items in kept
        if items.size
    ]


def inside(blocks: Sequence[Block], within: BoolArray) -> list[Block]:
    """Return the blocks restricted to the questions in `within`."""
    place = np.cumsum(within) - 1
    return [Block(place[b.items[within[b.items]]], b.pi[within]) for b in blocks]


def correction(errors: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the correction of the predicted total by equation (1), from prediction errors."""
    # Shapes: errors, weight (..., asked). Weights are 1 / pi for questions drawn once.
    return np.asarray((weight * errors).sum(axis=-1))


def spread_of(inverse: FloatArray) -> FloatArray:
    """Return each sampled question's weight in the sum of squared errors of equation (1)."""
    # The sum in V_b is over all questions; a sampled question represents 1 / pi questions.
    return np.asarray(inverse * (inverse - 1.0))


class Corrected(NamedTuple):
    """Corrected mean of all scores, with the terms of its variance in equation (2)."""

    value: float
    variance: float  # variance of the mean with phi = 1
    phi: float  # scale of the variance; NaN without random draws
    n_effective: float  # degrees of freedom of phi


def corrected(
    predicted: FloatArray, expected: FloatArray, blocks: Sequence[Block], scores: FloatArray
) -> Corrected:
    """Return the corrected mean score, the weighted mean of equation (1) over blocks.

    Parameters
    ----------
    predicted : ndarray (J,)
        Predictions f in equation (1). The prediction for a sampled question must not use its own
        score.
    expected : ndarray (J,)
        Expected squared errors, s^2 in equation (2).
    blocks : sequence of Block
        Blocks in the order of drawing, with all questions answered.
    scores : ndarray (J,)
        Scores; only the scores of sampled questions are used.
    """
    expected = np.maximum(expected, _LEAST_ERROR)
    errors = scores - predicted
    over = [np.divide(1.0, b.pi, out=np.ones_like(b.pi), where=b.pi > 0.0) for b in blocks]
    # The sums below avoid BLAS, whose threads can take a thousand times as long on busy cores.
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
    """Return variances of squared standardised errors of binary scores, with a minimum of 2."""
    p = np.clip(predicted, 0.01, 0.99)
    fourth = p * (1.0 - p) * (1.0 - 3.0 * p * (1.0 - p))
    return np.asarray(np.maximum(fourth / expected**2 - 1.0, 2.0))
