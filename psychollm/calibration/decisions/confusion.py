"""Binary confidence as a classifier of correctness: the 2 x 2 table of every model.

The positive class is "the answer was correct", and the positive prediction is "yes, I can answer
this".

======== ================ ================
.        correct          wrong
======== ================ ================
yes      true positive    false positive
no       false negative   true negative
======== ================ ================

`psychollm.calibration.decisions.two_by_two` defines the statistics and their intervals.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from psychollm._base.axes import Axes, whole
from psychollm._base.checks import check_fraction
from psychollm._base.errors import OptionError
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, RandomState
from psychollm.calibration.decisions.signal_detection import CRITERION, D_PRIME
from psychollm.calibration.decisions.two_by_two import (
    ACCURACY,
    AGREEMENT,
    F1_ABSTAIN,
    KAPPA,
    NPV,
    OVERCONFIDENCE,
    PHI,
    PRECISION,
    RECALL,
    SPECIFICITY,
    YES_RATE,
    YOUDEN,
    Cells,
    CellStatistic,
    cell_metric,
    f_score,
)
from psychollm.calibration.metric import Metric, Output, estimate_all
from psychollm.calibration.stated import (
    StatedAnswers,
    cluster_codes,
    paired_answers,
    question_weights,
    stated_answers,
)
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.resampling import Bootstrap, Resampling

RATES = ("yes_rate", "accuracy", "precision", "recall", "specificity", "npv", "agreement")
SKILLS = ("f_score", "f1_abstain", "phi", "kappa", "youden")

_STATISTICS: dict[str, CellStatistic] = {
    "yes_rate": YES_RATE,
    "accuracy": ACCURACY,
    "precision": PRECISION,
    "recall": RECALL,
    "specificity": SPECIFICITY,
    "npv": NPV,
    "agreement": AGREEMENT,
    "overconfidence": OVERCONFIDENCE,
    "f1_abstain": F1_ABSTAIN,
    "phi": PHI,
    "kappa": KAPPA,
    "youden": YOUDEN,
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Confusion(Result):
    """2 x 2 tables of confidence and correctness, with rates, for every model.

    Examples
    --------
    >>> table = confusion([[1, 1, 0, 0], [1, 1, 1, 1]], [[1, 0, 1, 0], [1, 1, 0, 0]])
    >>> table.tp, table.specificity.value
    (array([1., 2.]), array([0.5, 0. ]))
    """

    tp: FloatArray  # (models,) number of correct answers with a yes
    fp: FloatArray  # (models,) number of wrong answers with a yes
    fn: FloatArray  # (models,) number of correct answers with a no
    tn: FloatArray  # (models,) number of wrong answers with a no
    n: FloatArray  # (models,) number of questions with both values
    left_out: FloatArray  # (models,) number of questions with only one of the two values
    yes_rate: Estimate  # proportion of answers with a yes, (tp + fp) / n
    accuracy: Estimate  # proportion of correct answers, (tp + fn) / n
    precision: Estimate  # proportion correct among answers with a yes, tp / (tp + fp)
    recall: Estimate  # proportion of yes among correct answers, tp / (tp + fn)
    specificity: Estimate  # proportion of no among wrong answers, tn / (tn + fp)
    npv: Estimate  # negative predictive value: proportion wrong with a no, tn / (tn + fn)
    agreement: Estimate  # proportion correct with a yes or wrong with a no, (tp + tn) / n
    overconfidence: Estimate  # yes rate - accuracy, (fp - fn) / n
    f_score: Estimate  # weighted harmonic mean of precision and recall, at `beta`
    f1_abstain: Estimate  # F1 score of "no" as a prediction of a wrong answer
    phi: Estimate  # correlation of yes with correctness: Matthews' coefficient
    kappa: Estimate  # agreement beyond chance (Cohen)
    youden: Estimate  # recall + specificity - 1
    beta: float
    labels: tuple[Any, ...]  # (models,)

    _AXES = Axes(
        {"model": "labels"},
        *map(whole, ("n", "left_out", "tp", "fp", "fn", "tn")),
        *RATES,
        "overconfidence",
        *SKILLS,
    )


def confusion(
    confidence: ResponsesLike,
    correctness: ResponsesLike,
    *,
    yes_above: float | None = None,
    beta: float = 1.0,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bootstrap: Bootstrap | int = 0,
    level: float = 0.95,
    rng: RandomState = None,
) -> Confusion:
    """Compare every model's binary confidence with its correctness.

    Parameters
    ----------
    confidence, correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        Confidence (1 = yes, 0 = no) and correctness (1 = correct, 0 = wrong). Questions with
        missing confidence or correctness are ignored.
    yes_above : float, optional
        Threshold for stated probabilities in [0, 1]: a confidence above the threshold counts as
        yes. By default confidence must be binary.
    beta : float
        Weight of recall relative to precision in `f_score`.
    clusters : array_like (questions,), optional
        Cluster of each question; whole clusters are resampled. Requires ``bootstrap``.
    weights : array_like (questions,), optional
        Weight of each question. Requires ``bootstrap``.
    bootstrap : int or Bootstrap
        Number of resamples of questions, used by `Estimate.difference`; 0 disables resampling.
        Intervals have a closed form unless there are weights, clusters or fractional correctness.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    Confusion
        Rates whose denominator is zero are NaN. Phi is NaN if a margin of the table is empty. The
        flags give the reason for each NaN.

    Raises
    ------
    LabelError
        If the two tables differ in their models or questions.
    CodeError
        If one of the tables is not binary, or, with `yes_above`, confidence is not a probability.
    OptionError
        If an option is out of range, or if clusters or weights are given with ``bootstrap=0``.

    Examples
    --------
    >>> always_yes = confusion([[1, 1, 1, 1]], [[1, 1, 1, 0]])
    >>> float(always_yes.recall.value[0]), always_yes.overconfidence.value
    (1.0, array([0.25]))
    """
    answers = _answers(confidence, correctness, yes_above, clusters, weights)
    cut = 0.5 if yes_above is None else yes_above
    statistics = _STATISTICS | {"f_score": f_score(check_fraction("beta", beta, high=np.inf))}
    cells = _cells(answers, cut)
    options = Resampling.of(bootstrap, level, rng)
    if options.n:
        metric = cell_metric(tuple(statistics.values()), yes_above=cut)
        estimates = estimate_all([metric], answers, options)
    else:
        _check_plain(answers)
        estimates = [
            statistic.estimate(cells, level=check_fraction("level", level), labels=answers.models)
            for statistic in statistics.values()
        ]
    return Confusion(
        tp=cells.tp,
        fp=cells.fp,
        fn=cells.fn,
        tn=cells.tn,
        n=answers.n,
        left_out=answers.present.shape[1] - answers.n,
        beta=float(beta),
        labels=answers.models,
        **{
            name: replace(each, n=statistics[name].size(cells))
            for name, each in zip(statistics, estimates, strict=True)
        },
    )


def yes_no_metric(*, yes_above: float = 0.5, beta: float = 1.0) -> Metric:
    """Return all statistics of the 2 x 2 table, and type-2 d' and c, as one metric."""
    statistics = (
        *_STATISTICS.values(),
        f_score(check_fraction("beta", beta, high=np.inf)),
        D_PRIME,
        CRITERION,
    )
    return cell_metric(statistics, yes_above=yes_above)


def _answers(
    confidence: ResponsesLike,
    correctness: ResponsesLike,
    yes_above: float | None,
    clusters: ArrayLike | None,
    weights: ArrayLike | None,
) -> StatedAnswers:
    """Return confidence (binary or a stated probability) and correctness."""
    if yes_above is not None:
        return stated_answers(confidence, correctness, clusters=clusters, weights=weights)
    paired = paired_answers(confidence, correctness)
    return StatedAnswers(
        confidence=np.where(paired.answered, paired.said, np.nan),
        correct=paired.correct,
        present=paired.present,
        weights=question_weights(weights, paired.questions),
        clusters=None if clusters is None else cluster_codes(clusters, paired.questions),
        models=paired.models,
        questions=paired.questions,
    )


def _cells(answers: StatedAnswers, cut: float) -> Cells:
    """Return the tables of the models (models,); all questions have equal weight."""
    with np.errstate(invalid="ignore"):
        yes = answers.present & (answers.confidence > cut)
    correct = np.where(answers.present, answers.correct, 0.0)
    tp = np.where(yes, correct, 0.0).sum(axis=1)
    n_yes, n_correct = yes.sum(axis=1).astype(np.float64), correct.sum(axis=1)
    return Cells(tp, n_yes - tp, n_correct - tp, answers.n - n_yes - n_correct + tp)


def _check_plain(answers: StatedAnswers) -> None:
    chance = bool(((answers.correct > 0.0) & (answers.correct < 1.0)).any())
    if answers.clusters is not None or answers.weighted or chance:
        reason = (
            "correctness is a probability" if chance else "questions are clustered or weighted"
        )
        msg = f"where {reason}, intervals come from resamples: pass bootstrap=2000"
        raise OptionError(msg)


YES_NO = yes_no_metric().in_panel(
    "decisions",
    1,
    Output("yes_rate", "yes rate", "proportion of answers with a confidence above the cut"),
    Output("accuracy", "accuracy", "proportion of correct answers", better="higher", listed=False),
    Output("precision", "precision", "proportion correct among yes", better="higher"),
    Output("recall", "recall", "proportion of yes among correct answers", better="higher"),
    Output("specificity", "specificity", "proportion of no among wrong answers", better="higher"),
    Output(
        "negative_predictive_value",
        "negative predictive value",
        "proportion wrong among no",
        better="higher",
        listed=False,
    ),
    Output(
        "agreement",
        "agreement",
        "proportion of answers with yes if correct or no if wrong",
        better="higher",
        listed=False,
    ),
    Output(
        "yes_overconfidence",
        "yes rate − accuracy",
        "yes rate minus accuracy",
        better="near",
        neutral=0.0,
        listed=False,
    ),
    Output(
        "f1_abstain", "F1 of abstaining", "F1 of no as a sign of wrong answers", better="higher"
    ),
    Output("phi", "phi", "correlation of yes and correct (MCC)", better="higher", neutral=0.0),
    Output(
        "kappa",
        "kappa",
        "agreement of yes and correct beyond chance",
        better="higher",
        neutral=0.0,
        listed=False,
    ),
    Output(
        "youden_j",
        "Youden’s J",
        "recall minus the proportion of yes among wrong answers",
        better="higher",
        neutral=0.0,
    ),
    Output("f1", "F1", "harmonic mean of precision and recall", better="higher"),
    Output(
        "type2_d_prime",
        "type-2 d′",
        "z of recall minus z of the proportion of yes among wrong answers",
        better="higher",
        neutral=0.0,
    ),
    Output("type2_criterion", "type-2 c", "response criterion; below 0: tendency to say yes"),
)
