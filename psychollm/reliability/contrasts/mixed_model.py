r"""Mixed model of scores under conditions: score ~ condition + (1 | model).

The unit of replication is the model. Repeats of a model under a condition carry no information
about other models, so they are averaged first. Differences between conditions are then tested
against the residual, that is, the model-by-condition interaction plus the sampling error of the
means. In a complete table of m models and k conditions, F has k - 1 and (m - 1)(k - 1) degrees of
freedom, for any number of repeats. If each model appears under only one condition, the interaction
cannot be distinguished from the differences between models. Repeats are then not averaged, and
conditions are tested against the variance between models.

The model is fitted by exact restricted maximum likelihood, for many data sets together. Tests use
Satterthwaite's degrees of freedom and a parametric bootstrap; intervals of the variances are
pivotal (`random_intercept`). The model assumes that the residual variance is the same under all
conditions. If models differ under only one condition, the false positive rate of F is too high
(docs/reliability.md gives the rates). The tests of `pairwise_conditions` avoid this high false
positive rate, because each test compares only two conditions.

References
----------
Laird, N. M., & Ware, J. H. (1982). Random-effects models for longitudinal data. Biometrics, 38,
963-974. https://doi.org/10.2307/2529876
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from psychollm._base.axes import Axes
from psychollm._base.numbers import number, p_equals, p_value
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, RandomState
from psychollm.estimates.estimate import Estimate, unknown_estimate
from psychollm.estimates.intervals import percentile_interval
from psychollm.estimates.null import monte_carlo_p_value
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap, Resampling
from psychollm.reliability.contrasts.condition_scores import (
    ConditionScores,
    check_known,
    condition_scores,
)
from psychollm.reliability.contrasts.random_intercept import (
    InterceptDesign,
    InterceptFit,
    against_first,
    parametric_draws,
    variance_draws,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MixedModel(Result):
    """Condition means, contrasts with a reference condition, and two variance components.

    Examples
    --------
    >>> scores = [20, 24, 22, 25, 30, 33, 18, 24]
    >>> fit = mixed_model(scores, list("abababab"), list("wwxxyyzz"), rng=0)
    >>> fit.contrasts.value, fit.contrast_df.round(1), round(fit.p_value, 3)
    (array([4.]), array([3.]), 0.011)
    """

    means: Estimate  # (conditions,) mean scores; `n` is the number of models
    contrasts: Estimate  # (conditions - 1,) condition - reference
    mean_df: FloatArray  # (conditions,) Satterthwaite's degrees of freedom
    contrast_df: FloatArray  # (conditions - 1,) Satterthwaite's degrees of freedom
    contrast_t: FloatArray  # (conditions - 1,)
    contrast_p: FloatArray  # (conditions - 1,) two-sided p-values, not adjusted
    f_statistic: float  # test of no differences between conditions
    f_df: tuple[int, float]  # degrees of freedom of numerator and denominator
    p_value: float  # p-value of F
    bootstrap_p_value: float  # p-value of F, by parametric bootstrap
    variances: Estimate  # (2,) variance between models, residual variance of means of repeats
    intraclass: Estimate  # (1,) proportion of variance between models
    reml_criterion: float  # -2 restricted log likelihood
    log_likelihood: float  # maximum likelihood
    n: int  # number of scores, after averaging repeats
    n_models: int
    reference: Any

    def _axes(self) -> Axes:
        return Axes(
            {self.contrasts.axis: "contrasts.labels"},
            "value=contrasts.value",
            "se=contrasts.se",
            "df=contrast_df",
            "t=contrast_t",
            "p_value=contrast_p",
            "{bound}=contrasts.interval",
            "flag=contrasts.flags",
        )

    def summary(self) -> str:
        """Return one sentence on the test and the variances."""
        return (
            f"Mixed model of conditions ({self.n_models} models): F({self.f_df[0]}, "
            f"{number(self.f_df[1], 1)}) = {number(self.f_statistic)}, {p_equals(self.p_value)} "
            f"(parametric bootstrap p = {p_value(self.bootstrap_p_value)}); proportion of "
            f"variance due to models: {self.intraclass.text()}."
        )


def mixed_model(
    scores: ArrayLike,
    conditions: Any,
    models: Any,
    *,
    reference: Hashable = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> MixedModel:
    """Compare conditions in a mixed model with a random intercept per model.

    Parameters
    ----------
    scores, conditions, models : array_like (n,)
        Score, condition label and model label of each row. Rows with a missing score are skipped.
        Repeats of a model under a condition are averaged first, unless each model appears under
        only one condition.
    reference : hashable, optional
        Condition with which all other conditions are compared; by default the condition of the
        first row.
    bootstrap : int or Bootstrap
        Number of parametric bootstrap samples. The samples are used for `bootstrap_p_value`, the
        draws of means and contrasts, and the intervals of the variances.
    level : float
        Coverage of the intervals, between 0 and 1. Intervals of means and contrasts use Student's
        t; intervals of variances are pivotal percentiles.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    MixedModel
        Condition means, contrasts, tests and variances. Estimates are NaN with a reason if there
        are fewer than two conditions or models, too few rows, or no variation within models.

    Raises
    ------
    ShapeError, LabelError, CodeError
        If the rows of the arguments do not match, a score is not a number, or the reference is not
        one of the conditions.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> model, condition = np.repeat(np.arange(10), 6), np.tile(["a", "b", "c"], 20)
    >>> score = rng.normal(size=10)[model] + rng.normal(size=60)
    >>> mixed_model(score, condition, model, rng=0).contrast_df.round(1)
    array([18., 18.])
    """
    options = Resampling.of(bootstrap, level, rng).required()
    rows = condition_scores(scores, conditions, models)
    table = rows.averaged() if rows.crossed else rows
    first = 0 if reference is None else check_known("condition", reference, table.conditions)
    return _fitted(table, first, options)


def _fitted(table: ConditionScores, first: int, options: Resampling) -> MixedModel:
    """Fit the model to one row per score, or raise an error with the reason."""
    design, reason = _design(table)
    if design is None:
        return _undefined(table, first, reason, options)
    data = design.reduced(table.scores[None])
    if data.rest[0] == 0.0:
        return _undefined(table, first, Reason.NO_RESIDUAL, options)
    fit = InterceptFit.of(data)
    return _result(table, fit, first, options)


def _design(table: ConditionScores) -> tuple[InterceptDesign | None, Reason]:
    if not table.scores.size:
        return None, Reason.NO_ANSWERS
    if table.all_tied:
        return None, Reason.ALL_TIED
    if len(table.conditions) < 2 or len(table.models) < 2:
        return None, Reason.TOO_FEW
    design = InterceptDesign.of(table.condition, table.model)
    if design.freedom < 1 or not design.d.size:
        return None, Reason.TOO_FEW
    return design, Reason.NONE


def _result(
    table: ConditionScores, fit: InterceptFit, first: int, options: Resampling
) -> MixedModel:
    k, data = len(table.conditions), fit.data
    contrasts = against_first(k, first)
    statistic, f_df, p_value = fit.f_test()
    alone = InterceptDesign.of(np.zeros_like(table.condition), table.model)
    null = InterceptFit.of(alone.reduced(table.scores[None]))
    drawn = parametric_draws(fit, null, options)
    several = drawn[:, :k] @ contrasts.T
    between, residual = variance_draws(fit, options)
    mean_df, contrast_df = fit.freedom(np.eye(k)), fit.freedom(contrasts)
    names = [f"{label} - {table.conditions[first]}" for label in table.conditions]
    difference = contrasts @ fit.means
    spread = np.sqrt(np.diagonal(contrasts @ fit.covariance @ contrasts.T))
    shares = between / (between + residual)
    variances = np.array([fit.between, fit.residual])
    level = options.level
    ml = data.ratio(restricted=False)
    return MixedModel(
        means=_student(
            fit.means,
            np.sqrt(np.diagonal(fit.covariance)),
            mean_df,
            table.averaged().sizes.astype(np.float64),
            drawn[:, :k],
            level,
            name="mean score",
            axis="condition",
            labels=table.conditions,
        ),
        contrasts=_student(
            difference,
            spread,
            contrast_df,
            np.full(k - 1, float(len(table.models))),
            several,
            level,
            name="difference of means",
            axis="contrast",
            labels=tuple(names[:first] + names[first + 1 :]),
        ),
        mean_df=mean_df,
        contrast_df=contrast_df,
        contrast_t=difference / spread,
        contrast_p=2.0 * stdtr(contrast_df, -np.abs(difference / spread)),
        f_statistic=statistic,
        f_df=f_df,
        p_value=p_value,
        bootstrap_p_value=float(monte_carlo_p_value(statistic, drawn[:, k])),
        variances=_pivotal(
            variances,
            np.stack([between, residual], axis=1),
            table,
            level,
            name="variance",
            labels=("model", "residual"),
        ),
        intraclass=_pivotal(
            variances[:1] / variances.sum(),
            shares[:, None],
            table,
            level,
            name="intraclass correlation",
            labels=("model",),
        ),
        reml_criterion=float(data.deviance(np.array([fit.ratio]))[0]),
        log_likelihood=-0.5 * float(data.deviance(ml, restricted=False)[0]),
        n=table.scores.size,
        n_models=len(table.models),
        reference=table.conditions[first],
    )


def _student(
    value: FloatArray,
    se: FloatArray,
    df: FloatArray,
    n: FloatArray,
    draws: FloatArray,
    level: float,
    *,
    name: str,
    axis: str,
    labels: tuple[Any, ...],
) -> Estimate:
    """Return an estimate with a Student's t interval."""
    margin = stdtrit(df, 0.5 + 0.5 * level) * se
    return Estimate(
        name=name,
        value=value,
        se=se,
        interval=np.stack([value - margin, value + margin], axis=1),
        n=n,
        flags=(Reason.NONE,) * value.size,
        method="Student's t, Satterthwaite",
        level=level,
        labels=labels,
        axis=axis,
        _draws=draws,
    )


def _pivotal(
    value: FloatArray,
    draws: FloatArray,
    table: ConditionScores,
    level: float,
    *,
    name: str,
    labels: tuple[Any, ...],
) -> Estimate:
    """Return a variance, or a proportion of variance, with percentiles of pivotal draws."""
    return Estimate(
        name=name,
        value=value,
        se=draws.std(axis=0, ddof=1),
        interval=percentile_interval(draws, level),
        n=np.array([float(len(table.models)), float(table.scores.size)])[: value.size],
        flags=tuple(Reason.AT_BOUND if one == 0.0 else Reason.NONE for one in value),
        method="generalised (pivotal) percentiles",
        level=level,
        labels=labels,
        axis="component",
        _draws=draws,
    )


def _undefined(
    table: ConditionScores, first: int, reason: Reason, options: Resampling
) -> MixedModel:
    k = len(table.conditions)
    names = [f"{label} - {table.conditions[first]}" for label in table.conditions]
    rest = tuple(names[:first] + names[first + 1 :])

    def unknown(name: str, axis: str, labels: tuple[Any, ...]) -> Estimate:
        n = np.full(len(labels), float(len(table.models)))
        return unknown_estimate(
            name, labels, reason, n=n, level=options.level, axis=axis, n_draws=options.n
        )

    return MixedModel(
        means=unknown("mean score", "condition", table.conditions),
        contrasts=unknown("difference of means", "contrast", rest),
        mean_df=np.full(k, np.nan),
        contrast_df=np.full(len(rest), np.nan),
        contrast_t=np.full(len(rest), np.nan),
        contrast_p=np.full(len(rest), np.nan),
        f_statistic=np.nan,
        f_df=(max(k - 1, 0), np.nan),
        p_value=np.nan,
        bootstrap_p_value=np.nan,
        variances=unknown("variance", "component", ("model", "residual")),
        intraclass=unknown("intraclass correlation", "component", ("model",)),
        reml_criterion=np.nan,
        log_likelihood=np.nan,
        n=table.scores.size,
        n_models=len(table.models),
        reference=table.conditions[first] if k else None,
    )
