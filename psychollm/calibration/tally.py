"""Numbers of correct and wrong answers by confidence, for computing metrics."""

from dataclasses import dataclass

import numpy as np

from psychollm._base.types import AnyArray, FloatArray, IntArray
from psychollm.calibration.stated import StatedAnswers
from psychollm.kernels.tally import tally_counts, tally_resamples


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tally:
    """Numbers of correct and wrong answers of one model at each distinct confidence."""

    values: FloatArray  # (groups,) distinct confidences, increasing
    correct: FloatArray  # (groups,) weighted number of correct answers
    wrong: FloatArray  # (groups,) weighted number of wrong answers
    n: int  # number of answers
    question: IntArray  # (n,) index of each answer's question, in order of confidence
    group: IntArray  # (n,) index of each answer's confidence in `values`
    right: FloatArray  # (n,) correctness: 1, 0 or a probability
    weight: FloatArray  # (n,) weights, with mean one over all questions
    cluster: IntArray | None  # (n,) clusters of questions, numbered without gaps

    def resampled(
        self, counts: AnyArray, unit: IntArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the numbers of correct and wrong answers in resamples (resamples, groups).

        Parameters
        ----------
        counts : ndarray of shape (resamples, questions)
            Number of times that each question is drawn in each resample.
        unit : ndarray of shape (questions,), optional
            Column of `counts` for each question, if the questions of a cluster share a column.
        """
        shape = (counts.shape[0], self.values.size)
        correct, wrong = np.empty(shape), np.empty(shape)
        question = self.question if unit is None else unit[self.question]
        answers = (question, self.group, self.right)
        if counts.dtype == np.uint8:
            tally_counts(np.ascontiguousarray(counts.T), *answers, correct, wrong)
        else:
            tally_resamples(counts, *answers, correct, wrong)
        return correct, wrong


def tallies(answers: StatedAnswers) -> list[Tally]:
    """Return the tally of every model."""
    return [_tally(answers, row) for row in range(len(answers.models))]


def _tally(answers: StatedAnswers, row: int) -> Tally:
    here = np.flatnonzero(answers.present[row])
    values, group = np.unique(answers.confidence[row, here], return_inverse=True)
    order = np.argsort(group, kind="stable")
    question, group = here[order], group[order].astype(np.int64)
    right = answers.correct[row, question]
    weight = answers.weights[question]
    return Tally(
        values=values,
        correct=_sums(group, weight * right, values.size),
        wrong=_sums(group, weight - weight * right, values.size),
        n=here.size,
        question=question,
        group=group,
        right=right,
        weight=weight,
        cluster=None if answers.clusters is None else _numbered(answers.clusters[question]),
    )


def _numbered(clusters: IntArray) -> IntArray:
    """Renumber clusters, omitting clusters without answers of this model."""
    return np.unique(clusters, return_inverse=True)[1].astype(np.int64)


def _sums(group: IntArray, weight: FloatArray, n: int) -> FloatArray:
    return np.asarray(np.bincount(group, weight, minlength=n), dtype=np.float64)
