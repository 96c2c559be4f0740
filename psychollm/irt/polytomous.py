"""Families of items with more than two answers: graded response, partial credit, nominal."""

from dataclasses import dataclass

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.irt.families import Dichotomous, Link, Model
from psychollm.kernels.irt_polytomous import (
    graded_curves,
    graded_first,
    graded_second,
    loglinear_design,
    loglinear_logs,
    loglinear_moments,
    probability_moments,
)


@dataclass(frozen=True, slots=True)
class _Polytomous:
    """What all families of several answers share."""

    model: Model
    link: Link
    n_categories: int

    @property
    def n_slopes(self) -> int:
        """How many parameters multiply the ability."""
        return self.n_categories - 1 if self.model == "nominal" else 1

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters of one item."""
        steps = range(1, self.n_categories)
        several = self.model == "nominal"
        slopes = tuple(f"slope_{c}" for c in steps) if several else ("slope",)
        return (*slopes, *(f"intercept_{c}" for c in steps))

    @property
    def tied(self) -> bool:
        """Every item has its own slope."""
        return False

    @property
    def exponential(self) -> bool:
        """The short form of the information is for two answers."""
        return False

    @property
    def bounds(self) -> FloatArray:
        """Largest absolute values (p,)."""
        return np.array([25.0] * self.n_slopes + [75.0] * (self.n_categories - 1))

    def rescaled(self, parameters: FloatArray, mean: float, sd: float) -> FloatArray:
        """Return parameters for an ability measured from `mean` in units of `sd`."""
        moved, k = parameters.copy(), self.n_slopes
        by_answer = parameters[:, :k]
        if self.model == "gpcm":
            by_answer = by_answer * np.arange(1, self.n_categories)
        moved[:, k:] += by_answer * mean
        moved[:, :k] *= sd
        return moved


@dataclass(frozen=True, slots=True)
class Graded(_Polytomous):
    """Samejima's graded response model.

    Examples
    --------
    >>> Graded("graded", "logit", 3).names
    ('slope', 'intercept_1', 'intercept_2')
    """

    def start(self, shares: FloatArray, signs: FloatArray) -> FloatArray:
        """Return parameters to start from, given shares of answers (J, C)."""
        above = np.clip(shares[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:], 1e-4, 1.0 - 1e-4)
        scale = 1.0 if self.link == "logit" else 1.0 / 1.7
        logits = scale * 1.15 * np.log(above / (1.0 - above))
        return np.column_stack([signs * scale, logits])

    def log_probabilities(self, parameters: FloatArray, nodes: FloatArray) -> FloatArray:
        """Return log probabilities (J, C, Q)."""
        return np.asarray(np.log(graded_curves(parameters, nodes, self.link)[0]))

    def contrasts(
        self, parameters: FloatArray, nodes: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the summed log probability of answer 0 (Q,) and log odds to it."""
        return _contrasts(self.log_probabilities(parameters, nodes))

    def scores(self, parameters: FloatArray, nodes: FloatArray) -> FloatArray:
        """Return derivatives of log probabilities (J, C, p, Q)."""
        p, density, _ = graded_curves(parameters, nodes, self.link)
        return np.asarray(graded_first(density, nodes) / p[:, :, None])

    def moments(
        self, parameters: FloatArray, nodes: FloatArray, counts: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return gradient, observed and expected information of counts."""
        p, density, change = graded_curves(parameters, nodes, self.link)
        first, second = graded_first(density, nodes), graded_second(change, nodes)
        return probability_moments(p, first, second, counts)

    def information(self, parameters: FloatArray, nodes: FloatArray) -> FloatArray:
        """Return the information about the ability (J, Q)."""
        p, density, _ = graded_curves(parameters, nodes, self.link)
        slope = parameters[:, :1, None] * (density[:, :-1] - density[:, 1:])
        return np.asarray((slope**2 / p).sum(axis=1))


@dataclass(frozen=True, slots=True)
class LogLinear(_Polytomous):
    """Muraki's generalized partial credit and Bock's nominal model.

    Examples
    --------
    >>> LogLinear("nominal", "logit", 3).names
    ('slope_1', 'slope_2', 'intercept_1', 'intercept_2')
    """

    def _design(self, nodes: FloatArray) -> FloatArray:
        return loglinear_design(self.n_categories, nodes, nominal=self.model == "nominal")

    def start(self, shares: FloatArray, signs: FloatArray) -> FloatArray:
        """Return parameters to start from, given shares of answers (J, C)."""
        top = self.n_categories - 1
        steps = np.arange(1, top + 1) if self.model == "nominal" else np.ones(1)
        shares = np.clip(shares, 1e-4, 1.0)
        logits = np.log(shares[:, 1:] / shares[:, :1])
        return np.column_stack([signs[:, None] * steps / max(1.0, 0.7 * top), logits])

    def log_probabilities(self, parameters: FloatArray, nodes: FloatArray) -> FloatArray:
        """Return log probabilities (J, C, Q)."""
        return loglinear_logs(parameters, self._design(nodes))

    def contrasts(
        self, parameters: FloatArray, nodes: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the summed log probability of answer 0 (Q,) and log odds to it."""
        return _contrasts(self.log_probabilities(parameters, nodes))

    def scores(self, parameters: FloatArray, nodes: FloatArray) -> FloatArray:
        """Return derivatives of log probabilities (J, C, p, Q)."""
        design = self._design(nodes)
        p = np.exp(loglinear_logs(parameters, design))
        mean = np.einsum("jcq,cpq->jpq", p, design)
        return np.asarray(design - mean[:, None])

    def moments(
        self, parameters: FloatArray, nodes: FloatArray, counts: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return gradient, observed and expected information of counts."""
        return loglinear_moments(parameters, self._design(nodes), counts)

    def information(self, parameters: FloatArray, nodes: FloatArray) -> FloatArray:
        """Return the information about the ability (J, Q): the variance of its multiplier."""
        p = np.exp(self.log_probabilities(parameters, nodes))
        slopes = parameters[:, : self.n_slopes]
        if self.model == "gpcm":
            slopes = slopes * np.arange(1, self.n_categories)
        by_answer = np.column_stack([np.zeros(slopes.shape[0]), slopes])
        mean = np.einsum("jcq,jc->jq", p, by_answer)
        return np.asarray(np.einsum("jcq,jc->jq", p, by_answer**2) - mean**2)


def _contrasts(logs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the summed log probability of answer 0 (Q,) and log odds to it (J (C-1), Q)."""
    odds = logs[:, 1:] - logs[:, :1]
    return logs[:, 0].sum(axis=0), odds.reshape(-1, logs.shape[2])


def family_of(model: Model, link: Link, n_categories: int) -> Dichotomous | Graded | LogLinear:
    """Return the family of a model.

    Examples
    --------
    >>> family_of("gpcm", "logit", 4).names[0]
    'slope'
    """
    if model == "graded":
        return Graded(model, link, n_categories)
    if model in ("gpcm", "nominal"):
        return LogLinear(model, link, n_categories)
    return Dichotomous(model, link)
