"""Likelihood of one model's confidence and correctness given the answers of the others.

Equations (1) and (2) are given in the module `private_signal`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.polynomial.hermite_e import hermevander
from scipy.special import ndtr

from psychollm._base.types import FloatArray, IntArray
from psychollm.calibration.stated import PairedAnswers
from psychollm.factor.one_factor.full_information import (
    Grid,
    Patterns,
    answer_patterns,
    factor_grid,
    log_answers,
)
from psychollm.kernels.bivariate import densities, orthants

DEGREE = 3  # degree of the polynomial of correctness in the factor
_POLYNOMIAL_RANGE = 3.0
_LARGEST_LOADING = 0.999
_LARGEST_Z = 6.0
_LEAST_CHANCE = 1e-300
# Precision of the normal prior on c, d, the coefficients of a, and z. The prior is wide for slopes
# and moderate for the higher terms of a, which could diverge with few questions. The other
# parameters have no prior.
PENALTY = np.array([0.0, 1 / 25, 0.0, 1 / 25, *np.ones(DEGREE - 1), 0.0])


@dataclass(frozen=True, slots=True)
class Evidence:
    """Information in the answers about each question's factor score."""

    patterns: Patterns  # patterns of the included models
    grid: Grid
    log_yes: FloatArray  # (included, nodes) log P(yes | f)
    log_no: FloatArray  # (included, nodes) log P(no | f)
    row: IntArray  # (models,) row of each model among those included, -1 if excluded
    start: FloatArray  # (models, 2) c and d of (1) from the one-factor solution
    lapses: FloatArray  # (models, 2) probability of a yes, and of a no, independent of f
    joint: FloatArray  # (distinct, nodes) log weights given all models

    @classmethod
    def of(cls, paired: PairedAnswers, curves: FloatArray) -> "Evidence":
        """Collect the evidence of all models with known curves (2 or 4, models)."""
        # curves: loadings, thresholds, and asymptotes if models lapse.
        keep = np.asarray(np.isfinite(curves).all(axis=0))
        used = curves[:, keep]
        used[0] = np.clip(used[0], -_LARGEST_LOADING, _LARGEST_LOADING)
        size, cut = used[:2]
        grid = factor_grid(size, cut)
        log_yes, log_no = log_answers(used, grid.nodes)
        lapses = np.zeros((keep.size, 2))
        if len(used) > 2:
            lapses[keep] = np.column_stack([used[2], 1.0 - used[3]])
        rest = np.sqrt(1.0 - size**2)
        start = np.zeros((keep.size, 2))
        start[keep] = np.column_stack([-cut / rest, size / rest])
        row = np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int64)
        patterns = answer_patterns(paired.said > 0.0, paired.answered, keep)
        joint = patterns.yes @ log_yes + patterns.no @ log_no + grid.log_weights
        return cls(patterns, grid, log_yes, log_no, row, start, lapses, joint)

    def without(self, m: int, which: IntArray) -> FloatArray:
        """Return the weights of equation (2) for patterns `which`, given all models except m."""
        # Subtracting one model from the sum over all k models is faster than adding k - 1 models.
        log_weight, row = self.joint[which], self.row[m]
        if row >= 0:
            log_weight -= self.patterns.yes[which, row, None] * self.log_yes[row]
            log_weight -= self.patterns.no[which, row, None] * self.log_no[row]
        log_weight -= log_weight.max(axis=1, keepdims=True)
        weight = np.exp(log_weight)
        return np.asarray(weight / weight.sum(axis=1, keepdims=True), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Likelihood:
    """Equation (2) for distinct answer patterns, as a function of (c, d, coefficients of a, z)."""

    basis: FloatArray  # (nodes, degree + 1) polynomials in the factor
    cells: tuple[tuple[float, float, FloatArray], ...]  # yes and correct as signs, weights w
    frequency: FloatArray  # (distinct,) in the order of the cells
    of_question: IntArray  # (used,) index of the distinct pattern of each used question
    lapses: FloatArray  # (2,) probabilities of this model's yes and no that are independent of f

    @classmethod
    def of(cls, paired: PairedAnswers, evidence: Evidence, m: int) -> "Likelihood":
        """Collect distinct answer patterns of questions, by model m's answer and correctness."""
        used = paired.present[m]
        cell = (2 - 2 * paired.yes[m, used] - paired.correct[m, used] + 1).astype(np.int64)
        pattern = evidence.patterns.of_question[used]
        size = evidence.patterns.frequency.size
        distinct, of_question, frequency = np.unique(
            cell * size + pattern, return_inverse=True, return_counts=True
        )
        cells = tuple(
            (*signs, evidence.without(m, distinct[distinct // size == row] % size))
            for row, signs in enumerate(_SIGNS)
        )
        return cls(
            _polynomials(evidence.grid.nodes),
            cells,
            frequency.astype(np.float64),
            of_question.astype(np.int64),
            evidence.lapses[m],
        )

    def value(self, theta: FloatArray) -> float:
        """Return the logarithm of the likelihood in equation (2)."""
        h, k, rho = self._limits(theta)
        return float(self.frequency @ np.log(np.concatenate(self._chances(h, k, rho))))

    def scores(self, theta: FloatArray) -> FloatArray:
        """Return the gradient of each distinct pattern's log likelihood (distinct, parameters)."""
        h, k, rho = self._limits(theta)
        return self._scores(h, k, rho, self._chances(h, k, rho))

    def objective(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the penalised log likelihood and its gradient (parameters,)."""
        h, k, rho = self._limits(theta)
        chances = self._chances(h, k, rho)
        value = float(self.frequency @ np.log(np.concatenate(chances)))
        gradient = self.frequency @ self._scores(h, k, rho, chances)
        if abs(theta[-1]) > _LARGEST_Z:
            gradient[-1] = 0.0
        return value - 0.5 * float(PENALTY @ theta**2), gradient - PENALTY * theta

    def information(self, theta: FloatArray) -> FloatArray:
        """Return the sum of outer products of the questions' gradients, plus the penalty."""
        scores = self.scores(theta)
        products = (scores * self.frequency[:, None]).T @ scores + np.diag(PENALTY)
        return np.asarray(products + 1e-6 * np.eye(len(theta)), dtype=np.float64)

    def _chances(self, h: FloatArray, k: FloatArray, rho: float) -> list[FloatArray]:
        """Return the likelihoods of the distinct patterns of answers, one array per cell."""
        inside = 1.0 - self.lapses.sum()
        return [
            np.maximum(
                weight
                @ (self._lapse(s) * ndtr(t * k) + inside * orthants(s * h, t * k, s * t * rho)),
                _LEAST_CHANCE,
            )
            for s, t, weight in self.cells
        ]

    def _lapse(self, sign: float) -> float:
        """Return the probability of a yes (+1) or no (-1) given regardless of the question."""
        return float(self.lapses[0 if sign > 0.0 else 1])

    def _scores(
        self, h: FloatArray, k: FloatArray, rho: float, chances: list[FloatArray]
    ) -> FloatArray:
        rest = np.sqrt((1.0 - rho) * (1.0 + rho))
        by_h, by_k = _density(h), _density(k)
        inside = 1.0 - self.lapses.sum()
        by_z = inside * densities(h, k, rho) * rest**2
        blocks = []
        for (s, t, weight), chance in zip(self.cells, chances, strict=True):
            at_h = inside * s * by_h * ndtr(t * (k - rho * h) / rest)
            at_k = t * by_k * (self._lapse(s) + inside * ndtr(s * (h - rho * k) / rest))
            slopes = np.column_stack(
                [at_h[:, None] * self.basis[:, :2], at_k[:, None] * self.basis, s * t * by_z]
            )
            blocks.append((weight @ slopes) / chance[:, None])
        return np.concatenate(blocks)

    def _limits(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        rho = float(np.tanh(np.clip(theta[-1], -_LARGEST_Z, _LARGEST_Z)))
        return self.basis[:, :2] @ theta[:2], self.basis @ theta[2:-1], rho


def _polynomials(nodes: FloatArray) -> FloatArray:
    """Return Hermite polynomials up to `DEGREE`, constant in the extreme tails."""
    inner = np.clip(nodes, -_POLYNOMIAL_RANGE, _POLYNOMIAL_RANGE)
    basis = hermevander(inner, DEGREE)
    basis[:, 1] = nodes
    return np.asarray(basis / np.sqrt([1.0, 1.0, 2.0, 6.0][: DEGREE + 1]), dtype=np.float64)


_SIGNS = ((1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0))


def _density(x: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-0.5 * x**2) / np.sqrt(2.0 * np.pi), dtype=np.float64)
