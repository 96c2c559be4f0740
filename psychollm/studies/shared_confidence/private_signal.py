r"""Test for privileged access: confidence predicts correctness beyond the common factor.

Model m says yes if :math:`Y^*` exceeds zero, and is correct if :math:`A^*` exceeds zero. Equation
(1) defines :math:`Y^*` and :math:`A^*`.

.. math:: Y^* = c + d f + e, \qquad A^* = a(f) + u, \qquad
          \operatorname{corr}(e, u) = \rho.                                               \quad (1)

Here, f is the common factor of the question, and e and u are standard normal. Because a(f) is a
cubic polynomial, correctness may depend on f in many ways. If confidence predicts correctness
through the common factor alone, :math:`\rho = 0`: confidence and correctness are independent
*given f*. The factor is not observed. Given an estimate of f instead of f, confidence and
correctness would remain dependent because of the error of the estimate. Therefore, the likelihood,
equation (2), integrates f out over its posterior given the answers of all *other* models.

.. math:: L = \prod_q \sum_k w_{qk}\, \Phi_2\big(\pm(c + d f_k), \pm a(f_k); \pm\rho\big),
          \qquad w_{qk} \propto \varphi(f_k) \prod_{j \ne m} P(Y_{jq} \mid f_k).          \quad (2)

The loadings and thresholds of the other models are given. If models lapse, with asymptotes
:math:`\ell` and :math:`1 - e`, the probabilities of their answers come from the fit with lapses.
For model m itself and the answer yes, :math:`\Phi_2` becomes
:math:`\ell\,\Phi(\pm a) + (1 - \ell - e)\,\Phi_2`. For the answer no, e replaces the first
:math:`\ell`.

All parameters of model m are estimated by maximum likelihood, with a wide normal prior that keeps
slopes and higher terms finite with few questions. The hypothesis :math:`\rho = 0` is tested by the
likelihood ratio. Standard errors come from the outer product of the questions' gradients (Berndt
et al.). The precision-weighted mean of artanh rho over models has a standard error from the
questions' influence functions, because all models answered the same questions.

References
----------
Berndt, E. R., Hall, B. H., Hall, R. E., & Hausman, J. A. (1974). Estimation and inference in
nonlinear structural models. Annals of Economic and Social Measurement, 3, 653-665.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import chdtrc, ndtr, ndtri

from psychollm._base.axes import Axes
from psychollm._base.checks import check_fraction
from psychollm._base.multiplicity import Adjustment, adjust_p_values
from psychollm._base.numbers import p_equals, with_interval
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray
from psychollm.calibration.stated import PairedAnswers, paired_answers
from psychollm.data.labels import asymptotes_of, unit_numbers
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.findings import (
    Finding,
    Findings,
    Study,
    estimate_rows,
    sentence,
)
from psychollm.estimates.intervals import normal_multiplier
from psychollm.estimates.reasons import Reason, untestable
from psychollm.estimates.verdict import (
    SMALLEST,
    Outcome,
    SmallestEffects,
    Verdicts,
    counted,
    names_of,
    verdicts,
)
from psychollm.studies.shared_confidence.private_likelihood import DEGREE, Evidence, Likelihood

BOUND_Z = 4.0  # |rho| = .9993; beyond it, the estimate counts as being at the bound
MAX_ITERATIONS = 200
# Smallest acceptable information on z without the ridge. With less information, the ridge
# determines the standard error.
_LEAST_INFORMATION = 1e-4
_LEAST_SE = 1e-9
_GRADIENT = 1e-4  # tolerance of the gradient, in units of 1 / standard error
_INTERPOLATIONS = 12
_ROOT_TOLERANCE = 0.01
# A gradient of this size lowers the likelihood by at most .0003, and moves the root by .0002.
_TRIAL_GRADIENT = 0.01
_LONGEST_STEP = 1.0


class Climb(NamedTuple):
    """Result of a maximisation."""

    theta: FloatArray
    value: float
    steps: int
    converged: bool


def climb(
    likelihood: Likelihood,
    theta: FloatArray,
    information: FloatArray,
    *,
    free: int,
    tolerance: float = _GRADIENT,
) -> Climb:
    """Maximise the penalised likelihood over the first `free` parameters (BFGS)."""
    # Scaling by standard errors provides BFGS with the right initial curvature.
    root = np.linalg.cholesky(information[:free, :free])
    scale = np.linalg.inv(root).T

    def at(moved: FloatArray) -> FloatArray:
        return np.concatenate([theta[:free] + scale @ moved, theta[free:]])

    def loss(moved: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = likelihood.objective(at(moved))
        return -value, -(gradient[:free] @ scale)

    end = minimize(
        loss,
        np.zeros(free),
        jac=True,
        method="BFGS",
        options={"gtol": tolerance, "maxiter": MAX_ITERATIONS},
    )
    # Status 2, "precision loss": no step increases the likelihood further.
    return Climb(at(end.x), -float(end.fun), int(end.nit), end.status in {0, 2})


def profile_interval(
    likelihood: Likelihood, full: Climb, information: FloatArray, level: float
) -> tuple[float, float]:
    """Return the profile likelihood interval of z, the artanh of the correlation."""
    # Ends of the interval beyond the bound of the correlation are infinite. The signed root of the
    # likelihood ratio is almost linear in z, so interpolation takes few steps.
    lower, upper = (_profile_end(likelihood, full, information, s, level) for s in (-1.0, 1.0))
    return lower, upper


def _profile_end(
    likelihood: Likelihood, full: Climb, information: FloatArray, side: float, level: float
) -> float:
    wanted = normal_multiplier(level)
    se = float(np.sqrt(np.linalg.inv(information)[-1, -1]))
    # Change of the other parameters' maximum with z, from the information at the full maximum.
    slopes = -np.linalg.solve(information[:-1, :-1], information[:-1, -1])
    theta, centre = full.theta, float(np.clip(full.theta[-1], -BOUND_Z, BOUND_Z))
    if side * centre >= BOUND_Z:
        return side * np.inf
    inner, outer = (centre, 0.0), None
    z = centre + side * min(wanted * se, _LONGEST_STEP)
    for _ in range(_INTERPOLATIONS):
        z = float(np.clip(z, -BOUND_Z, BOUND_Z))
        start = np.array([*(theta[:-1] + (z - theta[-1]) * slopes), z])
        trial = climb(
            likelihood, start, information, free=theta.size - 1, tolerance=_TRIAL_GRADIENT
        )
        root, theta = np.sqrt(max(2.0 * (full.value - trial.value), 0.0)), trial.theta
        if abs(root - wanted) < _ROOT_TOLERANCE:
            return z
        if root > wanted:
            outer = (z, root)
        elif side * z >= BOUND_Z:
            return side * np.inf
        else:
            inner = (z, root)
        if outer is None:
            further = 1.05 * wanted / root if root > 0.25 * wanted else 4.0
            z = centre + further * (z - centre)
        else:
            share = (wanted - inner[1]) / (outer[1] - inner[1])
            z = inner[0] + share * (outer[0] - inner[0])
    return z


STRONGEST = 4  # number of models in the verdict


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PrivateSignal(Study, Result):
    """Correlation of confidence and correctness beyond the common factor, by model.

    Examples
    --------
    >>> from psychollm.data.simulate_study import simulate_study
    >>> study = simulate_study(n_models=8, n_questions=600, self_knowledge={2: 0.9}, rng=0)
    >>> found = private_signal(
    ...     study.confidence, study.correctness,
    ...     loadings=study.truth.loadings, thresholds=study.truth.thresholds)
    >>> int(found.p_adjusted.argmin())
    2
    """

    correlation: Estimate  # estimate of rho in (1)
    statistic: FloatArray  # (models,) likelihood ratio statistic of rho = 0
    p_value: FloatArray  # (models,)
    p_adjusted: FloatArray  # (models,)
    mean: float  # precision-weighted mean of z over the models, transformed to a correlation
    mean_interval: FloatArray  # (2,)
    mean_p: float  # two-sided p-value of mean = 0
    n_models: int  # number of models in the mean
    iterations: IntArray  # (models,)
    reason: tuple[Reason, ...]  # (models,) reason why the estimate is missing
    adjustment: str
    level: float
    labels: tuple[Any, ...]  # (models,)

    _AXES = Axes(
        {"model": "correlation.labels"},
        "value=correlation.value",
        "se=correlation.se",
        "{bound}=correlation.interval",
        "statistic",
        "p_value",
        "p_adjusted",
        "n=correlation.n",
        "flag=correlation.flags",
    )

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return the finding, with `smallest.correlation` as the smallest effect of interest."""
        return Finding(
            question="Does confidence predict correctness beyond the common factor?",
            statement=sentence(statement(self, smallest)),
            rows=estimate_rows(self.correlation, 3),
            numbers={
                "correlation": self.correlation,
                "mean": self.mean,
                "mean_interval": self.mean_interval,
                "mean_p": self.mean_p,
            },
            outcome=self.verdicts(smallest),
        ).alone

    def verdicts(self, smallest: SmallestEffects = SMALLEST) -> Verdicts:
        """Return for each model whether its confidence predicts correctness beyond the factor.

        Parameters
        ----------
        smallest : SmallestEffects
            Smallest effects of interest, of which only `correlation` is used.
        """
        rejected = [bool(p <= 1.0 - self.level) for p in self.p_adjusted]
        return verdicts(self.correlation, smallest=smallest.correlation, rejected=rejected)


def known(private: PrivateSignal, smallest: SmallestEffects) -> str:
    """Return how many models predict their own correctness beyond the factor, in words."""
    little = f"only negligibly (correlation below {smallest.correlation:g})"
    words = {
        Outcome.ABOVE: (
            "predicts its own correctness beyond the common factor",
            "predict their own correctness beyond the common factor",
        ),
        Outcome.BELOW: (
            "predicts its own errors beyond the common factor",
            "predict their own errors beyond the common factor",
        ),
        Outcome.SMALL: (
            f"predicts its own correctness {little}",
            f"predict their own correctness {little}",
        ),
    }
    whether = "whether confidence predicts correctness beyond the common factor"
    return counted(private.verdicts(smallest), words, whether=whether)


def statement(private: PrivateSignal, smallest: SmallestEffects) -> str:
    """Return the verdict, the significant correlations, and the mean correlation."""
    rho, outcomes = private.correlation, private.verdicts(smallest).outcomes
    shown = [row for row, one in enumerate(outcomes) if one.shown]
    shown.sort(key=lambda row: -abs(rho.value[row]))
    named = [f"{private.labels[row]} {rho.text(row, 3, signed=True)}" for row in shown]
    which = names_of(named, most=STRONGEST)
    those = f"Significant after adjustment for the number of models: {which}. " if named else ""
    return (
        f"{known(private, smallest)}. {those}When the common factor is removed, the mean "
        "residual correlation of confidence and correctness is "
        f"{with_interval(private.mean, private.mean_interval, 3, signed=True)} "
        f"({p_equals(private.mean_p)})."
    )


def private_signal(
    confidence: Any,
    correctness: Any,
    *,
    loadings: Any,
    thresholds: Any,
    lower: Any = None,
    upper: Any = None,
    adjustment: Adjustment = "holm",
    level: float = 0.95,
) -> PrivateSignal:
    """Correlate each model's confidence and correctness beyond the common factor.

    Parameters
    ----------
    confidence, correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        Binary answers, where 1 means yes or correct.
    loadings, thresholds : array_like (models,)
        One-factor solution of the confidence; NaN for models without a solution, whose answers
        then carry no information about the factor.
    lower, upper : array_like (models,), optional
        Asymptotes of models that lapse or guess, from the same solution; 0 and 1 by default.
    adjustment : {"holm", "bonferroni", "bh", "by"}
        Adjustment of p-values for the number of models.
    level : float
        Coverage of the intervals. Intervals of single models use the profile likelihood, so they
        exclude 0 if the likelihood ratio test rejects it.

    Returns
    -------
    PrivateSignal
        Results of a model are NaN, with a reason, if its confidence or correctness is constant, or
        if its answers have the same likelihood under any correlation.

    Raises
    ------
    LabelError, CodeError
        If the tables do not match, or are not binary.
    ShapeError
        If the number of loadings or of thresholds differs from the number of models.

    Notes
    -----
    Equation (2) assumes the one-factor model. A second common factor that is related to
    correctness counts as private in this test, so interpret the result together with the verdict
    on dimensionality.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> said, right = rng.integers(0, 2, (2, 5, 300))
    >>> found = private_signal(said, right, loadings=[0.5] * 5, thresholds=[0.0] * 5)
    >>> found.p_adjusted.min() > 0.05
    np.True_
    """
    paired = paired_answers(confidence, correctness)
    L, tau = (
        unit_numbers(values, paired.models, argument=name, kind="model")
        for name, values in (("loadings", loadings), ("thresholds", thresholds))
    )
    check_fraction("level", level)
    curves = np.stack([L, tau])
    if lower is not None or upper is not None:
        curves = np.concatenate([curves, asymptotes_of(paired.models, lower, upper)])
    evidence = Evidence.of(paired, curves)
    fits = [_fit_model(paired, evidence, m, level) for m in range(len(paired.models))]
    return _assemble(fits, paired, adjustment, level)


class _Fit(NamedTuple):
    """Estimates for one model."""

    reason: Reason
    n: int
    z: float = np.nan  # artanh rho; infinite at the bound
    se: float = np.nan  # standard error of z
    interval: tuple[float, float] = (np.nan, np.nan)  # interval of z
    statistic: float = np.nan
    iterations: int = 0
    influence: FloatArray | None = None  # (questions,) influence on z, 0 for unused questions


def _fit_model(paired: PairedAnswers, evidence: Evidence, m: int, level: float) -> _Fit:
    used = paired.present[m]
    n = int(used.sum())
    if reason := untestable(paired.yes[m, used], paired.correct[m, used]):
        return _Fit(reason, n)
    likelihood = Likelihood.of(paired, evidence, m)
    rate = paired.correct[m].sum() / n
    start = np.array([*evidence.start[m], ndtri(rate), *np.zeros(DEGREE + 1)])
    null = climb(likelihood, start, likelihood.information(start), free=start.size - 1)
    full = climb(likelihood, null.theta, likelihood.information(null.theta), free=start.size)
    statistic, steps = max(2.0 * (full.value - null.value), 0.0), null.steps + full.steps
    z = float(full.theta[-1])
    scores = likelihood.scores(full.theta)
    information = likelihood.information(full.theta)
    covariance = np.linalg.inv(information)
    se = float(np.sqrt(covariance[-1, -1]))
    interval = profile_interval(likelihood, full, information, level)
    if abs(z) > BOUND_Z:
        z = float(np.copysign(np.inf, z))
        return _Fit(Reason.AT_BOUND, n, z, np.nan, interval, statistic, steps)
    if covariance[-1, -1] * _LEAST_INFORMATION > 1.0:
        # The likelihood is flat here: up to the bound, or everywhere.
        open_ends = np.isinf(interval)
        if open_ends.sum() == 1:
            z = float(np.asarray(interval)[open_ends][0])
            return _Fit(Reason.AT_BOUND, n, z, np.nan, interval, statistic, steps)
        return _Fit(Reason.UNIDENTIFIED, n, np.nan, np.nan, interval, statistic, steps)
    influence = np.zeros(used.size)
    influence[used] = (scores @ covariance[:, -1])[likelihood.of_question]
    reason = Reason.NONE if null.converged and full.converged else Reason.NOT_CONVERGED
    return _Fit(reason, n, z, se, interval, statistic, steps, influence)


def _assemble(
    fits: list[_Fit], paired: PairedAnswers, adjustment: Adjustment, level: float
) -> PrivateSignal:
    rho = np.tanh([fit.z for fit in fits])
    reason = tuple(fit.reason for fit in fits)
    statistic = np.array([fit.statistic for fit in fits])
    p_value = np.asarray(chdtrc(1, statistic), dtype=np.float64)
    mean, mean_se, n_models = _mean(fits)
    half = normal_multiplier(level) * mean_se
    return PrivateSignal(
        correlation=Estimate(
            name="private correlation",
            value=rho,
            se=np.array([fit.se for fit in fits]) * (1.0 - rho**2),
            interval=np.tanh([fit.interval for fit in fits]),
            n=np.array([fit.n for fit in fits], dtype=np.float64),
            flags=reason,
            method="profile likelihood",
            level=level,
            labels=paired.models,
        ),
        statistic=statistic,
        p_value=p_value,
        p_adjusted=adjust_p_values(p_value, method=adjustment),
        mean=float(np.tanh(mean)),
        mean_interval=np.tanh(np.array([mean - half, mean + half])),
        mean_p=float(2.0 * ndtr(-abs(mean / mean_se))),
        n_models=n_models,
        iterations=np.array([fit.iterations for fit in fits], dtype=np.int64),
        reason=reason,
        adjustment=adjustment,
        level=level,
        labels=paired.models,
    )


def _mean(fits: list[_Fit]) -> tuple[float, float, int]:
    """Return the precision-weighted mean of z, its clustered SE, and the number of models."""
    known_fits = [(fit.z, fit.se**-2, fit.influence) for fit in fits if fit.influence is not None]
    if not known_fits:
        return np.nan, np.nan, 0
    z, weight = (np.array([row[place] for row in known_fits]) for place in (0, 1))
    share = weight / weight.sum()
    influence = share @ np.array([row[2] for row in known_fits])
    se = float(np.sqrt((influence**2).sum()))
    # Models with opposite answers cancel: their mean is zero for any data.
    return float(share @ z), se if se > _LEAST_SE else np.nan, len(known_fits)
