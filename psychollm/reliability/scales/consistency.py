r"""Internal consistency of a set of items: coefficient alpha and related statistics.

Let k be the number of items, :math:`s_j^2` the variances of the items, :math:`s_T^2` the variance
of the total score and :math:`\bar r` the mean correlation between items that vary. Then

.. math:: \alpha = \frac{k}{k - 1}\Big(1 - \frac{\sum_j s_j^2}{s_T^2}\Big), \qquad
          \alpha_{\text{std}} = \frac{k \bar r}{1 + (k - 1) \bar r}, \qquad
          \text{SEM} = s_T \sqrt{1 - \alpha}.                                            \quad (1)

Alpha is undefined if the total does not vary. Alpha is 1 if every respondent has the same score on
all items and respondents differ. Items with a negative item-rest correlation are flagged, but are
reversed only if their key in `keys` is -1.

Alpha of a matrix of polychoric correlations is ordinal alpha, the consistency of the latent normal
variables. Ordinal alpha is higher than the consistency of the observed answers.

References
----------
Cronbach, L. J. (1951). Coefficient alpha and the internal structure of tests. Psychometrika, 16,
297-334. https://doi.org/10.1007/BF02310555

Zumbo, B. D., Gadermann, A. M., & Zeisser, C. (2007). Ordinal versions of coefficients alpha and
theta for Likert rating scales. Journal of Modern Applied Statistical Methods, 6, 21-29.
https://doi.org/10.22237/jmasm/1177992180
"""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice, check_fraction, check_number, float_array
from psychollm._base.errors import InputError, ShapeError
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, RandomState
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import POSITIVE, RELIABILITY, normal_multiplier
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap, Resampling, resample
from psychollm.reliability.scales.alpha_intervals import (
    AlphaInterval,
    AlphaParts,
    chosen_interval,
    duhachek_se,
    feldt_interval,
    mean_correlation_scale,
)
from psychollm.reliability.scales.moments import Incomplete, matrix_moments
from psychollm.reliability.scales.score_table import (
    ScoreTable,
    coefficients,
    mean_scores,
    negative_items,
    scale_scores,
    score_table,
)

ESTIMATES = ("alpha", "standardised", "of_means", "mean_correlation", "sem")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Consistency(Result):
    """Internal consistency of one scale, under each condition.

    If respondents have several rows, `alpha` is the reliability of single rows, and `of_means` is
    the reliability of the means over each respondent's rows. Without repetitions, `alpha` and
    `of_means` are equal.

    Examples
    --------
    >>> found = consistency([[1, 2, 1], [2, 3, 3], [3, 3, 4], [4, 5, 5]], rng=0)
    >>> found.alpha.value.round(3), found.n_items, found.n_respondents
    (array([0.966]), 3, array([4.]))
    """

    alpha: Estimate  # (conditions,) alpha of single rows
    standardised: Estimate  # (conditions,) alpha of standardised items
    of_means: Estimate  # (conditions,) alpha of the respondents' means
    mean_correlation: Estimate  # (conditions,) mean correlation between items
    sem: Estimate  # (conditions,) standard error of measurement of a row's total score
    n_items: int
    n_respondents: FloatArray  # (conditions,)
    mean: FloatArray  # (conditions,) mean of the rows' mean scores
    sd: FloatArray  # (conditions,) SD of the rows' mean scores
    conditions: tuple[Any, ...]

    _AXES = Axes(
        {"condition": "conditions"},
        "n=alpha.n",
        "n_respondents",
        "mean",
        "sd",
        *ESTIMATES,
        "flag=alpha.flags",
    )

    @property
    def signal_to_noise(self) -> FloatArray:
        """Ratio of true to error variance, for the sum of standardised items (conditions,)."""
        reliability = self.standardised.value
        with np.errstate(divide="ignore"):
            return np.asarray(reliability / (1.0 - reliability))

    def summary(self) -> str:
        """Return a summary with one sentence per condition.

        Examples
        --------
        >>> print(consistency([[1, 1, 1], [2, 2, 2], [3, 3, 4], [5, 5, 5]], rng=0).summary())
        all: alpha 0.99 [0.94, 1.00] (3 items, 4 administrations to 4 respondents).
        """
        return "\n".join(map(self._sentence, range(len(self.conditions))))

    def _sentence(self, row: int) -> str:
        """Return a sentence on alpha under one condition, or the reason why alpha is undefined."""
        alpha, n = self.alpha, int(self.alpha.n[row])
        rows = (
            f"{self.n_items} items, {n} administrations to {int(self.n_respondents[row])} "
            "respondents"
        )
        flag = alpha.flags[row]
        if not np.isfinite(alpha.value[row]):
            return f"{self.conditions[row]}: alpha is undefined, {flag} ({rows})."
        text = f"{self.conditions[row]}: alpha {alpha.text(row)}"
        if n > self.n_respondents[row]:
            text += f"; alpha of means {self.of_means.text(row)}"
        few = flag is Reason.FEW_RESPONDENTS
        why = f"no interval for alpha, because there are {flag}" if few else str(flag)
        return f"{text} ({rows})" + (f"; {why}." if why else ".")


def consistency(
    scores: ResponsesLike,
    *,
    respondents: Any = None,
    by: Any = None,
    keys: Any = None,
    missing: Incomplete = "pairwise",
    interval: AlphaInterval | None = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Consistency:
    """Compute alpha (raw, standardised, and of respondents' means), mean correlation and SEM.

    Parameters
    ----------
    scores : Responses, DataFrame, DataArray or array_like (rows, items)
        Scores of respondents on the items of one scale: binary scores, ratings or other numbers.
    respondents : array_like (rows,), optional
        Respondent of each row, for repeated measurements: ten models with three rows each are ten
        respondents. If `respondents` is given, the jackknife and the bootstrap omit or resample
        whole respondents, and `of_means` is the reliability of respondents' means.
    by : array_like (rows,), optional
        Condition of each row; the result has one value per condition. All conditions use the same
        resamples of respondents, so ``alpha.difference("a", "b")`` is paired.
    keys : array_like (items,) or mapping, optional
        Sign of each item: -1 reverses the item, 1 leaves it unchanged. By default no item is
        reversed.
    missing : {"pairwise", "listwise"}
        "pairwise" computes each covariance from the rows with scores on both items. "listwise"
        omits all rows with a missing score.
    interval : {"feldt", "duhachek", "jackknife", "bootstrap"}, optional
        Interval of alpha. "feldt", the default, is exact for normal, tau-equivalent items.
        "duhachek" is a large-sample interval for normal items that does not assume
        tau-equivalence. "jackknife" (on the scale log(1 - alpha)) and "bootstrap" (BCa) assume no
        distribution. These two methods are preferable for skewed items and many respondents. If
        respondents have several rows, only "jackknife" and "bootstrap" are valid, and "jackknife"
        is the default. Coefficients other than alpha have jackknife intervals, or bootstrap
        intervals if "bootstrap" is chosen.
    bootstrap : int or Bootstrap
        Number of resamples of respondents, used by `Estimate.difference`; 0 disables resampling.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    Consistency
        Coefficients; NaN with a reason if the total does not vary, or if there is only one item or
        respondent. With Feldt's interval, `se` is the standard error of Duhachek and Iacobucci.

    Raises
    ------
    CodeError, ShapeError, LabelError
        If the scores are not a numeric table, or the labels do not match the rows of the table.
    OptionError
        If an option is invalid, or if ``interval`` is "feldt" or "duhachek" although respondents
        have several rows.

    Notes
    -----
    The coverage of 95 % intervals was simulated with 50, 200 and 1,000 respondents.
    The coverage of Feldt's interval was 95 % for normal items, and 96 to 97 % for binary items of
    all difficulties. If nearly all answers were yes, the coverage of Feldt's interval was 92 % for
    all three sample sizes, and the coverage of the jackknife interval was 91, 96 and 95 %. For
    strongly skewed items, the coverage of Feldt's interval was 91, 85 and 83 %, and the coverage
    of the jackknife interval was 91, 92 and 94 %. With three similar repetitions of each of 10 to
    200 models, the coverage of the jackknife interval was 93 to 96 %. If Feldt's interval treated
    all rows as independent, its coverage would be 71 to 85 %.

    References
    ----------
    Cronbach, L. J. (1951). Coefficient alpha and the internal structure of tests. Psychometrika,
    16(3), 297-334. https://doi.org/10.1007/BF02310555

    Feldt, L. S. (1965). The approximate sampling distribution of Kuder-Richardson reliability
    coefficient twenty. Psychometrika, 30, 357-370. https://doi.org/10.1007/BF02289499

    Duhachek, A., & Iacobucci, D. (2004). Alpha's standard error (ASE): An accurate and precise
    confidence interval estimate. Journal of Applied Psychology, 89, 792-808.
    https://doi.org/10.1037/0021-9010.89.5.792

    Examples
    --------
    >>> flat = [[1, 1], [3, 3], [4, 4]]
    >>> consistency(flat, rng=0).alpha.value
    array([1.])
    """
    table = score_table(scores, respondents=respondents, by=by, keys=keys)
    options = Resampling.of(bootstrap, level, rng, interval=interval)
    return consistency_of(table, options, missing)


def alpha(
    scores: ResponsesLike,
    *,
    respondents: Any = None,
    by: Any = None,
    keys: Any = None,
    missing: Incomplete = "pairwise",
    interval: AlphaInterval | None = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Estimate:
    """Compute Cronbach's alpha of one scale.

    Parameters
    ----------
    scores : Responses, DataFrame, DataArray or array_like (rows, items)
        Scores of respondents on the items of one scale: binary scores, ratings or other numbers.
    respondents : array_like (rows,), optional
        Respondent of each row, for repeated measurements: ten models with three rows each are ten
        respondents. If `respondents` is given, the jackknife and the bootstrap omit or resample
        whole respondents, and `of_means` is the reliability of respondents' means.
    by : array_like (rows,), optional
        Condition of each row; the result has one value per condition. All conditions use the same
        resamples of respondents, so ``alpha.difference("a", "b")`` is paired.
    keys : array_like (items,) or mapping, optional
        Sign of each item: -1 reverses the item, 1 leaves it unchanged. By default no item is
        reversed.
    missing : {"pairwise", "listwise"}
        "pairwise" computes each covariance from the rows with scores on both items. "listwise"
        omits all rows with a missing score.
    interval : {"feldt", "duhachek", "jackknife", "bootstrap"}, optional
        Interval method. "feldt", the default, is exact for normal, tau-equivalent items.
        "duhachek" is a large-sample interval for normal items. "jackknife" and "bootstrap" assume
        no distribution. If respondents have several rows, "jackknife" is the default.
    bootstrap : int or Bootstrap
        Number of resamples of respondents, used by `Estimate.difference`; 0 disables resampling.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    Estimate
        Alpha of each condition; the only label is "all" if `by` is not given.

    Raises
    ------
    CodeError, ShapeError, LabelError
        If the scores are not a numeric table, or the labels do not match the rows of the table.
    OptionError
        If an option is invalid, or if ``interval`` is "feldt" or "duhachek" although respondents
        have several rows.

    Examples
    --------
    >>> found = alpha([[1, 2, 1], [2, 3, 3], [3, 3, 4], [4, 5, 5]], rng=0)
    >>> found.value.round(3), found.interval.round(2), found.method
    (array([0.966]), array([[0.78, 1.  ]]), 'analytic (Feldt)')
    """
    return consistency(
        scores,
        respondents=respondents,
        by=by,
        keys=keys,
        missing=missing,
        interval=interval,
        bootstrap=bootstrap,
        level=level,
        rng=rng,
    ).alpha


def consistency_of(
    table: ScoreTable, options: Resampling, missing: Incomplete = "pairwise"
) -> Consistency:
    """Return `consistency` for a validated table of scores."""
    interval = chosen_interval(table, options.interval)
    conditions = range(len(table.conditions))
    single = [scale_scores(table, condition, missing) for condition in conditions]
    means = single
    if table.has_repeats:
        means = [mean_scores(table, condition, missing) for condition in conditions]

    def statistic(counts: FloatArray) -> FloatArray:
        rows = np.stack([coefficients(scale.moments(counts)) for scale in single], axis=1)
        if means is single:
            return np.concatenate([rows, rows[..., :1]], axis=2)
        alphas = [coefficients(scale.moments(counts))[:, :1] for scale in means]
        return np.concatenate([rows, np.stack(alphas, axis=1)], axis=2)

    replicates = resample(statistic, len(table.respondents), options)
    parts = AlphaParts(table, replicates)
    of_rows = [np.nanmean(scale.values, axis=1) for scale in single]
    by_k = mean_correlation_scale(len(table.items))
    return Consistency(
        alpha=parts.alpha("alpha", 0, single, interval),
        standardised=parts.other("standardised alpha", 1, single, RELIABILITY),
        of_means=parts.alpha("alpha of means", 4, means, options.interval or "feldt"),
        mean_correlation=parts.other("mean correlation", 2, single, by_k),
        sem=parts.other("standard error of measurement", 3, single, POSITIVE),
        n_items=len(table.items),
        n_respondents=np.array([float(scale.n_respondents) for scale in single]),
        mean=np.array([row.mean() if row.size else np.nan for row in of_rows]),
        sd=np.array([row.std(ddof=1) if row.size > 1 else np.nan for row in of_rows]),
        conditions=table.conditions,
    )


NormalInterval: TypeAlias = Literal["feldt", "duhachek"]

NAMES = ("alpha", "standardised alpha", "mean correlation")


def alpha_of_matrix(
    matrix: Any,
    *,
    n: int | None = None,
    interval: NormalInterval = "feldt",
    level: float = 0.95,
) -> Estimate:
    """Compute coefficient alpha of a covariance or correlation matrix.

    Parameters
    ----------
    matrix : Correlation, DataFrame or array_like (items, items)
        Covariances or correlations of the items.
    n : int, optional
        Number of respondents. If `n` is not given, there is no interval.
    interval : {"feldt", "duhachek"}
        Interval of alpha. Both interval methods assume covariances or correlations of observed
        scores; for tetrachoric or polychoric correlations, the intervals are too narrow.
    level : float
        Coverage of the intervals, between 0 and 1.

    Returns
    -------
    Estimate
        Coefficients "alpha", "standardised alpha" and "mean correlation"; only alpha has an
        interval.

    Raises
    ------
    ShapeError
        If the matrix is not square.
    InputError
        If the matrix is not symmetric, has an undefined entry or a negative variance.
    OptionError
        If an option is invalid, or `n` is below 2.

    References
    ----------
    Feldt, L. S. (1965). The approximate sampling distribution of Kuder-Richardson reliability
    coefficient twenty. Psychometrika, 30, 357-370. https://doi.org/10.1007/BF02289499

    Zumbo, B. D., Gadermann, A. M., & Zeisser, C. (2007). Ordinal versions of coefficients alpha
    and theta for Likert rating scales. Journal of Modern Applied Statistical Methods, 6, 21-29.
    https://doi.org/10.22237/jmasm/1177992180

    Examples
    --------
    >>> alpha_of_matrix([[1.0, 0.5], [0.5, 1.0]], n=100).to_frame().iloc[:, :5].round(3)
                coefficient  value     se  lower  upper
    0                 alpha  0.667  0.067  0.505  0.776
    1    standardised alpha  0.667    NaN    NaN    NaN
    2      mean correlation  0.500    NaN    NaN    NaN
    """
    check_choice("interval", interval, NormalInterval)
    check_fraction("level", level)
    if n is not None:
        check_number("n", n, low=2, what=", how many respondents there are")
    covariances = covariance_matrix(matrix)
    value, flags = _coefficients(covariances)
    size = np.nan if n is None else float(n)
    se, bounds = np.full(3, np.nan), np.full((3, 2), np.nan)
    if n is not None:
        flags = (flags[0], *(flag or Reason.NO_FORMULA for flag in flags[1:]))
    if n is not None and np.isfinite(value[0]):
        se[0] = duhachek_se(covariances, size)
        step = normal_multiplier(level) * se[0]
        bounds[0] = value[0] - step, value[0] + step
        if interval == "feldt":
            bounds[0] = feldt_interval(value[0], size, len(covariances), level=level)
    return Estimate(
        name="alpha of a matrix",
        value=value,
        se=se,
        interval=bounds,
        n=np.full(3, size),
        flags=flags,
        method=interval.capitalize() if n is not None else "none: n is unknown",
        level=level,
        labels=NAMES,
        axis="coefficient",
    )


def covariance_matrix(data: Any) -> FloatArray:
    """Return a validated and exactly symmetric matrix of covariances or correlations."""
    matrix = float_array(getattr(data, "matrix", data), "matrix")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        msg = f"matrix must have shape (items, items), got {matrix.shape}"
        raise ShapeError(msg)
    undefined = np.argwhere(~np.isfinite(matrix))
    if undefined.size:
        msg = f"matrix is undefined at {tuple(undefined[0].tolist())}: leave such items out"
        raise InputError(msg)
    scale = np.sqrt(np.abs(np.diagonal(matrix)))
    if (np.diagonal(matrix) < 0.0).any():
        msg = f"matrix has a negative variance at {int(np.diagonal(matrix).argmin())}"
        raise InputError(msg)
    apart = np.argwhere(np.abs(matrix - matrix.T) > 1e-8 * np.outer(scale, scale) + 1e-300)
    if apart.size:
        first, second = apart[0].tolist()
        msg = f"matrix is not symmetric at ({first}, {second})"
        raise InputError(msg)
    return np.asarray(0.5 * (matrix + matrix.T))


def _coefficients(matrix: FloatArray) -> tuple[FloatArray, tuple[Reason, ...]]:
    """Return alpha, standardised alpha, mean correlation and flags."""
    moments, k = matrix_moments(matrix), len(matrix)
    if k < 2:
        return np.full(3, np.nan), (Reason.ONE_QUESTION,) * 3
    if not moments.total_variance[0] > 0.0:
        return np.full(3, np.nan), (Reason.NO_VARIANCE,) * 3
    value = coefficients(moments)[0, :3]
    constant = Reason.CONSTANT_ITEMS if moments.varying[0] < k else Reason.NONE
    flag = Reason.NEGATIVE_ITEMS if negative_items(moments).any() else constant
    return value, tuple(flag if known else Reason.NO_VARIANCE for known in np.isfinite(value))
