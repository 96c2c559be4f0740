r"""Weak priors on item parameters: what keeps items finite where respondents are few.

With n models as respondents the information about a slope is about n/6, so that with 24 models an
item that separates them without error has no finite estimate. Normal priors (on the logit scale;
slopes and intercepts are 1.7 times smaller under the probit link) add

.. math:: -\frac{(x - m)^2}{2 s^2}

to the log-likelihood. The prior of slopes is normal, not lognormal: an item scored by the wrong
key has a negative slope, and the prior must let it show.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from psychollm._base.errors import OptionError
from psychollm._base.types import FloatArray

FEW = 500
PROBIT_SCALE = 1.7
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


def default_priors(models: Collection[str], link: str, n_respondents: int) -> Priors:
    """Return what is used for items of these models unless the caller says otherwise.

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
