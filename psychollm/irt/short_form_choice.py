r"""Methods of selecting items for a short form.

* *factor*: this method assumes a factor model with normal scores and at most 20 factors.
  The covariance of the items is :math:`LL^T + \Psi` (probabilistic principal components over
  models; Tipping & Bishop, 1999). The next item is the one that most reduces the posterior
  variance of the total,

  .. math:: \big(\ell_j^T P L^T 1\big)^2 / (\ell_j^T P \ell_j + \psi_j),                 \quad (1)

  where P is the posterior covariance of the factors given the items selected so far.
* *information*: the next item is the one that most lowers the mean posterior variance of ability.
  The mean posterior variance is :math:`E[1/(1 + I(z))]` for an ability z ~ N(0, 1).
* *error*: the next item is the one that most lowers the leave-one-out prediction error.
  A linear regression predicts a model's score on all items from its sum over the selected items.
* *stratified*: items are sorted by difficulty class and, within classes, by their first loading.
  The sorting direction alternates between classes. Every k-th of the sorted items is selected,
  beginning at a random item.
* *random*: items are drawn at random.

References
----------
Tipping, M. E., & Bishop, C. M. (1999). Probabilistic principal component analysis. Journal of the
Royal Statistical Society B, 61, 611-622. https://doi.org/10.1111/1467-9868.00196
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from psychollm._base.types import FloatArray, IntArray
from psychollm.irt.short_form_rules import Curves

Way = Literal["factor", "information", "error", "stratified", "random"]

MAX_FACTORS = 20
POINTS = np.linspace(-3.0, 3.0, 41)
LEAST_UNIQUENESS, LEAST_SHARE = 1e-3, 0.25  # terms of the lower bound of uniquenesses


@dataclass(frozen=True)
class Pool:
    """Candidate items with cached statistics of the models' answers."""

    scores: FloatArray  # (models, items) between 0 and 1

    @cached_property
    def curves(self) -> Curves:
        """Logistic curves of the items."""
        return Curves.of(self.scores)

    @cached_property
    def total(self) -> FloatArray:
        """Sum of all curves at each node."""
        return self.curves.total()

    @cached_property
    def factors(self) -> tuple[FloatArray, FloatArray]:
        """Loadings (items, factors) and uniquenesses (items,)."""
        n = self.scores.shape[0]
        centred = self.scores - self.scores.mean(axis=0)
        root, vectors = np.linalg.eigh(centred @ centred.T)
        root, vectors = np.maximum(root[::-1], 0.0), vectors[:, ::-1]
        n_factors = max(min(MAX_FACTORS, n // 2), 1)
        noise = root[n_factors : n - 1].sum() / max(n - 1 - n_factors, 1) / (n - 1)
        size = np.maximum(root[:n_factors] / (n - 1) - noise, 0.0)
        length = np.sqrt(np.maximum(root[:n_factors], 1e-12))
        loadings = centred.T @ (vectors[:, :n_factors] / length) * np.sqrt(size)
        variance = centred.var(axis=0, ddof=1)
        least = LEAST_SHARE * variance + LEAST_UNIQUENESS
        return loadings, np.maximum(variance - (loadings**2).sum(axis=1), least)


def choose(way: Way, pool: Pool, n_items: int, rng: np.random.Generator) -> IntArray:
    """Return the positions of the selected items, in order of selection for greedy methods."""
    return _WAYS[way](pool, n_items, rng)


def _by_factor(pool: Pool, n_items: int, rng: np.random.Generator) -> IntArray:
    loadings, uniqueness = pool.factors
    total, posterior = loadings.sum(axis=0), np.eye(loadings.shape[1])
    chosen: list[int] = []
    for _ in range(n_items):
        spread = loadings @ posterior
        gain = (spread @ total) ** 2 / ((spread * loadings).sum(axis=1) + uniqueness)
        gain[chosen] = -np.inf
        best = int(np.argmax(gain))
        chosen.append(best)
        own = spread[best]
        posterior = posterior - np.outer(own, own) / (loadings[best] @ own + uniqueness[best])
    return np.array(chosen)


def _by_information(pool: Pool, n_items: int, rng: np.random.Generator) -> IntArray:
    weights = np.exp(-0.5 * POINTS**2)
    table = pool.curves.information(POINTS)
    total = np.ones(POINTS.size)
    chosen: list[int] = []
    for _ in range(n_items):
        variance = (1.0 / (total + table)) @ weights
        variance[chosen] = np.inf
        chosen.append(int(np.argmin(variance)))
        total = total + table[chosen[-1]]
    return np.array(chosen)


def _by_error(pool: Pool, n_items: int, rng: np.random.Generator) -> IntArray:
    scores = pool.scores - pool.scores.mean(axis=0)
    full = scores.mean(axis=1)
    total = np.zeros(scores.shape[0])
    chosen: list[int] = []
    for _ in range(n_items):
        errors = _left_out_error(scores + total[:, None], full)
        errors[chosen] = np.inf
        chosen.append(int(np.argmin(errors)))
        total = total + scores[:, chosen[-1]]
    return np.array(chosen)


def _left_out_error(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return the mean squared leave-one-out error of regressing y on each column of x."""
    # y and x must be centred. The function overwrites x (models, items).
    length = np.sqrt(np.einsum("ij,ij->j", x, x))
    x *= np.divide(1.0, length, out=np.zeros_like(length), where=length > 0.0)
    residual = x * -(y @ x)
    residual += y[:, None]
    np.square(x, out=x)  # leverage, without the part due to the mean
    np.subtract(1.0 - 1.0 / y.size, x, out=x)
    residual /= np.maximum(x, 1e-12, out=x)
    return np.asarray(np.einsum("ij,ij->j", residual, residual) / y.size)


def _stratified(pool: Pool, n_items: int, rng: np.random.Generator) -> IntArray:
    rate, loading = pool.scores.mean(axis=0), pool.factors[0][:, 0]
    by_rate = np.lexsort((rng.random(rate.size), rate))
    classes = np.array_split(by_rate, max(int(np.sqrt(n_items)), 1))
    order = np.concatenate(
        [
            items[np.argsort(loading[items] if k % 2 else -loading[items])]
            for k, items in enumerate(classes)
        ]
    )
    every = rate.size / n_items
    place = np.floor((rng.random() + np.arange(n_items)) * every).astype(np.int64)
    return np.asarray(order[place])


def _at_random(pool: Pool, n_items: int, rng: np.random.Generator) -> IntArray:
    return rng.permutation(pool.scores.shape[1])[:n_items]


_WAYS: dict[Way, Callable[[Pool, int, np.random.Generator], IntArray]] = {
    "factor": _by_factor,
    "information": _by_information,
    "error": _by_error,
    "stratified": _stratified,
    "random": _at_random,
}
