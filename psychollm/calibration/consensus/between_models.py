r"""Association of mean confidence with accuracy across models.

Ordinary least squares regresses the models' yes rates on their accuracies, and the accuracies on
the yes rates, with exact t and F distributions. The observations of this regression are the
models, not the questions. The F statistic, equation (1), tests whether models of any given
accuracy agree with the line y = x *on average*.

.. math:: F = \frac{(S_0 - S_1)/2}{S_1/(k - 2)} \sim F_{2,\,k-2}.                        \quad (1)

Here k is the number of models, :math:`S_0 = \sum (y - x)^2`, and :math:`S_1` is the residual sum
of squares of the fitted line. The error variance is the variance of the models about the fitted
line. If models scatter evenly above and below y = x, they therefore agree with this line on
average. The hypothesis of a second test is that *every* model answers yes as often as it is
correct. For each model, McNemar's exact test compares false positives with false negatives. With
clusters or fractional correctness, a t test is used instead. The overall p-value is k times the
smallest p-value of the k models (Bonferroni).

Spearman's rank correlation is reported with Bonett and Wright's interval and a permutation
p-value, which is exact for up to eight models.

References
----------
Bonett, D. G., & Wright, T. A. (2000). Sample size requirements for estimating Pearson, Kendall and
Spearman correlations. Psychometrika, 65, 23-28. https://doi.org/10.1007/BF02294183
"""

from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import bdtr, fdtrc, stdtr, stdtrit

from psychollm._base.checks import DRAWS, check_count, check_fraction, check_generator
from psychollm._base.ranks import midranks
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, RandomState
from psychollm.calibration.decisions.confusion import Confusion, confusion
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.intervals import normal_multiplier
from psychollm.estimates.null import monte_carlo_p_value
from psychollm.estimates.reasons import Reason

if TYPE_CHECKING:
    import pandas as pd

_EXACT_UP_TO = 8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Line(Result):
    """Least-squares line through the models, with standard errors and a test of y = x.

    Examples
    --------
    >>> line = least_squares(np.arange(5.0), np.array([0.0, 1.1, 1.9, 3.2, 3.8]))
    >>> round(line.slope, 3), line.slope_interval.round(3)
    (0.97, array([0.795, 1.145]))
    """

    outcome: str
    predictor: str
    slope: float
    slope_se: float
    slope_interval: FloatArray  # (2,)
    p_value: float  # two-sided t test of slope = 0
    intercept: float
    intercept_se: float
    intercept_interval: FloatArray  # (2,)
    r_squared: float
    residual_sd: float
    identity_f: float  # F statistic (1), joint test of intercept = 0 and slope = 1
    identity_p: float
    n: int
    mean: float  # mean of the predictor
    sum_of_squares: float  # sum of squares of the predictor about its mean
    level: float
    reason: Reason

    def band(self, at: Any) -> "pd.DataFrame":
        """Return the line with its confidence band and its prediction band.

        Parameters
        ----------
        at : array_like (points,)
            Values of the predictor at which to evaluate the line.

        Returns
        -------
        DataFrame
            Columns `at`, `fit`, `lower` and `upper` (confidence band of the line),
            `predicted_lower` and `predicted_upper` (prediction band for a new model).
        """
        import pandas as pd

        x = np.atleast_1d(np.asarray(at, dtype=np.float64))
        fit = self.intercept + self.slope * x
        with np.errstate(invalid="ignore", divide="ignore"):
            leverage = 1.0 / self.n + (x - self.mean) ** 2 / self.sum_of_squares
        t = _t_multiplier(self.n - 2, self.level)
        line = t * self.residual_sd * np.sqrt(leverage)
        point = t * self.residual_sd * np.sqrt(1.0 + leverage)
        return pd.DataFrame(
            {
                "at": x,
                "fit": fit,
                "lower": fit - line,
                "upper": fit + line,
                "predicted_lower": fit - point,
                "predicted_upper": fit + point,
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BetweenModels(Result):
    """Relation between the models' yes rates and their accuracies.

    Examples
    --------
    >>> answers = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
    >>> result = between_models(answers, answers, rng=0)
    >>> round(result.confidence_on_accuracy.slope, 6), round(result.spearman, 6)
    (1.0, 1.0)
    """

    confidence: FloatArray  # (models,) yes rates
    accuracy: FloatArray  # (models,)
    confidence_on_accuracy: Line
    accuracy_on_confidence: Line
    pearson: float
    pearson_interval: FloatArray  # (2,) interval by Fisher's z
    spearman: float
    spearman_interval: FloatArray  # (2,) Bonett-Wright interval
    spearman_p: float  # two-sided p-value by permutation
    permutations: int  # number of permutations
    exact: bool  # whether all permutations were used
    equal_p: float  # p-value; null hypothesis: each model's yes rate equals its accuracy
    reason: Reason  # reason if the correlations are undefined
    n: int  # number of models with both rates
    level: float
    labels: tuple[Any, ...]  # (models,)

    def to_frame(self) -> "pd.DataFrame":
        """Return one row per coefficient with its interval and p-value."""
        import pandas as pd

        rows = [
            (
                f"slope of {line.outcome} on {line.predictor}",
                line.slope,
                *line.slope_interval,
                line.p_value,
            )
            for line in (self.confidence_on_accuracy, self.accuracy_on_confidence)
        ]
        rows.append(("Pearson", self.pearson, *self.pearson_interval, self._pearson_p))
        rows.append(("Spearman", self.spearman, *self.spearman_interval, self.spearman_p))
        return pd.DataFrame(rows, columns=["coefficient", "value", "lower", "upper", "p_value"])

    @property
    def _pearson_p(self) -> float:
        return self.confidence_on_accuracy.p_value


def between_models(
    confidence: ResponsesLike,
    correctness: ResponsesLike,
    *,
    n_null: int = 9999,
    level: float = 0.95,
    rng: RandomState = None,
) -> BetweenModels:
    """Regress the models' mean confidence on their accuracy, and accuracy on mean confidence.

    Parameters
    ----------
    confidence, correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        Confidence (1 = yes, 0 = no) and correctness (1 = correct, 0 = wrong). Questions with
        missing confidence or correctness are ignored.
    n_null : int
        Number of permutations for Spearman's p-value. With up to eight models all permutations are
        used.
    level : float
        Coverage of all intervals and bands, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed for the permutations.

    Returns
    -------
    BetweenModels
        Regression coefficients and correlations. Values are NaN if there are fewer than three
        models, or if all rates are equal.

    Raises
    ------
    LabelError, CodeError
        If the two tables differ in their models or questions, or are not binary.

    Examples
    --------
    >>> said = [[1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 1, 0]]
    >>> right = [[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]]
    >>> round(between_models(said, right, rng=0).confidence_on_accuracy.slope, 3)
    -0.5
    """
    table = confusion(confidence, correctness, level=level)
    return between_models_of(table, n_null=n_null, level=level, rng=rng)


def between_models_of(
    table: Confusion,
    *,
    n_null: int = 9999,
    level: float = 0.95,
    rng: RandomState = None,
) -> BetweenModels:
    """Return the result of `between_models`, computed from existing confusion tables."""
    check_fraction("level", level)
    counted = table.n > 0
    y, x = table.yes_rate.value[counted], table.accuracy.value[counted]
    reason = _undefined(x, y)
    n = int(counted.sum())
    pearson, spearman = (np.nan, np.nan) if reason else (_r(x, y), _r(midranks(x), midranks(y)))
    p_value, used, exact = _permutation_p(
        midranks(x), midranks(y), check_count("n_null", n_null, high=DRAWS), rng
    )
    return BetweenModels(
        confidence=table.yes_rate.value,
        accuracy=table.accuracy.value,
        confidence_on_accuracy=least_squares(
            x, y, predictor="accuracy", outcome="confidence", level=level
        ),
        accuracy_on_confidence=least_squares(
            y, x, predictor="confidence", outcome="accuracy", level=level
        ),
        pearson=pearson,
        pearson_interval=_fisher_interval(pearson, n, 1.0, level),
        spearman=spearman,
        spearman_interval=_fisher_interval(spearman, n, 1.0 + 0.5 * spearman**2, level),
        spearman_p=np.nan if reason else p_value,
        equal_p=_equal_p(table),
        permutations=used,
        exact=exact,
        reason=reason,
        n=n,
        level=level,
        labels=table.labels,
    )


def least_squares(
    x: FloatArray,
    y: FloatArray,
    *,
    predictor: str = "x",
    outcome: str = "y",
    level: float = 0.95,
) -> Line:
    """Fit a line by least squares with exact small-sample inference."""
    # The results are NaN with a reason if there are fewer than three points, or if all `x` are
    # equal. Shapes: x, y (points,).
    n = x.size
    centred = x - x.mean() if n else x
    square = float(centred @ centred)
    reason = Reason.TOO_FEW if n < 3 else Reason.CONSTANT if _constant(x) else Reason.NONE
    slope = np.nan if reason else float(centred @ (y - y.mean()) / square)
    intercept = np.nan if reason else float(y.mean() - slope * x.mean())
    residual = float(((y - intercept - slope * x) ** 2).sum())
    sd = np.sqrt(residual / (n - 2)) if n > 2 else np.nan
    slope_se = np.nan if reason else sd / np.sqrt(square)
    intercept_se = np.nan if reason else sd * np.sqrt(1.0 / n + x.mean() ** 2 / square)
    half = _t_multiplier(n - 2, level) * np.array([-1.0, 1.0])
    identity_f, identity_p = _identity_test(x, y, residual)
    total = float(((y - y.mean()) ** 2).sum()) if n else np.nan
    return Line(
        outcome=outcome,
        predictor=predictor,
        slope=slope,
        slope_se=float(slope_se),
        slope_interval=slope + half * slope_se,
        p_value=_t_p(slope, float(slope_se), n - 2),
        intercept=intercept,
        intercept_se=float(intercept_se),
        intercept_interval=intercept + half * intercept_se,
        r_squared=1.0 - residual / total if total > 0 else np.nan,
        residual_sd=float(sd),
        identity_f=identity_f,
        identity_p=identity_p,
        n=n,
        mean=float(x.mean()) if n else np.nan,
        sum_of_squares=square,
        level=level,
        reason=reason,
    )


def _constant(x: FloatArray) -> bool:
    return bool(np.ptp(x) <= 4 * np.finfo(np.float64).eps * np.abs(x).max())


def _undefined(x: FloatArray, y: FloatArray) -> Reason:
    if x.size < 3:
        return Reason.TOO_FEW
    return Reason.CONSTANT if _constant(x) or _constant(y) else Reason.NONE


def _r(x: FloatArray, y: FloatArray) -> float:
    u, v = x - x.mean(), y - y.mean()
    return float(np.clip(u @ v / np.sqrt((u @ u) * (v @ v)), -1.0, 1.0))


def _t_multiplier(df: int, level: float) -> float:
    return float(stdtrit(df, 0.5 + 0.5 * level)) if df > 0 else np.nan


def _t_p(value: float, se: float, df: int) -> float:
    if df < 1 or not np.isfinite(value):
        return np.nan
    if se == 0.0:  # all points are on the line
        return 1.0 if value == 0.0 else 0.0
    return float(2.0 * stdtr(df, -abs(value / se)))


def _identity_test(x: FloatArray, y: FloatArray, residual: float) -> tuple[float, float]:
    """Return the F statistic of the test that the line is y = x, and its p-value."""
    df = x.size - 2
    if df < 1 or not np.isfinite(residual):
        return np.nan, np.nan
    excess = max(float(((y - x) ** 2).sum()) - residual, 0.0)
    if residual <= 1e-28 * max(float((y**2).sum()), 1e-300):  # all points are on one line
        return (0.0, 1.0) if excess <= 1e-24 * float((y**2).sum()) else (np.inf, 0.0)
    statistic = (excess / 2.0) / (residual / df)
    return statistic, float(fdtrc(2, df, statistic))


def _equal_p(table: Confusion) -> float:
    """Return the adjusted p-value of the test that yes rates equal accuracies in all models."""
    gap, both = table.overconfidence, table.fp + table.fn
    with np.errstate(invalid="ignore", divide="ignore"):
        by_t = 2.0 * stdtr(gap.freedom, -np.abs(gap.value / gap.se))
    exact = 2.0 * bdtr(np.minimum(table.fp, table.fn), both.astype(np.int64), 0.5)
    clusters = np.isfinite(np.inf if gap.df is None else gap.df)
    counted = ~clusters & (both == np.rint(both))  # independent binary answers
    p = np.where(counted, exact, by_t)[table.n > 0]
    p = p[np.isfinite(p)]
    return float(min(1.0, p.size * p.min())) if p.size else np.nan


def _fisher_interval(r: float, n: int, factor: float, level: float) -> FloatArray:
    """Return the Fisher-z interval of a correlation with variance ``factor / (n - 3)``."""
    if n < 4 or not np.isfinite(r):
        return np.full(2, np.nan)
    if abs(r) == 1.0:
        return np.full(2, r)
    step = normal_multiplier(level) * np.sqrt(factor / (n - 3))
    return np.asarray(np.tanh(np.arctanh(r) + np.array([-step, step])), dtype=np.float64)


def _permutation_p(
    x: FloatArray, y: FloatArray, n: int, rng: RandomState
) -> tuple[float, int, bool]:
    """Return a rank correlation's p-value, the number of permutations, and whether it is exact."""
    k = x.size
    if k < 3:
        return np.nan, 0, True
    u, v = x - x.mean(), y - y.mean()
    observed = abs(u @ v) * (1.0 - 1e-12)  # ties with the observed value count as extreme
    if k <= _EXACT_UP_TO:
        orders = np.array(list(permutations(range(k))))
        extreme = np.abs(v[orders] @ u) >= observed
        return float(extreme.mean()), len(orders), True
    generator = check_generator(rng)
    draws = _shuffled(u, v, n, generator)
    return float(monte_carlo_p_value(observed, draws, tie=0.0)), n, False


def _shuffled(u: FloatArray, v: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    """Return the absolute inner products of `u` with `n` random permutations of `v`."""
    orders = rng.permuted(np.broadcast_to(v, (n, v.size)), axis=1)
    return np.asarray(np.abs(orders @ u), dtype=np.float64)
