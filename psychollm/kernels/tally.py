r"""How many answers at each stated confidence were correct, and how many wrong, per resample.

Every metric of confidence against correctness is a function of this table alone: with the
distinct confidences :math:`u_1 < u_2 < \ldots` of one model, :math:`C_g` correct and :math:`W_g`
wrong answers at :math:`u_g`. A resample of questions changes the counts and not the values, so
that a thousand resamples cost a thousand sums and no sorting; and the order of questions with the
same confidence cannot matter.
"""

from psychollm._base.types import FloatArray, IntArray
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
