r"""Fit a gate that decides from the text of a question whether to answer it.

A logistic curve maps the predicted score of a question to the probability of a correct answer. The
threshold maximises F-beta, or it maximises coverage subject to a limit on the proportion of wrong
answers. The curve and the threshold are fitted to out-of-fold predictions of inner folds. Outer
folds evaluate the whole procedure, so the results account for the uncertainty of the threshold.
Let b be the number of questions that are answered correctly, s the number that are answered, and t
the number that would be answered correctly if all were answered. F-beta is then a function of b, s
and t:

.. math:: F_\beta = \frac{(1 + \beta^2) b}{\beta^2 t + s}.                                \quad (1)

Risks are compared at equal coverage, because risk tends to be lower for rules that answer fewer
questions. If the model's self-report (yes or no) is known, the gate answers as many questions as
the model says yes to. The gate selects the questions with the highest out-of-fold probability. The
rule based on the factor score of other models selects the questions with the highest scores. If
only some of several tied questions can be answered, an equal fraction of each tied question counts
as answered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.checks import check_count, check_fraction, check_generator
from psychollm._base.errors import InputError, OptionError
from psychollm._base.types import BoolArray, FloatArray, IntArray, RandomState
from psychollm.calibration.consensus.logistic import logistic
from psychollm.calibration.decisions.two_by_two import ratio
from psychollm.calibration.discrimination.ranking import auroc
from psychollm.estimates.clustered import units_of
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason, first_reason
from psychollm.estimates.resampling import (
    Bootstrap,
    Resampling,
    bootstrap_draws,
    bootstrap_estimate,
)
from psychollm.studies.difficulty.gate import MEASURES, OWN, SHARED, Gate, GateFit, curve
from psychollm.studies.difficulty.questions import (
    FEWEST,
    Embedding,
    Model,
    Questions,
    as_binary,
    as_outcome,
    as_questions,
    fold_of,
    out_of_fold,
    parts,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class _Goal:
    """Criterion by which the threshold is chosen."""

    beta: float
    risk: float | None

    @property
    def name(self) -> str:
        return f"F{self.beta:g}" if self.risk is None else f"risk {self.risk:g}"

    def cut(self, probability: FloatArray, correct: FloatArray) -> float:
        """Return the threshold; it is infinite if no threshold meets the goal."""
        order = np.argsort(-probability, kind="stable")
        p, right = probability[order], np.cumsum(correct[order])
        n = np.arange(1, p.size + 1)
        last = np.append(p[1:] < p[:-1], True)  # tied questions have the same decision
        if self.risk is None:
            square = self.beta**2
            score = (1 + square) * right / (square * right[-1] + n)
            best = int(np.flatnonzero(last)[::-1][np.argmax(score[last][::-1])])
            return self._between(p, best)
        good = np.flatnonzero(last & (1.0 - right / n <= self.risk + 1e-12))
        return self._between(p, int(good[-1])) if good.size else np.inf

    @staticmethod
    def _between(p: FloatArray, last: int) -> float:
        """Return the midpoint of p[last] and the next value, to tolerate small changes."""
        return float(0.5 * (p[last] + p[last + 1])) if last + 1 < p.size else 0.0


def fit_gate(
    texts: Sequence[str] | Mapping[Any, str],
    correctness: Any,
    *,
    f_beta: float | None = None,
    risk: float | None = None,
    scores: Any = None,
    own: Any = None,
    features: ArrayLike | Embedding | None = None,
    groups: Sequence[Any] | None = None,
    n_folds: int = 10,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> GateFit:
    """Fit a gate for one model and estimate its performance on new questions.

    Parameters
    ----------
    texts : sequence of str, or mapping of label to str (questions,)
        The questions.
    correctness : array_like or mapping (questions,)
        Correctness of the model's answers: 1 for correct, 0 for wrong; questions with NaN are
        excluded.
    f_beta : float, optional
        Beta of the F-beta score to maximise; 1 if neither `f_beta` nor `risk` is passed.
    risk : float, optional
        Largest acceptable proportion of wrong answers among answered questions. `risk` cannot be
        combined with `f_beta`.
    scores : QuestionScores, mapping or array_like (questions,), optional
        Factor score of each question from the answers of other models, high for easy questions. If
        scores are passed, the text predicts the score, which in turn predicts correctness. Without
        scores, the text predicts correctness directly.
    own : array_like or mapping (questions,), optional
        The model's self-report (yes or no) on each question. If self-reports are passed, the rules
        are compared at the coverage of the self-reports.
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
    GateFit

    Raises
    ------
    OptionError
        If both `f_beta` and `risk` are passed, or one of them is out of range.
    InputError
        If there are too few correct or wrong answers, or the inputs do not match.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> digits = rng.integers(1, 9, 200)
    >>> texts = [f"What is {'7' * n} + {'5' * n}?" for n in digits]
    >>> correct = rng.random(200) < 1 / (1 + np.exp(1.5 * (digits - 4)))
    >>> fit = fit_gate(texts, correct, risk=0.2, bootstrap=200, rng=0)
    >>> fit.gate.answer(["What is 1 + 2?", "What is 1234567 + 7654321?"])
    array([ True, False])
    """
    goal = _goal(f_beta, risk)
    n_folds = check_count("n_folds", n_folds, low=2)
    check_fraction("level", level)
    every = as_questions(texts, features=features, groups=groups)
    correct = as_binary("correctness", correctness, every.labels)
    target = correct if scores is None else as_outcome("scores", scores, every.labels)
    rows = np.flatnonzero(np.isfinite(correct) & np.isfinite(target))
    y = correct[rows]
    if rows.size < FEWEST or min(y.sum(), (1 - y).sum()) < n_folds:
        msg = (
            f"correctness: {int(y.sum())} right and {int((1 - y).sum())} wrong answers: a gate "
            f"needs {FEWEST} questions, and at least {n_folds} (n_folds) of each kind"
        )
        raise InputError(msg)
    generator = check_generator(rng)
    work = _Work(every.take(rows), y, target[rows], goal, n_folds, generator)
    probability, answered = work.nested()
    rules = {"gate": answered.astype(np.float64), "always answer": np.ones(y.size)}
    said = None if own is None else as_binary("own", own, every.labels)[rows]
    if said is not None:
        rules[OWN] = said
    codes = None
    if groups is not None:
        codes = np.unique(work.questions.groups, return_inverse=True)[1].astype(np.int64)
    seed = int(generator.integers(2**62))
    resampling = Resampling.of(bootstrap, level, seed)
    estimates = _measures(rules, y, goal.beta, codes, resampling)
    at_own_share = None
    if said is not None:
        rivals = {"gate": probability} | ({} if scores is None else {SHARED: target[rows]})
        at_own_share = _at_own_share(said, rivals, y, codes, resampling)
    return GateFit(
        gate=work.gate(estimates),
        **estimates,
        auroc=auroc(
            probability[None],
            y[None],
            clusters=codes,
            bootstrap=bootstrap,
            level=level,
            rng=seed,
        ),
        probability=probability,
        answered=answered,
        correct=y,
        beta=goal.beta,
        level=level,
        at_own_share=at_own_share,
    )


def _goal(f_beta: float | None, risk: float | None) -> _Goal:
    if f_beta is not None and risk is not None:
        msg = f"f_beta={f_beta!r} and risk={risk!r} are two goals: pass only one"
        raise OptionError(msg)
    if risk is not None:
        return _Goal(1.0, check_fraction("risk", risk))
    return _Goal(check_fraction("f_beta", 1.0 if f_beta is None else f_beta, high=np.inf), None)


def _three(estimate: Estimate) -> tuple[float, float, float]:
    low, high = estimate.interval[0].tolist()
    return float(estimate.value[0]), low, high


@dataclass(frozen=True, slots=True)
class _Work:
    """Data of one call of `fit_gate`, and the procedure that is repeated in each fold."""

    questions: Questions
    correct: FloatArray
    target: FloatArray
    goal: _Goal
    n_folds: int
    rng: np.random.Generator

    def nested(self) -> tuple[FloatArray, BoolArray]:
        """Return out-of-fold probabilities and decisions."""
        probability = np.empty(self.correct.size)
        answered = np.empty(self.correct.size, dtype=np.bool_)
        fold = fold_of(self.questions.groups, self.n_folds, self.rng)
        for fit_on, own in parts(fold):
            model, slope, offset, cut = self._trained(fit_on)
            score = model.predict(self.questions.take(own))
            probability[own] = curve(offset + slope * score)
            answered[own] = probability[own] >= cut
        return probability, answered

    def gate(self, estimates: Mapping[str, Estimate]) -> Gate:
        """Return the gate fitted to all questions."""
        model, slope, offset, cut = self._trained(np.arange(self.correct.size))
        return Gate(
            words=model.words,
            mean=model.mean,
            scale=model.scale,
            weights=model.line.weights,
            intercept=model.line.intercept,
            slope=slope,
            offset=offset,
            cut=cut,
            goal=self.goal.name,
            n=self.correct.size,
            expected={name: _three(found) for name, found in estimates.items()},
        )

    def _trained(self, rows: Any) -> tuple[Model, float, float, float]:
        """Return the model, slope, offset and threshold, fitted to the given questions."""
        questions = self.questions.take(rows)
        correct, target = self.correct[rows], self.target[rows]
        fold = fold_of(questions.groups, self.n_folds, self.rng)
        inner = out_of_fold(questions, target, fold)
        design = np.column_stack([np.ones(inner.size), inner])
        offset, slope = logistic(design, correct, penalised=True).coefficients.tolist()
        if slope <= 0.0:  # the text is uninformative: predict the mean for all questions
            share = np.clip(correct.mean(), 1e-6, 1.0 - 1e-6)
            offset, slope = float(np.log(share / (1.0 - share))), 0.0
        cut = self.goal.cut(curve(offset + slope * inner), correct)
        return questions.fit(target), slope, offset, cut


@dataclass(frozen=True, slots=True)
class _AsOften:
    """Rule that answers the questions with the highest scores, as often as the model says yes.

    Coverage and threshold are determined in each resample. Questions that are tied at the
    threshold count as partly answered.
    """

    order: IntArray  # (questions,) rows with a self-report, in descending order of score
    starts: IntArray  # (distinct scores,) first index of each score in `order`
    correct: FloatArray  # (questions,)

    @classmethod
    def of(cls, score: FloatArray, known: BoolArray, correct: FloatArray) -> _AsOften:
        """Return the rule with its questions sorted by score."""
        rows = np.flatnonzero(known)
        order = rows[np.argsort(-score[rows], kind="stable")]
        ends = np.flatnonzero(np.diff(score[order], prepend=np.inf))
        return cls(order, ends, correct[order])

    def right(self, counts: FloatArray, answered: FloatArray) -> FloatArray:
        """Return the number of right answers if the rule answers `answered` questions (draws,)."""
        held = counts[:, self.order]
        size = np.add.reduceat(held, self.starts, axis=1)
        solved = np.add.reduceat(held * self.correct, self.starts, axis=1)
        before = np.cumsum(size, axis=1) - size
        part = np.clip(ratio(answered[:, None] - before, size), 0.0, 1.0)
        return np.asarray(np.nansum(part * solved, axis=1))


def _at_own_share(
    said: FloatArray,
    rivals: Mapping[str, FloatArray],
    correct: FloatArray,
    clusters: Any,
    options: Resampling,
) -> Estimate:
    """Return risks of the self-report, of other rules at its coverage, and of always answering."""
    known = np.isfinite(said)
    yes, everything = np.where(known, said, 0.0), known.astype(np.float64)
    ranked = [_AsOften.of(score, known, correct) for score in rivals.values()]

    def statistic(counts: FloatArray) -> FloatArray:
        answered = counts @ yes
        right = [counts @ (yes * correct), *(one.right(counts, answered) for one in ranked)]
        risks = [ratio(answered - one, answered) for one in right]
        risks.append(ratio(counts @ (everything * (1.0 - correct)), counts @ everything))
        return np.stack(risks, axis=1)

    n, labels = float(known.sum()), (OWN, *rivals, "always answer")
    silent = np.array([not yes.any()] * (1 + len(rivals)) + [not n])
    return bootstrap_estimate(
        "risk",
        statistic(np.ones((1, correct.size)))[0],
        bootstrap_draws(statistic, correct.size, options, clusters=clusters),
        n=np.full(len(labels), n),
        flags=first_reason((silent, Reason.NO_YES)),
        level=options.level,
        labels=labels,
        units=units_of(np.tile(known, (len(labels), 1)), clusters),
        axis="rule",
    )


def _measures(
    rules: Mapping[str, FloatArray],
    correct: FloatArray,
    beta: float,
    clusters: Any,
    options: Resampling,
) -> dict[str, Estimate]:
    """Return coverage, risk and F-beta, equation (1), of each rule."""
    given = np.stack(list(rules.values()))
    known = np.isfinite(given)
    said = np.where(known, given, 0.0)

    def statistic(counts: FloatArray) -> FloatArray:
        n, answered = counts @ known.T, counts @ said.T
        right, both = counts @ (known * correct).T, counts @ (said * correct).T
        square = beta**2
        return np.stack(
            [
                ratio(answered, n),
                ratio(answered - both, answered),
                ratio((1 + square) * both, square * right + answered),
            ],
            axis=1,
        )

    draws = bootstrap_draws(statistic, correct.size, options, clusters=clusters)
    value = statistic(np.ones((1, correct.size)))[0]
    silent = said.sum(axis=1) == 0
    flags = first_reason((silent, Reason.NO_YES))
    none = (Reason.NONE,) * len(rules)
    return {
        name: bootstrap_estimate(
            name,
            value[k],
            draws[:, k],
            n=known.sum(axis=1).astype(np.float64),
            flags=flags if name == "risk" else none,
            level=options.level,
            labels=tuple(rules),
            units=units_of(known, clusters),
            axis="rule",
        )
        for k, name in enumerate(MEASURES)
    }
