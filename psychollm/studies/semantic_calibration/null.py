r"""Null distribution of a semantically calibrated model with a finite number of samples.

A model is semantically calibrated if the right answer behaves like one more sample of the model's
answers. The right answer is then in class k with the probability :math:`\pi(k)` of that class in
the model's answers. With M samples and counts :math:`n_k`, even a calibrated model looks
miscalibrated, for two reasons. Calibration errors are never negative, so noise increases them.
Moreover, the largest observed proportion overestimates the probability of its class, because this
class was selected as the largest. The usual expectation of a calibration error, in which answers
are right with the probability given by the confidence, accounts for noise but not for the
selection of the largest class. The null distribution in this module accounts for noise and for the
selection.

Under calibration, the right answer and the samples are exchangeable. Together, the right answer
and the samples have the counts :math:`m_k = n_k + 1\{k = g\}`, with g the class of the right
answer, which is a new class if no sample is in it. Given the counts :math:`m_k`, each of the M + 1
answers is the right answer with equal probability.

.. math:: P(\text{right} = k) = \frac{m_k}{M + 1}, \quad
          f_k = \frac1M \max_j (m_j - 1\{j = k\}), \quad
          a_k = \frac{1\{k \in \arg\max\}}{|\arg\max|}.                                   \quad (1)

In equation (1), :math:`f_k` is the confidence and :math:`a_k` the correctness if the right answer
is in class k. Data sets drawn from equation (1) have the distribution of M samples of a calibrated
model. A test against data sets drawn from equation (1) is therefore exact for every M and every
distribution of classes. The expected overconfidence of a question has the closed form
:math:`\sum_k P(k)(f_k - a_k)`.

Calibration of the largest class alone is a weaker claim; equation (1) assumes calibration of all
classes. A class of abstentions is never the right answer. If several classes are right, g is the
largest right class.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_generator
from psychollm._base.result import Result
from psychollm._base.types import AnyArray, FloatArray, IntArray, RandomState
from psychollm.calibration.metric import Metric
from psychollm.calibration.tally import Tally
from psychollm.estimates.null import Null

_BLOCK = 200_000  # number of draws per block
_ROUNDING = 1e-12
_MOST_PLACES = 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Exchanged:
    """Possible outcomes of each question under equation (1), with their probabilities."""

    chance: FloatArray  # (questions, outcomes) 0 for unused places
    confidence: FloatArray  # (questions, outcomes)
    correct: FloatArray  # (questions, outcomes)

    @property
    def overconfidence(self) -> FloatArray:
        """Expected confidence minus expected correctness (questions,)."""
        gap = self.chance * (self.confidence - self.correct)
        return np.asarray(gap.sum(axis=1), dtype=np.float64)


def exchanged(codes: AnyArray, right: FloatArray) -> Exchanged:
    """Return each question's possible outcomes and their probabilities, by equation (1)."""
    # Codes are classes (questions, samples), -1 where missing; `right` is NaN for
    # abstentions, which are never right.
    # Many questions have the same numbers of samples by class, and thus the same outcomes.
    found: dict[tuple[bytes, bytes], list[tuple[float, float, float]]] = {}
    rows = []
    for counts, worth in _classes(codes, right):
        key = counts.tobytes(), worth.tobytes()
        if key not in found:
            found[key] = _outcomes(counts, worth)
        rows.append(found[key])
    width = max(map(len, rows))
    table = np.zeros((len(rows), width, 3))
    for row, outcomes in enumerate(rows):
        table[row, : len(outcomes)] = outcomes
    return Exchanged(chance=table[..., 0], confidence=table[..., 1], correct=table[..., 2])


def _classes(codes: AnyArray, right: FloatArray) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield numbers of samples and proportions of right samples by class, for each question."""
    known = codes >= 0
    n_classes = int(codes.max(initial=0)) + 1
    cell = (np.arange(len(codes))[:, None] * n_classes + codes)[known]
    counts = np.bincount(cell, minlength=len(codes) * n_classes).reshape(-1, n_classes)
    hits = np.bincount(cell, weights=right[known], minlength=counts.size).reshape(counts.shape)
    with np.errstate(invalid="ignore"):
        worth = hits / counts
    for count, share, last in zip(counts, worth, codes.max(axis=1, initial=-1), strict=True):
        yield count[: last + 1], share[: last + 1]


def _outcomes(counts: IntArray, worth: FloatArray) -> list[tuple[float, float, float]]:
    """Return probability, confidence and correctness of equation (1), by class size."""
    n = int(counts.sum())
    graded = np.isfinite(worth)
    hits = np.flatnonzero(graded & (worth > 0.5))
    if hits.size:
        counts = counts.copy()
        counts[hits[counts[hits].argmax()]] += 1
    else:
        counts, graded = np.append(counts, 1), np.append(graded, True)
    total = counts[graded].sum()
    outcomes = []
    for size, classes in Counter(counts[graded].tolist()).items():
        left = np.append(counts[counts != size], [size] * (int((counts == size).sum()) - 1))
        largest = max(int(left.max(initial=0)), size - 1)
        tied = int((left == largest).sum()) + 1
        correct = 1.0 / tied if size - 1 == largest else 0.0
        outcomes.append((size * classes / total, largest / n, correct))
    return outcomes


def sample_null(
    metric: Metric,
    codes: AnyArray,
    right: FloatArray,
    confidence: FloatArray,
    correct: FloatArray,
    *,
    n_null: int = 1000,
    rng: RandomState = None,
) -> Null:
    """Compare the value of a metric with its values in data sets drawn from equation (1)."""
    table = exchanged(codes, right)
    values = np.unique(table.confidence[table.chance > 0.0].round(12))
    # For an exact test, the shared part must not depend on which data set is the observed one, so
    # it is computed from the mean of all data sets.
    shared = metric.shared(_tally(values, *_mean(table, values), len(codes)))
    outputs = [
        metric.compute(shared, *_drawn(table, values, rows, stream))[:, 0]
        for rows, stream in _blocks(n_null, len(codes), rng)
    ]
    group = np.searchsorted(values, confidence.round(12))
    right_ones = _sums(group, correct, values.size)[None]
    own = metric.compute(shared, right_ones, _sums(group, 1.0 - correct, values.size)[None])
    value = np.asarray(own[0, 0])
    return Null.compare(
        value,
        np.concatenate(outputs),
        scheme="calibrated",
        statistic=metric.names[0],
        tie=_ROUNDING * (1.0 + abs(float(value))),
    )


def _mean(table: Exchanged, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the expected numbers of correct and wrong answers at each confidence."""
    group = np.searchsorted(values, table.confidence.round(12)).ravel()
    # Unused places have probability zero, so their bin does not matter.
    group = np.minimum(group, values.size - 1)
    chance, correct = table.chance.ravel(), table.correct.ravel()
    return (
        _sums(group, chance * correct, values.size),
        _sums(group, chance * (1.0 - correct), values.size),
    )


def _sums(group: AnyArray, weights: FloatArray, size: int) -> FloatArray:
    return np.asarray(np.bincount(group, weights=weights, minlength=size), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SampleCurve(Result):
    """Accuracy by confidence of one arm, and of a calibrated model with as many samples.

    Examples
    --------
    >>> codes, right = np.array([[0, 0, 1]] * 9), np.array([[1.0, 1.0, 0.0]] * 9)
    >>> found = sample_curve(codes, right, np.full(9, 2 / 3), np.ones(9), n=99, rng=0)
    >>> found.confidence.round(2), found.expected.round(2)
    (array([0.67, 1.  ]), array([1., 0.]))
    """

    label: Hashable
    confidence: FloatArray  # (places,) possible confidences under (1), or means of bins
    accuracy: FloatArray  # (places,) NaN without questions
    n: FloatArray  # (places,) number of questions
    expected: FloatArray  # (places,) accuracy under (1)
    interval: FloatArray  # (places, 2) range of accuracies under (1); NaN with few questions
    level: float

    _AXES = Axes(
        {},
        "arm=label",
        "confidence",
        "accuracy",
        "n",
        "expected",
        "expected_{bound}=interval",
    )


def sample_curve(
    codes: AnyArray,
    right: FloatArray,
    confidence: FloatArray,
    correct: FloatArray,
    *,
    label: Hashable = 0,
    n: int = 1000,
    level: float = 0.95,
    rng: RandomState = None,
) -> SampleCurve:
    """Return accuracy by confidence, and its distribution in data sets drawn by equation (1)."""
    # There is one bin per possible confidence, or ten bins of equal width if there are more than
    # twenty possible confidences.
    table = exchanged(codes, right)
    values = np.unique(table.confidence[table.chance > 0.0].round(12))
    bins = _places(values)
    group = np.searchsorted(values, confidence.round(12))
    hits, wrong = _mean(table, values)
    draws = [_drawn(table, values, *block) for block in _blocks(n, len(codes), rng)]
    every, own = hits + wrong, np.bincount(group, minlength=values.size)
    tail = 0.5 * (1.0 - level)
    with np.errstate(invalid="ignore", divide="ignore"):
        drawn = [_binned(one, bins) / _binned(one + other, bins) for one, other in draws]
        shares = np.concatenate(drawn)
        accuracy = _binned(_sums(group, correct, values.size), bins) / _binned(own, bins)
        expected = _binned(hits, bins) / _binned(every, bins)
        row = _binned(every * values, bins) / _binned(every, bins)
    # The range is omitted where most simulated data sets contain no question.
    often = np.isfinite(shares).mean(axis=0) > 0.5
    interval = np.full((row.size, 2), np.nan)
    interval[often] = np.nanquantile(shares[:, often], [tail, 1.0 - tail], axis=0).T
    return SampleCurve(
        label=label,
        confidence=row,
        accuracy=accuracy,
        n=_binned(own, bins),
        expected=expected,
        interval=interval,
        level=level,
    )


def _places(values: FloatArray) -> IntArray:
    """Return the bin of each possible confidence, numbered so that no bin is empty."""
    if values.size <= _MOST_PLACES:
        return np.arange(values.size)
    row = np.minimum((values * 10.0 + 1e-9).astype(np.int64), 9)
    return np.unique(row, return_inverse=True)[1].astype(np.int64)


def _binned(table: AnyArray, bins: IntArray) -> FloatArray:
    """Return sums over the last axis by bin."""
    chosen = np.equal.outer(bins, np.arange(int(bins.max()) + 1)).astype(np.float64)
    return np.asarray(table @ chosen, dtype=np.float64)


def _blocks(
    n: int, n_questions: int, rng: RandomState
) -> Sequence[tuple[int, np.random.Generator]]:
    stream = check_generator(rng)
    rows = max(1, _BLOCK // n_questions)
    return [(min(rows, n - start), stream) for start in range(0, n, rows)]


def _drawn(
    table: Exchanged, values: FloatArray, rows: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return correct and wrong answers (rows, values) of data sets drawn from equation (1)."""
    n_questions = len(table.chance)
    cumulative = np.cumsum(table.chance, axis=1)
    chosen = (rng.random((rows, n_questions, 1)) >= cumulative[None, :, :-1]).sum(axis=2)
    question = np.arange(n_questions)
    group = np.searchsorted(values, table.confidence.round(12))[question, chosen]
    correct = table.correct[question, chosen]
    row = (group + values.size * np.arange(rows)[:, None]).ravel()
    size, shape = rows * values.size, (rows, values.size)
    return (
        _sums(row, correct.ravel(), size).reshape(shape),
        _sums(row, 1.0 - correct.ravel(), size).reshape(shape),
    )


def _tally(values: FloatArray, correct: FloatArray, wrong: FloatArray, n: int) -> Tally:
    """Return a tally of confidences; it contains no questions, because it is not resampled."""
    nothing: IntArray = np.empty(0, dtype=np.int64)
    return Tally(
        values=values,
        correct=correct,
        wrong=wrong,
        n=n,
        question=nothing,
        group=nothing,
        right=np.empty(0),
        weight=np.empty(0),
        cluster=None,
    )
