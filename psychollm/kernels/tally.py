r"""Numbers of correct and of wrong answers at each stated confidence, per resample.

Every metric of confidence against correctness is a function of a table of answer counts. The table
contains the distinct confidences :math:`u_1 < u_2 < \ldots` of one model, and the numbers
:math:`C_g` of correct and :math:`W_g` of wrong answers at :math:`u_g`. Resampling questions
changes the counts but not the confidences, so that a thousand resamples take a thousand sums and
no sorting. The order of questions with equal confidence does not affect the counts.

If questions have no weights and answers are either correct or wrong, a count fits into one byte.
The counts of a hundred resamples are then adjacent in memory, and one answer is added to all
hundred counts together.
"""

import numpy as np

from psychollm._base.types import AnyArray, FloatArray, IntArray
from psychollm.kernels._jit import njit


@njit
def tally_resamples(
    counts: FloatArray,
    question: IntArray,
    group: IntArray,
    right: FloatArray,
    correct: FloatArray,
    wrong: FloatArray,
) -> None:
    """Sum `counts` (resamples, questions) into `correct` and `wrong` (resamples, groups)."""
    # `question`, `group` and `right` hold, for each answer of the model, its column, the index of
    # its confidence among the distinct ones, and 1 if it was correct (or the probability that it
    # was).
    for row in range(counts.shape[0]):
        for g in range(correct.shape[1]):
            correct[row, g] = 0.0
            wrong[row, g] = 0.0
        for answer in range(question.size):
            weight = counts[row, question[answer]]
            hits = weight * right[answer]
            correct[row, group[answer]] += hits
            wrong[row, group[answer]] += weight - hits


@njit
def tally_counts(
    counts: AnyArray,
    question: IntArray,
    group: IntArray,
    right: FloatArray,
    correct: FloatArray,
    wrong: FloatArray,
) -> None:
    """Sum `counts` (questions, resamples) into `correct` and `wrong` (resamples, groups)."""
    # Answers are in the order of their groups, and `right` is 1 or 0.
    correct[:] = 0.0
    wrong[:] = 0.0
    n = counts.shape[1]
    hits, misses = np.zeros(n, dtype=np.uint32), np.zeros(n, dtype=np.uint32)
    for answer in range(question.size):
        drawn = counts[question[answer]]
        if right[answer] == 1.0:
            for r in range(n):
                hits[r] += drawn[r]
        else:
            for r in range(n):
                misses[r] += drawn[r]
        g = group[answer]
        if answer + 1 == question.size or group[answer + 1] != g:
            for r in range(n):
                correct[r, g], wrong[r, g] = hits[r], misses[r]
            hits[:] = 0
            misses[:] = 0
