r"""Plan how many and which answers people must label for a given margin of error.

Within verdict k of model m, labels have the variance :math:`v_{mk}` around their prediction. With
N answers, n randomly chosen labels give a score the variance :math:`\bar v_m (1 / n - 1 / N)`.
Labels are most informative where the judge is unsure. Equation (1) gives the inclusion
probabilities:

.. math:: \pi_q = \min(1, c \, s_q), \qquad s_q^2 = \frac{1}{M} \sum_m v_{m k(m, q)}, \qquad
          \sum_q \pi_q = n.                                                               \quad (1)

Given these probabilities, the variance of a score is
:math:`N^{-2} \sum_q (1 / \pi_q - 1) \, v_{m k(m, q)}`. The same questions are labelled for every
model. Variances within verdicts are shrunk towards the model's overall variance with the weight of
one label. Therefore, no verdict is neglected because its first labels happened to agree.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from psychollm._base.axes import Axes
from psychollm._base.numbers import count, number
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.data.labels import Labels
from psychollm.estimates.verdict import every

if TYPE_CHECKING:
    import pandas as pd

_GROUPS = 4  # number of groups of graded verdicts
_EXTRA = 0.5  # square of the number of wrong labels that is added for the interval of a score
_LEAST_SHARE = 0.25  # minimum inclusion probability, as a proportion of the mean
_STEPS = 40
_TRIED = 300  # number of sample sizes that are tried


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelPlan(Result):
    """Number of labels that each model's interval needs, and inclusion probabilities of questions.

    Examples
    --------
    >>> from psychollm.studies.judged_scores.study import judged_scores
    >>> rng = np.random.default_rng(1)
    >>> truth = (rng.random((2, 400)) < 0.7).astype(float)
    >>> judge = np.where(rng.random((2, 400)) < 0.1, 1.0 - truth, truth)
    >>> people = np.where(np.arange(400) < 40, truth, np.nan)
    >>> plan = judged_scores(judge, people, rng=1).plan(half_width=0.05)
    >>> plan.to_frame().columns.tolist()
    ['model', 'half_width', 'equal', 'unsure']
    """

    half_width: FloatArray  # (models,) current margin of error; NaN without labels
    equal: FloatArray  # (models,) labels needed with equal probabilities
    unsure: FloatArray  # (models,) labels needed with the probabilities below
    probability: FloatArray  # (questions,) inclusion probability in this design
    wanted: float
    labels: Labels  # (models,)
    questions: Labels
    level: float

    _AXES = Axes({"model": "labels", "question": "questions"}, arrays={"question": "probability"})

    def to_frame(self) -> "pd.DataFrame":
        """Return one row per model: current margin of error, and labels needed per design."""
        import pandas as pd

        return pd.DataFrame(
            {
                "model": list(self.labels),
                "half_width": self.half_width,
                "equal": self.equal,
                "unsure": self.unsure,
            }
        )

    def to_label(self) -> "pd.Series":
        """Return the inclusion probabilities of the questions, the largest first."""
        import pandas as pd

        chances = pd.Series(self.probability, list(self.questions), name="probability")
        return chances.sort_values(ascending=False, kind="stable")

    def summary(self) -> str:
        """Return the number of labels needed."""
        known = np.isfinite(self.equal)
        if not known.any():
            return (
                "No number of labels is enough for a margin of error of "
                f"±{number(self.wanted, 3)}."
            )
        equal, unsure = self.equal[known].max(), self.unsure[known].max()
        n, total = int(known.sum()), known.size
        models = f"{count(n)} of {count(total)} models"
        if n == total:
            models = every(n, "model") if n > 1 else "the model"
        text = (
            f"A margin of error of ±{number(self.wanted, 3)} for {models} requires that people "
            f"label {count(equal)} randomly chosen questions"
        )
        if unsure < equal:
            text += f", or {count(unsure)} chosen by the judge's uncertainty (`probability`)"
        return f"{text}."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Variances:
    """Variance of labels about their predictions, by answer."""

    of: FloatArray  # (models, questions) NaN outside a model's answers
    size: FloatArray  # (models,) answers
    beyond: FloatArray  # (models,) variance that labels do not reduce


def variances_of(
    residual: FloatArray, predicted: FloatArray, answers: BoolArray, worst: float
) -> FloatArray:
    """Return the variance of each label about its prediction (models, questions).

    Parameters
    ----------
    residual : ndarray (models, questions)
        Labels minus their predictions, NaN if there is no label.
    predicted : ndarray (models, questions)
        Predictions of the judge, which define groups of answers.
    answers : ndarray of bool (models, questions)
    worst : float
        Variance assumed for a model without labels.
    """
    found = np.full(residual.shape, np.nan)
    for row in range(len(residual)):
        inside = answers[row]
        group = _groups(predicted[row], inside)
        known = np.isfinite(residual[row])
        square = np.where(known, residual[row], 0.0) ** 2
        n = int(known.sum())
        prior = (square.sum() + worst) / (n + 1.0)
        sums = np.bincount(group, square)
        counts = np.bincount(group, known)
        found[row, inside] = ((sums + prior) / (counts + 1.0))[group][inside]
    return found


def _groups(predicted: FloatArray, inside: BoolArray) -> IntArray:
    """Return the verdict of each answer, or a group of similar verdicts if there are many."""
    values = np.unique(predicted[inside].round(9))
    if values.size > _GROUPS:
        values = np.unique(np.quantile(predicted[inside], np.arange(_GROUPS) / _GROUPS))
    return np.maximum(np.searchsorted(values, predicted.round(9), side="right") - 1, 0)


def chances_of(unsure: FloatArray, n: float) -> FloatArray:
    """Return inclusion probabilities of n labels (questions,), proportional to `unsure`."""
    if n >= unsure.size:
        return np.ones(unsure.size)
    low, high = 0.0, n / unsure.min()
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        short = np.minimum(middle * unsure, 1.0).sum() < n
        low, high = (middle, high) if short else (low, middle)
    return np.asarray(np.minimum(high * unsure, 1.0))


def unsure_of(variances: Variances) -> FloatArray:
    """Return the standard deviation s of each question in equation (1), shape (questions,)."""
    known = np.isfinite(variances.of)
    mean = np.where(known, variances.of, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    size = np.sqrt(mean)
    return np.asarray(np.maximum(size, max(_LEAST_SHARE * size.mean(), 1e-9)))


def needed(
    variances: Variances, half_width: float, level: float, *, unsure: bool, sampled: bool
) -> FloatArray:
    """Return how many questions each model's interval requires; NaN if there are too few."""
    size = np.maximum(variances.size, 1.0)
    every = np.where(np.isfinite(variances.of), variances.of, 0.0)
    mean, spread_of = every.sum(axis=1) / size, unsure_of(variances)
    most = int(size.max())
    numbers = np.unique(np.geomspace(3, most, _TRIED).round()) if most > 3 else np.array([most])
    found = np.full(size.size, np.nan)
    for n in numbers[::-1]:
        if unsure:
            inverse = 1.0 / chances_of(spread_of, float(n)) - (not sampled)
            spread = every @ inverse / size**2
        else:
            spread = mean * (1.0 / n - (0.0 if sampled else 1.0) / size)
        left = np.maximum(spread, 0.0) + np.where(sampled | (n < size), _EXTRA / n**2, 0.0)
        t = stdtrit(max(n - 2.0, 1.0), 0.5 + 0.5 * level)
        fine = (t * np.sqrt(left + variances.beyond) <= half_width) & (n <= size)
        found = np.where(fine, n, found)
    return np.where(variances.size > 0, found, np.nan)
