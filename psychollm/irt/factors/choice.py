"""How many factors: what each number of them says of answers that were held out."""

from __future__ import annotations

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.irt.factors.reading import Filled
from psychollm.irt.factors.result import FactorChoice, chances
from psychollm.irt.factors.rounds import Ascent, packed_size, unpacked

MOST = 8  # factors
STANDARD_ERRORS = 2.0  # of the gain by a factor, for it to count


def held_out_losses(ascent: Ascent, held: Filled) -> FloatArray:
    """Return the sum of log losses and the number of answers of each question (m, 2)."""
    those, z = ascent.kinds[0], ascent.models.records
    d = those.mean.shape[1]
    p = packed_size(d)
    found = np.zeros((len(those.mean), 2))
    for low, high in those.ranges:
        start, places, answers = held(low, high)
        rows = np.repeat(np.arange(high - low), np.diff(start))
        w, vectors = those.mean[low:high], z[places]
        mean = np.einsum("cd,cd->c", vectors[:, p:], w[rows])
        second = unpacked(those.packed[low:high], d) + w[:, :, None] * w[:, None]
        twice = 2.0 * second[:, *np.tril_indices(d)]
        twice[:, np.cumsum(np.arange(1, d + 1)) - 1] /= 2.0
        square = np.einsum("cp,cp->c", vectors[:, :p], twice[rows])
        chance = chances(mean, np.maximum(square - mean**2, 0.0))
        loss = -answers * np.log(chance) - (1.0 - answers) * np.log1p(-chance)
        found[low:high, 0] = np.bincount(rows, loss, minlength=high - low)
        found[low:high, 1] = np.diff(start)
    return found


def gain(fewer: FloatArray, more: FloatArray) -> tuple[float, float]:
    """Return by how much the mean log loss falls, and its standard error over questions."""
    counts = more[:, 1]
    fall = fewer[:, 0] - more[:, 0]
    mean = fall.sum() / counts.sum()
    return float(mean), float(np.sqrt(np.sum((fall - mean * counts) ** 2)) / counts.sum())


def counts_more(losses: list[FloatArray]) -> bool:
    """Return whether the last factor is worth having."""
    if len(losses) < 2:
        return True
    fall, se = gain(losses[-2], losses[-1])
    return fall > STANDARD_ERRORS * se


def choice_of(losses: list[FloatArray]) -> FactorChoice:
    """Return the table of all numbers of factors tried."""
    fall, se = np.array([(np.nan, np.nan), *map(gain, losses, losses[1:])]).T
    sums = np.array([one.sum(axis=0) for one in losses])
    return FactorChoice(
        tried=np.arange(len(losses)),
        log_loss=sums[:, 0] / sums[:, 1],
        gain=fall,
        se=se,
        n_held_out=int(sums[0, 1]),
    )


def chosen(choice: FactorChoice) -> int:
    """Return the number of factors before the first that is not worth having, at least one."""
    worth = choice.gain[1:] > STANDARD_ERRORS * choice.se[1:]
    return max(1, int(np.argmin(np.append(worth, False))))
