r"""Prediction of the shared difficulty of questions from their text.

If the wording of questions determines whether models say yes, the text should predict the common
factor. Ridge regression predicts factor scores of held-out questions from their text. R squared
compares the errors of the predictions with the errors of the mean score of the fitted questions:

.. math:: R^2 = 1 - \frac{\sum (y - \hat y)^2}{\sum (y - \bar y_{\text{fit}})^2}.         \quad (1)

The verdict also compares two predictors, the text and its length. If questions share templates,
pass the templates as `groups`. Without groups, questions of one template are in several folds, so
R squared is too high for questions of new templates.

Intervals reflect the sampling of the predicted questions, with the fitted regressions held fixed.
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
    """Accuracy with which the text of questions predicts their factor scores.

    Attributes
    ----------
    predicted : ndarray (questions,)
        Out-of-fold predictions from the text.
    predicted_by_length, scores : ndarray (questions,)
        Out-of-fold predictions from length alone, and the factor scores.
    r_squared, correlation : Estimate
        Accuracy of the predictors "text" (or the features passed), "length only" and "mean".
    ceiling : float
        Reliability of the scores, the upper bound of R squared; NaN if unknown.
    weights : ndarray (features,)
        Weights of the regression fitted to all questions, in the order of `names`. Features with
        positive weights predict yes.

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
        """Difference in R squared between text and length alone, paired over questions."""
        return self.r_squared.difference("text", "length only")

    def weights_frame(self) -> pd.DataFrame:
        """Return one row per feature, in descending order of weight."""
        import pandas as pd

        frame = pd.DataFrame({"feature": list(self.names), "weight": self.weights})
        return frame.sort_values("weight", ascending=False, ignore_index=True)

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return the verdict, and the accuracy of predictions from text and from length."""
        units = "questions" if self.n_groups == len(self.labels) else "groups of questions"
        rows = [
            f"{name}: R² {self.r_squared.text(row, 3)}, correlation "
            f"{self.correlation.text(row, 3)}"
            for row, name in enumerate(PREDICTORS[:2])
        ]
        if np.isfinite(self.ceiling):
            rows.append(
                f"upper bound of R² (reliability of the scores): {number(self.ceiling, 3)}"
            )
        rows.append(
            f"{len(self.labels)} questions, {self.n_folds}-fold cross-validation over {units}"
        )
        found = Finding(
            statement=self._verdict(smallest),
            rows=tuple(rows),
            numbers={"r_squared": self.r_squared, "lead": self.lead},
            outcome=outcome(self.lead.interval, smallest=smallest.r_squared),
        )
        return exhibit(found.alone, self, smallest)

    def _verdict(self, smallest: SmallestEffects) -> str:
        """Return the verdict on text and on length as predictors of the score, as a sentence."""
        value = f"R² {self.r_squared.text()}"
        lead = self.lead
        more = with_interval(lead.value, lead.interval, signed=True)
        least = smallest.r_squared
        low, high = self.r_squared.interval[0]
        # A negative R2 means that predictions are worse than the mean; it counts as no prediction.
        judged = outcome((max(low, 0.0), high), smallest=least)
        if judged is Outcome.OPEN:
            return (
                "It is unclear whether the text of questions predicts their difficulty for the "
                f"models ({value})."
            )
        if judged is Outcome.SMALL:
            return (
                "The text of questions predicts almost none of their difficulty for the models "
                f"({value})."
            )
        beyond = {
            Outcome.ABOVE: "The text predicts better than its length alone",
            Outcome.BELOW: "The text predicts worse than its length alone",
            Outcome.SMALL: f"The text predicts as well as its length alone, within ±{least:g}",
            Outcome.OPEN: "The comparison with text length alone is inconclusive",
        }[outcome(lead.interval, smallest=least)]
        return (
            f"The text of questions predicts their difficulty for the models ({value}). {beyond} "
            f"(difference in R² {more})."
        )

    def plot(self, *, ax: Drawn | None = None) -> Drawn:
        """Draw scores against predictions: `psychollm.plots.plot_difficulty`."""
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
    """Predict the factor scores of questions from their text.

    Parameters
    ----------
    texts : sequence of str, or mapping of label to str (questions,)
        The questions.
    scores : QuestionScores, mapping, or array_like (questions,)
        Factor scores, such as a result of `question_scores`; high scores mean that models say yes.
        Questions with NaN are excluded.
    features : array_like (questions, features), or function of a list of texts, optional
        Hidden states or embeddings that replace words and surface features.
    groups : sequence (questions,), optional
        Group of each question, such as its template or source. Folds do not split groups.
    n_folds : int
        Number of folds; at most the number of groups.
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
        If texts, scores, features or groups do not match, or there are too few questions.

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
        msg = f"scores: {rows.size} are known; at least {FEWEST} that differ are needed"
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
    """Predict scores from the numbers of letters and words, and from the mean training score."""
    table = np.column_stack([np.ones(y.size), surface_table(questions.texts)[:, :2]])
    length, means = np.empty(y.size), np.empty(y.size)
    for fit_on, own in parts(fold):
        weights = np.linalg.lstsq(table[fit_on], y[fit_on], rcond=None)[0]
        length[own], means[own] = table[own] @ weights, y[fit_on].mean()
    return length, means


def _fit_measures(y: FloatArray, predictions: FloatArray, counts: FloatArray) -> FloatArray:
    """Return R squared by equation (1), and correlations (resamples, 2, predictors)."""
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
    # By construction, fold means correlate negatively with held-out scores: omit the correlation.
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
