"""Factor scores of questions on the common factor."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.errors import OptionError, ShapeError
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray
from psychollm.data.labels import asymptotes_of, loadings_of_models, unit_numbers
from psychollm.data.responses import Responses, ResponsesLike, as_responses
from psychollm.factor.one_factor.full_information import (
    Grid,
    Patterns,
    answer_patterns,
    factor_grid,
    log_answers,
    posterior,
)
from psychollm.factor.one_factor.pairwise_likelihood import pairwise_likelihood
from psychollm.kernels.pairwise_likelihood import BOUND

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

TIED = 10  # number of decimals of scores; further decimals are rounding errors


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class QuestionScores(Result):
    """Factor scores of questions, with and without each model's own answer.

    Attributes
    ----------
    scores : ndarray of shape (questions,)
        Posterior mean of the factor, which is high if models with high loadings answer yes.
    sd : ndarray of shape (questions,)
        Posterior SD, which is the standard error of the score.
    answered : ndarray of shape (questions,)
        Number of included models that answered the question. A question without answers has a
        score of 0 and an SD of 1.
    leave_one_out : ndarray of shape (models, questions)
        Scores from the answers of all models except the model of the row. The shape is (0,
        questions) if leave-one-out scores are not computed.
    leave_one_out_sd : ndarray of shape (models, questions)
        Posterior SDs of the leave-one-out scores.
    loadings, thresholds : ndarray of shape (models,)
        Loadings and thresholds used; NaN for models that were not included.
    lower, upper : ndarray of shape (models,)
        Lower and upper asymptotes used; 0 and 1 for models that do not lapse or guess.
    reliability : float
        Reliability: var(scores) / (var(scores) + mean sd^2).
    models, questions : tuple
        Labels.
    """

    scores: FloatArray  # (questions,)
    sd: FloatArray  # (questions,)
    answered: IntArray  # (questions,)
    leave_one_out: FloatArray  # (models, questions) or (0, questions)
    leave_one_out_sd: FloatArray  # (models, questions) or (0, questions)
    loadings: FloatArray  # (models,)
    thresholds: FloatArray  # (models,)
    lower: FloatArray  # (models,)
    upper: FloatArray  # (models,)
    reliability: float
    models: tuple[Hashable, ...]
    questions: tuple[Hashable, ...]

    _AXES = Axes({"question": "questions"}, "score=scores", "sd", "answered")


def question_scores(
    responses: ResponsesLike,
    *,
    loadings: ArrayLike | None = None,
    thresholds: ArrayLike | None = None,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    leave_one_out: bool = True,
) -> QuestionScores:
    r"""Estimate factor scores of questions under the normal-ogive threshold model.

    Scores are posterior means (EAP) with a standard normal prior. By default, the parameters are
    estimated by `pairwise_likelihood`. For a leave-one-out score, the posterior is divided by the
    model's own likelihood. The parameters are not estimated again, because they change only by
    about 1/n if one of `n` answers is left out.

    Parameters
    ----------
    responses : Responses or table of shape (models, questions)
        Binary answers; missing answers are assumed missing at random.
    loadings, thresholds : array of shape (models,), optional
        Loadings and thresholds of another fit, which must be given together. Models with NaN
        parameters are excluded.
    lower, upper : array of shape (models,), optional
        Lower and upper asymptotes of the probability of yes, for models that lapse or guess; the
        defaults are 0 and 1.
    leave_one_out : bool
        Whether to compute leave-one-out scores.

    Returns
    -------
    QuestionScores
        Scores with posterior SDs, and leave-one-out scores if requested.

    Raises
    ------
    OptionError
        If only one of `loadings` and `thresholds` is given, or if asymptotes are given without
        both. An error is also raised if a loading is not inside (-1, 1), or if asymptotes are not
        increasing inside [0, 1].
    ShapeError
        If the numbers of values and of models differ, or if no model can be included.

    Examples
    --------
    >>> import psychollm as psy
    >>> data = psy.simulate_factor(
    ...     loadings=[0.9] * 9, thresholds=[-1, 0, 1] * 3, n_questions=2000, rng=1
    ... )
    >>> result = psy.question_scores(data.responses)
    >>> bool(np.corrcoef(result.scores, data.scores[:, 0])[0, 1] > 0.9)
    True
    """
    table = as_responses(responses, binary=True)
    parameters = _parameters(table, loadings, thresholds)
    if lower is not None or upper is not None:
        if loadings is None:
            msg = "lower and upper need the loadings and thresholds of the same fit"
            raise OptionError(msg)
        parameters = np.concatenate([parameters, asymptotes_of(table.models, lower, upper)])
    return scores_of(table, parameters, leave_one_out=leave_one_out)


def scores_of(
    table: Responses, parameters: FloatArray, *, leave_one_out: bool = True
) -> QuestionScores:
    """Score the questions of a binary table by loadings, thresholds and, if given, asymptotes."""
    keep = np.all(np.isfinite(parameters), axis=0)
    if not keep.any():
        msg = "no model can be scored: every loading or threshold is NaN"
        raise ShapeError(msg)
    used = parameters[:, keep]
    used[0] = np.clip(used[0], -BOUND, BOUND)
    patterns = answer_patterns(table.codes == 1, ~table.missing, keep)
    mean, sd = _eap(patterns, used)
    at = patterns.of_question
    size = table.n_models if leave_one_out else 0
    others, others_sd = np.empty((size, at.size)), np.empty((size, at.size))
    if leave_one_out:
        others[:], others_sd[:] = mean[at], sd[at]
        others[keep], others_sd[keep] = (part[:, at] for part in _without_each(patterns, used))
    scores = mean[at]
    spread = float(np.var(scores))
    return QuestionScores(
        scores=scores,
        sd=sd[at],
        answered=np.sum(~table.missing[keep], axis=0, dtype=np.int64),
        leave_one_out=others,
        leave_one_out_sd=others_sd,
        loadings=np.where(keep, parameters[0], np.nan),
        thresholds=np.where(keep, parameters[1], np.nan),
        lower=np.where(keep, parameters[2] if len(parameters) > 2 else 0.0, np.nan),
        upper=np.where(keep, parameters[3] if len(parameters) > 2 else 1.0, np.nan),
        reliability=spread / (spread + float(np.mean(sd[at] ** 2))),
        models=table.models,
        questions=table.questions,
    )


def _parameters(
    table: Responses, loadings: ArrayLike | None, thresholds: ArrayLike | None
) -> FloatArray:
    """Return loadings and thresholds, shape (2, models), which are fitted if not given."""
    if (loadings is None) != (thresholds is None):
        msg = "loadings and thresholds must be from the same fit: pass both or neither"
        raise OptionError(msg)
    if loadings is None:
        fit = pairwise_likelihood(table)
        return np.stack([fit.loadings, fit.thresholds])
    given = unit_numbers(thresholds, table.models, argument="thresholds", kind="model")
    return np.stack([loadings_of_models(loadings, table.models), given])


def _moments(weights: FloatArray, grid: Grid) -> tuple[FloatArray, FloatArray]:
    """Return posterior means and standard deviations from weights (p, Q) that sum to one."""
    mean = weights @ grid.nodes
    square = weights @ grid.nodes**2
    return mean, np.sqrt(np.maximum(square - mean**2, 0.0))


def _eap(patterns: Patterns, curves: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return posterior mean and standard deviation of every pattern, shape (p,) each."""
    grid = factor_grid(curves[0], curves[1])
    log_yes, log_no = log_answers(curves, grid.nodes)
    parts = [
        _moments(posterior(patterns, block, log_yes, log_no, grid)[0], grid)
        for block in patterns.blocks()
    ]
    return np.concatenate([m for m, _ in parts]), np.concatenate([s for _, s in parts])


def _without_each(patterns: Patterns, curves: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return leave-one-out means and standard deviations, shape (k, p) each."""
    # Dividing the posterior by P (or 1 - P) of the omitted model amounts to a matrix product with
    # 1 / P.
    grid = factor_grid(curves[0], curves[1])
    log_yes, log_no = log_answers(curves, grid.nodes)
    powers = np.stack([np.ones_like(grid.nodes), grid.nodes, grid.nodes**2])
    means, sds = np.empty((curves.shape[1], patterns.frequency.size)), []
    for block in patterns.blocks():
        weights, _ = posterior(patterns, block, log_yes, log_no, grid)
        yes, no = patterns.yes[block].T, patterns.no[block].T
        silent = 1.0 - yes - no
        mass, mean, square = (
            yes * (weights @ (power * np.exp(-log_yes)).T).T
            + no * (weights @ (power * np.exp(-log_no)).T).T
            + silent * (weights @ power)
            for power in powers
        )
        # Patterns that differ only in that model's answer must have exactly equal scores, so that
        # they are ties in rank statistics.
        means[:, block] = np.round(mean / mass, TIED)
        sds.append(np.sqrt(np.maximum(square / mass - means[:, block] ** 2, 0.0)))
    return means, np.concatenate(sds, axis=1)
