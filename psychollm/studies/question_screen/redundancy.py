"""Duplicates: questions answered alike more often than ability and difficulty explain.

See equation (1) of `psychollm.studies.question_screen.study`.
"""

from collections.abc import Iterator

import numpy as np
from scipy.special import expit

from psychollm._base.types import BoolArray, FloatArray, IntArray

_ABILITY_SD, _SLOPE_SD = 5.0, 1.0  # SDs of the priors
_PAIRS_AT_ONCE = 2_000_000


def redundant_pairs(values: FloatArray, alpha: float) -> tuple[IntArray, IntArray, FloatArray]:
    """Return duplicate pairs, numbers of models that agree and that answer both, and p-values."""
    seen = np.isfinite(values) & (values != 0.5)
    right = seen & (values > 0.5)
    varied = right.any(axis=0) & (seen & ~right).any(axis=0)
    own = np.flatnonzero(varied)
    found: list[tuple[IntArray, IntArray, FloatArray]] = []
    if own.size > 1:
        right, seen = right[:, own], seen[:, own]
        chance = _chances(right.astype(np.float64), seen)
        n_pairs = own.size * (own.size - 1) / 2
        for pairs in _suspects(right, seen, chance, alpha / n_pairs):
            alike, both, p_value = _tails(right, seen, chance, pairs)
            kept = p_value * n_pairs <= alpha
            same = np.stack([alike, both], axis=1)[kept]
            found.append((own[pairs[kept]], same, p_value[kept] * n_pairs))
    if not found:
        nothing = np.zeros((0, 2), dtype=np.int64)
        return nothing, nothing.copy(), np.zeros(0)
    pairs, alike, p_value = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.argsort(p_value, kind="stable")
    return pairs[order], alike[order], p_value[order]


def _chances(right: FloatArray, seen: BoolArray) -> FloatArray:
    """Return the probability of a right answer (models, questions)."""
    # Alternate between abilities and difficulties, with one slope; then fit a slope per question.
    ability, easiness = _with_one_slope(right, seen)
    easiness += ability.mean()
    ability -= ability.mean()
    steep = np.ones(right.shape[1])
    for _ in range(50):
        p = expit(ability * steep + easiness)
        weight, residual = p * (1.0 - p) * seen, (right - p) * seen
        first = residual.sum(axis=0)
        second = (residual * ability).sum(axis=0) - (steep - 1.0) / _SLOPE_SD**2
        a, b = weight.sum(axis=0) + 1e-9, (weight * ability).sum(axis=0)
        c = (weight * ability**2).sum(axis=0) + 1.0 / _SLOPE_SD**2
        scale = a * c - b * b
        moves = (c * first - b * second) / scale, (a * second - b * first) / scale
        easiness += np.clip(moves[0], -1.0, 1.0)
        steep += np.clip(moves[1], -0.5, 0.5)
        if max(np.abs(moves[0]).max(), np.abs(moves[1]).max()) < 1e-6:
            break
    return np.asarray(expit(ability * steep + easiness), dtype=np.float64)


def _with_one_slope(right: FloatArray, seen: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return abilities (models, 1) and easiness (questions,)."""
    hits = (right * seen).sum(axis=0)
    wins = (right * seen).sum(axis=1, keepdims=True)
    kind, times = np.arange(hits.size), np.ones(hits.size)
    if seen.all():  # questions with the same number of right answers are equally easy
        hits, kind, times = np.unique(hits, return_inverse=True, return_counts=True)
        seen = np.ones((len(right), hits.size), dtype=np.bool_)
    ability, easiness = np.zeros((len(right), 1)), np.zeros(hits.size)
    for _ in range(200):
        p = expit(ability + easiness) * seen
        step = (hits - p.sum(axis=0)) / (p * (1.0 - p)).sum(axis=0)
        easiness += np.clip(step, -1.0, 1.0)
        p = expit(ability + easiness) * seen
        slope = wins - (p * times).sum(axis=1, keepdims=True) - ability / _ABILITY_SD**2
        weight = (p * (1.0 - p) * times).sum(axis=1, keepdims=True) + 1.0 / _ABILITY_SD**2
        move = slope / weight
        ability += np.clip(move, -1.0, 1.0)
        if max(np.abs(step).max(), np.abs(move).max()) < 1e-6:
            break
    return ability, easiness[kind]


def _suspects(
    right: BoolArray, seen: BoolArray, chance: FloatArray, size: float
) -> Iterator[IntArray]:
    """Yield the pairs whose upper tail probability may be below `size`."""
    # The bound avoids most exact tail probabilities: z standard deviations above the mean, a
    # binomial tail is at least exp(-z^2) / sqrt(2 n). The factor 0.9 allows for unequal
    # probabilities.
    least = 0.9 * np.sqrt(max(-np.log(size) - 0.5 * np.log(2.0 * len(right)), 0.0))
    # Let s be scores of 1 and -1, and c their means, both 0 where an answer is missing. Twice the
    # number of equal answers then exceeds its mean by s's - c'c, and has variance 1'1 -
    # (c^2)'(c^2). Single precision suffices for a bound.
    held = seen.astype(np.float32)
    score = np.where(right, held, -held)
    mean = ((2.0 * chance - 1.0) * held).astype(np.float32)
    square = mean**2
    over, under = np.concatenate([score, mean]), np.concatenate([score, -mean])
    wide, narrow = np.concatenate([held, square]), np.concatenate([held, -square])
    step = max(1, _PAIRS_AT_ONCE // right.shape[1])
    for low in range(0, right.shape[1], step):
        block = slice(low, low + step)
        excess = over[:, block].T @ under[:, low:]
        variance = np.maximum(wide[:, block].T @ narrow[:, low:], 0.0)
        far = excess > np.float32(least) * np.sqrt(variance)
        first, second = np.nonzero(far)
        pairs = low + np.stack([first, second], axis=1)[first < second]
        for start in range(0, len(pairs), _PAIRS_AT_ONCE // (len(right) + 1) + 1):
            yield pairs[start : start + _PAIRS_AT_ONCE // (len(right) + 1) + 1]


def _tails(
    right: BoolArray, seen: BoolArray, chance: FloatArray, pairs: IntArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return how many models agree on each pair, how many answer both questions, and p-values."""
    i, j = pairs.T
    both = seen[:, i] & seen[:, j]
    alike = ((right[:, i] == right[:, j]) & both).sum(axis=0)
    # Probability 0 excludes models that lack one of the two answers.
    each = np.where(both, chance[:, i] * chance[:, j] + (1 - chance[:, i]) * (1 - chance[:, j]), 0)
    mass = np.zeros((len(right) + 1, len(pairs)))
    mass[0] = 1.0
    for own in each:
        mass[1:] = mass[1:] * (1.0 - own) + mass[:-1] * own
        mass[0] *= 1.0 - own
    above = mass[::-1].cumsum(axis=0)[::-1]
    return alike, both.sum(axis=0), above[alike, np.arange(len(pairs))]
