r"""Prediction of the full score from a few items by a regression line, item curves, or both.

With many items, the standardised logit of a model's full score measures the model's ability z
almost exactly. Each item has a logistic curve,

.. math:: P_j(z) = 1 / (1 + \exp(-d_j - a_j z)),                                        \quad (1)

with normal priors of slopes and intercepts. The means and variances of the normal priors are
estimated jointly with the items, by a few EM steps with normal posteriors. Scores between 0 and 1
are treated as fractional answers. For a new model the prior of z is N(0, 1). The model's scores on
the other items are predicted from the posterior of z given its answers to the selected items.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import expit, logit

from psychollm._base.types import FloatArray, IntArray

Rule = Literal["line", "curves", "both"]
# weight of the curves in the prediction
SHARES: dict[Rule, float] = {"line": 0.0, "both": 0.5, "curves": 1.0}

NODES = np.linspace(-6.0, 6.0, 601)
ROUNDS, STEPS, PRECISION = 3, 25, 1e-4
LEAST_SLOPE_VARIANCE, LEAST_INTERCEPT_VARIANCE = 1e-3, 0.05
AT_ONCE = 2000  # items per block


@dataclass(frozen=True, slots=True)
class Curves:
    """Slopes and intercepts (items,) of the item curves in equation (1)."""

    slope: FloatArray
    intercept: FloatArray

    @classmethod
    def of(cls, scores: FloatArray) -> "Curves":
        """Fit the curves to scores between 0 and 1 (models, items)."""
        n, n_items = scores.shape
        raw = logit((scores.sum(axis=1) + 0.5) / (n_items + 1.0))
        spread = max(float(raw.std()), 1e-6)
        z = (raw - raw.mean()) / spread
        d = logit((scores.sum(axis=0) + 0.5) / (n + 1.0))
        a = np.full(n_items, spread)
        prior = ((spread, 0.5 * spread**2 + 0.05), (d.mean(), max(d.var(), 0.5)))
        for _ in range(ROUNDS):
            a, d, of_a, of_d = _climb(scores, z, a, d, prior)
            prior = (
                (a.mean(), max(float(((a - a.mean()) ** 2 + of_a).mean()), LEAST_SLOPE_VARIANCE)),
                (
                    d.mean(),
                    max(float(((d - d.mean()) ** 2 + of_d).mean()), LEAST_INTERCEPT_VARIANCE),
                ),
            )
        return cls(a, d)

    def select(self, items: IntArray) -> "Curves":
        """Return the curves of some items."""
        return Curves(self.slope[items], self.intercept[items])

    def heights(self, nodes: FloatArray) -> FloatArray:
        """Return the logits of the item curves of equation (1), shape (items, nodes)."""
        return np.asarray(self.intercept[:, None] + self.slope[:, None] * nodes)

    def total(self) -> FloatArray:
        """Return the expected sum score of the items at each ability in `NODES`."""
        parts = np.array_split(np.arange(self.slope.size), 1 + self.slope.size // AT_ONCE)
        return np.asarray(
            sum(expit(self.select(part).heights(NODES)).sum(axis=0) for part in parts)
        )

    def information(self, nodes: FloatArray) -> FloatArray:
        """Return the information about z (items, nodes)."""
        chance = expit(self.heights(nodes))
        return np.asarray(self.slope[:, None] ** 2 * chance * (1.0 - chance))


# (mean, variance) of slopes and of intercepts
_Prior = tuple[tuple[float, float], tuple[float, float]]


def _climb(
    scores: FloatArray, z: FloatArray, a: FloatArray, d: FloatArray, prior: _Prior
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return posterior modes of slopes and intercepts, and their variances."""
    (mean_a, var_a), (mean_d, var_d) = prior
    square = z**2
    for _ in range(STEPS):
        chance = expit(d + z[:, None] * a)
        weight, residual = chance * (1.0 - chance), scores - chance
        by_d = residual.sum(axis=0) - (d - mean_d) / var_d
        by_a = z @ residual - (a - mean_a) / var_a
        dd, da, aa = weight.sum(axis=0) + 1.0 / var_d, z @ weight, square @ weight + 1.0 / var_a
        room = dd * aa - da**2
        step_d, step_a = (aa * by_d - da * by_a) / room, (dd * by_a - da * by_d) / room
        d, a = d + np.clip(step_d, -1.0, 1.0), a + np.clip(step_a, -1.0, 1.0)
        if max(np.abs(step_d).max(), np.abs(step_a).max()) < PRECISION:
            break
    return a, d, dd / room, aa / room


@dataclass(frozen=True, slots=True)
class Predictor:
    """Prediction of the score on all items from answers to the selected items."""

    n_items: int  # number of all items
    line: FloatArray  # (2,) regression line for the mean of the other items
    slope: FloatArray  # (chosen,) slopes of (1)
    intercept: FloatArray  # (chosen,)
    rest: FloatArray  # (nodes,) expected mean of the other items
    share: float  # weight of the curves in the prediction

    @classmethod
    def fit(
        cls, scores: FloatArray, chosen: IntArray, curves: Curves, total: FloatArray, rule: Rule
    ) -> "Predictor":
        """Fit a prediction rule to scores (models, items) and to item curves with sum `total`."""
        n_rest = max(scores.shape[1] - chosen.size, 1)
        x = scores[:, chosen].mean(axis=1)
        y = (scores.sum(axis=1) - scores[:, chosen].sum(axis=1)) / n_rest
        centred = x - x.mean()
        square = float(centred @ centred)
        slope = float(centred @ y) / square if square > 0.0 else 0.0
        own = curves.select(chosen)
        return cls(
            scores.shape[1],
            np.array([y.mean() - slope * x.mean(), slope]),
            own.slope,
            own.intercept,
            (total - own.total()) / n_rest,
            SHARES[rule],
        )

    def __call__(self, answers: FloatArray) -> FloatArray:
        """Return the predicted score of each model from its answers (models, chosen)."""
        known = answers.sum(axis=1)
        n_rest = self.n_items - answers.shape[1]
        straight = self.line[0] + self.line[1] * answers.mean(axis=1)
        rest = (1.0 - self.share) * straight + self.share * self._expected(answers)
        return np.asarray((known + n_rest * np.clip(rest, 0.0, 1.0)) / self.n_items)

    def _expected(self, answers: FloatArray) -> FloatArray:
        height = Curves(self.slope, self.intercept).heights(NODES)
        # log P(yes) = height + log P(no)
        logs = answers @ height - np.logaddexp(0.0, height).sum(axis=0) - 0.5 * NODES**2
        weight = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(weight @ self.rest / weight.sum(axis=1))
