r"""Comparison of a model's confidence and the common factor as predictors of correctness.

For each model m, let A be its correctness, Y its own answer, and s the factor score of the
question, estimated *without* model m. Two nested logistic regressions predict correctness from the
factor score alone, or from the factor score and the model's own answer.

.. math:: \operatorname{logit} P(A = 1) = a + b s \qquad\text{and}\qquad
          \operatorname{logit} P(A = 1) = a + b s + c Y.                                  \quad (1)

The regressions are compared by their likelihood ratio (1 degree of freedom), and the p-values are
adjusted for the number of models. A second test needs no factor model, because the mean vote of
the other models replaces the factor score. Five signals are compared by the AUROC with which they
discriminate correct from wrong answers. The signals are the factor score, the mean vote, the
model's own answer, the factor score combined with this answer, and the factor score converted to
yes and no at the model's own yes rate. The converted factor score allows a fair comparison with a
binary answer, because the AUROC favours graded scores.

A small p-value of the likelihood ratio test does *not* by itself establish privileged access.
Because the factor score contains measurement error, even an answer that reflects only the common
factor improves the prediction. With many questions, an improvement that is due to measurement
error alone becomes significant. `private_signal` corrects for the measurement error.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import chdtrc

from psychollm._base.axes import Axes
from psychollm._base.checks import check_count, check_fraction, check_generator
from psychollm._base.multiplicity import Adjustment, adjust_p_values
from psychollm._base.result import Result
from psychollm._base.types import AnyArray, BoolArray, FloatArray, IntArray, RandomState
from psychollm.calibration.consensus.logistic import Logistic, logistic
from psychollm.calibration.consensus.signals import (
    CutSignal,
    RankedSignal,
    consensus_scores,
    cross_fitted,
    cut_at_rate,
    cut_signal,
    ranked_signal,
)
from psychollm.calibration.stated import PairedAnswers, paired_answers
from psychollm.data.responses import ResponsesLike
from psychollm.data.table import as_table, numbers, values_like
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import normal_multiplier
from psychollm.estimates.reasons import Reason, undefined, untestable
from psychollm.estimates.resampling import (
    Bootstrap,
    Resampling,
    bootstrap_draws,
    bootstrap_estimate,
)

# The signals are: factor score, mean vote of the others, own answer, factor score dichotomised at
# the model's yes rate, cross-fitted factor score, and cross-fitted factor score with the own
# answer.
SIGNALS = ("shared", "consensus", "own", "shared_cut", "shared_fitted", "both")


@dataclass(frozen=True, slots=True)
class AnswerTest:
    """Likelihood ratio test and log odds ratio of one model's own answer."""

    log_odds: float
    se: float
    statistic: float
    p_value: float
    separated: bool


@dataclass(frozen=True, slots=True)
class OwnAnswer:
    """One model's tests, and its signals prepared for resampling."""

    reason: Reason
    n: int
    test: AnswerTest
    consensus_test: AnswerTest
    signals: dict[str, RankedSignal | CutSignal]

    def areas(self, counts: AnyArray) -> FloatArray:
        """Return the AUROCs of all signals in each resample (replicates, signals)."""
        found = np.full((len(counts), len(SIGNALS)), np.nan)
        if not self.reason:
            for place, name in enumerate(SIGNALS):
                found[:, place] = self.signals[name].areas(counts)
        return found


_NO_TEST = AnswerTest(np.nan, np.nan, np.nan, np.nan, separated=False)


def own_answer(
    yes: FloatArray,
    correct: FloatArray,
    shared: FloatArray,
    consensus: FloatArray,
    present: BoolArray,
    folds: IntArray,
) -> OwnAnswer:
    """Compute the quantities that do not depend on the resample."""
    used = present & np.isfinite(shared) & np.isfinite(consensus)
    reason = _why_not(yes[used], correct[used], shared[used], present)
    n = int(used.sum())
    if reason:
        return OwnAnswer(reason, n, _NO_TEST, _NO_TEST, {})
    ones = np.ones(n)
    plain = np.column_stack([ones, shared[used]])
    full = np.column_stack([plain, yes[used]])
    crossed = {
        name: _spread(cross_fitted(design, correct[used], folds[used]), used)
        for name, design in (("shared_fitted", plain), ("both", full))
    }
    ranked = {"shared": shared, "consensus": consensus, **crossed}
    cuts = {"own": yes, "shared_cut": cut_at_rate(shared, used, float(yes[used].mean()))}
    return OwnAnswer(
        reason=reason,
        n=n,
        test=_likelihood_ratio(plain, yes[used], correct[used]),
        consensus_test=_likelihood_ratio(
            np.column_stack([ones, consensus[used]]), yes[used], correct[used]
        ),
        signals={
            **{name: ranked_signal(signal, correct, used) for name, signal in ranked.items()},
            **{name: cut_signal(cut, correct, used) for name, cut in cuts.items()},
        },
    )


def _why_not(
    yes: FloatArray, correct: FloatArray, shared: FloatArray, present: BoolArray
) -> Reason:
    """Return the reason why a model cannot be tested on the questions that have data."""
    if not yes.size and present.any():
        return Reason.NO_SHARED_SCORE
    if reason := untestable(yes, correct):
        return reason
    return Reason.CONSTANT if shared.min() == shared.max() else Reason.NONE


def _spread(values: FloatArray, used: BoolArray) -> FloatArray:
    spread = np.full(used.size, np.nan)
    spread[used] = values
    return spread


def _likelihood_ratio(plain: FloatArray, own: FloatArray, correct: FloatArray) -> AnswerTest:
    """Test two nested logistic regressions by their likelihood ratio."""
    full = np.column_stack([plain, own])
    fit = logistic(full, correct)
    statistic = max(2.0 * (fit.log_likelihood - logistic(plain, correct).log_likelihood), 0.0)
    shown: Logistic = logistic(full, correct, penalised=True) if fit.separated else fit
    return AnswerTest(
        log_odds=float(shown.coefficients[-1]),
        se=float(shown.se[-1]),
        statistic=statistic,
        p_value=float(chdtrc(1, statistic)),
        separated=fit.separated,
    )


_AREAS = ("shared", "consensus", "own", "shared_cut", "both")
CONTRASTS = {
    "own_minus_shared": ("own", "shared"),
    "own_minus_cut": ("own", "shared_cut"),
    "both_minus_shared": ("both", "shared_fitted"),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Individuation(Result):
    """Gain in predicting a model's correctness if its self-report is added to the common factor.

    Examples
    --------
    >>> from psychollm.data.simulate_study import simulate_study
    >>> study = simulate_study(n_models=8, n_questions=400, rng=0)
    >>> result = individuation(study.confidence, study.correctness, bootstrap=50, rng=0)
    >>> result.shared.value.shape, len(result.to_frame())
    ((8,), 8)
    """

    odds_ratio: Estimate  # exp(c): odds ratio of correctness, the model's yes versus its no
    statistic: FloatArray  # (models,) likelihood ratio of (1)
    p_value: FloatArray  # (models,)
    p_adjusted: FloatArray  # (models,)
    consensus_p_value: FloatArray  # (models,) p-value with the mean vote in place of s
    consensus_p_adjusted: FloatArray  # (models,)
    shared: Estimate  # AUROC of the factor score
    consensus: Estimate  # AUROC of the mean vote of the others
    own: Estimate  # AUROC of the model's own answer
    shared_cut: Estimate  # AUROC of the factor score, dichotomised at the model's yes rate
    both: Estimate  # AUROC of factor score and own answer, cross-fitted
    own_minus_shared: Estimate  # paired difference of AUROCs
    own_minus_cut: Estimate  # paired difference of AUROCs at equal yes rates
    both_minus_shared: Estimate  # paired difference of cross-fitted AUROCs
    average: Estimate  # AUROCs and differences averaged over models; labels name them
    reason: tuple[Reason, ...]  # (models,) reason if the test is undefined
    adjustment: str
    n_bootstrap: int
    level: float
    labels: tuple[Any, ...]  # (models,)

    _AXES = Axes(
        {"model": "labels"},
        "n=own.n",
        "odds_ratio",
        *_AREAS,
        *CONTRASTS,
        "p_value",
        "p_adjusted",
        "consensus_p_value",
        "consensus_p_adjusted",
        "reason",
    )


def individuation(
    confidence: ResponsesLike,
    correctness: ResponsesLike,
    scores: ResponsesLike | None = None,
    *,
    adjustment: Adjustment = "holm",
    n_folds: int = 5,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Individuation:
    """Test whether self-reports predict correctness beyond the common factor.

    Parameters
    ----------
    confidence, correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        Confidence (1 = yes, 0 = no) and correctness (1 = correct, 0 = wrong).
    scores : array_like (models, questions), optional
        Factor score of each question, estimated without the model in that row; NaN where missing.
        By default the mean vote of the other models is used.
    adjustment : {"holm", "bonferroni", "bh", "by"}
        Adjustment of the p-values for the number of models.
    n_folds : int
        Number of cross-fitting folds.
    bootstrap : int or Bootstrap
        Number of resamples of questions, for AUROCs and their differences.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed for folds and resamples. The result does not depend on `n_jobs`.

    Returns
    -------
    Individuation
        Values are NaN, with a reason, for a model without variation in its answers or in its
        correctness. If a cell of the 2 x 2 table of answer and correctness is empty, the odds
        ratio is Firth's penalised estimate and is flagged `SEPARATED`. The likelihood ratio test
        remains valid with an empty cell.

    Raises
    ------
    LabelError, CodeError, ShapeError
        If the tables or the scores do not match, or if the answers are not binary.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> said, right = rng.integers(0, 2, (2, 5, 200))
    >>> individuation(said, right, bootstrap=20, rng=1).p_adjusted.min() > 0.05
    np.True_
    """
    paired = paired_answers(confidence, correctness)
    consensus = consensus_scores(paired.said, paired.answered)
    shared = consensus if scores is None else _check_scores(scores, paired)
    check_fraction("level", level)
    generator = check_generator(rng)
    parts = generator.integers(check_count("n_folds", n_folds, low=2), size=len(paired.questions))
    everywhere = np.ones((1, len(paired.questions)), dtype=np.uint8)
    models = [
        own_answer(
            paired.yes[m], paired.correct[m], shared[m], consensus[m], paired.present[m], parts
        )
        for m in range(len(paired.models))
    ]

    def areas(counts: AnyArray) -> FloatArray:
        return np.stack([model.areas(counts) for model in models], axis=1)

    draws = bootstrap_draws(
        areas,
        len(paired.questions),
        Resampling.of(bootstrap, level, generator),
        small=True,
        label="areas under the ROC curve",
    )
    return _assemble(models, areas(everywhere)[0], draws, paired.models, adjustment, level)


def _assemble(
    models: list[OwnAnswer],
    observed: FloatArray,
    draws: FloatArray,
    labels: tuple[Any, ...],
    adjustment: Adjustment,
    level: float,
) -> Individuation:
    reason = tuple(model.reason for model in models)
    n = np.array([model.n for model in models], dtype=np.float64)
    estimates = {
        name: bootstrap_estimate(
            name,
            _column(name, observed),
            _column(name, draws),
            n=n,
            flags=reason,
            level=level,
            labels=labels,
        )
        for name in (*_AREAS, *CONTRASTS)
    }
    p_value = np.array([model.test.p_value for model in models])
    consensus_p = np.array([model.consensus_test.p_value for model in models])
    return Individuation(
        odds_ratio=_odds_ratio(models, labels, level),
        statistic=np.array([model.test.statistic for model in models]),
        p_value=p_value,
        p_adjusted=adjust_p_values(p_value, method=adjustment),
        consensus_p_value=consensus_p,
        consensus_p_adjusted=adjust_p_values(consensus_p, method=adjustment),
        average=_average(observed, draws, undefined(reason), level),
        reason=reason,
        adjustment=adjustment,
        n_bootstrap=len(draws),
        level=level,
        labels=labels,
        **estimates,
    )


def _column(name: str, areas: FloatArray) -> FloatArray:
    """Return one AUROC, or the difference of two, from AUROCs (..., signals)."""
    if name in CONTRASTS:
        first, second = CONTRASTS[name]
        return _column(first, areas) - _column(second, areas)
    return np.asarray(areas[..., SIGNALS.index(name)])


def _average(
    observed: FloatArray, draws: FloatArray, left_out: BoolArray, level: float
) -> Estimate:
    """Average each AUROC and difference over the models for which it is defined."""
    names = (*_AREAS, *CONTRASTS)
    reason = Reason.TOO_FEW if left_out.all() else Reason.NONE
    tested = int((~left_out).sum())
    value, found = np.full(len(names), np.nan), np.full((len(draws), len(names)), np.nan)
    for place, name in enumerate(names):
        if tested:
            value[place] = _column(name, observed)[~left_out].mean()
            found[:, place] = _column(name, draws)[:, ~left_out].mean(axis=1)
    return bootstrap_estimate(
        "average over models",
        value,
        found,
        n=np.full(len(names), float(tested)),
        flags=(reason,) * len(names),
        level=level,
        labels=names,
    )


def _odds_ratio(models: list[OwnAnswer], labels: tuple[Any, ...], level: float) -> Estimate:
    """Return the odds ratio exp(c), its Wald interval, and the standard error of the ratio."""
    log_odds = np.array([model.test.log_odds for model in models])
    se = np.array([model.test.se for model in models])
    step = normal_multiplier(level) * se
    ratio = np.exp(log_odds)
    return Estimate(
        name="odds ratio",
        value=ratio,
        se=ratio * se,
        interval=np.exp(np.stack([log_odds - step, log_odds + step], axis=-1)),
        n=np.array([model.n for model in models], dtype=np.float64),
        flags=tuple(
            Reason.SEPARATED if model.test.separated else model.reason for model in models
        ),
        method="Wald on the log scale",
        level=level,
        labels=labels,
    )


def _check_scores(scores: ResponsesLike, paired: PairedAnswers) -> FloatArray:
    table = as_table(scores, argument="scores")
    values = replace(table, values=numbers(table, argument="scores"))
    return np.array(values_like(values, paired, argument="scores"))
