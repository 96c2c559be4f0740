r"""Families of item curves: what the fit needs to know about a model.

A family turns the parameters of items (J, p) into log-probabilities of answers and into the
gradient and information of expected counts. Everything else (quadrature, EM, Newton, standard
errors, scores) is the same for all models.
"""

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.kernels.response_models import (
    count_moments,
    first_derivatives,
    linear,
    slope_of_curve,
    softplus,
    yes_no,
)

Link: TypeAlias = Literal["logit", "probit"]
Model: TypeAlias = Literal["rasch", "1pl", "2pl", "3pl", "4pl", "graded", "gpcm", "nominal"]

CHUNK = 400_000  # cells of an (items, nodes) table worked on at once: stays in the cache
START_GUESSING = -1.5
START_UPPER = 3.0


class Family(Protocol):
    """What a model of items offers to the fit."""

    @property
    def model(self) -> Model:
        """Name of the model."""

    @property
    def link(self) -> Link:
        """Logistic or normal curves."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters of one item."""

    @property
    def n_categories(self) -> int:
        """Number of different answers."""

    @property
    def tied(self) -> bool:
        """Whether all items share one slope, the first parameter."""

    @property
    def bounds(self) -> FloatArray:
        """Largest absolute values of the parameters (p,)."""

    @property
    def exponential(self) -> bool:
        """Whether the log-odds are linear in slope and intercept: a shorter information."""

    def log_probabilities(self, parameters: FloatArray, nodes: FloatArray) -> FloatArray:
        """Return log probabilities (J, C, Q)."""

    def contrasts(
        self, parameters: FloatArray, nodes: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the summed log probability of answer 0 (Q,) and log odds to it (J*(C-1), Q)."""

    def scores(self, parameters: FloatArray, nodes: FloatArray) -> FloatArray:
        """Return derivatives of log probabilities by the parameters (J, C, p, Q)."""

    def moments(
        self, parameters: FloatArray, nodes: FloatArray, counts: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return gradient (J, p), observed and expected information (J, p, p) of counts."""

    def information(self, parameters: FloatArray, nodes: FloatArray) -> FloatArray:
        """Return the information about the ability (J, Q)."""

    def rescaled(self, parameters: FloatArray, mean: float, sd: float) -> FloatArray:
        """Return parameters for an ability measured from `mean` in units of `sd`."""


@dataclass(frozen=True, slots=True)
class Dichotomous:
    """Yes-or-no items: Rasch, 1PL, 2PL, 3PL, 4PL with a logistic or normal curve.

    Examples
    --------
    >>> family = Dichotomous("2pl", "logit")
    >>> family.names
    ('slope', 'intercept')
    """

    model: Model
    link: Link

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters of one item."""
        size = {"3pl": 3, "4pl": 4}.get(self.model, 2)
        return ("slope", "intercept", "logit_guessing", "logit_upper")[:size]

    @property
    def n_categories(self) -> int:
        """Two: no and yes."""
        return 2

    @property
    def tied(self) -> bool:
        """Whether all items share one slope."""
        return self.model in ("rasch", "1pl")

    @property
    def exponential(self) -> bool:
        """Whether the log-odds are linear in slope and intercept."""
        return self.link == "logit" and len(self.names) == 2

    @property
    def bounds(self) -> FloatArray:
        """Largest absolute values of slope, intercept and logits of asymptotes (p,)."""
        return np.array([25.0, 75.0, 12.0, 12.0])[: len(self.names)]

    def start(self, shares: FloatArray, signs: FloatArray) -> FloatArray:
        """Return parameters to start from, given shares of answers (J, 2) and signs (J,)."""
        rates = shares[:, 1]
        logits = np.log(rates / (1.0 - rates))
        scale = 1.0 if self.link == "logit" else 1.0 / 1.7
        columns = [signs * scale, 1.15 * logits * scale]
        if len(self.names) > 2:
            columns.append(np.full(rates.size, START_GUESSING))
        if len(self.names) > 3:
            columns.append(np.full(rates.size, START_UPPER))
        return np.stack(columns, axis=1)

    def log_probabilities(self, parameters: FloatArray, nodes: FloatArray) -> FloatArray:
        """Return log(1 - P) and log P, shape (J, 2, Q)."""
        if self.exponential:
            z = linear(parameters, nodes)
            return -np.stack([softplus(z), softplus(-z)], axis=1)
        yes, no = yes_no(parameters, nodes, self.link)
        return np.log(np.stack([no, yes], axis=1))

    def contrasts(
        self, parameters: FloatArray, nodes: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the summed log(1 - P) (Q,) and the log odds of yes (J, Q)."""
        base = np.zeros(nodes.size)
        odds = np.empty((parameters.shape[0], nodes.size))
        for part in chunks(parameters.shape[0], nodes.size):
            if self.exponential:
                odds[part] = linear(parameters[part], nodes)
                base -= softplus(odds[part]).sum(axis=0)
            else:
                yes, no = yes_no(parameters[part], nodes, self.link)
                log_no = np.log(no)
                odds[part] = np.log(yes) - log_no
                base += log_no.sum(axis=0)
        return base, odds

    def scores(self, parameters: FloatArray, nodes: FloatArray) -> FloatArray:
        """Return derivatives of log(1 - P) and log P (J, 2, p, Q)."""
        yes, no = yes_no(parameters, nodes, self.link)
        first = first_derivatives(parameters, nodes, self.link)
        return np.stack([-first / no[:, None], first / yes[:, None]], axis=1)

    def moments(
        self, parameters: FloatArray, nodes: FloatArray, counts: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return gradient, observed and expected information of counts (J, 2, Q)."""
        size, p = parameters.shape
        gradient = np.empty((size, p))
        observed, expected = np.empty((size, p, p)), np.empty((size, p, p))
        for part in chunks(size, nodes.size):
            gradient[part], observed[part], expected[part] = count_moments(
                parameters[part], nodes, self.link, counts[part, 1], counts[part, 0]
            )
        return gradient, observed, expected

    def information(self, parameters: FloatArray, nodes: FloatArray) -> FloatArray:
        """Return P'^2 / (P (1 - P)), shape (J, Q)."""
        yes, no = yes_no(parameters, nodes, self.link)
        slope, _ = slope_of_curve(parameters, nodes, self.link)
        return np.asarray(slope**2 / (yes * no), dtype=np.float64)

    def rescaled(self, parameters: FloatArray, mean: float, sd: float) -> FloatArray:
        """Return parameters for an ability measured from `mean` in units of `sd`."""
        moved = parameters.copy()
        moved[:, 1] += parameters[:, 0] * mean
        moved[:, 0] *= sd
        return moved


def chunks(items: int, nodes: int) -> list[slice]:
    """Return slices of items whose (items, nodes) tables stay in the cache.

    Examples
    --------
    >>> chunks(3, 400_000)
    [slice(0, 1, None), slice(1, 2, None), slice(2, 3, None)]
    """
    step = max(1, CHUNK // nodes)
    return [slice(low, min(low + step, items)) for low in range(0, items, step)]
