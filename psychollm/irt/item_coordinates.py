"""Coordinates in which items are distributed alike on any scale, and places around an item.

They are defined in `psychollm.irt.item_population`, (1).
"""

from dataclasses import dataclass
from typing import cast

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.irt.answers import Patterns
from psychollm.irt.families import Family
from psychollm.irt.likelihood import Problem
from psychollm.irt.priors import KAPPA, PROBIT_SCALE


@dataclass(frozen=True, slots=True)
class Coordinates:
    """The coordinates (1) of the parameters of an item, and the way back."""

    # A slope shared by all items is no coordinate: intercepts are then their own.

    family: Family

    @property
    def first(self) -> int:
        """Place of the first parameter that each item has for itself."""
        return int(self.family.tied)

    @property
    def kappa(self) -> float:
        """Where slopes turn from linear to logarithmic."""
        return KAPPA if self.family.link == "logit" else KAPPA / PROBIT_SCALE

    @property
    def steps(self) -> range:
        """Places of the intercepts."""
        return range(1, self.family.n_categories)

    def of(self, parameters: FloatArray) -> FloatArray:
        """Return the coordinates (..., q) of parameters (..., p)."""
        if self.family.tied:
            return parameters[..., 1:].copy()
        place = parameters.copy()
        place[..., 0] = np.arcsinh(parameters[..., 0] / self.kappa)
        place[..., self.steps] /= self.kappa * np.cosh(place[..., :1])
        return place

    def parameters(self, place: FloatArray, slope: float) -> FloatArray:
        """Return the parameters (..., p) at coordinates (..., q)."""
        if self.family.tied:
            return np.concatenate([np.full((*place.shape[:-1], 1), slope), place], axis=-1)
        found = place.copy()
        found[..., 0] = self.kappa * np.sinh(place[..., 0])
        found[..., self.steps] *= self.kappa * np.cosh(place[..., :1])
        return found

    def jacobian(self, place: FloatArray) -> FloatArray:
        """Return the derivatives (..., q, q) of an item's own parameters by coordinates."""
        q = place.shape[-1]
        matrix = np.zeros((*place.shape, q))
        matrix[..., range(q), range(q)] = 1.0
        if self.family.tied:
            return matrix
        length = self.kappa * np.cosh(place[..., 0])
        matrix[..., 0, 0] = length
        for k in self.steps:
            matrix[..., k, 0] = self.kappa * np.sinh(place[..., 0]) * place[..., k]
            matrix[..., k, k] = length
        return matrix


@dataclass(frozen=True, slots=True)
class Averaged:
    """A family whose log-probabilities are the means over several places of each item."""

    family: Family
    points: FloatArray  # (S, J, p)

    @property
    def tied(self) -> bool:
        """As the family."""
        return self.family.tied

    def log_probabilities(self, parameters: FloatArray, nodes: FloatArray) -> FloatArray:
        """Return mean log probabilities (J, C, Q)."""
        total = sum(self.family.log_probabilities(x, nodes) for x in self.points)
        return np.asarray(total / len(self.points))

    def contrasts(
        self, parameters: FloatArray, nodes: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the summed log probability of answer 0 (Q,) and log odds to it."""
        parts = [self.family.contrasts(x, nodes) for x in self.points]
        base, odds = (sum(part[k] for part in parts) / len(parts) for k in range(2))
        return np.asarray(base), np.asarray(odds)


def averaged_problem(family: Family, points: FloatArray, patterns: Patterns) -> Problem:
    """Return what gives posteriors of abilities when items are at any of `points` (S, J, p)."""
    nothing = np.zeros(points.shape[2])
    return Problem(cast("Family", Averaged(family, points)), patterns, nothing, nothing)


def points_and_roots(mean: FloatArray, covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return 2q points (2q, J, q) with these moments, pairs about the mean, and the roots used."""
    root = np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)
    q = mean.shape[1]
    away = np.sqrt(q) * np.moveaxis(root, 2, 0)
    return np.stack([mean + away, mean - away], axis=1).reshape(2 * q, *mean.shape), root


def sigma_points(parameters: FloatArray, covariance: FloatArray, *, tied: bool) -> FloatArray:
    """Return points (S, J, p) with these moments, a shared slope at its mean."""
    if not tied:
        return points_and_roots(parameters, covariance)[0]
    points = points_and_roots(parameters[:, 1:], covariance[:, 1:, 1:])[0]
    slope = np.broadcast_to(parameters[:, :1], (*points.shape[:2], 1))
    return np.concatenate([slope, points], axis=2)
