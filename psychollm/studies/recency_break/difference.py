r"""Estimate differences in differences over dates, given difficulties from other models.

For a lineage of models, the difficulty :math:`d_j` of question j is the mean over all other
lineages, equally weighted, of scores centred by lineage. Let B be the powers of d up to the third,
and let :math:`a_j` be 1 for questions after the date and 0 before. Equation (1) is the regression
of the lineage's scores y.

.. math:: y_j = B_j \gamma + \delta a_j + e_j.    \quad (1)

The coefficient :math:`\delta` is the break. Lineages differ in :math:`\gamma`, that is, in their
level and in the slope of scores on difficulty; d accounts for the greater difficulty of later
questions. Because d is a mean over few lineages, it has sampling error, so regression on d
corrects too little for difficulty. Equation (2) is the estimate of the break, with r the
reliability of d and b the slope of y on d.

.. math:: \hat\delta = \frac{\tilde a' y}{\tilde a' \tilde a}
          - b \frac{1 - r}{r} (\bar d_1 - \bar d_0).
          \quad (2)

Here, :math:`\tilde a` is the residual of a on B, and :math:`\bar d_1, \bar d_0` are the mean
difficulties after and before the date. The test divides the estimate of equation (2) by its
heteroscedasticity-robust standard error over questions. The null distribution permutes dates among
questions of similar difficulty, jointly for all models.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from psychollm._base.types import FloatArray, IntArray

POWERS = 4  # number of powers of the difficulty, including the constant
FEWEST = 8  # smallest number of questions on each side of a date
_STRATUM = 20  # number of questions of similar difficulty among which dates are permuted
_STRATA = 10
_LEAST_RELIABLE = 0.2


@dataclass(frozen=True, slots=True)
class Unit:
    """Scores of a model or lineage, with the difficulty estimated from other lineages."""

    scores: FloatArray  # (questions,) NaN where missing
    difficulty: FloatArray  # (questions,) NaN if no other lineage answered
    reliability: float


def means_of_lineages(values: FloatArray, lineage: IntArray) -> FloatArray:
    """Return the mean score of each lineage (lineages, questions), NaN if there are no answers."""
    count = int(lineage.max()) + 1
    sums, known = np.zeros((count, values.shape[1])), np.zeros((count, values.shape[1]))
    there = np.isfinite(values)
    # Models of a lineage may answer different questions. Centring by model prevents a question
    # from looking hard only because a strong model did not answer it.
    level = np.where(there, values, 0.0).sum(axis=1) / np.maximum(there.sum(axis=1), 1)
    common = np.array([level[lineage == one].mean() for one in range(count)])
    np.add.at(sums, lineage, np.where(there, values - level[:, None], 0.0))
    np.add.at(known, lineage, there.astype(np.float64))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known > 0, sums / known, np.nan) + common[:, None])


def difficulty_of(scores: FloatArray) -> tuple[FloatArray, float]:
    """Return the mean centred score of each question (questions,), and its reliability."""
    there = np.isfinite(scores)
    filled = np.where(there, scores, 0.0)
    per_question, per_model = there.sum(axis=0), np.maximum(there.sum(axis=1), 1)
    question = np.zeros(scores.shape[1])
    model = np.zeros(scores.shape[0])
    for _ in range(50):
        model = np.where(there, filled - question, 0.0).sum(axis=1) / per_model
        new = np.where(there, filled - model[:, None], 0.0).sum(axis=0) / np.maximum(
            per_question, 1
        )
        moved, question = float(np.abs(new - question).max()), new
        if moved < 1e-10:
            break
    question = np.where(per_question > 0, question + model.mean(), np.nan)
    known = per_question > 0
    rest = np.where(there, scores - (question - model.mean()) - model[:, None], 0.0)
    freedom = max(int(there.sum()) - len(scores) - int(known.sum()) + 1, 1)
    noise = float((rest**2).sum()) / freedom * float((1.0 / per_question[known]).mean())
    spread = float(question[known].var())
    reliability = 1.0 - noise / spread if spread > 0.0 else 1.0
    return question, float(np.clip(reliability, _LEAST_RELIABLE, 1.0))


def strata_of(difficulty: FloatArray) -> IntArray:
    """Return groups of questions of similar difficulty."""
    n = difficulty.size
    count = int(np.clip(n // _STRATUM, 1, _STRATA))
    order = np.argsort(difficulty, kind="stable")
    out = np.empty(n, dtype=np.int64)
    out[order] = np.arange(n) * count // n
    return out


class Breaks:
    """Breaks of several units at several cutoffs, for observed or permuted question dates."""

    def __init__(self, units: Sequence[Unit], days: FloatArray, cuts: FloatArray) -> None:
        self.units = units
        self.cuts = cuts
        # This is the number of cuts before each question.
        self.place = np.searchsorted(cuts, days, side="left").astype(np.int64)
        n, k = days.size, len(units)
        there = np.zeros((k, n), dtype=np.bool_)
        left, slope = np.zeros((k, n)), np.zeros(k)
        basis = np.zeros((k, n, POWERS))
        own = np.zeros((k, n))
        for row, unit in enumerate(units):
            known = np.isfinite(unit.scores) & np.isfinite(unit.difficulty)
            there[row] = known
            q, y = unit.difficulty[known], unit.scores[known]
            centred = q - q.mean() if q.size else q
            width = float(centred.std()) if q.size else 0.0
            if width <= 0.0 or np.unique(y).size < 2:
                continue
            powers = min(POWERS, np.unique(q).size)
            held = np.linalg.qr((centred / width)[:, None] ** np.arange(powers))[0]
            basis[row][known, :powers] = held
            left[row, known] = y - held @ (held.T @ y)
            own[row, known] = centred
            slope[row] = float(centred @ y) / float(centred @ centred)
        self.there, self.left, self.basis, self.own = there, left, basis, own
        self.by_chance = slope * np.array([(1 - u.reliability) / u.reliability for u in units])
        square = left**2
        self.inner = np.einsum("kn,kni,knj->kij", square, basis, basis)
        columns = [there[:, :, None], left[:, :, None], square[:, :, None], basis,
                   square[:, :, None] * basis, own[:, :, None]]  # fmt: skip
        # The shape is (questions, units * columns), for sums over the questions after each cut.
        self.columns = np.ascontiguousarray(
            np.concatenate(columns, axis=2).transpose(1, 0, 2).reshape(n, -1)
        )
        self.total = self.columns.sum(axis=0).reshape(k, -1)

    def z(self, order: IntArray | None = None) -> FloatArray:
        """Return test statistics (units, cuts); `order` permutes dates among questions."""
        place = self.place if order is None else self.place[order]
        groups = len(self.cuts) + 1
        by_place = np.argsort(place, kind="stable")
        sizes = np.bincount(place, minlength=groups)
        start = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        held = sizes > 0
        sums = np.zeros((groups, self.columns.shape[1]))
        sums[held] = np.add.reduceat(self.columns[by_place], start[held], axis=0)
        after = np.cumsum(sums[::-1], axis=0)[::-1][1:]  # (cuts, ...)
        s = after.reshape(len(self.cuts), len(self.units), -1).transpose(1, 0, 2)
        value, variance = self._estimate(s)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(variance > 0.0, value / np.sqrt(variance), np.nan))

    def _estimate(self, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the estimates of equation (2) and null variances, from sums after each date."""
        p = POWERS
        n, left, square = s[..., 0], s[..., 1], s[..., 2]
        c, mixed, own = s[..., 3 : 3 + p], s[..., 3 + p : 3 + 2 * p], s[..., 3 + 2 * p]
        total = self.total[:, None, 0]
        known = n - (c**2).sum(axis=-1)
        enough = (n >= FEWEST) & (total - n >= FEWEST) & (known > 1e-9)
        with np.errstate(divide="ignore", invalid="ignore"):
            gap = own / n + own / (total - n)  # `own` sums to zero
            value = left / known - self.by_chance[:, None] * gap
            spread = (
                square
                - 2.0 * (c * mixed).sum(axis=-1)
                + np.einsum("kci,kij,kcj->kc", c, self.inner, c)
            )
            return np.where(enough, value, np.nan), np.where(enough, spread / known**2, np.nan)

    def fitted(
        self, row: int, cut: int, level: float
    ) -> tuple[float, FloatArray, float, FloatArray]:
        """Return the change at the date, its interval, the raw difference, and question counts."""
        known = self.there[row]
        after = (self.place > cut)[known].astype(np.float64)
        sides = np.array([float((1.0 - after).sum()), float(after.sum())])
        y = self.units[row].scores[known]
        nothing = np.full(2, np.nan)
        raw = float(y[after > 0].mean() - y[after == 0].mean()) if sides.min() > 0 else np.nan
        if sides.min() < FEWEST or not self.left[row].any():
            return np.nan, nothing, raw, sides
        held, rest = self.basis[row][known], self.left[row][known]
        part = after - held @ (held.T @ after)
        size = float(part @ part)
        if size <= 1e-9:
            return np.nan, nothing, raw, sides
        value = float(part @ rest) / size
        residual = rest - value * part
        leverage = np.minimum((held**2).sum(axis=1) + part**2 / size, 0.99)
        se = float(np.sqrt((part**2 * residual**2 / (1.0 - leverage)).sum())) / size
        own = self.own[row][known]
        value -= self.by_chance[row] * float(own[after > 0].mean() - own[after == 0].mean())
        margin = float(stdtrit(max(y.size - POWERS - 1.0, 1.0), 0.5 + level / 2.0)) * se
        return value, np.array([value - margin, value + margin]), raw, sides


def permuted(
    breaks: Breaks,
    strata: IntArray,
    chosen: IntArray | None,
    n_null: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Return statistics (n_null, units) with dates permuted within strata."""
    n = strata.size
    by_stratum = np.argsort(strata, kind="stable")
    out = np.empty((n_null, len(breaks.units)))
    for row in range(n_null):
        order = np.empty(n, dtype=np.int64)
        # Sorting by stratum and then by a random number permutes the questions within strata.
        order[by_stratum] = np.lexsort((rng.random(n), strata))
        out[row] = smallest(breaks.z(order), chosen)
    return out


def smallest(z: FloatArray, chosen: IntArray | None) -> FloatArray:
    """Return the statistic (units,) at each unit's cut date, or the minimum over all cut dates."""
    if chosen is not None:
        return np.asarray(np.where(chosen < 0, np.nan, z[np.arange(len(z)), chosen]))
    least = np.where(np.isnan(z), np.inf, z).min(axis=1)
    return np.asarray(np.where(np.isinf(least), np.nan, least))
