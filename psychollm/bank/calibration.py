r"""Cross-validate a bank on held-out models; a family of models is held out as a whole.

Cross-validation selects the number of abilities with the best predictions. Cross-validation also
estimates the squared prediction error of each question relative to the item model, and how this
error varies between models. Sessions simulated for held-out models estimate the error of corrected
scores.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import digamma

from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.bank.design import mixed, systematic
from psychollm.bank.item_model import ItemModel, item_model
from psychollm.estimates.corrected import Block, answered, corrected, inside

DIMENSIONS = (0, 1, 2, 4)
EQUAL_SHARE = 0.1  # weight of equal probabilities in the mixture
FIRST_BLOCK = 10  # number of questions in the first block
GROWTH = 2  # number of previous answers per question of the next block
FEWEST_IN_BLOCK = 10
_GAIN = 0.998  # a further ability must reduce squared errors by this factor
_ASKED = 100  # number of a held-out model's answers used for prediction
_PRIOR_ANSWERS = 4.0  # weight, in answers, of the item model's estimate of a question's error
_LEAST_ERROR, _LARGEST_ERROR = 0.05, 3.0
_FEWEST_DF, _MOST_DF = 4.0, 200.0
_SIZES = (50, 100, 200)  # numbers of questions in simulated sessions
_SESSIONS = 200  # number of sessions of each size, at least one per model
_LEAST_SCALE, _LARGEST_SCALE = 0.5, 3.0
_WORST = 16.0  # maximum of squared standardised errors, which limits the effect of outliers


@dataclass(frozen=True, slots=True)
class Drawing:
    """Sampling design: an item model and the expected errors of the model's predictions."""

    items: ItemModel
    error: FloatArray  # (J,) squared prediction errors, as multiples of p (1 - p)
    beforehand: FloatArray  # (J,) prior expectation of the squared errors
    order: IntArray  # (J,) order of questions in which neighbours are similar

    def taken(self, which: IntArray) -> "Drawing":
        """Return the design restricted to some questions."""
        place = np.full(self.order.size, -1)
        place[which] = np.arange(which.size)
        order = place[self.order]
        return Drawing(
            self.items.taken(which), self.error[which], self.beforehand[which], order[order >= 0]
        )

    def expected(self, predicted: FloatArray) -> FloatArray:
        """Return the expected squared errors of given predictions (J,)."""
        return predicted * (1.0 - predicted) * self.error

    def block(
        self, scores: FloatArray, drawn: list[Block], n: int, rng: np.random.Generator
    ) -> Block:
        """Draw n further questions, given a model's scores so far (J,)."""
        known = np.isfinite(scores).any()
        error = self.expected(self.items.given(scores)) if known else self.beforehand
        left = np.ones(scores.size, dtype=bool)
        for block in drawn:
            left[block.items] = False
        pi = mixed(np.sqrt(error), left, min(n, int(left.sum())), equal_share=EQUAL_SHARE)
        return Block(systematic(pi, self.order, rng), pi)


def block_size(n_answered: int) -> int:
    """Return the size of the next block, given the number of answers."""
    return max(FEWEST_IN_BLOCK, n_answered // GROWTH) if n_answered else FIRST_BLOCK


@dataclass(frozen=True, slots=True)
class Calibration:
    """Errors in predicting the answers of held-out models."""

    candidates: tuple[int, ...]  # numbers of abilities that were compared
    squared_error: FloatArray  # (candidates,) mean squared errors of predicted single scores
    phi: float  # centre of the models' squared errors relative to expectation
    df: float  # degrees of freedom of the distribution of these errors
    scale: float  # factor for the variance of corrected scores
    fold: IntArray  # (models,) fold in which each model is held out
    held_out: tuple[ItemModel, ...]  # item models, each fitted without one fold

    def taken(self, which: IntArray) -> "Calibration":
        """Return the calibration for a subset of the questions."""
        return replace(self, held_out=tuple(items.taken(which) for items in self.held_out))


def calibrated(
    scores: FloatArray,
    fold: IntArray,
    domain: IntArray,
    order: IntArray,
    rng: np.random.Generator,
) -> tuple[Drawing, Calibration]:
    """Fit the item model to scores (models, questions), and cross-validate over models."""
    tried, asked = [], _asked(scores, rng)
    for k in DIMENSIONS:
        if k >= min(scores.shape[0] - 1, scores.shape[1]):
            break
        whole, theta = item_model(scores, k, domain)
        apart = tuple(
            item_model(scores[fold != f], k, domain, theta[fold != f])
            for f in range(fold.max() + 1)
        )
        predicted = np.array(
            [
                apart[f][0].given(np.where(a, y, np.nan))
                for f, a, y in zip(fold, asked, scores, strict=True)
            ]
        )
        left = np.isfinite(scores) & ~asked
        error = float(((predicted - scores)[left] ** 2).mean())
        tried.append((k, error, whole, theta, apart, predicted))
        if k and error > _GAIN * tried[-2][1]:
            break
    best = tried[-2] if len(tried) > 1 and tried[-1][1] > _GAIN * tried[-2][1] else tried[-1]
    _, _, whole, theta, apart, predicted = best
    shown = _Shown(scores, predicted)
    spread = _beforehand(whole, theta)
    drawing = Drawing(whole, shown.error(), spread * shown.error(), order)
    # The sampling design for a held-out model must not depend on its own errors.
    of_model = [
        Drawing(apart[f][0], error, spread * error, order)
        for f, error in zip(fold, map(shown.error, range(len(scores))), strict=True)
    ]
    phi, df = _population(of_model, scores, predicted)
    scale = _scale(of_model, (phi, df), scores, rng)
    return drawing, Calibration(
        candidates=tuple(one[0] for one in tried),
        squared_error=np.array([one[1] for one in tried]),
        phi=phi,
        df=df,
        scale=scale,
        fold=fold,
        held_out=tuple(items for items, _ in apart),
    )


def _asked(scores: FloatArray, rng: np.random.Generator) -> BoolArray:
    """Select random scores of each model, to predict the model's other scores."""
    asked = np.zeros(scores.shape, dtype=bool)
    for row, own in enumerate(scores):
        have = np.flatnonzero(np.isfinite(own))
        asked[row, rng.permutation(have)[: min(_ASKED, have.size // 2)]] = True
    return asked


class _Shown:
    """Squared prediction errors for held-out models, as multiples of p (1 - p)."""

    def __init__(self, scores: FloatArray, predicted: FloatArray) -> None:
        known = np.isfinite(scores)
        self._square = np.where(known, (scores - predicted) ** 2, 0.0)
        self._said = np.where(known, predicted * (1.0 - predicted), 0.0)
        self._typical = self._said.sum() / known.sum()  # mean squared error of one answer
        self._sums = self._square.sum(axis=0), self._said.sum(axis=0)

    def error(self, without: int | None = None) -> FloatArray:
        """Return squared errors (J,) relative to p (1 - p), shrunk towards their mean."""
        square, said = self._sums
        if without is not None:
            square, said = square - self._square[without], said - self._said[without]
        prior = _PRIOR_ANSWERS * self._typical
        ratio = (square + prior * square.sum() / said.sum()) / (said + prior)
        return np.asarray(np.clip(ratio, _LEAST_ERROR, _LARGEST_ERROR))


def _beforehand(items: ItemModel, theta: FloatArray) -> FloatArray:
    """Return the Bernoulli variance of each question (J,), averaged over the bank's models."""
    nothing = np.zeros((items.n_dimensions,) * 2)
    p = np.array([items.predicted(row, nothing) for row in theta])
    return np.asarray((p * (1.0 - p)).mean(axis=0))


def _population(
    drawings: Sequence[Drawing], scores: FloatArray, predicted: FloatArray
) -> tuple[float, float]:
    """Fit an inverse chi-squared distribution to the models' errors by log moments."""
    logs = np.empty(len(scores))
    for row, (drawing, y, p) in enumerate(zip(drawings, scores, predicted, strict=True)):
        known = np.isfinite(y)
        # Questions are weighted by the square roots of their errors, as in sampling.
        weight = 1.0 / np.sqrt(np.maximum(drawing.beforehand[known], 1e-4))
        square = weight @ (y - p)[known] ** 2
        logs[row] = np.log(max(square, 1e-9) / max(weight @ drawing.expected(p)[known], 1e-9))
    df = float(np.clip(2.0 / max(logs.var(), 1e-9), _FEWEST_DF, _MOST_DF))
    centre = logs.mean() - np.log(df / 2.0) + digamma(df / 2.0)
    return float(np.exp(centre)), df


def _scale(
    drawings: Sequence[Drawing],
    population: tuple[float, float],
    scores: FloatArray,
    rng: np.random.Generator,
) -> float:
    """Return the mean squared standardised error of the corrected scores, for held-out models."""
    squares = [
        min((found - truth) ** 2 / max(variance, 1e-12), _WORST)
        for found, variance, truth in _played(drawings, population, scores, rng)
    ]
    if not squares:
        return 1.0
    return float(np.clip(np.mean(squares), _LEAST_SCALE, _LARGEST_SCALE))


def _played(
    drawings: Sequence[Drawing],
    population: tuple[float, float],
    scores: FloatArray,
    rng: np.random.Generator,
) -> Iterator[tuple[float, float, float]]:
    """Simulate sessions of held-out models; yield corrected score, variance and true score."""
    n = len(scores)
    for size in _SIZES:
        for run in range(-(-_SESSIONS // n) * n if n < _SESSIONS else _SESSIONS):
            row = run % n if n < _SESSIONS else int(rng.integers(n))
            have = np.flatnonzero(np.isfinite(scores[row]))
            if have.size < 2 * size:
                continue
            truth = scores[row, have]
            value, variance, _ = play(drawings[row].taken(have), truth, size, population, rng)
            yield value, variance, float(truth.mean())


def play(
    drawing: Drawing,
    truth: FloatArray,
    size: int,
    population: tuple[float, float],
    rng: np.random.Generator,
) -> tuple[float, float, float]:
    """Simulate a session of `size` questions; return the corrected score, variance and df."""
    known, n = np.full(truth.size, np.nan), 0
    drawn: list[Block] = []
    while n < size:
        drawn.append(drawing.block(known, drawn, min(block_size(n), size - n), rng))
        items = drawn[-1].items
        known[items] = truth[items]
        n += items.size
    return judged(drawing, drawn, known, population)


def judged(
    drawing: Drawing,
    drawn: Sequence[Block],
    scores: FloatArray,
    population: tuple[float, float],
    within: BoolArray | None = None,
) -> tuple[float, float, float]:
    """Return the corrected score, its variance and degrees of freedom, from the answers."""
    predicted = drawing.items.given(scores)
    expected, blocks = drawing.expected(predicted), answered(drawn, scores)
    if within is not None:
        predicted, expected, scores = predicted[within], expected[within], scores[within]
        blocks = inside(blocks, within)
    found = corrected(predicted, expected, blocks, scores)
    phi0, df0 = population
    own = found.n_effective * found.phi if found.n_effective else 0.0
    df = df0 + found.n_effective
    return found.value, found.variance * (df0 * phi0 + own) / df, df
