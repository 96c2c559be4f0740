r"""A short form: the few questions that keep what all of them say about models.

* *information*: greedily, the item that most lowers the mean posterior variance
  :math:`E[1/(1 + I(\theta))]`, abilities N(0, 1). The score on all items is predicted by its
  expectation under the posterior of the ability given the chosen ones.
* *error*: greedily, the item that most lowers the leave-one-out error of predicting a
  respondent's score on all items from its sum on the chosen ones by a straight line.

Where answers are more than two, the score is the mean of codes, each from 0 at an item's lowest
answer to 1 at its highest, and items are fitted by the graded model.

With thousands of items to choose from and dozens of models the error on the models that chose the
items flatters, and choosing by it fails: of 12,032 questions, many sets of 100 predict 23 models
without error and others badly. It is for many models and few questions. The error reported is
that of models held out of everything: they are dealt into folds, items are chosen and fitted
without each fold, and its models predicted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice, check_count, check_generator
from psychollm._base.errors import OptionError, ShapeError
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, IntArray, RandomState
from psychollm.data.labels import Labels
from psychollm.data.responses import ResponsesLike, as_responses
from psychollm.irt.answers import code_shares, orient, patterns_of
from psychollm.irt.families import chunks
from psychollm.irt.fit import fit_irt
from psychollm.irt.likelihood import Problem, grid_for, posteriors
from psychollm.irt.result import IRTFit

Method = Literal["information", "error"]

POINTS = 41


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ShortForm(Result):
    """Chosen items and what they keep.

    Attributes
    ----------
    items : tuple
        Chosen items, the most useful first.
    predicted, full : ndarray of shape (respondents,)
        Score on all items (share of yes, or mean of codes from 0 to 1) predicted for
        respondents while held out, and the true one.
    rmse, rank_correlation : float
        Error of the held-out predictions, and their Spearman correlation with the truth.
    random_rmse : float
        The same error with as many items drawn at random.
    method : str
        How items were chosen.
    labels : tuple
        Names of the respondents.
    """

    items: Labels
    predicted: FloatArray  # (N,)
    full: FloatArray  # (N,)
    rmse: float
    rank_correlation: float
    random_rmse: float
    method: Method
    labels: Labels  # N

    _AXES = Axes({"respondent": "labels"}, "full", "predicted")

    def summary(self) -> str:
        """Return what the short form keeps, in one sentence."""
        return (
            f"{len(self.items)} items predict held-out scores on all items with an error of "
            f"{self.rmse:.4f} (random items: {self.random_rmse:.4f}) and a rank correlation of "
            f"{self.rank_correlation:.3f}."
        )


def short_form(
    responses: ResponsesLike,
    n_items: int,
    *,
    method: Method = "information",
    fit: IRTFit | None = None,
    n_folds: int = 5,
    rng: RandomState = 0,
) -> ShortForm:
    """Choose items that keep the ranking of models, and say how well on held-out models.

    Parameters
    ----------
    responses : Responses or table of shape (models, questions)
        Complete answers, yes or no or several ordered ones.
    n_items : int
        How many questions to keep.
    method : {"information", "error"}
        By information about ability, or by the error of predicted full scores.
    fit : IRTFit, optional
        A 2PL (graded model) of these answers, to choose the final items by information; fitted
        if not given.
    n_folds : int
        Into how many folds models are dealt.
    rng : Generator or int
        For the dealing and the random forms.

    Raises
    ------
    ShapeError
        If answers are missing, or models are fewer than folds.
    OptionError
        If `n_items` is more than there are.

    Examples
    --------
    >>> generator = np.random.default_rng(2)
    >>> chance = 1 / (1 + np.exp(-generator.normal(size=(40, 1)) - generator.normal(size=60)))
    >>> short_form(generator.random((40, 60)) < chance, 10, n_folds=2).rank_correlation > 0.5
    True
    """
    check_choice("method", method, Method)
    n_items, n_folds = check_count("n_items", n_items), check_count("n_folds", n_folds, low=2)
    table = as_responses(responses)
    answers = orient(table, "models")
    _check(answers.codes, n_items, n_folds)
    share = code_shares(answers.given)
    yes = share[np.arange(len(share)), answers.codes]
    generator = check_generator(rng)
    fold = generator.permutation(np.arange(yes.shape[0]) % n_folds)
    predicted, at_random = np.empty(yes.shape[0]), np.empty(yes.shape[0])
    for k in range(n_folds):
        out = fold == k
        predicted[out] = _held_out(answers.codes, share, out, n_items, method)
        at_random[out] = _predict(yes, ~out, generator.permutation(yes.shape[1])[:n_items])[out]
    full = yes.mean(axis=1)
    final = _by_error(yes, n_items)
    if method == "information":
        final = _by_information(_fit(answers.codes) if fit is None else fit, n_items)
    return ShortForm(
        items=tuple(answers.items[j] for j in final),
        predicted=predicted,
        full=full,
        rmse=float(np.sqrt(np.mean((predicted - full) ** 2))),
        rank_correlation=_spearman(predicted, full),
        random_rmse=float(np.sqrt(np.mean((at_random - full) ** 2))),
        method=method,
        labels=answers.respondents,
    )


def _check(codes: IntArray, n_items: int, n_folds: int) -> None:
    """Raise where no short form can be chosen or judged."""
    if (codes < 0).any():
        msg = "responses: a full score needs complete answers: drop models or questions with gaps"
        raise ShapeError(msg)
    if n_items > codes.shape[1]:
        msg = f"n_items={n_items} is more than the {codes.shape[1]} questions there are"
        raise OptionError(msg)
    if codes.shape[0] < 2 * n_folds:
        msg = f"responses: {codes.shape[0]} models are too few for n_folds={n_folds}: two per fold"
        raise ShapeError(msg)


def _fit(codes: IntArray) -> IRTFit:
    """Fit a 2PL, or the graded model where answers are more than two."""
    return fit_irt(codes, model="2pl" if codes.max() <= 1 else "graded")


def _held_out(
    codes: IntArray, share: FloatArray, out: BoolArray, n_items: int, method: Method
) -> FloatArray:
    """Return the full scores of the models left out, predicted by what the others chose."""
    yes = share[np.arange(len(share)), codes]
    if method == "error":
        return np.asarray(_predict(yes, ~out, _by_error(yes[~out], n_items))[out])
    fit = _fit(codes[~out])
    chosen = _by_information(fit, n_items)
    chosen = chosen[fit.fitted[chosen]]
    scored = share[:, : fit.n_categories], yes[~out].mean(axis=0)
    return _expected_scores(fit, scored, chosen, codes[out][:, chosen])


def _expected_scores(
    fit: IRTFit, scored: tuple[FloatArray, FloatArray], chosen: IntArray, codes: IntArray
) -> FloatArray:
    """Return the expected score on all items given answers to the chosen ones."""
    # scored says what each answer counts (J, C), and the mean score so far of each item (J,).
    share, rates = scored
    family, parameters = (
        fit.family.select(np.cumsum(fit.fitted)[chosen] - 1),
        fit.parameters[chosen],
    )
    grid = grid_for(family, parameters)
    curve = np.full(grid.nodes.size, rates[~fit.estimated].sum())  # constant: constant still
    fitted, everything = np.flatnonzero(fit.estimated), fit.family_of(fit.estimated)
    for part in chunks(fitted.size, grid.nodes.size * (fit.n_categories - 1)):
        items = fit.parameters[fitted[part]]
        logs = everything.select(part).log_probabilities(items, grid.nodes)
        curve += np.einsum("jc,jcq->q", share[fitted[part]], np.exp(logs))
    patterns = patterns_of(_nearest(codes, fit.has_answer[chosen]), fit.n_categories)
    nothing = np.zeros(parameters.shape[1])
    problem = Problem(family, patterns, nothing, nothing)
    scores = [weights @ curve for _, weights, _ in posteriors(problem, parameters, grid)]
    return np.asarray(np.concatenate(scores)[patterns.of_respondent] / rates.size)


def _nearest(codes: IntArray, has_answer: BoolArray) -> IntArray:
    """Return codes (n, J), those that an item lacks replaced by the nearest that it has."""
    distance = np.abs(np.arange(has_answer.shape[1]) - np.arange(codes.max() + 1)[:, None])
    nearest = np.where(has_answer[:, None], distance, np.inf).argmin(axis=2)  # (J, codes)
    return np.asarray(nearest[np.arange(len(has_answer)), codes])


def _by_information(fit: IRTFit, n_items: int) -> IntArray:
    """Choose greedily by the mean posterior variance."""
    nodes = np.linspace(-3.0, 3.0, POINTS)
    weights = np.exp(-0.5 * nodes**2)
    table = np.zeros((len(fit.labels), POINTS))
    table[fit.fitted] = fit.family.information(fit.parameters[fit.fitted], nodes)
    total, chosen = np.ones(POINTS), []
    left = np.ones(table.shape[0], dtype=bool)
    for _ in range(n_items):
        variance = (1.0 / (total + table)) @ weights
        best = int(np.argmin(np.where(left, variance, np.inf)))
        chosen.append(best)
        left[best] = False
        total = total + table[best]
    return np.array(chosen)


def _by_error(yes: FloatArray, n_items: int) -> IntArray:
    """Choose greedily by the leave-one-out error of a straight line."""
    full = yes.mean(axis=1)
    centred = full - full.mean()
    total, chosen = np.zeros(yes.shape[0]), []
    left = np.ones(yes.shape[1], dtype=bool)
    for _ in range(n_items):
        errors = _left_out_error(yes + total[:, None], centred)
        best = int(np.argmin(np.where(left, errors, np.inf)))
        chosen.append(best)
        left[best] = False
        total = total + yes[:, best]
    return np.array(chosen)


def _left_out_error(sums: FloatArray, centred: FloatArray) -> FloatArray:
    """Return the mean squared leave-one-out error of each candidate's line (J,)."""
    x = sums - sums.mean(axis=0)
    square = (x**2).sum(axis=0)
    slope = np.divide(centred @ x, square, out=np.zeros_like(square), where=square > 0.0)
    leverage = 1.0 / x.shape[0] + np.divide(x**2, square, out=np.zeros_like(x), where=square > 0)
    residual = (centred[:, None] - slope * x) / np.maximum(1.0 - leverage, 1e-12)
    return np.asarray((residual**2).mean(axis=0))


def _predict(yes: FloatArray, train: BoolArray, chosen: IntArray) -> FloatArray:
    """Return full scores predicted from chosen items by a line fitted on some respondents."""
    x, full = yes[:, chosen].mean(axis=1), yes.mean(axis=1)
    centre = x[train].mean()
    square = float(((x[train] - centre) ** 2).sum())
    slope = float((x[train] - centre) @ full[train]) / square if square > 0.0 else 0.0
    return np.asarray(full[train].mean() + slope * (x - centre))


def _spearman(one: FloatArray, two: FloatArray) -> float:
    """Return the rank correlation, NaN where one is constant."""
    from scipy.stats import rankdata

    a, b = rankdata(one), rankdata(two)
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size > 0.0 else float("nan")
