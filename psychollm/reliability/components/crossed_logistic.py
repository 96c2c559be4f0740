r"""Variance components of binary scores, estimated by a crossed logistic mixed model.

.. math:: \operatorname{logit} P(y_{mqe} = 1) = \mu + F_{f(m)} + M_m + D_{d(q)} + (MD)_{m d(q)}
          + Q_q + (MQ)_{mq} .                                                             \quad (1)

The effects are independent and normal: families of models (F), models (M), domains of questions
(D), models within domains (MD), questions (Q), and models on single questions (MQ). Repeated
answers to the same question differ by sampling error. Without repeated answers, the interaction MQ
cannot be distinguished from sampling error. The model then omits the interaction, and "residual"
denotes the sum of interaction and sampling error.

Questions and interactions are integrated out numerically, by quadrature (`logistic_cells`). Levels
of models in domains are integrated out by Laplace's approximation (`logistic_blocks`), which is
nearly exact because each level is estimated from many answers. Most programs for crossed effects
use Laplace's approximation for all effects. Laplace's approximation underestimates variances,
especially the interaction variance, if single answers carry little information.

With "reml", the mean has a flat prior and is integrated out. With "ml", the likelihood is
maximised over the mean. Intervals are based on the posterior distribution of the standard
deviations, with half-normal priors (`logistic_posterior`).

References
----------
Bates, D., Mächler, M., Bolker, B., & Walker, S. (2015). Fitting linear mixed-effects models using
lme4. Journal of Statistical Software, 67(1). https://doi.org/10.18637/jss.v067.i01

De Boeck, P. (2008). Random item IRT models. Psychometrika, 73, 533-559.
https://doi.org/10.1007/s11336-008-9092-x
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import (
    DRAWS,
    check_choice,
    check_count,
    check_fraction,
    check_generator,
)
from psychollm._base.convergence import Convergence
from psychollm._base.errors import CodeError, OptionError, ShapeError
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray, RandomState
from psychollm.data.labels import Labels, numbered, unit_labels
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import normal_multiplier, percentile_interval
from psychollm.estimates.reasons import Reason, first_reason
from psychollm.reliability.components.logistic_blocks import EFFECTS, Design, Mode
from psychollm.reliability.components.logistic_cells import Integration
from psychollm.reliability.components.logistic_effects import (
    PARTS,
    RESIDUAL,
    EffectDraws,
    generalised_draws,
    parts_of_variance,
    reliability_of,
)
from psychollm.reliability.components.logistic_posterior import (
    LARGEST,
    Explored,
    Integrated,
    Maximum,
    explored,
    maximum,
)
from psychollm.reliability.means.repeated_scores import RepeatedScores, answers_of

LogisticEstimation: TypeAlias = Literal["reml", "ml"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CrossedLogistic(Result):
    """Variance components and effects of a crossed logistic mixed model.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> chance = 1 / (1 + np.exp(-rng.normal(size=(12, 1)) - rng.normal(size=150)))
    >>> fit = crossed_logistic((rng.random((12, 150)) < chance).astype(int), rng=1)
    >>> fit.components.labels, fit.share.labels
    (('model', 'question'), ('model', 'question', 'residual'))
    """

    components: Estimate  # (components,) variances of effects on the logit scale
    share: Estimate  # (parts,) proportions of the variance of one answer
    models: Estimate  # (models,) levels of models in logits, over all domains
    families: Estimate | None  # (families,) effects in logits
    domains: Estimate | None  # (domains,) effects in logits
    questions: Estimate  # (questions,) easiness in logits, relative to the domain
    generalised: Estimate  # (models,) accuracy on new questions of the same domains
    reliability: Estimate  # (1,) reliability of the mean scores of models
    intercept: float  # logit if all effects are zero
    log_likelihood: float  # log likelihood at the estimated components
    integration: str
    estimation: str
    convergence: Convergence

    _AXES = Axes(
        {"component": "components.labels"},
        "value=components.value",
        "se=components.se",
        "{bound}=components.interval",
        "n=components.n",
        "flag=components.flags",
    )

    def summary(self) -> str:
        """Return text with one line for each proportion of variance and for the reliability."""
        lines = [
            f"{label}: {self.share.text(row)} of answer variance"
            for row, label in enumerate(self.share.labels)
        ]
        return "\n".join([*lines, f"Reliability of mean scores: {self.reliability.text(0, 3)}"])


def crossed_logistic(
    scores: Any,
    *,
    domains: Any = None,
    families: Any = None,
    integration: Integration = "quadrature",
    estimation: LogisticEstimation = "reml",
    prior_scale: float = 2.0,
    level: float = 0.95,
    n_draws: int = 2000,
    rng: RandomState = None,
) -> CrossedLogistic:
    """Fit a crossed logistic mixed model to binary scores.

    Parameters
    ----------
    scores : ScoreLog, RepeatedScores, Responses, DataFrame, DataArray or array_like
        Binary scores (1 = correct, 0 = wrong) of shape (models, questions) or (models, questions,
        repeats); NaN marks a missing score. Results of `read_scores` and `read_logs` are accepted.
    domains : mapping or array_like (questions,), optional
        Domain of each question. A single domain is ignored.
    families : mapping or array_like (models,), optional
        Family of each model. Families are ignored if there is only one family, or if each family
        has only one model.
    integration : {"quadrature", "laplace"}
        Method of integrating out question and interaction effects: numerical quadrature, or the
        Laplace approximation that other programs use.
    estimation : {"reml", "ml"}
        Restricted maximum likelihood, which integrates over the mean, or maximum likelihood.
    prior_scale : float
        Scale of the half-normal prior of standard deviations, in logits, used for intervals and
        effects. `numpy.inf` means a flat prior, which requires at least three models, families and
        domains.
    level : float
        Coverage of the intervals, between 0 and 1.
    n_draws : int
        Number of posterior draws.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    CrossedLogistic
        Components are maximum-likelihood estimates; the flag `AT_BOUND` marks estimates of zero.
        Intervals are posterior percentiles, widened to include the estimate, and effects are
        posterior means. If the likelihood still increases at a standard deviation of 20 logits,
        components are NaN with the flag `UNBOUNDED`. For unbounded components, proportions and
        reliability are posterior means with the same flag. Components are unbounded, for example,
        if all models give the same answers to each question.

    Raises
    ------
    CodeError
        If a score is neither 0 nor 1.
    ShapeError, LabelError
        If fewer than two models or questions have answers, if all answers are equal, or if the
        number of domains or families does not match the scores.
    OptionError
        If an option is out of range.

    Notes
    -----
    The running time is proportional to the number of answers. The fit takes about one second for
    60 models and 1,000 questions, and about four seconds with domains and families.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> ability, ease = rng.normal(size=(8, 1, 1)), rng.normal(0, 1.5, (1, 100, 1))
    >>> chance = 1 / (1 + np.exp(-ability - ease))
    >>> right = (rng.random((8, 100, 3)) < chance).astype(int)
    >>> fit = crossed_logistic(right, rng=0)
    >>> fit.components.labels
    ('model', 'question', 'model:question')
    >>> bool(fit.reliability.value[0] > 0.9)
    True
    """
    check_choice("estimation", estimation, LogisticEstimation)
    fitted = fit_crossed(
        answers_of(scores), domains, families,
        integration=integration, prior_scale=prior_scale, ml=estimation == "ml",
    )  # fmt: skip
    fitted.top.convergence.warn("the crossed logistic model")
    check_fraction("level", level)
    n_draws = check_count("n_draws", n_draws, low=100, high=DRAWS)
    return fitted.result(n_draws, level, check_generator(rng))


@dataclass(frozen=True)
class CrossedFit:
    """Fitted model, for computing the result and the accuracies on the observed questions."""

    answers: RepeatedScores
    design: Design
    top: Maximum
    explored: Explored
    domain_of: IntArray  # (questions,)
    domain_names: Labels
    family_names: Labels

    def result(self, n: int, level: float, rng: np.random.Generator) -> CrossedLogistic:
        """Return the result, computed from the estimates."""
        draws = EffectDraws.of(self.design, self.explored, n, rng)
        free, top = self.top.free, self.top.mode
        unbounded = bool((free >= LARGEST).any())
        models = self.answers.models
        n_models = self._per_model()
        value, flags = free**2, first_reason((free == 0.0, Reason.AT_BOUND))
        flag = Reason.UNBOUNDED if unbounded else Reason.NONE
        if unbounded:
            value, flags = np.full(free.size, np.nan), (flag,) * free.size
        components = _estimate(
            "variance component", value, draws.sd**2, level,
            tuple(EFFECTS[row] for row in self.design.active), "component",
            n=self._levels(), flags=flags,
        )  # fmt: skip
        parts = parts_of_variance(self.design, draws.mean, draws.sd)
        at_top = parts_of_variance(self.design, np.array([top.state.mean]), free[None])
        labels, share, share_draws = self._shares(at_top, parts)
        n_answers = self._answers_each()
        sizes = len(self.design.domains), self._questions_each(), n_answers
        reliability = reliability_of(at_top, *sizes)
        reliability_draws = reliability_of(parts, *sizes)[:, None]
        if unbounded:
            share, reliability = share_draws.mean(axis=0), reliability_draws.mean(axis=0)
        return CrossedLogistic(
            components=components,
            share=_estimate(
                "share of variance", share, share_draws, level, labels, "component",
                n=np.full(len(labels), float(n_models.sum())), flags=(flag,) * len(labels),
            ),
            models=_posterior("level", draws.models, level, models, n=n_models),
            families=self._effects("family", draws.families, level, self.family_names),
            domains=self._effects("domain", draws.domains, level, self.domain_names),
            questions=self._questions(level),
            generalised=_posterior(
                "generalised accuracy", generalised_draws(self.design, draws), level, models,
                n=n_models,
            ),
            reliability=_estimate(
                "reliability", reliability, reliability_draws, level, ("mean score",),
                "coefficient", n=np.array([float(len(models))]), flags=(flag,),
            ),
            intercept=top.state.mean,
            log_likelihood=top.log_likelihood,
            integration=self.design.domains[0].integration,
            estimation="reml" if self.top.mean is None else "ml",
            convergence=self.top.convergence,
        )  # fmt: skip

    @property
    def centre(self) -> Mode:
        """Mode of the effects at the centre of the posterior distribution of the SDs."""
        return self.explored.modes[0][2]

    def _shares(
        self, top: FloatArray, draws: FloatArray
    ) -> tuple[tuple[str, ...], FloatArray, FloatArray]:
        """Return labels and proportions; without repeats, the last two parts are combined."""
        there = [*self.design.active]
        rows = [top, draws]
        if EFFECTS.index("model:question") in there:
            names = (*(PARTS[row] for row in there), PARTS[-1])
            kept = [*there, len(PARTS) - 1]
        else:
            rest = len(PARTS) - 2
            for one in rows:
                one[:, rest] += one[:, rest + 1]
            names, kept = (*(PARTS[row] for row in there), RESIDUAL), [*there, rest]
        parts = [one[:, kept] / one[:, kept].sum(axis=1, keepdims=True) for one in rows]
        return names, parts[0][0], parts[1]

    def _effects(
        self, axis: str, draws: FloatArray, level: float, labels: Labels
    ) -> Estimate | None:
        if not draws.shape[1]:
            return None
        n = np.full(len(labels), np.nan)
        return _posterior("effect", draws, level, labels, n=n, axis=axis)

    def _questions(self, level: float) -> Estimate:
        """Return the easiness of questions, with normal posteriors around their modes."""
        value, spread = self.question_moments()
        reach = normal_multiplier(level)
        n = self.answers.present.sum(axis=(0, 2)).astype(np.float64)
        return Estimate(
            name="ease", value=value, se=spread,
            interval=np.stack([value - reach * spread, value + reach * spread], axis=1),
            n=n, flags=first_reason((n == 0, Reason.NO_ANSWERS)),
            method="posterior, normal", level=level, labels=self.answers.questions,
            axis="question",
        )  # fmt: skip

    @cached_property
    def _weights(self) -> FloatArray:
        """Return the negative curvature of each cell's log likelihood (questions, models)."""
        mode = self.centre
        out = np.zeros((self.domain_of.size, self.design.n_models))
        parts = zip(self.design.domains, mode.levels, mode.state.questions, strict=True)
        for place, (one, level, z) in enumerate(parts):
            own = self.domain_of == place
            out[own] = one.weights(level, mode.sd.question, mode.sd.interaction, z)
        return out

    def question_moments(self) -> tuple[FloatArray, FloatArray]:
        """Return modes and standard deviations of the easiness of questions at given levels."""
        mode, sd = self.centre, self.centre.sd.question
        value = np.zeros(self.domain_of.size)
        for place, z in enumerate(mode.state.questions):
            value[self.domain_of == place] = sd * z
        return value, sd / np.sqrt(1.0 + sd**2 * self._weights.sum(axis=1))

    def question_slopes(self, places: IntArray) -> FloatArray:
        """Return the decrease in easiness per unit of each model's level (points, models)."""
        weight, square = self._weights[places], self.centre.sd.question**2
        return np.asarray(square * weight / (1.0 + square * weight.sum(axis=1, keepdims=True)))

    def _per_model(self) -> FloatArray:
        return np.asarray(self.answers.present.any(axis=2).sum(axis=1), dtype=np.float64)

    def _questions_each(self) -> float:
        """Return the harmonic mean of the models' numbers of answered questions."""
        return float(len(self.answers.models) / (1.0 / np.maximum(self._per_model(), 1.0)).sum())

    def _answers_each(self) -> float:
        """Return the harmonic mean of the numbers of answers in non-empty cells."""
        n = self.answers.present.sum(axis=2)
        return float((n > 0).sum() / (1.0 / n[n > 0]).sum())

    def _levels(self) -> FloatArray:
        n = self.answers.present.sum(axis=2)
        m, q = n.shape
        domains = len(self.design.domains)
        every = (len(self.family_names), m, domains, m * domains, q, int((n > 0).sum()))
        return np.array([float(every[row]) for row in self.design.active])


def fit_crossed(
    answers: RepeatedScores,
    domains: Any,
    families: Any,
    *,
    integration: Integration = "quadrature",
    prior_scale: float = 2.0,
    ml: bool = False,
) -> CrossedFit:
    """Check the data, fit the model and approximate its posterior."""
    check_choice("integration", integration, Integration)
    if not prior_scale > 0.0:
        msg = f"prior_scale={prior_scale!r} must be positive: numpy.inf for a flat prior"
        raise OptionError(msg)
    hits, n = cell_counts(answers)
    domain_of, domain_names = grouped(domains, answers.questions, "domains", "question")
    family_of, family_names = grouped(families, answers.models, "families", "model")
    if len(domain_names) < 2:
        domain_of, domain_names = None, ()
    if not 1 < len(family_names) < len(answers.models):
        family_of, family_names = None, ()
    design = Design.of(
        hits, n, domain_of, family_of,
        integration=integration, interaction=bool((n > 1).any()),
    )  # fmt: skip
    integrated = Integrated(design)
    top = maximum(integrated, ml=ml)
    return CrossedFit(
        answers=answers,
        design=design,
        top=top,
        explored=explored(integrated, top, prior_scale),
        domain_of=np.zeros(len(answers.questions), np.int64) if domain_of is None else domain_of,
        domain_names=domain_names,
        family_names=family_names,
    )


def cell_counts(answers: RepeatedScores) -> tuple[FloatArray, FloatArray]:
    """Return the numbers of correct answers and of answers per cell (models, questions)."""
    present, values = answers.present, answers.values
    if not np.isin(values[present], (0.0, 1.0)).all():
        bad = values[present][~np.isin(values[present], (0.0, 1.0))][0]
        msg = f"scores holds {bad:g}: a logistic model needs 0 and 1; split scores at a threshold"
        raise CodeError(msg)
    n = present.sum(axis=2).astype(np.float64)
    for axis, what, labels in ((1, "model", answers.models), (0, "question", answers.questions)):
        if (n.any(axis=axis)).sum() < 2:
            msg = (
                f"scores holds answers of {int(n.any(axis=axis).sum())} of {len(labels)} {what}s: "
                "a crossed model needs two"
            )
            raise ShapeError(msg)
    hits = np.where(present, values, 0.0).sum(axis=2)
    if hits.sum() in (0.0, n.sum()):
        msg = (
            f"scores: every answer is {'correct' if hits.any() else 'wrong'}: add models or "
            "questions with other answers"
        )
        raise ShapeError(msg)
    return hits, n


def grouped(
    groups: Any, labels: Labels, argument: str, kind: str
) -> tuple[IntArray | None, Labels]:
    """Return each label's group and the names of the groups; None if there are no groups."""
    if groups is None:
        return None, ()
    return numbered(unit_labels(groups, labels, argument=argument, kind=kind))


def _estimate(
    name: str,
    value: FloatArray,
    draws: FloatArray,
    level: float,
    labels: Labels,
    axis: str,
    *,
    n: FloatArray,
    flags: tuple[Reason, ...] | None = None,
) -> Estimate:
    # The interval is widened to include the maximum-likelihood estimate, which is often zero.
    low, high = percentile_interval(draws, level).T
    return Estimate(
        name=name, value=value, se=draws.std(axis=0, ddof=1),
        interval=np.stack([np.fmin(low, value), np.fmax(high, value)], axis=1), n=n,
        flags=flags or (Reason.NONE,) * len(labels), method="posterior percentiles", level=level,
        labels=labels, axis=axis, _draws=draws,
    )  # fmt: skip


def _posterior(
    name: str,
    draws: FloatArray,
    level: float,
    labels: Labels,
    *,
    n: FloatArray,
    axis: str = "model",
) -> Estimate:
    """Return posterior means with percentile intervals."""
    flags = first_reason((n == 0, Reason.NO_ANSWERS))
    return _estimate(name, draws.mean(axis=0), draws, level, labels, axis, n=n, flags=flags)
