r"""Interface of item models, and the models of binary items.

A family computes log-probabilities of answers from the parameters of items (J, p), and the
gradient and information of expected counts. Everything else (quadrature, EM, Newton, standard
errors, scores) is the same for all models.

Models of binary items with the curve in equation (1) of `psychollm.kernels.response_models` are
entries of `YES_OR_NO`. Any other model is a class derived from `Family`, as in
`psychollm.irt.polytomous`. No other code checks the name of a model.

References
----------
San Martin, E., Rolin, J.-M., & Castro, L. M. (2013). Identification of the 1PL model with guessing
parameter: Parametric and semi-parametric results. Psychometrika, 78(2), 341-379.
https://doi.org/10.1007/s11336-013-9322-8
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, Self, TypeAlias

import numpy as np

from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.irt.item_coordinates import (
    Coordinates,
    LogSlopes,
    difficulties,
    kappa_of,
    logistic_with_error,
    points_and_roots,
)
from psychollm.irt.priors import Priors
from psychollm.kernels.response_models import (
    asymptotes,
    count_moments,
    first_derivatives,
    linear,
    slope_of_curve,
    softplus,
    yes_no,
)

Link: TypeAlias = Literal["logit", "probit"]
Model: TypeAlias = str  # a name in `psychollm.irt.models.MODELS`
Curves: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]
Columns: TypeAlias = dict[str, FloatArray]
Codes: TypeAlias = tuple[int, ...]  # codes of the answers to an item, increasing

ALL_PRESENT = np.zeros((1, 1), dtype=np.bool_)
ALL_PRESENT.setflags(write=False)
CHUNK = 400_000  # cells of an (items, nodes) table per block, to fit in the cache
PROBIT_UNIT = 1.7  # ratio of logistic to probit slopes


class Family(ABC):
    """Interface of an item model, for J items with C answers and p parameters at Q nodes."""

    __slots__ = ()

    links: ClassVar[tuple[Link, ...]] = ("logit", "probit")
    yes_or_no: ClassVar[bool] = False

    model: str
    link: Link
    n_categories: int

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of the parameters of one item."""

    @property
    @abstractmethod
    def priors(self) -> tuple[str, ...]:
        """Names of the `Priors` of the parameters."""

    @property
    @abstractmethod
    def coordinates(self) -> Coordinates:
        """Coordinates whose distribution over items has the same form on any ability scale."""

    @property
    def tied(self) -> bool:
        """Whether all items share one slope, the first parameter."""
        return False

    @property
    def unit_slope(self) -> bool:
        """Whether slopes are reported as 1 and the common slope as the SD of abilities."""
        return False

    @property
    def ordered(self) -> bool:
        """Whether answers are ordered, so that difficulties and thresholds exist."""
        return True

    @property
    @abstractmethod
    def bounds(self) -> FloatArray:
        """Largest allowed absolute values of the parameters (p,) or (J, p)."""

    @property
    def absent(self) -> BoolArray:
        """Mask of parameters that items lack, (J, p); (1, 1) if every item has all parameters."""
        return ALL_PRESENT

    @property
    def asymptotes(self) -> BoolArray:
        """Mask of the parameters that are logits of asymptotes, (1, p) or (J, p)."""
        return np.zeros((1, len(self.names)), dtype=np.bool_)

    @property
    def exponential(self) -> bool:
        """Whether log-odds are linear in slope and intercept, which simplifies the information."""
        return False

    def select(self, items: IntArray | slice) -> Self:
        """Return the family of the selected items; `self` if all items are of one kind."""
        return self

    def restriction(self, codes: IntArray) -> FloatArray:
        """Return the matrix (p', p) that maps parameters to an item with answers `codes`."""
        return np.eye(len(self.names))

    @abstractmethod
    def prior_arrays(self, priors: Priors) -> tuple[FloatArray, FloatArray]:
        """Return prior means and precisions of the parameters, (p,) or (J, p)."""

    @abstractmethod
    def start(self, shares: FloatArray, signs: FloatArray) -> FloatArray:
        """Return starting values (J, p) from proportions of answers (J, C) and signs (J,)."""

    @abstractmethod
    def log_probabilities(self, parameters: FloatArray, nodes: FloatArray) -> FloatArray:
        """Return log probabilities (J, C, Q)."""

    def contrasts(
        self, parameters: FloatArray, nodes: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return summed log P(answer 0) (Q,), and log odds against answer 0 (J*(C-1), Q)."""
        logs = self.log_probabilities(parameters, nodes)
        odds = logs[:, 1:] - logs[:, :1]
        return logs[:, 0].sum(axis=0), odds.reshape(-1, logs.shape[2])

    @abstractmethod
    def scores(self, parameters: FloatArray, nodes: FloatArray) -> FloatArray:
        """Return derivatives (J, C, p, Q) of log probabilities with respect to the parameters."""

    @abstractmethod
    def moments(
        self, parameters: FloatArray, nodes: FloatArray, counts: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return gradient (J, p), observed and expected information (J, p, p), given counts."""

    def gradient(
        self, parameters: FloatArray, nodes: FloatArray, counts: FloatArray
    ) -> FloatArray:
        """Return only the gradient (J, p) of the log-likelihood of counts."""
        return self.moments(parameters, nodes, counts)[0]

    def points(
        self, parameters: FloatArray, covariance: FloatArray, pairs: int | None = None
    ) -> FloatArray:
        """Return sigma points (S, J, p) with the given means and covariances (J, p, p)."""
        if not self.tied:
            return points_and_roots(parameters, covariance, pairs)[0]
        points = points_and_roots(parameters[:, 1:], covariance[:, 1:, 1:], pairs)[0]
        slope = np.broadcast_to(parameters[:, :1], (*points.shape[:2], 1))
        return np.concatenate([slope, points], axis=2)

    @abstractmethod
    def information(self, parameters: FloatArray, nodes: FloatArray) -> FloatArray:
        """Return the information about the ability (J, Q)."""

    @abstractmethod
    def by_ability(self, parameters: FloatArray, abilities: FloatArray) -> Curves:
        """Return curves of all answers and their first two ability derivatives, (J, C, n) each."""

    @abstractmethod
    def rescaled(self, parameters: FloatArray, mean: float, sd: float) -> FloatArray:
        """Return parameters for an ability measured from `mean` in units of `sd`."""

    def answer_scores(self, parameters: FloatArray) -> FloatArray:
        """Return the score of each answer (J, C): its code, or its slope for unordered answers."""
        return np.tile(np.arange(self.n_categories, dtype=np.float64), (len(parameters), 1))

    @abstractmethod
    def step_intercepts(self, parameters: FloatArray) -> FloatArray:
        """Return the intercepts of the steps between neighbouring answer categories (J, C - 1)."""

    @abstractmethod
    def even_odds(self, parameters: FloatArray) -> FloatArray:
        """Return abilities (J, C - 1) at which P(answer >= c) is 1/2, or NaN."""

    @abstractmethod
    def columns(self, parameters: FloatArray, covariance: FloatArray, held: BoolArray) -> Columns:
        """Return estimates and standard errors by attribute name; NaN where `held` is True."""


ASYMPTOTES = ("guessing", "upper")  # in the order of the parameters


@dataclass(frozen=True, slots=True)
class YesOrNo:
    """Model of binary items, defined by its asymptotes and shared parameters."""

    asymptotes: tuple[str, ...] = ()
    one_slope: bool = False
    unit_slope: bool = False

    def __post_init__(self) -> None:
        # Asymptotes are passed to the curve by position: the third parameter is always the lower
        # one.
        if self.asymptotes != ASYMPTOTES[: len(self.asymptotes)]:
            msg = (
                f"asymptotes={self.asymptotes!r} must be (), {ASYMPTOTES[:1]} or {ASYMPTOTES}: "
                "derive a class from Family for other curves"
            )
            raise ValueError(msg)


YES_OR_NO = {
    "rasch": YesOrNo(one_slope=True, unit_slope=True),
    "1pl": YesOrNo(one_slope=True),
    "1plg": YesOrNo(("guessing",), one_slope=True),
    "2pl": YesOrNo(),
    "3pl": YesOrNo(("guessing",)),
    "4pl": YesOrNo(("guessing", "upper")),
}
START = {"guessing": -1.5, "upper": 3.0}  # logits of asymptotes


@dataclass(frozen=True, slots=True)
class Dichotomous(Family):
    """Binary items with a logistic or normal curve: the models of `YES_OR_NO`."""

    model: Model
    link: Link

    yes_or_no: ClassVar[bool] = True
    n_categories: ClassVar[int] = 2  # type: ignore[misc]

    @property
    def _kind(self) -> YesOrNo:
        return YES_OR_NO[self.model]

    @property
    def names(self) -> tuple[str, ...]:
        return ("slope", "intercept", *(f"logit_{name}" for name in self._kind.asymptotes))

    @property
    def priors(self) -> tuple[str, ...]:
        own = () if self.tied else ("slope",)
        return (*own, "intercept", *self._kind.asymptotes)

    @property
    def coordinates(self) -> Coordinates:
        own = ("intercept",) if self.tied else ("slope", "easiness")
        names = (*own, *self.names[2:])
        return Coordinates(names, 1) if self.tied else LogSlopes(names, 0, kappa_of(self.link))

    @property
    def tied(self) -> bool:
        return self._kind.one_slope

    @property
    def unit_slope(self) -> bool:
        return self._kind.unit_slope

    @property
    def asymptotes(self) -> BoolArray:
        return np.arange(len(self.names))[None] >= 2

    @property
    def exponential(self) -> bool:
        return self.link == "logit" and len(self.names) == 2

    @property
    def bounds(self) -> FloatArray:
        return np.array([25.0, 75.0, 12.0, 12.0])[: len(self.names)]

    def prior_arrays(self, priors: Priors) -> tuple[FloatArray, FloatArray]:
        return priors.arrays(("slope", "intercept", *self._kind.asymptotes))

    def start(self, shares: FloatArray, signs: FloatArray) -> FloatArray:
        rates = shares[:, 1]
        logits = np.log(rates / (1.0 - rates))
        scale = 1.0 if self.link == "logit" else 1.0 / PROBIT_UNIT
        columns = [signs * scale, 1.15 * logits * scale]
        columns += [np.full(rates.size, START[name]) for name in self._kind.asymptotes]
        return np.stack(columns, axis=1)

    def log_probabilities(self, parameters: FloatArray, nodes: FloatArray) -> FloatArray:
        if self.exponential:
            z = linear(parameters, nodes)
            return -np.stack([softplus(z), softplus(-z)], axis=1)
        yes, no = yes_no(parameters, nodes, self.link)
        return np.log(np.stack([no, yes], axis=1))

    def contrasts(
        self, parameters: FloatArray, nodes: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
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
        yes, no = yes_no(parameters, nodes, self.link)
        first = first_derivatives(parameters, nodes, self.link)
        return np.stack([-first / no[:, None], first / yes[:, None]], axis=1)

    def moments(
        self, parameters: FloatArray, nodes: FloatArray, counts: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        size, p = parameters.shape
        gradient = np.empty((size, p))
        observed, expected = np.empty((size, p, p)), np.empty((size, p, p))
        for part in chunks(size, nodes.size):
            gradient[part], observed[part], expected[part] = count_moments(
                parameters[part], nodes, self.link, counts[part, 1], counts[part, 0]
            )
        return gradient, observed, expected

    def information(self, parameters: FloatArray, nodes: FloatArray) -> FloatArray:
        yes, no = yes_no(parameters, nodes, self.link)
        slope, _ = slope_of_curve(parameters, nodes, self.link)
        return np.asarray(slope**2 / (yes * no), dtype=np.float64)

    def rescaled(self, parameters: FloatArray, mean: float, sd: float) -> FloatArray:
        moved = parameters.copy()
        moved[:, 1] += parameters[:, 0] * mean
        moved[:, 0] *= sd
        return moved

    def by_ability(self, parameters: FloatArray, abilities: FloatArray) -> Curves:
        p, q = yes_no(parameters, abilities, self.link)
        first, second = slope_of_curve(parameters, abilities, self.link)
        return (
            np.stack([q, p], axis=1),
            np.stack([-first, first], axis=1),
            np.stack([-second, second], axis=1),
        )

    def step_intercepts(self, parameters: FloatArray) -> FloatArray:
        return parameters[:, 1:2]

    def even_odds(self, parameters: FloatArray) -> FloatArray:
        # the ability at which P = 1/2; NaN if asymptotes exclude it
        from scipy.special import logit, ndtri

        height = np.zeros((1, 1))
        if parameters.shape[1] > 2:
            low, _, high, _ = asymptotes(parameters)
            with np.errstate(invalid="ignore", divide="ignore"):
                share = (0.5 - low) / (high - low)
            share = np.where((share > 0.0) & (share < 1.0), share, np.nan)
            height = np.asarray(logit(share) if self.link == "logit" else ndtri(share))
        slope = np.where(parameters[:, :1] == 0.0, np.nan, parameters[:, :1])
        return np.asarray((height - parameters[:, 1:2]) / slope)

    def columns(self, parameters: FloatArray, covariance: FloatArray, held: BoolArray) -> Columns:
        shown = np.where(held, np.nan, parameters)
        slope, intercept = shown[:, 0], shown[:, 1]
        variances = np.einsum("jpp->jp", covariance)
        se = np.sqrt(np.where(variances > 0.0, variances, np.nan))
        se_slope = se[:, 0]
        if self.unit_slope:
            slope, se_slope = np.ones(slope.size), np.zeros(slope.size)
            difficulty, se_difficulty = -intercept, se[:, 1]
        else:
            difficulty, se_difficulty = difficulties(slope, intercept, covariance)
        columns = {
            "slope": slope,
            "intercept": intercept,
            "difficulty": difficulty,
            "se_slope": se_slope,
            "se_intercept": se[:, 1],
            "se_difficulty": se_difficulty,
            "steps": intercept[:, None],
            "se_steps": se[:, 1:2],
        }
        for k, name, missing in ((2, "guessing", 0.0), (3, "upper", 1.0)):
            columns[name] = np.full(slope.size, missing)
            columns[f"se_{name}"] = np.full(slope.size, np.nan)
            if parameters.shape[1] > k:
                columns[name], columns[f"se_{name}"] = logistic_with_error(
                    parameters[:, k], se[:, k]
                )
        return columns


def chunks(items: int, nodes: int) -> list[slice]:
    """Return slices of items whose (items, nodes) tables fit in the cache."""
    step = max(1, CHUNK // nodes)
    return [slice(low, min(low + step, items)) for low in range(0, items, step)]
