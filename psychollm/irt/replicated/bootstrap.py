r"""Parametric bootstrap of fit statistics under the model.

With few respondents or many items, S-X2, M2, X2 of pairs and Zh do not follow their reference
distributions; Q3 has no reference distribution. The bootstrap needs no reference distribution.
Each replicate simulates answers from the fitted model with the table's pattern of missing data,
refits the model with the same priors, and computes the statistic.

For statistics of items, pairs and the model, abilities are drawn from N(0, 1). For statistics of
respondents, abilities are drawn from each respondent's posterior, because a respondent is compared
with its own replicates.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from psychollm._base.checks import DRAWS, check_choice, check_count
from psychollm._base.errors import OptionError, ShapeError
from psychollm._base.replicate import replicate
from psychollm._base.types import FloatArray, IntArray, RandomState, WordArray
from psychollm.data.labels import Table
from psychollm.data.responses import Responses, ResponsesLike, as_responses
from psychollm.estimates.null import Alternative
from psychollm.irt.answers import MISSING, Oriented, orient, patterns_of
from psychollm.irt.fit import codes_for, fit_answers
from psychollm.irt.likelihood import Problem, grid_for, posteriors
from psychollm.irt.replicated.statistics import (
    Drawn,
    FitNull,
    FitStatistic,
    StatisticFunction,
    StatisticName,
    statistic_of,
)
from psychollm.irt.result import IRTFit
from psychollm.irt.scoring import drawn_answers


def bootstrap_fit(
    fit: IRTFit,
    responses: ResponsesLike,
    *,
    statistic: StatisticName | StatisticFunction = "s_x2",
    alternative: Alternative | None = None,
    abilities: Drawn | Literal["auto"] = "auto",
    n_null: int = 199,
    rng: RandomState = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> FitNull:
    """Compare a fit statistic with its parametric bootstrap distribution.

    Parameters
    ----------
    fit : IRTFit
        Fitted model.
    responses : Responses or table
        The answers used in the fit.
    statistic : str or callable
        Statistic of the model: "m2", "srmsr", "q3_max" (largest Q3 minus the mean), "ld_x2_max" or
        "objective". Statistic of items: "s_x2", "infit", "outfit", "item_zh", "slope" or
        "difficulty". Statistic of pairs: "q3" or "ld_x2". Statistic of respondents: "person_zh",
        "person_infit" or "person_outfit". A callable receives (fit, responses) and returns a
        number or a vector.
    alternative : {"greater", "less", "two-sided"}, optional
        Direction of the test; by default the usual direction for the statistic ("greater" for
        functions).
    abilities : {"auto", "population", "posterior"}
        Distribution of abilities: N(0, 1), or each respondent's posterior. "auto" means the
        posterior for statistics of respondents, and N(0, 1) otherwise.
    n_null : int
        Number of replicates.
    rng : Generator, int or None
        Random generator or seed.
    n_jobs : int or None
        Number of workers; -1 uses all processors. The result does not depend on the number of
        workers.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    FitNull
        Observed statistic, replicates and p-values.

    Raises
    ------
    OptionError
        If the statistic does not exist.
    ShapeError
        If the items or respondents differ from the items or respondents of the fit.

    Examples
    --------
    >>> answers = np.random.default_rng(3).random((40, 5)) < [0.2, 0.4, 0.5, 0.6, 0.8]
    >>> from psychollm.irt.fit import fit_irt
    >>> bootstrap_fit(fit_irt(answers), answers, statistic="q3_max", n_null=9, rng=1).p_value.shape
    (1,)
    """
    n_null = check_count("n_null", n_null, high=DRAWS)
    if abilities not in ("auto", "population", "posterior"):
        msg = f"abilities={abilities!r} is not an option: use 'auto', 'population' or 'posterior'"
        raise OptionError(msg)
    if alternative is not None:
        check_choice("alternative", alternative, Alternative)
    chosen = statistic_of(statistic, alternative)
    by_row = fit.respondents == "models"
    models, questions = (fit.respondent_labels, fit.labels)[:: 1 if by_row else -1]
    table = as_responses(responses, like=Table(np.empty((0, 0)), models, questions))
    answers = orient(table, fit.respondents)
    sampler = Sampler(fit, answers, chosen.drawn if abilities == "auto" else abilities)
    observed = chosen.values(fit, table)

    def task(seeds: WordArray) -> FloatArray:
        streams = [np.random.default_rng([int(word) for word in words]) for words in seeds]
        drawn = [refitted(fit, sampler.answers(stream), chosen) for stream in streams]
        return np.stack([row if row.size else blank(observed.size) for row in drawn])

    rows = replicate(
        task, n_null, rng=rng, n_jobs=n_jobs, progress=progress, label="bootstrap fits"
    )
    return FitNull.of_fit(chosen, observed, rows, scheme="parametric bootstrap", fit=fit)


def blank(size: int) -> FloatArray:
    """Return the row of NaN values for a replicate that cannot be fitted."""
    return np.full(size + 1, np.nan)


def refitted(fit: IRTFit, answers: Oriented, statistic: FitStatistic) -> FloatArray:
    """Return the statistic of answers after a refit that starts at the estimates of `fit`."""
    try:
        again = fit_answers(
            answers,
            fit.item_models,
            fit.link,
            priors=fit.priors,
            standard_errors=None,
            start=fit,
        )
    except ShapeError:
        return np.empty(0)
    values = statistic.values(again, table_of(answers))
    return np.append(values, float(not again.convergence.converged))


def table_of(answers: Oriented) -> Responses:
    """Return oriented answers as a table of models and questions."""
    codes = np.where(answers.codes == MISSING, 0, answers.codes).astype(np.int16)
    missing = answers.codes == MISSING
    models, questions = answers.respondents, answers.items
    if answers.reading == "questions":
        codes, missing, models, questions = codes.T, missing.T, questions, models
    return Responses.from_codes(codes=codes, missing=missing, models=models, questions=questions)


class Sampler:
    """Generator of answers from a fitted model, with the table's pattern of missing data."""

    def __init__(self, fit: IRTFit, answers: Oriented, drawn: Drawn) -> None:
        self._fit, self._answers = fit, answers
        self._keep = fit.fitted
        self._parameters = fit.parameters[self._keep]
        self._grid = grid_for(fit.family, self._parameters)
        self._reached: FloatArray | None = None
        if drawn == "posterior":
            self._reached, self._place = self._posterior(codes_for(fit, table_of(answers)))

    def _posterior(self, codes: IntArray) -> tuple[FloatArray, IntArray]:
        """Return posterior distribution functions by pattern (U, Q), and patterns (N,)."""
        fit, nothing = self._fit, np.zeros(self._parameters.shape[1])
        patterns = patterns_of(codes, fit.n_categories)
        problem = Problem(fit.family, patterns, nothing, nothing)
        rows = [p.cumsum(axis=1) for _, p, _ in posteriors(problem, self._parameters, self._grid)]
        return np.concatenate(rows), patterns.of_respondent

    def abilities(self, rng: np.random.Generator) -> FloatArray:
        """Return an ability for each respondent (N,)."""
        n = len(self._answers.respondents)
        if self._reached is None:
            return rng.normal(size=n)
        uniform = rng.random((n, 1))
        node = (self._reached[self._place] < uniform).sum(axis=1)
        node = np.minimum(node, self._grid.nodes.size - 1)
        # draw uniformly from the interval around each node
        return np.asarray(self._grid.nodes[node] + self._grid.spacing * (rng.random(n) - 0.5))

    def answers(self, rng: np.random.Generator) -> Oriented:
        """Return answers of all respondents; answers to items without estimates are unchanged."""
        at = self.abilities(rng)
        codes = self._answers.codes.copy()
        own = drawn_answers(self._fit.family, self._parameters, at, rng)
        codes[:, self._keep] = np.where(codes[:, self._keep] == MISSING, MISSING, own)
        original = self._answers
        return Oriented(codes, original.respondents, original.items, original.reading)
