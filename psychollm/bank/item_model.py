r"""What answers to some questions say about the others: a logistic model with few abilities.

A score y in [0, 1] of a model on question j has the mean

.. math:: p_j(\theta) = \frac{1}{1 + \exp(-b_j - a_j^T \theta)}, \qquad
          \theta \sim N(0, 1), \quad b_j \sim N(\mu, \tau_0^2), \quad
          a_{jk} \sim N(0, \tau_k^2),                                                     \quad (1)

whose populations are estimated with it. Scores between 0 and 1 enter the Bernoulli likelihood as
they are. Items and abilities are at the mode of their posteriors, each given the mean and the
covariance of the other; a prediction integrates over both by the probit approximation

.. math:: E[p] \approx \operatorname{expit}\big(\eta / \sqrt{1 + \pi v / 8}\big),         \quad (2)

where :math:`\eta` has the variance v.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from psychollm._base.types import FloatArray, IntArray
from psychollm.kernels.logistic_rows import mean_chances, newton_rows

_ROUNDS = 30
_ROUNDS_OF_MEANS = 3
_SETTLED = 0.01  # root mean square change of abilities, whose standard deviation is 1
_STEPS = 8  # of one model's abilities from the mean of the population
_LEAST_VARIANCE = 0.01  # of a population of items
_LARGEST_LEVERAGE = 0.9


@dataclass(frozen=True, slots=True)
class ItemModel:
    """Items of (1): intercept and slopes, and their posterior covariances."""

    items: FloatArray  # (J, 1 + K)
    covariance: FloatArray  # (J, 1 + K, 1 + K)

    @property
    def n_dimensions(self) -> int:
        """K of (1)."""
        return int(self.items.shape[1]) - 1

    def taken(self, which: IntArray) -> "ItemModel":
        """Return some of the items."""
        return ItemModel(self.items[which], self.covariance[which])

    @property
    def regressors(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Intercepts (J,), slopes (J, K) and their covariances: what abilities regress on."""
        slopes, covariance = self.items[:, 1:], self.covariance[:, 1:, 1:]
        return (
            self.items[:, 0].copy(),
            np.ascontiguousarray(slopes),
            np.ascontiguousarray(covariance),
        )

    def posterior(self, scores: FloatArray) -> "tuple[FloatArray, FloatArray]":
        """Return the abilities (K,) of one model given its scores (J,), and their covariance."""
        k = self.n_dimensions
        theta, spread = np.zeros((1, k)), np.zeros((1, k, k))
        asked = np.isfinite(scores)
        if k:
            newton_rows(
                np.ascontiguousarray(scores[asked])[None],
                self.taken(np.flatnonzero(asked)).regressors,
                _standard(k),
                _STEPS,
                theta,
                spread,
            )
        return theta[0], spread[0]

    def predicted(self, theta: FloatArray, spread: FloatArray) -> FloatArray:
        """Return (2) for every question (J,) at one place, or at one place each."""
        chance = np.empty(len(self.items))
        mean_chances(self.items, self.covariance, np.atleast_2d(theta), spread, chance)
        return chance

    def given(self, scores: FloatArray) -> FloatArray:
        """Return predictions (J,) from the scores of one model (J,), each without its own."""
        # A question's own score is taken out of the abilities by one Newton step.
        theta, spread = self.posterior(scores)
        if not self.n_dimensions:
            return self.predicted(theta, spread)
        slopes = self.items[:, 1:]
        p = expit(self.items[:, 0] + slopes @ theta)
        pulled = slopes @ spread
        leverage = np.minimum((pulled * slopes).sum(axis=1) * p * (1.0 - p), _LARGEST_LEVERAGE)
        residual = np.where(np.isfinite(scores), scores - p, 0.0) / (1.0 - leverage)
        return self.predicted(theta - pulled * residual[:, None], spread)


def item_model(
    scores: FloatArray, n_dimensions: int, start: FloatArray | None = None
) -> tuple[ItemModel, FloatArray]:
    """Fit (1) to scores (models, questions), NaN where missing; return it and abilities (n, K)."""
    n, j, k = *scores.shape, n_dimensions
    theta = _starting_abilities(scores, k) if start is None else start.copy()
    spread = np.zeros((n, k, k))
    rate = (np.nansum(scores, axis=0) + 0.5) / (np.isfinite(scores).sum(axis=0) + 1.0)
    items, covariance = np.zeros((j, 1 + k)), np.zeros((j, 1 + k, 1 + k))
    items[:, 0] = logit(rate)
    mean = np.append(items[:, 0].mean(), np.zeros(k))
    variance = np.append(max(items[:, 0].var(), _LEAST_VARIANCE), np.ones(k))
    by_item = np.ascontiguousarray(scores.T)
    for round_ in range(_ROUNDS):
        x, held = np.column_stack([np.ones(n), theta]), np.zeros((n, 1 + k, 1 + k))
        held[:, 1:, 1:] = spread
        steps = 3 if round_ == 0 else 1
        prior = np.stack([mean, 1.0 / variance])
        newton_rows(by_item, (np.zeros(n), x, held), prior, steps, items, covariance)
        own = covariance.diagonal(axis1=1, axis2=2).mean(axis=0)
        mean[0] = items[:, 0].mean()
        variance = np.maximum(((items - mean) ** 2).mean(axis=0) + own, _LEAST_VARIANCE)
        if not k:
            if round_ >= _ROUNDS_OF_MEANS:
                break
            continue
        before = theta.copy()
        regressors = ItemModel(items, covariance).regressors
        newton_rows(scores, regressors, _standard(k), 1, theta, spread)
        # Abilities keep the second moment of their population: the slopes take the rest.
        values, axes = np.linalg.eigh((spread + theta[:, :, None] * theta[:, None]).mean(axis=0))
        root, inverse = (axes * values**0.5) @ axes.T, (axes * values**-0.5) @ axes.T
        theta, spread = theta @ inverse, inverse @ spread @ inverse
        items[:, 1:] = items[:, 1:] @ root
        covariance[:, 1:] = root @ covariance[:, 1:]
        covariance[:, :, 1:] = covariance[:, :, 1:] @ root
        if np.sqrt(((theta - before) ** 2).mean()) < _SETTLED:
            break
    return ItemModel(items, covariance), theta


def _standard(k: int) -> FloatArray:
    """Return the means and precisions (2, K) of the population of abilities."""
    return np.stack([np.zeros(k), np.ones(k)])


def _starting_abilities(scores: FloatArray, k: int) -> FloatArray:
    """Return the first principal components of the models (n, k), of mean square one."""
    present = np.isfinite(scores)
    known = np.maximum(present.sum(axis=0), 1)
    residual = np.where(present, scores - np.nansum(scores, axis=0) / known, 0.0)
    _, axes = np.linalg.eigh(residual @ residual.T)
    return np.asarray(axes[:, ::-1][:, :k] * np.sqrt(len(scores)))
