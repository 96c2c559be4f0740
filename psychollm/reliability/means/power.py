r"""Sample size and power of a comparison of two models.

Let s be the standard error of a difference :math:`\delta`, with :math:`\nu` degrees of freedom. A
two-sided test at level :math:`\alpha` detects the difference with probability

.. math:: P(T \ge t_{1 - \alpha/2}) + P(T \le -t_{1 - \alpha/2}), \qquad
          T \sim t_\nu(\delta / s).                                                      \quad (1)

The statistic T has a noncentral t distribution. With many questions, equation (1) becomes the
formula :math:`\delta = (z_{1-\alpha/2} + z_\text{power})\, s`; with few clusters, more questions
are required. `DifferenceVariance` computes the standard error, which depends on pairing, clusters
and the number of answers per question. More questions are required to show that two models differ
by less than :math:`\delta` (``absence=True``). More questions are also required if the variance is
estimated from a small pilot study (`psychollm.estimates.sample_size`).

References
----------
Miller, E. (2024). Adding error bars to evals. arXiv:2411.00640.

Card, D., Henderson, P., Khandelwal, U., Jia, R., Mahowald, K., & Jurafsky, D. (2020). With little
power comes great responsibility. EMNLP 2020, 9263-9274.
https://doi.org/10.18653/v1/2020.emnlp-main.745
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.checks import (
    LARGEST,
    check_count,
    check_fraction,
    check_number,
    check_share,
    shown,
)
from psychollm._base.errors import OptionError
from psychollm._base.result import Result
from psychollm.estimates.sample_size import POWER, chance, multiple
from psychollm.reliability.means.difference_variance import DifferenceVariance

_MOST_QUESTIONS = 10**12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ComparisonPower(Result):
    """Planned comparison of two models: number of questions, difference and power.

    Examples
    --------
    >>> plan = comparison_power(0.05, 1000, DifferenceVariance(between=0.21))
    >>> print(plan.summary())
    1000 questions detect a difference of 0.05 with probability 0.93 (two-sided test at 0.05;
    standard error 0.0145).
    """

    difference: float
    n_questions: int
    power: float
    se: float  # standard error of the difference
    df: float
    n_answers: int
    alpha: float
    variance: DifferenceVariance
    absence: bool | None = None  # whether `power` refers to a test of equivalence

    def summary(self) -> str:
        """Return one sentence that describes the plan."""
        design = self.variance.design
        questions = f"{self.n_questions} questions" + (" each" if design == "unpaired" else "")
        answers = f" with {self.n_answers} answers to each" if self.n_answers > 1 else ""
        detect, test = "detect", "two-sided test"
        if self.absence:
            detect, test = "exclude", "no true difference; two one-sided tests"
        return (
            f"{questions}{answers} {detect} a difference of {self.difference:.3g} with "
            f"probability {self.power:.2f} ({test} at "
            f"{0.5 * self.alpha if self.absence else self.alpha:g}; standard error {self.se:.3g})."
        )


def comparison_power(
    difference: float,
    n_questions: int,
    variance: DifferenceVariance,
    *,
    n_answers: int = 1,
    alpha: float = 0.05,
    absence: bool = False,
) -> ComparisonPower:
    """Compute the power to detect a difference with a given number of questions.

    Parameters
    ----------
    difference : float
        True difference of the two mean scores; three percentage points are 0.03.
    n_questions : int
        Number of questions that both models answer, or that each model answers if
        ``design="unpaired"``.
    variance : DifferenceVariance
        Result of `pilot_variance` or `assumed_variance`.
    n_answers : int
        Number of answers to each question.
    alpha : float
        Significance level of the two-sided test.
    absence : bool
        If True, compute the power of an equivalence test to show that two equal models differ by
        less than `difference`.

    Returns
    -------
    ComparisonPower
        Plan whose `power` is the result.

    Raises
    ------
    OptionError
        If a value is out of range, the difference exceeds the range of the pilot's scores, or the
        questions form fewer than two clusters.

    Examples
    --------
    >>> round(comparison_power(0.1, 200, DifferenceVariance(between=0.25)).power, 3)
    0.804
    """
    _check_difference(difference, variance)
    return _plan(
        difference, n_questions, variance, n_answers=n_answers, alpha=alpha, absence=absence
    )


def _check_difference(difference: float, variance: DifferenceVariance) -> float:
    delta = check_number("difference", difference)
    if not isinstance(variance, DifferenceVariance):
        msg = (
            f"variance={shown(variance)} is not a DifferenceVariance: pass assumed_variance(...), "
            "or pilot_variance(scores, first, second) from a pilot study"
        )
        raise OptionError(msg)
    if delta:
        check_share("difference", abs(delta), high=min(variance.span, LARGEST))
    return delta


def _plan(
    delta: float,
    n_questions: int,
    variance: DifferenceVariance,
    *,
    n_answers: int,
    alpha: float,
    absence: bool,
) -> ComparisonPower:
    """Return the power to detect a difference, which may exceed the range of the scores."""
    check_fraction("alpha", alpha)
    n, k = check_count("n_questions", n_questions), check_count("n_answers", n_answers)
    if n < 2.0 * variance.cluster_size:
        msg = (
            f"n_questions={n} are fewer than two clusters of {variance.cluster_size:g}: no "
            "standard error"
        )
        raise OptionError(msg)
    df = variance.degrees_of_freedom(n)
    se = variance.standard_error(n, n_answers=k)
    return ComparisonPower(
        difference=float(delta),
        n_questions=n,
        power=_power(delta, se, df, alpha=alpha, absence=absence, pilot=variance.df),
        se=se,
        df=df,
        n_answers=k,
        alpha=alpha,
        variance=variance,
        absence=absence or None,
    )


def minimum_detectable_difference(
    n_questions: int,
    variance: DifferenceVariance,
    *,
    target: float = POWER,
    n_answers: int = 1,
    alpha: float = 0.05,
    absence: bool = False,
) -> ComparisonPower:
    """Compute the smallest difference that n questions detect with a given power.

    Parameters
    ----------
    n_questions : int
        Number of questions that both models answer, or that each model answers if
        ``design="unpaired"``.
    variance : DifferenceVariance
        Result of `pilot_variance` or `assumed_variance`.
    target : float
        Required power, between 0 and 1.
    n_answers : int
        Number of answers to each question.
    alpha : float
        Significance level of the two-sided test.
    absence : bool
        If True, plan an equivalence test to show that two equal models differ by less than
        `difference`.

    Returns
    -------
    ComparisonPower
        Plan whose `difference` is the result. The result may exceed the range of the scores.

    Raises
    ------
    OptionError
        If a value is out of range, or the questions form fewer than two clusters.

    Examples
    --------
    >>> variance = DifferenceVariance(between=0.21)
    >>> round(minimum_detectable_difference(30, variance).difference, 3)
    0.243
    """
    check_fraction("target", target, low=alpha)
    options: dict[str, Any] = {"n_answers": n_answers, "alpha": alpha, "absence": absence}
    start = _plan(0.0, n_questions, variance, **options)
    k = multiple(target, start.df, alpha=alpha, absence=absence, pilot=variance.df)
    return _plan(k * start.se, n_questions, variance, **options)


def questions_needed(
    difference: float,
    variance: DifferenceVariance,
    *,
    target: float = POWER,
    n_answers: int = 1,
    alpha: float = 0.05,
    absence: bool = False,
) -> ComparisonPower:
    """Compute the smallest number of questions needed to detect a difference with a given power.

    Parameters
    ----------
    difference : float
        True non-zero difference of the two mean scores; three percentage points are 0.03.
    variance : DifferenceVariance
        Result of `pilot_variance` or `assumed_variance`.
    target : float
        Required power, between 0 and 1.
    n_answers : int
        Number of answers to each question.
    alpha : float
        Significance level of the two-sided test.
    absence : bool
        If True, plan an equivalence test to show that two equal models differ by less than
        `difference`.

    Returns
    -------
    ComparisonPower
        Plan whose `n_questions` is the result.

    Raises
    ------
    OptionError
        If a value is out of range, the difference exceeds the range of the pilot's scores, or more
        than 10^12 questions would be needed.

    Examples
    --------
    >>> questions_needed(0.05, DifferenceVariance(between=0.21)).n_questions
    662
    """
    check_fraction("target", target, low=alpha)
    delta = _check_difference(difference, variance)
    few = int(np.ceil(2.0 * variance.cluster_size))
    options: dict[str, Any] = {"n_answers": n_answers, "alpha": alpha, "absence": absence}

    def enough(n: int) -> bool:
        return _plan(delta, n, variance, **options).power >= target

    low, high = few - 1, few
    while not enough(high):
        low, high = high, 2 * high
        if high > _MOST_QUESTIONS:
            msg = f"difference={difference!r} is too small: no number of questions detects it"
            raise OptionError(msg)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return _plan(delta, high, variance, **options)


def _power(
    difference: float, se: float, df: float, *, alpha: float, absence: bool, pilot: float
) -> float:
    """Return the probability, equation (1), of detecting a difference, or of excluding it."""
    if se == 0.0:
        return 1.0 if difference != 0.0 else 0.0 if absence else alpha
    return chance(difference / se, df, alpha=alpha, absence=absence, pilot=pilot)
