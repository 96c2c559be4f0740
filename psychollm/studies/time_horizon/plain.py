r"""Estimate horizons over all tasks: a logistic regression on log minutes per model.

Equation (1) is the probability that a model solves a task of log minutes :math:`x`.

.. math:: P(x) = \operatorname{logit}^{-1}(a - b x).    \quad (1)

The horizon for a probability s is :math:`x_s = (a - \operatorname{logit} s) / b`. Variation in
difficulty between tasks of equal length makes the curve, equation (1), flatter. The coefficients
maximise the likelihood with Jeffreys' penalty. Penalised estimates are finite even if a model
solves all short tasks and no long tasks.

Intervals are profile likelihood intervals (Heinze and Schemper). An interval contains the horizons
of all (a, b), b > 0, whose penalised likelihood is within the chi-squared quantile of its maximum.
If the pairs (a, b) include a slope of zero, the interval is unbounded. Successes in tasks of one
family are correlated. Equation (2) estimates the correlation of successes from all models and all
pairs of tasks within families.

.. math:: \rho = \sum_{j \neq k} (y_j - P_j)(y_k - P_k) \big/
          \sum_{j \neq k} (P_j (1 - P_j) P_k (1 - P_k))^{1/2}    \quad (2)

The likelihood contour is stretched about its maximum so that its curvature matches the covariance
under the correlation in equation (2) (Chandler and Bate). Means of several attempts vary less than
single attempts, so their variance is also estimated from all models.

References
----------
Chandler, R. E., & Bate, S. (2007). Inference for clustered data using the independence
loglikelihood. Biometrika, 94, 167-183. https://doi.org/10.1093/biomet/asm015

Heinze, G., & Schemper, M. (2002). A solution to the problem of separation in logistic regression.
Statistics in Medicine, 21, 2409-2419. https://doi.org/10.1002/sim.1047
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri, expit, logit

from psychollm._base.types import BoolArray, FloatArray, IntArray

_ROUNDS, _SETTLED = 100, 1e-8
_DIRECTIONS = 90  # number of directions in which the contour is computed
_NEAR = 1e-4  # tolerance of twice the log-likelihood on the contour
_MOST = 0.95  # maximum correlation within families


@dataclass(frozen=True, slots=True)
class Plain:
    """Logistic regressions, equation (1), of success on log minutes, one per model."""

    level: FloatArray  # (models,) a of (1)
    slope: FloatArray  # (models,) b of (1)
    contour: FloatArray  # (models, directions, 2) a and b at the ends of the interval
    influence: FloatArray  # (models, 2, units) influence of tasks or families on a and b
    correlation: float  # correlation of tasks within families (2)

    def horizons(self, share: float) -> tuple[FloatArray, FloatArray]:
        """Return log horizons (models,), NaN for nondecreasing curves, and bounds (models, 2)."""
        odds = logit(share)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.where(self.slope > 0.0, (self.level - odds) / self.slope, np.nan)
        return value, self._bounds(odds)

    def _bounds(self, odds: float) -> FloatArray:
        a, b = self.contour[..., 0] - odds, self.contour[..., 1]
        falling = b > 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.where(falling, a / b, np.nan)
            # If the contour crosses a slope of zero, horizons are unbounded on one side or both.
            after = np.roll(np.arange(a.shape[1]), -1)
            crosses = falling != falling[:, after]
            part = b / (b - b[:, after])
            there = np.where(crosses, a + part * (a[:, after] - a), 0.0)
        none = ~falling.any(axis=1)
        low = np.where(falling, ends, np.inf).min(axis=1)
        high = np.where(falling, ends, -np.inf).max(axis=1)
        low = np.where(none | (there < 0.0).any(axis=1), -np.inf, low)
        high = np.where(none | (there > 0.0).any(axis=1), np.inf, high)
        return np.stack([low, high], axis=1)

    def errors(self, share: float) -> FloatArray:
        """Return contributions of tasks or families to errors of log horizons (models, units)."""
        value = self.horizons(share)[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(
                (self.influence[:, 0] - value[:, None] * self.influence[:, 1])
                / self.slope[:, None]
            )


def plain_logistic(
    solved: FloatArray, x: FloatArray, families: IntArray | None, level: float
) -> Plain:
    """Fit equation (1) to each row of `solved` (models, tasks), NaN if not attempted."""
    tried = np.isfinite(solved)
    y = np.where(tried, solved, 0.0)
    a, b = _fitted(y, tried, x)
    design = np.stack([np.ones_like(x), -x], axis=1)
    p = expit(a[:, None] - b[:, None] * x)
    v = tried * p * (1.0 - p)
    residual = tried * (y - p)
    covariance = np.linalg.inv(np.einsum("mn,ni,nj->mij", v, design, design))
    pieces = np.sqrt(v)[:, :, None] * design  # (models, tasks, 2)
    binary = bool((y[tried] == np.round(y[tried])).all())
    dispersion = 1.0 if binary else float((residual**2).sum() / max(v.sum(), 1e-12))
    meat = dispersion * np.einsum("mni,mnj->mij", pieces, pieces)
    units, rho = x.size, 0.0
    member = np.arange(x.size)
    if families is not None:
        member, units = families, int(families.max()) + 1
        rho = _within(residual, np.sqrt(v), families)
        sums = _family_sums(pieces, member, units)
        meat = (dispersion - rho) * meat / dispersion + rho * np.einsum("mgi,mgj->mij", sums, sums)
    robust = covariance @ meat @ covariance
    influence = np.einsum(
        "mij,mgj->mig", covariance, _family_sums(residual[:, :, None] * design, member, units)
    )
    contour = _contour(y, tried, x, a, b, covariance, float(chdtri(1.0, 1.0 - level)))
    root, plain = np.linalg.cholesky(robust), np.linalg.cholesky(covariance)
    stretch = root @ np.linalg.inv(plain)
    centre = np.stack([a, b], axis=1)[:, None]
    return Plain(
        level=a,
        slope=b,
        contour=centre + np.einsum("mij,mkj->mki", stretch, contour),
        influence=influence,
        correlation=rho,
    )


def _family_sums(values: FloatArray, member: IntArray, units: int) -> FloatArray:
    """Return values (models, tasks, 2) summed over the tasks of each family (models, units, 2)."""
    out = np.zeros((units, values.shape[0], 2))
    np.add.at(out, member, values.transpose(1, 0, 2))
    return np.ascontiguousarray(out.transpose(1, 0, 2))


def _within(residual: FloatArray, spread: FloatArray, families: IntArray) -> float:
    """Return the correlation between tasks of one family, by equation (2)."""
    units = int(families.max()) + 1

    def pairs(values: FloatArray) -> float:
        sums = _family_sums(values[:, :, None] * [1.0, 0.0], families, units)[:, :, 0]
        return float((sums**2).sum() - (values**2).sum())

    most = pairs(spread)
    return float(np.clip(pairs(residual) / most, 0.0, _MOST)) if most > 0.0 else 0.0


def _penalised(
    y: FloatArray, tried: BoolArray, x: FloatArray, a: FloatArray, b: FloatArray
) -> FloatArray:
    """Return penalised log-likelihoods (Jeffreys); a, b (...,) are paired with y (..., tasks)."""
    eta = a[..., None] - b[..., None] * x
    p = expit(eta)
    v = tried * p * (1.0 - p)
    fit = (tried * (y * eta - np.logaddexp(0.0, eta))).sum(axis=-1)
    information = v.sum(axis=-1) * (v * x * x).sum(axis=-1) - (v * x).sum(axis=-1) ** 2
    return np.asarray(fit + 0.5 * np.log(np.maximum(information, 1e-300)))


def _fitted(y: FloatArray, tried: BoolArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the coefficients a and b of each model, by Firth's modified scores."""
    design = np.stack([np.ones_like(x), -x], axis=1)
    at = np.tile([0.0, 0.1], (len(y), 1))
    height = _penalised(y, tried, x, *at.T)
    for _ in range(_ROUNDS):
        p = expit(at @ design.T)
        v = tried * p * (1.0 - p)
        inverse = np.linalg.inv(np.einsum("mn,ni,nj->mij", v, design, design))
        leverage = v * np.einsum("ni,mij,nj->mn", design, inverse, design)
        score = (tried * (y - p) + leverage * (0.5 - p)) @ design
        step = np.einsum("mij,mj->mi", inverse, score)
        part = np.ones((len(y), 1))
        for _ in range(20):
            new = _penalised(y, tried, x, *(at + part * step).T)
            worse = new < height - 1e-10
            if not worse.any():
                break
            part[worse] /= 2.0
        at, height = at + part * step, new
        if np.abs(part * step).max() < _SETTLED:
            break
    return at[:, 0], at[:, 1]


def _contour(
    y: FloatArray,
    tried: BoolArray,
    x: FloatArray,
    a: FloatArray,
    b: FloatArray,
    covariance: FloatArray,
    drop: float,
) -> FloatArray:
    """Return contours of the log-likelihood, `drop` / 2 below the maximum (models, points, 2)."""
    angle = np.linspace(0.0, 2.0 * np.pi, _DIRECTIONS, endpoint=False)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    out = np.empty((len(y), _DIRECTIONS, 2))
    for row in range(len(y)):
        mine = tried[row]
        own, there, at = y[row, mine], mine[mine], x[mine]
        ray = circle @ np.linalg.cholesky(covariance[row]).T
        top = float(_penalised(own, there, at, a[row], b[row]))
        low, high = np.zeros(_DIRECTIONS), np.full(_DIRECTIONS, np.inf)
        r = np.full(_DIRECTIONS, np.sqrt(drop))
        left = np.arange(_DIRECTIONS)
        for _ in range(60):
            place = r[left, None] * ray[left]
            height = _penalised(own, there, at, a[row] + place[:, 0], b[row] + place[:, 1])
            fell = 2.0 * (top - height)
            inside = fell < drop
            low[left], high[left] = np.where(inside, r[left], low[left]), np.where(
                inside, high[left], r[left]
            )  # fmt: skip
            # Steps assume a parabola and stay within the bracket.
            new = r[left] * np.clip(np.sqrt(drop / np.maximum(fell, 1e-9)), 0.3, 2.0)
            middle = np.where(np.isinf(high[left]), 2.0 * r[left], (low[left] + high[left]) / 2.0)
            fits = (new > low[left]) & (new < high[left])
            r[left] = np.where(fits, new, middle)
            left = left[np.abs(fell - drop) > _NEAR]
            if not left.size:
                break
        out[row] = r[:, None] * ray
    return out
