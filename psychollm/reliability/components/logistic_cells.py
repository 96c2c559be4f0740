r"""Likelihood of binary scores after integrating out question and interaction effects.

Model m answers question q of domain d :math:`n_{mq}` times, and :math:`k_{mq}` of these answers
are correct. The level of model m in domain d is :math:`a_{dm}`, and :math:`z_q` and :math:`w_{mq}`
are standard normal. Then

.. math:: k_{mq} \sim \operatorname{Bin}\bigl(n_{mq},\,
          \operatorname{logit}^{-1}(a_{dm} + \sigma_Q z_q + \sigma_I w_{mq})\bigr).       \quad (1)

Questions are independent given the levels, and the cells of question q are independent given the
levels and :math:`z_q`. Every integral is therefore over one variable:

.. math:: f_{kn}(\eta) = \log \int p_{kn}(\eta + \sigma_I w)\, \varphi(w)\, dw, \qquad
          \ell_d(a) = \sum_{q \in d} \log \int
          \exp\Bigl(\sum_m f(a_m + \sigma_Q z)\Bigr) \varphi(z)\, dz.                     \quad (2)

The inner integral is tabulated on a fine grid of :math:`\eta`, once for each pair (k, n). The
outer integral is computed by the trapezoid rule about the mode of each question
(`kernels.logistic_questions`). Let r be the first and W the negative second derivative of f at the
nodes, and let E and Cov be the mean and the covariance over the nodes of a question. Then

.. math:: \frac{\partial \ell}{\partial a_m} = \sum_q E[r_{mq}], \qquad
          -\frac{\partial^2 \ell}{\partial a\, \partial a^\top}
          = \sum_q \operatorname{diag}(E[W_q]) - \operatorname{Cov}(r_q).                \quad (3)

Laplace's approximation replaces both integrals by the values at the modes of z and w, and includes
their curvature in the determinant. Eliminating w leaves W of equation (3) for each cell.
Eliminating z then leaves :math:`\operatorname{diag}(W_q) - \sigma_Q^2 W_q W_q^\top / (1 +
\sigma_Q^2 1^\top W_q)` for each question. The results of both eliminations are exact Schur
complements of the joint Hessian.

References
----------
Trefethen, L. N., & Weideman, J. A. C. (2014). The exponentially convergent trapezoidal rule. SIAM
Review, 56, 385-458. https://doi.org/10.1137/130932132
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import expit

from psychollm._base.types import FloatArray, IntArray
from psychollm.kernels.logistic_questions import FAR, node_distance, question_integrals

Integration: TypeAlias = Literal["quadrature", "laplace"]

_AT_ONCE = 200_000  # largest product of cells and nodes in memory
_REACH, _STEP = 20.0, 0.1  # range and step of the table of (2) without interaction
_WIDER, _COARSER = 6.5, 0.2  # change in range and step per SD of the interaction
_TAIL, _COARSEST = 6.5, 0.6  # range and largest step of the trapezoid rule about the mode of w
_SETTLED = 1e-10
_STEPS = 60


class Cells(NamedTuple):
    """Log likelihoods of cells, their derivatives, and terms of Laplace's determinant."""

    value: FloatArray
    slope: FloatArray
    weight: FloatArray  # negative second derivative of the log likelihood
    log_curvature: FloatArray | float


CellFunction: TypeAlias = Callable[[FloatArray, FloatArray, FloatArray], Cells]


def plain_cells(eta: FloatArray, hits: FloatArray, n: FloatArray) -> Cells:
    """Return binomial log likelihoods without interaction."""
    tail = np.exp(-np.abs(eta))
    right = np.where(eta > 0.0, 1.0, tail) / (1.0 + tail)
    value = hits * eta - n * (np.maximum(eta, 0.0) + np.log1p(tail))
    return Cells(value, hits - n * right, n * right * (1.0 - right), 0.0)


def interaction_modes(
    eta: FloatArray, hits: FloatArray, n: FloatArray | float, sd: float
) -> FloatArray:
    """Return the mode of each cell's interaction."""
    w = np.zeros(np.broadcast_shapes(eta.shape, hits.shape))
    for _ in range(_STEPS):
        right = expit(eta + sd * w)
        curvature = n * right * (1.0 - right)
        step = (sd * (hits - n * right) - w) / (1.0 + sd**2 * curvature)
        # The negative slope of the score is at most 1 + n sd^2 / 4, so steps based on this bound
        # converge.
        w += np.clip(step, -1.0, 1.0)
        if np.abs(step).max(initial=0.0) < _SETTLED:
            break
    return w


def profiled_cells(sd: float) -> CellFunction:
    """Return a function that evaluates cells at the mode of the interaction."""
    if sd == 0.0:
        return plain_cells

    def cells(eta: FloatArray, hits: FloatArray, n: FloatArray) -> Cells:
        w = interaction_modes(eta, hits, n, sd)
        at = plain_cells(eta + sd * w, hits, n)
        spread = 1.0 + sd**2 * at.weight
        return Cells(at.value - 0.5 * w**2, at.slope, at.weight / spread, np.log(spread))

    return cells


class CellTable(NamedTuple):
    """Values, slopes and negative curvatures of f in equation (2) on a grid, by pair (k, n)."""

    kinds: FloatArray  # (2, kinds) k and n
    values: FloatArray  # (kinds, points, 3)
    reach: float = _REACH  # the grid is [-reach, reach]; f is linear beyond it
    step: float = _STEP

    @classmethod
    def of(cls, sd: float, kinds: FloatArray) -> "CellTable":
        """Tabulate the integrals over the interaction; empty if there is no interaction."""
        if sd == 0.0:
            return cls(kinds, np.empty((0, 0, 3)))
        step = float(_STEP * np.sqrt(1.0 + (_COARSER * sd) ** 2))
        far = np.ceil((_REACH + _WIDER * sd) / step)
        eta = step * np.arange(-far, far + 1.0)
        values = np.empty((kinds.shape[1], eta.size, 3))
        for n in np.unique(kinds[1]):
            same = np.flatnonzero(kinds[1] == n)
            k = kinds[0, same]
            # Swapping correct and wrong answers changes the sign of eta.
            fewer, which = np.unique(np.minimum(k, n - k), return_inverse=True)
            of_fewer = _tabulated(sd, eta, fewer, float(n))[which]
            swapped = of_fewer[:, ::-1] * [1.0, -1.0, 1.0]
            values[same] = np.where((k > n - k)[:, None, None], swapped, of_fewer)
        return cls(kinds, values, float(far * step), step)


def _tabulated(sd: float, eta: FloatArray, hits: FloatArray, n: float) -> FloatArray:
    """Integrate over w for each number of correct answers out of n (hits, points, 3)."""
    # The trapezoid rule around the mode of w is nearly exact under two conditions. The step must
    # resolve the narrowest integrand, whose curvature is 1 + n sd^2 / 4. It must also be small
    # compared with the distance to the poles of the inverse logit.
    step = min(_COARSEST, 0.8 / np.sqrt(1.0 + 0.25 * n * sd**2), 0.8 / sd)
    far = step * np.arange(-np.ceil(_TAIL / step), np.ceil(_TAIL / step) + 1.0)
    k = hits[:, None, None]
    w = interaction_modes(eta[:, None], k, n, sd) + far
    # Odds cannot overflow: they are at most e^280, because eta is at most 150 and the mode is
    # between eta and zero.
    ahead = np.exp(eta[:, None] + sd * w)
    wrong = 1.0 / (1.0 + ahead)
    slope = k - n * (1.0 - wrong)
    log = k * (eta[:, None] + sd * w) + n * np.log(wrong) - 0.5 * w**2
    top = log.max(axis=2)
    share = np.exp(log - top[..., None])
    total = share.sum(axis=2)
    first = np.einsum("kpw,kpw->kp", share, slope) / total
    bend = n * wrong * (1.0 - wrong) - slope**2
    weight = np.einsum("kpw,kpw->kp", share, bend) / total + first**2
    value = np.log(total * (step / np.sqrt(2.0 * np.pi))) + top
    return np.stack([value, first, np.maximum(weight, 0.0)], axis=2)


@dataclass(frozen=True)
class Counted:
    """Numbers of correct and of all answers in one domain (questions, models), and nodes."""

    hits: FloatArray
    n: FloatArray
    kind: IntArray  # row of each cell in the table
    integration: Integration

    def at(
        self, level: FloatArray, sd: float, interaction: float, table: CellTable, z: FloatArray
    ) -> "Level":
        """Return the log likelihood at levels (models,); move `z` (questions,) to the modes."""
        if self.integration == "laplace":
            return self._laplace(level, sd, profiled_cells(interaction), z)
        return self._quadrature(level, sd, table, z)

    def weights(
        self, level: FloatArray, sd: float, interaction: float, z: FloatArray
    ) -> FloatArray:
        """Return the negative curvature of each cell at the modes (questions, models)."""
        return profiled_cells(interaction)(level + sd * z[:, None], self.hits, self.n).weight

    def _laplace(
        self, level: FloatArray, sd: float, cells: CellFunction, z: FloatArray
    ) -> "Level":
        for _ in range(_STEPS):
            at = cells(level + sd * z[:, None], self.hits, self.n)
            curvature = 1.0 + sd**2 * at.weight.sum(axis=1)
            step = (sd * at.slope.sum(axis=1) - z) / curvature
            if np.abs(step).max(initial=0.0) < _SETTLED:
                break
            z += np.clip(step, -1.0, 1.0)
        joint = at.weight.T * (sd / np.sqrt(curvature))
        return Level(
            value=float(at.value.sum() - 0.5 * (z**2).sum()),
            log_curvature=float(np.log(curvature).sum() + np.sum(at.log_curvature)),
            score=at.slope.sum(axis=0),
            information=np.diag(at.weight.sum(axis=0)) - joint @ joint.T,
        )

    def _quadrature(
        self, level: FloatArray, sd: float, table: CellTable, z: FloatArray
    ) -> "Level":
        m, most = level.size, float(self.n.sum(axis=1).max())
        finest = node_distance(1.0 / np.sqrt(1.0 + 0.25 * sd**2 * most), sd)
        columns = np.empty((max(_AT_ONCE // m, int(2.0 * FAR / finest) + 3), m))
        value, score, weight, cov = np.empty(z.size), np.zeros(m), np.zeros(m), np.zeros((m, m))
        counts = self.hits, self.n, self.kind
        grid = table.values, -table.reach, table.step
        first = 0
        while first < z.size:
            out = value, score, weight, columns
            first, rows = question_integrals(level, counts, grid, sd, z, first, out)
            cov += columns[:rows].T @ columns[:rows]
        return Level(float(value.sum()), 0.0, score, np.diag(weight) - cov)


class Level(NamedTuple):
    """Log likelihood, equation (2), at given levels, and its derivatives, equation (3)."""

    value: float
    log_curvature: float
    score: FloatArray  # (models,)
    information: FloatArray  # (models, models)
