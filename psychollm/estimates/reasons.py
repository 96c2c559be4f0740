"""Why a number is undefined, or what must be said beside it."""

from collections.abc import Sequence
from enum import StrEnum

import numpy as np

from psychollm._base.types import BoolArray, FloatArray


class Reason(StrEnum):
    """Why a value is NaN, or what qualifies it; `NONE` if nothing does.

    Names are stable codes; values are the texts for tables and reports.

    Examples
    --------
    >>> Reason.NO_YES.name, str(Reason.NO_YES), bool(Reason.NONE)
    ('NO_YES', 'never says yes', False)
    """

    NONE = ""
    UNDEFINED = "one of the two values is undefined"
    NO_ANSWERS = "no question has both a confidence and a correctness"
    NO_VALUE = "the metric has no value for these answers"
    NO_SCORES = "no question has a score"
    NO_COMMON = "no question has a score of both"
    FEW_OF_A_TASK = "a task has fewer than two of these questions"
    TOO_FEW = "too few observations"
    AT_BOUND = "the estimate lies at its bound"
    NO_YES = "never says yes"
    NO_NO = "always says yes"
    NO_CORRECT = "never correct"
    NO_WRONG = "never wrong"
    NO_YES_NO_CORRECT = "never says yes and is never correct"
    CONSTANT = "all values are the same"
    PERFECT = "the predictor separates correct from wrong without an error"
    SEPARATED = "the answer predicts correctness without exception in one cell: penalised estimate"
    NO_SHARED_SCORE = "no shared score for these questions"
    NOT_CONVERGED = "the iteration did not converge"
    ONE_QUESTION = "one question only"
    ONE_MODEL = "one model only: nothing is known of others"
    ONE_CLUSTER = "one cluster only: no standard error or interval"
    NO_P_VALUE = "few clusters, or one that holds most questions: no p-value"
    FEW_CLUSTERS = "few clusters, or one that holds most questions: the interval may be too short"
    CLIPPED = "probabilities of 0 or 1 were moved inside before taking logarithms"
    SPARSE_BINS = "some bins hold a single answer and are left out"
    ONE_BIN = "all answers fall into one bin"
    CORRECTED = "a hit or false-alarm rate of 0 or 1 is finite by correction only"
    NO_STIMULUS_CLASSES = "both stimulus classes are needed"
    EMPTY_RESPONSE = "correct and wrong answers are needed for each response"
    FEW_RATINGS = "at least two confidence ratings must be in use"
    LOW_SENSITIVITY = "d' is too low for a ratio to d'"
    UNSTABLE = "d' below 0.5: the ratio is unstable"
    UNBOUNDED = "the likelihood has no finite maximum"
    NOT_POSITIVE = "not positive: it has no logarithm"
    NO_UNANSWERABLE = "no question should be abstained from"
    NO_ANSWERABLE = "every question should be abstained from"
    NEVER_ABSTAINS = "never abstains"
    NOTHING_ATTEMPTED = "no question was attempted"
    NO_GRADES = "attempted questions without a grade"
    UNJUDGED = "answers not judged to abstain or not are left out"
    UNREACHABLE = "no coverage has a risk this low"
    FEW_FOR_PROMISE = "too few answers for any promise"
    NO_THRESHOLD = "no threshold keeps the promise"
    ONE_SAMPLE = "one sample per question"
    ONE_ANSWER = "one answer to each question: chance is taken from the model, rather too large"
    NO_VARIANCE = "the total score does not vary"
    NO_REST_VARIANCE = "the sum of the other items, standardised, does not vary"
    CONSTANT_ITEMS = "some items do not vary"
    NEGATIVE_ITEMS = "some items correlate negatively with the rest"
    FEW_RESPONDENTS = "fewer than three respondents"
    HEYWOOD = "a uniqueness lies at its bound"
    NOT_IDENTIFIED = "fewer than three factors: the general factor rests on an assumption"
    NOT_DISTINGUISHED = "a benchmark does not distinguish these models"
    NO_BETWEEN_VARIANCE = "the targets do not differ"
    PERFECT_AGREEMENT = "no disagreement at all"
    SINGLE_VALUE = "a single value occurs: chance agreement is certain"
    NO_RATINGS = "no question was answered"
    NO_PAIRS = "no unit was rated twice"
    ONE_VARIES = "all variation lies in one question or cluster: no standard error or interval"
    FEW_VARY = "it rests on fewer than ten questions: the interval may be too short"
    RARE_ANSWERS = (
        "fewer than twenty questions hold an unusual answer: the interval may be too short"
    )
    UNEQUAL_STEPS = "the weights go by rank, and the numbers that occur are not equally spaced"
    NEGATIVE_COMPONENT = "a variance component is estimated below zero"
    ALL_TIED = "all values are equal"
    OUTSIDE = "noise moves it out of its interval, which is about the population"
    NO_SPREAD = "no variation between questions or clusters: no interval"
    NO_RESIDUAL = "scores do not vary within models: nothing to test against"
    INCOMPLETE = "some cells are missing: incomplete rows were left out"
    UNBALANCED = "some cells are missing: the interval is that of a complete table"
    PAIRWISE = "some cells are missing: each covariance rests on the rows that have both"
    CONSTANT_ITEM = "the item does not vary"
    NEGATIVE_ITEM = "the item correlates negatively with the rest"
    SINGULAR = "the matrix of correlations is singular: its pseudo-inverse was used"
    SEARCHED = "not all splits were tried: a more extreme one may exist"
    NO_FORMULA = "no interval is known for this coefficient"
    EXTREME = "the most extreme of many splits, beyond its value in the population: no interval"
    NO_TEST_VARIANCE = "confidences of 0, 1/2 and 1 alone leave the test no variance"
    FEWER_FACTORS = "the items hold fewer factors than were asked for"
    IMPROPER = "no interval: the factors are not determined, ask for fewer of them"
    EMPTY_SUBSCALE = "no item belongs to this factor"
    UNANSWERED = "nobody answered it"
    PRIOR_ALONE = "no answer to it varies: it rests on the prior"
    UNIDENTIFIED = "the data do not determine it"
    NO_CELLS = "without answers"
    UNSCORED = "it answered none of the items"
    UNUSED_ANSWER = "an answer between others was never given: it has no step of its own"
    NO_FREEDOM = "no degree of freedom is left"
    NO_EVEN_ODDS = "at no ability are the odds even"
    NOT_DRAWN = "the questions were not drawn by the bank: right for models like those of the bank"
    UNLIKE_BANK = "few models of the bank answered these questions: the interval is rough"
    FEW_PEOPLE = "fewer than five people: no interval"
    FEW_ATTEMPTS = "no question has as many attempts as k"
    SOME_FEW_ATTEMPTS = "questions with fewer attempts than k are left out"
    FORETOLD = "more attempts than were made: from a beta-binomial model of those"
    ONE_ATTEMPT = "one attempt at each question: further ones cannot be foretold"
    NO_COST = "no attempt has a cost or a time"
    UNLINKED = "no benchmark links it to most models: its place rests on the prior"
    ONE_SCORE = "one score only"
    ONE_MODEL_SCORED = "one model only has a score"
    VAGUE = "its scores hardly rise with ability: the difficulty is not determined"
    ONE_KIND = "no benchmark has reports of both kinds"
    NO_LABELS = "no label by people: only the judge's raw score is known"
    FEW_LABELS = "fewer than ten labels by people: the interval is rough"
    NO_VERDICTS = "no verdict by the judge"
    OTHER_SCALE = "the judge's verdicts are on another scale than people's labels"
    UNCONNECTED = "rated nothing that most others rated: compared as if all had things alike"
    ALIKE_RATINGS = "all its ratings are alike: its values rest on those of the other raters"
    NEVER_SOLVED = "it solved no task: the horizon lies below the upper bound"
    ALWAYS_SOLVED = "it solved every task: the horizon lies above the lower bound"
    NOT_FALLING = "success does not fall with the length of tasks"
    ONE_LENGTH = "all its tasks are equally long"
    ONE_MODEL_SCATTER = "one model only: how far tasks of equal length differ is unknown"
    OPEN = "too few data to bound it on both sides"
    BEYOND = "longer or shorter than all tasks that were tried: extrapolated"
    NO_DATE = "it has no date"
    ONE_SIDE = "fewer than eight questions on one side of the date"
    DATE_SEARCHED = "the date was searched for: the change is rather too large"
    NOT_GROWING = "it does not grow"
    NOT_CONNECTED = "no votes connect the two, not even through other models"
    ONE_SIDED = "it won, or lost, every vote against the others: finite by the prior alone"
    NO_SIDES = "who was shown on the left is not known"
    NO_TIES = "there are no ties"
    MISSING_ANSWERS = "some questions drawn have no answer: taken as missing at random"


def first_reason(*cases: tuple[BoolArray, Reason]) -> tuple[Reason, ...]:
    """Return for each model the first reason whose condition holds."""
    conditions = np.array([condition for condition, _ in cases], dtype=np.bool_)
    names = [reason for _, reason in cases]
    first = np.where(conditions.any(axis=0), conditions.argmax(axis=0), len(names))
    return tuple([*names, Reason.NONE][row] for row in first)


def undefined(reasons: Sequence[Reason]) -> BoolArray:
    """Return which models have a reason."""
    return np.array([bool(reason) for reason in reasons], dtype=np.bool_)


def untestable(yes: FloatArray, correct: FloatArray) -> Reason:
    """Return why nothing can be said about one model's answers and its correctness."""
    if not yes.size:
        return Reason.NO_ANSWERS
    cases = (
        (not yes.any(), Reason.NO_YES),
        (bool(yes.all()), Reason.NO_NO),
        (not correct.any(), Reason.NO_CORRECT),
        (bool(correct.all()), Reason.NO_WRONG),
    )
    return next((reason for holds, reason in cases if holds), Reason.NONE)
