r"""Privileged access: what a model knows of its own chances and the others do not.

Model m says yes, and is correct, where two latent quantities exceed zero,

.. math:: Y^* = c + d f + e, \qquad A^* = a(f) + u, \qquad
          \operatorname{corr}(e, u) = \rho,                                               \quad (1)

f the shared factor of the question, e and u standard normal, a(f) a cubic polynomial, so that
correctness may depend on the shared factor in many ways. If all that a model's confidence knows
about its correctness is the shared factor, :math:`\rho = 0`: confidence and correctness are
independent *given f*. f is not observed, and to put an estimate in its place leaves confidence and
correctness dependent through the error of the estimate. Instead f is integrated out over its
posterior given the answers of all *other* models,

.. math:: L = \prod_q \sum_k w_{qk}\, \Phi_2\big(\pm(c + d f_k), \pm a(f_k); \pm\rho\big),
          \qquad w_{qk} \propto \varphi(f_k) \prod_{j \ne m} P(Y_{jq} \mid f_k),          \quad (2)

with the other models' loadings and thresholds as given. All else is estimated by maximum
likelihood, with a wide normal prior on slopes and bends that keeps few questions from sending them
to infinity, and :math:`\rho = 0` is tested by the likelihood ratio. Standard errors are those of
the outer product of the questions' gradients (Berndt et al.). The precision-weighted mean of
artanh rho over models has a standard error from the questions' influence functions, because all
models answered the same questions.

References
----------
Berndt, E. R., Hall, B. H., Hall, R. E., & Hausman, J. A. (1974). Estimation and inference in
nonlinear structural models. Annals of Economic and Social Measurement, 3, 653-665.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial.hermite_e import hermevander
from scipy.optimize import minimize
from scipy.special import chdtrc, ndtr, ndtri

from psychollm._base.axes import Axes
from psychollm._base.checks import check_fraction
from psychollm._base.multiplicity import Adjustment, adjust_p_values
from psychollm._base.numbers import p_equals, with_interval
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray
from psychollm.calibration.stated import PairedAnswers, paired_answers
from psychollm.data.labels import unit_numbers
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
from psychollm.factor.one_factor.full_information import (
    Grid,
    Patterns,
    answer_patterns,
    factor_grid,
    log_answer_probabilities,
    ogive,
)
from psychollm.kernels.bivariate import densities, orthants

DEGREE = 3  # of the polynomial by which correctness depends on the factor
BOUND_Z = 4.0  # |rho| = .9993: the likelihood rises to the bound
MAX_ITERATIONS = 200
_POLYNOMIAL_RANGE = 3.0
_LARGEST_LOADING = 0.999
_LARGEST_Z = 6.0
_GRADIENT = 1e-4  # per standard error: what is left to climb moves no estimate by more of one
_LEAST_CHANCE = 1e-300
_INTERPOLATIONS = 12
_ROOT_TOLERANCE = 0.01
_LONGEST_STEP = 1.0
# Precision of a normal prior on c, d, the coefficients of a, and z: wide on slopes, moderate on
# what bends a, so that few questions do not send them to infinity; none on the rest.
PENALTY = np.array([0.0, 1 / 25, 0.0, 1 / 25, *np.ones(DEGREE - 1), 0.0])


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the answers to each question say about its place on the factor."""

    patterns: Patterns  # of the models that take part
    grid: Grid
    log_yes: FloatArray  # (taking part, nodes) log P(yes | f)
    log_no: FloatArray  # (taking part, nodes) log P(no | f)
    row: IntArray  # (models,) row of each model among those taking part, -1 where it does not
    start: FloatArray  # (models, 2) c and d of (1) by the one-factor solution

    @classmethod
    def of(cls, paired: PairedAnswers, loadings: FloatArray, thresholds: FloatArray) -> "Evidence":
        """Collect the evidence of all models whose loading and threshold are known."""
        keep = np.isfinite(loadings) & np.isfinite(thresholds)
        size = np.clip(loadings[keep], -_LARGEST_LOADING, _LARGEST_LOADING)
        cut = thresholds[keep]
        grid = factor_grid(size, cut)
        log_yes, log_no = log_answer_probabilities(ogive(size, cut, grid.nodes))
        rest = np.sqrt(1.0 - size**2)
        start = np.zeros((keep.size, 2))
        start[keep] = np.column_stack([-cut / rest, size / rest])
        row = np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int64)
        return cls(
            answer_patterns(paired.said > 0.0, paired.answered, keep),
            grid,
            log_yes,
            log_no,
            row,
            start,
        )

    def without(self, m: int, which: IntArray) -> FloatArray:
        """Posterior weights w of (2) of some patterns, given all models but m (which, nodes)."""
        yes, no = self.patterns.yes[which].copy(), self.patterns.no[which].copy()
        if self.row[m] >= 0:
            yes[:, self.row[m]] = no[:, self.row[m]] = 0.0
        log_weight = yes @ self.log_yes + no @ self.log_no + self.grid.log_weights
        log_weight -= log_weight.max(axis=1, keepdims=True)
        weight = np.exp(log_weight)
        return np.asarray(weight / weight.sum(axis=1, keepdims=True), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Likelihood:
    """(2) as a function of (c, d, coefficients of a, z), over distinct patterns of answers."""

    basis: FloatArray  # (nodes, degree + 1) polynomials in the factor
    cells: tuple[tuple[float, float, FloatArray], ...]  # yes and correct as signs, weights w
    frequency: FloatArray  # (distinct,) in the order of the cells
    of_question: IntArray  # (used,) which distinct pattern each used question has

    @classmethod
    def of(cls, paired: PairedAnswers, evidence: Evidence, m: int) -> "Likelihood":
        """Collect the distinct patterns of one model's questions, cell by cell."""
        used = paired.present[m]
        cell = (2 - 2 * paired.yes[m, used] - paired.correct[m, used] + 1).astype(np.int64)
        pattern = evidence.patterns.of_question[used]
        size = evidence.patterns.frequency.size
        distinct, of_question, frequency = np.unique(
            cell * size + pattern, return_inverse=True, return_counts=True
        )
        cells = tuple(
            (*signs, evidence.without(m, distinct[distinct // size == row] % size))
            for row, signs in enumerate(_SIGNS)
        )
        return cls(
            _polynomials(evidence.grid.nodes),
            cells,
            frequency.astype(np.float64),
            of_question.astype(np.int64),
        )

    def value(self, theta: FloatArray) -> float:
        """Log likelihood (2)."""
        h, k, rho = self._limits(theta)
        return float(self.frequency @ np.log(np.concatenate(self._chances(h, k, rho))))

    def scores(self, theta: FloatArray) -> FloatArray:
        """Gradient of the log likelihood of each distinct pattern (distinct, parameters)."""
        h, k, rho = self._limits(theta)
        return self._scores(h, k, rho, self._chances(h, k, rho))

    def objective(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Penalised log likelihood and its gradient (parameters,)."""
        h, k, rho = self._limits(theta)
        chances = self._chances(h, k, rho)
        value = float(self.frequency @ np.log(np.concatenate(chances)))
        gradient = self.frequency @ self._scores(h, k, rho, chances)
        if abs(theta[-1]) > _LARGEST_Z:
            gradient[-1] = 0.0
        return value - 0.5 * float(PENALTY @ theta**2), gradient - PENALTY * theta

    def information(self, theta: FloatArray) -> FloatArray:
        """Sum of the outer products of the questions' gradients, with the penalty's."""
        scores = self.scores(theta)
        products = (scores * self.frequency[:, None]).T @ scores + np.diag(PENALTY)
        return np.asarray(products + 1e-6 * np.eye(len(theta)), dtype=np.float64)

    def _chances(self, h: FloatArray, k: FloatArray, rho: float) -> list[FloatArray]:
        """Likelihood of the distinct patterns, cell by cell."""
        return [
            np.maximum(weight @ orthants(s * h, t * k, s * t * rho), _LEAST_CHANCE)
            for s, t, weight in self.cells
        ]

    def _scores(
        self, h: FloatArray, k: FloatArray, rho: float, chances: list[FloatArray]
    ) -> FloatArray:
        rest = np.sqrt((1.0 - rho) * (1.0 + rho))
        by_h, by_k = _density(h), _density(k)
        by_z = densities(h, k, rho) * rest**2
        blocks = []
        for (s, t, weight), chance in zip(self.cells, chances, strict=True):
            at_h = s * by_h * ndtr(t * (k - rho * h) / rest)
            at_k = t * by_k * ndtr(s * (h - rho * k) / rest)
            slopes = np.column_stack(
                [at_h[:, None] * self.basis[:, :2], at_k[:, None] * self.basis, s * t * by_z]
            )
            blocks.append((weight @ slopes) / chance[:, None])
        return np.concatenate(blocks)

    def _limits(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        rho = float(np.tanh(np.clip(theta[-1], -_LARGEST_Z, _LARGEST_Z)))
        return self.basis[:, :2] @ theta[:2], self.basis @ theta[2:-1], rho


def _polynomials(nodes: FloatArray) -> FloatArray:
    """Hermite polynomials up to `DEGREE`, held constant where next to no question lies."""
    inner = np.clip(nodes, -_POLYNOMIAL_RANGE, _POLYNOMIAL_RANGE)
    basis = hermevander(inner, DEGREE)
    basis[:, 1] = nodes
    return np.asarray(basis / np.sqrt([1.0, 1.0, 2.0, 6.0][: DEGREE + 1]), dtype=np.float64)


_SIGNS = ((1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0))


def _density(x: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-0.5 * x**2) / np.sqrt(2.0 * np.pi), dtype=np.float64)


class Climb(NamedTuple):
    """Where an ascent ended."""

    theta: FloatArray
    value: float
    steps: int
    converged: bool


def climb(likelihood: Likelihood, theta: FloatArray, free: int) -> Climb:
    """Maximise the penalised likelihood over the first `free` parameters (BFGS)."""
    # In units of standard errors the surface is round: BFGS starts from the right curvature.
    root = np.linalg.cholesky(likelihood.information(theta)[:free, :free])
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
        options={"gtol": _GRADIENT, "maxiter": MAX_ITERATIONS},
    )
    # Status 2, "precision loss": no step climbs any further.
    return Climb(at(end.x), -float(end.fun), int(end.nit), end.status in {0, 2})


def profile_interval(
    likelihood: Likelihood, full: Climb, se: float, level: float
) -> tuple[float, float]:
    """Interval of z by the profile likelihood: what the likelihood ratio does not reject."""
    # Ends beyond the bound of the correlation are infinite. The signed root of the
    # likelihood ratio is almost a straight line in z, so that interpolation takes few steps.
    lower, upper = (_profile_end(likelihood, full, side, se, level) for side in (-1.0, 1.0))
    return lower, upper


def _profile_end(
    likelihood: Likelihood, full: Climb, side: float, se: float, level: float
) -> float:
    wanted = normal_multiplier(level)
    theta, start = full.theta, float(np.clip(full.theta[-1], -BOUND_Z, BOUND_Z))
    if side * start >= BOUND_Z:
        return side * np.inf
    inner, outer = (start, 0.0), None
    z = start + side * min(wanted * se, _LONGEST_STEP)
    for _ in range(_INTERPOLATIONS):
        z = float(np.clip(z, -BOUND_Z, BOUND_Z))
        trial = climb(likelihood, np.array([*theta[:-1], z]), free=theta.size - 1)
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
            z = start + further * (z - start)
        else:
            share = (wanted - inner[1]) / (outer[1] - inner[1])
            z = inner[0] + share * (outer[0] - inner[0])
    return z


STRONGEST = 4  # models whose correlation is told


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PrivateSignal(Study, Result):
    """How confidence and correctness of each model go together beyond the shared factor.

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

    correlation: Estimate  # rho of (1)
    statistic: FloatArray  # (models,) likelihood ratio of rho = 0
    p_value: FloatArray  # (models,)
    p_adjusted: FloatArray  # (models,)
    mean: float  # precision-weighted mean of z over the models, as a correlation
    mean_interval: FloatArray  # (2,)
    mean_p: float  # two-sided, of mean = 0
    n_models: int  # models behind the mean
    iterations: IntArray  # (models,)
    reason: tuple[Reason, ...]  # (models,) why there is no estimate
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
        """Return the finding, with a row per model; `smallest.correlation` is what matters."""
        return Finding(
            question="Does confidence know its own correctness beyond the shared factor?",
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
        """Return of each model whether its confidence knows more than the shared factor.

        Parameters
        ----------
        smallest : SmallestEffects
            With the smallest `correlation` that matters.
        """
        rejected = [bool(p <= 1.0 - self.level) for p in self.p_adjusted]
        return verdicts(self.correlation, smallest=smallest.correlation, rejected=rejected)


def known(private: PrivateSignal, smallest: SmallestEffects) -> str:
    """Return how many models know their own correctness beyond the factor, in words."""
    little = f"by less than a correlation of {smallest.correlation:g}"
    words = {
        Outcome.ABOVE: ("knows its own correctness", "know their own correctness"),
        Outcome.BELOW: ("is confident against it", "are confident against it"),
        Outcome.SMALL: (
            f"knows its own correctness {little}",
            f"know their own correctness {little}",
        ),
    }
    whether = "whether confidence knows its own correctness"
    return counted(private.verdicts(smallest), words, whether=whether)


def statement(private: PrivateSignal, smallest: SmallestEffects) -> str:
    """Return the verdict, the correlations that differ from zero, and the mean of all."""
    rho, outcomes = private.correlation, private.verdicts(smallest).outcomes
    shown = [row for row, one in enumerate(outcomes) if one.shown]
    shown.sort(key=lambda row: -abs(rho.value[row]))
    named = [f"{private.labels[row]} {rho.text(row, 3, signed=True)}" for row in shown]
    which = names_of(named, most=STRONGEST)
    those = f"Shown to differ from zero: {which}. " if named else ""
    return (
        f"{known(private, smallest)}. {those}The mean correlation beyond the factor is "
        f"{with_interval(private.mean, private.mean_interval, 3, signed=True)} "
        f"({p_equals(private.mean_p)})."
    )


def private_signal(
    confidence: Any,
    correctness: Any,
    *,
    loadings: Any,
    thresholds: Any,
    adjustment: Adjustment = "holm",
    level: float = 0.95,
) -> PrivateSignal:
    """Estimate what each model's confidence knows about its correctness beyond the shared factor.

    Parameters
    ----------
    confidence, correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        1 = yes or correct.
    loadings, thresholds : array_like (models,)
        One-factor solution of the confidence; NaN for models that are not part of it, whose
        answers then tell nothing about the factor.
    adjustment : {"holm", "bonferroni", "bh", "by"}
        How p-values are adjusted for the number of models.
    level : float
        Coverage of the intervals: of single models by the profile likelihood, so that they
        exclude 0 where the likelihood ratio does.

    Returns
    -------
    PrivateSignal
        A model that always gives the same answer, or is always or never correct, has NaN and a
        reason.

    Raises
    ------
    LabelError, CodeError
        If the tables do not match, or are not binary.
    ShapeError
        If there is not one loading and one threshold per model.

    Notes
    -----
    (2) takes the one-factor model at its word. A second factor that several models share, and that
    bears on correctness, counts as private here: read the result beside the verdict on
    dimensionality.

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
    evidence = Evidence.of(paired, L, tau)
    fits = [_fit_model(paired, evidence, m, level) for m in range(len(paired.models))]
    return _assemble(fits, paired, adjustment, level)


class _Fit(NamedTuple):
    """The estimate of one model."""

    reason: Reason
    n: int
    z: float = np.nan  # artanh rho; infinite at the bound
    se: float = np.nan  # of z
    interval: tuple[float, float] = (np.nan, np.nan)  # of z
    statistic: float = np.nan
    iterations: int = 0
    influence: FloatArray | None = None  # (questions,) of z, 0 where a question was not used


def _fit_model(paired: PairedAnswers, evidence: Evidence, m: int, level: float) -> _Fit:
    used = paired.present[m]
    n = int(used.sum())
    if reason := untestable(paired.yes[m, used], paired.correct[m, used]):
        return _Fit(reason, n)
    likelihood = Likelihood.of(paired, evidence, m)
    rate = paired.correct[m].sum() / n
    start = np.array([*evidence.start[m], ndtri(rate), *np.zeros(DEGREE + 1)])
    null = climb(likelihood, start, free=start.size - 1)
    full = climb(likelihood, null.theta, free=start.size)
    statistic, steps = max(2.0 * (full.value - null.value), 0.0), null.steps + full.steps
    z = float(full.theta[-1])
    scores = likelihood.scores(full.theta)
    covariance = np.linalg.inv(likelihood.information(full.theta))
    se = float(np.sqrt(covariance[-1, -1]))
    interval = profile_interval(likelihood, full, se, level)
    if abs(z) > BOUND_Z:
        z = float(np.copysign(np.inf, z))
        return _Fit(Reason.AT_BOUND, n, z, np.nan, interval, statistic, steps)
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
        mean_p=float(2.0 * ndtr(-abs(mean / mean_se))) if n_models else np.nan,
        n_models=n_models,
        iterations=np.array([fit.iterations for fit in fits], dtype=np.int64),
        reason=reason,
        adjustment=adjustment,
        level=level,
        labels=paired.models,
    )


def _mean(fits: list[_Fit]) -> tuple[float, float, int]:
    """Precision-weighted mean of z, its standard error clustered by question, how many models."""
    known_fits = [(fit.z, fit.se**-2, fit.influence) for fit in fits if fit.influence is not None]
    if not known_fits:
        return np.nan, np.nan, 0
    z, weight = (np.array([row[place] for row in known_fits]) for place in (0, 1))
    share = weight / weight.sum()
    influence = share @ np.array([row[2] for row in known_fits])
    return float(share @ z), float(np.sqrt((influence**2).sum())), len(known_fits)
