r"""Logistic item model with a small number of abilities, for predicting unobserved answers.

The score y of a model on question j, from 0 to 1, has the mean

.. math:: p_j(\theta) = \frac{1}{1 + \exp(-b_j - a_j^T \theta)}, \qquad
          \theta \sim N(0, 1), \quad (b_j, a_j) \sim N(\mu_d, T), \quad
          \mu_d \sim N(\mu, \operatorname{diag} \omega^2),                              \quad (1)

where d is the domain of the question. The population parameters are also estimated. Scores between
0 and 1 are used in the Bernoulli likelihood without change. Item parameters are posterior modes
given the mean and covariance of the abilities, and abilities are posterior modes given the mean
and covariance of the items. A prediction integrates over items and abilities by the probit
approximation

.. math:: E[p] \approx \operatorname{expit}\big(\eta / \sqrt{1 + \pi v / 8}\big),         \quad (2)

where :math:`\eta` has variance v.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import logit

from psychollm._base.types import FloatArray, IntArray
from psychollm.estimates.roots import symmetric_root
from psychollm.kernels.logistic_rows import mean_chances, newton_rows

_ROUNDS = 30
_ROUNDS_OF_MEANS = 3
_SETTLED = 0.01  # tolerance for the root mean square change of abilities, in SD
_STEPS = 8  # number of Newton steps for one model's abilities
_LEAST_VARIANCE = 0.01  # smallest variance of an item population in any direction


@dataclass(frozen=True, slots=True)
class ItemModel:
    """Intercepts and slopes of the items in equation (1), with posterior covariances."""

    items: FloatArray  # (J, 1 + K)
    covariance: FloatArray  # (J, 1 + K, 1 + K)

    @property
    def n_dimensions(self) -> int:
        """Number of abilities, K."""
        return int(self.items.shape[1]) - 1

    def taken(self, which: IntArray) -> "ItemModel":
        """Return the item model restricted to some items."""
        return ItemModel(self.items[which], self.covariance[which])

    @property
    def regressors(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Intercepts (J,), slopes (J, K) and their covariances, for estimating abilities."""
        slopes, covariance = self.items[:, 1:], self.covariance[:, 1:, 1:]
        return (
            self.items[:, 0].copy(),
            np.ascontiguousarray(slopes),
            np.ascontiguousarray(covariance),
        )

    def posterior(self, scores: FloatArray) -> "tuple[FloatArray, FloatArray]":
        """Return the abilities (K,) of one model and their covariance, from its scores (J,)."""
        k = self.n_dimensions
        theta, spread = np.zeros((1, k)), np.zeros((1, k, k))
        asked = np.isfinite(scores)
        if k:
            newton_rows(
                np.ascontiguousarray(scores[asked])[None],
                self.taken(np.flatnonzero(asked)).regressors,
                _standard(1, k),
                _STEPS,
                theta,
                spread,
            )
        return theta[0], spread[0]

    def predicted(
        self, theta: FloatArray, spread: FloatArray, scores: FloatArray | None = None
    ) -> FloatArray:
        """Return predictions of questions (J,), equation (2), without the model's own scores."""
        chance = np.empty(len(self.items))
        if scores is None:
            scores = np.full(len(self.items), np.nan)
        mean_chances(self.items, self.covariance, (theta, spread), scores, chance)
        return chance

    def given(self, scores: FloatArray) -> FloatArray:
        """Return the prediction of each score (J,) from one model's other scores."""
        return self.predicted(*self.posterior(scores), scores)


def item_model(
    scores: FloatArray, n_dimensions: int, domain: IntArray, start: FloatArray | None = None
) -> tuple[ItemModel, FloatArray]:
    """Fit equation (1) to scores (models, questions); return model and abilities (models, K).

    Missing scores are NaN. Domains (questions,) are numbered from 0. Initial abilities reduce the
    number of iterations.
    """
    n, j, k = *scores.shape, n_dimensions
    theta = _starting_abilities(scores, k) if start is None else start.copy()
    spread = np.zeros((n, k, k))
    rate = (np.nansum(scores, axis=0) + 0.5) / (np.isfinite(scores).sum(axis=0) + 1.0)
    items, covariance = np.zeros((j, 1 + k)), np.zeros((j, 1 + k, 1 + k))
    items[:, 0] = logit(rate)
    mean = np.tile(np.append(items[:, 0].mean(), np.zeros(k)), (j, 1))
    population = np.diag(np.append(items[:, 0].var(), np.ones(k)))
    by_item = np.ascontiguousarray(scores.T)
    for round_ in range(_ROUNDS):
        x, held = np.column_stack([np.ones(n), theta]), np.zeros((n, 1 + k, 1 + k))
        held[:, 1:, 1:] = spread
        # In each iteration, item parameters are standardised by the mean and covariance of their
        # population.
        root = symmetric_root(population, least=_LEAST_VARIANCE)
        inverse = symmetric_root(population, -0.5, _LEAST_VARIANCE)
        units = np.zeros(n), x @ root, root @ held @ root
        scaled, prior = items @ inverse, (mean @ inverse, np.ones(1 + k))
        newton_rows(by_item, units, prior, 3 if round_ == 0 else 1, scaled, covariance)
        items, covariance = scaled @ root, root @ covariance @ root
        mean = _expected_items(items, population.diagonal(), domain)
        population = (items - mean).T @ (items - mean) / j + covariance.mean(axis=0)
        if not k:
            if round_ >= _ROUNDS_OF_MEANS:
                break
            continue
        before = theta.copy()
        regressors = ItemModel(items, covariance).regressors
        newton_rows(scores, regressors, _standard(n, k), 1, theta, spread)
        # Abilities are rescaled to unit variance and slopes inversely, which does not change
        # predictions.
        turn = np.eye(1 + k)
        square = (spread + theta[:, :, None] * theta[:, None]).mean(axis=0)
        turn[1:, 1:], back = symmetric_root(square), symmetric_root(square, -0.5)
        theta, spread = theta @ back, back @ spread @ back
        items, mean = items @ turn, mean @ turn
        covariance, population = turn @ covariance @ turn, turn @ population @ turn
        if np.sqrt(((theta - before) ** 2).mean()) < _SETTLED:
            break
    return ItemModel(items, covariance), theta


def _standard(n: int, k: int) -> tuple[FloatArray, FloatArray]:
    """Return the population means (n, K) and precisions (K,) of abilities."""
    return np.zeros((n, k)), np.ones(k)


def _expected_items(items: FloatArray, variance: FloatArray, domain: IntArray) -> FloatArray:
    """Return the mean of each item's domain (J, 1 + K), shrunk towards the mean of all domains."""
    size = np.bincount(domain)[:, None]
    means = np.stack([np.bincount(domain, column) for column in items.T], axis=1) / size
    error = variance / size
    between = np.maximum(means.var(axis=0) - error.mean(axis=0), 0.0)
    share = between / np.maximum(between + error, 1e-300)  # avoid 0 / 0 if all items are equal
    return np.asarray((share * means + (1.0 - share) * items.mean(axis=0))[domain])


def _starting_abilities(scores: FloatArray, k: int) -> FloatArray:
    """Return the first principal components of the models, with mean square one (n, k)."""
    present = np.isfinite(scores)
    known = np.maximum(present.sum(axis=0), 1)
    residual = np.where(present, scores - np.nansum(scores, axis=0) / known, 0.0)
    _, axes = np.linalg.eigh(residual @ residual.T)
    return np.asarray(axes[:, ::-1][:, :k] * np.sqrt(len(scores)))
