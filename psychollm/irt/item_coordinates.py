r"""Item coordinates whose distribution has the same form on every scale of ability.

For an item with one slope a and step intercepts :math:`d_k` the coordinates are

.. math:: u = \operatorname{arsinh}(a / \kappa), \qquad e_k = d_k / \sqrt{a^2 + \kappa^2}, \; (1)

or, for ordered thresholds, the first :math:`e_k` and the log distances between neighbouring ones,

.. math:: e_1, \quad \log(e_1 - e_2), \quad \log(e_2 - e_3), \ldots \quad (2)

If each answer has its own slope, or all items share one slope, the coordinates are the parameters.
"""

from dataclasses import dataclass

import numpy as np

from psychollm._base.checks import LARGEST
from psychollm._base.types import FloatArray
from psychollm.irt.priors import KAPPA, PROBIT_SCALE
from psychollm.kernels.item_posteriors import find_roots, find_turns
from psychollm.kernels.response_models import logistic

LEAST_GAP = 1e-3  # starting distance between thresholds


@dataclass(frozen=True, slots=True, eq=False)
class Coordinates:
    """Coordinates that equal the item-specific parameters, without a shared slope."""

    names: tuple[str, ...]
    first: int = 0  # index of the first item-specific parameter

    def of(self, parameters: FloatArray) -> FloatArray:
        """Return the coordinates (..., q) of parameters (..., p)."""
        return parameters[..., self.first :].copy()

    def parameters(self, coordinates: FloatArray, slope: float) -> FloatArray:
        """Return the parameters (..., p) at coordinates (..., q)."""
        shared = np.full((*coordinates.shape[:-1], self.first), slope)
        return np.concatenate([shared, coordinates], axis=-1)

    def jacobian(self, coordinates: FloatArray) -> FloatArray:
        """Return derivatives (..., q, q) of item parameters with respect to the coordinates."""
        return np.broadcast_to(
            np.eye(coordinates.shape[-1]), (*coordinates.shape, coordinates.shape[-1])
        )


@dataclass(frozen=True, slots=True, eq=False)
class LogSlopes(Coordinates):
    """Coordinates, equation (1) or (2), of items with one slope, and the inverse mapping."""

    kappa: float = KAPPA  # slopes well above kappa are on a logarithmic scale
    design: FloatArray | None = None  # matrix from intercepts to steps; None for the identity
    n_steps: int = 1
    ordered: bool = False  # whether thresholds are ordered, as in (2)

    @property
    def _steps(self) -> slice:
        return slice(1, 1 + self.n_steps)

    def of(self, parameters: FloatArray) -> FloatArray:
        """Return the coordinates (..., q) of parameters (..., p)."""
        coordinates = parameters.copy()
        coordinates[..., 0] = np.arcsinh(parameters[..., 0] / self.kappa)
        if self.design is not None:
            coordinates[..., self._steps] = parameters[..., self._steps] @ self.design.T
        coordinates[..., self._steps] /= self._length(parameters[..., :1])
        if self.ordered:
            gaps = -np.diff(coordinates[..., self._steps])
            coordinates[..., 2 : 1 + self.n_steps] = np.log(np.maximum(gaps, LEAST_GAP))
        return coordinates

    def _length(self, slope: FloatArray) -> FloatArray:
        """Return the square root in equation (1), the derivative of slope a with respect to u."""
        return np.sqrt(slope**2 + self.kappa**2)

    def _easiness(self, coordinates: FloatArray) -> FloatArray:
        """Return intercepts (..., steps) divided by the square root in equation (1)."""
        steps = coordinates[..., self._steps].copy()
        if self.ordered:
            steps[..., 1:] = steps[..., :1] - np.cumsum(np.exp(steps[..., 1:]), axis=-1)
        return steps if self.design is None else steps @ np.linalg.inv(self.design).T

    def parameters(self, coordinates: FloatArray, slope: float) -> FloatArray:
        """Return the parameters (..., p) at coordinates (..., q)."""
        found = coordinates.copy()
        found[..., 0] = self.kappa * np.sinh(coordinates[..., 0])
        found[..., self._steps] = self._easiness(coordinates) * self._length(found[..., :1])
        return found

    def jacobian(self, coordinates: FloatArray) -> FloatArray:
        """Return derivatives (..., q, q) of the parameters with respect to coordinates."""
        q, steps = coordinates.shape[-1], self._steps
        matrix = np.zeros((*coordinates.shape, q))
        matrix[..., range(q), range(q)] = 1.0
        slope = self.kappa * np.sinh(coordinates[..., 0])
        length = self._length(slope)
        matrix[..., 0, 0] = length
        matrix[..., steps, 0] = slope[..., None] * self._easiness(coordinates)
        turn = np.eye(self.n_steps)
        if self.ordered:
            below = np.tri(self.n_steps, self.n_steps)
            change = np.exp(coordinates[..., 2 : 1 + self.n_steps])
            turn = np.broadcast_to(below, (*coordinates.shape[:-1], *below.shape)).copy()
            turn[..., 1:] *= -change[..., None, :]
        if self.design is not None:
            turn = np.linalg.inv(self.design) @ turn
        matrix[..., steps, steps] = length[..., None, None] * turn
        return matrix


def kappa_of(link: str) -> float:
    """Return the slope below which coordinates are approximately linear in the slope."""
    return KAPPA if link == "logit" else KAPPA / PROBIT_SCALE


def points_and_roots(
    mean: FloatArray, covariance: FloatArray, pairs: int | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return sigma points (2 pairs, J, q) with given moments, and covariance roots (J, q, q)."""
    # Each column of the root gives a pair of points about the mean; further points are at the
    # mean.
    root, q = np.empty(covariance.shape), mean.shape[1]
    if not find_roots(covariance, root):
        msg = "a covariance is not positive definite"
        raise np.linalg.LinAlgError(msg)
    pairs = pairs or q
    away = np.zeros((pairs, *mean.shape))
    away[:q] = np.sqrt(pairs) * np.moveaxis(root, 2, 0)
    return np.stack([mean + away, mean - away], axis=1).reshape(2 * pairs, *mean.shape), root


def turns(there: FloatArray, linear: FloatArray, here: FloatArray) -> FloatArray:
    """Return derivatives (J, q, q) of new coordinates with respect to old coordinates.

    The matrices `linear` contain the derivatives of new parameters with respect to old parameters.
    The matrices `here` and `there` (J, q, q) contain the derivatives of parameters with respect to
    coordinates, for the old and the new parameters.
    """
    turn = np.empty(there.shape)
    every = (there, np.broadcast_to(linear, there.shape), here)
    find_turns(*map(np.ascontiguousarray, every), turn)
    return turn


MATCHING = 5  # iterations that match the mean


def matched_points(
    way: Coordinates, mean: FloatArray, covariance: FloatArray, pairs: int
) -> FloatArray:
    """Return sigma points (2 pairs, J, p) with given moments, inside the range of parameters."""
    # Sigma points of the parameters themselves could violate the order of thresholds. Therefore
    # points are computed in coordinates, and their centre is adjusted until the parameters have
    # the requested mean.
    centre = wanted = way.of(mean)
    turn = np.linalg.inv(way.jacobian(wanted))
    spread = turn @ covariance @ turn.transpose(0, 2, 1)
    for _ in range(MATCHING):
        points = way.parameters(points_and_roots(centre, spread, pairs)[0], np.nan)
        centre = centre + wanted - way.of(points.mean(axis=0))
    return points


def difficulties(
    slope: FloatArray, intercept: FloatArray, covariance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return -d/a with its standard error by the delta method; NaN if a is 0."""
    a = np.where(np.abs(slope) < 1.0 / LARGEST, np.nan, slope)
    value = -intercept / a
    direction = np.stack([-value / a, -1.0 / a], axis=1)
    variance = np.einsum("jp,jpq,jq->j", direction, covariance[:, :2, :2], direction)
    return value, np.sqrt(np.where(variance > 0.0, variance, np.nan))


def logistic_with_error(logits: FloatArray, se: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return asymptotes from their logits, with standard errors by the delta method."""
    value, rest = logistic(logits)
    return value, se * value * rest
