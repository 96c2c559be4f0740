r"""`difficulty`: can the shared difficulty of questions be read off their text?.

If models say yes to the same questions because of what the questions look like, a small model of
the text should find what all of them share. The score of each question on the shared factor is
predicted from its text by ridge regression, always for questions that the fit has not seen, and

.. math:: R^2 = 1 - \frac{\sum (y - \hat y)^2}{\sum (y - \bar y_{\text{fit}})^2}          \quad (1)

compares it with the mean of the questions that were fitted. What matters is the lead over length
alone. Where several questions stand on one template, groups keep them together; without that, a
model that knows the template seems to know the question.

The intervals are those of other questions, for models fitted to these.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_count, check_fraction, check_generator
from psychollm._base.errors import InputError
from psychollm._base.numbers import number, with_interval
from psychollm._base.result import Result, drawn_by
from psychollm._base.types import FloatArray, IntArray, RandomState
from psychollm.estimates.clustered import units_of
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.findings import Finding, Findings, Study, exhibit
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import (
    Bootstrap,
    Resampling,
    bootstrap_draws,
    bootstrap_estimate,
)
from psychollm.estimates.verdict import SMALLEST, Outcome, SmallestEffects, outcome
from psychollm.studies.difficulty.questions import (
    FEWEST,
    Embedding,
    Questions,
    as_outcome,
    as_questions,
    fold_of,
    out_of_fold,
    parts,
)
from psychollm.studies.difficulty.words import surface_table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes as Drawn
    from numpy.typing import ArrayLike

PREDICTORS = ("text", "length only", "mean")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Difficulty(Study, Result):
    """How well the text of questions predicts their shared score.

    Attributes
    ----------
    predicted : ndarray (questions,)
        By a model that had not seen the question.
    predicted_by_length, scores : ndarray (questions,)
        The same from length alone; what was to be predicted.
    r_squared, correlation : Estimate
        Of "text" (or the features given), "length only" and "mean".
    ceiling : float
        Reliability of the scores, where known: no predictor of the factor does better.
    weights : ndarray (features,)
        Of the model fitted to all questions, by `names`: positive where models say yes.

    Examples
    --------
    >>> texts = [f"What is {'7' * (1 + n % 9)} + 1?" for n in range(60)]
    >>> study = difficulty(texts, [-(n % 9) for n in range(60)], bootstrap=20, rng=0)
    >>> study.lead.first, study.predicted.shape
    ('text', (60,))
    """

    predicted: FloatArray  # (questions,)
    predicted_by_length: FloatArray  # (questions,)
    scores: FloatArray  # (questions,)
    r_squared: Estimate  # (predictors,)
    correlation: Estimate  # (predictors,)
    ceiling: float
    weights: FloatArray  # (features,)
    names: tuple[str, ...]  # (features,)
    n_groups: int
    n_folds: int
    labels: tuple[Hashable, ...]  # (questions,)
    level: float

    _AXES = Axes({"question": "labels"}, "score=scores", "predicted", "predicted_by_length")

    @property
    def lead(self) -> Any:
        """R squared of the text less that of length alone, paired over questions."""
        return self.r_squared.difference("text", "length only")

    def weights_frame(self) -> pd.DataFrame:
        """Return one row per feature, those that go with yes first."""
        import pandas as pd

        frame = pd.DataFrame({"feature": list(self.names), "weight": self.weights})
        return frame.sort_values("weight", ascending=False, ignore_index=True)

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return the verdict, and how well text and length predict."""
        units = "questions" if self.n_groups == len(self.labels) else "groups of questions"
        rows = [
            f"{name}: R2 {self.r_squared.text(row, 3)}, correlation "
            f"{self.correlation.text(row, 3)}"
            for row, name in enumerate(PREDICTORS[:2])
        ]
        if np.isfinite(self.ceiling):
            rows.append(f"reliability of the scores, the ceiling of R2: {number(self.ceiling, 3)}")
        rows.append(
            f"{len(self.labels)} questions; predictions for {units} that were left out, "
            f"{self.n_folds} folds"
        )
        found = Finding(
            statement=self._verdict(smallest),
            rows=tuple(rows),
            numbers={"r_squared": self.r_squared, "lead": self.lead},
            outcome=outcome(self.lead.interval, smallest=smallest.r_squared),
        )
        return exhibit(found.alone, self, smallest)

    def _verdict(self, smallest: SmallestEffects) -> str:
        """Return in one sentence whether the text predicts the score, and beyond its length."""
        value = f"R2 {self.r_squared.text()}"
        lead = self.lead
        more = with_interval(lead.value, lead.interval, signed=True)
        least = smallest.r_squared
        low, high = self.r_squared.interval[0]
        # An R2 below zero, worse than the mean, is no prediction either.
        judged = outcome((max(low, 0.0), high), smallest=least)
        if judged is Outcome.OPEN:
            what = "whether the text predicts the shared difficulty"
            return f"Too few questions to say {what} ({value})."
        if judged is Outcome.SMALL:
            return f"The text hardly predicts the shared difficulty ({value})."
        beyond = {
            Outcome.ABOVE: "beyond its length",
            Outcome.BELOW: "its length alone better",
            Outcome.SMALL: f"no better than its length alone, to within {least:g}",
            Outcome.OPEN: "with too few questions to say whether beyond its length",
        }[outcome(lead.interval, smallest=least)]
        return f"The text predicts the shared difficulty ({value}), {beyond} ({more})."

    def plot(self, *, ax: Drawn | None = None) -> Drawn:
        """Draw scores over predictions: `psychollm.plots.plot_difficulty`."""
        return drawn_by("plot_difficulty")(self, ax=ax)


def difficulty(
    texts: Sequence[str] | Mapping[Any, str],
    scores: Any,
    *,
    features: ArrayLike | Embedding | None = None,
    groups: Sequence[Any] | None = None,
    n_folds: int = 10,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Difficulty:
    """Predict the shared score of questions from their text.

    Parameters
    ----------
    texts : sequence of str, or mapping of label to str (questions,)
        The questions.
    scores : QuestionScores, mapping, or array_like (questions,)
        Score on the shared factor, as of `question_scores`: high where models say yes. Questions
        without one (NaN) are left out.
    features : array_like (questions, features), or function of a list of texts, optional
        Hidden states or embeddings in place of words and surface.
    groups : sequence (questions,), optional
        What belongs together and is left out together: template, passage, source.
    n_folds : int
        Parts of the questions that are predicted in turn; at most as many as groups.
    bootstrap : int or Bootstrap
        Number of resamples of questions or of whole groups.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    Difficulty

    Raises
    ------
    InputError
        If texts, scores, features or groups do not fit together, or are too few.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> digits = rng.integers(1, 9, 200)
    >>> texts = [f"What is {'7' * n} + {'5' * n}?" for n in digits]
    >>> study = difficulty(texts, rng.normal(-digits, 1.0), bootstrap=200, rng=0)
    >>> study.r_squared.value[0] > 0.7
    np.True_
    """
    n_folds = check_count("n_folds", n_folds, low=2)
    check_fraction("level", level)
    every = as_questions(texts, features=features, groups=groups)
    outcome = as_outcome("scores", scores, every.labels)
    rows = np.flatnonzero(np.isfinite(outcome))
    if rows.size < FEWEST or np.ptp(outcome[rows]) == 0:
        msg = f"scores: {rows.size} questions have one; at least {FEWEST} that differ are needed"
        raise InputError(msg)
    questions, y = every.take(rows), outcome[rows]
    generator = check_generator(rng)
    fold = fold_of(questions.groups, n_folds, generator)
    length, means = _by_length(questions, y, fold)
    predictions = np.stack([out_of_fold(questions, y, fold), length, means])
    groups_of = np.unique(questions.groups, return_inverse=True)[1].astype(np.int64)
    clusters = None if groups is None else groups_of
    draws = bootstrap_draws(
        lambda counts: _fit_measures(y, predictions, counts),
        y.size,
        Resampling.of(bootstrap, level, generator),
        clusters=clusters,
    )
    model = questions.fit(y)
    numbered = tuple(f"feature {column}" for column in range(model.line.weights.size))
    names = numbered if model.words is None else model.words.names
    return Difficulty(
        predicted=predictions[0],
        predicted_by_length=predictions[1],
        scores=y,
        **_estimates(y, predictions, draws, level=level, clusters=clusters),
        ceiling=float(getattr(scores, "reliability", np.nan)),
        weights=model.line.weights,
        names=names,
        n_groups=int(groups_of.max()) + 1,
        n_folds=int(fold.max()) + 1,
        labels=questions.labels,
        level=level,
    )


def _by_length(
    questions: Questions, y: FloatArray, fold: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Predict from letters and words alone, and by the mean of what was fitted."""
    table = np.column_stack([np.ones(y.size), surface_table(questions.texts)[:, :2]])
    length, means = np.empty(y.size), np.empty(y.size)
    for fit_on, own in parts(fold):
        weights = np.linalg.lstsq(table[fit_on], y[fit_on], rcond=None)[0]
        length[own], means[own] = table[own] @ weights, y[fit_on].mean()
    return length, means


def _fit_measures(y: FloatArray, predictions: FloatArray, counts: FloatArray) -> FloatArray:
    """Return (1) and the correlation for each resample (resamples, 2, predictors)."""
    errors = counts @ ((y - predictions) ** 2).T
    squared = 1.0 - errors / errors[:, -1:]
    n = counts.sum(axis=1, keepdims=True)
    mean_y, mean_p = counts @ y[:, None] / n, counts @ predictions.T / n
    cross = counts @ (predictions * y).T / n - mean_y * mean_p
    spread_y = counts @ (y**2)[:, None] / n - mean_y**2
    spread_p = counts @ (predictions**2).T / n - mean_p**2
    scale = np.sqrt(np.maximum(spread_y * spread_p, 0.0))
    empty = np.full(scale.shape, np.nan)
    return np.stack([squared, np.divide(cross, scale, out=empty, where=scale > 1e-12)], axis=1)


def _estimates(
    y: FloatArray,
    predictions: FloatArray,
    draws: FloatArray,
    *,
    level: float,
    clusters: IntArray | None,
) -> dict[str, Estimate]:
    value = _fit_measures(y, predictions, np.ones((1, y.size)))[0]
    # The means of the folds differ by chance and correlate negatively with what they predict.
    value[1, -1], draws[:, 1, -1] = np.nan, np.nan
    reasons = (Reason.NONE, Reason.NONE, Reason.CONSTANT)
    names = ("r_squared", "correlation")
    return {
        name: bootstrap_estimate(
            name.replace("_", " "),
            value[k],
            draws[:, k],
            n=np.full(len(PREDICTORS), float(y.size)),
            flags=reasons if k else (Reason.NONE,) * 3,
            level=level,
            labels=PREDICTORS,
            units=units_of(np.ones(predictions.shape), clusters),
            axis="predictor",
        )
        for k, name in enumerate(names)
    }
