"""Abstention: whether models abstain when they should, and their accuracy on attempted questions.

The positive class is "the model should abstain" (the question has no known answer), and the
positive prediction is "the model abstained".

========= ============================== ==============================
.         should abstain                 should answer
========= ============================== ==============================
abstained true positive                  false positive: over-abstention
attempted false negative                 true negative
========= ============================== ==============================

Answers without a verdict on abstention are omitted and counted (`unjudged`). Ungraded attempts at
answerable questions are also omitted and counted (`ungraded`). The counts are reported because
omissions may favour models that are hard to judge.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from psychollm._base.axes import Axes, whole
from psychollm._base.checks import check_generator
from psychollm._base.errors import CodeError, LabelError
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, IntArray, RandomState
from psychollm.calibration.decisions.two_by_two import (
    AGREEMENT,
    PHI,
    PRECISION,
    Cases,
    Cells,
    CellStatistic,
    cell_metric,
    share,
    weighted_fraction,
)
from psychollm.calibration.discrimination.ranking import aligned_scores
from psychollm.calibration.metric import estimate_all
from psychollm.calibration.stated import (
    StatedAnswers,
    cluster_codes,
    question_weights,
)
from psychollm.data.labels import numbered, unit_labels
from psychollm.data.responses import Responses, ResponsesLike, as_responses
from psychollm.data.table import one_model
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason, first_reason
from psychollm.estimates.resampling import Bootstrap, Resampling

if TYPE_CHECKING:
    import pandas as pd

STATISTICS = (
    "precision",
    "recall",
    "f1",
    "over_abstention",
    "coverage",
    "appropriate",
    "phi",
    "selective_accuracy",
    "accuracy",
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Abstention(Result):
    """Precision, recall and other measures of every model's abstention.

    Examples
    --------
    >>> found = abstention([[1, 1, 0, 0]], [1, 0, 0, 1], [[None, None, 1, None]], rng=0)
    >>> found.precision.value, found.coverage.value, found.selective_accuracy.value
    (array([0.5]), array([0.5]), array([1.]))
    """

    tp: FloatArray  # (models,) abstentions on questions that call for abstention
    fp: FloatArray  # (models,) abstentions on questions that should be answered
    fn: FloatArray  # (models,) attempts at questions that call for abstention
    tn: FloatArray  # (models,) attempts at questions that should be answered
    n: FloatArray  # (models,) number of judged questions
    unjudged: FloatArray  # (models,) answers without a verdict on abstention
    ungraded: FloatArray  # (models,) attempts at answerable questions without a grade
    precision: Estimate  # proportion of abstentions that are justified, tp / (tp + fp)
    recall: Estimate  # abstentions per question that calls for them, tp / (tp + fn)
    f1: Estimate  # harmonic mean of precision and recall
    over_abstention: Estimate  # abstentions per answerable question, fp / (fp + tn)
    coverage: Estimate  # proportion of questions attempted, (fn + tn) / n
    appropriate: Estimate  # proportion of appropriate decisions, (tp + tn) / n
    phi: Estimate  # Matthews correlation of warranted and actual abstention
    selective_accuracy: Estimate  # proportion correct among attempted answerable questions
    accuracy: Estimate  # proportion of answerable questions with an answer known to be correct
    labels: tuple[Any, ...]  # (models,)

    _AXES = Axes(
        {"model": "labels"},
        *map(whole, ("n", "unjudged", "ungraded", "tp", "fp", "fn", "tn")),
        *STATISTICS,
    )


def abstention(
    abstained: Any,
    should_abstain: Any,
    correctness: ResponsesLike = None,
    *,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Abstention:
    """Compare each model's abstentions with the questions that call for abstention.

    Parameters
    ----------
    abstained : Responses, DataFrame, DataArray or array_like (models, questions)
        Abstentions: 1 = the model abstained, 0 = it attempted an answer. A missing value means
        that the answer was not judged.
    should_abstain : array_like (questions,) or (models, questions)
        Questions that call for abstention: 1 = the model should abstain, 0 = it should answer;
        missing if unknown. A Series or labelled table is reordered to match `abstained`.
    correctness : Responses, DataFrame, DataArray or array_like (models, questions), optional
        Correctness of the answers: 1 = correct, 0 = wrong; missing if the answer was not graded.
        Only attempts at answerable questions are used.
    clusters : array_like (questions,), optional
        Cluster of each question, such as its passage; whole clusters are resampled.
    weights : array_like (questions,), optional
        Weight of each question.
    bootstrap : int or Bootstrap
        Number of resamples of questions, used by `Estimate.difference`; 0 disables resampling.
        Intervals use Wilson's method or the delta method; with weights or clusters, they use a
        sandwich variance.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    Abstention
        Undefined measures are NaN with a reason. Precision, recall, F1 and phi are undefined if no
        question calls for abstention. Precision and phi are undefined for a model that never
        abstains. The flags `UNJUDGED` and `NO_GRADES` mark omitted answers.

    Raises
    ------
    CodeError
        If a table contains values other than 0, 1 and missing values.
    ShapeError, LabelError, OptionError
        If the tables do not match, or an option is invalid.

    Examples
    --------
    >>> found = abstention([[1, 1, 0, 0, 0]], [1, 0, 0, 0, 1], rng=0)
    >>> found.recall.value, found.over_abstention.value.round(3), found.accuracy.flags[0].name
    (array([0.5]), array([0.333]), 'NO_GRADES')
    """
    answers = as_responses(
        one_model(abstained, argument="abstained"), argument="abstained", binary=True
    )
    made = np.where(answers.missing, np.nan, answers.codes)
    should = binary_table("should_abstain", should_abstain, answers)
    grades = np.full(made.shape, np.nan)
    if correctness is not None:
        grades = binary_table("correctness", correctness, answers)
    seed = int(check_generator(rng).integers(2**63))
    design = _Design(
        answers,
        question_weights(weights, answers.questions),
        None if clusters is None else cluster_codes(clusters, answers.questions),
        Resampling.of(bootstrap, level, seed),
    )
    return _compared(design, made, should, grades)


@dataclass(frozen=True, slots=True)
class _Design:
    """Table of abstentions, with options for resampling the questions."""

    said: Responses
    weights: FloatArray
    clusters: IntArray | None
    resampling: Resampling

    def estimates(
        self, statistics: dict[str, CellStatistic], yes: FloatArray, correct: FloatArray
    ) -> tuple[Cells, dict[str, Estimate]]:
        """Return the 2 x 2 tables of two binary matrices with NaN, and their statistics."""
        answers = StatedAnswers(
            confidence=yes,
            correct=np.nan_to_num(correct),
            present=np.isfinite(yes) & np.isfinite(correct),
            weights=self.weights,
            clusters=self.clusters,
            models=self.said.models,
            questions=self.said.questions,
        )
        metric = cell_metric(tuple(statistics.values()), yes_above=0.5)
        cells = _counted(yes, correct)
        estimates = estimate_all([metric], answers, self.resampling)
        return cells, {
            name: replace(each, n=statistic.size(cells))
            for (name, statistic), each in zip(statistics.items(), estimates, strict=True)
        }


def _compared(
    design: _Design, made: FloatArray, should: FloatArray, grades: FloatArray
) -> Abstention:
    """Return statistics of abstentions, warranted abstentions and grades (models, questions)."""
    answerable = np.isfinite(made) & (should == 0.0)
    attempted = np.where(answerable, 1.0 - made, np.nan)
    grades = np.where(attempted == 1.0, grades, np.where(attempted == 0.0, 0.0, np.nan))
    unjudged = (np.isnan(made) & np.isfinite(should)).sum(axis=1).astype(np.float64)
    lacking = (attempted == 1.0) & np.isnan(grades)
    graded = (attempted == 1.0) & np.isfinite(grades)
    ungraded, silent = lacking.sum(axis=1).astype(np.float64), lacking.any(axis=1)
    blind = silent & ~graded.any(axis=1)
    cells, decisions = design.estimates(_DECISIONS, made, should)
    _, selective = design.estimates(_SELECTIVE, attempted, grades)
    # Ungraded attempts do not count as correct. If there are no grades, accuracy is unknown.
    known = np.where(blind[:, None], np.nan, np.where(lacking, 0.0, grades))
    _, overall = design.estimates(_OVERALL, attempted, known)
    comparisons = {
        name: _noted(estimate, (unjudged > 0, Reason.UNJUDGED))
        for name, estimate in decisions.items()
    }
    for name, estimate in (selective | overall).items():
        undefined = ~estimate.defined
        comparisons[name] = _noted(
            estimate,
            (undefined & (cells.wrong == 0), Reason.NO_ANSWERABLE),
            (undefined & ~silent, Reason.NOTHING_ATTEMPTED),
            (silent, Reason.NO_GRADES),
            (unjudged > 0, Reason.UNJUDGED),
        )
    return Abstention(
        tp=cells.tp,
        fp=cells.fp,
        fn=cells.fn,
        tn=cells.tn,
        n=cells.n,
        unjudged=unjudged,
        ungraded=ungraded,
        labels=design.said.models,
        **comparisons,
    )


def _noted(estimate: Estimate, *cases: tuple[BoolArray, Reason]) -> Estimate:
    """Remove flags that only report a small number of answers."""
    noted = first_reason(*cases)
    vague = {Reason.NONE, Reason.NO_ANSWERS, Reason.ONE_QUESTION}
    flags = [
        (new or old) if old in vague else old
        for old, new in zip(estimate.flags, noted, strict=True)
    ]
    return replace(estimate, flags=tuple(flags))


def _counted(yes: FloatArray, correct: FloatArray) -> Cells:
    cells = [
        ((yes == first) & (correct == second)).sum(axis=1).astype(np.float64)
        for first, second in ((1.0, 1.0), (1.0, 0.0), (0.0, 1.0), (0.0, 0.0))
    ]
    return Cells(*cells)


def binary_table(argument: str, data: Any, like: Responses) -> FloatArray:
    """Return a table of 0, 1 and NaN (models, questions), in the order of the table `like`."""
    values = aligned_scores(data, like, argument=argument)
    bad = np.isfinite(values) & (values != 0.0) & (values != 1.0)
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        msg = (
            f"{argument}: model {like.models[row]!r}, question {like.questions[column]!r} holds "
            f"{values[row, column]:g}: pass 1 for yes, 0 for no, NaN where unknown"
        )
        raise CodeError(msg)
    return values


def _where(
    statistic: CellStatistic,
    name: str,
    defined: Callable[[Cells], BoolArray],
    *cases: tuple[str, Reason],
) -> CellStatistic:
    """Return a statistic that is NaN where a condition fails, with the reason."""

    def value(t: Cells) -> FloatArray:
        return np.where(defined(t), statistic.value(t), np.nan)

    def reasons(t: Cells) -> Cases:
        return tuple((getattr(t, margin) == 0, reason) for margin, reason in cases)

    return replace(statistic, name=name, value=value, cases=reasons)


_DUE = ("correct", Reason.NO_UNANSWERABLE)
_DECISIONS = {
    "precision": _where(
        PRECISION,
        "abstention precision",
        lambda t: t.correct > 0,
        _DUE,
        ("yes", Reason.NEVER_ABSTAINS),
    ),
    "recall": share("abstention recall", (1, 0, 0, 0), (1, 0, 1, 0), Reason.NO_UNANSWERABLE),
    "f1": _where(
        weighted_fraction("F1", (2, 0, 0, 0), (2, 1, 1, 0), lambda t: ()),
        "abstention F1",
        lambda t: t.correct > 0,
        _DUE,
        ("yes", Reason.NEVER_ABSTAINS),
    ),
    "over_abstention": share("over-abstention", (0, 1, 0, 0), (0, 1, 0, 1), Reason.NO_ANSWERABLE),
    "coverage": share("coverage", (0, 0, 1, 1), (1, 1, 1, 1)),
    "appropriate": replace(AGREEMENT, name="appropriate"),
    "phi": _where(
        PHI,
        "abstention phi",
        lambda t: t.n > 0,
        _DUE,
        ("wrong", Reason.NO_ANSWERABLE),
        ("yes", Reason.NEVER_ABSTAINS),
        ("no", Reason.NOTHING_ATTEMPTED),
    ),
}
_SELECTIVE = {"selective_accuracy": share("selective accuracy", (1, 0, 0, 0), (1, 1, 0, 0))}
_OVERALL = {"accuracy": share("accuracy", (1, 0, 0, 0), (1, 1, 1, 1))}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AbstentionByGroup(Result):
    """Measures of every model's abstention in each group of questions.

    Examples
    --------
    >>> found = abstention_by(["a", "a", "b"], [[1, 0, 1]], [1, 0, 0], rng=0, bootstrap=10)
    >>> found["b"].over_abstention.value
    array([1.])
    """

    groups: tuple[Any, ...]  # group labels in order of first appearance
    parts: tuple[Abstention, ...]  # one per group

    def __getitem__(self, group: Any) -> Abstention:
        """Return one group.

        Raises
        ------
        LabelError
            If the group is unknown.
        """
        if group not in self.groups:
            known = ", ".join(map(repr, self.groups))
            msg = f"{group!r} is not a group of questions: use one of {known}"
            raise LabelError(msg)
        return self.parts[self.groups.index(group)]

    def to_frame(self) -> "pd.DataFrame":
        """Return one row per group and model."""
        import pandas as pd

        tables = [part.to_frame() for part in self.parts]
        for table, group in zip(tables, self.groups, strict=True):
            table.insert(0, "group", [group] * len(table))
        return pd.concat(tables, ignore_index=True)


def abstention_by(
    groups: Any,
    abstained: Any,
    should_abstain: Any,
    correctness: ResponsesLike = None,
    *,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> AbstentionByGroup:
    """Compare abstentions with the questions that call for abstention, by group of questions.

    Parameters
    ----------
    groups : array_like (questions,)
        Group of each question, such as a scenario or data set; the labels must be hashable. A
        Series is reordered to match the questions.
    abstained : Responses, DataFrame, DataArray or array_like (models, questions)
        Abstentions: 1 = the model abstained, 0 = it attempted an answer. A missing value means
        that the answer was not judged.
    should_abstain : array_like (questions,) or (models, questions)
        Questions that call for abstention: 1 = the model should abstain, 0 = it should answer;
        missing if unknown. A Series or labelled table is reordered to match `abstained`.
    correctness : Responses, DataFrame, DataArray or array_like (models, questions), optional
        Correctness of the answers: 1 = correct, 0 = wrong; missing if the answer was not graded.
        Only attempts at answerable questions are used.
    clusters : array_like (questions,), optional
        Cluster of each question, such as its passage; whole clusters are resampled.
    weights : array_like (questions,), optional
        Weight of each question.
    bootstrap : int or Bootstrap
        Number of resamples of questions, used by `Estimate.difference`; 0 disables resampling.
        Intervals use Wilson's method or the delta method; with weights or clusters, they use a
        sandwich variance.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.
    n_jobs : int or None
        Number of workers; -1 uses all processors. The result does not depend on the number of
        workers.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    AbstentionByGroup
        One `Abstention` per group, in order of first appearance.

    Raises
    ------
    CodeError
        If a table contains values other than 0, 1 and missing values.
    ShapeError, LabelError, OptionError
        If the tables do not match, or an option is invalid.

    Examples
    --------
    >>> found = abstention_by(["a", "b", "b"], [[1, 0, 1]], [1, 0, 0], rng=0, bootstrap=10)
    >>> found.groups, found.to_frame()["n"].tolist()
    (('a', 'b'), [1, 2])
    """
    answers = as_responses(
        one_model(abstained, argument="abstained"), argument="abstained", binary=True
    )
    codes, names = numbered(unit_labels(groups, answers.questions, argument="groups"))
    should = binary_table("should_abstain", should_abstain, answers)
    grades = None if correctness is None else binary_table("correctness", correctness, answers)
    within = None if clusters is None else cluster_codes(clusters, answers.questions)
    shares = question_weights(weights, answers.questions)
    made = np.where(answers.missing, np.nan, answers.codes)
    generator = check_generator(rng)
    parts = [
        abstention(
            Responses(
                made[:, here],
                models=answers.models,
                questions=[answers.questions[column] for column in here],
            ),
            should[:, here],
            None if grades is None else grades[:, here],
            clusters=None if within is None else within[here],
            weights=shares[here] if weights is not None else None,
            bootstrap=bootstrap,
            level=level,
            rng=generator,
        )
        for here in (np.flatnonzero(codes == code) for code in range(len(names)))
    ]
    return AbstentionByGroup(groups=names, parts=tuple(parts))
