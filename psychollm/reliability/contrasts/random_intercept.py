r"""Linear mixed model with a random intercept per group, by restricted maximum likelihood.

.. math:: y = X \beta + Z b + \epsilon, \qquad b \sim N(0, \tau^2 I),\;
          \epsilon \sim N(0, \sigma^2 I).                                                \quad (1)

Let M be the projection onto the orthogonal complement of X, :math:`Z^\top M Z = U
\operatorname{diag}(d) U^\top` and :math:`\eta_j = u_j^\top Z^\top M y / \sqrt{d_j}` for the J
positive :math:`d_j`. The residual sum of squares :math:`r = y^\top M y - \sum \eta_j^2` has
:math:`\nu = n - p - J` degrees of freedom. The residuals and the :math:`\eta_j` are independent,
with variances :math:`\sigma^2` and :math:`\sigma^2 + \tau^2 d_j`:

.. math:: -2 \ell = \sum_j \Bigl(\log(\sigma^2 + \tau^2 d_j) + \frac{\eta_j^2}{\sigma^2 + \tau^2
          d_j}\Bigr) + \nu \log \sigma^2 + \frac{r}{\sigma^2} + \log|X^\top X|
          + (n - p) \log 2\pi.                                                           \quad (2)

For a given ratio :math:`\gamma = \tau^2 / \sigma^2`, equation (2) is minimised by :math:`\sigma^2
= Q(\gamma) / (n - p)`,

.. math:: Q(\gamma) = r + \sum_j \frac{\eta_j^2}{1 + \gamma d_j}.                        \quad (3)

The minimum is a function of :math:`\gamma` alone. This function of :math:`\gamma` is minimised for
many data sets together, so parametric bootstraps are fast. For maximum likelihood, the first term
of equation (2) is replaced by :math:`\sum_g \log(\sigma^2 + \tau^2 n_g)` over all groups, and n -
p by n.

Let C be the covariance of the condition means. A contrast :math:`l^\top \hat\beta` has
Satterthwaite's degrees of freedom

.. math:: \nu = \frac{2 (l^\top C l)^2}{g^\top A\, g}, \qquad
          g = \nabla_{(\tau^2, \sigma^2)}\, l^\top C l.                                  \quad (4)

The matrix A, the covariance of the two variance estimates, is the inverse of the observed
information. If the estimate of :math:`\tau^2` is zero, C uses only the variance within groups,
:math:`r / \nu`. Pooling the variances within and between groups in this case would increase the
false positive rate at the 5 % level to 6 or 7 %. As a result, in a complete table with one score
per cell, the tests are identical to the analysis of variance for every :math:`\tau^2`. Equality of
all k condition means is tested by

.. math:: F = \frac{(L \hat\beta)^\top (L C L^\top)^{-1} L \hat\beta}{k - 1}.             \quad (5)

The test uses the denominator degrees of freedom of Fai and Cornelius. A parametric bootstrap gives
a second p-value, which does not depend on degrees of freedom. Data are drawn from the model
without differences between conditions, and F is recomputed.

The statistics of equation (2) have :math:`r / \sigma^2 \sim \chi^2_\nu` and
:math:`\sum_j \eta_j^2 / (\sigma^2 + \tau^2 d_j) \sim \chi^2_J`. Pivotal draws of the variances are
obtained by drawing both chi-square variables and solving for the variances.

References
----------
Crainiceanu, C. M., & Ruppert, D. (2004). Likelihood ratio tests in linear mixed models with one
variance component. Journal of the Royal Statistical Society B, 66, 165-185.

Fai, A. H.-T., & Cornelius, P. L. (1996). Approximate F-tests of multiple degree of freedom
hypotheses in generalized least squares analyses of unbalanced split-plot experiments. Journal of
Statistical Computation and Simulation, 54, 363-378.

Kuznetsova, A., Brockhoff, P. B., & Christensen, R. H. B. (2017). lmerTest package: tests in linear
mixed effects models. Journal of Statistical Software, 82(13). https://doi.org/10.18637/jss.v082.i13

Patterson, H. D., & Thompson, R. (1971). Recovery of inter-block information when block sizes are
unequal. Biometrika, 58, 545-554.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc

from psychollm._base.checks import check_generator
from psychollm._base.replicate import generators
from psychollm._base.types import FloatArray, IntArray, WordArray
from psychollm.estimates.resampling import Resampling

# Grid of x; the ratios of variances are scale * (e^x - 1).
_GRID = np.linspace(0.0, 25.0, 51)
_HALVINGS = 45
_ZERO = 1e-10


@dataclass(frozen=True, slots=True)
class InterceptDesign:
    """Conditions and groups of the rows, and likelihood terms that depend only on the design."""

    condition: IntArray  # (n,) columns of X are the indicators of conditions
    group: IntArray  # (n,)
    table: FloatArray  # (groups, conditions) numbers of rows
    d: FloatArray  # (J,) d of (2)
    vectors: FloatArray  # (groups, J) u_j / sqrt(d_j)

    @classmethod
    def of(cls, condition: IntArray, group: IntArray) -> "InterceptDesign":
        """Compute the terms of the likelihood that depend on the design."""
        table = np.zeros((int(group.max()) + 1, int(condition.max()) + 1))
        np.add.at(table, (group, condition), 1.0)
        sizes = table.sum(axis=0)
        inner = np.diag(table.sum(axis=1)) - (table / sizes) @ table.T
        values, vectors = np.linalg.eigh(inner)
        kept = values > _ZERO * max(1.0, float(values[-1]))
        return cls(condition, group, table, values[kept], vectors[:, kept] / np.sqrt(values[kept]))

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.condition.size)

    @property
    def n_conditions(self) -> int:
        """Number of conditions, that is, of columns of X."""
        return int(self.table.shape[1])

    @property
    def freedom(self) -> int:
        """Degrees of freedom within groups, nu of equation (2)."""
        return self.n - self.n_conditions - self.d.size

    def reduced(self, y: FloatArray) -> "Reduced":
        """Return the sufficient statistics of data sets (sets, n)."""
        members = np.eye(self.n_conditions)[self.condition]
        sums = y @ members
        residual = y - (sums / self.table.sum(axis=0))[:, self.condition]
        of_groups = np.eye(self.table.shape[0])[self.group]
        eta = (residual @ of_groups) @ self.vectors
        total = (residual**2).sum(axis=1)
        rest = np.maximum(total - (eta**2).sum(axis=1), 0.0)
        rest[rest <= _ZERO * total] = 0.0
        return Reduced(self, sums, y @ of_groups, eta**2, rest)


@dataclass(frozen=True, slots=True)
class Reduced:
    """Sufficient statistics of data sets under one design."""

    design: InterceptDesign
    sums: FloatArray  # (sets, conditions)
    group_sums: FloatArray  # (sets, groups)
    eta: FloatArray  # (sets, J) squares of eta
    rest: FloatArray  # (sets,) r of (2)

    def shifted(self, means: FloatArray) -> "Reduced":
        """Return the statistics after adding a constant to all rows of each condition."""
        table = self.design.table
        return Reduced(
            self.design,
            self.sums + table.sum(axis=0) * means,
            self.group_sums + table @ means,
            self.eta,
            self.rest,
        )

    def residual_square(self, gamma: FloatArray) -> FloatArray:
        """Return Q of equation (3) at one variance ratio per data set (sets,)."""
        return np.asarray(
            self.rest + (self.eta / (1.0 + gamma[:, None] * self.design.d)).sum(axis=1)
        )

    def ratio(self, *, restricted: bool = True) -> FloatArray:
        """Return the ratio of variances at the maximum (sets,); infinite if the residual is 0."""
        # The minimum is located on a grid that is linear near zero and logarithmic above;
        # bisection then finds the root of the derivative.
        scale = 1.0 / float(self.design.d.mean())
        values = scale * np.expm1(_GRID)
        heights = [
            self.deviance(np.full(self.rest.size, v), restricted=restricted) for v in values
        ]
        best = np.argmin(heights, axis=0)
        low, high = _GRID[np.maximum(best - 1, 0)], _GRID[np.minimum(best + 1, _GRID.size - 1)]
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            falling = self._slope(scale * np.expm1(middle), restricted=restricted) < 0.0
            low, high = np.where(falling, middle, low), np.where(falling, high, middle)
        at_zero = (best <= 1) & (self._slope(np.zeros(best.size), restricted=restricted) >= 0.0)
        gamma = np.where(at_zero, 0.0, scale * np.expm1(0.5 * (low + high)))
        return np.where(self.rest > 0.0, gamma, np.inf)

    def _slope(self, gamma: FloatArray, *, restricted: bool) -> FloatArray:
        """Return the derivative of the deviance with respect to the ratio (sets,)."""
        d, n = self._determinant(restricted=restricted)
        shrunk = 1.0 / (1.0 + gamma[:, None] * self.design.d)
        falling = (self.eta * self.design.d * shrunk**2).sum(axis=1) / self.residual_square(gamma)
        return np.asarray((d / (1.0 + gamma[:, None] * d)).sum(axis=1) - n * falling)

    def _determinant(self, *, restricted: bool) -> tuple[FloatArray, int]:
        """Return gamma's coefficients in the determinant of equation (2), and the divisor of Q."""
        design = self.design
        if restricted:
            return design.d, design.n - design.n_conditions
        return design.table.sum(axis=1), design.n

    def deviance(self, gamma: FloatArray, *, restricted: bool = True) -> FloatArray:
        """Return the (REML or ML) deviance of equation (2), minimised over the variance."""
        d, n = self._determinant(restricted=restricted)
        with np.errstate(divide="ignore"):
            scale = self.residual_square(gamma) / n
            logs = np.log1p(gamma[:, None] * d).sum(axis=1) + n * np.log(2.0 * np.pi * scale) + n
        sizes = self.design.table.sum(axis=0)
        return np.asarray(logs + (np.log(sizes).sum() if restricted else 0.0))

    def means(self, gamma: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return means (sets, conditions), and their covariances divided by sigma squared."""
        table = self.design.table
        weight = gamma[:, None] / (1.0 + gamma[:, None] * table.sum(axis=1))
        information = np.diag(table.sum(axis=0)) - np.einsum("gp,sg,gq->spq", table, weight, table)
        covariance = np.linalg.inv(information)
        right = self.sums - (weight * self.group_sums) @ table
        return np.einsum("spq,sq->sp", covariance, right), covariance


_BISECTIONS = 50


@dataclass(frozen=True, slots=True)
class InterceptFit:
    """Fit of the random-intercept model to one data set."""

    data: Reduced
    ratio: float
    residual: float  # sigma squared
    error: float  # residual variance for tests: not pooled if the ratio is zero
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
        """Return degrees of freedom by equation (4) for contrasts (contrasts, conditions)."""
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
        """Return derivatives of the covariance of means with respect to tau^2 and sigma^2."""
        table = self.data.design.table
        size, tau, sigma = table.sum(axis=1), self.between, self.residual
        weight = 1.0 / (sigma + tau * size)
        inner = (2.0 * tau * weight - tau**2 * size * weight**2)[:, None] * table
        by_between = table.T @ (weight[:, None] ** 2 * table)
        by_residual = (np.diag(table.sum(axis=0)) - table.T @ inner) / sigma**2
        c = self.covariance
        return c @ by_between @ c, c @ by_residual @ c

    def _variance_covariance(self) -> FloatArray:
        """Return the covariance A of the variance estimates in equation (4)."""
        design = self.data.design
        expected = self.residual + self.between * design.d
        curvature = 2.0 * self.data.eta[0] / expected**3 - 1.0 / expected**2
        cross = (curvature * design.d).sum()
        within = 2.0 * self.data.rest[0] / self.residual**3 - design.freedom / self.residual**2
        hessian = [[(curvature * design.d**2).sum(), cross], [cross, curvature.sum() + within]]
        return np.asarray(2.0 * np.linalg.inv(hessian))

    def f_test(self) -> tuple[float, tuple[int, float], float]:
        """Return the F statistic of equation (5), its degrees of freedom and its p-value."""
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
    """Return contrasts of all other conditions with condition `first` (k - 1, k)."""
    contrasts = np.eye(k)
    contrasts[:, first] -= 1.0
    return np.delete(contrasts, first, axis=0)


def variance_draws(fit: InterceptFit, options: Resampling) -> tuple[FloatArray, FloatArray]:
    """Return draws of the variance between models and of the residual variance."""
    data, design = fit.data, fit.data.design
    rng = check_generator(options.rng)
    residual = data.rest[0] / rng.chisquare(design.freedom, options.n)
    wanted = rng.chisquare(design.d.size, options.n)
    low = np.zeros(options.n)
    high = (data.eta[0] / design.d).sum() / wanted
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        expected = residual[:, None] + middle[:, None] * design.d
        above = (data.eta[0] / expected).sum(axis=1) > wanted
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.where(low > 0.0, 0.5 * (low + high), 0.0), residual


def parametric_draws(fit: InterceptFit, null: InterceptFit, options: Resampling) -> FloatArray:
    """Return means of data drawn from `fit` and F of data drawn from `null`, by resample."""
    design = fit.data.design
    noise = _noise(design, options)
    full = noise.data(fit).shifted(fit.means)
    means = full.means(full.ratio())[0]
    return np.concatenate([means, _f(noise.data(null))], axis=1)


@dataclass(frozen=True, slots=True)
class _Noise:
    """Standard normal effects and errors of simulated data; errors are stored as sums."""

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

    # Sums are computed row by row, so that they do not depend on the division of resamples among
    # workers.
    def task(seeds: WordArray) -> FloatArray:
        sums = np.zeros((len(seeds), groups + groups * k + 1))
        for row, generator in enumerate(generators(seeds)):
            normal = generator.standard_normal
            sums[row, :groups] = normal(groups)
            error = normal(design.n)
            sums[row, groups + occupied] = np.add.reduceat(error, start)
            sums[row, -1] = (error**2).sum()
        return sums

    drawn: FloatArray = options.replicate(task, "data sets")
    cells = drawn[:, groups:-1].reshape(-1, groups, k)
    return _Noise(design, drawn[:, :groups], cells, drawn[:, -1])


def _f(data: Reduced) -> FloatArray:
    """Return the F statistic, equation (5), of many data sets (sets, 1)."""
    ratio = data.ratio()
    means, covariance = data.means(ratio)
    contrasts = against_first(means.shape[1])
    gaps = means @ contrasts.T
    solved = np.linalg.solve(contrasts @ covariance @ contrasts.T, gaps[:, :, None])[:, :, 0]
    f = (gaps * solved).sum(axis=1) / (_error(data, ratio) * len(contrasts))
    return np.asarray(f[:, None])


def _error(data: Reduced, ratio: FloatArray) -> FloatArray:
    """Return the residual variances that are used in tests (sets,)."""
    design = data.design
    pooled = data.residual_square(ratio) / (design.n - design.n_conditions)
    return np.where(ratio == 0.0, data.rest / design.freedom, pooled)
