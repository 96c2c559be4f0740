r"""Logistic factor models of dense or sparse tables of any size.

Scores have mean 0 and identity covariance in the population of models. The factors are rotated so
that each factor in turn explains as much of the variance of the logits as possible.

The number of factors is chosen by the prediction of held-out answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from psychollm._base.checks import check_choice, check_count, check_generator
from psychollm._base.convergence import Convergence
from psychollm._base.errors import InputError, OptionError
from psychollm._base.replicate import Progress, Workers, progress_bar, workers
from psychollm._base.types import AnyArray, BoolArray, FloatArray, IntArray, RandomState
from psychollm.data.cells import CellTable, parts
from psychollm.data.responses import Responses, ResponsesLike, as_responses
from psychollm.estimates.reasons import Reason
from psychollm.irt.factors.result import (
    LOGISTIC,
    FactorChoice,
    GapModel,
    LogisticFactorFit,
    chances,
)
from psychollm.irt.factors.rounds import Ascent, Models, Questions, Reads, packed_size, unpacked
from psychollm.kernels.cell_draws import draw_empty, hold_out

BLOCK = 1 << 20  # cells per block, small enough for several workers to share a million answers
HELD_OUT = 0.02


def as_source(data: ResponsesLike) -> Responses:
    """Return a sparse table unchanged, and any other table as a sparse table of its cells."""
    table = as_responses(data, needs="cells")
    return table if table.is_sparse else table.sparse()


@dataclass(frozen=True, slots=True)
class Filled:
    """Reader that returns answers divided by the highest code."""

    table: CellTable
    highest: int
    seed: int | None = None  # random seed of the held-out cells
    held: bool = False  # whether to read the held-out cells or all others

    @classmethod
    def of(cls, table: CellTable) -> Filled:
        """Read a table once to find its highest answer code.

        Raises
        ------
        InputError
            If there is no answer, or no answer above 0.
        """
        highest = max(
            (int(table.read(*bounds).codes.max(initial=0)) for bounds in parts(table)), default=0
        )
        if highest == 0:
            msg = (
                "responses have no answer above 0, so factors cannot be estimated: check the "
                "coding"
            )
            raise InputError(msg)
        return cls(table, highest)

    def __call__(self, low: int, high: int) -> tuple[IntArray, AnyArray, FloatArray]:
        """Return the answers to some questions."""
        cells = self.table.read(low, high)
        answers = cells.codes / float(self.highest)
        if self.seed is None:
            return cells.start, cells.columns, answers
        held: BoolArray = np.empty(answers.size, dtype=np.bool_)
        hold_out(cells.start, cells.columns, low, np.uint64(self.seed), HELD_OUT, held)
        kept = held if self.held else ~held
        start = np.concatenate([[0], np.cumsum(kept)])[cells.start]
        return start, cells.columns[kept], answers[kept]


@dataclass(frozen=True, slots=True)
class Asked:
    """Reader of an indicator that is 1 for filled cells and 0 for a sample of empty cells."""

    table: CellTable
    share: float
    seed: int

    @classmethod
    def of(cls, table: CellTable, seed: int) -> Asked:
        """Sample about as many empty cells as there are filled cells.

        Raises
        ------
        InputError
            If no cell is empty.
        """
        filled = int(table.start[-1])
        empty = (table.start.size - 1) * table.n_columns - filled
        if not empty:
            msg = "gaps='modelled', but no cell is empty: omit gaps"
            raise InputError(msg)
        return cls(table, min(1.0, filled / empty), seed)

    def __call__(self, low: int, high: int) -> tuple[IntArray, AnyArray, FloatArray]:
        """Return the indicator of filled cells for some questions."""
        cells = self.table.read(low, high)
        rows = (cells.start, cells.columns), self.table.n_columns, low, np.uint64(self.seed)
        begin = np.empty_like(cells.start)
        models, asked = np.empty(0, dtype=np.int64), np.empty(0)
        draw_empty(*rows, self.share, begin, (models, asked))  # count the cells
        models, asked = np.empty(int(begin[-1]), dtype=np.int64), np.empty(int(begin[-1]))
        draw_empty(*rows, self.share, begin, (models, asked))
        return begin, models, asked


MOST = 8  # largest number of factors tried
STANDARD_ERRORS = 2.0  # number of standard errors by which a factor must improve prediction


def held_out_losses(ascent: Ascent, held: Filled) -> FloatArray:
    """Return the sum of log losses and the number of answers of each question (m, 2)."""
    those, z = ascent.kinds[0], ascent.models.records
    d = those.mean.shape[1]
    p = packed_size(d)
    found = np.zeros((len(those.mean), 2))
    for low, high in those.ranges:
        start, places, answers = held(low, high)
        rows = np.repeat(np.arange(high - low), np.diff(start))
        w, vectors = those.mean[low:high], z[places]
        mean = np.einsum("cd,cd->c", vectors[:, p:], w[rows])
        second = unpacked(those.packed[low:high], d) + w[:, :, None] * w[:, None]
        twice = 2.0 * second[:, *np.tril_indices(d)]
        twice[:, np.cumsum(np.arange(1, d + 1)) - 1] /= 2.0
        square = np.einsum("cp,cp->c", vectors[:, :p], twice[rows])
        chance = chances(mean, np.maximum(square - mean**2, 0.0))
        loss = -answers * np.log(chance) - (1.0 - answers) * np.log1p(-chance)
        found[low:high, 0] = np.bincount(rows, loss, minlength=high - low)
        found[low:high, 1] = np.diff(start)
    return found


def gain(fewer: FloatArray, more: FloatArray) -> tuple[float, float]:
    """Return the reduction of the mean log loss, and its standard error over questions."""
    counts = more[:, 1]
    fall = fewer[:, 0] - more[:, 0]
    mean = fall.sum() / counts.sum()
    return float(mean), float(np.sqrt(np.sum((fall - mean * counts) ** 2)) / counts.sum())


def counts_more(losses: list[FloatArray]) -> bool:
    """Return whether the last factor improves the prediction of held-out answers."""
    if len(losses) < 2:
        return True
    fall, se = gain(losses[-2], losses[-1])
    return fall > STANDARD_ERRORS * se


def choice_of(losses: list[FloatArray]) -> FactorChoice:
    """Return the comparison of all tried numbers of factors."""
    fall, se = np.array([(np.nan, np.nan), *map(gain, losses, losses[1:])]).T
    sums = np.array([one.sum(axis=0) for one in losses])
    return FactorChoice(
        tried=np.arange(len(losses)),
        log_loss=sums[:, 0] / sums[:, 1],
        gain=fall,
        se=se,
        n_held_out=int(sums[0, 1]),
    )


def chosen(choice: FactorChoice) -> int:
    """Return the number of factors, at least one, after which prediction stops improving."""
    worth = choice.gain[1:] > STANDARD_ERRORS * choice.se[1:]
    return max(1, int(np.argmin(np.append(worth, False))))


CHUNK = 1 << 16  # number of questions whose covariances are rotated at a time


@dataclass(frozen=True, slots=True)
class Position:
    """Transformation of model vectors u to standard scores z, where u = centre + root z."""

    centre: FloatArray  # (q,) mean of the models' vectors
    root: FloatArray  # (q, k)

    @classmethod
    def of(cls, ascent: Ascent) -> Position:
        """Return the transformation for questions of the first kind, which describe answers."""
        models, answers = ascent.models, ascent.kinds[0]
        k = answers.mean.shape[1] - answers.known - 1
        q = models.mean.shape[1]
        centre = models.population.coefficients[0]
        covariance = np.linalg.inv(models.population.precision)
        root = np.zeros((q, k))
        root[q - k :] = np.linalg.cholesky(covariance[q - k :, q - k :])
        loadings = answers.mean[:, -k:] if k else answers.mean[:, :0]
        second = loadings.T @ loadings
        d = answers.mean.shape[1]
        second += unpacked(answers.packed.sum(axis=0), d)[d - k :, d - k :]
        _, axes = np.linalg.eigh(root[q - k :].T @ second @ root[q - k :])
        turned = root @ axes[:, ::-1]
        sign = np.sign((loadings @ turned[q - k :]).sum(axis=0))
        return cls(centre, turned * np.where(sign < 0.0, -1.0, 1.0))

    def questions(self, those: Questions) -> tuple[FloatArray, FloatArray]:
        """Return intercepts with loadings (m, 1 + k), and their covariances (m, 1 + k, 1 + k)."""
        q, k = self.root.shape
        d, known = those.mean.shape[1], those.known
        # The logit is f a + b + u'v, where f is known and v contains the last entries.
        turn = np.zeros((1 + k, d))
        turn[0, known] = 1.0
        turn[0, d - k :] = self.centre[q - k :]
        turn[1:, d - k :] = self.root[q - k :].T
        if known:
            turn[0, 0] = self.centre[0]
        mean = those.mean @ turn.T
        covariance = np.empty((len(mean), 1 + k, 1 + k))
        for low in range(0, len(mean), CHUNK):
            part = unpacked(those.packed[low : low + CHUNK], d)
            covariance[low : low + CHUNK] = turn @ part @ turn.T
        return mean, covariance

    def scores(self, ascent: Ascent) -> tuple[FloatArray, FloatArray]:
        """Return standard scores (n, k) and their covariances (n, k, k)."""
        q, k = self.root.shape
        back = np.linalg.inv(self.root[q - k :])
        models = ascent.models
        mean = (models.mean[:, q - k :] - self.centre[q - k :]) @ back.T
        return mean, back @ models.covariance[:, q - k :, q - k :] @ back.T


Gaps: TypeAlias = Literal["ignored", "modelled"]

OPENING = 10  # number of initial iterations, with a simpler bound and fixed populations
TOLERANCE = 1e-4  # change of the logits below which iterations end
SETTLED = 1e-2  # change of the logits below which the model of missing data is included
MAX_ROUNDS = 500
ENDLESS = 1e5  # larger scores indicate divergence; in a converged fit, scores are below 10
FIRST = 0.3  # standard deviation of the starting vectors


def fit_factors(
    responses: ResponsesLike,
    n_factors: int | Literal["auto"],
    *,
    gaps: Gaps = "ignored",
    rng: RandomState = 0,
    n_jobs: int | None = None,
    progress: bool = False,
) -> LogisticFactorFit:
    """Fit a logistic factor model to the filled cells of a table.

    Each iteration reads the cells once, in blocks of questions, and keeps only the vectors of
    models and questions. Time is proportional to the number of filled cells. For cells on disk,
    memory does not depend on the number of answers.

    Parameters
    ----------
    responses : Responses, scan or table
        Answers of models to questions. Graded answers are divided by the highest code.
    n_factors : int or "auto"
        Number of factors. ``"auto"`` adds factors, up to eight, while they reduce the log loss on
        a held-out 2 % of the answers by more than two standard errors. The final fit uses all
        answers.
    gaps : {"ignored", "modelled"}
        Assumption about missing data. "ignored" assumes that missing data are missing at random
        given the answers. "modelled" also estimates how the probability of an answer depends on
        the factors, from the filled cells and an equal number of random empty cells. Neither
        "ignored" nor "modelled" corrects for missingness that depends on the answer itself.
    rng : Generator, int or None
        Random generator or seed for starting values, held-out answers and sampled empty cells.
    n_jobs : int, optional
        Number of workers; -1 uses all processors. The result does not depend on the number of
        workers.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    LogisticFactorFit
        Loadings, intercepts and scores, with standard errors.

    Raises
    ------
    InputError
        If there is no answer above 0, or no missing answer with ``gaps="modelled"``.
    OptionError
        If there are more factors than models.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> logits = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 300))
    >>> answers = np.where(rng.random(logits.shape) < 1 / (1 + np.exp(-2 * logits)), 1.0, 0.0)
    >>> answers[rng.random(answers.shape) < 0.5] = np.nan
    >>> fit = fit_factors(answers, 2)
    >>> fit.loadings.shape, fit.scores.shape
    ((300, 2), (60, 2))
    """
    check_choice("gaps", gaps, Gaps)
    source = as_source(responses)
    if n_factors != "auto":
        n_factors = check_count("n_factors", n_factors)
        if n_factors > len(source.models):
            msg = f"n_factors={n_factors}, but there are {len(source.models)} models: take fewer"
            raise OptionError(msg)
    generator, who = check_generator(rng), workers(n_jobs)
    seeds = [int(word) for word in generator.integers(2**63, size=3)]
    filled = Filled.of(source.by_question)
    asked = Asked.of(source.by_question, seeds[0]) if gaps == "modelled" else None
    bar = progress_bar(show=progress, total=MAX_ROUNDS, label="rounds")
    try:
        choice = None
        if n_factors == "auto":
            choice = _choice(filled, asked, seeds, who, bar)
            n_factors = chosen(choice)
        ascent = _start(filled, asked, n_factors, seeds[1], who, bar)
        convergence = _climb(ascent, bar)
    finally:
        bar.close()
    convergence.warn("fit_factors")
    return _result(source, ascent, asked, convergence, choice)


def _start(
    filled: Filled, asked: Asked | None, k: int, seed: int, who: Workers, bar: Progress
) -> Ascent:
    """Return starting values."""
    rng = np.random.default_rng(seed)
    table = filled.table
    n, m, levels = table.n_columns, table.start.size - 1, int(asked is not None)
    ranges = parts(table, BLOCK)

    def vectors(count: int, lead: int) -> FloatArray:
        first = np.zeros((count, lead + k))
        first[:, lead:] = FIRST * rng.standard_normal((count, k))
        return first

    models = Models.start(np.ones((n, 1)), vectors(n, levels), constant=levels)
    reads: list[tuple[Reads, tuple[float, ...]]] = [(filled, (0.0,) * levels)]
    if asked is not None:
        reads.append((asked, (1.0,)))
    kinds = tuple(
        Questions.start(read, ranges, np.ones((m, 1)), vectors(m, 1), known=known)
        for read, known in reads
    )
    if asked is not None:  # fit the factors of the answers before the factors of missing data
        _climb(Ascent(kinds[:1], models, who), bar, tolerance=SETTLED)
    return Ascent(kinds, models, who)


def _climb(ascent: Ascent, bar: Progress, *, tolerance: float = TOLERANCE) -> Convergence:
    """Iterate until the logits converge, and return the state."""
    # The population variances are kept large at first, because estimates from unconverged vectors
    # would suppress weak factors permanently.
    change, rounds, otherwise = np.inf, 0, "the limit of iterations was reached"
    while rounds < MAX_ROUNDS and change >= tolerance:
        opening = rounds < OPENING
        change = ascent.round(bound=opening, learn=not opening)
        change = np.inf if opening else change
        rounds += 1
        bar.update(1)
        if np.abs(ascent.models.mean).max(initial=0.0) > ENDLESS:
            otherwise = "scores grow without bound, because factors predict the answers exactly"
            break
    return Convergence.of_steps(
        converged=change < tolerance, steps=rounds, objective=change, otherwise=otherwise
    )


def _choice(
    filled: Filled,
    asked: Asked | None,
    seeds: list[int],
    who: Workers,
    bar: Progress,
) -> FactorChoice:
    """Add factors while they improve the prediction of held-out answers."""
    table, highest = filled.table, filled.highest
    rest = Filled(table, highest, seed=seeds[2])
    held = Filled(table, highest, seed=seeds[2], held=True)
    losses: list[FloatArray] = []
    for k in range(min(MOST, table.n_columns) + 1):
        ascent = _start(rest, asked, k, seeds[1], who, bar)
        _climb(ascent, bar)
        losses.append(held_out_losses(ascent, held))
        if not counts_more(losses):
            break
    return choice_of(losses)


def _result(
    source: Responses,
    ascent: Ascent,
    asked: Asked | None,
    convergence: Convergence,
    choice: FactorChoice | None,
) -> LogisticFactorFit:
    """Rotate factors to principal axes with standardised scores."""
    table, answers = source.by_question, ascent.kinds[0]
    position = Position.of(ascent)
    items, around = position.questions(answers)
    scores, spread = position.scores(ascent)
    explained = np.mean(items[:, 1:] ** 2 + _variances(around)[:, 1:], axis=0)
    counts = sum(
        np.bincount(table.read(*bounds).columns, minlength=table.n_columns)
        for bounds in parts(table)
    )
    nobody, silent = np.diff(table.start) == 0, np.asarray(counts) == 0
    for array in (items, around):
        array[nobody] = np.nan
    for array in (scores, spread):
        array[silent] = np.nan
    errors = np.sqrt(_variances(around))
    return LogisticFactorFit(
        loadings=items[:, 1:].copy(),
        loading_se=errors[:, 1:].copy(),
        intercepts=items[:, 0].copy(),
        intercept_se=errors[:, 0].copy(),
        scores=scores,
        score_se=np.sqrt(_variances(spread)),
        shares=explained / (explained.sum() + LOGISTIC),
        log_likelihood=ascent.likelihoods[0],
        n_answers=int(table.start[-1]),
        gaps=None if asked is None else _gap_model(source, ascent, position, asked.share),
        choice=choice,
        model_reasons=_reasons(silent),
        question_reasons=_reasons(nobody),
        models=tuple(source.models),
        questions=tuple(source.questions),
        convergence=convergence,
        _question_covariance=around,
        _score_covariance=spread,
    )


def _gap_model(source: Responses, ascent: Ascent, position: Position, drawn: float) -> GapModel:
    vectors, _ = position.questions(ascent.kinds[1])
    return GapModel(
        # The sample includes all filled cells but only a proportion of the empty ones, so the odds
        # in the sample are too high by the inverse of this proportion.
        intercepts=vectors[:, 0] + np.log(drawn),
        loadings=vectors[:, 1:].copy(),
        levels=ascent.models.mean[:, 0] - position.centre[0],
        drawn=drawn,
        questions=tuple(source.questions),
    )


def _variances(covariance: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("nkk->nk", covariance))


def _reasons(without: BoolArray) -> tuple[Reason, ...]:
    return tuple(Reason.NO_CELLS if one else Reason.NONE for one in without.tolist())
