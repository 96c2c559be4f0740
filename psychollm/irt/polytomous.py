"""Families for more than two answer categories: graded response, partial credit, nominal."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.irt.families import (
    PROBIT_UNIT,
    Codes,
    Columns,
    Curves,
    Family,
    Link,
    Model,
)
from psychollm.irt.item_coordinates import (
    Coordinates,
    LogSlopes,
    difficulties,
    kappa_of,
    matched_points,
)
from psychollm.irt.priors import Priors
from psychollm.kernels.irt_polytomous import (
    graded_by_ability,
    graded_curves,
    graded_first,
    graded_second,
    loglinear_by_ability,
    loglinear_design,
    loglinear_logs,
    loglinear_moments,
    probability_moments,
)

FURTHEST = 1e3  # largest absolute value of slope times ability
HALVINGS = 80


@dataclass(frozen=True, slots=True)
class _Polytomous(Family):
    """Base class of polytomous families. Slopes precede intercepts in the parameters."""

    model: Model
    link: Link
    n_categories: int
    codes: Codes = ()  # codes of the answers, if not 0, 1, 2, ...

    @property
    def priors(self) -> tuple[str, ...]:
        return ("slope", "intercept")

    @property
    def n_slopes(self) -> int:
        """Number of parameters that multiply the ability."""
        return 1

    @property
    def names(self) -> tuple[str, ...]:
        return ("slope", *(f"intercept_{c}" for c in range(1, self.n_categories)))

    @property
    def bounds(self) -> FloatArray:
        return np.array([25.0] * self.n_slopes + [75.0] * (self.n_categories - 1))

    def prior_arrays(self, priors: Priors) -> tuple[FloatArray, FloatArray]:
        slope, intercept = self.priors
        return priors.arrays((slope,) * self.n_slopes + (intercept,) * (self.n_categories - 1))

    @property
    def coordinates(self) -> Coordinates:
        size = self.n_categories - 1
        names = ("slope", *(f"easiness_{c}" for c in range(1, size + 1)))
        return LogSlopes(names, 0, kappa_of(self.link), self.step_design(), size)

    def restriction(self, codes: IntArray) -> FloatArray:
        """Return the matrix (p', p) that maps parameters to an item with answers `codes`."""
        size, k = self.n_categories - 1, self.n_slopes
        among = np.vstack([np.zeros(size), np.eye(size)])
        some = among[codes[1:]] - among[codes[0]]
        rows = np.zeros(((k if k == 1 else len(some)) + len(some), k + size))
        rows[-len(some) :, k:] = some
        rows[: -len(some), :k] = 1.0 if k == 1 else some
        return rows

    def multipliers(self, parameters: FloatArray) -> FloatArray:
        """Return the slopes of all answers except the first (J, C - 1)."""
        return np.broadcast_to(parameters[:, :1], (len(parameters), self.n_categories - 1))

    def rescaled(self, parameters: FloatArray, mean: float, sd: float) -> FloatArray:
        moved, k = parameters.copy(), self.n_slopes
        moved[:, k:] += self.multipliers(parameters) * mean
        moved[:, :k] *= sd
        return moved

    def step_design(self) -> FloatArray:
        """Return the matrix from answer intercepts to step intercepts (C - 1, C - 1)."""
        return np.eye(self.n_categories - 1)

    def step_intercepts(self, parameters: FloatArray) -> FloatArray:
        return np.asarray(parameters[:, self.n_slopes :] @ self.step_design().T)

    def columns(self, parameters: FloatArray, covariance: FloatArray, held: BoolArray) -> Columns:
        shown, k = np.where(held, np.nan, parameters), self.n_slopes
        steps, nothing = self.step_design(), np.full(len(parameters), np.nan)
        variances = np.einsum("jpp->jp", covariance)
        se_slope = np.sqrt(np.where(variances > 0.0, variances, np.nan))[:, k - 1]
        step_variances = np.einsum("ap,jpq,aq->ja", steps, covariance[:, k:, k:], steps)
        mean = steps.mean(axis=0)
        direction = np.zeros((2, shown.shape[1]))
        direction[0, k - 1], direction[1, k:] = 1.0, mean
        pair = np.einsum("ap,jpq,bq->jab", direction, covariance, direction)
        slope, intercept = shown[:, k - 1], shown[:, k:] @ mean
        difficulty, se_difficulty = difficulties(slope, intercept, pair)
        return {
            "slope": slope,
            "se_slope": se_slope,
            "intercept": intercept,
            "se_intercept": np.sqrt(pair[:, 1, 1]),
            "difficulty": difficulty,
            "se_difficulty": se_difficulty,
            "steps": self.step_intercepts(shown),
            "se_steps": np.sqrt(step_variances),
            "guessing": np.zeros(len(parameters)),
            "se_guessing": nothing,
            "upper": np.ones(len(parameters)),
            "se_upper": nothing,
        }


@dataclass(frozen=True, slots=True)
class Graded(_Polytomous):
    """Samejima's graded response model."""

    @property
    def coordinates(self) -> Coordinates:
        size = self.n_categories - 1
        names = ("slope", "easiness", *(f"gap_{c}" for c in range(1, size)))
        return LogSlopes(names, 0, kappa_of(self.link), None, size, ordered=True)

    def restriction(self, codes: IntArray) -> FloatArray:
        return np.asarray(np.eye(self.n_categories)[np.append(0, codes[1:])])

    def points(
        self, parameters: FloatArray, covariance: FloatArray, pairs: int | None = None
    ) -> FloatArray:
        return matched_points(self.coordinates, parameters, covariance, pairs or self.n_categories)

    def gradient(
        self, parameters: FloatArray, nodes: FloatArray, counts: FloatArray
    ) -> FloatArray:
        p, density, _ = graded_curves(parameters, nodes, self.link)
        by_step = density[:, 1:-1] * np.diff(counts / p, axis=1)
        return np.column_stack([(by_step.sum(axis=1) @ nodes), by_step.sum(axis=2)])

    def start(self, shares: FloatArray, signs: FloatArray) -> FloatArray:
        above = np.clip(shares[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:], 1e-4, 1.0 - 1e-4)
        scale = 1.0 if self.link == "logit" else 1.0 / PROBIT_UNIT
        logits = scale * 1.15 * np.log(above / (1.0 - above))
        return np.column_stack([signs * scale, logits])

    def log_probabilities(self, parameters: FloatArray, nodes: FloatArray) -> FloatArray:
        return np.asarray(np.log(graded_curves(parameters, nodes, self.link)[0]))

    def scores(self, parameters: FloatArray, nodes: FloatArray) -> FloatArray:
        p, density, _ = graded_curves(parameters, nodes, self.link)
        return np.asarray(graded_first(density, nodes) / p[:, :, None])

    def moments(
        self, parameters: FloatArray, nodes: FloatArray, counts: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        p, density, change = graded_curves(parameters, nodes, self.link)
        first, second = graded_first(density, nodes), graded_second(change, nodes)
        return probability_moments(p, first, second, counts)

    def information(self, parameters: FloatArray, nodes: FloatArray) -> FloatArray:
        p, density, _ = graded_curves(parameters, nodes, self.link)
        slope = parameters[:, :1, None] * (density[:, :-1] - density[:, 1:])
        return np.asarray((slope**2 / p).sum(axis=1))

    def by_ability(self, parameters: FloatArray, abilities: FloatArray) -> Curves:
        return graded_by_ability(parameters, abilities, self.link)

    def even_odds(self, parameters: FloatArray) -> FloatArray:
        slope = np.where(parameters[:, :1] == 0.0, np.nan, parameters[:, :1])
        return np.asarray(-parameters[:, 1:] / slope)


@dataclass(frozen=True, slots=True)
class _LogLinear(_Polytomous):
    """Families with log-odds linear in the ability and the parameters."""

    links: ClassVar[tuple[Link, ...]] = ("logit",)

    @abstractmethod
    def _design(self, nodes: FloatArray) -> FloatArray:
        """Return parameter derivatives (C, p, Q) of the log-odds against the first answer."""

    def _from_first(self, parameters: FloatArray) -> FloatArray:
        """Return the slope of each answer category (J, C); the slope of the first is zero."""
        return np.column_stack([np.zeros(len(parameters)), self.multipliers(parameters)])

    def _started(
        self, shares: FloatArray, signs: FloatArray, slopes: FloatArray, reach: float
    ) -> FloatArray:
        """Return starting slopes, smaller for more answer categories, and starting intercepts."""
        shares = np.clip(shares, 1e-4, 1.0)
        logits = np.log(shares[:, 1:] / shares[:, :1])
        return np.column_stack([signs[:, None] * slopes / max(1.0, 0.7 * reach), logits])

    def log_probabilities(self, parameters: FloatArray, nodes: FloatArray) -> FloatArray:
        return loglinear_logs(parameters, self._design(nodes))

    def scores(self, parameters: FloatArray, nodes: FloatArray) -> FloatArray:
        design = self._design(nodes)
        p = np.exp(loglinear_logs(parameters, design))
        mean = np.einsum("jcq,cpq->jpq", p, design)
        return np.asarray(design - mean[:, None])

    def moments(
        self, parameters: FloatArray, nodes: FloatArray, counts: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        return loglinear_moments(parameters, self._design(nodes), counts)

    def gradient(
        self, parameters: FloatArray, nodes: FloatArray, counts: FloatArray
    ) -> FloatArray:
        design = self._design(nodes)
        p = np.exp(loglinear_logs(parameters, design))
        rest = counts - counts.sum(axis=1, keepdims=True) * p
        return np.asarray(np.einsum("jcq,cpq->jp", rest, design, optimize=True))

    def information(self, parameters: FloatArray, nodes: FloatArray) -> FloatArray:
        p = np.exp(self.log_probabilities(parameters, nodes))
        by_answer = self._from_first(parameters)
        mean = np.einsum("jcq,jc->jq", p, by_answer)
        return np.asarray(np.einsum("jcq,jc->jq", p, by_answer**2) - mean**2)

    def by_ability(self, parameters: FloatArray, abilities: FloatArray) -> Curves:
        logs = self.log_probabilities(parameters, abilities)
        return loglinear_by_ability(logs, self._from_first(parameters))


@dataclass(frozen=True, slots=True)
class PartialCredit(_LogLinear):
    """Muraki's generalized partial credit model."""

    # Credits are differences of codes, so that an unused answer does not change the credits of
    # higher answers.

    @property
    def _credit(self) -> FloatArray:
        """Credit of each answer: difference between its code and the lowest code (C,)."""
        codes = np.array(self.codes or range(self.n_categories), dtype=np.float64)
        return np.asarray(codes - codes[0])

    def _design(self, nodes: FloatArray) -> FloatArray:
        return loglinear_design(self.n_categories, nodes, credit=self._credit)

    def multipliers(self, parameters: FloatArray) -> FloatArray:
        """Return the slope times the credit of each answer except the first (J, C - 1)."""
        return np.asarray(parameters[:, :1] * self._credit[1:])

    def start(self, shares: FloatArray, signs: FloatArray) -> FloatArray:
        return self._started(shares, signs, np.ones(1), float(self._credit[-1]))

    def step_design(self) -> FloatArray:
        """Return the matrix that converts intercepts to their differences per unit of credit."""
        size = self.n_categories - 1
        design = np.eye(size) - np.diag(np.ones(size - 1), -1)
        return np.asarray(design / np.diff(self._credit)[:, None])

    def even_odds(self, parameters: FloatArray) -> FloatArray:
        # Bisection is possible because P(y >= c) increases with slope * ability.
        items, answers = parameters.shape
        steps = answers - 1
        intercepts = np.column_stack([np.zeros(items), parameters[:, 1:]])[:, :, None]
        credit = self._credit[:, None]
        low, high = np.full((items, steps), -FURTHEST), np.full((items, steps), FURTHEST)
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)  # middle of the bracket of slope * ability
            eta = credit * middle[:, None] + intercepts  # (J, C, steps)
            p = np.exp(eta - eta.max(axis=1, keepdims=True))
            above = np.stack([p[:, c:, c - 1].sum(axis=1) for c in range(1, answers)], axis=1)
            beyond = above / p.sum(axis=1) > 0.5
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        slope = np.where(parameters[:, :1] == 0.0, np.nan, parameters[:, :1])
        return np.asarray(0.5 * (low + high) / slope)


@dataclass(frozen=True, slots=True)
class Nominal(_LogLinear):
    """Bock's nominal model, with a slope and an intercept for every answer except the first."""

    @property
    def priors(self) -> tuple[str, ...]:
        return ("answer_slope", "intercept")

    @property
    def n_slopes(self) -> int:
        """Number of slopes: one for each answer except the first."""
        return self.n_categories - 1

    @property
    def names(self) -> tuple[str, ...]:
        steps = range(1, self.n_categories)
        return (*(f"slope_{c}" for c in steps), *(f"intercept_{c}" for c in steps))

    @property
    def coordinates(self) -> Coordinates:
        return Coordinates(tuple(name.replace("slope", "answer_slope") for name in self.names))

    @property
    def ordered(self) -> bool:
        return False

    def _design(self, nodes: FloatArray) -> FloatArray:
        return loglinear_design(self.n_categories, nodes)

    def multipliers(self, parameters: FloatArray) -> FloatArray:
        """Return the slopes (J, C - 1)."""
        return parameters[:, : self.n_slopes]

    def start(self, shares: FloatArray, signs: FloatArray) -> FloatArray:
        top = self.n_slopes
        return self._started(shares, signs, np.arange(1.0, top + 1), top)

    def answer_scores(self, parameters: FloatArray) -> FloatArray:
        # The sum of the slopes of the answers is sufficient for the ability.
        return self._from_first(parameters)

    def even_odds(self, parameters: FloatArray) -> FloatArray:
        return np.full((len(parameters), self.n_categories - 1), np.nan)


SEVERAL_ANSWERS: dict[str, type[_Polytomous]] = {
    "graded": Graded,
    "gpcm": PartialCredit,
    "nominal": Nominal,
}
