r"""Weak priors on item parameters: what keeps items finite where respondents are few.

With n models as respondents the information about a slope is about n/6, so that with 24 models an
item that separates them without error has no finite estimate. Normal priors (on the logit scale;
slopes and intercepts are 1.7 times smaller under the probit link) add

.. math:: -\frac{(x - m)^2}{2 s^2}

to the log-likelihood. The prior of slopes is normal, not lognormal: an item scored by the wrong
key has a negative slope, and the prior must let it show.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from psychollm._base.errors import OptionError
from psychollm._base.types import BoolArray, FloatArray

FEW = 500
POPULATION = 10  # items from which their distribution can be estimated
PROBIT_SCALE = 1.7
YES_OR_NO = frozenset({"rasch", "1pl", "2pl", "3pl", "4pl"})
KAPPA = 0.25  # logit slope below which coordinates of items are linear, not logarithmic
TYPICAL = {"slope": (0.4, 8.0)}
TYPICAL_LOCATION = (1.2, 3.0)
Normal = tuple[float, float]
NAMES = ("slope", "intercept", "guessing", "upper", "answer_slope")


@dataclass(frozen=True, slots=True, kw_only=True)
class Priors:
    """Normal priors (mean, standard deviation) of item parameters; None leaves one out.

    Parameters
    ----------
    slope, intercept : (mean, sd) or None
        On the scale of the link.
    guessing, upper : (mean, sd) or None
        On the logit scale, for the 3PL and 4PL: (-1.4, 0.7) has its median at 0.2.
    answer_slope : (mean, sd) or None
        For the slopes of answers of the nominal model, in place of `slope`.

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

    def steps(self, n_slopes: int, n_steps: int) -> tuple[FloatArray, FloatArray]:
        """Return means and precisions (p,) of items with several slopes or intercepts."""
        priors = [self.slope] * n_slopes + [self.intercept] * n_steps
        means = np.array([prior[0] if prior else 0.0 for prior in priors])
        return means, np.array([prior[1] ** -2 if prior else 0.0 for prior in priors])

    def arrays(self, size: int) -> tuple[FloatArray, FloatArray]:
        """Return means (p,) and precisions (p,), 0 where there is no prior."""
        priors = [self.slope, self.intercept, self.guessing, self.upper][:size]
        means = np.array([prior[0] if prior else 0.0 for prior in priors])
        precisions = np.array([prior[1] ** -2 if prior else 0.0 for prior in priors])
        return means, precisions


NO_PRIORS = Priors()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ItemPopulation:
    """Distribution of the items of a table, estimated with them (`irt.item_population`).

    Attributes
    ----------
    names : tuple of str
        Coordinates: arsinh of slope / `kappa`, which is nearly the logarithm of twice that;
        intercept / sqrt(slope^2 + kappa^2), nearly minus the difficulty; logits of asymptotes.
        Where all items share a slope, intercepts themselves.
    mean, covariance : ndarray of shape (q,) and (q, q)
        Of these coordinates; those of asymptotes are given, not estimated.
    kappa : float
        Slopes well above are on a logarithmic scale.
    n_items : int
        Number of items from which it was estimated; 0 before.

    Examples
    --------
    >>> print(item_population("2pl", "logit"))
    items' own distribution, to be estimated
    """

    names: tuple[str, ...]
    mean: FloatArray  # (q,)
    covariance: FloatArray  # (q, q)
    kappa: float
    n_items: int = 0

    @property
    def held(self) -> BoolArray:
        """Which coordinates have a distribution that is given."""
        return np.array([name.startswith("logit") for name in self.names])

    @property
    def typical(self) -> FloatArray:
        """Standard deviations in item banks, which count for `worth` items (q,)."""
        return np.array([TYPICAL.get(name, TYPICAL_LOCATION)[0] for name in self.names])

    @property
    def worth(self) -> FloatArray:
        """Items beside those of the table that tell standard deviations (q,)."""
        return np.array([TYPICAL.get(name, TYPICAL_LOCATION)[1] for name in self.names])

    def __str__(self) -> str:
        if not self.n_items:
            return "items' own distribution, to be estimated"
        sd = np.sqrt(np.diagonal(self.covariance))
        parts = []
        for name, mean, spread in zip(self.names, self.mean, sd, strict=True):
            if name == "slope":
                middle = self.kappa * np.sinh(mean)
                parts.append(f"slopes {middle:.2f} in the middle (log SD {spread:.2f})")
            else:
                parts.append(f"{name.replace('_', ' ')} {mean:.2f} (SD {spread:.2f})")
        return f"estimated from {self.n_items} items: {', '.join(parts)}"


def item_population(model: str, link: str) -> ItemPopulation:
    """Return what is known of items before the table is seen."""
    unit = 1.0 if link == "logit" else 1.0 / PROBIT_SCALE
    kappa = KAPPA * unit
    if model in ("rasch", "1pl"):
        names: tuple[str, ...] = ("intercept",)
        mean, sd = [0.0], [2.0 * unit]
    else:
        names = ("slope", "easiness", "logit_guessing", "logit_upper")
        names = names[: {"3pl": 3, "4pl": 4}.get(model, 2)]
        mean = [float(np.arcsinh(unit / kappa)), 0.0, -1.4, 3.0][: len(names)]
        sd = [0.4, 1.2, 0.7, 0.7][: len(names)]
    return ItemPopulation(
        names=names, mean=np.array(mean), covariance=np.diag(np.square(sd)), kappa=kappa
    )


def default_priors(models: Collection[str], link: str, n_respondents: int) -> Priors:
    """Return fixed priors of items of these models, for where their population is not estimated.

    Below 500 respondents slopes and intercepts get weak priors; asymptotes have one always,
    because hardly any data determine them.

    Examples
    --------
    >>> str(default_priors(["2pl"], "logit", 5_000))
    'none'
    """
    scale = 1.0 if link == "logit" else 1.0 / PROBIT_SCALE
    few = n_respondents < FEW
    one_each = few and not {"rasch", "1pl", "nominal"}.issuperset(models)
    return Priors(
        slope=(1.0 * scale, 0.75 * scale) if one_each else None,
        intercept=(0.0, 2.5 * scale) if few else None,
        guessing=(-1.4, 0.7) if {"3pl", "4pl"}.intersection(models) else None,
        upper=(3.0, 0.7) if "4pl" in models else None,
        answer_slope=(1.0, 2.0) if few and "nominal" in models else None,
    )


def proper(priors: Priors | ItemPopulation, models: Collection[str]) -> bool:
    """Return whether yes-or-no items have a distribution without answers that vary."""
    if isinstance(priors, ItemPopulation):
        return True
    if not YES_OR_NO.issuperset(models):
        return False
    needed = {"intercept"}
    needed |= set() if {"rasch", "1pl"}.issuperset(models) else {"slope"}
    needed |= {"guessing"} if {"3pl", "4pl"} & set(models) else set()
    needed |= {"upper"} if "4pl" in models else set()
    return all(getattr(priors, name) is not None for name in needed)


def chosen_priors(
    priors: object, models: Sequence[str], link: str, n_respondents: int
) -> Priors | ItemPopulation:
    """Return the priors that the argument means.

    Raises
    ------
    OptionError
        If it is nothing known.
    """
    if priors is None:
        return NO_PRIORS
    if isinstance(priors, Priors | ItemPopulation):
        return priors
    if priors == "auto":
        few = n_respondents < FEW and len(models) >= POPULATION
        if few and len(set(models)) == 1 and models[0] in YES_OR_NO:
            return item_population(models[0], link)
        return default_priors(models, link, n_respondents)
    msg = f"priors={priors!r} must be 'auto', None or Priors(slope=(mean, sd), ...)"
    raise OptionError(msg)
