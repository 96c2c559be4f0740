r"""Compare two normal factors with one factor with lapses.

If one factor belongs to the easy questions of a test and another factor to the hard questions,
asymptotes can take the place of the second factor: a respondent who fails an easy question but
solves a hard one seems to lapse. A test of one factor with lapses has little power against such a
second factor. Whole answer patterns distinguish two factors from one factor with lapses. Let
:math:`\ell_u` be the log-likelihood of two factors minus the log-likelihood of one factor with
lapses for question u. The interval of the total difference is

.. math:: \sum_u \ell_u - \frac{k - 1}{2} \log n \pm z \sqrt{n \operatorname{var}(\ell_u)} .
          \qquad (1)

The correction for the k - 1 further loadings of the second factor is Schwarz's. The correction
does not count the asymptotes of the model with lapses, because priors can shrink these asymptotes
to 0 and 1. If the interval contains zero, the answers are compatible with both models (Vuong,
1989).

Loadings of the two factors are pairwise estimates, whose likelihood is slightly below the maximum.

References
----------
Vuong, Q. H. (1989). Likelihood ratio tests for model selection and non-nested hypotheses.
Econometrica, 57(2), 307-333. https://doi.org/10.2307/1912557
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.data.pair_counts import CountedAnswers
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import normal_multiplier
from psychollm.estimates.reasons import Reason
from psychollm.factor.one_factor.full_information import (
    RANGE,
    Grid,
    Patterns,
    answer_patterns,
    factor_grid,
    log_answer_probabilities,
    log_answers,
    posterior,
)
from psychollm.factor.one_factor.pairwise_likelihood import (
    ExploratoryPairwiseLikelihood,
    exploratory_pairwise_likelihood,
)
from psychollm.studies.dimensionality.lapses import OneFactorWithLapses

LARGEST_COMMUNALITY = 0.998
# Spacing of nodes in SDs of the narrowest posterior. The error of a question's log-likelihood is
# of the order of 2 exp(-2 pi^2 / spacing^2), 3e-4.
SPACING = 1.5
LEAST_NODES, MOST_NODES = 17, 401
STEEPEST = 2.0 / np.pi  # largest information of a normal-ogive answer per squared slope
CELLS = 2_000_000  # maximum number of patterns times nodes per block


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TwoFactors(Result):
    """Two normal factors, compared with one factor with lapses.

    Attributes
    ----------
    fit : ExploratoryPairwiseLikelihood
        Loadings on two factors, without lapses, and their proportions of variance.
    log_likelihood : float
        Marginal log-likelihood of all answers.
    n_parameters : int
        Number of parameters, without the rotation.
    difference : Estimate
        Log-likelihood minus the log-likelihood of one factor with lapses, after Schwarz's
        correction.
    """

    fit: ExploratoryPairwiseLikelihood
    log_likelihood: float
    n_parameters: int
    difference: Estimate

    _AXES = Axes(
        {},
        "log_likelihood",
        "n_parameters",
        ("difference", lambda found: found.difference.value[0]),
        ("difference_{bound}", lambda found: found.difference.interval[0]),
    )

    @property
    def better(self) -> bool:
        """Whether two factors describe the answers better than one factor with lapses."""
        return bool(self.difference.interval[0, 0] > 0.0)

    @property
    def worse(self) -> bool:
        """Whether one factor with lapses describes the answers better."""
        return bool(self.difference.interval[0, 1] < 0.0)


def compare_two_factors(
    answers: CountedAnswers, one: OneFactorWithLapses, *, level: float
) -> TwoFactors:
    """Compare two normal factors with `one` factor with lapses, by their likelihood."""
    table = answers.table
    k = len(table.models)
    everyone = np.ones(k, dtype=np.bool_)
    patterns = answer_patterns(table.codes == 1, ~table.missing, everyone)
    grid = factor_grid(one.loadings, one.thresholds)
    with_lapses = _log_likelihoods(patterns, *log_answers(one.curves, grid.nodes), grid)
    fit = exploratory_pairwise_likelihood(answers.counts, n_factors=2)
    two = _of_two_factors(patterns, fit)
    gap, frequency = two - with_lapses, patterns.frequency
    n = float(frequency.sum())
    total = float(frequency @ gap)
    value = np.array([total - 0.5 * (k - 1) * np.log(n)])
    se = np.sqrt(np.maximum(frequency @ gap**2 - total**2 / n, 0.0))[None]
    half = normal_multiplier(level) * se
    return TwoFactors(
        fit=fit,
        log_likelihood=float(frequency @ two),
        n_parameters=3 * k - 1,
        difference=Estimate(
            name="difference in log-likelihood",
            value=value,
            se=se,
            interval=np.column_stack([value - half, value + half]),
            n=np.array([n]),
            flags=(Reason.NONE,),
            method="normal (Vuong, 1989)",
            level=level,
            labels=("all",),
        ),
    )


def _of_two_factors(patterns: Patterns, fit: ExploratoryPairwiseLikelihood) -> FloatArray:
    """Return log-likelihoods of the patterns (p,) under two normal factors."""
    size = np.sum(fit.loadings**2, axis=1)
    shrink = np.sqrt(np.minimum(1.0, LARGEST_COMMUNALITY / np.maximum(size, 1e-12)))
    loadings = fit.loadings * shrink[:, None]
    rest = np.sqrt(1.0 - np.sum(loadings**2, axis=1))
    axes = []
    for column in (loadings / rest[:, None]).T:
        wanted = np.ceil(2.0 * RANGE * np.sqrt(1.0 + STEEPEST * (column @ column)) / SPACING)
        axes.append(np.linspace(-RANGE, RANGE, int(np.clip(wanted, LEAST_NODES, MOST_NODES))))
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    nodes = nodes[np.sum(nodes**2, axis=1) <= RANGE**2]
    log_weights = -0.5 * np.sum(nodes**2, axis=1)
    log_weights -= np.log(np.exp(log_weights).sum())
    argument = (loadings @ nodes.T - fit.thresholds[:, None]) / rest[:, None]
    return _log_likelihoods(
        patterns, *log_answer_probabilities(argument), Grid(nodes=nodes, log_weights=log_weights)
    )


def _log_likelihoods(
    patterns: Patterns, log_yes: FloatArray, log_no: FloatArray, grid: Grid
) -> FloatArray:
    """Return log-likelihoods of the patterns (p,), given answer probabilities at the nodes."""
    step = max(1, CELLS // grid.log_weights.size)
    return np.concatenate(
        [
            posterior(patterns, slice(start, start + step), log_yes, log_no, grid)[1]
            for start in range(0, patterns.frequency.size, step)
        ]
    )
