r"""How many answers at each stated confidence were correct, and how many wrong, per resample.

Every metric of confidence against correctness is a function of this table alone: with the
distinct confidences :math:`u_1 < u_2 < \ldots` of one model, :math:`C_g` correct and :math:`W_g`
wrong answers at :math:`u_g`. A resample of questions changes the counts and not the values, so
that a thousand resamples cost a thousand sums and no sorting; and the order of questions with the
same confidence cannot matter.

Where questions have no weights and answers are correct or wrong, counts fit into a byte, and those
of a hundred resamples stand side by side: one answer is added to all of them at once.
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
    # `question`, `group` and `right` hold, for each answer of the model, its column, the place of
    # its confidence among the distinct ones, and 1 where it was correct (or the chance that it
    # is).
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
    # Answers stand in the order of their groups, and `right` is 1 or 0.
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
