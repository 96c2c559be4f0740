r"""The linear mixed model with one random intercept per group, by restricted maximum likelihood.

.. math:: y = X \beta + Z b + \epsilon, \qquad b \sim N(0, \tau^2 I),\;
          \epsilon \sim N(0, \sigma^2 I).                                                \quad (1)

With M the projection off X, let :math:`Z^\top M Z = U \operatorname{diag}(d) U^\top` and
:math:`\eta_j = u_j^\top Z^\top M y / \sqrt{d_j}` for the J positive :math:`d_j`. What is left,
:math:`r = y^\top M y - \sum \eta_j^2` on :math:`\nu = n - p - J` degrees of freedom, and the
:math:`\eta_j` are independent with variances :math:`\sigma^2` and :math:`\sigma^2 + \tau^2 d_j`:

.. math:: -2 \ell = \sum_j \Bigl(\log(\sigma^2 + \tau^2 d_j) + \frac{\eta_j^2}{\sigma^2 + \tau^2
          d_j}\Bigr) + \nu \log \sigma^2 + \frac{r}{\sigma^2} + \log|X^\top X|
          + (n - p) \log 2\pi.                                                           \quad (2)

For a given ratio :math:`\gamma = \tau^2 / \sigma^2` the best :math:`\sigma^2` is
:math:`Q(\gamma) / (n - p)`,

.. math:: Q(\gamma) = r + \sum_j \frac{\eta_j^2}{1 + \gamma d_j},                        \quad (3)

which leaves a function of :math:`\gamma` alone, minimised for any number of data sets at once:
parametric bootstraps cost next to nothing. Maximum likelihood replaces the first term of (2) by
:math:`\sum_g \log(\sigma^2 + \tau^2 n_g)` over all groups, and n - p by n.

References
----------
Patterson, H. D., & Thompson, R. (1971). Recovery of inter-block information when block sizes are
unequal. Biometrika, 58, 545-554.

Crainiceanu, C. M., & Ruppert, D. (2004). Likelihood ratio tests in linear mixed models with one
variance component. Journal of the Royal Statistical Society B, 66, 165-185.
"""

from dataclasses import dataclass

import numpy as np

from psychollm._base.types import FloatArray, IntArray

# Ratios are scale * (e^x - 1) for these x.
_GRID = np.linspace(0.0, 25.0, 51)
_HALVINGS = 45
_ZERO = 1e-10


@dataclass(frozen=True, slots=True)
class InterceptDesign:
    """Conditions and groups of the rows, reduced to what the likelihood needs."""

    condition: IntArray  # (n,) columns of X are the indicators of conditions
    group: IntArray  # (n,)
    table: FloatArray  # (groups, conditions) rows in each
    d: FloatArray  # (J,) of (2)
    vectors: FloatArray  # (groups, J) u_j / sqrt(d_j)

    @classmethod
    def of(cls, condition: IntArray, group: IntArray) -> "InterceptDesign":
        """Reduce the design."""
        table = np.zeros((int(group.max()) + 1, int(condition.max()) + 1))
        np.add.at(table, (group, condition), 1.0)
        sizes = table.sum(axis=0)
        inner = np.diag(table.sum(axis=1)) - (table / sizes) @ table.T
        values, vectors = np.linalg.eigh(inner)
        kept = values > _ZERO * max(1.0, float(values[-1]))
        return cls(condition, group, table, values[kept], vectors[:, kept] / np.sqrt(values[kept]))

    @property
    def n(self) -> int:
        """Rows."""
        return int(self.condition.size)

    @property
    def n_conditions(self) -> int:
        """Columns of X."""
        return int(self.table.shape[1])

    @property
    def freedom(self) -> int:
        """Degrees of freedom within groups, nu of (2)."""
        return self.n - self.n_conditions - self.d.size

    def reduced(self, y: FloatArray) -> "Reduced":
        """Return what the likelihood needs of data sets (sets, n)."""
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
        """Return the statistics with something added to every row of each condition."""
        table = self.design.table
        return Reduced(
            self.design,
            self.sums + table.sum(axis=0) * means,
            self.group_sums + table @ means,
            self.eta,
            self.rest,
        )

    def residual_square(self, gamma: FloatArray) -> FloatArray:
        """Return Q of (3) for one ratio per data set (sets,)."""
        return np.asarray(
            self.rest + (self.eta / (1.0 + gamma[:, None] * self.design.d)).sum(axis=1)
        )

    def ratio(self, *, restricted: bool = True) -> FloatArray:
        """Return the ratio of variances at the maximum (sets,); infinite without a residual."""
        # Grid, linear near zero and logarithmic above; then the root of the slope is bisected.
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
        found = np.where(at_zero, 0.0, scale * np.expm1(0.5 * (low + high)))
        return np.where(self.rest > 0.0, found, np.inf)

    def _slope(self, gamma: FloatArray, *, restricted: bool) -> FloatArray:
        """Return the derivative of the deviance by the ratio (sets,)."""
        d, n = self._determinant(restricted=restricted)
        shrunk = 1.0 / (1.0 + gamma[:, None] * self.design.d)
        falling = (self.eta * self.design.d * shrunk**2).sum(axis=1) / self.residual_square(gamma)
        return np.asarray((d / (1.0 + gamma[:, None] * d)).sum(axis=1) - n * falling)

    def _determinant(self, *, restricted: bool) -> tuple[FloatArray, int]:
        """Return the d of the log determinant, and the degrees of freedom of Q."""
        design = self.design
        if restricted:
            return design.d, design.n - design.n_conditions
        return design.table.sum(axis=1), design.n

    def deviance(self, gamma: FloatArray, *, restricted: bool = True) -> FloatArray:
        """Return (2) at a ratio and its best residual variance, or its twin for ML (sets,)."""
        d, n = self._determinant(restricted=restricted)
        with np.errstate(divide="ignore"):
            scale = self.residual_square(gamma) / n
            logs = np.log1p(gamma[:, None] * d).sum(axis=1) + n * np.log(2.0 * np.pi * scale) + n
        sizes = self.design.table.sum(axis=0)
        return np.asarray(logs + (np.log(sizes).sum() if restricted else 0.0))

    def means(self, gamma: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return means (sets, conditions) and their covariances over sigma squared."""
        table = self.design.table
        weight = gamma[:, None] / (1.0 + gamma[:, None] * table.sum(axis=1))
        information = np.diag(table.sum(axis=0)) - np.einsum("gp,sg,gq->spq", table, weight, table)
        covariance = np.linalg.inv(information)
        right = self.sums - (weight * self.group_sums) @ table
        return np.einsum("spq,sq->sp", covariance, right), covariance
