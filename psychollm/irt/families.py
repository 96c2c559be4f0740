r"""Families of item curves: what the fit needs to know about a model.

A family turns the parameters of items (J, p) into log-probabilities of answers and into the
gradient and information of expected counts. Everything else (quadrature, EM, Newton, standard
errors, scores) is the same for all models.
"""

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np

from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.irt.estimates import Columns, difficulties, logistic_with_error
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
Model: TypeAlias = Literal["rasch", "1pl", "2pl", "3pl", "4pl", "graded", "gpcm", "nominal"]
Curves: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]

ALL_PRESENT = np.zeros((1, 1), dtype=np.bool_)
ALL_PRESENT.setflags(write=False)
CHUNK = 400_000  # cells of an (items, nodes) table worked on at once: stays in the cache
START_GUESSING = -1.5
START_UPPER = 3.0


class Family(Protocol):
    """What a model of items offers to the fit, and to what is made of it."""

    @property
    def model(self) -> str:
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
    def ordered(self) -> bool:
        """Whether answers have an order, from which difficulties and thresholds follow."""

    @property
    def bounds(self) -> FloatArray:
        """Largest absolute values of the parameters (p,) or (J, p)."""

    @property
    def absent(self) -> BoolArray:
        """Which of the p parameters an item does not have, (J, p) or (1, 1) if it has all."""

    @property
    def asymptotes(self) -> BoolArray:
        """Which parameters are logits of asymptotes (1, p) or (J, p)."""

    @property
    def exponential(self) -> bool:
        """Whether the log-odds are linear in slope and intercept: a shorter information."""

    def select(self, items: IntArray | slice) -> "Family":
        """Return the family of some of the items."""

    def prior_arrays(self, priors: Priors) -> tuple[FloatArray, FloatArray]:
        """Return prior means and precisions of the parameters, (p,) or (J, p)."""

    def start(self, shares: FloatArray, signs: FloatArray) -> FloatArray:
        """Return parameters to start from (J, p), given shares of answers (J, C), signs (J,)."""

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

    def by_ability(self, parameters: FloatArray, abilities: FloatArray) -> Curves:
        """Return curves of all answers with two derivatives by the ability, (J, C, n) each."""

    def rescaled(self, parameters: FloatArray, mean: float, sd: float) -> FloatArray:
        """Return parameters for an ability measured from `mean` in units of `sd`."""

    def answer_scores(self, parameters: FloatArray) -> FloatArray:
        """Return what each answer counts (J, C): its code, or its slope if not ordered."""

    def step_intercepts(self, parameters: FloatArray) -> FloatArray:
        """Return the intercepts of the steps between answers (J, C - 1)."""

    def even_odds(self, parameters: FloatArray) -> FloatArray:
        """Return abilities at which answers of at least c have even odds, or NaN (J, C - 1)."""

    def columns(self, parameters: FloatArray, covariance: FloatArray, held: BoolArray) -> Columns:
        """Return estimates and errors by the names of the result, NaN where `held` (J, p)."""


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
    def ordered(self) -> bool:
        """Yes comes after no."""
        return True

    @property
    def absent(self) -> BoolArray:
        """No parameter of no item."""
        return ALL_PRESENT

    @property
    def asymptotes(self) -> BoolArray:
        """The third and fourth parameter (1, p)."""
        return np.arange(len(self.names))[None] >= 2

    @property
    def exponential(self) -> bool:
        """Whether the log-odds are linear in slope and intercept."""
        return self.link == "logit" and len(self.names) == 2

    @property
    def bounds(self) -> FloatArray:
        """Largest absolute values of slope, intercept and logits of asymptotes (p,)."""
        return np.array([25.0, 75.0, 12.0, 12.0])[: len(self.names)]

    def select(self, items: IntArray | slice) -> "Dichotomous":
        """Return itself: all items are of one kind."""
        return self

    def prior_arrays(self, priors: Priors) -> tuple[FloatArray, FloatArray]:
        """Return prior means and precisions (p,)."""
        return priors.arrays(len(self.names))

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

    def by_ability(self, parameters: FloatArray, abilities: FloatArray) -> Curves:
        """Return 1 - P and P with two derivatives by the ability (J, 2, n)."""
        p, q = yes_no(parameters, abilities, self.link)
        first, second = slope_of_curve(parameters, abilities, self.link)
        return (
            np.stack([q, p], axis=1),
            np.stack([-first, first], axis=1),
            np.stack([-second, second], axis=1),
        )

    def answer_scores(self, parameters: FloatArray) -> FloatArray:
        """Return 0 and 1 (J, 2)."""
        return np.tile(np.arange(2.0), (parameters.shape[0], 1))

    def step_intercepts(self, parameters: FloatArray) -> FloatArray:
        """Return the intercepts (J, 1)."""
        return parameters[:, 1:2]

    def even_odds(self, parameters: FloatArray) -> FloatArray:
        """Return where P is one half, NaN where the asymptotes leave that out (J, 1)."""
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
        """Return slope, intercept, difficulty and asymptotes with their errors."""
        shown = np.where(held, np.nan, parameters)
        slope, intercept = shown[:, 0], shown[:, 1]
        variances = np.einsum("jpp->jp", covariance)
        se = np.sqrt(np.where(variances > 0.0, variances, np.nan))
        se_slope = se[:, 0]
        if self.model == "rasch":
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
    """Return slices of items whose (items, nodes) tables stay in the cache.

    Examples
    --------
    >>> chunks(3, 400_000)
    [slice(0, 1, None), slice(1, 2, None), slice(2, 3, None)]
    """
    step = max(1, CHUNK // nodes)
    return [slice(low, min(low + step, items)) for low in range(0, items, step)]
