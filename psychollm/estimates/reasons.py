"""Reasons for undefined values, and qualifications of defined values."""

from collections.abc import Sequence
from enum import StrEnum

import numpy as np

from psychollm._base.types import BoolArray, FloatArray


class Reason(StrEnum):
    """Reason for a NaN, or qualification of a value; `NONE` means neither.

    Names are stable codes; values are the texts for tables and reports.

    Examples
    --------
    >>> Reason.NO_YES.name, str(Reason.NO_YES), bool(Reason.NONE)
    ('NO_YES', 'never says yes', False)
    """

    NONE = ""
    UNDEFINED = "one of the two values is undefined"
    NO_ANSWERS = "no question has both confidence and correctness"
    NO_VALUE = "the metric has no value for these answers"
    NO_SCORES = "no question has a score"
    NO_COMMON = "no question has scores of both models"
    FEW_OF_A_TASK = "a task has fewer than two of these questions"
    TOO_FEW = "too few observations"
    AT_BOUND = "the estimate is at its bound"
    NO_YES = "never says yes"
    NO_NO = "always says yes"
    NO_CORRECT = "never correct"
    NO_WRONG = "never wrong"
    NO_YES_NO_CORRECT = "never says yes and is never correct"
    CONSTANT = "all values are the same"
    PERFECT = "the predictor separates correct from wrong answers perfectly"
    SEPARATED = "one answer predicts correctness perfectly: penalised estimate"
    NO_SHARED_SCORE = "no factor score can be computed for these questions"
    NOT_CONVERGED = "the iteration did not converge"
    ONE_QUESTION = "only one question"
    ONE_MODEL = "only one model: results do not generalise to others"
    ONE_CLUSTER = "only one cluster: no standard error or interval"
    NO_P_VALUE = "too few clusters, or one cluster with most questions: no p-value"
    FEW_CLUSTERS = (
        "few clusters, or one cluster with most questions: the interval may be too narrow"
    )
    CLIPPED = "probabilities of 0 or 1 were moved inside (0, 1) for the logarithm"
    SPARSE_BINS = "bins with a single answer were omitted"
    ONE_BIN = "all answers are in one bin"
    CORRECTED = "a hit or false-alarm rate of 0 or 1 was corrected"
    NO_STIMULUS_CLASSES = "only one stimulus class occurs"
    EMPTY_RESPONSE = "a response has no correct or no wrong answers"
    FEW_RATINGS = "fewer than two confidence ratings occur"
    LOW_SENSITIVITY = "d' is too low to divide by"
    UNSTABLE = "d' below 0.5: the ratio is unstable"
    UNBOUNDED = "the likelihood has no finite maximum"
    NOT_POSITIVE = "not positive, so the logarithm is undefined"
    NO_UNANSWERABLE = "no question should be abstained from"
    NO_ANSWERABLE = "every question should be abstained from"
    NEVER_ABSTAINS = "never abstains"
    NOTHING_ATTEMPTED = "no question was attempted"
    NO_GRADES = "attempted questions have no grade"
    UNJUDGED = "answers not classified as abstentions or attempts were omitted"
    UNREACHABLE = "no coverage has a risk this low"
    FEW_FOR_GUARANTEE = "too few answers to guarantee any risk"
    NO_THRESHOLD = "the error bound exceeds the limit at every threshold"
    ONE_SAMPLE = "one sample per question"
    ONE_ANSWER = (
        "one answer per question: the sampling variance is estimated by the model and too large"
    )
    NO_VARIANCE = "the total score does not vary"
    NO_REST_VARIANCE = "the sum of the other items, standardised, does not vary"
    CONSTANT_ITEMS = "some items do not vary"
    NEGATIVE_ITEMS = "some items correlate negatively with the rest"
    FEW_RESPONDENTS = "fewer than three respondents"
    HEYWOOD = "Heywood case (a uniqueness is at its bound): try fewer factors"
    NOT_IDENTIFIED = "fewer than three factors: an assumption identifies the general factor"
    NOT_DISTINGUISHED = "a benchmark does not distinguish these models"
    NO_BETWEEN_VARIANCE = "the targets do not differ"
    PERFECT_AGREEMENT = "all ratings agree"
    SINGLE_VALUE = "only one value occurs: chance agreement is certain"
    NO_RATINGS = "no question was answered"
    NO_PAIRS = "no unit was rated twice"
    ONE_VARIES = "only one question or cluster varies: no standard error or interval"
    FEW_VARY = "fewer than ten questions vary: the interval may be too narrow"
    RARE_ANSWERS = "fewer than twenty questions have a rare answer: the interval may be too narrow"
    UNEQUAL_STEPS = "weights are by rank, but the values are not equally spaced"
    NEGATIVE_COMPONENT = "a variance component is estimated below zero"
    ALL_TIED = "all values are equal"
    OUTSIDE = "the interval corrects for noise, so it does not contain the uncorrected estimate"
    NO_SPREAD = "questions or clusters do not vary: no interval"
    NO_RESIDUAL = "scores do not vary within models: no test"
    INCOMPLETE = "missing data: incomplete rows were omitted"
    UNBALANCED = "missing data: the interval assumes a complete table"
    PAIRWISE = "missing data: covariances are computed from rows with both items"
    CONSTANT_ITEM = "the item does not vary"
    NEGATIVE_ITEM = "the item correlates negatively with the rest"
    SINGULAR = "the correlation matrix is singular: its pseudo-inverse was used"
    SEARCHED = "not all splits were tried: more extreme ones may exist"
    NO_FORMULA = "no interval exists for this coefficient"
    EXTREME = "the most extreme of many splits is biased: no interval"
    NO_TEST_VARIANCE = "all confidences are 0, 1/2 or 1, so the test statistic has no variance"
    FEWER_FACTORS = "the items have fewer factors than requested"
    IMPROPER = "no interval: the data do not determine the factors; use fewer factors"
    EMPTY_SUBSCALE = "no item belongs to this factor"
    UNANSWERED = "the item has no answers"
    PRIOR_ALONE = "the item has zero variance: the estimate comes from the prior"
    UNIDENTIFIED = "the data do not determine the parameter"
    NO_CELLS = "no answers"
    UNSCORED = "the respondent answered no item"
    UNUSED_ANSWER = "a middle category was never used: it has no threshold"
    NO_FREEDOM = "no degrees of freedom remain"
    NO_EVEN_ODDS = "no ability has even odds"
    NOT_DRAWN = "the bank did not sample the questions: valid for models like those of the bank"
    UNLIKE_BANK = "few models of the bank answered these questions: the interval is approximate"
    FEW_PEOPLE = "fewer than five people: no interval"
    FEW_ATTEMPTS = "no question has k attempts"
    SOME_FEW_ATTEMPTS = "questions with fewer than k attempts were omitted"
    FORETOLD = "k exceeds the number of attempts: extrapolated by a beta-binomial model"
    ONE_ATTEMPT = "one attempt per question: further attempts cannot be predicted"
    NO_COST = "no attempt has a cost or a time"
    UNLINKED = "no benchmark links it to most models: its estimate depends on the prior"
    ONE_SCORE = "only one score"
    ONE_MODEL_SCORED = "only one model has a score"
    VAGUE = "its scores are almost unrelated to ability: its difficulty cannot be estimated"
    ONE_KIND = "no benchmark has reports of both kinds"
    NO_LABELS = "no human labels: only the judge's raw score is known"
    FEW_LABELS = "fewer than ten human labels: the interval is approximate"
    NO_VERDICTS = "no verdicts of the judge"
    OTHER_SCALE = "the judge's verdicts and the human labels have different scales"
    UNCONNECTED = "no objects in common with most raters: compared as if objects were equal"
    ALIKE_RATINGS = "straight-liner: its values depend on the other raters"
    NEVER_SOLVED = "it solved no task: the horizon is below the upper bound"
    ALWAYS_SOLVED = "it solved every task: the horizon is above the lower bound"
    NOT_FALLING = "success does not fall with the length of tasks"
    ONE_LENGTH = "all its tasks have the same length"
    ONE_MODEL_SCATTER = "only one model: the variance of tasks of equal length is unknown"
    OPEN = "the data are too few for two finite bounds"
    BEYOND = "beyond the lengths of all tasks: extrapolated"
    NO_DATE = "it has no date"
    ONE_SIDE = "fewer than eight questions on one side of the date"
    DATE_SEARCHED = "the date was estimated from the same data: the change is biased upwards"
    NOT_GROWING = "it does not grow"
    NOT_CONNECTED = "no votes connect the two models, directly or through others"
    ONE_SIDED = "it won or lost every vote: only the prior makes the estimate finite"
    NO_SIDES = "the positions of the answers are unknown"
    NO_TIES = "there are no ties"
    MISSING_ANSWERS = "some sampled questions have no answer: assumed missing at random"


def first_reason(*cases: tuple[BoolArray, Reason]) -> tuple[Reason, ...]:
    """Return, for each model, the first reason whose condition is true."""
    conditions = np.array([condition for condition, _ in cases], dtype=np.bool_)
    names = [reason for _, reason in cases]
    first = np.where(conditions.any(axis=0), conditions.argmax(axis=0), len(names))
    return tuple([*names, Reason.NONE][row] for row in first)


def undefined(reasons: Sequence[Reason]) -> BoolArray:
    """Return a mask of the models that have a reason for an undefined value."""
    return np.array([bool(reason) for reason in reasons], dtype=np.bool_)


def untestable(yes: FloatArray, correct: FloatArray) -> Reason:
    """Return the reason why a model's answers cannot be associated with correctness."""
    if not yes.size:
        return Reason.NO_ANSWERS
    cases = (
        (not yes.any(), Reason.NO_YES),
        (bool(yes.all()), Reason.NO_NO),
        (not correct.any(), Reason.NO_CORRECT),
        (bool(correct.all()), Reason.NO_WRONG),
    )
    return next((reason for holds, reason in cases if holds), Reason.NONE)
