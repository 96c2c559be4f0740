r"""Variation of strengths between prompts.

The fit averages over prompts, so its strengths describe the wins over all prompts. These strengths
are closer to zero than the strengths on a typical prompt. On each prompt, the strength of a model
deviates from its typical strength with standard deviation :math:`\sigma`. Let :math:`s_v` be the
score of vote v with respect to the strengths, and :math:`w_v` its information. For two votes v and
v' on the same prompt, equation (1) gives the expected product of their scores.

.. math:: E[s_v' s_{v'}] = \sigma_f^2 \operatorname{tr}(L_v L_{v'}).                      \quad (1)

Here, :math:`L_v` is :math:`w_v` times the Laplacian of the vote's pair, and :math:`\sigma_f` is on
the scale of the fit. The sum over all pairs of votes on the same prompt estimates
:math:`\sigma_f^2`. The estimate is multiplied by :math:`\max(0, 1 - s^2 / \sigma_f^4)`, with s its
standard error, so that noise is not mistaken for variation. Averaging a logistic curve over a
normal variable of variance :math:`2 \sigma^2` divides its slope by
:math:`a = \sqrt{1 + 2 c^2 \sigma^2}`, :math:`c = 16 \sqrt 3 / (15 \pi)` (Zeger, Liang and Albert,
1988). Therefore, :math:`\sigma = a \sigma_f`.

References
----------
.. [1] Zeger, S. L., Liang, K.-Y., & Albert, P. S. (1988). Models for longitudinal data: a
   generalized estimating equation approach. *Biometrics*, 44, 1049-1060.
   https://doi.org/10.2307/2531734
"""

from dataclasses import dataclass

import numpy as np

from psychollm._base.types import FloatArray, IntArray
from psychollm.studies.votes.fit import Fit
from psychollm.studies.votes.table import Votes

_LOGISTIC = (16.0 * np.sqrt(3.0) / (15.0 * np.pi)) ** 2  # c^2
_LARGEST = 0.5  # bound of 2 c^2 sigma_f^2; strengths grow at most by the root of 2
_FEWEST = 5  # smallest number of prompts


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptVariation:
    """Standard deviation of strengths between prompts, and strengths on a typical prompt."""

    sd: float | None  # SD of each model's strength between prompts, in logits; None if unknown
    scale: float = 1.0  # strengths on a typical prompt, relative to the fitted strengths
    scale_error: float = 0.0  # standard error of the logarithm of the scale


def prompt_variation(votes: Votes, fit: Fit) -> PromptVariation:
    """Estimate how much strengths vary between prompts."""
    if not votes.prompt.size or np.unique(votes.prompt).size < _FEWEST:
        return PromptVariation(sd=None)
    # The scores are means over the discrimination, so the information is computed at its mean.
    weight = fit.mean_discrimination(votes) ** 2 * fit.weight
    product, information = _products(votes, fit.scores[0], weight)
    total = information.sum()
    if total <= 0.0:
        return PromptVariation(sd=None)
    n = information.size
    variance = product.sum() / total
    error = np.sqrt(((product - variance * information) ** 2).sum() * n / (n - 1.0)) / total
    if variance <= error:
        return PromptVariation(sd=0.0)
    kept = 1.0 - (error / variance) ** 2
    loss = min(2.0 * _LOGISTIC * kept * variance, _LARGEST)
    scale = 1.0 / np.sqrt(1.0 - loss)
    return PromptVariation(
        sd=float(scale * np.sqrt(loss / (2.0 * _LOGISTIC))),
        scale=float(scale),
        scale_error=float(_LOGISTIC * error * scale**2),
    )


def _products(
    votes: Votes, score: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return both sides of equation (1), summed over pairs of votes on each prompt (prompts,)."""
    prompt = np.unique(votes.prompt, return_inverse=True)[1]
    k, count = votes.k, int(prompt.max()) + 1

    def squares(cell: IntArray, values: FloatArray) -> FloatArray:
        cells, place = np.unique(cell, return_inverse=True)
        sums = np.bincount(place, values)
        return np.asarray(np.bincount(cells % count, sums**2, minlength=count))

    def of(values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(prompt, values, minlength=count))

    ends = np.concatenate([votes.left, votes.right]) * count + np.tile(prompt, 2)
    low, high = np.minimum(votes.left, votes.right), np.maximum(votes.left, votes.right)
    pair = (low * k + high) * count + prompt
    product = squares(ends, np.concatenate([score, -score])) - 2.0 * of(score**2)
    information = squares(ends, np.tile(weight, 2)) + 2.0 * squares(pair, weight)
    information -= 4.0 * of(weight**2)
    # The fitted strengths depend on the votes, so each prompt's scores are reduced by its
    # contribution to the fit.
    share = of(weight) / max(weight.sum(), 1e-300)
    return product + 2.0 * share * of(weight), information * (1.0 - share)
