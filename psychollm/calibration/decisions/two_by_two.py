r"""Statistics of 2 x 2 tables, with intervals.

Cells are named as for binary confidence. A yes is a TP if the answer is correct and an FP if it is
wrong; a no is an FN or a TN. The margins yes, no, correct and wrong are Y, N, C and W.

.. math:: \phi = \frac{TP \cdot TN - FP \cdot FN}{\sqrt{Y N C W}}, \qquad
          \kappa = \frac{2 (TP \cdot TN - FP \cdot FN)}{Y W + N C},                     \quad (1)

.. math:: F_\beta = \frac{(1 + \beta^2) TP}{(1 + \beta^2) TP + \beta^2 FN + FP}, \qquad
          J = \frac{TP}{C} - \frac{FP}{W}.                                              \quad (2)

Phi, kappa, F and J do not change if all cells are multiplied by the same number. With :math:`g_i`
the derivative with respect to the cell :math:`n_i`, the delta method therefore gives the variance
in equation (3).

.. math:: \operatorname{Var} = \sum_i n_i\, g_i^2.                                      \quad (3)

Proportions have Wilson's interval, and J has Newcombe's interval, which combines two Wilson
intervals. The yes rate minus accuracy has the interval of Bonett and Price. Intervals of phi and
kappa (on the scale of Fisher's z) and of F (on the scale of log odds) apply the delta method to
the table with half an answer added to each cell. The intervals are widened to include the
estimate, and are defined even with empty cells. With 50 answers, 95 % intervals cover the true
value in 92 to 97 % of data sets. Intervals of the plain delta method cover the true value in as
few as 81 % of data sets.

References
----------
Bonett, D. G., & Price, R. M. (2012). Adjusted Wald confidence interval for a difference of
binomial proportions based on paired data. Journal of Educational and Behavioral Statistics,
37(4), 479-488. https://doi.org/10.3102/1076998611411915

Cohen, J. (1960). A coefficient of agreement for nominal scales. Educational and Psychological
Measurement, 20, 37-46. https://doi.org/10.1177/001316446002000104

Newcombe, R. G. (1998). Interval estimation for the difference between independent proportions:
comparison of eleven methods. Statistics in Medicine, 17, 873-890.

van Rijsbergen, C. J. (1979). Information retrieval (2nd ed.). Butterworths.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from psychollm._base.types import BoolArray, FloatArray
from psychollm.calibration.influence import Gradient, Scale, interval_on, sandwich
from psychollm.calibration.metric import Metric
from psychollm.calibration.tally import Tally
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import (
    normal_multiplier,
    paired_difference,
    paired_difference_se,
    proportion_se,
    wilson,
)
from psychollm.estimates.reasons import Reason, first_reason

Cases: TypeAlias = tuple[tuple[BoolArray, Reason], ...]
Bounds: TypeAlias = tuple[FloatArray, FloatArray]  # standard errors (...), intervals (..., 2)


@dataclass(frozen=True, slots=True)
class Cells:
    """Four cells of any number of 2 x 2 tables, as arrays of one shape."""

    tp: FloatArray  # yes and correct
    fp: FloatArray  # yes and wrong
    fn: FloatArray  # no and correct
    tn: FloatArray  # no and wrong

    @property
    def yes(self) -> FloatArray:
        """Number of yes answers."""
        return self.tp + self.fp

    @property
    def no(self) -> FloatArray:
        """Number of no answers."""
        return self.fn + self.tn

    @property
    def correct(self) -> FloatArray:
        """Number of correct answers."""
        return self.tp + self.fn

    @property
    def wrong(self) -> FloatArray:
        """Number of wrong answers."""
        return self.fp + self.tn

    @property
    def n(self) -> FloatArray:
        """Number of all answers."""
        return self.tp + self.fp + self.fn + self.tn

    @property
    def array(self) -> FloatArray:
        """The cells as one array (4, ...)."""
        return np.stack([self.tp, self.fp, self.fn, self.tn])

    def smoothed(self) -> "Cells":
        """Return the tables with half an answer added to each cell."""
        return Cells(self.tp + 0.5, self.fp + 0.5, self.fn + 0.5, self.tn + 0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellStatistic:
    """One statistic of a 2 x 2 table."""

    name: str
    value: Callable[[Cells], FloatArray]  # (...), NaN where undefined
    gradient: Callable[[Cells], FloatArray]  # (4, ...) derivatives with respect to the cells
    # standard errors and intervals for independent answers
    closed_form: Callable[[Cells, float], Bounds]
    method: str  # name of the closed form
    scale: Scale  # scale of the interval
    size: Callable[[Cells], FloatArray]  # number of answers in the denominator
    cases: Callable[[Cells], Cases]  # reasons for undefined or qualified values
    hidden: Callable[[Cells], FloatArray] | None = None  # variance that cluster sums underestimate

    def flags(self, cells: Cells) -> tuple[Reason, ...]:
        """Return the first reason that applies to each table (tables,)."""
        return first_reason((cells.n == 0, Reason.NO_ANSWERS), *self.cases(cells))

    def estimate(self, cells: Cells, *, level: float, labels: tuple[Any, ...]) -> Estimate:
        """Return the estimate of each table (tables,), with its interval in closed form."""
        value = self.value(cells)
        se, interval = self.closed_form(cells, level)
        return Estimate(
            name=self.name,
            value=value,
            se=np.where(np.isfinite(value), se, np.nan),
            interval=np.where(np.isfinite(value)[..., None], interval, np.nan),
            n=self.size(cells),
            flags=self.flags(cells),
            method=self.method,
            level=level,
            labels=labels,
        )


def cells_of(
    values: FloatArray, correct: FloatArray, wrong: FloatArray, *, yes_above: float
) -> Cells:
    """Return 2 x 2 tables of tallies (resamples, groups); yes is confidence above `yes_above`."""
    cut = int(np.searchsorted(values, yes_above, side="right"))
    return Cells(
        correct[:, cut:].sum(axis=1),
        wrong[:, cut:].sum(axis=1),
        correct[:, :cut].sum(axis=1),
        wrong[:, :cut].sum(axis=1),
    )


def cell_metric(statistics: Sequence[CellStatistic], *, yes_above: float) -> Metric:
    """Return a metric of graded confidence that has statistics of the 2 x 2 table as columns."""

    def compute(values: FloatArray, correct: FloatArray, wrong: FloatArray) -> FloatArray:
        cells = cells_of(values, correct, wrong, yes_above=yes_above)
        return np.stack([statistic.value(cells) for statistic in statistics], axis=1)

    def table(tally: Tally) -> Cells:
        return cells_of(tally.values, tally.correct[None], tally.wrong[None], yes_above=yes_above)

    def analytic(tally: Tally, values: FloatArray, level: float) -> Bounds:
        cells = table(tally)
        se, bounds = zip(*(each.closed_form(cells, level) for each in statistics), strict=True)
        return np.concatenate(se), np.concatenate(bounds)

    def robust(tally: Tally, values: FloatArray, level: float) -> Bounds:
        cells, yes = table(tally), tally.values > yes_above
        gradients = [_by_group(each.gradient(cells)[:, 0], yes) for each in statistics]
        errors = sandwich(tally, gradients)
        # A difference of proportions has a skewed distribution if the answers in a rare cell come
        # from few clusters.
        contrasts = np.array([each.scale == "Fisher z" for each in statistics])
        hidden = np.array(
            [float(one.hidden(cells)[0]) if one.hidden else 0.0 for one in statistics]
        )
        freedom = np.where(contrasts, errors.skewed, errors.df)
        bounds = [
            interval_on(each.scale, value, variance, trials=errors.clusters, df=df, level=level)
            for each, value, variance, df in zip(
                statistics, values, errors.larger + hidden, freedom, strict=True
            )
        ]
        return np.sqrt(errors.se**2 + hidden), np.array(bounds)

    def flags(tally: Tally) -> tuple[Reason, ...]:
        cells = table(tally)
        return tuple(statistic.flags(cells)[0] for statistic in statistics)

    return Metric(
        names=tuple(statistic.name for statistic in statistics),
        compute=compute,
        flags=flags,
        analytic=analytic,
        method=tuple(statistic.method for statistic in statistics),
        robust=robust,
        robust_method=tuple(f"sandwich, {statistic.scale}" for statistic in statistics),
    )


def _by_group(gradient: FloatArray, yes: BoolArray) -> Gradient:
    """Convert derivatives with respect to cells (4,) to derivatives with respect to groups."""
    tp, fp, fn, tn = gradient
    return np.where(yes, tp, fn), np.where(yes, fp, tn)


def ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Return a fraction; NaN if its denominator is zero."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return np.where(whole > 0, part / whole, np.nan)


def share(
    name: str, part: Sequence[float], whole: Sequence[float], *reasons: Reason
) -> CellStatistic:
    """Return a proportion with Wilson's interval."""
    # `part` and `whole` select the counts among TP, FP, FN and TN that form the numerator and the
    # denominator. The reasons explain an empty denominator.

    def closed_form(cells: Cells, level: float) -> Bounds:
        hits, n = _summed(cells, part), _summed(cells, whole)
        return proportion_se(hits, n), wilson(hits, n, level=level)

    def cases(cells: Cells) -> Cases:
        return tuple((_summed(cells, whole) == 0, reason) for reason in reasons)

    return _fraction(
        name,
        part,
        whole,
        closed_form=closed_form,
        method="Wilson",
        scale="proportion",
        cases=cases,
    )


def f_score(beta: float) -> CellStatistic:
    """Return F-beta of yes as a prediction of correct answers."""
    square = beta**2

    def cases(t: Cells) -> Cases:
        return (
            ((t.yes == 0) & (t.correct == 0), Reason.NO_YES_NO_CORRECT),
            (t.yes == 0, Reason.NO_YES),
            (t.correct == 0, Reason.NO_CORRECT),
            (t.no == 0, Reason.NO_NO),
        )

    part, whole = (1.0 + square, 0.0, 0.0, 0.0), (1.0 + square, 1.0, square, 0.0)
    return weighted_fraction(f"F{beta:g}", part, whole, cases)


def weighted_fraction(
    name: str, part: Sequence[float], whole: Sequence[float], cases: Callable[[Cells], Cases]
) -> CellStatistic:
    """Return a fraction of weighted sums of cells, with an interval by the delta method."""

    def value(t: Cells) -> FloatArray:
        return ratio(_summed(t, part), _summed(t, whole))

    def gradient(t: Cells) -> FloatArray:
        return _fraction_gradient(t, part, whole)

    return _fraction(
        name,
        part,
        whole,
        closed_form=lambda t, level: _through_log_odds(value, gradient, t, level),
        method="delta, log odds",
        scale="log odds",
        cases=cases,
    )


def one_class(t: Cells) -> Cases:
    """Return the reason that applies if all answers are correct or all are wrong."""
    return ((t.correct == 0, Reason.NO_CORRECT), (t.wrong == 0, Reason.NO_WRONG))


def delta_error(gradient: Callable[[Cells], FloatArray], t: Cells) -> FloatArray:
    """Return the delta-method standard error for independent answers."""
    return np.asarray(np.sqrt((t.array * gradient(t) ** 2).sum(axis=0)), dtype=np.float64)


def _summed(t: Cells, weights: Sequence[float]) -> FloatArray:
    total = np.zeros_like(t.tp)
    for weight, cell in zip(weights, (t.tp, t.fp, t.fn, t.tn), strict=True):
        if weight:
            total = total + weight * cell
    return total


def _fraction_gradient(t: Cells, part: Sequence[float], whole: Sequence[float]) -> FloatArray:
    below = _summed(t, whole)
    value = ratio(_summed(t, part), below)
    return np.stack([ratio(p - value * w, below) for p, w in zip(part, whole, strict=True)])


def _fraction(
    name: str,
    part: Sequence[float],
    whole: Sequence[float],
    *,
    closed_form: Callable[[Cells, float], Bounds],
    method: str,
    scale: Scale,
    cases: Callable[[Cells], Cases],
) -> CellStatistic:
    counted = tuple(float(weight != 0) for weight in whole)
    return CellStatistic(
        name=name,
        value=lambda t: ratio(_summed(t, part), _summed(t, whole)),
        gradient=lambda t: _fraction_gradient(t, part, whole),
        closed_form=closed_form,
        method=method,
        scale=scale,
        size=lambda t: _summed(t, counted),
        cases=cases,
    )


def _phi(t: Cells) -> FloatArray:
    return ratio(t.tp * t.tn - t.fp * t.fn, np.sqrt(t.yes * t.no * t.correct * t.wrong))


def _phi_gradient(t: Cells) -> FloatArray:
    half, root = 0.5 * _phi(t), np.sqrt(t.yes * t.no * t.correct * t.wrong)
    yes, no = ratio(half, t.yes), ratio(half, t.no)
    correct, wrong = ratio(half, t.correct), ratio(half, t.wrong)
    return np.stack(
        [
            ratio(t.tn, root) - yes - correct,
            ratio(-t.fn, root) - yes - wrong,
            ratio(-t.fp, root) - no - correct,
            ratio(t.tp, root) - no - wrong,
        ]
    )


def _kappa(t: Cells) -> FloatArray:
    return ratio(2.0 * (t.tp * t.tn - t.fp * t.fn), t.yes * t.wrong + t.no * t.correct)


def _kappa_gradient(t: Cells) -> FloatArray:
    value, below = _kappa(t), t.yes * t.wrong + t.no * t.correct
    above = (
        2.0 * t.tn - value * (t.wrong + t.no),
        -2.0 * t.fn - value * (t.yes + t.wrong),
        -2.0 * t.fp - value * (t.no + t.correct),
        2.0 * t.tp - value * (t.yes + t.correct),
    )
    return np.stack([ratio(part, below) for part in above])


def _youden(t: Cells) -> FloatArray:
    return ratio(t.tp, t.correct) - ratio(t.fp, t.wrong)


def _youden_gradient(t: Cells) -> FloatArray:
    hits, alarms = ratio(t.tp, t.correct), ratio(t.fp, t.wrong)
    return np.stack(
        [
            ratio(1.0 - hits, t.correct),
            -ratio(1.0 - alarms, t.wrong),
            -ratio(hits, t.correct),
            ratio(alarms, t.wrong),
        ]
    )


def _youden_bounds(t: Cells, level: float) -> Bounds:
    hits, alarms = ratio(t.tp, t.correct), ratio(t.fp, t.wrong)
    low_hits, high_hits = np.moveaxis(wilson(t.tp, t.correct, level=level), -1, 0)
    low_alarms, high_alarms = np.moveaxis(wilson(t.fp, t.wrong, level=level), -1, 0)
    value = hits - alarms
    lower = value - np.hypot(hits - low_hits, high_alarms - alarms)
    upper = value + np.hypot(high_hits - hits, alarms - low_alarms)
    return delta_error(_youden_gradient, t), np.stack([lower, upper], axis=-1)


def _through_fisher_z(
    value: Callable[[Cells], FloatArray],
    gradient: Callable[[Cells], FloatArray],
    cells: Cells,
    level: float,
) -> Bounds:
    near = cells.smoothed()
    centre, own = value(near), value(cells)
    step = normal_multiplier(level) * delta_error(gradient, near) / (1.0 - centre**2)
    lower, upper = np.tanh(np.arctanh(centre) - step), np.tanh(np.arctanh(centre) + step)
    bounds = np.stack([np.fmin(lower, own), np.fmax(upper, own)], axis=-1)
    return delta_error(gradient, cells), bounds


def _through_log_odds(
    value: Callable[[Cells], FloatArray],
    gradient: Callable[[Cells], FloatArray],
    cells: Cells,
    level: float,
) -> Bounds:
    near = cells.smoothed()
    centre, own = value(near), value(cells)
    step = normal_multiplier(level) * delta_error(gradient, near) / (centre * (1.0 - centre))
    odds = np.log(centre / (1.0 - centre))
    lower, upper = (1.0 / (1.0 + np.exp(-(odds + side * step))) for side in (-1.0, 1.0))
    bounds = np.stack([np.fmin(lower, own), np.fmax(upper, own)], axis=-1)
    return delta_error(gradient, cells), bounds


def _overconfidence_bounds(t: Cells, level: float) -> Bounds:
    se = paired_difference_se(t.fp, t.fn, t.n)
    return se, paired_difference(t.fp, t.fn, t.n, level=level)


def _any_margin(t: Cells) -> Cases:
    perfect = (t.fp == 0) & (t.fn == 0) | (t.tp == 0) & (t.tn == 0)
    return (
        (t.yes == 0, Reason.NO_YES),
        (t.no == 0, Reason.NO_NO),
        *one_class(t),
        (perfect, Reason.PERFECT),
    )


_ALL = (1, 1, 1, 1)
YES_RATE = share("yes rate", (1, 1, 0, 0), _ALL)
ACCURACY = share("accuracy", (1, 0, 1, 0), _ALL)
PRECISION = share("precision", (1, 0, 0, 0), (1, 1, 0, 0), Reason.NO_YES)
RECALL = share("recall", (1, 0, 0, 0), (1, 0, 1, 0), Reason.NO_CORRECT)
SPECIFICITY = share("specificity", (0, 0, 0, 1), (0, 1, 0, 1), Reason.NO_WRONG)
FALSE_ALARM_RATE = share("false-alarm rate", (0, 1, 0, 0), (0, 1, 0, 1), Reason.NO_WRONG)
NPV = share("negative predictive value", (0, 0, 0, 1), (0, 0, 1, 1), Reason.NO_NO)
AGREEMENT = share("agreement", (1, 0, 0, 1), _ALL)
OVERCONFIDENCE = _fraction(
    "overconfidence",
    (0, 1, -1, 0),
    _ALL,
    closed_form=_overconfidence_bounds,
    method="Bonett-Price",
    scale="Fisher z",
    cases=lambda t: (),
)
F1_ABSTAIN = weighted_fraction(
    "F1 of abstaining",
    (0, 0, 0, 2),
    (0, 1, 1, 2),
    lambda t: ((t.no == 0, Reason.NO_NO), (t.wrong == 0, Reason.NO_WRONG)),
)
PHI = CellStatistic(
    name="phi",
    value=_phi,
    gradient=_phi_gradient,
    closed_form=lambda t, level: _through_fisher_z(_phi, _phi_gradient, t, level),
    method="delta, Fisher z",
    scale="Fisher z",
    size=lambda t: t.n,
    cases=_any_margin,
)
KAPPA = CellStatistic(
    name="kappa",
    value=_kappa,
    gradient=_kappa_gradient,
    closed_form=lambda t, level: _through_fisher_z(_kappa, _kappa_gradient, t, level),
    method="delta, Fisher z",
    scale="Fisher z",
    size=lambda t: t.n,
    cases=_any_margin,
)
YOUDEN = CellStatistic(
    name="Youden's J",
    value=_youden,
    gradient=_youden_gradient,
    closed_form=_youden_bounds,
    method="Newcombe",
    scale="Fisher z",
    size=lambda t: t.n,
    cases=lambda t: (*one_class(t), *_any_margin(t)),
)
