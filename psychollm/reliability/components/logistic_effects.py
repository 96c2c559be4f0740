r"""Accuracies, proportions of variance and reliability under a crossed logistic model.

Let S be an effect or a sum of effects, with variance :math:`\sigma_S^2`, and let :math:`\sigma^2`
be the variance of all effects. The contribution of S to the variance of the probability of a
correct answer is

.. math:: V(S) = \operatorname{Var}_{x \sim N(0, \sigma_S^2)} \operatorname{E}
          \operatorname{logit}^{-1}\bigl(\mu + x + N(0, \sigma^2 - \sigma_S^2)\bigr).     \quad (1)

The contribution of S requires two one-dimensional integrals. The variance of a single answer is
:math:`\bar p (1 - \bar p)`. The variance of a single answer consists of V(M) for models, V(Q) for
questions, V(all) - V(M) - V(Q) for their interaction, and the remainder for sampling error. The
proportions of variance sum to one and do not depend on the logistic scale.

In a test with D domains, Q questions and E answers to each question, the reliability of the mean
scores of models is

.. math:: E\rho^2 = \frac{V_M + V_{MD} / D}{V_M + V_{MD} / D
          + (V_{MQ} + V_\text{chance} / E) / Q}.                                         \quad (2)
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from psychollm._base.types import FloatArray
from psychollm.reliability.components.logistic_blocks import EFFECTS, Design, Mode
from psychollm.reliability.components.logistic_posterior import Explored

PARTS = (*EFFECTS, "answer")
RESIDUAL = "residual"
_NODE, _WEIGHT = np.polynomial.hermite_e.hermegauss(15)
_SHARE = _WEIGHT / _WEIGHT.sum()
_FARTHEST = 80.0  # largest absolute logit
_BLOCK = 16_384


def averaged(level: FloatArray, spread: FloatArray) -> FloatArray:
    """Return mean inverse logits of normal variables with means `level` and SDs `spread`."""
    shape = np.broadcast_shapes(level.shape, spread.shape)
    if not shape:
        return np.asarray(_SHARE @ expit(level + spread * _NODE))
    # All nodes share one exponential; the blocks fit into the processor's cache.
    odds = np.exp(np.clip(level, -_FARTHEST, _FARTHEST))
    spread = np.broadcast_to(np.minimum(spread, _FARTHEST), (shape[0], *spread.shape[1:]))
    out: FloatArray = np.zeros(shape)
    size = max(1, _BLOCK * shape[0] // max(out.size, 1))
    for start in range(0, shape[0], size):
        here = slice(start, start + size)
        wrong = np.zeros(out[here].shape)
        for node, share in zip(_NODE, _SHARE, strict=True):
            ahead = odds[here] * np.exp(spread[here] * node)
            ahead += 1.0
            wrong += np.divide(share, ahead, out=ahead)
        out[here] = 1.0 - wrong
    return out


@dataclass(frozen=True, slots=True)
class EffectDraws:
    """Draws of effects from their posterior, a mixture over draws of the standard deviations."""

    sd: FloatArray  # (draws, free)
    mean: FloatArray  # (draws,)
    levels: FloatArray  # (draws, domains, models)
    models: FloatArray  # (draws, models) over all domains
    families: FloatArray  # (draws, families)
    domains: FloatArray  # (draws, domains)

    @classmethod
    def of(
        cls, design: Design, explored: Explored, n: int, rng: np.random.Generator
    ) -> "EffectDraws":
        """Draw standard deviations and, given each draw, effects from normal distributions."""
        places = explored.draws(n, rng)
        centre = explored.modes[0][2]
        known = _functionals(design, centre, *normal_draws(centre, n, rng))
        middle, spread = known.mean(axis=0), known.std(axis=0)
        standard = (known - middle) / np.where(spread > 0.0, spread, 1.0)
        mean = explored.along(lambda mode: _means(design, mode), places)
        log_sd = explored.along(lambda mode: np.log(_spreads(design, mode)), places)
        values = mean + np.exp(log_sd) * standard
        n_domains, m = len(design.domains), design.n_models
        n_families = 0 if design.families is None else int(design.families.max()) + 1
        ends = np.cumsum([1, n_domains * m, m, n_families])
        first, levels, models, families, domains = np.split(values, ends, axis=1)
        return cls(
            explored.deviations(places), first[:, 0], levels.reshape(n, n_domains, m), models,
            families, domains,
        )  # fmt: skip


def normal_draws(mode: Mode, n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return draws of shared effects (n, columns) and of local effects (n, domains, columns)."""
    x = (
        rng.standard_normal((n, len(mode.shared_covariance)))
        @ np.linalg.cholesky(mode.shared_covariance).T
    )
    if not mode.R.shape[1]:
        return x, np.zeros((n, len(mode.levels), 0))
    own = np.linalg.cholesky(mode.local_covariance)
    z = rng.standard_normal((n, *mode.local_covariance.shape[:2])).transpose(1, 0, 2)
    z = (z @ own.transpose(0, 2, 1)).transpose(1, 0, 2)
    shift = mode.local_covariance @ mode.U
    return x, z - (x @ shift.reshape(-1, x.shape[1]).T).reshape(z.shape)


def _functionals(design: Design, mode: Mode, x: FloatArray, z: FloatArray) -> FloatArray:
    """Return mean, levels, models, families and domains for draws of the effects (n, all)."""
    n, m = len(x), design.n_models
    models = x @ mode.G.T
    levels = models[:, None, :] + z @ mode.R.T
    families = x[:, 1 + m :] * mode.sd.family
    domains = z[:, :, -1] * mode.sd.domain if z.shape[2] else np.zeros((n, 0))
    return np.concatenate([x[:, :1], levels.reshape(n, -1), models, families, domains], axis=1)


def _means(design: Design, mode: Mode) -> FloatArray:
    x = np.concatenate([[mode.state.mean], mode.state.s])[None]
    return np.asarray(_functionals(design, mode, x, mode.state.z[None])[0])


def _spreads(design: Design, mode: Mode) -> FloatArray:
    """Return the standard deviations of the quantities that `_functionals` returns."""
    m, cov = design.n_models, mode.shared_covariance
    shift = mode.local_covariance @ mode.U
    reach = mode.G - mode.R @ shift  # (domains, models, columns)
    levels = ((reach @ cov) * reach).sum(axis=2)
    levels = levels + ((mode.R @ mode.local_covariance) * mode.R).sum(axis=2)
    models = ((mode.G @ cov) * mode.G).sum(axis=1)
    families = np.diagonal(cov)[1 + m :] * mode.sd.family**2
    domains = np.zeros(0)
    if mode.R.shape[1]:
        last = shift[:, -1]
        own = mode.local_covariance[:, -1, -1] + np.einsum("di,ij,dj->d", last, cov, last)
        domains = own * mode.sd.domain**2
    parts = (cov[:1, 0], levels.ravel(), models, families, domains)
    return np.asarray(np.sqrt(np.maximum(np.concatenate(parts), 1e-16)), dtype=np.float64)


def generalised_draws(design: Design, draws: EffectDraws) -> FloatArray:
    """Return the accuracy of each model on new questions of the same domains (draws, models)."""
    every = _squares(design, draws.sd)
    spread = np.sqrt(every[:, 4] + every[:, 5])[:, None, None]
    sizes = np.array([len(one.hits) for one in design.domains], dtype=np.float64)
    by_domain = averaged(draws.levels, spread)
    return np.asarray(np.einsum("d,ndm->nm", sizes / sizes.sum(), by_domain))


def _squares(design: Design, free: FloatArray) -> FloatArray:
    every = np.zeros((len(free), len(EFFECTS)))
    every[:, list(design.active)] = free**2
    return every


def parts_of_variance(design: Design, mean: FloatArray, free: FloatArray) -> FloatArray:
    """Return the components (n, 7) of the variance of one answer, computed by equation (1)."""
    mean = np.clip(mean, -15.0, 15.0)  # beyond these logits, answers have almost no variance
    family, model, domain, between, question, cell = _squares(design, free).T
    total = family + model + domain + between + question + cell

    def moved(some: FloatArray) -> FloatArray:
        inner = averaged(
            mean[:, None] + np.sqrt(some)[:, None] * _NODE,
            np.sqrt(np.maximum(total - some, 0))[:, None],
        )
        centre = inner @ _SHARE
        return np.asarray((inner - centre[:, None]) ** 2 @ _SHARE)

    share = averaged(mean, np.sqrt(total))
    models, questions = moved(family + model), moved(domain + question)
    families, domains = moved(family), moved(domain)
    wholly = moved(total)
    crossed = np.zeros_like(share)
    if 2 in design.active:
        crossed = moved(family + model + domain + between) - models - domains
    parts = (
        families, models - families, domains, crossed, questions - domains,
        wholly - models - questions - crossed, share * (1.0 - share) - wholly,
    )  # fmt: skip
    return np.maximum(np.stack(parts, axis=1), 0.0)


def reliability_of(
    parts: FloatArray, n_domains: int, n_questions: float, n_answers: float
) -> FloatArray:
    """Return the reliability, equation (2), given parts of the variance (n, 7)."""
    true = parts[:, 0] + parts[:, 1] + parts[:, 3] / n_domains
    error = (parts[:, 5] + parts[:, 6] / n_answers) / n_questions
    return np.asarray(true / (true + error))
