r"""Prediction of how a model's own answers are distributed over classes of meaning.

The sampled answers of a model fall into classes. Let :math:`q_{ik}` be the proportion of class
:math:`k` for question :math:`i`, and :math:`p_{ik}` the out-of-fold prediction of a multinomial
logistic regression on the hidden state. Equation (1) defines the cross-entropy H and the skill,
with :math:`\bar q` the mean proportions of the fitted questions.

.. math::
    H(q, p) = -\frac{1}{n} \sum_i \sum_k q_{ik} \log p_{ik}, \qquad
    \text{skill} = \frac{H(q, \bar q) - H(q, p)}{H(q, \bar q) - H(q, q)}.                \tag{1}

Skill is 1 for perfect predictions, and 0 for predictions no better than the mean. Classes must
have the same meaning for all questions. The classes may be options or, for free answers, the
largest class, the second largest class, and so on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import float_array
from psychollm._base.errors import InputError, ShapeError
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray, RandomState
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.findings import (
    Finding,
    Findings,
    Study,
    estimate_rows,
    sentence,
)
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import (
    Bootstrap,
    Resampling,
    bootstrap_draws,
    bootstrap_estimate,
)
from psychollm.estimates.verdict import (
    SMALLEST,
    Outcome,
    SmallestEffects,
    counted,
    verdicts,
)
from psychollm.studies.probes.folds import classifier, features_of, folds_of, groups_of

_TINY = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassShares(Study, Result):
    """Accuracy with which each layer predicts proportions of classes."""

    predicted: FloatArray  # (layers, questions, classes)
    skill: Estimate  # value of (1) for each layer

    _AXES = Axes(
        {},
        "*=skill",
        labels={"layer": "skill.labels"},
        arrays={"layer question answer": "predicted"},
    )

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return how many layers predict the distribution of answers; see `smallest.r_squared`."""
        judged = verdicts(self.skill, smallest=smallest.r_squared)
        little = f"equivalent to no prediction (skill ±{smallest.r_squared:g})"
        words = {
            Outcome.ABOVE: ("predicts the distribution", "predict the distribution"),
            Outcome.BELOW: ("predicts worse than the mean", "predict worse than the mean"),
            Outcome.SMALL: (f"is {little}", f"are {little}"),
        }
        return Finding(
            question="Do states predict the distribution of answers over classes?",
            statement=sentence(counted(judged, words, kind="layer")),
            rows=estimate_rows(self.skill),
            numbers={"skill": self.skill},
            outcome=judged,
        ).alone


def class_shares(
    states: Any,
    shares: Any,
    *,
    groups: Any = None,
    layers: Sequence[int] | None = None,
    n_folds: int = 5,
    penalty: float = 10.0,
    bootstrap: Bootstrap | int = 1000,
    level: float = 0.95,
    rng: RandomState = 0,
) -> ClassShares:
    """Predict the proportions of classes among a model's own answers from hidden states.

    Parameters
    ----------
    states : HiddenStates or array_like (questions, layers, hidden)
        Result of `psychollm.steering.hidden_states`, or an array.
    shares : array_like (questions, classes)
        Proportions of classes; each row sums to 1.
    groups : array_like (questions,), optional
        Group of each question, such as its topic or template. Folds and resamples keep groups
        whole. By default each question is a group.
    layers : sequence of int, optional
        Layers to probe; all layers by default.
    n_folds : int
        Number of cross-validation folds.
    penalty : float
        Penalty weight on the squared coefficients of standardised features.
    bootstrap : int or Bootstrap
        Number of resamples for the intervals.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator or int
        Random generator or seed for folds and resamples.

    Returns
    -------
    ClassShares
        Skill, equation (1), of each layer.

    Raises
    ------
    InputError, ShapeError, OptionError, LabelError
        If the tables do not match, or rows are not proportions.
    MissingPackageError
        If scikit-learn is not installed.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> states = rng.normal(size=(90, 1, 3))
    >>> p = 1 / (1 + np.exp(-3 * states[:, 0, 0]))
    >>> found = class_shares(states, np.stack([p, 1 - p], axis=1), bootstrap=50)
    >>> bool(found.skill.value[0] > 0.5)
    True
    """
    features = features_of(states, layers, None)
    q = _shares(shares, features.n)
    clusters = groups_of(groups, features.n)
    fold = folds_of(clusters, n_folds, rng)
    predicted = np.array(
        [_out_of_fold(table, q, fold, penalty) for table in features.tables.values()]
    )
    base = np.empty_like(q)
    for one in np.unique(fold):
        base[fold == one] = q[fold != one].mean(axis=0)
    losses = -(q * np.log(np.clip([*predicted, base, q], _TINY, 1.0))).sum(axis=2)

    def skill(counts: FloatArray) -> FloatArray:
        sums = counts @ losses.T
        spread = sums[:, -2:-1] - sums[:, -1:]
        varies = spread > 1e-9 * counts.sum(axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(varies, (sums[:, -2:-1] - sums[:, :-2]) / spread, np.nan)

    value = skill(np.ones((1, features.n)))[0]
    draws = bootstrap_draws(
        skill, features.n, Resampling.of(bootstrap, level, 0), clusters=clusters
    )
    flags = tuple(Reason.NONE if np.isfinite(one) else Reason.ALL_TIED for one in value)
    estimate = bootstrap_estimate(
        "skill",
        value,
        draws,
        n=np.full(len(value), float(features.n)),
        flags=flags,
        level=level,
        labels=features.labels,
        axis="layer",
    )
    return ClassShares(predicted=predicted, skill=estimate)


def _shares(shares: Any, n: int) -> FloatArray:
    q = float_array(shares, "shares")
    if q.ndim != 2 or len(q) != n or q.shape[1] < 2:
        msg = f"shares must be ({n} questions, at least two classes), got shape {q.shape}"
        raise ShapeError(msg)
    bad = np.flatnonzero(~((q >= 0).all(axis=1) & (np.abs(q.sum(axis=1) - 1) < 1e-6)))
    if bad.size:
        msg = f"shares of question {bad[0]} are {q[bad[0]]}: they must be 0 or more and sum to 1"
        raise InputError(msg)
    return q


def _out_of_fold(table: FloatArray, q: FloatArray, fold: IntArray, penalty: float) -> FloatArray:
    """Return predicted proportions from a fit with one weighted row per question and class."""
    k = q.shape[1]
    predicted = np.zeros_like(q)
    for one in np.unique(fold):
        held = fold == one
        x, weights = np.repeat(table[~held], k, axis=0), q[~held].ravel()
        classes = np.tile(np.arange(k), (~held).sum())
        used = weights > 0
        present = np.unique(classes[used])
        if present.size == 1:
            predicted[held, present[0]] = 1.0
            continue
        model = classifier(penalty).fit(
            x[used], classes[used], logisticregression__sample_weight=weights[used]
        )
        predicted[np.ix_(held, present)] = model.predict_proba(table[held])
    return predicted
