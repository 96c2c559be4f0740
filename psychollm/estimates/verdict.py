r"""Verdicts: conclusions from an interval.

An interval that covers the null value does not establish equality. Eight answers with an AUROC of
.73 [.24, .96] are compatible with no discrimination and with nearly perfect discrimination. With
:math:`\theta_0` the null value and :math:`\delta` the smallest effect of interest, an interval
[L, U] has one of three outcomes:

* *negligible*: :math:`\theta_0 - \delta < L` and :math:`U < \theta_0 + \delta`.
* *significant*: otherwise, if :math:`L > \theta_0` or :math:`U < \theta_0`.
* *inconclusive*: neither condition is met.

An adjusted p-value of at most :math:`\alpha` can replace the condition for a significant effect. A
negligible effect is smaller than the smallest effect of interest, even if it differs significantly
from zero. "Negligible" is the result of an equivalence test (Schuirmann, 1987). Two one-sided
tests at 5 % correspond to a 90 % interval. The printed interval has a level of 95 %, so each test
has a level of 2.5 %. At most one in forty effects of size :math:`\delta` is called negligible, and
one in twenty null effects is called significant.

References
----------
Schuirmann, D. J. (1987). A comparison of the two one-sided tests procedure and the power approach
for assessing the equivalence of average bioavailability. Journal of Pharmacokinetics and
Biopharmaceutics, 15, 657-680. https://doi.org/10.1007/BF01068419

Lakens, D., Scheel, A. M., & Isager, P. M. (2018). Equivalence testing for psychological research:
A tutorial. Advances in Methods and Practices in Psychological Science, 1, 259-269.
https://doi.org/10.1177/2515245918770963
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.checks import LARGEST, check_number, check_share, float_array
from psychollm._base.errors import OptionError, ShapeError
from psychollm._base.numbers import count
from psychollm._base.types import FloatArray

if TYPE_CHECKING:
    from psychollm.estimates.estimate import Estimate

# Largest possible values of effects whose maximum is not 1.
_MOST = {"auroc": 0.5, "rmsea": LARGEST}
FEWEST = 10  # smallest number of units for which coverage was simulated


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallestEffects:
    """Smallest effects of interest, by quantity; smaller effects count as negligible.

    The defaults are conventions. Set the smallest effects to the effects that matter in your
    application: ``panel.summary(smallest=SmallestEffects(auroc=0.1))``.

    Parameters
    ----------
    auroc : float
        Distance of the AUROC from one half; by default .05. Cohen's small effect d = .2
        corresponds to an AUROC of .556.
    share : float
        Rates, proportions, accuracies, mean confidence, and differences between them; by default
        .05. Three percentage points are .03. For differences of scores that are not between 0 and
        1, `share` is a proportion of the range of the scores.
    brier : float
        Differences in Brier scores; by default .01.
    calibration_error : float
        Binned or smooth calibration error beyond its expectation under calibration; by default
        .02.
    correlation : float
        Cohen's small effect.
    r_squared : float
        Cohen's small effect, f squared = .02.
    kappa : float
        Chance-corrected agreement.
    second_share : float
        Proportion of the latent variance that a second factor explains. In simulations, the
        proportion for a second factor was below .02 for one factor with skewness, heavy tails or
        logistic noise, and at least .026 for two factors with a correlation of .9
        (``validation/one_factor_departures.py``).
    rmsea : float
        Misfit per degree of freedom of a model, or of equalities between groups; by default close
        fit (Browne and Cudeck, 1993).

    Raises
    ------
    OptionError
        If a value is not positive, or exceeds the largest possible effect.

    References
    ----------
    Cohen, J. (1988). Statistical power analysis for the behavioral sciences (2nd ed.). Erlbaum.

    Browne, M. W., & Cudeck, R. (1993). Alternative ways of assessing model fit. In K. A. Bollen &
    J. S. Long (Eds.), Testing structural equation models (pp. 136-162). Sage.

    Examples
    --------
    >>> SmallestEffects(auroc=0.1).auroc, SmallestEffects().share
    (0.1, 0.05)
    """

    auroc: float = 0.05
    share: float = 0.05
    brier: float = 0.01
    calibration_error: float = 0.02
    correlation: float = 0.1
    r_squared: float = 0.02
    kappa: float = 0.05
    second_share: float = 0.025
    rmsea: float = 0.05

    def __post_init__(self) -> None:
        for field in fields(self):
            name, value = f"smallest effect {field.name}", getattr(self, field.name)
            check_share(name, value, high=_MOST.get(field.name, 1.0))

    @property
    def changed(self) -> tuple[str, ...]:
        """Names of the quantities that differ from the defaults."""
        return tuple(
            field.name for field in fields(self) if getattr(self, field.name) != field.default
        )

    def with_values(self, values: Mapping[str, float]) -> "SmallestEffects":
        """Return a copy with some values replaced, by name.

        Parameters
        ----------
        values : mapping of str to float
            New smallest effects of interest, by field name.

        Raises
        ------
        OptionError
            If the quantity does not exist, or a value is not positive or too large.

        Examples
        --------
        >>> SmallestEffects().with_values({"kappa": 0.1}).kappa
        0.1
        """
        known = [field.name for field in fields(self)]
        for name in values:
            if name not in known:
                msg = f"smallest effect {name!r} does not exist: use one of {', '.join(known)}"
                raise OptionError(msg)
        return replace(self, **values)


SMALLEST = SmallestEffects()


class Outcome(StrEnum):
    """Conclusion from an interval.

    Examples
    --------
    >>> Outcome.ABOVE.shown, Outcome.SMALL.shown, str(Outcome.OPEN)
    (True, False, 'inconclusive')
    """

    ABOVE = "above"
    BELOW = "below"
    SMALL = "negligible"
    OPEN = "inconclusive"
    APART = "no common questions"

    @property
    def shown(self) -> bool:
        """Whether the effect is significant and not negligible."""
        return self in {Outcome.ABOVE, Outcome.BELOW}


def outcome(
    interval: FloatArray | Sequence[float],
    *,
    smallest: float,
    null: float = 0.0,
    rejected: bool | None = None,
    enough: bool = True,
) -> Outcome:
    """Return the conclusion from an interval: significant, negligible or inconclusive.

    Parameters
    ----------
    interval : (2,)
        Lower and upper bound; a NaN makes the outcome inconclusive.
    smallest : float
        Smallest effect of interest, as a distance from `null`.
    null : float
        Null value, which corresponds to no effect.
    rejected : bool, optional
        Whether a test rejects `null`, for example after adjustment for several models. By default,
        the interval determines the outcome.
    enough : bool
        Whether there are enough units for a valid interval; otherwise the outcome is inconclusive.

    Returns
    -------
    Outcome
        Conclusion from the interval.

    Raises
    ------
    ShapeError
        If the interval does not have two bounds.
    OptionError
        If `smallest` is negative.

    Examples
    --------
    >>> outcome([0.24, 0.96], null=0.5, smallest=0.05)
    <Outcome.OPEN: 'inconclusive'>
    >>> outcome([0.49, 0.52], null=0.5, smallest=0.05)
    <Outcome.SMALL: 'negligible'>
    >>> outcome([0.61, 0.72], null=0.5, smallest=0.05)
    <Outcome.ABOVE: 'above'>
    """
    bounds = float_array(interval, "interval")
    if bounds.shape != (2,):
        msg = f"interval has shape {bounds.shape}: pass the lower and the upper bound"
        raise ShapeError(msg)
    low, high = bounds - check_number("null", null)
    check_number("smallest", smallest, low=0.0)
    if not enough or not np.isfinite(low + high):
        return Outcome.OPEN
    if -smallest < low and high < smallest:
        return Outcome.SMALL
    apart = low > 0.0 or high < 0.0 if rejected is None else rejected
    if not apart:
        return Outcome.OPEN
    return Outcome.ABOVE if low + high > 0.0 else Outcome.BELOW


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Outcomes for several labels, for example one outcome per model."""

    labels: tuple[Any, ...]
    outcomes: tuple[Outcome, ...]

    def which(self, wanted: Outcome) -> list[str]:
        """Return the labels with the given outcome."""
        both = zip(self.labels, self.outcomes, strict=True)
        return [str(label) for label, outcome in both if outcome is wanted]

    def count(self, wanted: Outcome) -> int:
        """Return the number of labels with the given outcome."""
        return sum(outcome is wanted for outcome in self.outcomes)


def verdicts(
    estimate: "Estimate",
    *,
    smallest: float,
    null: float = 0.0,
    rejected: Sequence[bool] | None = None,
    fewest: int = FEWEST,
) -> Verdicts:
    """Return the conclusion from the interval of each model."""
    # With clusters, intervals require at least the degrees of freedom of `fewest` clusters of
    # equal size.
    enough = np.asarray(estimate.n >= fewest, dtype=np.bool_)
    if estimate.df is not None:
        enough &= estimate.df >= fewest - 1
    rows = range(len(estimate.labels))
    return Verdicts(
        estimate.labels,
        tuple(
            outcome(
                estimate.interval[row],
                smallest=smallest,
                null=null,
                rejected=None if rejected is None else bool(rejected[row]),
                enough=bool(enough[row]),
            )
            for row in rows
        ),
    )


def counted(
    verdicts: Verdicts,
    words: Mapping[Outcome, tuple[str, str]],
    *,
    kind: str = "model",
    named: Outcome | None = Outcome.BELOW,
    whether: str = "",
) -> str:
    """State how many models have each outcome; `words` gives a verb phrase per outcome."""
    # Models with the outcome `named` are listed by label. The words for inconclusive models are
    # fixed; if all models are inconclusive, `whether` states the question.
    parts: list[str] = []
    for one in (Outcome.ABOVE, Outcome.BELOW, Outcome.SMALL):
        n = verdicts.count(one)
        if n and one in words:
            whole = "" if parts else _of_all(n, len(verdicts.labels), kind)
            who = f" ({names_of(verdicts.which(one))})" if one is named else ""
            parts.append(f"{whole or n}{who} {words[one][n > 1]}")
    text = _listed(parts, ", and ")
    n = verdicts.count(Outcome.OPEN)
    if not n:
        return text
    if parts:
        return f"{text}; {inconclusive(n, kind)}"
    whom = _of_all(n, len(verdicts.labels), kind)
    if not whether:
        return f"the results are inconclusive for {whom}"
    return f"for {whom} it is unclear {whether}"


def _listed(parts: Sequence[str], last: str) -> str:
    """Join parts with commas, and add the last part with the separator `last`."""
    return last.join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def inconclusive(n: int, kind: str = "model") -> str:
    """Return the clause that reports `n` results as inconclusive."""
    if n == 1:
        return f"the result for the other {kind} is inconclusive"
    return f"the results for the other {count(n)} {kind}s are inconclusive"


def _of_all(n: int, total: int, kind: str) -> str:
    if total == 1:
        return f"the {kind}"
    return every(n, kind) if n == total else f"{n} of {total} {kind}s"


def judged_pairs(judged: Verdicts, *, within: str = "") -> str:
    """Return a sentence with the numbers of different, equivalent and inconclusive pairs."""
    equivalent = f"equivalent ({within})" if within else "equivalent"
    pairs = len(judged.outcomes)
    if pairs == 1:
        return f"The two are {equivalent}." if judged.count(Outcome.SMALL) else ""
    shown = sum(one.shown for one in judged.outcomes)
    small, few, apart = map(judged.count, (Outcome.SMALL, Outcome.OPEN, Outcome.APART))
    differ = "differs" if shown == 1 else "differ"
    parts = [f"{count(shown)} {differ} significantly"] if shown else []
    if not shown and not small:  # a significant difference may be equivalent to zero
        parts = ["none differs significantly"]
    if small:
        parts.append(f"{count(small)} {'is' if small == 1 else 'are'} {equivalent}")
    if apart:
        parts.append(f"{count(apart)} {'has' if apart == 1 else 'have'} no common questions")
    if few:
        parts.append(f"{count(few)} {'is' if few == 1 else 'are'} inconclusive")
    return f"Of {count(pairs)} pairs of models, {_listed(parts, ' and ')}."


def every(n: int, kind: str) -> str:
    """Return a phrase such as ``both models`` or ``all 3 models``."""
    return f"both {kind}s" if n == 2 else f"all {n} {kind}s"


def futile(n: int, units: str, cannot: str, least: int) -> str:
    """Return the sentence for cases in which no result can be significant."""
    return f"With {count(n)} {units}, no {cannot}: at least {count(least)} {units} are needed"


def quoted(name: Any) -> str:
    """Return a name, in quotation marks if it contains a comma."""
    return f"'{name}'" if "," in str(name) else str(name)


def names_of(labels: Sequence[str], *, most: int = 3) -> str:
    """Return the first labels, and the number of further labels."""
    more = len(labels) - most
    return ", ".join(labels[:most]) + (f" and {more} more" if more > 0 else "")
