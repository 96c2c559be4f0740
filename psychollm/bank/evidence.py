r"""Compute anytime-valid evidence of a change in a model's answers to the same questions.

A look is one round of answers, such as the answers of one day. Without a change, the model answers
question j correctly with the same unknown probability :math:`p_j` at all looks and in the
baseline. The answers to a question are therefore exchangeable. Let :math:`\bar y_j` be the mean of
the answers in a window of looks, and :math:`\bar r_j` the mean of the answers before the window.
Then

.. math:: D_j = \bar y_j - \bar r_j, \qquad E[D_j] = 0, \qquad
          E[D_j^2 \mid \text{all answers}] = V_j =
              \frac{n_j}{u_j v_j (n_j - 1)} \sum (y - \bar y)^2,                          \quad (1)

with :math:`u_j` answers in the window, :math:`v_j` answers before it, and :math:`n_j = u_j + v_j`.
Because questions are independent, bets on them are multiplied. Without a change, each product has
mean one:

.. math:: E_\lambda = \prod_j (1 + \lambda w_j D_j), \qquad
          E_\kappa = \prod_j \big(1 + \kappa (D_j^2 / V_j - 1)\big).                      \quad (2)

The first product detects a change in accuracy, with :math:`\lambda > 0` for an improvement and
:math:`\lambda < 0` for a decline. The second product detects changes in answers even if the
accuracy is the same. The weight :math:`w_j \le 1` increases with the number of answers. Noise in
the baseline, such as single answers sampled at a positive temperature, is part of :math:`D_j` and
requires no correction.

The evidence is valid at any time, for two reasons. First, bets on the first new answer to each
baseline question form a martingale :math:`M_t`, because both answers of a pair are used at the
same time. Second, each window has one bet, with a proportion :math:`\omega` of the stake, and all
proportions sum to at most one:

.. math:: A_t = \omega_0 M_t + \sum_{\text{windows that ended by } t} \omega E.           \quad (3)

The sum never decreases, and its total expectation is at most one. Therefore :math:`E[A_\tau] \le
1` at any stopping time :math:`\tau`, and the probability of ever reaching :math:`1/\alpha` is at
most :math:`\alpha`. A window starts at the baseline or at a later look; for later windows, the
reference consists of all previous answers. The choice of questions must not depend on baseline
answers. For example, if only correctly answered questions are repeated, the model appears to
become worse.

References
----------
Ramdas, A., Grünwald, P., Vovk, V., & Shafer, G. (2023). Game-theoretic statistics and safe
anytime-valid inference. Statistical Science, 38, 576-601.

Shin, J., Ramdas, A., & Rinaldo, A. (2024). E-detectors: A nonparametric framework for sequential
change detection. New England Journal of Statistics in Data Science, 2, 229-260.

Waudby-Smith, I., & Ramdas, A. (2024). Estimating means of bounded random variables by betting.
Journal of the Royal Statistical Society B, 86, 1-27.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from psychollm._base.types import FloatArray

Kind = Literal["worse", "better", "different"]
KINDS: tuple[Kind, ...] = ("worse", "better", "different")
_STAKE = {"first": 0.5, "baseline": 0.3, "later": 0.2}  # proportion of the stake by kind of window
_FIRST = (0.5, 0.5)  # division of the first answers' stake between worse and better
_KINDS = (0.4, 0.4, 0.2)  # division of a window's stake among worse, better, different
_LINEAR = np.array([0.12, 0.3, 0.75])
_SQUARE = np.array([0.2, 0.5, 0.8])
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Counted:
    """Number, sum and sum of squares of the answers to each question (3, questions)."""

    table: FloatArray

    def __add__(self, other: "Counted") -> "Counted":
        return Counted(self.table + other.table)

    def __sub__(self, other: "Counted") -> "Counted":
        return Counted(self.table - other.table)

    @property
    def mean(self) -> float:
        """Mean, over questions, of the mean answer to each question."""
        n, total, _ = self.table
        there = n > 0
        return float((total[there] / n[there]).mean()) if there.any() else np.nan


def bets(reference: Counted, window: Counted) -> FloatArray:
    """Return the log products (3,) of equation (2), for worse, better and different answers."""
    (before, own_before, _), (inside, own, _) = reference.table, window.table
    here = (before > 0) & (inside > 0)
    u, v = inside[here], before[here]
    gap = own[here] / u - own_before[here] / v
    weight = u * v / (u + v)
    if not gap.size:
        return np.zeros(3)
    tilt = gap * weight / weight.max()
    linear = _mixed(-_LINEAR, tilt), _mixed(_LINEAR, tilt)
    n, total, squares = (reference + window).table[:, here]
    # Only binary answers are used here, because other scores may be means, for which V in (1) is
    # invalid.
    spread = total - total**2 / n
    plain = (np.abs(squares - total) < _ROUNDING) & (spread > _ROUNDING) & (n > 2)
    u, v, n = u[plain], v[plain], n[plain]
    square = gap[plain] ** 2 * u * v * (n - 1.0) / (n * spread[plain]) - 1.0
    return np.array([*linear, _mixed(_SQUARE, square)])


def _mixed(stakes: FloatArray, what: FloatArray) -> float:
    """Return the log of the mean, over `stakes`, of the product of 1 + stake * `what`."""
    logs = np.log1p(stakes[:, None] * what).sum(axis=1)
    return float(np.logaddexp.reduce(logs) - np.log(stakes.size))


def _share(i: int) -> float:
    """Return the ith term (from 1) of an infinite series with sum one."""
    return float(1.0 / np.log2(i + 1.0) - 1.0 / np.log2(i + 2.0))


def windows(t: int) -> Iterator[tuple[int, float]]:
    """For each window that ends at look t, yield the look before the window and its stake."""
    if t & (t - 1) == 0 and t > 1:
        k = t.bit_length() - 1
        yield 0, _STAKE["baseline"] / (k * (k + 1.0))
    k, length = 1, 1
    while length < t:
        step = max(1, length // 2)
        if t % step == 0:
            place = (t - length + step - 1) // step
            yield t - length, _STAKE["later"] * _share(place) / (k * (k + 1.0))
        k, length = k + 1, 2 * length


def needed_from(t: int) -> list[int]:
    """Return the looks, up to look t, at which a window that ends after t may start."""
    kept = {0}
    step = 1
    while step <= max(t, 1):  # windows of length 2 * step start at multiples of step
        first = max(step, (t - 2 * step) // step * step)
        kept |= set(range(first, t + 1, step))
        step *= 2
    return sorted(look for look in kept if look <= t)


@dataclass(slots=True)
class Evidence:
    """Accumulated evidence, with the past answers that future windows require."""

    past: dict[int, Counted]  # all answers up to each look; look 0 is the baseline
    look: int = 0
    first: FloatArray = field(default_factory=lambda: np.zeros((2, _LINEAR.size)))  # logs of M
    spent: FloatArray = field(default_factory=lambda: np.full(3, -np.inf))  # logs of sums, by kind
    best: tuple[float, int, int] = (-np.inf, 0, 0)  # largest log term, window

    @property
    def logs(self) -> FloatArray:
        """Log evidence for worse, better and different answers (3,)."""
        stake = np.log(_STAKE["first"]) + np.log(_FIRST) - np.log(_LINEAR.size)
        own = np.append(np.logaddexp.reduce(self.first, axis=1) + stake, -np.inf)
        return np.asarray(np.logaddexp(own, self.spent))

    @property
    def log(self) -> float:
        """Logarithm of the evidence defined by equation (3)."""
        return float(np.logaddexp.reduce(self.logs))

    def add(self, answers: Counted) -> None:
        """Add the answers that were collected since the last look."""
        before, self.look = self.past[self.look], self.look + 1
        baseline = self.past[0].table
        new = (answers.table[0] > 0) & (baseline[0] > 0) & (before.table[0] == baseline[0])
        gap = answers.table[1, new] / answers.table[0, new] - baseline[1, new] / baseline[0, new]
        for row, sign in enumerate((-1.0, 1.0)):
            self.first[row] += np.log1p(sign * _LINEAR[:, None] * gap).sum(axis=1)
        now = before + answers
        self.past[self.look] = now
        for start, stake in windows(self.look):
            # The first answer to a question without a baseline becomes its baseline.
            reference = self.past[start]
            parts = bets(reference, now - reference) + np.log(stake) + np.log(_KINDS)
            self.spent = np.logaddexp(self.spent, parts)
            top = float(np.logaddexp.reduce(parts))
            if top > self.best[0]:
                self.best = (top, start, self.look)
        kept = set(needed_from(self.look))
        self.past = {look: held for look, held in self.past.items() if look in kept}

    def state(self) -> dict[str, Any]:
        """Return the state as numbers, lists and dictionaries that JSON can store."""
        return {
            "look": self.look,
            "first": self.first.tolist(),
            "spent": [None if one == -np.inf else one for one in self.spent.tolist()],
            "best": [None if self.best[0] == -np.inf else self.best[0], *self.best[1:]],
            "past": {str(look): held.table.tolist() for look, held in self.past.items()},
        }

    @classmethod
    def of(cls, state: Any) -> "Evidence":
        """Restore the evidence from the data that `state` returned."""
        spent = [-np.inf if one is None else one for one in state["spent"]]
        top, start, end = state["best"]
        return cls(
            past={int(look): Counted(np.array(held)) for look, held in state["past"].items()},
            look=int(state["look"]),
            first=np.array(state["first"], dtype=np.float64),
            spent=np.array(spent, dtype=np.float64),
            best=(-np.inf if top is None else float(top), int(start), int(end)),
        )
