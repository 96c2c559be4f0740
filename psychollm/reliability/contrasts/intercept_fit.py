r"""The fit of `random_intercept`: condition means, degrees of freedom, and draws of everything.

With C the covariance of the condition means, a contrast :math:`l^\top \hat\beta` has
Satterthwaite's degrees of freedom

.. math:: \nu = \frac{2 (l^\top C l)^2}{g^\top A\, g}, \qquad
          g = \nabla_{(\tau^2, \sigma^2)}\, l^\top C l,                                  \quad (1)

A being the inverse of the observed information about the two variances (their covariance). Where
:math:`\tau^2` is estimated as zero, C rests on the variance within groups alone, r over its
degrees of freedom, and these are :math:`\nu`: pooling it with the variance between groups just
where that came out smaller raised false alarms at 5 % to 6 or 7 %. In a complete table with one
score in each cell the tests are then those of the analysis of variance, zero or not. That all k
conditions have one mean is tested by

.. math:: F = \frac{(L \hat\beta)^\top (L C L^\top)^{-1} L \hat\beta}{k - 1},             \quad (2)

with the denominator of Fai and Cornelius, and by a parametric bootstrap: data are drawn from the
model without conditions and F is computed anew, which needs no degrees of freedom at all.

The statistics of `random_intercept` have :math:`r / \sigma^2 \sim \chi^2_\nu` and
:math:`\sum_j \eta_j^2 / (\sigma^2 + \tau^2 d_j) \sim \chi^2_J`. Drawing both right-hand sides and
solving for the variances gives pivotal draws of these.

References
----------
Fai, A. H.-T., & Cornelius, P. L. (1996). Approximate F-tests of multiple degree of freedom
hypotheses in generalized least squares analyses of unbalanced split-plot experiments. Journal of
Statistical Computation and Simulation, 54, 363-378.

Kuznetsova, A., Brockhoff, P. B., & Christensen, R. H. B. (2017). lmerTest package: tests in linear
mixed effects models. Journal of Statistical Software, 82(13). https://doi.org/10.18637/jss.v082.i13
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc

from psychollm._base.types import FloatArray, WordArray
from psychollm.estimates.resampling import Resampling
from psychollm.reliability.contrasts.random_intercept import InterceptDesign, Reduced

_HALVINGS = 50


@dataclass(frozen=True, slots=True)
class InterceptFit:
    """The fit of one data set."""

    data: Reduced
    ratio: float
    residual: float  # sigma squared
    error: float  # what tests take it for: not pooled where the ratio is zero
    means: FloatArray  # (conditions,)
    covariance: FloatArray  # (conditions, conditions)

    @classmethod
    def of(cls, data: Reduced) -> "InterceptFit":
        """Fit the first data set."""
        ratio = data.ratio()
        residual = data.residual_square(ratio) / (data.design.n - data.design.n_conditions)
        error = _error(data, ratio)
        means, covariance = data.means(ratio)
        return cls(
            data=data,
            ratio=float(ratio[0]),
            residual=float(residual[0]),
            error=float(error[0]),
            means=means[0],
            covariance=error[0] * covariance[0],
        )

    @property
    def between(self) -> float:
        """Variance between models."""
        return self.ratio * self.residual

    def freedom(self, contrasts: FloatArray) -> FloatArray:
        """Return Satterthwaite's degrees of freedom (1) of contrasts (contrasts, conditions)."""
        if self.ratio == 0.0:
            return np.full(len(contrasts), float(self.data.design.freedom))
        by_between, by_residual = self._derivatives()
        variance, *slopes = (
            np.einsum("lp,pq,lq->l", contrasts, matrix, contrasts)
            for matrix in (self.covariance, by_between, by_residual)
        )
        slope = np.stack(slopes, axis=1)
        spread = np.einsum("la,ab,lb->l", slope, self._variance_covariance(), slope)
        return np.asarray(2.0 * variance**2 / spread)

    def _derivatives(self) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of the covariance of means by tau^2 and by sigma^2."""
        table = self.data.design.table
        size, tau, sigma = table.sum(axis=1), self.between, self.residual
        weight = 1.0 / (sigma + tau * size)
        inner = (2.0 * tau * weight - tau**2 * size * weight**2)[:, None] * table
        by_between = table.T @ (weight[:, None] ** 2 * table)
        by_residual = (np.diag(table.sum(axis=0)) - table.T @ inner) / sigma**2
        c = self.covariance
        return c @ by_between @ c, c @ by_residual @ c

    def _variance_covariance(self) -> FloatArray:
        """Return A of (1)."""
        design = self.data.design
        expected = self.residual + self.between * design.d
        curvature = 2.0 * self.data.eta[0] / expected**3 - 1.0 / expected**2
        cross = (curvature * design.d).sum()
        within = 2.0 * self.data.rest[0] / self.residual**3 - design.freedom / self.residual**2
        hessian = [[(curvature * design.d**2).sum(), cross], [cross, curvature.sum() + within]]
        return np.asarray(2.0 * np.linalg.inv(hessian))

    def f_test(self) -> tuple[float, tuple[int, float], float]:
        """Return F (2), its degrees of freedom and its p-value."""
        contrasts = against_first(self.means.size)
        q = len(contrasts)
        values, vectors = np.linalg.eigh(contrasts @ self.covariance @ contrasts.T)
        turned = vectors.T @ contrasts
        f = float(((turned @ self.means) ** 2 / values).mean())
        single = self.freedom(turned)
        large = single[single > 2.0]
        total = float((large / (large - 2.0)).sum())
        df = 2.0 * total / (total - q) if total > q else float(single.min())
        return f, (q, df), float(fdtrc(q, df, f))


def against_first(k: int, first: int = 0) -> FloatArray:
    """Return contrasts of every condition but one with that one (k - 1, k)."""
    contrasts = np.eye(k)
    contrasts[:, first] -= 1.0
    return np.delete(contrasts, first, axis=0)


def variance_draws(fit: InterceptFit, options: Resampling) -> tuple[FloatArray, FloatArray]:
    """Return draws of the variance between models and of the residual variance."""
    data, design = fit.data, fit.data.design
    rng = np.random.default_rng(options.rng)
    residual = data.rest[0] / rng.chisquare(design.freedom, options.n)
    wanted = rng.chisquare(design.d.size, options.n)
    low = np.zeros(options.n)
    high = (data.eta[0] / design.d).sum() / wanted
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        expected = residual[:, None] + middle[:, None] * design.d
        above = (data.eta[0] / expected).sum(axis=1) > wanted
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.where(low > 0.0, 0.5 * (low + high), 0.0), residual


def parametric_draws(fit: InterceptFit, null: InterceptFit, options: Resampling) -> FloatArray:
    """Return means of data from `fit`, and F of data from `null` (resamples, conditions + 1)."""
    design = fit.data.design
    noise = _noise(design, options)
    full = noise.data(fit).shifted(fit.means)
    means = full.means(full.ratio())[0]
    return np.concatenate([means, _f(noise.data(null))], axis=1)


@dataclass(frozen=True, slots=True)
class _Noise:
    """Standard normal effects of groups, and errors of rows as far as fits depend on them."""

    design: InterceptDesign
    effect: FloatArray  # (sets, groups)
    cells: FloatArray  # (sets, groups, conditions) sums of errors
    square: FloatArray  # (sets,) sums of squared errors

    def data(self, fit: InterceptFit) -> Reduced:
        """Return data sets with the variances of a fit and no differences between conditions."""
        design, table = self.design, self.design.table
        effect, error = np.sqrt(fit.between) * self.effect, np.sqrt(fit.residual)
        sums = effect @ table + error * self.cells.sum(axis=1)
        of_groups = effect * table.sum(axis=1) + error * self.cells.sum(axis=2)
        alone = error * self.cells.sum(axis=2) - error * self._means() @ table.T
        eta = (of_groups - (sums / table.sum(axis=0)) @ table.T) @ design.vectors
        own = (alone @ design.vectors) ** 2
        within = self.square - (self._means() ** 2 * table.sum(axis=0)).sum(axis=1)
        rest = np.maximum(error**2 * within - own.sum(axis=1), 0.0)
        return Reduced(design, sums, of_groups, eta**2, rest)

    def _means(self) -> FloatArray:
        """Return mean errors of conditions (sets, conditions)."""
        return np.asarray(self.cells.sum(axis=1) / self.design.table.sum(axis=0))


def _noise(design: InterceptDesign, options: Resampling) -> _Noise:
    groups, k = design.table.shape
    cell = design.group * k + design.condition
    order = np.argsort(cell, kind="stable")
    occupied, start = np.unique(cell[order], return_index=True)

    # Sums only, row by row: they do not depend on how resamples are divided among workers.
    def task(seeds: WordArray) -> FloatArray:
        found = np.zeros((len(seeds), groups + groups * k + 1))
        for row, seed in enumerate(seeds):
            normal = np.random.Generator(np.random.Philox(key=seed)).standard_normal
            found[row, :groups] = normal(groups)
            error = normal(design.n)
            found[row, groups + occupied] = np.add.reduceat(error, start)
            found[row, -1] = (error**2).sum()
        return found

    drawn: FloatArray = options.replicate(task, "data sets")
    cells = drawn[:, groups:-1].reshape(-1, groups, k)
    return _Noise(design, drawn[:, :groups], cells, drawn[:, -1])


def _f(data: Reduced) -> FloatArray:
    """Return F (2) of many data sets (sets, 1)."""
    ratio = data.ratio()
    means, covariance = data.means(ratio)
    contrasts = against_first(means.shape[1])
    gaps = means @ contrasts.T
    solved = np.linalg.solve(contrasts @ covariance @ contrasts.T, gaps[:, :, None])[:, :, 0]
    f = (gaps * solved).sum(axis=1) / (_error(data, ratio) * len(contrasts))
    return np.asarray(f[:, None])


def _error(data: Reduced, ratio: FloatArray) -> FloatArray:
    """Return the residual variances that tests rest on (sets,)."""
    design = data.design
    pooled = data.residual_square(ratio) / (design.n - design.n_conditions)
    return np.where(ratio == 0.0, data.rest / design.freedom, pooled)
