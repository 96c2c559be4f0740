r"""Likelihood of the answers to a question under each fault.

Model m knows the answer to question q with probability :math:`\sigma(\theta_q + a_m)`, and the
easiness :math:`\theta_q` is normal around the mean of its group. A model that does not know the
answer chooses a wrong option. Models share errors in two ways. First, :math:`\theta_q` is the same
for all models. Second, the probabilities of the wrong options have a symmetric Dirichlet prior
with a small parameter :math:`\alpha`, so that one wrong option usually dominates. With :math:`c_o`
models at option o, equation (1) is the likelihood of a sound question with key 0.

.. math::

   P(x \mid \text{sound}) = \int \prod_m \sigma(\theta + a_m)^{x_m}
       (1 - \sigma(\theta + a_m))^{1 - x_m} \, \phi(\theta) \, d\theta \cdot
       D_\alpha(c_1, \dots, c_{K-1}).                                                   \quad (1)

Here, :math:`D_\alpha` is the probability of a sequence with these counts under the Dirichlet
prior. Each fault modifies the likelihood in equation (1).

If the key is wrong (*wrong key*), each other option t is right with the same probability. If the
key and option t are right (*several right*), the probability of choosing t has a uniform prior. If
no option is right (*none right*), no model can know the answer, and all choices follow the
Dirichlet prior. If the question is *unclear*, the key is right, and the question is harder by
`UNCLEAR` logits.

The weight of ability in :math:`\theta_q + \lambda a_m` differs between questions (`SLOPES`), since
many sound questions do not discriminate.

With binary scores, the counts of the wrong options are unknown. If the key is wrong, model m is
scored as right with probability :math:`h (1 - \sigma(\theta + a_m))`. Here h is the proportion of
errors that fall on the key; its prior is the marginal beta distribution of the Dirichlet.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import betaincinv, expit, gammaln, logsumexp, xlogy

from psychollm._base.types import BoolArray, FloatArray, IntArray

FAULTS = ("wrong_key", "several", "none", "unclear")
THETA = np.linspace(-15.0, 15.0, 61)  # nodes of the easiness of a question, in logits
MEANS = np.linspace(-4.0, 10.0, 29)  # nodes of the mean easiness of a group
SLOPES = ((0.0, 0.1), (0.5, 0.2), (1.0, 0.4), (1.5, 0.3))  # weights of ability, and their priors
UNCLEAR = 2.0  # added difficulty of an unclear question, in logits
OPEN_ALPHA = 0.25  # Dirichlet parameter of wrong options, for binary scores
_SLIP = 0.005  # lower bound of the probabilities of a right and of a wrong answer
_NODES = 8  # number of nodes for the proportion of errors on one option


@dataclass(frozen=True, slots=True, kw_only=True)
class Picked:
    """Codes of the chosen options: 0 is the key, and other options follow by popularity."""

    place: IntArray  # (questions, models), -1 without an answer; 1 is wrong in a binary table
    n_options: int
    binary: bool
    weights: FloatArray  # (models,) below one if models of a family agree more often

    @classmethod
    def of(cls, codes: IntArray, key: IntArray, n_options: int, weights: FloatArray) -> "Picked":
        """Return the options ordered by popularity, with the key first."""
        counts = np.stack([(codes == o).sum(axis=1) for o in range(n_options)], axis=1)
        counts[np.arange(len(key)), key] = codes.shape[1] + 1
        rank = np.argsort(np.argsort(-counts, axis=1, kind="stable"), axis=1)
        place = np.take_along_axis(rank, np.maximum(codes, 0), axis=1)
        place = np.where(codes < 0, -1, place)
        return cls(place=place, n_options=n_options, binary=False, weights=weights)

    @property
    def counts(self) -> FloatArray:
        """Summed weight of the models that chose each option (questions, options)."""
        n = 2 if self.binary else self.n_options
        return np.stack([(self.place == o) @ self.weights for o in range(n)], axis=1)

    def abilities(self, spread: float) -> FloatArray:
        """Return the ability of each model, on the logit scale of a single question (models,)."""
        seen, right = (self.place >= 0).sum(axis=0), (self.place == 0).sum(axis=0)
        logit = np.log((right + 0.5) / (seen - right + 0.5))
        # The logistic curve averaged over normally distributed easiness is flatter than the curve
        # of one question.
        return np.asarray((logit - logit.mean()) * np.sqrt(1.0 + spread**2 / 2.89))


def likelihoods(picked: Picked, spread: float, alpha: float) -> FloatArray:
    """Return log-likelihoods of no fault and of each fault (means, questions, 5)."""
    sound, harder = _known(picked.place == 0, picked, spread, (0.0, UNCLEAR))
    if picked.binary:
        several, unclear = sound, harder
        wrong, none = _key_by_luck(picked, spread, alpha), _all_by_luck(picked, alpha)
    else:
        counts = picked.counts
        own = dirichlet(counts[:, 1:], alpha)
        sound, unclear, none = sound + own, harder + own, dirichlet(counts, alpha)
        wrong, several = _another_right(picked, spread, alpha)
    none = np.broadcast_to(none, sound.shape)
    return np.stack([sound, wrong, several, none, unclear], axis=2)


def concentration(picked: Picked) -> float:
    """Return the Dirichlet parameter of wrong options, by maximum likelihood.

    The distribution of errors over options does not depend on the number of errors. This
    distribution can therefore be estimated from questions whose key is the most popular option.
    Among questions whose key is the most popular option, wrong keys are rare.
    """
    if picked.binary or picked.n_options < 3:
        return OPEN_ALPHA
    counts = picked.counts
    errors = counts[counts[:, 0] >= counts[:, 1:].max(axis=1), 1:]
    errors = errors[errors.sum(axis=1) > 1.0]
    if not len(errors):
        return OPEN_ALPHA
    found = minimize_scalar(
        lambda x: -float(dirichlet(errors, float(np.exp(x))).sum()), bounds=(-3.0, 2.0)
    )
    return float(np.exp(found.x))


def dirichlet(counts: FloatArray, alpha: float) -> FloatArray:
    """Return the log probability of a sequence with the given counts (questions,)."""
    k = counts.shape[1]
    each = gammaln(counts + alpha) - gammaln(alpha)
    total = gammaln(k * alpha) - gammaln(counts.sum(axis=1) + k * alpha)
    return np.asarray(total + each.sum(axis=1))


def _chance(picked: Picked, spread: float, slope: float) -> FloatArray:
    """Return the probability of knowing the answer at each easiness (models, nodes)."""
    logit = THETA[None] + slope * picked.abilities(spread)[:, None]
    return np.asarray(_SLIP + (1.0 - 2.0 * _SLIP) * expit(logit))


def _known(
    right: BoolArray, picked: Picked, spread: float, harder: tuple[float, ...] = (0.0,)
) -> list[FloatArray]:
    """Return, for each shift of difficulty, the log-likelihood of scores (means, questions)."""
    wrong = (picked.place >= 0) & ~right
    logs: list[list[FloatArray]] = [[] for _ in harder]
    for slope, share in SLOPES:
        chance, weight = _chance(picked, spread, slope), picked.weights[:, None]
        curve = right @ (weight * np.log(chance)) + wrong @ (weight * np.log1p(-chance))
        for own, shift in zip(logs, harder, strict=True):
            own.append(_over_ease(curve, MEANS - shift, spread) + np.log(share))
    return [np.asarray(logsumexp(np.stack(own), axis=0)) for own in logs]


def _over_ease(curve: FloatArray, means: FloatArray, spread: float) -> FloatArray:
    """Integrate the likelihood over normal easiness with each mean (means, questions)."""
    prior = np.exp(-0.5 * ((THETA[None] - means[:, None]) / spread) ** 2)
    prior /= prior.sum(axis=1, keepdims=True)
    top = curve.max(axis=1, keepdims=True)
    mass = np.maximum(np.exp(curve - top) @ prior.T, 1e-300)
    return np.asarray((np.log(mass) + top).T)


def _another_right(picked: Picked, spread: float, alpha: float) -> tuple[FloatArray, FloatArray]:
    """Return log-likelihoods of a wrong key and of two right options.

    Both likelihoods are averaged over the options that may be right; the returned arrays have
    shape (means, questions).
    """
    counts, key = picked.counts, picked.place == 0
    n = picked.n_options - 1
    last = min(int(picked.place.max(initial=0)) + 1, n)  # unchosen options are exchangeable
    alone, beside, times = [], [], np.ones(last)
    times[-1] = n - last + 1
    for t in range(1, last + 1):
        other = picked.place == t
        alone.append(
            _known(other, picked, spread)[0] + dirichlet(np.delete(counts, t, axis=1), alpha)
        )
        rest = np.delete(counts, [0, t], axis=1)
        beside.append(
            _known(key | other, picked, spread)[0]
            + dirichlet(counts[:, [0, t]], 1.0)
            + (dirichlet(rest, alpha) if n > 1 else 0.0)
        )
    weight = times[:, None, None] / n
    one, both = (logsumexp(np.stack(logs), axis=0, b=weight) for logs in (alone, beside))
    return np.asarray(one), np.asarray(both)


def _luck(alpha: float, others: float) -> FloatArray:
    """Return equally weighted quantiles of the proportion of errors that fall on one option."""
    quantiles = (np.arange(_NODES) + 0.5) / _NODES
    shares = betaincinv(alpha, max(others, 0.01) * alpha, quantiles)
    return np.asarray(np.clip(shares, 1e-4, 1.0 - 1e-4))


def _key_by_luck(picked: Picked, spread: float, alpha: float) -> FloatArray:
    """Return the log-likelihood of binary scores if the key is wrong (means, questions)."""
    right, wrong = picked.place == 0, picked.place == 1
    weight, logs = picked.weights[:, None], []
    shares, times = np.unique(_luck(alpha, picked.n_options - 2), return_counts=True)
    for slope, often in SLOPES:
        fails = 1.0 - _chance(picked, spread, slope)
        for share, n in zip(shares, times, strict=True):
            chance = share * fails
            curve = right @ (weight * np.log(chance)) + wrong @ (weight * np.log1p(-chance))
            logs.append(_over_ease(curve, MEANS, spread) + np.log(often * n / _NODES))
    return np.asarray(logsumexp(np.stack(logs), axis=0))


def _all_by_luck(picked: Picked, alpha: float) -> FloatArray:
    """Return the log-likelihood of binary scores if no option is right (questions,)."""
    up, down = picked.counts.T
    logs = [xlogy(up, h) + xlogy(down, 1.0 - h) for h in _luck(alpha, picked.n_options - 1)]
    return np.asarray(logsumexp(np.stack(logs), axis=0) - np.log(_NODES))
