r"""Estimate abilities, difficulties, slopes and residual dispersion by empirical Bayes.

Equation (1) is the expected value of the score of model m in benchmark b, between 0 and 1.

.. math:: p_{mb} = 1 / (1 + e^{-\eta_{mb}}), \qquad \eta_{mb} = \sum_k a_{bk} \theta_{mk} - d_b
          + \gamma (z_{mb} - \bar z_b).                                                  \quad (1)

The slope :math:`a_{b1}` on the general ability is positive, and further loadings have either sign.
The indicator z marks scores that are the best of several reports. Equation (2) is the variance of
the score.

.. math:: v_{mb} = (\phi_b + 1 / n_{mb}) \, p_{mb} (1 - p_{mb}).                         \quad (2)

Here, :math:`\phi_b` is the dispersion of benchmark b beyond the sampling of its n items. With
weights :math:`w = 1 / (\phi_b + 1 / n)`, the parameters maximise the sum of the quasi-likelihood
in equation (3) and the logarithm of normal priors.

.. math:: \sum_{mb} w_{mb} \big(y_{mb} \eta_{mb} - \log(1 + e^{\eta_{mb}})\big)          \quad (3)

Abilities have variance 1 around a linear trend in the release date. The priors of :math:`d_b`,
:math:`\log a_{b1}` and loadings are centred at their means over benchmarks. Variances, means and
dispersions are updated from the posterior by EM. The posterior is normal around the maximum
(Laplace), with the expected curvature of the quasi-likelihood, equation (3). The dispersion of a
benchmark is shrunk towards the dispersion of all benchmarks, which has the weight of `FEW` scores.

Given the parameters of benchmarks, models are independent. Eliminating the models' block of the
curvature (Schur) makes the cost of a step proportional to the number of models times the squared
number of benchmarks.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit, logit

from psychollm._base.convergence import Convergence
from psychollm._base.types import FloatArray
from psychollm.studies.stitching.tables import ScoreTable

FEW = 4.0  # weight of the common dispersion, as a number of scores
_LEAST = 1e-3  # lower bound of p (1 - p) in variances
_CURVED = 1e-6
_SCATTER = (2e-4, 0.5)  # bounds of dispersions
# prior number n and prior SD, with one row each for d, log a and loadings
_PRIOR = np.array([[2.0, 1.5], [4.0, 0.4], [2.0, 0.3]])
_MARKED = 0.5  # prior SD of the effect of best-of-several scores
_START = 0.15  # initial variance of new loadings
_EDGE = 0.02
_SHORTEST = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scale:
    """Fitted scale, in units of the abilities' SD around their linear trend in time."""

    abilities: FloatArray  # (models, K)
    curves: FloatArray  # (benchmarks, 1 + K) d, log a, further loadings
    scatter: FloatArray  # (benchmarks,) phi in (2)
    centre: FloatArray  # (1 + K,) prior means of the curves
    spread: FloatArray  # (1 + K,) prior variances of the curves
    line: FloatArray  # (2, K) mean ability at the middle date, and its increase per year
    middle: float  # date at which the line is centred
    marked: float  # gamma in (1)
    marked_se: float  # NaN if no benchmark has scores of both kinds
    convergence: Convergence

    @property
    def n_abilities(self) -> int:
        """Number of abilities per model."""
        return int(self.abilities.shape[1])

    def expected(self, year: float) -> FloatArray:
        """Return the mean abilities of models at a date (K,), or at the middle date for NaN."""
        since = year - self.middle
        return np.asarray(self.line[0] + self.line[1] * (since if np.isfinite(since) else 0.0))


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """Posterior covariances of a fitted scale."""

    abilities: FloatArray  # (models, K, K)
    curves: FloatArray  # (benchmarks * (1 + K), same)
    cross: FloatArray  # (models, K, benchmarks * (1 + K))

    def of(self, model: int) -> FloatArray:
        """Return the joint covariance of one model's abilities and all benchmark curves."""
        cross = self.cross[model]
        return np.block([[self.abilities[model], cross], [cross.T, self.curves]])


class _System:
    """Curvature at one point of the parameters, with the models' abilities eliminated."""

    def __init__(self, abilities: FloatArray, curves: FloatArray, weights: FloatArray,
                 spread: FloatArray) -> None:  # fmt: skip
        n, k = abilities.shape
        b, q = curves.shape
        self.loads = loadings(curves)
        self.of_curves = np.empty((n, b, q))  # derivatives of eta
        self.of_curves[:, :, 0] = -1.0
        self.of_curves[:, :, 1] = self.loads[:, 0] * abilities[:, :1]
        self.of_curves[:, :, 2:] = abilities[:, None, 1:]
        weighted = weights[:, :, None] * self.of_curves
        # (models, K, K): sum over benchmarks of products of loadings.
        products = (self.loads[:, :, None] * self.loads[:, None, :]).reshape(b, k * k)
        own = (weights @ products).reshape(n, k, k) + np.eye(k)
        both = np.swapaxes(self.loads[None, :, :, None] * weighted[:, :, None, :], 1, 2)
        self.root = np.linalg.cholesky(own)
        self.half = np.linalg.solve(self.root, both.reshape(n, k, b * q))
        flat = self.half.reshape(n * k, b * q)
        schur = -flat.T @ flat
        blocks = np.swapaxes(weighted, 0, 1).swapaxes(1, 2) @ np.swapaxes(self.of_curves, 0, 1)
        blocks += np.diag(1.0 / spread)
        at = np.arange(b * q).reshape(b, q)
        schur[at[:, :, None], at[:, None, :]] += blocks
        self.factor = cho_factor(schur, check_finite=False)
        self.shape = (n, k, b, q)

    def solve(self, models: FloatArray, curves: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the Newton step for a gradient of abilities and of curves."""
        n, k, b, q = self.shape
        half = np.linalg.solve(self.root, models[:, :, None])
        turned = curves.ravel() - self.half.reshape(n * k, -1).T @ half.ravel()
        step = cho_solve(self.factor, turned, check_finite=False)
        up = np.swapaxes(self.root, 1, 2)
        return np.linalg.solve(up, half - (self.half @ step)[:, :, None])[:, :, 0], step.reshape(
            b, q
        )

    def posterior(self) -> Posterior:
        """Return the inverse of the curvature, without the blocks between models."""
        n, k, b, q = self.shape
        curves = cho_solve(self.factor, np.eye(b * q), check_finite=False)
        up = np.swapaxes(self.root, 1, 2)
        ratio = np.linalg.solve(up, self.half)
        cross = -(ratio.reshape(n * k, -1) @ curves).reshape(n, k, b * q)
        own = np.linalg.solve(up, np.linalg.inv(self.root))
        return Posterior(own - cross @ np.swapaxes(ratio, 1, 2), curves, cross)

    def variance(self, found: Posterior) -> FloatArray:
        """Return the posterior variance of the linear predictor (models, benchmarks)."""
        n, k, b, q = self.shape
        at = np.arange(b * q).reshape(b, q)
        own = found.curves[at[:, :, None], at[:, None, :]]
        cross = found.cross.reshape(n, k, b, q)
        total = ((self.loads @ found.abilities) * self.loads).sum(axis=2)
        for i in range(q):
            for j in range(q):
                total += self.of_curves[:, :, i] * self.of_curves[:, :, j] * own[:, i, j]
            for j in range(k):
                total += 2.0 * self.loads[:, j] * self.of_curves[:, :, i] * cross[:, j, :, i]
        return np.asarray(np.maximum(total, 0.0))


def loadings(curves: FloatArray) -> FloatArray:
    """Return slopes and loadings (benchmarks, K)."""
    return np.column_stack([np.exp(curves[:, 1]), curves[:, 2:]])


def unit_variance(p: FloatArray) -> FloatArray:
    """Return the variance p (1 - p) of binary scores, bounded from below."""
    return np.asarray(np.maximum(p * (1.0 - p), _LEAST))


def posterior_of(scale: Scale, scores: ScoreTable) -> Posterior:
    """Return the posterior covariances of a fitted scale."""
    weights = scores.known / (scale.scatter + 1.0 / scores.items)
    p = expit(_eta(scale.abilities, scale.curves) + scale.marked * _deviations(scores))
    curved = weights * np.maximum(p * (1.0 - p), _CURVED)
    return _System(scale.abilities, scale.curves, curved, scale.spread).posterior()


def _eta(abilities: FloatArray, curves: FloatArray) -> FloatArray:
    return np.asarray(abilities @ loadings(curves).T - curves[:, 0])


def _deviations(scores: ScoreTable) -> FloatArray:
    """Return indicators of best-of-several scores, centred within each benchmark."""
    known, marks = scores.known, scores.optimized.astype(np.float64)
    mean = np.where(known, marks, 0.0).sum(axis=0) / known.sum(axis=0)
    return np.asarray(np.where(known, marks - mean, 0.0))


def _from_scratch(scores: ScoreTable, middle: float) -> Scale:
    """Return starting values from an additive fit on the logit scale."""
    known = scores.known.astype(np.float64)
    z = np.where(scores.known, logit(np.clip(np.nan_to_num(scores.value), _EDGE, 1 - _EDGE)), 0.0)
    ability, difficulty = np.zeros(len(z)), np.zeros(z.shape[1])
    for _ in range(30):
        difficulty = -((z - ability[:, None]) * known).sum(axis=0) / (known.sum(axis=0) + 0.3)
        ability = ((z + difficulty) * known).sum(axis=1) / (known.sum(axis=1) + 0.5)
    slope = max(float(ability.std()), 0.3)
    curves = np.column_stack(
        [difficulty - ability.mean(), np.full(len(difficulty), np.log(slope))]
    )
    return Scale(
        abilities=(ability - ability.mean())[:, None] / slope,
        curves=curves,
        scatter=np.full(len(difficulty), 0.1),
        centre=curves.mean(axis=0),
        spread=np.array([4.0, 0.25]),
        line=np.zeros((2, 1)),
        middle=middle,
        marked=0.0,
        marked_se=np.nan,
        convergence=Convergence(converged=False, iterations=0, reason="", objective=np.inf),
    )


def _with_another(scale: Scale, scores: ScoreTable) -> Scale:
    """Return starting values with one more ability: the residuals' first principal component."""
    p = expit(_eta(scale.abilities, scale.curves))
    residual = np.nan_to_num(scores.value - p) / np.sqrt(unit_variance(p) * scale.scatter)
    left, _, right = np.linalg.svd(np.where(scores.known, residual, 0.0), full_matrices=False)
    sign = -1.0 if right[0].sum() < 0.0 else 1.0
    ability = sign * left[:, :1] * np.sqrt(len(p))
    loading = sign * 0.3 * right[:1].T * np.sqrt(p.shape[1])
    return Scale(
        abilities=np.hstack([scale.abilities, ability]),
        curves=np.hstack([scale.curves, loading]),
        scatter=scale.scatter,
        centre=np.append(scale.centre, 0.0),
        spread=np.append(scale.spread, _START),
        line=np.hstack([scale.line, np.zeros((2, 1))]),
        middle=scale.middle,
        marked=scale.marked,
        marked_se=scale.marked_se,
        convergence=scale.convergence,
    )


def fit_scale(
    scores: ScoreTable, n_abilities: int = 1, *, tolerance: float = 3e-3, most: int = 400
) -> list[Scale]:
    """Return the scales fitted with one to `n_abilities` abilities.

    Parameters
    ----------
    scores : ScoreTable
        Scores to fit.
    n_abilities : int
        Maximum number of abilities.
    tolerance : float
        Tolerance of changes in variances, means and logarithms of dispersions.
    most : int
        Maximum number of EM iterations for each number of abilities.
    """
    years = scores.years
    middle = float(np.nanmean(years)) if np.isfinite(years).any() else np.nan
    scales = [_climb(_from_scratch(scores, middle), scores, tolerance, most)]
    for _ in range(n_abilities - 1):
        scales.append(_climb(_with_another(scales[-1], scores), scores, tolerance, most))
    return scales


def _climb(start: Scale, scores: ScoreTable, tolerance: float, most: int) -> Scale:
    fit, change, round_ = _Fit(start, scores), np.inf, 0
    for round_ in range(1, most + 1):
        before = fit.state
        fit.move(3 if round_ > 3 else 6)
        fit.vary()
        change = float(np.abs(fit.state - before).max())
        if change < tolerance:
            break
    return fit.scale(start.middle, converged=change < tolerance, steps=round_)


class _Fit:
    """State of the fit; EM alternates between abilities with curves, and variance parameters."""

    def __init__(self, start: Scale, scores: ScoreTable) -> None:
        self.known = scores.known
        self.y = np.where(self.known, scores.value, 0.0)
        self.counted = self.known.sum(axis=0).astype(np.float64)
        self.sampling, self.marks = 1.0 / scores.items, _deviations(scores)
        # On this scale, dispersions far below the sampling variance are negligible.
        self.base = self.sampling.min(axis=0) + 1e-3
        since = np.nan_to_num(scores.years - start.middle)
        self.times = np.column_stack([np.ones(len(self.y)), since])
        self.theta, self.curves, self.phi = start.abilities, start.curves, start.scatter
        self.centre, self.spread, self.line = start.centre, start.spread, start.line
        self.gamma, self.gamma_se, self.objective = start.marked, np.nan, np.inf

    @property
    def state(self) -> FloatArray:
        """Parameters whose change determines convergence."""
        parts = (np.log(self.phi + self.base), np.log(self.spread), self.centre, self.line)
        return np.concatenate([*(part.ravel() for part in parts), [self.gamma]])

    @property
    def weights(self) -> FloatArray:
        """Weights of equation (3)."""
        return np.asarray(self.known / (self.phi + self.sampling))

    def cost(self, theta: FloatArray, curves: FloatArray) -> float:
        """Return the negative sum of the quasi-likelihood of equation (3) and the log priors."""
        eta = _eta(theta, curves) + self.gamma * self.marks
        fit = (self.weights * (np.logaddexp(0.0, eta) - self.y * eta)).sum()
        off = ((theta - self.times @ self.line) ** 2).sum()
        return float(fit + 0.5 * (off + ((curves - self.centre) ** 2 / self.spread).sum()))

    def system(self) -> tuple[_System, FloatArray, FloatArray]:
        """Return the current curvature, expected scores and weights on the logit scale."""
        p = expit(_eta(self.theta, self.curves) + self.gamma * self.marks)
        curved = self.weights * np.maximum(p * (1.0 - p), _CURVED)
        return _System(self.theta, self.curves, curved, self.spread), p, curved

    def move(self, most: int) -> None:
        """Update abilities and curves by Newton steps."""
        self.objective = self.cost(self.theta, self.curves)
        for _ in range(most):
            system, p, _ = self.system()
            pull = self.weights * (self.y - p)
            models = pull @ system.loads - (self.theta - self.times @ self.line)
            curves = (pull[:, :, None] * system.of_curves).sum(axis=0)
            curves -= (self.curves - self.centre) / self.spread
            step_theta, step_curves = system.solve(models, curves)
            part, last = 1.0, self.objective
            while part > _SHORTEST:
                ahead = (self.theta + part * step_theta, self.curves + part * step_curves)
                tried = self.cost(*ahead)
                if tried <= last:
                    (self.theta, self.curves), self.objective = ahead, tried
                    break
                part /= 2.0
            if last - self.objective < _SHORTEST:
                break

    def vary(self) -> None:
        """Update dispersions, variances, means, the trend and the units from the posterior."""
        system, p, curved = self.system()
        found = system.posterior()
        if self.marks.any():
            pull = self.weights * (self.y - p)
            self.gamma, self.gamma_se = _marked_effect(
                system, curved, pull, self.marks, self.gamma
            )
        self.phi = self._scatter(p, system.variance(found))
        b, q = self.curves.shape
        self.centre = np.concatenate([self.curves[:, :2].mean(axis=0), np.zeros(q - 2)])
        within = np.diagonal(found.curves).reshape(b, q)
        square = ((self.curves - self.centre) ** 2 + within).sum(axis=0)
        few, sd = _PRIOR[[0, 1] + [2] * (q - 2)].T
        self.spread = (square + few * sd**2) / (b + few)
        self._rescale(np.diagonal(found.abilities, axis1=1, axis2=2))

    def _rescale(self, own: FloatArray) -> None:
        """Fit a linear trend in time; scale abilities to mean 0 and variance 1 around it."""
        times, theta = self.times, self.theta
        slope = np.zeros(theta.shape[1])
        if times[:, 1].any():
            gram = times.T @ times + np.diag([0.0, 1.0])
            slope[0] = np.linalg.solve(gram, times.T @ theta[:, 0])[1]
        middle = theta.mean(axis=0)
        line = np.stack([middle - slope * times[:, 1].mean(), slope])
        unit = np.sqrt(((theta - times @ line) ** 2 + own).mean(axis=0))
        curves = self.curves.copy()
        curves[:, 0] -= loadings(curves) @ middle
        curves[:, 1] += np.log(unit[0])
        curves[:, 2:] *= unit[1:]
        self.spread[2:] *= unit[1:] ** 2
        self.theta, self.curves = (theta - middle) / unit, curves
        self.line = np.stack([(line[0] - middle) / unit, line[1] / unit])
        self.centre[:2] = curves[:, :2].mean(axis=0)

    def _scatter(self, p: FloatArray, uncertain: FloatArray) -> FloatArray:
        """Return the dispersion of each benchmark, shrunk towards the common dispersion."""
        share = self.phi / (self.phi + self.sampling)
        curved = p * (1.0 - p)
        square = ((self.y - p) ** 2 + curved**2 * uncertain) / unit_variance(p)
        own = (self.known * (share**2 * square + self.phi * (1.0 - share))).sum(axis=0)
        weight = self.counted / (self.counted + FEW)
        shared = np.exp((weight * np.log(self.phi)).sum() / weight.sum())
        return np.asarray(np.clip((own + FEW * shared) / (self.counted + FEW), *_SCATTER))

    def scale(self, middle: float, *, converged: bool, steps: int) -> Scale:
        """Return the scale with the current parameters."""
        return Scale(
            abilities=self.theta,
            curves=self.curves,
            scatter=self.phi,
            centre=self.centre,
            spread=self.spread,
            line=self.line,
            middle=middle,
            marked=self.gamma,
            marked_se=self.gamma_se,
            convergence=Convergence.of_steps(
                converged=converged, steps=steps, objective=self.objective
            ),
        )


def _marked_effect(
    system: _System, curved: FloatArray, pull: FloatArray, marks: FloatArray, gamma: float
) -> tuple[float, float]:
    """Return gamma and its SE after a Newton step, with abilities and curves eliminated."""
    weighted = curved * marks
    models = weighted @ system.loads
    curves = (weighted[:, :, None] * system.of_curves).sum(axis=0)
    along = system.solve(models, curves)
    information = (weighted * marks).sum() - (models * along[0]).sum() - (curves * along[1]).sum()
    information = max(float(information), 0.0) + 1.0 / _MARKED**2
    step = (float((pull * marks).sum()) - gamma / _MARKED**2) / information
    return gamma + step, float(1.0 / np.sqrt(information))
