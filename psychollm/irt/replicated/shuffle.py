r"""Negative control: fits to shuffled answers.

Each item's answers are shuffled among the respondents who answered it. Shuffling preserves yes
rates and missing data, but removes all dependence between items. The model of the observed table,
with the same priors, is fitted to the shuffled table. With two dozen models the slopes of a 2PL
vary considerably even for shuffled answers. The improvement of the fit over chance is measured by
the objective (log-likelihood with priors). Slopes and other statistics are compared with their
values in the shuffled tables.

Let G be the difference between the observed objective and the mean objective of shuffled tables.
The quantity 2 G is approximately distributed as a noncentral chi-square variable minus its degrees
of freedom. The mean of 2 G is the noncentrality :math:`\nu`. The variance of 2 G is
:math:`v + 4 \nu`, where v is the variance over shuffled tables. The bounds of :math:`\nu` solve
:math:`(2 G - \nu)^2 = z^2 (v + 4 \nu)`,

.. math:: \nu = x + 2 z^2 \pm z \sqrt{v + 4 x + 4 z^2}, \qquad x = 2 G.                 \quad (1)

For n answers, the proportion of variance explained beyond chance is
:math:`R^2 = 1 - \exp(-\nu / n)` (Cox & Snell, 1989).

References
----------
Cox, D. R., & Snell, E. J. (1989). Analysis of binary data (2nd ed.). Chapman and Hall.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import DRAWS, check_choice, check_count
from psychollm._base.errors import ConvergenceWarning
from psychollm._base.multiplicity import adjust_p_values
from psychollm._base.numbers import p_equals
from psychollm._base.replicate import replicate
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, RandomState, WordArray
from psychollm.data.labels import Labels
from psychollm.data.responses import ResponsesLike, as_responses
from psychollm.estimates.null import Alternative, monte_carlo_p_value
from psychollm.estimates.verdict import SMALLEST, Outcome, SmallestEffects, outcome
from psychollm.irt.answers import MISSING, Oriented, Respondents, orient
from psychollm.irt.families import Link, Model
from psychollm.irt.fit import fit_answers, fit_irt
from psychollm.irt.models import default_priors
from psychollm.irt.priors import Priors
from psychollm.irt.replicated.bootstrap import table_of
from psychollm.irt.replicated.statistics import (
    FitNull,
    StatisticFunction,
    StatisticName,
    statistic_of,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SlopeNull(Result):
    """Comparison of a fit with fits to shuffled answers.

    Attributes
    ----------
    objective, p_value : float
        Maximum of the objective in the observed fit, and its permutation p-value.
    draws : ndarray of shape (n,)
        Maxima of the objective in the fits to shuffled answers.
    slope, slope_p_value, adjusted : ndarray of shape (items,)
        Slopes, their permutation p-values, and Holm-adjusted p-values.
    null_slope_sd : ndarray of shape (items,)
        SD of each slope over shuffled tables.
    n_answers : int
        Number of answers.
    labels : tuple
        Names of the items.
    """

    objective: float
    p_value: float
    n_answers: int
    draws: FloatArray  # (n,)
    slope: FloatArray  # (J,)
    slope_p_value: FloatArray  # (J,)
    adjusted: FloatArray  # (J,)
    null_slope_sd: FloatArray  # (J,)
    labels: Labels  # J

    _AXES = Axes({"item": "labels"}, "slope", "slope_p_value", "adjusted", "null_slope_sd")

    @property
    def r_squared_interval(self) -> FloatArray:
        """95 % interval (2,) of the variance explained beyond chance, computed by equation (1)."""
        z = 1.96
        gain = 2.0 * (self.objective - self.draws.mean())
        reach = z * np.sqrt(max(4.0 * (self.draws.var() + gain + z * z), 0.0))
        bounds = gain + 2.0 * z * z + np.array([-reach, reach])
        return np.asarray(1.0 - np.exp(-np.maximum(bounds, 0.0) / self.n_answers))

    def outcome(self, *, smallest: SmallestEffects = SMALLEST) -> Outcome:
        """Return whether the gain over chance is relevant, negligible or inconclusive.

        Parameters
        ----------
        smallest : SmallestEffects
            Smallest effects of interest; only `r_squared` is used.
        """
        return outcome(
            self.r_squared_interval, smallest=smallest.r_squared, rejected=self.p_value <= 0.05
        )

    def summary(self, *, smallest: SmallestEffects = SMALLEST) -> str:
        """Describe whether the fit exceeds chance, in one sentence.

        Parameters
        ----------
        smallest : SmallestEffects
            Smallest effects of interest; only `r_squared` is used.
        """
        chance, least = p_equals(self.p_value), f"R2 = {smallest.r_squared:g}"
        return {
            Outcome.ABOVE: f"The fit predicts better than fits to shuffled answers ({chance}).",
            Outcome.SMALL: f"The gain over shuffled answers is negligible (below {least}).",
            Outcome.OPEN: (
                f"The gain over shuffled answers is inconclusive ({chance}; smallest effect of "
                f"interest {least})."
            ),
        }[self.outcome(smallest=smallest)]


def slope_null(
    responses: ResponsesLike,
    *,
    model: Model = "2pl",
    link: Link = "logit",
    respondents: Respondents = "models",
    n_null: int = 199,
    rng: RandomState = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> SlopeNull:
    """Compare the slopes of a fit with fits to answers shuffled within items.

    Parameters
    ----------
    responses : Responses or table of shape (models, questions)
        Binary answers.
    model : {"rasch", "1pl", "1plg", "2pl", "3pl", "4pl", "graded", "gpcm", "nominal"}
        Item model. "1plg" has a common slope and a guessing parameter per item. "graded", "gpcm"
        (generalized partial credit) and "nominal" are for more than two answer categories; items
        may differ in their number of categories. To use different models for different items, pass
        a sequence of models or a mapping from item labels to models; models with a common slope
        cannot be combined.
    link : {"logit", "probit"}
        Logistic or normal-ogive curves; probit slopes are about 1.7 times smaller. Partial credit
        and nominal models are log-linear and have no probit form.
    respondents : {"models", "questions"}
        Side of the table that has abilities; the other side contains the items.
    n_null : int
        Number of shuffled tables.
    rng : Generator, int or None
        Random generator or seed.
    n_jobs : int or None
        Number of workers; -1 uses all processors. The result does not depend on the number of
        workers.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    SlopeNull
        Fit and slopes of the observed table, and of shuffled tables.

    Raises
    ------
    ShapeError
        If there are fewer than two respondents, or no item varies.
    OptionError
        If an option does not exist.

    Examples
    --------
    >>> noise = np.random.default_rng(1).random((24, 10)) < 0.5
    >>> slope_null(noise, n_null=9, rng=1).draws.shape
    (9,)
    """
    n_null = check_count("n_null", n_null, high=DRAWS)
    table = as_responses(responses, binary=True)
    answers = orient(table, respondents)
    priors = default_priors([model], link, len(answers.respondents))

    def fitted(codes: FloatArray) -> FloatArray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fit = fit_irt(codes, model=model, link=link, priors=priors)
        slope = np.where(fit.fitted, fit.parameters[:, 0], np.nan)
        return np.concatenate([[fit.convergence.objective], slope])

    values = np.where(answers.codes == MISSING, np.nan, answers.codes.astype(np.float64))

    def task(seeds: WordArray) -> FloatArray:
        streams = [np.random.default_rng([int(word) for word in words]) for words in seeds]
        return np.stack([fitted(_shuffled(values, stream)) for stream in streams])

    observed = fitted(values)
    draws = replicate(
        task, n_null, rng=rng, n_jobs=n_jobs, progress=progress, label="shuffled fits"
    )
    slope = observed[1:]
    own = monte_carlo_p_value(np.abs(slope), np.abs(draws[:, 1:]), tie=0.0)
    return SlopeNull(
        objective=float(observed[0]),
        p_value=float(monte_carlo_p_value(observed[0], draws[:, 0], tie=1e-9)),
        n_answers=int(np.isfinite(values).sum()),
        draws=draws[:, 0].copy(),
        slope=slope,
        slope_p_value=own,
        adjusted=adjust_p_values(own),
        null_slope_sd=draws[:, 1:].std(axis=0),
        labels=answers.items,
    )


def shuffle_null(
    responses: ResponsesLike,
    *,
    statistic: StatisticName | StatisticFunction = "slope",
    alternative: Alternative | None = None,
    model: Model = "2pl",
    link: Link = "logit",
    respondents: Respondents = "models",
    priors: Priors | Literal["auto"] | None = "auto",
    n_null: int = 199,
    rng: RandomState = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> FitNull:
    """Compare a fit statistic with its values for answers shuffled within items.

    Parameters
    ----------
    responses : Responses or table of shape (models, questions)
        Binary answers, or codes 0, 1, 2, ... for models with more than two answer categories.
    statistic : str or callable
        Statistic of the model: "m2", "srmsr", "q3_max" (largest Q3 minus the mean), "ld_x2_max" or
        "objective". Statistic of items: "s_x2", "infit", "outfit", "item_zh", "slope" or
        "difficulty". Statistic of pairs: "q3" or "ld_x2". Statistic of respondents: "person_zh",
        "person_infit" or "person_outfit". A callable receives (fit, responses) and returns a
        number or a vector.
    alternative : {"greater", "less", "two-sided"}, optional
        Direction of values that indicate misfit; by default the usual direction for the statistic
        ("greater" for functions).
    model : {"rasch", "1pl", "1plg", "2pl", "3pl", "4pl", "graded", "gpcm", "nominal"}
        Item model. "1plg" has a common slope and a guessing parameter per item. "graded", "gpcm"
        (generalized partial credit) and "nominal" are for more than two answer categories; items
        may differ in their number of categories. To use different models for different items, pass
        a sequence of models or a mapping from item labels to models; models with a common slope
        cannot be combined.
    link : {"logit", "probit"}
        Logistic or normal-ogive curves; probit slopes are about 1.7 times smaller. Partial credit
        and nominal models are log-linear and have no probit form.
    respondents : {"models", "questions"}
        Side of the table that has abilities; the other side contains the items.
    priors : Priors, "auto" or None
        Priors of item parameters. "auto" uses weak fixed priors with fewer than 500 respondents.
        None means that only the likelihood is maximised.
    n_null : int
        Number of shuffled tables.
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
        Observed statistic, its values in shuffled tables, and p-values.

    Raises
    ------
    OptionError
        If the statistic does not exist.

    Examples
    --------
    >>> noise = np.random.default_rng(1).random((24, 10)) < 0.5
    >>> shuffle_null(noise, statistic="q3_max", n_null=9, rng=1).p_value > 0.05
    array([ True])
    """
    n_null = check_count("n_null", n_null, high=DRAWS)
    if alternative is not None:
        check_choice("alternative", alternative, Alternative)
    chosen = statistic_of(statistic, alternative)
    table = as_responses(responses)
    answers = orient(table, respondents)
    if isinstance(priors, str) and priors == "auto":
        priors = default_priors([model], link, len(answers.respondents))
    fit = fit_irt(table, model=model, link=link, respondents=respondents, priors=priors)
    values = np.where(answers.codes == MISSING, np.nan, answers.codes.astype(np.float64))
    observed = chosen.values(fit, table)

    def fitted(rng: np.random.Generator) -> FloatArray:
        moved = _shuffled(values, rng)
        codes = np.where(np.isnan(moved), MISSING, moved).astype(np.int64)
        own = Oriented(codes, answers.respondents, answers.items, answers.reading)
        again = fit_answers(own, fit.item_models, link, priors=fit.priors, standard_errors=None)
        found = chosen.values(again, table_of(own))
        return np.append(found, float(not again.convergence.converged))

    def task(seeds: WordArray) -> FloatArray:
        streams = [np.random.default_rng([int(word) for word in words]) for words in seeds]
        return np.stack([fitted(stream) for stream in streams])

    rows = replicate(
        task, n_null, rng=rng, n_jobs=n_jobs, progress=progress, label="shuffled fits"
    )
    return FitNull.of_fit(chosen, observed, rows, scheme="shuffled answers", fit=fit)


def _shuffled(values: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return a table with answers shuffled within columns; missing data keep their positions."""
    moved = values.copy()
    for j in range(values.shape[1]):
        there = np.flatnonzero(~np.isnan(values[:, j]))
        moved[there, j] = values[rng.permutation(there), j]
    return moved
