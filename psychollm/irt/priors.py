r"""Weak priors of item parameters, to keep estimates finite with few respondents.

With n models as respondents the information about a slope is about n/6. With 24 models, an item
can separate low from high abilities perfectly, and then its slope has no finite estimate. Normal
priors are defined on the logit scale; for the probit link, slopes and intercepts are divided by
1.7. A prior with mean m and SD s adds

.. math:: -\frac{(x - m)^2}{2 s^2}

to the log-likelihood of a parameter x. The prior of slopes is normal and not lognormal, because
miskeyed items have negative slopes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from psychollm._base.errors import OptionError
from psychollm._base.types import BoolArray, FloatArray

FEW = 500
POPULATION = 10  # fewest items from which their distribution is estimated
PROBIT_SCALE = 1.7
KAPPA = 0.25  # coordinates of smaller logit slopes are linear instead of logarithmic
OFF_SCALE = 0.05  # summaries warn of larger deviations of the abilities' SD from 1
FEW_RESPONDENTS = 20  # with fewer respondents, the median estimated slope is 4 to 5 % too large
WIDE = 5.0  # with a larger SD of easiness, almost all respondents agree on most items
TYPICAL = {"slope": (0.4, 8.0), "gap": (0.5, 3.0), "answer_slope": (1.0, 3.0)}
TYPICAL_LOCATION = (1.2, 3.0)
GUESSING = {
    (25, 150): (94, 93),
    (30, 300): (93, 93),
    (50, 200): (93, 94),
}  # simulated coverage (slopes, intercepts) of 95 % intervals by (respondents, items)
Normal = tuple[float, float]
NAMES = ("slope", "intercept", "guessing", "upper", "answer_slope")


@dataclass(frozen=True, slots=True, kw_only=True)
class Priors:
    """Normal priors (mean, SD) of item parameters; None means no prior.

    Parameters
    ----------
    slope, intercept : (mean, sd) or None
        Priors of slopes and intercepts, on the scale of the link.
    guessing, upper : (mean, sd) or None
        Priors of asymptotes on the logit scale, for the 3PL and 4PL. With (-1.4, 0.7), the prior
        median of the asymptote is 0.2.
    answer_slope : (mean, sd) or None
        Prior of the answers' slopes in the nominal model, in place of `slope`.

    Raises
    ------
    OptionError
        If a standard deviation is not positive.

    Examples
    --------
    >>> print(Priors(slope=(1.0, 0.75)))
    slope ~ N(1, 0.75)
    """

    slope: Normal | None = None
    intercept: Normal | None = None
    guessing: Normal | None = None
    upper: Normal | None = None
    answer_slope: Normal | None = None

    def __post_init__(self) -> None:
        for name in NAMES:
            prior = getattr(self, name)
            if prior is None:
                continue
            if len(prior) != 2 or not np.isfinite(prior).all() or not prior[1] > 0:
                msg = f"priors: {name}={prior!r} must be (mean, sd) with sd above 0, or None"
                raise OptionError(msg)

    def __str__(self) -> str:
        words = {
            "guessing": "logit guessing",
            "upper": "logit upper",
            "answer_slope": "slope of an answer",
        }
        parts = [
            f"{words.get(name, name)} ~ N({prior[0]:g}, {prior[1]:g})"
            for name in NAMES
            if (prior := getattr(self, name)) is not None
        ]
        return ", ".join(parts) if parts else "none"

    def arrays(self, names: Sequence[str]) -> tuple[FloatArray, FloatArray]:
        """Return prior means and precisions of parameters, with precision 0 if there is no prior.

        Parameters
        ----------
        names : sequence of str
            Name of each parameter's prior.
        """
        priors = [getattr(self, name) for name in names]
        if self.answer_slope is None:
            priors = [
                self.slope if name == "answer_slope" else prior
                for name, prior in zip(names, priors, strict=True)
            ]
        means = np.array([prior[0] if prior else 0.0 for prior in priors])
        return means, np.array([prior[1] ** -2 if prior else 0.0 for prior in priors])


NO_PRIORS = Priors()


def spread_in_words(posterior_sd: float, priors: "Priors | ItemPopulation", other: str) -> str:
    """Return a sentence on the SD of abilities, with a warning and a remedy if it is not 1."""
    line = f"the SD over their posteriors is {posterior_sd:.2f}"
    if abs(posterior_sd - 1.0) <= OFF_SCALE:
        return f"{line}."
    if isinstance(priors, ItemPopulation):
        return f"{line}, because the estimates of some items are imprecise."
    return (
        f"{line}. The fixed priors conflict with this scale, so slopes are not on it: use "
        f"priors=None, or 'auto' with at least {POPULATION} items{other}."
    )


def without_number(name: str) -> str:
    """Return the name of a coordinate without the number of its answer."""
    return name.rstrip("0123456789").rstrip("_")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ItemPopulation:
    """Distribution of items, estimated jointly with the items (`irt.item_population`).

    Attributes
    ----------
    names : tuple of str
        Coordinates. The first coordinate is arsinh(slope / `kappa`), approximately log(2 slope /
        `kappa`). For each step, the next coordinate is intercept / sqrt(slope^2 + kappa^2),
        approximately minus the difficulty. In the graded model, only the first step has a
        coordinate of this form; the other coordinates of steps are log distances between steps.
        The last coordinates are logits of asymptotes. If all items share a slope, or each answer
        has its own slope, the coordinates are the parameters.
    mean, covariance : ndarray of shape (q,) and (q, q)
        Mean and covariance of the coordinates; the moments of asymptotes are fixed.
    kappa : float
        Slope above which the first coordinate is approximately logarithmic.
    n_items : int
        Number of items from which the distribution was estimated; 0 before estimation.
    model, others
        Item model to which this distribution refers, and distributions for other item models.

    Examples
    --------
    >>> from psychollm.irt.models import item_population
    >>> print(item_population("2pl", "logit"))
    normal distribution of items, to be estimated
    """

    names: tuple[str, ...]
    mean: FloatArray  # (q,)
    covariance: FloatArray  # (q, q)
    kappa: float
    n_items: int = 0
    model: str = ""
    others: tuple["ItemPopulation", ...] = ()

    def of(self, model: str) -> "ItemPopulation | None":
        """Return the distribution of the items of a model, or None."""
        every = {population.model: population for population in (self, *self.others)}
        return every.get(model, None if self.model else self)

    @property
    def held(self) -> BoolArray:
        """Mask of the coordinates with a fixed distribution."""
        return np.array([name.startswith("logit") for name in self.names])

    @property
    def typical(self) -> FloatArray:
        """Typical standard deviations in item banks, used as prior values (q,)."""
        return np.array(
            [TYPICAL.get(without_number(name), TYPICAL_LOCATION)[0] for name in self.names]
        )

    @property
    def worth(self) -> FloatArray:
        """Weight of the prior standard deviations, as a number of items (q,)."""
        return np.array(
            [TYPICAL.get(without_number(name), TYPICAL_LOCATION)[1] for name in self.names]
        )

    def cautions(self, n_respondents: int) -> list[str]:
        """Return warnings for this fit, based on simulations (docs/irt_coverage_tables.md)."""
        cautions = []
        for population in self.others:
            cautions += population.cautions(n_respondents)
        n_slopes = sum(without_number(name) == "slope" for name in self.names)
        if n_respondents < FEW_RESPONDENTS and n_slopes:
            share = "5" if n_slopes == 1 else "8"
            cautions.append(
                f"Slopes are about {share} % too large with {n_respondents} respondents."
            )
        if "logit_guessing" in self.names:
            shape = (max(n_respondents, 1), max(self.n_items, 1))
            near = min(GUESSING, key=lambda one: sum(np.log(np.divide(one, shape)) ** 2))
            cautions.append(
                "With guessing, the coverage of 95 % intervals is {} % for slopes and {} % for "
                "intercepts in simulations (guessing near 0.2, {} respondents, {} items).".format(
                    *GUESSING[near], *near
                )
            )
        widths = zip(self.names, np.sqrt(np.diagonal(self.covariance)), strict=True)
        wide = max((sd for name, sd in widths if name.startswith("easiness")), default=0.0)
        if wide > WIDE:
            cautions.append(
                f"The SD of difficulties is {wide:.1f} times that of abilities, so answers cannot "
                "determine extreme difficulties: do not report items that depend on the prior "
                "alone."
            )
        return list(dict.fromkeys(cautions))

    def __str__(self) -> str:
        if not self.n_items:
            return "normal distribution of items, to be estimated"
        sd = np.sqrt(np.diagonal(self.covariance))
        parts = []
        for name, mean, spread in zip(self.names, self.mean, sd, strict=True):
            if name.startswith("slope"):
                middle = self.kappa * np.sinh(mean)
                which = f"{name.replace('_', ' ')}: " if name != "slope" else ""
                parts.append(f"{which}median slope {middle:.2f} (log SD {spread:.2f})")
            elif name.startswith("gap"):
                parts.append(f"{name.replace('_', ' ')} {np.exp(mean):.2f} (log SD {spread:.2f})")
            else:
                parts.append(f"{name.replace('_', ' ')} {mean:.2f} (SD {spread:.2f})")
        own = f"estimated from {self.n_items} {self.model} items: {', '.join(parts)}"
        return "; ".join([own.replace("  ", " "), *map(str, self.others)])
