r"""Estimate horizons for a typical task by an item response model with task length.

Equation (1) is the probability that model m of ability :math:`\theta_m` solves task j of log
minutes :math:`x_j`.

.. math:: \operatorname{logit}^{-1}(\theta_m - \beta x_j + u_j), \qquad u_j \sim N(0, \sigma^2).
    \quad (1)

Here, :math:`u_j` is the residual ease of task j given its length, common to all models (De Boeck
and Wilson's explanatory model with an item residual). The horizon for a probability s is the
length at which a task with :math:`u = 0` is solved with this probability:
:math:`x_s = (\theta_m - \operatorname{logit} s) / \beta`. Abilities, slope and SD maximise the
marginal likelihood, by adaptive Gauss-Hermite quadrature. Abilities have Jeffreys' penalty, which
keeps abilities finite if a model has only successes or only failures.

The interval is a Fieller interval: it contains all x with
:math:`(\theta_m - \operatorname{logit} s - \beta x)^2` below a quantile times the variance of the
difference. The covariance of the estimates has two parts. One part of the covariance is due to the
sampling of answers given the tasks, and the other part to the sampling of the n tasks. Let
:math:`B_j` be the effect of a one-logit shift of task j on the estimates. The part due to the
sampling of tasks is :math:`\sigma^2 \sum_j B_j B_j'`. For families of tasks with a common shift of
variance :math:`\tau^2`, the term :math:`\tau^2 \sum_{j \neq k} B_j B_k'` is added. Because a line
was fitted to the tasks, the part due to the sampling of tasks is multiplied by n / (n - 2), and
has n - 2 degrees of freedom. Few families carry little information about :math:`\tau^2`. Intervals
therefore average over the proportion of the task variance that is due to families, weighted by the
restricted likelihood. A mean of several attempts counts conservatively as one answer.

References
----------
De Boeck, P., & Wilson, M. (Eds.). (2004). Explanatory item response models. Springer.
https://doi.org/10.1007/978-1-4757-3990-9

Fieller, E. C. (1954). Some problems in interval estimation. Journal of the Royal Statistical
Society B, 16, 175-185. https://doi.org/10.1111/j.2517-6161.1954.tb00159.x
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, logsumexp, stdtr

from psychollm._base.convergence import Convergence
from psychollm._base.types import BoolArray, FloatArray, IntArray

_NODES = 15
_POINTS, _WEIGHTS = np.polynomial.hermite_e.hermegauss(_NODES)
_LOG_WEIGHTS = np.log(_WEIGHTS / _WEIGHTS.sum()) + _POINTS**2 / 2.0
_ROUNDS, _SETTLED = 80, 1e-5
_FLAT = 1e-4  # slope of the likelihood if all answers are equal and no maximum exists
_FURTHEST = 40.0  # bound of a task's mode, in standard deviations
_BLOCK = 1_000_000  # maximum number of cells times nodes
_SHARES = np.linspace(0.025, 0.975, 20)  # proportions of the families in the variance of tasks
_ABILITY_SD = 6.0  # prior SD of abilities about their mean, in logits
_PRIOR_MEAN, _PRIOR_SD = np.log(2.0), 0.75  # prior mean and SD of the log SD of tasks, in logits


@dataclass(frozen=True, slots=True)
class Explained:
    """Fit of equation (1), and the components of its errors."""

    ability: FloatArray  # (models,)
    slope: float
    scatter: float
    # (models + 1, models + 1) covariance of abilities and slope, given the SD
    covariance: FloatArray
    by_scatter: FloatArray  # (models + 1,) effects of an error in the log SD of tasks
    shift: FloatArray  # (models + 1, tasks) effects of a one-logit shift of a task
    families: "Families | None"
    convergence: Convergence

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the estimated SD between tasks."""
        return float(self.shift.shape[1] - 2.0)

    def horizons(self, share: float, level: float) -> tuple[FloatArray, FloatArray]:
        """Return log horizons (models,) and their bounds (models, 2)."""
        n = len(self.ability)
        if not self.slope > 0.0:
            return np.full(n, np.nan), np.tile([-np.inf, np.inf], (n, 1))
        gap = self.ability - logit(share)
        value = gap / self.slope
        c = np.hstack([np.eye(n), -value[:, None]])
        tasks = self.scatter**2 * self.shift @ self.shift.T
        scale = (c @ self.by_scatter) ** 2
        answers = self.covariance - tasks
        tasks = tasks * self._inflation
        mixed, weights = answers + tasks, np.ones(1)
        part = _forms(c, tasks)[:, None]
        if self.families is not None:
            more, weights = self.families.products(self.shift), self.families.weights
            mixed = mixed + float(weights @ self.families.between) * more
            part = part + _forms(c, more)[:, None] * self.families.between
        whole = _forms(c, answers)[:, None] + scale[:, None] + part
        reach = _quantile(np.maximum(whole, 1e-12), np.maximum(part, 0.0), weights,
                          self.freedom, level)  # fmt: skip
        reach /= np.sqrt(_forms(c, mixed) + scale)
        return value, _fieller(gap, self.slope, mixed, scale, reach)

    def errors(self, share: float) -> FloatArray:
        """Return the covariance of log horizons due to the sampling of tasks (models, models)."""
        n = len(self.ability)
        if not self.slope > 0.0:
            return np.full((n, n), np.nan)
        c = np.zeros((n, n + 1))
        c[:, :-1], c[:, -1] = np.eye(n), -(self.ability - logit(share)) / self.slope
        moved = c @ self.shift / self.slope
        whole = self.scatter**2 * self._inflation * moved @ moved.T
        if self.families is not None:
            mean = float(self.families.weights @ self.families.between)
            whole = whole + mean * self.families.products(moved)
        return np.asarray(whole, dtype=np.float64)

    @property
    def _inflation(self) -> float:
        return float((self.freedom + 2.0) / self.freedom)


@dataclass(frozen=True, slots=True)
class Families:
    """Common shifts in the difficulty of the tasks of a family."""

    member: IntArray  # (tasks,)
    between: FloatArray  # (shares,) variances of the shifts
    weights: FloatArray  # (shares,) posterior weights of the variances, which sum to 1

    def products(self, rows: FloatArray) -> FloatArray:
        """Return sums of products over different tasks of a family (rows, rows)."""
        sums = np.zeros((int(self.member.max()) + 1, len(rows)))
        np.add.at(sums, self.member, rows.T)
        return np.asarray(sums.T @ sums - rows @ rows.T)


def explained(solved: FloatArray, x: FloatArray, families: IntArray | None) -> Explained:
    """Fit the model in equation (1) to `solved` (models, tasks), NaN if not attempted."""
    tried = np.isfinite(solved)
    y = np.where(tried, solved, 0.0)
    n = len(y)
    at = np.r_[1.5 * logit((y.sum(axis=1) + 0.5) / (tried.sum(axis=1) + 1.0)), 0.5, np.log(1.5)]
    now = _moments(y, tried, x, at, np.zeros(x.size))
    flat = _FLAT if np.unique(y[tried]).size < 2 else 0.0
    rounds, settled = 0, False
    while rounds < _ROUNDS and not settled:
        rounds += 1
        values, vectors = np.linalg.eigh(now.information)
        step = vectors @ ((vectors.T @ now.score) / np.maximum(np.abs(values), 1e-3))
        step *= min(1.0, 2.0 / max(np.abs(step).max(), 1e-300))
        for _ in range(15):
            new_at = at + step
            new = _moments(y, tried, x, new_at, now.centre)
            if new.height >= now.height - 1e-7:
                break
            step = step / 2.0
        settled = bool(np.abs(new_at - at).max() < _SETTLED or np.abs(new.score).max() < flat)
        at, now = new_at, new
    information = now.information
    own = np.asarray(np.linalg.inv(information[:-1, :-1]), dtype=np.float64)
    turn = own @ information[:-1, -1]
    left = float(information[-1, -1] - information[:-1, -1] @ turn)
    scatter = float(np.exp(at[-1]))
    return Explained(
        ability=at[:n],
        slope=float(at[n]),
        scatter=scatter,
        covariance=own,
        by_scatter=-turn / np.sqrt(left),
        shift=own @ now.shift,
        families=None if families is None else _families(now, x, families, scatter),
        convergence=Convergence.of_steps(converged=settled, steps=rounds, objective=now.height),
    )


@dataclass(frozen=True, slots=True)
class _Moments:
    """Marginal likelihood of equation (1), derivatives, and scores and information of tasks."""

    height: float
    score: FloatArray  # (models + 2,)
    # (models + 2, models + 2), the last row and column for the log SD of tasks
    information: FloatArray
    shift: FloatArray  # (models + 1, tasks) covariance of scores with the location of a task
    location: FloatArray  # (tasks,) score of a task's location
    known: FloatArray  # (tasks,) information on a task's location
    centre: FloatArray  # (tasks,) centre of the nodes


def _moments(
    y: FloatArray, tried: BoolArray, x: FloatArray, at: FloatArray, centre: FloatArray
) -> _Moments:
    n, size = y.shape
    height = 0.0
    score, information = np.zeros(n + 2), np.zeros((n + 2, n + 2))
    shift, location, places = np.empty((n + 1, size)), np.empty(size), np.empty(size)
    block = max(1, _BLOCK // (n * _NODES))
    for start in range(0, size, block):
        part = slice(start, start + block)
        own = _block(y[:, part], tried[:, part], x[part], at, centre[part])
        height += own.height
        score += own.score
        information += own.information
        shift[:, part], location[part], places[part] = own.shift, own.location, own.centre
    # The last coordinate is the log SD of tasks.
    scatter = np.exp(at[-1])
    information[-1] *= scatter
    information[:, -1] *= scatter
    score[-1] *= scatter
    information[-1, -1] -= score[-1]
    far = (at[-1] - _PRIOR_MEAN) / _PRIOR_SD**2
    height -= 0.5 * far**2 * _PRIOR_SD**2
    score[-1] -= far
    information[-1, -1] += 1.0 / _PRIOR_SD**2
    apart = at[:n] - at[:n].mean()
    height -= 0.5 * float(apart @ apart) / _ABILITY_SD**2
    score[:n] -= apart / _ABILITY_SD**2
    information[:n, :n] += (np.eye(n) - 1.0 / n) / _ABILITY_SD**2
    known = np.maximum(shift[:-1].sum(axis=0), 1e-9)
    return _Moments(height, score, information, shift, location, known, places)


def _block(
    y: FloatArray, tried: BoolArray, x: FloatArray, at: FloatArray, centre: FloatArray
) -> _Moments:
    """Return the contribution of some tasks, by quadrature about each task's mode."""
    n, size = y.shape
    scatter = np.exp(at[-1])
    base = at[:n, None] - at[n] * x
    # The derivative is a decreasing function of the centre, so Newton steps are bracketed.
    low, high = np.full(size, -_FURTHEST), np.full(size, _FURTHEST)
    for _ in range(60):
        p = expit(base + scatter * centre)
        slope = scatter * (tried * (y - p)).sum(axis=0) - centre
        curve = scatter**2 * (tried * p * (1.0 - p)).sum(axis=0) + 1.0
        low, high = np.where(slope > 0.0, centre, low), np.where(slope > 0.0, high, centre)
        new = centre + slope / curve
        new = np.where((new > low) & (new < high), new, (low + high) / 2.0)
        moved, centre = float(np.abs(new - centre).max()), new
        if moved < 1e-7:
            break
    wide = 1.0 / np.sqrt(curve)
    z = centre[:, None] + wide[:, None] * _POINTS  # (tasks, nodes)
    eta = base[:, :, None] + scatter * z
    p = expit(eta)
    fit = np.where(tried, y, 0.0)[:, :, None] * eta - tried[:, :, None] * np.logaddexp(0.0, eta)
    joint = fit.sum(axis=0) + _LOG_WEIGHTS - z**2 / 2.0 + np.log(wide)[:, None]
    log_marginal = logsumexp(joint, axis=1)
    posterior = np.exp(joint - log_marginal[:, None])
    residual = tried[:, :, None] * (y[:, :, None] - p)
    whole = residual.sum(axis=0)
    complete = np.concatenate([residual, -(x[:, None] * whole)[None], (z * whole)[None]])
    mean = np.einsum("pjk,jk->pj", complete, posterior)
    v = tried[:, :, None] * p * (1.0 - p)
    each = np.einsum("mjk,jk->mj", v, posterior)
    by_z = np.einsum("mjk,jk->mj", v * z, posterior)
    zz = float((v.sum(axis=0) * z * z * posterior).sum())
    information = np.zeros((n + 2, n + 2))
    information[np.arange(n), np.arange(n)] = each.sum(axis=1)
    information[:n, n] = information[n, :n] = -(each * x).sum(axis=1)
    information[:n, n + 1] = information[n + 1, :n] = by_z.sum(axis=1)
    information[n, n] = (each * x * x).sum()
    information[n, n + 1] = information[n + 1, n] = -(by_z * x).sum()
    information[n + 1, n + 1] = zz
    root = np.sqrt(posterior)
    spread = (complete - mean[:, :, None]) * root
    flat = spread.reshape(n + 2, -1)
    information -= flat @ flat.T
    location = mean[:n].sum(axis=0)
    shared = np.einsum("pjk,jk->pj", spread[: n + 1], (whole - location[:, None]) * root)
    shift = np.concatenate([each, (-x * each.sum(axis=0))[None]]) - shared
    return _Moments(
        height=float(log_marginal.sum()),
        score=mean.sum(axis=1),
        information=information,
        shift=shift,
        location=location,
        known=location,
        centre=centre,
    )


def _families(now: _Moments, x: FloatArray, member: IntArray, scatter: float) -> Families:
    """Return posterior weights of candidate proportions of task variance due to families."""
    n = x.size
    root = np.sqrt(now.known)
    rows = np.stack([root, -x * root, now.location / root])  # regression line and residuals
    height = np.empty(_SHARES.size)
    for place, share in enumerate(_SHARES):
        own = np.maximum(1.0 - share * scatter**2 * now.known, 0.02)
        common = np.sqrt(share) * scatter * root
        over = np.bincount(member, common**2 / own)
        sums = np.array([np.bincount(member, row * common / own) for row in rows])
        inner = (rows / own) @ rows.T - (sums / (1.0 + over)) @ sums.T
        line = inner[:2, :2]
        rest = float(inner[2, 2] - inner[2, :2] @ np.linalg.solve(line, inner[:2, 2]))
        height[place] = -0.5 * (
            np.log(own).sum()
            + np.log1p(over).sum()
            + np.linalg.slogdet(line)[1]
            + (n - 2.0) * np.log(max(rest, 1e-300))
        )
    weights = np.exp(height - logsumexp(height))
    return Families(member, _SHARES * scatter**2 * n / (n - 2.0), weights)


def _forms(c: FloatArray, matrix: FloatArray) -> FloatArray:
    """Return the quadratic form of each row of c (models, p)."""
    return np.asarray(((c @ matrix) * c).sum(axis=1), dtype=np.float64)


def _quantile(
    whole: FloatArray, part: FloatArray, weights: FloatArray, freedom: float, level: float
) -> FloatArray:
    """Return the margins (models,) that errors exceed with probability 1 - level."""
    # Errors have variance `whole` (models, shares). Its component `part` is estimated with
    # `freedom` degrees of freedom, so errors have a t distribution with `df` degrees of freedom.
    sd = np.sqrt(whole)
    df = np.minimum(freedom * (whole / np.maximum(part, 1e-12)) ** 2, 1e6)
    low, high = np.zeros(len(whole)), 1e3 * sd.max(axis=1)
    for _ in range(60):
        middle = (low + high) / 2.0
        outside = 2.0 * stdtr(df, -middle[:, None] / sd) @ weights
        low, high = np.where(outside > 1.0 - level, middle, low), np.where(
            outside > 1.0 - level, high, middle
        )  # fmt: skip
    return np.asarray(high, dtype=np.float64)


def _fieller(
    gap: FloatArray, slope: float, matrix: FloatArray, more: FloatArray, reach: FloatArray
) -> FloatArray:
    """Return bounds (models, 2) of the ratio gap / slope; infinite if the slope may be zero."""
    q = reach**2
    own = np.diag(matrix)[:-1] + more
    both, steep = matrix[:-1, -1], matrix[-1, -1]
    a2, a1, a0 = slope**2 - q * steep, slope * gap - q * both, gap**2 - q * own
    root = a1**2 - a2 * a0
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.sort((a1[:, None] + np.sqrt(root)[:, None] * [-1.0, 1.0]) / a2[:, None], axis=1)
    above = gap / slope >= ends[:, 1]
    bounds = np.where(
        (a2 > 0.0)[:, None],
        ends,
        np.where(
            above[:, None],
            np.stack([ends[:, 1], np.full(gap.size, np.inf)], axis=1),
            np.stack([np.full(gap.size, -np.inf), ends[:, 0]], axis=1),
        ),
    )
    return np.where(((a2 <= 0.0) & (root < 0.0))[:, None], [-np.inf, np.inf], bounds)
